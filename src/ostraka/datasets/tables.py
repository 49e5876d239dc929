"""Any table as samples, labels and parties: CSV, Parquet, NPZ or svmlight; CSV and svmlight also compressed with gz or zst.

    format      features                            labels, parties
    CSV, Parquet   all columns but the named ones   columns by name
    NPZ         the array X, or the only matrix     arrays by name
    svmlight    the sparse rows                     `label`, `qid`

A folder is read as one file per party, named after it. Nothing is executed: arrays of Python objects are refused. A file that was cut short
is refused, not read as far as it goes.

svmlight files do not say how many columns there are, nor whether they count them from 0 or 1. For a release `n_columns` must say it, or one
party's rows would decide what everybody's columns mean; without it the largest index gives the first, an index 0 the second. The files of a
folder are asked together, so that a party whose rows lack some columns means the same columns as the others.
"""

from __future__ import annotations

import errno
import gzip
import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import FormatError, InputError, ParameterError
from ostraka.files import write_atomically

__all__ = ["Table", "frame", "read", "write"]

COMPRESSIONS = (".gz", ".zst")
SVMLIGHT = (".svm", ".svmlight", ".libsvm")
COMPRESSIBLE = (".csv", *SVMLIGHT)
FORMATS = "a .csv or .svm file (also .gz or .zst), a .parquet or .npz file, or a folder with one such file per party"
ERRORS_OF_THE_SYSTEM = (FileNotFoundError, PermissionError, ImportError)
"""Errors that say enough themselves; what else a reader raises means that the file is not what its name says."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Samples with, where they were asked for, labels and parties."""

    samples: Any
    """A pandas DataFrame, an array or a sparse matrix."""
    labels: NDArray[Any] | None = None
    parties: NDArray[Any] | None = None
    roll: tuple[str, ...] | None = None
    """Of a folder: every party that has a file, with rows or without."""

    def __len__(self) -> int:
        return int(self.samples.shape[0])


def read(
    path: str | Path,
    *,
    label_column: str | None = None,
    party_column: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    n_columns: int | None = None,
    text_labels: bool = False,
    may_be_empty: bool = False,
) -> Table:
    """Read a file, or a folder with one file per party; in a folder, a file without rows is a party without rows.

    Args:
        path: what to read.
        label_column: the column that holds the classes.
        party_column: the column that says who holds a row; for a folder the file names say it.
        columns: take these columns as features, in this order. None: all that are left. NPZ and svmlight columns have no names, so all are
            taken.
        drop: columns to leave out.
        n_columns: how many columns a svmlight file has, counted from 1: public, so that nobody's rows decide it. None: guessed.
        text_labels: labels as texts, whatever else they look like.
        may_be_empty: whether a file may have no rows.

    """
    path = Path(path)
    table = _read(path, label_column, party_column, columns, drop, n_columns, text_labels)
    if len(table) == 0 and not may_be_empty:
        raise InputError(
            f"{path.name} has no rows.", "Give at least one sample, or leave the file out."
        )
    return (
        replace(table, labels=np.array([str(label) for label in table.labels]))
        if text_labels and table.labels is not None
        else table
    )


def _read(
    path: Path,
    label_column: str | None,
    party_column: str | None,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    n_columns: int | None,
    text_labels: bool,
) -> Table:
    if path.is_dir():
        if party_column is not None:
            raise ParameterError(
                "party_column",
                got=party_column,
                allowed="none for a folder: its files are the parties",
            )
        return _read_folder(path, label_column, columns, drop, n_columns, text_labels)
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "there is no such file or folder", str(path))
    kind = _kind(path)
    if kind in (".csv", ".parquet"):
        # As texts from the start: guessed over the whole column, one party's entry would decide how everybody's are read.
        texts = tuple(
            name
            for name, is_text in ((party_column, True), (label_column, text_labels))
            if name is not None and is_text
        )
        return _from_frame(
            _read_frame(path, kind, texts), path, label_column, party_column, columns, drop
        )
    if drop:
        raise ParameterError(
            "drop", got=list(drop), allowed=f"none for a {kind} file, whose columns have no names"
        )
    if kind == ".npz":
        return _read_npz(path, label_column, party_column)
    return _read_svmlight([path], label_column, party_column, n_columns)[0]


def frame(path: str | Path) -> Any:
    """A CSV or Parquet file as it is, all columns."""
    path = Path(path)
    kind = _kind(path)
    if kind not in (".csv", ".parquet"):
        raise ParameterError(
            "file",
            got=path.name,
            allowed="a .csv (also .gz, .zst) or .parquet file, whose columns have names",
        )
    return _read_frame(path, kind)


