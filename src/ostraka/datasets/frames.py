"""CSV and Parquet files as pandas tables: texts, dates and gaps stay as they were written.

A CSV file may use commas, semicolons or tabs between its fields, and, with semicolons, decimal
commas. Arrow reads it fast and exactly; what Arrow refuses, pandas reads, or says what is wrong.
What an entry means is decided by the public columns (`public.columns`), not here.
"""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ostraka.datasets.content import ERRORS_OF_THE_SYSTEM, read_content
from ostraka.errors import FormatError

__all__ = ["read_frame"]

GAPS = [
    *("", "#N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "na"),
    *("nan", "none", "null", "?", "-", "."),
]
"""Gaps in columns of numbers; columns of texts keep them, and the public columns interpret them."""
DELIMITERS = ",;\t"
LOOKED_AT = 2**16
"""This many bytes show whether numbers have decimal commas."""
EXACT = ("int64", "double", "string", "bool", "null")
"""The types that Arrow may find; dates and times stay texts, which the public columns read."""


def read_frame(path: Path, kind: str, texts: Sequence[str] = ()) -> Any:
    """All columns of a .csv or .parquet file; those in `texts` as texts whatever they look like."""
    import pandas as pd

    try:
        return (
            pd.read_parquet(path) if kind == ".parquet" else _parse_csv(read_content(path), texts)
        )
    except ERRORS_OF_THE_SYSTEM:
        raise
    except UnicodeDecodeError as error:
        problem = (
            f"{path.name} cannot be read (byte {error.start} is not UTF-8; save it as CSV UTF-8)"
        )
        raise FormatError("csv table", problem) from None
    except pd.errors.ParserWarning:
        raise FormatError(
            "csv table", f"the rows of {path.name} have more fields than its first line has names"
        ) from None
    except Exception as error:  # each reader has errors of its own
        raise FormatError(
            f"{kind[1:]} table", f"{path.name} cannot be read ({str(error).strip()})"
        ) from None


def _parse_csv(content: bytes, texts: Sequence[str]) -> Any:
    import pyarrow as pa

    content = content.removeprefix(b"\xef\xbb\xbf")
    head = content[:LOOKED_AT].decode("utf-8", "replace")
    delimiter = _find_delimiter(head)
    comma = delimiter == ";" and re.search(r"(?:^|;)-?\d+,\d+(?:;|\r?$)", head, re.M) is not None
    try:
        return _read_by_arrow(content, texts, delimiter, "," if comma else ".")
    except (pa.ArrowInvalid, pa.ArrowKeyError):
        content.decode("utf-8")
        _refuse_short_rows(content, delimiter)
        return _read_by_pandas(content, texts, delimiter, "," if comma else ".")


def _lines(content: bytes, delimiter: str) -> Iterator[list[str]]:
    text = io.TextIOWrapper(io.BytesIO(content), "utf-8", "replace", newline="")
    return csv.reader(text, delimiter=delimiter)


def _refuse_short_rows(content: bytes, delimiter: str) -> None:
    """Refuse a row with too few fields: it was cut off, and pandas would take the rest for gaps."""
    lines = _lines(content, delimiter)
    n_names = len(next(lines, []))
    for number, fields in enumerate(lines, start=2):
        if 0 < len(fields) < n_names:
            raise ValueError(f"row {number} has {len(fields)} of {n_names} fields: was it cut off?")


def _find_delimiter(head: str) -> str:
    """The commonest separator between the names of the columns; a comma if there is none."""
    line = re.sub(r'"[^"]*"', "", head.lstrip().partition("\n")[0])
    return max(DELIMITERS, key=lambda each: (line.count(each), each == ","))


def _read_by_arrow(content: bytes, texts: Sequence[str], delimiter: str, decimal: str) -> Any:
    import pyarrow as pa
    from pyarrow import csv as arrow

    def read(wanted: Sequence[str], whole: bool) -> pa.Table:
        return arrow.read_csv(
            io.BytesIO(content),
            arrow.ReadOptions(block_size=len(content) + 1) if whole else None,
            arrow.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in content),
            arrow.ConvertOptions(
                column_types=dict.fromkeys(wanted, pa.string()),
                null_values=GAPS,
                strings_can_be_null=False,
                decimal_point=decimal,
                auto_dict_encode=False,
            ),
        )

    names = next(_lines(content, delimiter), [])
    if len(set(names)) < max(1, len(names)):
        raise pa.ArrowInvalid("no names, or some that stand twice, are for pandas to tell of")
    wanted = [name for name in texts if name in names]
    table = _read_typed(read, wanted)
    odd = [field.name for field in table.schema if str(field.type) not in EXACT]
    return (_read_typed(read, [*wanted, *odd]) if odd else table).to_pandas()


def _read_typed(read: Any, wanted: Sequence[str]) -> Any:
    """Read in parts, where Arrow takes the first part's types for all; otherwise as a whole."""
    import pyarrow as pa

    try:
        return read(wanted, whole=False)
    except pa.ArrowInvalid:
        return read(wanted, whole=True)


def _read_by_pandas(content: bytes, texts: Sequence[str], delimiter: str, decimal: str) -> Any:
    """Read without what pandas does to be helpful.

    It rounds numbers (before 3.1), guesses types again for every part, and takes rows for named.
    """
    import pandas as pd

    exact = {} if _version(pd.__version__) >= (3, 1) else {"float_precision": "round_trip"}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        return pd.read_csv(
            io.BytesIO(content),
            sep=delimiter,
            decimal=decimal,
            low_memory=False,
            index_col=False,
            dtype=dict.fromkeys(texts, str),
            **exact,
        )


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])
