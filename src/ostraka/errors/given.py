"""What is given and not allowed: parameters, arrays, labels, parties."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

from ostraka.errors.root import InputError
from ostraka.errors.words import _closest, list_names, place_of, show, suggest

__all__ = [
    "ParameterError",
    "UnusedOptionError",
    "WrongTypeError",
    "number",
    "count",
    "printable",
    "ShapeError",
    "NonFiniteError",
    "EntryError",
    "MissingColumnsError",
    "SharedRowsError",
    "FeatureNormError",
    "LabelError",
    "UnknownClassError",
    "EmptyPartyError",
    "TooFewPartiesError",
    "OtherPollError",
    "NotOnRollError",
    "RulesError",
]


class ParameterError(InputError):
    """ε, λ or another parameter that is missing or outside its range."""

    def __init__(self, name: str, *, got: object, allowed: str) -> None:
        self.name, self.got, self.allowed = name, got, allowed
        if got is None:
            super().__init__(f"{name} is missing.", f"Needed: {allowed}.")
        else:
            super().__init__(f"{name} = {show(got)} is not allowed.", f"Allowed: {allowed}.")


class UnusedOptionError(ParameterError):
    """An option that the chosen method would have to ignore."""

    def __init__(self, name: str, *, got: object, method: str, others: Iterable[str]) -> None:
        self.name, self.got, self.allowed = name, got, ", ".join(others) or "none"
        problem = f"{name} = {show(got)} is not for method {method!r}, which would not use it."
        InputError.__init__(self, problem, f"Leave it out; it is for {self.allowed}.")


class WrongTypeError(InputError, TypeError):
    """Another kind of object than is needed."""

    def __init__(self, what: str, given: object, needed: str) -> None:
        self.what, self.given, self.needed = what, given, needed
        verb = "are" if what.endswith("samples") else "is"
        super().__init__(f"{what} {verb} of type {type(given).__name__}.", f"Give {needed}.")


def number(name: str, given: Any, least: float, most: float, allowed: str | None = None) -> float:
    """`given` as a double within its range, or a `ParameterError`."""
    try:
        value = float(given)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if (
        isinstance(given, str | bytes | bool)
        or getattr(getattr(given, "dtype", None), "kind", "") == "b"
        or getattr(given, "ndim", 0) != 0
        or not least <= value <= most
    ):
        raise ParameterError(
            name, got=given, allowed=allowed or f"a number from {least:g} to {most:g}"
        )
    return value


def count(name: str, given: Any, least: int, most: int | None = None) -> int:
    """`given` as a whole number within its range, or a `ParameterError`."""
    try:
        value = least - 1 if isinstance(given, bool) else operator.index(given)
    except TypeError:
        value = least - 1
    if value < least or (most is not None and value > most):
        raise ParameterError(
            name,
            got=given,
            allowed=f"a whole number, {least} or more"
            + (f", up to {most}" if most is not None else ""),
        )
    return value


def printable(what: str, given: object, longest: int) -> str:
    """`given`, if it is text that a terminal shows as it is."""
    if not (isinstance(given, str) and len(given) <= longest and given.isprintable()):
        allowed = f"printable text of up to {longest} characters"
        raise ParameterError(what, got=given, allowed=allowed)
    return given


class ShapeError(InputError):
    """Arrays that do not fit together."""

    def __init__(self, what: str, *, got: object, allowed: str) -> None:
        self.what, self.got, self.allowed = what, got, allowed
        super().__init__(f"{what}: the shape is {got}.", f"Allowed: {allowed}.")


class NonFiniteError(InputError):
    """NaN or infinite numbers."""

    def __init__(self, what: str, *, row: int) -> None:
        self.what, self.row = what, row
        super().__init__(
            f"{what} holds NaN or infinite numbers, first in {place_of(row)}.",
            "Every number must be finite: fill in or drop such rows before calling.",
        )


class EntryError(NonFiniteError):
    """A gap or a text where nothing public says what it means."""

    def __init__(self, what: str, *, column: object, entry: object, row: int) -> None:
        self.what, self.column, self.entry, self.row = what, column, entry, row
        text = "" if entry is None else str(entry).strip()
        shown = "a gap (NaN, or nothing)" if text in ("", "nan", "<NA>", "NaT") else repr(text[:40])
        hint = " A table without names gets some by df.columns = df.columns.astype(str)."
        hint = "" if isinstance(column, str) else hint
        InputError.__init__(
            self,
            f"{what}: column {column!r} holds {shown} where a finite number is needed, "
            f"first in {place_of(row)}.",
            "Every number must be finite. Public columns say what texts and gaps mean: give the "
            "public samples as a table with the same columns, named by texts (auxiliary=, "
            f"--auxiliary), or a description of them (columns=, --columns).{hint}",
        )


class MissingColumnsError(InputError):
    """A table without columns that are needed; or, if `named`, that people have named."""

    def __init__(
        self, what: str, *, wanted: Iterable[str], given: Iterable[str], named: bool = False
    ) -> None:
        self.missing = [name for name in wanted if name not in set(given)]
        self.superfluous = [name for name in given if name not in set(wanted)]
        self.what = what
        meant = [(name, _closest(name, self.superfluous)) for name in self.missing[:3]]
        other = f" Others are there: {list_names(self.superfluous)}." if self.superfluous else ""
        hint = "".join(f"Is {found!r} the column {name!r}? " for name, found in meant if found)
        remedy = (
            "Write it as the table has it, or leave it out."
            if named
            else "Rename it in your table: every public column is needed by its name; the order "
            "does not matter, and other columns are left alone. If nobody has it, leave it out of "
            "the public table."
        )
        super().__init__(
            f"{what}: {'a column is' if len(self.missing) == 1 else 'columns are'} missing, "
            f"{list_names(self.missing)}.{other}",
            f"{hint}{remedy}",
        )


class SharedRowsError(InputError):
    """Public samples that are private ones."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name} holds the private rows: most of the public samples stand among the parties' "
            "own.",
            "Give other samples, which anybody may see: their scale, their medians and their lists "
            "are published.",
        )


