"""One entry of a table, whatever container and type it comes in, as a number or as a text.

    an entry              as a number                     as a text
    3, 3.0, "3", " 3.0"   3.0                             "3"
    True, "true"          1.0                             "true"
    a date, "2026-11-16"  days since 1970, in UTC         "2026-11-16"
    None, NaN, "", "n/a"  NaN: a gap                      "": a gap
    anything else         NaN: a gap                      the text itself, without spaces around

Guarantee: what an entry becomes depends on that entry alone, and reading it never raises. A column
is read in one go for speed, but one party's entry has no effect on another's, not even by changing
the type of a column that holds both. Needs only numpy: pandas, polars and Arrow columns are read
through `numpy.asarray`.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import re
import unicodedata
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "GAP",
    "GAP_WORDS",
    "Reading",
    "read_each",
    "read_numbers",
    "read_texts",
    "text_of",
    "values_of",
]

Reading: TypeAlias = Literal["number", "boolean", "date"]
Array: TypeAlias = NDArray[np.float64]

GAP: Final = ""
"""A gap, as a text."""
GAP_WORDS: Final = frozenset(
    {"", "na", "n/a", "#n/a", "nan", "-nan", "null", "none", "nat", "<na>", "?", "-", "."}
)
"""Words, in upper or lower case, that people and programs write where there is nothing."""
TRUE_WORDS: Final = frozenset({"true", "t", "yes", "y", "1", "1.0", "on"})
FALSE_WORDS: Final = frozenset({"false", "f", "no", "n", "0", "0.0", "off"})
LONGEST_NUMBER = 400
"""Longer texts are not numbers: Python would read them, slowly."""
EPOCH: Final = dt.datetime(1970, 1, 1)
MICROSECOND: Final = dt.timedelta(microseconds=1)
MICROSECONDS_PER_DAY: Final = 86_400_000_000.0
_WHOLE: Final = re.compile(r"([+-]?\d+)\.0+")


def values_of(column: Any) -> NDArray[Any]:
    """A column of any table as a one-dimensional array: numbers, truth values, dates or objects."""
    if getattr(getattr(column, "dtype", None), "tz", None) is not None:
        return np.asarray(column.to_numpy(dtype="datetime64[us]"))  # pandas, in UTC
    values = np.asarray(column)
    return values.astype(object) if values.dtype.kind in "SUTV" else values


def read_numbers(values: NDArray[Any], kind: Reading, form: str | None = None) -> Array:
    """The entries as numbers; NaN for gaps and for whatever is not a number.

    Args:
        values: as `values_of` gives them.
        kind: what they stand for.
        form: how dates are written, as for `datetime.strptime`; None: year first (ISO 8601).

    """
    if kind == "date":
        return _read_dates(values, form)
    if values.dtype.kind in "biuf":
        return _finite(values.astype(np.float64), only_truth=kind == "boolean")
    read = _number if kind == "number" else _truth
    return read_each(values, read, np.float64)


def read_texts(values: NDArray[Any]) -> NDArray[Any]:
    """The entries as texts, `GAP` for gaps: an array of objects."""
    return read_each(values, text_of, np.object_)


def read_each(values: NDArray[Any], read: Callable[[Any], Any], kind: Any) -> NDArray[Any]:
    """What `read` makes of every entry; equal entries of one type are read only once."""
    if values.dtype.kind in "biufM":
        exact = values.astype("datetime64[us]") if values.dtype.kind == "M" else values
        distinct, places = np.unique(exact, return_inverse=True)
        found = np.fromiter(map(read, distinct.tolist()), kind, len(distinct))
        return found[places]
    entries = values.tolist()
    numbers = set(map(type, entries)) - {str, type(None)}
    try:
        if len(numbers) <= 1:
            return np.fromiter(map(_Read(read).__getitem__, entries), kind, len(entries))
        # 1 and True are equal, but not the same entry.
        typed = _Read(lambda pair: read(pair[1]))
        return np.fromiter((typed[type(each), each] for each in entries), kind, len(entries))
    except TypeError:  # lists and the like cannot be remembered
        return np.fromiter(map(read, entries), kind, len(entries))


class _Read(dict[Any, Any]):
    """What was read already."""

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self._read = read

    def __missing__(self, entry: Any) -> Any:
        found = self[entry] = self._read(entry)
        return found


def _finite(values: Array, *, only_truth: bool) -> Array:
    kept = (values == 0.0) | (values == 1.0) if only_truth else np.isfinite(values)
    return values if kept.all() else np.where(kept, values, np.nan)


def _number(value: Any) -> float:
    if isinstance(value, bytes | str):
        text = _decoded(value).strip()
        if len(text) > LONGEST_NUMBER or "_" in text:
            return math.nan
        value = text
    elif isinstance(value, dt.date | dt.timedelta):
        return math.nan
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
    return number if math.isfinite(number) else math.nan


def _truth(value: Any) -> float:
    text = text_of(value).casefold()
    return 1.0 if text in TRUE_WORDS else 0.0 if text in FALSE_WORDS else math.nan


def _read_dates(values: NDArray[Any], form: str | None) -> Array:
    if values.dtype.kind == "M":
        exact = values.astype("datetime64[us]")
        days = exact.astype(np.int64) / MICROSECONDS_PER_DAY
        return np.where(np.isnat(exact), np.nan, days)
    if values.dtype.kind in "biuf":
        return np.full(len(values), np.nan)  # a number does not say what it counts from
    return read_each(values, lambda value: _days(value, form), np.float64)


def _days(value: Any, form: str | None) -> float:
    """Days since 1970; a time without a zone is taken as it is, others in UTC."""
    try:
        if isinstance(value, bytes | str):
            text = _decoded(value).strip()
            value = _date(text) if form is None else dt.datetime.strptime(text, form)
        if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
            value = dt.datetime(value.year, value.month, value.day)
        if not isinstance(value, dt.datetime) or value != value:  # NaT is a datetime
            return math.nan
        return (_in_utc(value) - EPOCH) // MICROSECOND / MICROSECONDS_PER_DAY
    except (TypeError, ValueError, OverflowError):
        return math.nan


def _date(text: str) -> dt.datetime | None:
    """Year first, with dashes: digits alone are more often a number than a date."""
    return dt.datetime.fromisoformat(text) if "-" in text else None


def text_of(value: Any) -> str:
    """One entry as a text; equal entries of one type have the same."""
    if isinstance(value, bytes | str):
        text = unicodedata.normalize("NFC", _decoded(value)).strip()
    elif isinstance(value, dt.datetime):
        text = "" if value != value else _in_utc(value).isoformat().removesuffix("T00:00:00")
    elif value is None or isinstance(value, bool | int):
        text = str(value)
    else:
        text = _text_of_number(value)
    whole = _WHOLE.fullmatch(text)
    text = text if whole is None else whole[1]
    folded = text.casefold()
    if folded in GAP_WORDS:
        return GAP
    return folded if folded in ("true", "false") else text


def _text_of_number(value: Any) -> str:
    """-0.0 is 0, and Decimal("1.50") is 1.5; anything that is not a number is its own text."""
    if not isinstance(value, float | np.floating | np.integer | decimal.Decimal):
        return str(value).strip()
    number = float(value)
    return "" if not math.isfinite(number) else repr(number + 0.0)


def _in_utc(value: dt.datetime) -> dt.datetime:
    return value if value.tzinfo is None else value.astimezone(dt.UTC).replace(tzinfo=None)


def _decoded(value: bytes | str) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value
