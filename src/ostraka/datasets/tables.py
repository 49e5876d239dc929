"""Any table as samples, labels and parties: CSV, Parquet, NPZ or svmlight.

CSV and svmlight files may also be compressed with gz or zst.

    format         features                         labels, parties
    CSV, Parquet   all columns but the named ones   columns by name
    NPZ            the array X, or the only matrix  arrays by name
    svmlight       the sparse rows                  `label`, `qid`

A folder is read as one file per party, named after it. Nothing is executed: arrays of Python
objects are refused. A file that was cut short is refused, not read as far as it goes.
"""

from __future__ import annotations

import errno
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.datasets.content import COMPRESSIONS, compress
from ostraka.datasets.frames import read_cells, read_frame
from ostraka.datasets.matrices import read_npz, read_svmlight
from ostraka.datasets.table import Table
from ostraka.errors import (
    InputError,
    MissingColumnsError,
    ParameterError,
    list_names,
    place_of,
    suggest,
)
from ostraka.files import write_atomically
from ostraka.public.columns import Columns

__all__ = ["Table", "cells", "is_named_like_table", "read", "write"]

SVMLIGHT = (".svm", ".svmlight", ".libsvm")
COMPRESSIBLE = (".csv", *SVMLIGHT)
MISSING = ("", "#N/A", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
"""Words that are neither a class nor a party."""
FORMATS = (
    "a .csv or .svm file (also .gz or .zst), a .parquet or .npz file, "
    "or a folder with one such file per party"
)


def read(
    path: str | Path,
    *,
    label_column: str | None = None,
    party_column: str | None = None,
    columns: Sequence[str] | Columns | None = None,
    drop: Sequence[str] = (),
    texts: Sequence[str] = (),
    n_columns: int | None = None,
    text_labels: bool = False,
    may_be_empty: bool = False,
) -> Table:
    """Read a file, or a folder with one file per party.

    In a folder, a file without rows is a party without rows.

    Args:
        path: what to read.
        label_column: the column that holds the classes.
        party_column: the column that says who holds a row; for a folder the file names say it.
        columns: take these columns as features, in this order. None: all that are left. NPZ and
            svmlight columns have no names, so all are taken.
        drop: columns to leave out.
        texts: columns to read as texts, whatever else they look like; besides those that `columns`
            describes as categories or dates.
        n_columns: how many columns a svmlight file has, counted from 1: public, so that nobody's
            rows decide it. None: guessed.
        text_labels: labels as texts, whatever else they look like.
        may_be_empty: whether a file may have no rows.

    """
    path, numbers = Path(path), tuple[str, ...]()
    if isinstance(columns, Columns):
        numbers = tuple(each.name for each in columns.columns if each.kind == "number")
        texts = (*texts, *(name for name in columns.names if name not in numbers))
        columns = columns.names
    wanted = _Wanted(
        label_column, party_column, columns, drop, texts, numbers, n_columns, text_labels
    )
    table = _read(path, wanted)
    if len(table) == 0 and not may_be_empty:
        raise InputError(
            f"{path.name} has no rows.", "Give at least one sample, or leave the file out."
        )
    return table


@final
@dataclass(frozen=True, slots=True)
class _Wanted:
    """What is asked of every file."""

    label_column: str | None
    party_column: str | None
    columns: Sequence[str] | None
    drop: Sequence[str]
    texts: Sequence[str]
    numbers: Sequence[str]
    n_columns: int | None
    text_labels: bool

    @property
    def all_texts(self) -> tuple[str, ...]:
        """Columns that are texts from the start.

        If types were guessed over the whole column, one party's entry would decide how everybody's
        are read.
        """
        named = ((self.party_column, True), (self.label_column, self.text_labels))
        return (*self.texts, *(name for name, is_text in named if name is not None and is_text))


def _read(path: Path, wanted: _Wanted) -> Table:
    if path.is_dir():
        if wanted.party_column is not None:
            allowed = "none for a folder: its files are the parties"
            raise ParameterError("party_column", got=wanted.party_column, allowed=allowed)
        return _read_folder(path, wanted)
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "there is no such file or folder", str(path))
    return _label(_read_file(path, wanted), wanted)


def _label(table: Table, wanted: _Wanted) -> Table:
    """With texts as labels, if texts are wanted: of each file, before they come together."""
    if not wanted.text_labels or table.labels is None:
        return table
    return replace(table, labels=np.array([str(label) for label in table.labels], dtype=str))