class FeatureNormError(InputError):
    """A row outside the unit ball where a bound is promised."""

    def __init__(self, what: str, *, row: int, norm: float) -> None:
        self.what, self.row, self.norm = what, row, norm
        super().__init__(
            f"Row {row} of {what} has Euclidean norm {norm:.6g}, but the privacy bound is proved "
            "for norms up to 1.",
            "Scale by a public radius first, for example Preprocessing(radius=...), which also "
            "clips what lies outside.",
        )


class LabelError(InputError):
    """Labels outside their range."""


class UnknownClassError(InputError):
    """A class that the poll does not have."""

    def __init__(self, given: object, classes: tuple[object, ...]) -> None:
        self.given, self.classes = given, classes
        shown = ", ".join(repr(name) for name in classes[:10]) + (
            ", ..." if len(classes) > 10 else ""
        )
        super().__init__(
            f"Class {given!r} is not among the {len(classes)} classes {shown}.",
            f"{suggest(given, classes)}Write it as one of these, or leave out rows of another "
            "class. The list is public, and fixed beforehand (classes=, --classes).",
        )


class EmptyPartyError(InputError):
    """A party without samples where samples are needed."""

    def __init__(self, party: object) -> None:
        self.party = party
        super().__init__(
            f"Party {party!r} has no samples.",
            "Give it at least one sample, or leave it out by a rule that does not look at data.",
        )


class TooFewPartiesError(InputError):
    """Fewer parties than the poll asks for."""

    def __init__(
        self, got: int, least: int, unit: str = "party", *, expected: bool = False
    ) -> None:
        self.got, self.least, self.unit = got, least, unit
        many = f"{unit[:-1]}ies" if unit.endswith("y") else f"{unit}s"
        if expected:
            problem = f"A poll for {got} {unit if got == 1 else many} has too few: "
            super().__init__(f"{problem}at least {least} are needed.", f"Ask more {many}.")
            return
        alone = f" With one {unit} alone the result would describe that {unit}." if got == 1 else ""
        super().__init__(
            f"{got} {f'{unit} has' if got == 1 else f'{many} have'} contributed, but at least "
            f"{least} are needed.",
            f"Wait for more {many}.{alone}",
        )


class OtherPollError(InputError):
    """A contribution to another poll."""

    def __init__(self, party: str, got: str, expected: str) -> None:
        self.party, self.got, self.expected = party, got, expected
        super().__init__(
            f"Party {party} contributed to the poll {got[:12]}..., but this is the poll "
            f"{expected[:12]}....",
            "Contribute to this very file: another version of it is another poll.",
        )


class NotOnRollError(InputError):
    """Somebody whom the poll does not ask."""

    def __init__(self, party: str) -> None:
        self.party = party
        super().__init__(
            f"Party {party} is not on the roll of this poll.",
            "Write the name as it stands there, or ask whoever made the poll.",
        )


class RulesError(InputError):
    """A poll that breaks the rules of the party whose machine this is."""

    def __init__(self, broken: Iterable[str]) -> None:
        self.broken = tuple(broken)
        super().__init__(
            f"This poll breaks your own rules: {'; '.join(self.broken)}.",
            "Tell the coordinator, or change your rules: ostraka policy set.",
        )
        self.outcome = "Nothing was computed, and nothing leaves this machine."
