"""The public description of a table: which columns there are, and how an entry becomes numbers.

    kind       an entry becomes                                     a gap becomes
    number     itself; or its logarithm, where the public tail      the public median
               is long
    boolean    1 or 0                                               the public median
    date       years before or after the public median date         the public median
    category   1 in the column of its own value, 0 in the others    a value of its own, if it is one
               of the list; one that is not on the list: 0 in all   of the list; else 0 in all

Where public rows have gaps, a number also gets a column that is 1 at a gap. Columns are found by
name, so their order, their types and what else is in a table do not matter.

Guarantee: every row is encoded on its own, by correctly rounded arithmetic on single numbers, so no
party's rows change another's by even a bit; and no entry is an error. Private rows never say what a
column is: `describe.describe_columns` makes the description from a public table, or people write
it.

Why not the exact logarithm: numpy computes it for many numbers at once, and does not promise the
same last bit wherever a number stands. `_fold_tail` is the broken line through log₂ at the powers
of two.

Needs numpy alone: a published model encodes through this module.
"""

from __future__ import annotations

import datetime as dt
import math
import os
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import (
    EntryError,
    InputError,
    MissingColumnsError,
    ParameterError,
    ShapeError,
    WrongTypeError,
    list_names,
)
from ostraka.public.entries import GAP, Reading, read_each, read_numbers, text_of, values_of

__all__ = [
    "KINDS",
    "Category",
    "Column",
    "Columns",
    "Number",
    "as_numbers",
    "check_samples",
    "is_table",
    "names_of",
]

Array: TypeAlias = NDArray[np.float64]