def _read_file(path: Path, wanted: _Wanted) -> Table:
    kind = _kind(path)
    if kind in (".csv", ".parquet"):
        return _from_frame(read_frame(path, kind, wanted.all_texts, wanted.numbers), path, wanted)
    if wanted.drop:
        allowed = f"none for a {kind} file, whose columns have no names"
        raise ParameterError("drop", got=list(wanted.drop), allowed=allowed)
    if kind == ".npz":
        return read_npz(path, wanted.label_column, wanted.party_column)
    named = (wanted.label_column, wanted.party_column)
    return read_svmlight([path], *named, wanted.n_columns)[0]


def cells(path: str | Path) -> tuple[Any, str]:
    """All columns of a CSV or Parquet file, cell by cell as written; what stands between fields."""
    path = Path(path)
    kind = _kind(path)
    if kind not in (".csv", ".parquet"):
        raise ParameterError(
            "file",
            got=path.name,
            allowed="a .csv (also .gz, .zst) or .parquet file, whose columns have names",
        )
    return read_cells(path, kind)


def write(frame: Any, path: str | Path, delimiter: str = ",") -> None:
    """Write a pandas DataFrame as CSV or Parquet, whole or not at all."""
    path = Path(path)
    kind = _kind(path)
    if kind == ".parquet":
        write_atomically(path, frame.to_parquet(index=False))
    elif kind == ".csv":
        text = frame.to_csv(index=False, sep=delimiter).encode()
        write_atomically(path, compress(text, path.suffix.lower()))
    else:
        raise ParameterError(
            "out", got=str(path), allowed="a .csv (also .gz, .zst) or .parquet file"
        )


def is_named_like_table(path: Path) -> bool:
    """Whether a file's name ends as tables' names do; texts may be anything."""
    stem = path.stem if path.suffix.lower() in COMPRESSIONS else path.name
    return Path(stem).suffix.lower() in (".csv", ".tsv", ".xlsx", ".parquet", ".npz", *SVMLIGHT)


def _kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = (suffixes or [""])[-1]
    if kind in COMPRESSIONS and suffixes[-2:-1] and suffixes[-2] in COMPRESSIBLE:
        return suffixes[-2]
    if kind == ".xlsx":
        allowed = "a .csv file: in Excel, Save as, CSV UTF-8"
        raise ParameterError("file", got=path.name, allowed=allowed)
    if kind in (".tsv", ".txt"):
        return ".csv"
    if kind not in (".csv", ".parquet", ".npz", *SVMLIGHT):
        raise ParameterError("file", got=path.name, allowed=FORMATS)
    return kind


def _read_folder(folder: Path, wanted: _Wanted) -> Table:
    files = sorted(
        file for file in folder.iterdir() if file.is_file() and not file.name.startswith(".")
    )
    if not files:
        raise InputError(f"The folder {folder} is empty.", "Put one file per party into it.")
    kinds = {_kind(file) for file in files}
    names = [_party_name(file) for file in files]
    twice = (
        sorted({name for name in names if names.count(name) > 1})
        if len(set(names)) < len(names)
        else []
    )
    if twice:
        raise InputError(
            f"The folder {folder} has more than one file for {list_names(twice)}.",
            "Put one file per party into it.",
        )
    # An empty file is also a party without rows.
    held = [file for file in files if file.stat().st_size]
    if kinds <= set(SVMLIGHT) and not wanted.drop and held:
        read_together = read_svmlight(held, wanted.label_column, None, wanted.n_columns)
        tables = [_label(table, wanted) for table in read_together]
    else:
        tables = [_read(file, wanted) for file in held]
    # Of all of them: whether a file has rows must not show.
    _check_alike([table.samples for table in tables], folder)
    unused = tuple(dict.fromkeys(name for table in tables for name in table.unused))
    found = [(_party_name(file), table) for file, table in zip(held, tables) if len(table)]
    if not found and not tables:
        raise InputError(f"Every file in the folder {folder} is empty.", "Give at least one table.")
    if not found:  # then nobody has rows: all of them count
        nobody = np.array([], dtype=str)
        return Table(tables[0].samples, tables[0].labels, nobody, tuple(names), unused)
    tables = [table for _, table in found]
    parties = np.repeat([name for name, _ in found], [len(table) for table in tables])
    labels = (
        None
        if wanted.label_column is None
        else _join([table.labels for table in tables], folder, wanted.label_column)
    )
    samples = _stack([table.samples for table in tables])
    return Table(samples, labels, parties, tuple(names), unused)


def _party_name(file: Path) -> str:
    """The file's name without the endings of its format: ward.1.csv.gz is the party ward.1."""
    stem = file.stem if file.suffix.lower() in COMPRESSIONS else file.name
    return Path(stem).stem


