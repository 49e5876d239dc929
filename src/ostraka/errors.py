"""Every error that Ostraka raises on purpose.

    OstrakaError
    ├── InputError (also a ValueError)      something given is not allowed
    │   ├── ShapeError                      arrays that do not fit together
    │   ├── NonFiniteError                  NaN or infinite numbers
    │   │   └── EntryError                  a gap or a text where nothing public says what it means
    │   ├── MissingColumnsError             a table without columns that are needed
    │   ├── SharedRowsError                 public samples that are private ones
    │   ├── FeatureNormError                a row outside the unit ball where a bound is promised
    │   ├── LabelError                      labels outside their range
    │   ├── UnknownClassError               a class that the poll does not have
    │   ├── EmptyPartyError                 a party without samples where samples are needed
    │   ├── TooFewPartiesError              fewer parties than the poll asks for
    │   ├── OtherPollError                  a contribution to another poll
    │   ├── NotOnRollError                  somebody whom the poll does not ask
    │   ├── ParameterError                  ε, λ or another parameter missing or outside its range
    │   │   └── UnusedOptionError           an option that the chosen method would have to ignore
    │   ├── ClassifierFileError             a classifier from a file did not answer
    │   └── WrongTypeError (also a TypeError) another kind of object than is needed
    ├── FormatError (also a ValueError)     a file or message that is not what it says it is
    ├── DownloadError (also an OSError)     a public data set that could not be fetched
    ├── RehearsalError                      something seeded was about to be published
    ├── CloneError                          a cloned estimator was about to release
    ├── BudgetError                         a release costs more than a party has left
    ├── LedgerError                         a ledger that could not be used, or not that way
    └── PrecisionError                      a point was asked for more precisely than it is known

Each message says what is wrong, what was given, what is allowed, what to do, and, where something
could have happened, what did not. The facts are attributes, so that programs need not read the
text.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import operator
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = [
    "OstrakaError",
    "InputError",
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
    "ParameterError",
    "UnusedOptionError",
    "WrongTypeError",
    "ClassifierFileError",
    "FormatError",
    "DownloadError",
    "RehearsalError",
    "CloneError",
    "BudgetError",
    "LedgerError",
    "PrecisionError",
    "NOTHING_HAPPENED",
    "number",
    "count",
    "list_names",
    "naming_file",
    "place_of",
    "suggest",
    "nothing_spent",
    "warn_caller",
]

NOTHING_HAPPENED = "Nothing was drawn and nothing was spent."

LONGEST = 60
"""What the inside of an object may take to show."""


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


def list_names(names: Iterable[object], most: int = 8) -> str:
    """Names in quotes, the first few of them."""
    shown = [repr(str(name)) for name in names]
    return ", ".join(shown[:most]) + (f", ... ({len(shown)} in all)" if len(shown) > most else "")


def show(given: object) -> str:
    """What was given, as a person would write it: names in quotes, and no inside of an object."""
    if isinstance(given, tuple | list) and all(isinstance(each, str) for each in given):
        return list_names(given) or "nothing"
    shown = repr(given)
    plain = isinstance(given, str | int | float | tuple | list)
    return shown if plain or len(shown) <= LONGEST else f"an object of type {type(given).__name__}"


def suggest(name: object, names: Iterable[object]) -> str:
    """A question whether another name was meant, or nothing; to stand before a remedy."""
    found = _closest(name, names)
    return "" if found is None else f"Did you mean {found!r}? "


def _closest(name: object, names: Iterable[object]) -> str | None:
    """The name that differs in what people overlook, or else in a few letters."""
    import difflib

    shown = [str(each) for each in names]
    alike = [each for each in shown if _fold(each) == _fold(name)]
    found = alike or difflib.get_close_matches(str(name), shown, n=1, cutoff=0.7)
    return found[0] if found else None


def place_of(row: int) -> str:
    """A row as Python counts, and as people see it in a file."""
    return f"row {row} (counting from 0; line {row + 2} of a CSV file)"


class OstrakaError(Exception):
    """The root of the tree that the module draws."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors cross from workers to the caller as they are.

        Text and facts, without building the text anew.
        """
        return _revive, (type(self), self.args, self.__dict__.copy())


def _revive(kind: type[OstrakaError], args: tuple[Any, ...], facts: dict[str, Any]) -> OstrakaError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(facts)
    return error


class InputError(OstrakaError, ValueError):
    """Something given is not allowed.

    `outcome` says what did not happen; whoever could have drawn, spent or written something sets
    it.
    """

    outcome: str = ""

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem} {remedy}")

    def __str__(self) -> str:
        return f"{super().__str__()} {self.outcome}".rstrip()


@contextlib.contextmanager
def nothing_spent() -> Iterator[None]:
    """Let what is refused within say that nobody was charged: for those who would have charged."""
    try:
        yield
    except InputError as error:
        error.outcome = NOTHING_HAPPENED
        raise


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


def _fold(name: object) -> str:
    """Without what people overlook: case, spaces, dashes, a decimal point after a whole number."""
    text = str(name).strip().casefold().removesuffix(".0")
    return text.replace(" ", "_").replace("-", "_")


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


class ParameterError(InputError):
    """ε, λ or another parameter that is missing or outside its range."""

    def __init__(self, name: str, *, got: object, allowed: str) -> None:
        self.name, self.got, self.allowed = name, got, allowed
        if got is None:
            super().__init__(f"{name} is missing.", f"Needed: {allowed}.")
        else:
            super().__init__(f"{name} = {show(got)} is not allowed.", f"Allowed: {allowed}.")


class RulesError(InputError):
    """A poll that breaks the rules of the party whose machine this is."""

    def __init__(self, broken: Iterable[str]) -> None:
        self.broken = tuple(broken)
        super().__init__(
            f"This poll breaks your own rules: {'; '.join(self.broken)}.",
            "Tell the coordinator, or change your rules: ostraka policy set.",
        )
        self.outcome = "Nothing was computed, and nothing leaves this machine."


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


class ClassifierFileError(InputError):
    """A classifier from a file did not answer."""

    def __init__(self, file: str, cause: str, problem: str, remedy: str) -> None:
        self.file, self.cause = file, cause
        super().__init__(f"The classifier {file} {problem}.", remedy)


class FormatError(OstrakaError, ValueError):
    """A file or message that is not what it says it is."""

    def __init__(self, what: str, problem: str) -> None:
        self.what, self.problem, self.file = what, problem, ""
        super().__init__(what)

    def __str__(self) -> str:
        name = repr(self.file) if self.file else "This"
        return f"{name} is not a valid {self.what}: {self.problem}. Nothing was loaded."


@contextlib.contextmanager
def naming_file(path: object) -> Iterator[None]:
    """Let what is refused within say which file it is."""
    try:
        yield
    except FormatError as error:
        error.file = str(path)
        raise


class DownloadError(OstrakaError, OSError):
    """A public data set that could not be fetched."""

    def __init__(
        self,
        file: str,
        folder: str,
        tried: tuple[tuple[str, str], ...],
        *,
        about: str,
        variable: str,
    ) -> None:
        self.file, self.folder, self.tried, self.about, self.variable = (
            file,
            folder,
            tried,
            about,
            variable,
        )
        reasons = "; ".join(f"{address} ({reason})" for address, reason in tried)
        problem = (
            f"could not be downloaded. Tried: {reasons}"
            if tried
            else f"is not in the folder {folder}, and no public address has it"
        )
        super().__init__(
            f"{file} {problem}. It is {about}. Put it into the folder {folder} by hand, or let "
            f"the environment variable {variable} "
            "name the folder that holds it. Nothing was loaded."
        )


class SignatureError(InputError):
    """A file that was changed, or that is not by whom it should be."""


class RehearsalError(OstrakaError):
    """Something seeded was about to be published."""

    def __init__(self) -> None:
        super().__init__(
            "This result was drawn with a seed, so its noise can be computed and it protects "
            "nobody. Draw it again without a Rehearsal to publish it. Nothing was written."
        )


class CloneError(OstrakaError):
    """A cloned estimator was about to release."""

    def __init__(self) -> None:
        super().__init__(
            "This estimator is a clone, as GridSearchCV and cross_val_score make many of, and "
            "each fit would be a release that costs every "
            "party ε. Set random_state to rehearse on public or synthetic data, then fit one "
            "estimator of your own. " + NOTHING_HAPPENED
        )


class BudgetError(OstrakaError):
    """A release costs more than a party has left."""

    def __init__(
        self, party: str, *, asked: object, left: object, short: float, n_others: int
    ) -> None:
        self.party, self.asked, self.left, self.short, self.n_others = (
            party,
            asked,
            left,
            short,
            n_others,
        )
        others = (
            f" (and {n_others} more {'party has' if n_others == 1 else 'parties have'} too little)"
            if n_others
            else ""
        )
        rounded = (
            f", short by {short:.2g} of it: doubles are counted exactly, so give budgets a little "
            "room"
            if short < 1e-5
            else ""
        )
        super().__init__(
            f"This release costs {asked}, but party {party} has {left} left{rounded}{others}. "
            f"Leave out who cannot pay, or ask for less. {NOTHING_HAPPENED}"
        )


class LedgerError(OstrakaError):
    """A ledger that could not be written or read, or not that way."""

    def __init__(
        self, path: object, problem: str, remedy: str, outcome: str = NOTHING_HAPPENED
    ) -> None:
        self.path, self.problem, self.remedy, self.outcome = path, problem, remedy, outcome
        super().__init__(f"The ledger {str(path)!r} {problem}. {remedy} {outcome}")


class LedgerWarning(UserWarning):
    """A release was made and charged, but could not be recorded: its charge stays open."""


class PrivacyWarning(UserWarning):
    """Something is allowed, but protects less than people may think.

    Told from public things, or to whoever holds the rows.
    """


class InputWarning(UserWarning):
    """Something given is allowed, but probably not meant.

    Told from public things, before anything is drawn.
    """


class ShiftWarning(UserWarning):
    """The parties' samples are not distributed like the auxiliary ones.

    Told from what was released, so it costs nothing.
    """


def warn_caller(told: str, kind: type[Warning]) -> None:
    """Warn at the line outside of Ostraka that led here, however deep it is."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__")).split(".")[0] == "ostraka":
        frame, level = frame.f_back, level + 1
    warnings.warn(told, kind, stacklevel=level)


class PrecisionError(OstrakaError):
    """A point was asked for more precisely than it is known."""

    def __init__(self, *, known: float, asked: float) -> None:
        self.known, self.asked = known, asked
        super().__init__(
            f"The minimiser is known to within {known:.3g}, but {asked:.3g} was asked for. Solve "
            "with a smaller tolerance."
        )
