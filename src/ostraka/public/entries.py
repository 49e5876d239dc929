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
    "one_by_one",
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
LONGEST_TEXT: Final = 1000
"""Longer texts are on no list: to put one into its Unicode form could take hours."""
UNLISTED: Final = "\x00"
"""What an entry that cannot be written becomes as a text: not printable, so on no list."""
UNREADABLE: Final = object()
"""An entry that its own container cannot give: as what is on no list, and no number."""
FINER: Final = frozenset({"ns", "ps", "fs", "as"})
"""Units below a microsecond: to count in microseconds loses something, and cannot overflow."""
EPOCH: Final = dt.datetime(1970, 1, 1)
MICROSECOND: Final = dt.timedelta(microseconds=1)
MICROSECONDS_PER_DAY: Final = 86_400_000_000.0
FIRST_DAY, LAST_DAY = -719_162.0, 2_932_897.0
"""The years 1 to 9999, which Python's dates can hold."""
_WHOLE: Final = re.compile(r"([+-]?\d+)\.0+")
_NUMBER: Final = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")


def values_of(column: Any) -> NDArray[Any]:
    """A column of any table as a one-dimensional array: numbers, truth values, dates or objects."""
    if getattr(getattr(column, "dtype", None), "tz", None) is not None:
        return np.asarray(column.to_numpy(dtype="datetime64[us]"))  # pandas, in UTC
    if isinstance(column, np.ma.MaskedArray):
        return np.array(column.astype(object).tolist() or [], dtype=object)
    try:
        values = np.asarray(column)
    except Exception:  # one entry that its own container cannot give: the others must not feel it
        return one_by_one(column)
    if values.dtype.kind == "f" and values.ndim == 1 and not isinstance(column, np.ndarray):
        values = _whole(column, values)
    if values.ndim == 1 and values.dtype.kind in "biufMO":
        return values
    held = np.empty(len(values), dtype=object)
    held[:] = list(values) if values.ndim > 1 or values.dtype.kind == "m" else values.tolist()
    return held


def one_by_one(column: Any) -> NDArray[Any]:
    """The entries of a column, `UNREADABLE` where its container fails."""
    held = np.empty(len(column), dtype=object)
    by_place = getattr(column, "iloc", column)  # pandas alone would go by the names of rows
    for place in range(len(column)):
        try:
            entry = by_place[place]
            held[place] = entry.as_py() if hasattr(entry, "as_py") else entry
        except Exception:
            held[place] = UNREADABLE
    return held


