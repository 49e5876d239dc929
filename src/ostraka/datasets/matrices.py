"""Matrices without column names: NPZ and svmlight files.

svmlight files do not say how many columns there are, nor whether they count them from 0 or 1. For a
release `n_columns` must say it, or one party's rows would decide what everybody's columns mean.
Without it the largest index gives the number, and an index 0 shows where counting starts. The files
of a folder are looked at together, so that a party whose rows lack some columns means the same
columns as the others.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.datasets.content import ERRORS_OF_THE_SYSTEM, read_content
from ostraka.datasets.table import Table
from ostraka.errors import FormatError, InputError, ParameterError, list_names

__all__ = ["read_npz", "read_svmlight"]


def read_npz(path: Path, label_column: str | None, party_column: str | None) -> Table:
    """The arrays of an NPZ file: X, or its only matrix, and what the others are named."""
    arrays = _npz_arrays(path)
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    chosen = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    if chosen is None:
        raise InputError(
            f"{path.name} holds the matrices {list_names(matrices) or 'none'}.",
            "Name the one with the features X.",
        )
    for name in (label_column, party_column):
        if name is not None and (
            name not in arrays or arrays[name].shape != (len(arrays[chosen]),)
        ):
            raise InputError(
                f"{path.name} has no array {name!r} with one entry per row of {chosen}.",
                f"It holds {list_names(arrays)}.",
            )
    labels, parties = (
        None if name is None else arrays[name] for name in (label_column, party_column)
    )
    return Table(arrays[chosen], labels, parties)


def _npz_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # how somebody's file was written must not show
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise ValueError("it holds one array without a name; write it with numpy.savez")
            with archive:
                return {name: archive[name] for name in archive.files}
    except ERRORS_OF_THE_SYSTEM:
        raise
    except Exception as error:  # zip, zlib and numpy have errors of their own
        raise FormatError("NPZ table", f"{path.name} cannot be read ({error})") from None


def read_svmlight(
    paths: Sequence[Path],
    label_column: str | None,
    party_column: str | None,
    n_columns: int | None = None,
) -> list[Table]:
    """A table per file, all with the same columns."""
    from sklearn.datasets import load_svmlight_files

    for name, allowed in ((label_column, "label"), (party_column, "qid")):
        if name not in (None, allowed):
            raise ParameterError("column", got=name, allowed=f"{allowed!r} in a svmlight file")
    counted: dict[str, Any] = (
        {} if n_columns is None else {"n_features": n_columns, "zero_based": False}
    )
    try:
        parts = iter(
            load_svmlight_files(
                [io.BytesIO(read_content(path)) for path in paths], query_id=True, **counted
            )
        )
    except ERRORS_OF_THE_SYSTEM:
        raise
    except Exception as error:  # each reader has errors of its own
        for path in paths if len(paths) > 1 else ():
            read_svmlight([path], label_column, party_column, n_columns)  # which of them is it?
        raise FormatError("svmlight table", f"{paths[0].name} cannot be read ({error})") from None
    return [
        Table(
            samples,
            _whole(labels, path) if label_column else None,
            _all_there(parties, labels, path) if party_column else None,
        )
        for path, samples, labels, parties in zip(paths, parts, parts, parts)
    ]


def _whole(labels: NDArray[Any], path: Path) -> NDArray[Any]:
    """Whole numbers as integers: svmlight writes every label as a number."""
    if not np.isfinite(labels).all():
        raise InputError(
            f"{path.name} has labels that are NaN or infinite.", "Fill in or drop those rows."
        )
    whole = (labels == np.floor(labels)) & (np.abs(labels) < 2.0**63)
    if whole.all():
        return labels.astype(np.int64)
    # Each on its own: nobody's fraction makes 1.0 of somebody's 1.
    held = np.empty(labels.size, dtype=object)
    held[:] = [int(label) if ok else label for label, ok in zip(labels.tolist(), whole)]
    return held


def _all_there(parties: NDArray[Any], labels: NDArray[Any], path: Path) -> NDArray[Any]:
    if parties.shape != labels.shape:
        raise InputError(
            f"{path.name} has a qid in {len(parties)} of {len(labels)} rows.",
            "Write the party of every row as qid:NUMBER.",
        )
    return parties
