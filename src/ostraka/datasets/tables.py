"""Any table as samples, labels and parties: CSV, Parquet, NPZ or svmlight, plain or compressed with gz or zst.

    format      features                            labels, parties
    CSV, Parquet   all columns but the named ones   columns by name
    NPZ         the array X, or the only matrix     arrays by name
    svmlight    the sparse rows                     `label`, `qid`

A folder is read as one file per party, named after it. Nothing is executed: arrays of Python objects are refused.
"""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import FormatError, InputError, ParameterError
from ostraka.files import write_atomically

__all__ = ["Table", "read", "write"]

COMPRESSIONS = (".gz", ".zst")
SVMLIGHT = (".svm", ".svmlight", ".libsvm")
FORMATS = "a .csv, .parquet, .npz or .svm file (also .gz or .zst), or a folder with one such file per party"


@final
@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Samples with, where they were asked for, labels and parties."""

    samples: Any
    """A pandas DataFrame, an array or a sparse matrix."""
    labels: NDArray[Any] | None = None
    parties: NDArray[Any] | None = None

    def __len__(self) -> int:
        return int(self.samples.shape[0])


def read(
    path: str | Path,
    *,
    label_column: str | None = None,
    party_column: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
) -> Table:
    """Read a file, or a folder with one file per party.

    Args:
        path: what to read.
        label_column: the column that holds the classes.
        party_column: the column that says who holds a row; for a folder the file names say it.
        columns: take these columns as features, in this order. None: all that are left.
        drop: columns to leave out.

    """
    path = Path(path)
    if path.is_dir():
        if party_column is not None:
            raise ParameterError("party_column", got=party_column, allowed="none for a folder: its files are the parties")
        return _read_folder(path, label_column, columns, drop)
    kind = _kind(path)
    if kind == ".npz":
        return _read_npz(path, label_column, party_column)
    if kind in SVMLIGHT:
        return _read_svmlight(path, label_column, party_column)
    return _from_frame(_read_frame(path, kind), path, label_column, party_column, columns, drop)


def write(frame: Any, path: str | Path) -> None:
    """Write a pandas DataFrame as CSV or Parquet, whole or not at all."""
    path = Path(path)
    kind = _kind(path)
    if kind == ".parquet":
        write_atomically(path, frame.to_parquet(index=False))
    elif kind == ".csv":
        text = frame.to_csv(index=False).encode()
        write_atomically(path, _compressed(text, path.suffix))
    else:
        raise ParameterError("out", got=str(path), allowed="a .csv (also .gz, .zst) or .parquet file")


def _kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = suffixes[-2] if suffixes[-1:] and suffixes[-1] in COMPRESSIONS and len(suffixes) > 1 else (suffixes or [""])[-1]
    if kind not in (".csv", ".parquet", ".npz", *SVMLIGHT):
        raise ParameterError("file", got=path.name, allowed=FORMATS)
    return kind


def _compressed(content: bytes, suffix: str) -> bytes:
    if suffix == ".gz":
        return gzip.compress(content)
    if suffix == ".zst":
        import zstandard

        return zstandard.ZstdCompressor().compress(content)
    return content


def _read_folder(folder: Path, label_column: str | None, columns: Sequence[str] | None, drop: Sequence[str]) -> Table:
    files = sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    if not files:
        raise InputError(f"The folder {folder} is empty.", "Put one file per party into it.")
    tables = [read(file, label_column=label_column, columns=columns, drop=drop) for file in files]
    widths = {table.samples.shape[1] for table in tables}
    if len(widths) > 1:
        raise InputError(f"The files in {folder} have {sorted(widths)} columns.", "All parties need the same columns.")
    names = np.repeat([file.name.split(".")[0] for file in files], [len(table) for table in tables])
    labels = None if label_column is None else np.concatenate([table.labels for table in tables if table.labels is not None])
    return Table(_stacked([table.samples for table in tables], folder), labels, names)


def _stacked(parts: list[Any], folder: Path) -> Any:
    if hasattr(parts[0], "columns"):
        import pandas as pd

        if any(list(part.columns) != list(parts[0].columns) for part in parts):
            raise InputError(
                f"The files in {folder} name their columns differently.", "All parties need the same columns in the same order."
            )
        return pd.concat(parts, ignore_index=True)
    if hasattr(parts[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    return np.vstack(parts)


def _read_frame(path: Path, kind: str) -> Any:
    import pandas as pd

    try:
        return pd.read_parquet(path) if kind == ".parquet" else pd.read_csv(path)
    except FileNotFoundError:
        raise
    except Exception as error:  # each reader has errors of its own
        raise FormatError(f"{kind[1:]} table", f"{path.name} cannot be read ({error})") from None


def _from_frame(
    frame: Any, path: Path, label_column: str | None, party_column: str | None, columns: Sequence[str] | None, drop: Sequence[str]
) -> Table:
    taken = [name for name in (label_column, party_column) if name is not None]
    for name in (*taken, *drop, *(columns or ())):
        if name not in frame.columns:
            raise InputError(f"{path.name} has no column {name!r}; it has {_listed(frame.columns)}.", "Name a column that is there.")
    for name in taken:
        if frame[name].isna().any():
            raise InputError(f"Column {name!r} of {path.name} has missing values.", "Fill in or drop those rows.")
    features = frame[list(columns)] if columns is not None else frame.drop(columns=[*taken, *drop])
    return Table(_numeric(features, path), *(None if name is None else frame[name].to_numpy() for name in (label_column, party_column)))


def _numeric(frame: Any, path: Path) -> Any:
    texts = [name for name in frame.columns if frame[name].dtype.kind not in "biuf"]
    if texts:
        raise InputError(
            f"{path.name} has columns that are not numbers: {_listed(texts)}.",
            "Encode them as numbers, or leave them out (--drop NAME, drop=[...]).",
        )
    missing = [name for name in frame.columns if frame[name].isna().any()]
    if missing:
        raise InputError(f"{path.name} has missing values in {_listed(missing)}.", "Fill them in, drop the rows, or drop the columns.")
    if frame.shape[1] == 0:
        raise InputError(f"{path.name} has no feature columns left.", "Keep at least one.")
    return frame.astype(np.float64)


def _listed(names: Any) -> str:
    names = [repr(str(name)) for name in names]
    return ", ".join(names[:8]) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")


def _read_npz(path: Path, label_column: str | None, party_column: str | None) -> Table:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise FormatError("NPZ table", f"{path.name} cannot be read ({error})") from None
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    chosen = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    if chosen is None:
        raise InputError(f"{path.name} holds the matrices {_listed(matrices)}.", "Name the one with the features X.")
    for name in (label_column, party_column):
        if name is not None and (name not in arrays or arrays[name].shape != (len(arrays[chosen]),)):
            raise InputError(f"{path.name} has no array {name!r} with one entry per row of {chosen}.", f"It holds {_listed(arrays)}.")
    return Table(arrays[chosen], *(None if name is None else arrays[name] for name in (label_column, party_column)))


def _read_svmlight(path: Path, label_column: str | None, party_column: str | None) -> Table:
    from sklearn.datasets import load_svmlight_file

    for name, allowed in ((label_column, "label"), (party_column, "qid")):
        if name not in (None, allowed):
            raise ParameterError("column", got=name, allowed=f"{allowed!r} in a svmlight file")
    try:
        with _opened(path) as file:
            samples, labels, parties = load_svmlight_file(file, query_id=True)
    except FileNotFoundError:
        raise
    except Exception as error:  # each reader has errors of its own
        raise FormatError("svmlight table", f"{path.name} cannot be read ({error})") from None
    whole = labels.astype(np.int64)
    labels = whole if (whole == labels).all() else labels
    return Table(samples, labels if label_column else None, parties if party_column else None)


def _opened(path: Path) -> Any:
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    if path.suffix == ".zst":
        import zstandard

        return zstandard.open(path, "rb")
    return path.open("rb")