def _whole(column: Any, values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers beside gaps, which containers give as doubles: as objects, if one is large.

    Up to 2⁵³ a double is the same number, and read as the same text.
    """
    with np.errstate(invalid="ignore"):
        if not (np.abs(values) >= 2.0**53).any():
            return values
    held = np.empty(len(values), dtype=object)
    held[:] = column.to_list() if hasattr(column, "to_list") else column.to_pylist()
    return held


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
        return _finite(values.astype(np.float64) + 0.0, only_truth=kind == "boolean")
    read = _number if kind == "number" else _truth
    return read_each(values, read, np.float64)


def read_texts(values: NDArray[Any]) -> NDArray[Any]:
    """The entries as texts, `GAP` for gaps: an array of objects."""
    return read_each(values, text_of, np.object_)


def read_each(values: NDArray[Any], read: Callable[[Any], Any], kind: Any) -> NDArray[Any]:
    """What `read` makes of every entry; equal texts, and equal numbers of one type, only once."""
    if values.dtype.kind in "biufM":
        distinct, places = np.unique(values, return_inverse=True)
        entries = list(distinct) if values.dtype.kind == "M" else distinct.tolist()
        found = np.fromiter(map(read, entries), kind, len(distinct))
        return found[places]
    entries, known = values.tolist(), _Read(read)
    if set(map(type, entries)) <= {str, type(None)}:
        return np.fromiter(map(known.__getitem__, entries), kind, len(entries))
    # Other equal entries need not be the same: 1 and True, or one hour twice when clocks go back.
    read_all = (known[entry] if type(entry) is str else read(entry) for entry in entries)
    return np.fromiter(read_all, kind, len(entries))


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
    try:
        plain = _plain(value)
        if isinstance(plain, str):
            # What float() takes besides (1_000, inf, nan, other alphabets' digits) no table means.
            number = float(plain) if _NUMBER.fullmatch(plain) and plain.isascii() else math.nan
        elif isinstance(plain, complex):
            number = plain.real if plain.imag == 0.0 else math.nan
        elif isinstance(plain, dt.date | dt.timedelta):
            return math.nan
        else:
            number = float(plain)
    except Exception:  # whatever an odd object does: an error would tell of it
        return math.nan
    return number + 0.0 if math.isfinite(number) else math.nan


def _truth(value: Any) -> float:
    text = text_of(value).casefold()
    return 1.0 if text in TRUE_WORDS else 0.0 if text in FALSE_WORDS else math.nan


def _read_dates(values: NDArray[Any], form: str | None) -> Array:
    if values.dtype.kind == "M":
        exact = values.astype("datetime64[us]")
        days = exact.astype(np.int64) / MICROSECONDS_PER_DAY
        known = ~np.isnat(exact) & (days >= FIRST_DAY) & (days < LAST_DAY)
        if np.datetime_data(values.dtype)[0] not in FINER:
            known &= exact.astype(values.dtype) == values  # numpy goes round where it is too far
        return np.where(known, days, np.nan)
    if values.dtype.kind in "biuf":
        return np.full(len(values), np.nan)  # a number does not say what it counts from
    return read_each(values, lambda value: _days(value, form), np.float64)


def _days(value: Any, form: str | None) -> float:
    """Days since 1970; a time without a zone is taken as it is, others in UTC."""
    try:
        plain = _plain(value)
        if isinstance(plain, str):
            short = plain[:LONGEST_TEXT]
            plain = _date(short) if form is None else dt.datetime.strptime(short, form)
        if isinstance(plain, dt.date) and not isinstance(plain, dt.datetime):
            plain = dt.datetime(plain.year, plain.month, plain.day)
        if not isinstance(plain, dt.datetime) or plain != plain:  # NaT is a datetime
            return math.nan
        return (_in_utc(plain) - EPOCH) // MICROSECOND / MICROSECONDS_PER_DAY
    except Exception:  # as in `_number`
        return math.nan


def _date(text: str) -> dt.datetime | None:
    """Year first, with dashes: digits alone are more often a number than a date."""
    return dt.datetime.fromisoformat(text) if "-" in text else None


def text_of(value: Any) -> str:
    """One entry as a text; `UNLISTED` for what cannot be one."""
    try:
        text = _write(_plain(value))
        if len(text) > LONGEST_TEXT:
            return UNLISTED
        text = unicodedata.normalize("NFC", text).strip()
        whole = _WHOLE.fullmatch(text)
        text = text if whole is None else whole[1]
        folded = text.casefold()
    except Exception:  # as in `_number`
        return UNLISTED
    if folded in GAP_WORDS:
        return GAP
    return folded if folded in ("true", "false") else text


def _write(value: Any) -> str:
    """-0.0 is 0, Decimal("1.50") is 1.5, and a complex number without imaginary part is real."""
    if isinstance(value, str) or value is None or isinstance(value, bool | int):
        return str(value)
    if isinstance(value, dt.datetime):
        return "" if value != value else _in_utc(value).isoformat().removesuffix("T00:00:00")
    if isinstance(value, dt.timedelta):
        return str(dt.timedelta(microseconds=value // MICROSECOND))
    if isinstance(value, np.ndarray | list | tuple | dict):
        raise TypeError  # Arrow writes their numbers otherwise where somebody has a gap
    if isinstance(value, complex) and value.imag == 0.0:
        value = value.real
    if isinstance(value, float | np.floating | decimal.Decimal):
        number = float(value)
        return repr(number + 0.0) if math.isfinite(number) else ""
    return str(value).strip()


def _plain(value: Any) -> Any:
    """numpy's scalars as Python's own, texts without spaces around."""
    if value is UNREADABLE:
        raise ValueError
    if isinstance(value, np.datetime64 | np.timedelta64):
        return _moment(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return value.strip() if isinstance(value, str) else value


def _moment(value: Any) -> Any:
    """numpy's times as Python's, in microseconds, rounded down; what Python cannot hold fails."""
    if np.isnat(value):
        return None
    finer = np.datetime_data(value.dtype)[0] in FINER
    if isinstance(value, np.timedelta64) and finer:
        return dt.timedelta(microseconds=int(value // np.timedelta64(1, "us")))
    exact = value.astype(
        "datetime64[us]" if isinstance(value, np.datetime64) else "timedelta64[us]"
    )
    found = exact.item()
    if isinstance(found, int) or not (finer or exact.astype(value.dtype) == value):
        raise OverflowError
    return found


def _in_utc(value: dt.datetime) -> dt.datetime:
    """The same moment without a zone, in microseconds: pandas' own times hold more."""
    moved = value if value.tzinfo is None else value.astimezone(dt.UTC)
    clock = (moved.hour, moved.minute, moved.second, moved.microsecond)
    return dt.datetime(moved.year, moved.month, moved.day, *clock)