def _join(labels: list[Any], folder: Path, label_column: str) -> NDArray[Any]:
    if len({part.dtype.kind in "biuf" for part in labels}) > 1:
        raise InputError(
            f"In some files in {folder} the column {label_column!r} holds numbers, "
            "in others texts.",
            "Write the classes in the same way everywhere.",
        )
    return _one_after_another(labels)


def _check_alike(parts: list[Any], folder: Path) -> None:
    """Refuse tables that cannot stand one below another."""
    if len({type(part) for part in parts}) > 1:
        raise InputError(
            f"The files in {folder} are of formats that do not fit together.",
            "Give all parties' files as tables (.csv, .parquet), all as .npz or all as .svm.",
        )
    widths = {part.shape[1] for part in parts}
    if len(widths) > 1:
        raise InputError(
            f"The files in {folder} have {sorted(widths)} columns.",
            "All parties need the same columns.",
        )
    if parts and hasattr(parts[0], "columns"):
        names = {tuple(part.columns) for part in parts}
        if len(names) > 1:
            raise InputError(
                f"The files in {folder} name their columns differently.",
                "All parties need the same columns in the same order.",
            )


def _stack(parts: list[Any]) -> Any:
    if hasattr(parts[0], "columns"):
        import pandas as pd

        # What one file's types are must not be felt by another's entries, nor seen.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return pd.concat(_alike(parts), ignore_index=True)
    if hasattr(parts[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    return _one_after_another(parts)


def _one_after_another(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Arrays of all files, every entry as it is in its own.

    Numpy would give all of them one type: beside a text, somebody else's True becomes "True", and
    beside a fraction 2⁵³+1 becomes 2⁵³. So they are objects where types differ; or doubles, if
    all are numbers that doubles hold.
    """
    if len({part.dtype for part in parts}) == 1 or {part.dtype.kind for part in parts} == {"U"}:
        return np.concatenate(parts)
    if all(_fits_doubles(part) for part in parts):
        return np.concatenate([part.astype(np.float64) for part in parts])
    return np.concatenate([_as_objects(part) for part in parts])


def _fits_doubles(part: NDArray[Any]) -> bool:
    """Whether a double is the same number for every entry, and read as the same text."""
    if part.dtype.kind in "iu":
        return bool(((part >= -(2**53)) & (part <= 2**53)).all())
    return part.dtype.kind == "f" and part.dtype.itemsize <= 8


def _as_objects(part: NDArray[Any]) -> NDArray[Any]:
    held = np.empty(part.size, dtype=object)
    held[:] = list(part.flat)  # numpy's own scalars: `astype` would make counts of times
    return held.reshape(part.shape)


def _alike(parts: list[Any]) -> list[Any]:
    """Tables whose columns have the same types; as objects where files differ."""
    names = list(parts[0].columns)
    differ = [name for name in names if len({str(part[name].dtype) for part in parts}) > 1]
    return [part.astype(dict.fromkeys(differ, object)) for part in parts] if differ else parts


def _from_frame(frame: Any, path: Path, wanted: _Wanted) -> Table:
    twice = list(frame.columns[frame.columns.duplicated()])
    if twice:
        raise InputError(
            f"{path.name} has more than one column {list_names(twice)}.",
            "Give every column a name of its own.",
        )
    special, columns = (wanted.label_column, wanted.party_column), wanted.columns
    taken = [*(name for name in special if name is not None), *wanted.drop]
    for name in taken:
        if name not in frame.columns:
            raise InputError(
                f"{path.name} has no column {name!r}; it has {list_names(frame.columns)}.",
                f"{suggest(name, frame.columns)}Name a column that is there.",
            )
    if columns is not None and not set(columns) <= set(frame.columns):
        raise MissingColumnsError(path.name, wanted=columns, given=list(frame.columns))
    left = [name for name in frame.columns if name not in taken]
    features = frame[list(columns) if columns is not None else left]
    if features.shape[1] == 0:
        raise InputError(f"{path.name} has no feature columns left.", "Keep at least one.")
    labels, parties = (_complete(frame, name, path) for name in special)
    unused = tuple(name for name in left if name not in set(features.columns))
    return Table(features, labels, parties, unused=unused)


def _complete(frame: Any, name: str | None, path: Path) -> NDArray[Any] | None:
    """A column in which nothing may be missing: labels, or parties."""
    if name is None:
        return None
    values: NDArray[Any] = frame[name].to_numpy()
    missing = [row for row, value in enumerate(values.tolist()) if _is_missing(value)]
    if missing:
        raise InputError(
            f"Column {name!r} of {path.name} has missing values, first in {place_of(missing[0])}.",
            "Fill in or drop those rows; "
            "in a CSV file the words NA, None and null count as missing too.",
        )
    return values


def _is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip() in MISSING
    return value is None or bool(value != value) or str(value) == "<NA>"