KINDS: Final = ("number", "boolean", "date", "category")
DAYS_PER_YEAR: Final = 365.25
FARTHEST: Final = 2.0**1000
"""A tail is followed this far from the middle: twice as far could overflow doubles."""
LONGEST_NAME: Final = 1000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """A column that becomes one number, and one more if public rows have gaps."""

    name: str
    kind: Reading = "number"
    fill: float | None
    """What a gap becomes: the public median.

    None: gaps are refused, because nothing public says what they mean.
    """
    marks_gaps: bool = False
    """Whether a second column is 1 where there is a gap."""
    unknown: tuple[float, ...] = ()
    """Numbers that stand for a gap, such as 99 for an age that nobody knows."""
    unit: float | None = None
    """For a long tail: distances from `fill` up to this are kept, longer ones become logarithms."""
    form: str | None = None
    """How a date is written, if not year first."""

    def __post_init__(self) -> None:
        _check_name(self.name)
        if self.kind not in ("number", "boolean", "date"):
            raise ParameterError("kind", got=self.kind, allowed=" or ".join(KINDS))
        numbers = (self.fill, self.unit, *self.unknown)
        if not all(each is None or math.isfinite(each) for each in numbers):
            raise ParameterError("fill, unit, unknown", got=numbers, allowed="finite numbers")
        if self.unit is not None and not (self.unit > 0.0 and self.kind == "number"):
            raise ParameterError("unit", got=self.unit, allowed="above 0, for a number")
        if self.fill is None and (self.marks_gaps or self.unit is not None or self.kind == "date"):
            allowed = "the public median, where gaps are marked, tails are folded or dates are read"
            raise ParameterError("fill", got=None, allowed=allowed)
        if self.form is not None and not _is_form(self.form):
            raise ParameterError(
                "form", got=self.form, allowed='a form of dates, such as "%d.%m.%Y"'
            )
        if self.form is not None and self.kind != "date":
            raise ParameterError("form", got=self.form, allowed="none, except for dates")

    @property
    def width(self) -> int:
        """How many numbers it becomes."""
        return 1 + self.marks_gaps

    @property
    def labels(self) -> tuple[str, ...]:
        """What they are called."""
        return (self.name, f"{self.name} is missing")[: self.width]

    def write(self, values: NDArray[Any], out: Array, what: str) -> None:
        """Encode entries into the columns of `out`."""
        found = read_numbers(values, self.kind, self.form)
        for number in self.unknown:
            found = np.where(found == number, np.nan, found)
        gaps = np.isnan(found)
        if self.fill is None and gaps.any():
            row = int(np.flatnonzero(gaps)[0])
            raise EntryError(what, column=self.name, entry=values[row], row=row)
        encoded = self._scale(found)
        out[:, 0] = np.where(gaps, self._scale(np.array([self.fill or 0.0])), encoded)
        if self.marks_gaps:
            out[:, 1] = gaps

    def _scale(self, found: Array) -> Array:
        if self.kind == "date":
            return (found - (self.fill or 0.0)) / DAYS_PER_YEAR
        if self.unit is None:
            return found
        assert self.fill is not None
        with np.errstate(over="ignore", invalid="ignore"):
            return _fold_tail((found - self.fill) / self.unit)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """A column of texts from a public list; each of them becomes a column of zeros and ones."""

    name: str
    values: tuple[str, ...]
    """If `GAP` is among them, a gap is a value of its own."""
    _places: dict[str, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "values", tuple(self.values))
        # Other texts, such as True for true, would never be met.
        texts = all(
            isinstance(value, str) and value.isprintable() and value == text_of(value)
            for value in self.values
        )
        if not texts or not self.values or len(set(self.values)) < len(self.values):
            allowed = "distinct printable texts as entries are read, at least one"
            raise ParameterError(f"values of {self.name}", got=self.values[:8], allowed=allowed)
        self._places.update({value: place for place, value in enumerate(self.values)})

    @property
    def kind(self) -> str:
        """The kind, as for other columns."""
        return "category"

    @property
    def width(self) -> int:
        """How many numbers it becomes."""
        return len(self.values)

    @property
    def labels(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(
            f"{self.name} is missing" if value == GAP else f"{self.name} = {value}"
            for value in self.values
        )

    def write(self, values: NDArray[Any], out: Array, what: str) -> None:  # noqa: ARG002
        """Encode entries into the columns of `out`."""
        places = self.places(values)
        out[:] = 0.0
        known = np.flatnonzero(places >= 0)
        out[known, places[known]] = 1.0

    def places(self, values: NDArray[Any]) -> NDArray[np.intp]:
        """Where each entry stands on the list; −1 for others."""
        return read_each(values, lambda entry: self._places.get(text_of(entry), -1), np.intp)


Column: TypeAlias = Number | Category


@final
@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a table, in the order in which they are encoded."""

    columns: tuple[Column, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        names = [column.name for column in self.columns]
        if not names or len(set(names)) < len(names):
            twice = sorted(name for name, count in Counter(names).items() if count > 1)
            allowed = "at least one column, each with a name of its own"
            raise ParameterError("columns", got=twice or names, allowed=allowed)

    @classmethod
    def of_numbers(cls, names: Iterable[str]) -> Columns:
        """Columns of which only the names are known, taken as numbers without gaps."""
        return cls(tuple(Number(name=name, fill=None) for name in names))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the table's own columns."""
        return tuple(column.name for column in self.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the encoded columns."""
        return tuple(label for column in self.columns for label in column.labels)

    @property
    def width(self) -> int:
        """How many encoded columns there are."""
        return sum(column.width for column in self.columns)

    @property
    def are_known(self) -> bool:
        """Whether anything but their names is known."""
        return any(
            isinstance(column, Category) or column.fill is not None for column in self.columns
        )

    @property
    def are_plain(self) -> bool:
        """Whether every entry becomes itself."""
        return all(
            isinstance(column, Number)
            and column.kind == "number"
            and column.width == 1
            and column.unit is None
            for column in self.columns
        )

    def __len__(self) -> int:
        return len(self.columns)

    def encode(self, table: Any, what: str = "The table") -> Array:
        """The rows of a table as numbers.

        Args:
            table: a pandas, polars or Arrow table, whose columns are found by name; or an array,
                whose columns stand in the order of `names`.
            what: what to call it in an error.

        """
        check_samples(table, what)
        found = self._by_name(table, what) if is_table(table) else self._by_place(table, what)
        out = np.empty((len(found[0]), self.width))
        start = 0
        # What one row's entries make numpy or a container say must not be seen.
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for column, values in zip(self.columns, found):
                column.write(values_of(values), out[:, start : start + column.width], what)
                start += column.width
        return out

    def check_names(self, given: Iterable[Any], what: str = "The table") -> None:
        """Refuse a table that lacks a column."""
        there = [str(name) for name in given]
        if not set(self.names) <= set(there):
            raise MissingColumnsError(what, wanted=self.names, given=there)

    def _by_name(self, table: Any, what: str) -> list[Any]:
        self.check_names(names_of(table) or (), what)
        return [table[name] for name in self.names]

    def _by_place(self, table: Any, what: str) -> list[Any]:
        # Not by way of one array, which would give the columns of a table one type.
        by_place = hasattr(table, "iloc")
        array = table if by_place or isinstance(table, np.ndarray) else _cell_by_cell(table)
        shape = tuple(getattr(array, "shape", ("ragged",)))
        if len(shape) != 2 or shape[1] != len(self):
            allowed = f"(rows, {len(self)}), the columns {list_names(self.names)}"
            raise ShapeError(what, got=shape, allowed=allowed)
        whole: Any = table.iloc if by_place else array
        return [whole[:, place] for place in range(len(self))]


def _cell_by_cell(table: Any) -> NDArray[Any] | None:
    """Rows of anything as objects: numpy would give all one type. None if they are ragged."""
    if hasattr(table, "to_numpy") or hasattr(table, "__array__"):
        return np.asarray(table)  # a table whose columns have no names
    rows = [list(row) if isinstance(row, Iterable) else [row] for row in table]
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        return None
    array = np.empty((len(rows), widths.pop()), dtype=object)
    for place, row in enumerate(rows):
        for column, entry in enumerate(row):
            array[place, column] = entry
    return array


def check_samples(samples: Any, what: str) -> None:
    """Refuse what only leads to a table, and a table whose columns cannot be told apart.

    From the kind of object and the names of columns alone: no row is looked at.
    """
    if isinstance(samples, str | os.PathLike):
        path = os.fspath(samples)
        read = "read_parquet" if str(path).endswith(".parquet") else "read_csv"
        raise WrongTypeError(
            what,
            samples,
            f"a table, for example pandas.{read}({path[:80]!r}); the command line reads files "
            "itself",
        )
    if type(samples).__name__ == "LazyFrame":  # asked for by name: polars may not be installed
        raise WrongTypeError(what, samples, "a table: collect() it first")
    names = names_of(samples) or ()
    doubled = [name for name, n in Counter(names).items() if n > 1]
    if doubled:
        raise InputError(
            f"{what}: more than one column is called {list_names(doubled)}.",
            "Rename them, or keep one of each: df = df.loc[:, ~df.columns.duplicated()].",
        )
    odd = [name for name in names if not isinstance(name, str)]
    # 0, 1, 2 ... are places, as the columns of an array have; others would be ignored silently.
    if odd and names != tuple(range(len(names))):
        raise InputError(
            f"{what}: columns have names that are no texts, {', '.join(map(repr, odd[:8]))}.",
            "Give every column a text, df.columns = df.columns.astype(str), or none a name, "
            "df.to_numpy().",
        )


def names_of(samples: Any) -> tuple[Any, ...] | None:
    """The names of a table's columns; None if it has none."""
    names = getattr(samples, "column_names", None)  # Arrow
    if names is None:
        names = getattr(samples, "columns", None)  # pandas, polars
    return None if names is None or hasattr(samples, "tocsr") else tuple(names)


def is_table(samples: Any) -> bool:
    """Whether its columns have names: a pandas, polars or Arrow table."""
    names = names_of(samples)
    return names is not None and all(isinstance(name, str) for name in names)


def as_numbers(samples: Any, what: str) -> NDArray[Any]:
    """Samples without a description as an array of numbers; a gap or text is an `EntryError`."""
    masked = isinstance(samples, np.ma.MaskedArray)
    array = np.array(samples.astype(object).tolist(), dtype=object) if masked else samples
    array = np.asarray(array)
    if array.ndim != 2 or array.dtype.kind in "biuc" or _is_finite(array):
        return array
    names = names_of(samples) or range(array.shape[1])
    columns = [values_of(array[:, place]) for place in range(array.shape[1])]
    gaps = [np.flatnonzero(np.isnan(read_numbers(each, "number"))) for each in columns]
    first = min(((int(bad[0]), place) for place, bad in enumerate(gaps) if bad.size), default=None)
    if first is not None:
        row, place = first
        raise EntryError(what, column=list(names)[place], entry=columns[place][row], row=row)
    return array.astype(np.float64)


def _is_finite(array: NDArray[Any]) -> bool:
    """One pass: a sum is finite if all numbers are and none is huge."""
    with np.errstate(all="ignore"):
        return array.dtype.kind == "f" and bool(np.isfinite(array.sum()))


def _fold_tail(distances: Array) -> Array:
    """sign(t)·L(|t|), where L is the broken line through (2ⁿ−1, n).

    It is like log₂(1+|t|), at most .09 off.

    1+|t| = m·2ᵉ with m in [½, 1) exactly, and L = e + 2m − 2: nothing but correctly rounded steps.
    """
    size = np.minimum(np.abs(distances), FARTHEST)
    mantissa, exponent = np.frexp(1.0 + size)
    folded: Array = np.copysign(exponent + 2.0 * mantissa - 2.0, distances)
    return folded


def _is_form(form: str) -> bool:
    """Whether dates that are written by it can be read."""
    try:
        written = dt.datetime(2026, 11, 16).strftime(form)
        return dt.datetime.strptime(written, form).year == 2026
    except Exception:
        return False


def _check_name(name: str) -> None:
    if not (isinstance(name, str) and name.isprintable() and 0 < len(name) <= LONGEST_NAME):
        allowed = f"a printable text of up to {LONGEST_NAME} characters"
        raise ParameterError("the name of a column", got=name, allowed=allowed)