def write(frame: Any, path: str | Path) -> None:
    """Write a pandas DataFrame as CSV or Parquet, whole or not at all."""
    path = Path(path)
    kind = _kind(path)
    if kind == ".parquet":
        write_atomically(path, frame.to_parquet(index=False))
    elif kind == ".csv":
        text = frame.to_csv(index=False).encode()
        write_atomically(path, _compressed(text, path.suffix.lower()))
    else:
        raise ParameterError(
            "out", got=str(path), allowed="a .csv (also .gz, .zst) or .parquet file"
        )


def _kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    kind = (suffixes or [""])[-1]
    if kind in COMPRESSIONS and suffixes[-2:-1] and suffixes[-2] in COMPRESSIBLE:
        return suffixes[-2]
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


def _read_folder(
    folder: Path,
    label_column: str | None,
    columns: Sequence[str] | None,
    drop: Sequence[str],
    n_columns: int | None,
    text_labels: bool,
) -> Table:
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
            f"The folder {folder} has more than one file for {_listed(twice)}.",
            "Put one file per party into it.",
        )
    held = [
        file for file in files if file.stat().st_size
    ]  # an empty file is a party without rows, too
    if kinds <= set(SVMLIGHT) and not drop and held:
        tables = _read_svmlight(held, label_column, None, n_columns)
    else:
        options: dict[str, Any] = {
            "label_column": label_column,
            "columns": columns,
            "drop": drop,
            "text_labels": text_labels,
        }
        tables = [read(file, may_be_empty=True, **options) for file in held]
    found = [(_party_name(file), table) for file, table in zip(held, tables) if len(table)]
    if not found and not tables:
        raise InputError(f"Every file in the folder {folder} is empty.", "Give at least one table.")
    if not found:  # then nobody has rows: all of them count
        return Table(tables[0].samples, tables[0].labels, np.array([], dtype=str), tuple(names))
    tables = [table for _, table in found]
    parties = np.repeat([name for name, _ in found], [len(table) for table in tables])
    labels = (
        None
        if label_column is None
        else _joined([table.labels for table in tables], folder, label_column)
    )
    return Table(
        _stacked([table.samples for table in tables], folder), labels, parties, tuple(names)
    )


def _party_name(file: Path) -> str:
    """The file's name without the endings that say its format: ward.1.csv.gz is the party ward.1."""
    stem = file.stem if file.suffix.lower() in COMPRESSIONS else file.name
    return Path(stem).stem


def _joined(labels: list[Any], folder: Path, label_column: str) -> NDArray[Any]:
    if len({part.dtype.kind in "biuf" for part in labels}) > 1:
        raise InputError(
            f"In some files in {folder} the column {label_column!r} holds numbers, in others texts.",
            "Write the classes in the same way everywhere.",
        )
    return np.concatenate(labels)


