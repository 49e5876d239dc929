"""CSV and Parquet files as pandas tables, as they were written: texts, dates and gaps stay.

A CSV file may have commas, semicolons or tabs between its fields, as its first line shows, and,
with semicolons or tabs, decimal commas. Arrow reads it quickly and exactly; what Arrow refuses,
pandas reads, or says what is wrong. What an entry means is not decided here, but by the public
columns (`public.columns`); columns that they describe are read entry by entry, so that no row
decides how another's entries are read.
"""

from __future__ import annotations

import contextlib
import csv
import io
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ostraka.datasets.content import ERRORS_OF_THE_SYSTEM, read_content
from ostraka.errors import FormatError, list_names
from ostraka.public.entries import one_by_one

__all__ = ["read_cells", "read_frame"]

GAPS = [
    *("", "#N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "na"),
    *("nan", "none", "null", "?", "-", "."),
]
"""Gaps in columns of numbers; columns of texts keep them, and the public columns interpret them."""
BOM = b"\xef\xbb\xbf"
DELIMITERS = ",;\t"
LOOKED_AT = 2**20
"""The names of the columns stand within so many bytes."""
DECIMAL_COMMA = re.compile(r"^\s*([+-]?\d+),(\d+)\s*$")
EXACT = ("int64", "double", "string", "bool", "null")
"""The types that Arrow may find; dates and times stay texts, which the public columns read."""


def read_frame(
    path: Path, kind: str, texts: Sequence[str] = (), numbers: Sequence[str] = ()
) -> Any:
    """All columns of a .csv or .parquet file.

    Args:
        path: the file.
        kind: its ending.
        texts: columns to read as texts, whatever they look like.
        numbers: columns to read as numbers, entry by entry: what is none stays a text, and changes
            nothing of the other entries.

    """
    with _naming(path, kind):
        if kind == ".parquet":
            return _read_parquet(path)
        content = read_content(path).removeprefix(BOM)
        delimiter = _find_delimiter(content)
        frame = _parse_csv(content, delimiter, texts, numbers)
        return frame if delimiter == "," else _with_points(frame)


def read_cells(path: Path, kind: str) -> tuple[Any, str]:
    """A table cell by cell as it was written, and what stands between the fields.

    A CSV file says nothing of types: 0012 and 20 digits stay what they are. Parquet keeps its own.
    """
    with _naming(path, kind):
        if kind == ".parquet":
            return _read_parquet(path), ","
        content = read_content(path).removeprefix(BOM)
        delimiter = _find_delimiter(content)
        return _parse_csv(content, delimiter, _names(content, delimiter)), delimiter


@contextlib.contextmanager
def _naming(path: Path, kind: str) -> Iterator[None]:
    """Let what a reader refuses say which file it is, in words of our own."""
    try:
        yield
    except ERRORS_OF_THE_SYSTEM:
        raise
    except UnicodeDecodeError as error:
        problem = (
            f"{path.name} cannot be read (byte {error.start} is not UTF-8; save it as CSV UTF-8)"
        )
        raise FormatError("csv table", problem) from None
    except Exception as error:  # each reader has errors of its own
        raise FormatError(
            f"{kind[1:]} table", f"{path.name} cannot be read ({str(error).strip()})"
        ) from None


def _read_parquet(path: Path) -> Any:
    """Whole numbers beside gaps stay whole: as doubles, large ones would be others."""
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    whole = {
        getattr(pa, name)(): pd.api.types.pandas_dtype(name.replace("i", "I").replace("u", "U"))
        for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    }
    table = parquet.read_table(path)
    try:
        return table.to_pandas(types_mapper=whole.get)
    except Exception:  # pandas cannot hold some entry: the others must not feel it
        columns = [_by_entry(column, whole.get) for column in table.columns]
        return pd.DataFrame(dict(zip(table.column_names, columns)))


def _by_entry(column: Any, types_mapper: Any) -> Any:
    import pandas as pd

    try:
        return column.to_pandas(types_mapper=types_mapper)
    except Exception:
        return pd.Series(one_by_one(column))


def _parse_csv(
    content: bytes, delimiter: str, texts: Sequence[str], numbers: Sequence[str] = ()
) -> Any:
    import pyarrow as pa

    twice = [name for name, n in Counter(_names(content, delimiter)).items() if n > 1]
    if twice:
        raise ValueError(f"its first line names {list_names(twice)} more than once")
    _refuse_odd_quotes(content, delimiter)
    try:
        return _read_by_arrow(content, texts, numbers, delimiter)
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        content.decode("utf-8")
        _refuse_odd_rows(content, delimiter)
        return _read_by_pandas(content, (*texts, *numbers), delimiter)


def _with_points(frame: Any) -> Any:
    """Where commas do not separate fields, 1,5 is a number: entry by entry, 1.5."""
    for name in frame.columns:
        if frame[name].dtype.kind in "OUT" or str(frame[name].dtype) in ("str", "string"):
            written = frame[name].astype(object).where(frame[name].notna(), None)
            frame[name] = [
                DECIMAL_COMMA.sub(r"\1.\2", entry) if isinstance(entry, str) else entry
                for entry in written
            ]
    return frame


def _lines(content: bytes, delimiter: str) -> Iterator[list[str]]:
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8", "replace", newline="")
    return csv.reader(text, delimiter=delimiter)


def _names(content: bytes, delimiter: str) -> list[str]:
    """The first line that is not empty."""
    return next(filter(None, _lines(content, delimiter)), [])


def _refuse_odd_rows(content: bytes, delimiter: str) -> None:
    """Refuse a row that was cut off, because pandas would take the rest for gaps; and one that ends
    in a delimiter where others do not, which says that the row is odd, not its file.
    """
    n_names, widths = None, set[int]()
    for number, fields in enumerate(_lines(content, delimiter), start=1):
        if not fields:
            continue
        if n_names is None:
            n_names = len(fields)
            continue
        if len(fields) < n_names:
            raise ValueError(f"row {number} has {len(fields)} of {n_names} fields: was it cut off?")
        widths.add(len(fields))
        if len(widths) > 1:
            raise ValueError(f"row {number} has another number of fields than the rows before it")
        if fields[n_names:] not in ([], [""]):
            raise ValueError("its rows have more fields than its first line has names")


def _refuse_odd_quotes(content: bytes, delimiter: str) -> None:
    """Refuse what follows a closing quote: most often it was opened in another row, and all between
    them would be one field.
    """
    if b'"' not in content:
        return
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8", "replace", newline="")
    number = 0
    try:
        for _ in csv.reader(text, delimiter=delimiter, strict=True):
            number += 1
    except csv.Error as error:
        if "field limit" in str(error):
            return  # a long field; this reader gives up, and the others do not
        problem = f"row {number + 1} has a quote that does not end its field, or is not closed"
        raise ValueError(f"{problem}: {error}") from None


def _find_delimiter(content: bytes) -> str:
    """What stands most often between the names of the columns; a comma if nothing does."""
    head = content[:LOOKED_AT].decode("utf-8", "replace")
    line = re.sub(r'"[^"]*"', "", head.lstrip().partition("\n")[0])
    return max(DELIMITERS, key=lambda each: (line.count(each), each == ","))


def _read_by_arrow(
    content: bytes, texts: Sequence[str], numbers: Sequence[str], delimiter: str
) -> Any:
    import pyarrow as pa

    names = _names(content, delimiter)
    if not names:
        raise pa.ArrowInvalid("without names there is nothing to read; pandas says so")
    types = {name: pa.string() for name in texts if name in names}
    counted = [name for name in numbers if name in names]
    try:
        # As doubles only where every entry is one: then they are what each would be on its own.
        wanted = types | dict.fromkeys(counted, pa.float64())
        table = _read_typed(content, wanted, delimiter)
    except pa.ArrowInvalid:
        types |= dict.fromkeys(counted, pa.string())
        table = _read_typed(content, types, delimiter)
    odd = [field.name for field in table.schema if str(field.type) not in EXACT]
    if odd:
        kept = {field.name: field.type for field in table.schema if field.name not in odd}
        named = {name: kind for name, kind in kept.items() if name in types or name in counted}
        table = _read_typed(content, named | dict.fromkeys(odd, pa.string()), delimiter)
    return table.to_pandas()


def _read_typed(content: bytes, types: dict[str, Any], delimiter: str) -> Any:
    """By parts, in which Arrow takes the first one's types for all; or else as a whole."""
    import pyarrow as pa
    from pyarrow import csv as arrow

    for block_size in (None, len(content) + 1):
        try:
            return arrow.read_csv(
                io.BytesIO(content),
                arrow.ReadOptions(block_size=block_size),
                arrow.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in content),
                arrow.ConvertOptions(
                    column_types=types, null_values=GAPS, strings_can_be_null=False
                ),
            )
        except pa.ArrowInvalid:
            if block_size is not None:
                raise
    return None


def _read_by_pandas(content: bytes, texts: Sequence[str], delimiter: str) -> Any:
    """Read without pandas' help.

    It rounds numbers (before 3.1), guesses types anew for every part, and takes rows for named.
    """
    import pandas as pd

    exact = {} if _version(pd.__version__) >= (3, 1) else {"float_precision": "round_trip"}
    names = _names(content, delimiter)
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            io.BytesIO(content),
            sep=delimiter,
            low_memory=False,
            index_col=False,
            usecols=range(len(names)),  # an empty field at the end of every row is none
            dtype=dict.fromkeys(texts, str),
            keep_default_na=False,
            na_values={name: [""] if name in texts else GAPS for name in names},
            **exact,
        )


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])