def _stacked(parts: list[Any], folder: Path) -> Any:
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
    if hasattr(parts[0], "columns"):
        import pandas as pd

        if any(list(part.columns) != list(parts[0].columns) for part in parts):
            raise InputError(
                f"The files in {folder} name their columns differently.",
                "All parties need the same columns in the same order.",
            )
        return pd.concat(parts, ignore_index=True)
    if hasattr(parts[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(parts, format="csr")
    return np.vstack(parts)


def _read_frame(path: Path, kind: str, texts: Sequence[str] = ()) -> Any:
    import pandas as pd

    try:
        return pd.read_parquet(path) if kind == ".parquet" else _parsed_csv(_content(path), texts)
    except ERRORS_OF_THE_SYSTEM:
        raise
    except pd.errors.ParserWarning:
        raise FormatError(
            "csv table", f"the rows of {path.name} have more fields than its first line has names"
        ) from None
    except Exception as error:  # each reader has errors of its own
        raise FormatError(
            f"{kind[1:]} table", f"{path.name} cannot be read ({str(error).strip()})"
        ) from None


def _parsed_csv(content: bytes, texts: Sequence[str] = ()) -> Any:
    """Without what pandas does to be helpful: it rounds numbers (before 3.1), guesses types anew for every part, takes rows for named."""
    import pandas as pd

    exact = {} if _version(pd.__version__) >= (3, 1) else {"float_precision": "round_trip"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            io.BytesIO(content),
            low_memory=False,
            index_col=False,
            dtype=dict.fromkeys(texts, str),
            **exact,
        )


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def _from_frame(
    frame: Any,
    path: Path,
    label_column: str | None,
    party_column: str | None,
    columns: Sequence[str] | None,
    drop: Sequence[str],
) -> Table:
    twice = list(frame.columns[frame.columns.duplicated()])
    if twice:
        raise InputError(
            f"{path.name} has more than one column {_listed(twice)}.",
            "Give every column a name of its own.",
        )
    taken = [name for name in (label_column, party_column) if name is not None]
    for name in (*taken, *drop, *(columns or ())):
        if name not in frame.columns:
            raise InputError(
                f"{path.name} has no column {name!r}; it has {_listed(frame.columns)}.",
                "Name a column that is there.",
            )
    for name in taken:
        if frame[name].isna().any():
            raise InputError(
                f"Column {name!r} of {path.name} has missing values.",
                "Fill in or drop those rows; in a CSV file the words NA, None and null count as missing too.",
            )
    features = frame[list(columns)] if columns is not None else frame.drop(columns=[*taken, *drop])
    return Table(
        _numeric(features, path),
        *(
            None if name is None else frame[name].to_numpy()
            for name in (label_column, party_column)
        ),
    )


def _numeric(frame: Any, path: Path) -> Any:
    if frame.shape[0] == 0:
        return frame  # without rows there are no types
    texts = [name for name in frame.columns if not _is_numeric(frame[name])]
    if texts:
        raise InputError(
            f"{path.name} has columns that are not numbers: {_listed(texts)}.",
            "Encode them as numbers, or leave them out (--drop NAME, drop=[...]).",
        )
    missing = [name for name in frame.columns if frame[name].isna().any()]
    if missing:
        raise InputError(
            f"{path.name} has missing values in {_listed(missing)}.",
            "Fill them in, drop the rows, or drop the columns.",
        )
    if frame.shape[1] == 0:
        raise InputError(f"{path.name} has no feature columns left.", "Keep at least one.")
    return frame.astype(np.float64)


def _is_numeric(column: Any) -> bool:
    """Whether it holds numbers. Whole ones beyond 64 bits come as objects or texts: one party's must not refuse everybody's."""
    import pandas as pd

    if column.dtype.kind in "biuf":
        return True
    if column.dtype.kind not in "OUT" or column.isna().all():
        return False
    numbers = pd.to_numeric(column, errors="coerce")
    return bool((numbers.isna() == column.isna()).all())


def _listed(names: Any) -> str:
    names = [repr(str(name)) for name in names]
    return ", ".join(names[:8]) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")


def _read_npz(path: Path, label_column: str | None, party_column: str | None) -> Table:
    arrays = _npz_arrays(path)
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    chosen = "X" if "X" in matrices else matrices[0] if len(matrices) == 1 else None
    if chosen is None:
        raise InputError(
            f"{path.name} holds the matrices {_listed(matrices) or 'none'}.",
            "Name the one with the features X.",
        )
    for name in (label_column, party_column):
        if name is not None and (
            name not in arrays or arrays[name].shape != (len(arrays[chosen]),)
        ):
            raise InputError(
                f"{path.name} has no array {name!r} with one entry per row of {chosen}.",
                f"It holds {_listed(arrays)}.",
            )
    labels, parties = (
        None if name is None else arrays[name] for name in (label_column, party_column)
    )
    return Table(arrays[chosen], labels, parties)


def _npz_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with path.open("rb") as file:
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise ValueError("it holds one array without a name; write it with numpy.savez")
            with archive:
                return {name: archive[name] for name in archive.files}
    except ERRORS_OF_THE_SYSTEM:
        raise
    except Exception as error:  # zip, zlib and numpy have errors of their own
        raise FormatError("NPZ table", f"{path.name} cannot be read ({error})") from None


def _read_svmlight(
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
                [io.BytesIO(_content(path)) for path in paths], query_id=True, **counted
            )
        )
    except ERRORS_OF_THE_SYSTEM:
        raise
    except Exception as error:  # each reader has errors of its own
        for path in paths if len(paths) > 1 else ():
            _read_svmlight([path], label_column, party_column, n_columns)  # which of them is it?
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
    return labels.astype(np.int64) if whole.all() else labels


def _all_there(parties: NDArray[Any], labels: NDArray[Any], path: Path) -> NDArray[Any]:
    if parties.shape != labels.shape:
        raise InputError(
            f"{path.name} has a qid in {len(parties)} of {len(labels)} rows.",
            "Write the party of every row as qid:NUMBER.",
        )
    return parties


def _content(path: Path) -> bytes:
    """What the file holds, uncompressed; an error if it was cut short."""
    content = path.read_bytes()
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.decompress(content)
    return _unzstd(content) if suffix == ".zst" else content


def _unzstd(content: bytes) -> bytes:
    import zstandard

    parts = []
    while content:
        frame = zstandard.ZstdDecompressor().decompressobj()
        parts.append(frame.decompress(content))
        if not frame.eof:  # the streaming readers of zstandard and pandas stop here without a word
            raise EOFError("the compressed file ends too early")
        content = frame.unused_data
    return b"".join(parts)
