"""A party's own rules: which polls its machine answers, and how much it gives away in a year.

    file             in the site's folder
    rules.json       what the site allows (`Rules`)
    services/        where it has joined (`ostraka.client`)
    spent-2026.db    a ledger with one account, for the polls that were answered in that year

What is checked: a poll's promise, its method and how many parties it waits for; and what the site
has answered before. No row is looked at, so whether a site answers tells nothing of its data.

Where there are rules, every poll that is answered is counted, whatever the rules say of a year: so
a limit for the year that is set later holds for what was spent before. What was answered before
there were any rules nobody has written down.

A poll is counted once, before its contribution leaves, however often it is answered under one name:
it adds up each party once, and is one release. Under a second name the same rows would be in it
twice, so that is refused. A coordinator who releases a poll twice spends twice, which no site can
see; the poll's ledger can. Years are calendar years in UTC, by the machine's clock.

The rules of the moment are what counts: the ledger itself has no limit. Whether a poll still fits
is decided in the very transaction that counts it, so that two processes cannot both have the rest.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Final, Self, final

from ostraka.errors import (
    FormatError,
    InputError,
    ParameterError,
    RulesError,
    count,
    naming_file,
    number,
    say_number,
)
from ostraka.files import read_regular, write_atomically
from ostraka.ledger import Amount, Budget, Charge, Cost, Kind, Ledger, Rows
from ostraka.ledger.book import add_up
from ostraka.party.names import canonical
from ostraka.poll import Poll
from ostraka.public.catalogue import CATALOGUE
from ostraka.public.promise import MOST_PARTIES
from ostraka.tensors import canonical_json, parse_json

__all__ = ["ACCOUNT", "MEMBERSHIPS", "Rules", "Site", "default_folder"]

FORMAT: Final = "rules 1"
FILE: Final = "rules.json"
MEMBERSHIPS: Final = "services"
LARGEST: Final = 100_000
ACCOUNT: Final = "this site"
"""Whatever the site is called in a poll, it has one account: all of its rows are the same ones."""
MOST: Final = 1e6
UNLIMITED: Final = Budget(epsilon=1e9, delta=1.0 - 2.0**-53)
ROOM: Final = 1 + Fraction(1, 10**9)
"""So that 0.1 three times is within 0.3, whatever doubles are."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a site allows; None allows everything."""

    epsilon_per_poll: float | None = None
    epsilon_per_year: float | None = None
    delta_per_year: float | None = None
    """None: only polls without a δ."""
    least_parties: int | None = None
    """The poll must wait for so many, or for so many persons where it protects these."""
    methods: tuple[str, ...] | None = None
    protects: str = "party"
    """ "person": polls that protect single persons are allowed, too."""

    def __post_init__(self) -> None:
        for name in ("epsilon_per_poll", "epsilon_per_year", "delta_per_year"):
            given = getattr(self, name)
            below = 1.0 if name.startswith("delta") else MOST
            if given is not None and not 0.0 < number(name, given, 0.0, MOST) < below:
                raise ParameterError(name, got=given, allowed=f"above 0 and below {below:g}")
        if self.delta_per_year is not None and self.epsilon_per_year is None:
            allowed = "together with epsilon_per_year: both are counted in one account"
            raise ParameterError("delta_per_year", got=self.delta_per_year, allowed=allowed)
        if self.least_parties is not None:
            count("least_parties", self.least_parties, 2, MOST_PARTIES)
        if self.methods is not None:
            unknown = [name for name in self.methods if name not in KNOWN]
            if unknown or not self.methods:
                got = ", ".join(map(str, unknown)) or "none"
                raise ParameterError("methods", got=got, allowed=f"some of {', '.join(KNOWN)}")
            object.__setattr__(self, "methods", tuple(sorted(set(self.methods))))
        if self.protects not in ("party", "person"):
            raise ParameterError("protects", got=self.protects, allowed='"party" or "person"')

    def check(self, poll: Poll) -> None:
        """Refuse a poll that breaks one of the rules; all of those that it breaks are named."""
        broken = [each for each in self._broken(poll) if each]
        if broken:
            raise RulesError(broken)

    def _broken(self, poll: Poll) -> tuple[str, ...]:
        promise, delta = poll.promise, poll.mechanism(poll.expected_units).delta
        too_much = self.epsilon_per_poll is not None and promise.epsilon > self.epsilon_per_poll
        too_few = self.least_parties is not None and promise.least_parties < self.least_parties
        unknown = self.methods is not None and poll.method.name not in self.methods
        unhidden = promise.protects != self.protects and promise.protects != "party"
        return (
            f"it asks ε = {promise.epsilon:g}, and {self.epsilon_per_poll:g} is allowed"
            if too_much
            else "",
            f"it has δ = {say_number(delta)}, and only polls without a δ are allowed"
            if delta > 0.0 and self.delta_per_year is None
            else "",
            f"it would release for {promise.least_parties}, and {self.least_parties} are needed"
            if too_few
            else "",
            f"it learns by {poll.method.name}, and {', '.join(self.methods or ())} is allowed"
            if unknown
            else "",
            f"it protects one {promise.protects}, and not one party as a whole" if unhidden else "",
        )

    def describe(self) -> dict[str, str]:
        """In plain words."""
        per_poll, per_year = self.epsilon_per_poll, self.epsilon_per_year
        whom = "persons, too" if self.protects == "person" else "whole parties alone"
        methods = "all" if self.methods is None else ", ".join(self.methods)
        of_delta = (
            "" if self.delta_per_year is None else f", with δ = {say_number(self.delta_per_year)}"
        )
        return {
            "Largest ε of a poll": "any" if per_poll is None else f"{per_poll:g}",
            "Largest ε of a year": "any; what is answered is counted all the same"
            if per_year is None
            else f"{per_year:g}{of_delta}",
            "Polls with a δ": "refused" if self.delta_per_year is None else "allowed",
            "Least number of parties": "any"
            if self.least_parties is None
            else f"{self.least_parties}: the poll must wait for so many",
            "Methods": methods,
            "Polls that protect": whom,
        }

    def to_bytes(self) -> bytes:
        """What is in the file: JSON."""
        held = {name: value for name, value in asdict(self).items() if value is not None}
        return canonical_json({"ostraka": FORMAT, **held}).encode("ascii") + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The same; anything unexpected is refused: a rule that nobody heeds protects nobody."""
        content = parse_json(data.decode("utf-8", "replace"), "set of rules")
        known = {each.name for each in fields(cls)}
        if content.pop("ostraka", None) != FORMAT or not set(content) <= known:
            raise FormatError("set of rules", f"it is not of the form {FORMAT!r}")
        methods = content.get("methods")
        if not (methods is None or isinstance(methods, list)):
            raise FormatError("set of rules", "its methods are not a list")
        try:
            return cls(**{**content, "methods": None if methods is None else tuple(methods)})
        except (ParameterError, TypeError) as error:
            problem = str(getattr(error, "problem", error)).removesuffix(".")
            raise FormatError("set of rules", problem) from None


KNOWN: Final = tuple(name for name in CATALOGUE if name != "auto")
"""A poll by `auto` says which of them it has chosen."""


@final
@dataclass(frozen=True, slots=True)
class Site:
    """Rules and account of the party whose machine this is, in a folder."""

    folder: Path
    rules: Rules

    @classmethod
    def find(cls, folder: str | os.PathLike[str] | None = None) -> Self | None:
        """The site in this folder; or in the usual one, None if there are no rules there.

        Rules that somebody names and that are not there would protect nobody: they are refused. (A
        folder with memberships may be named without rules.)
        """
        named = folder is not None or bool(os.environ.get(VARIABLE))
        place = default_folder() if folder is None else Path(folder)
        if place is None:
            return None
        path = place / FILE
        try:
            with naming_file(path):
                held = Rules.from_bytes(read_regular(path, "set of rules", LARGEST))
        except FileNotFoundError:
            if (named and not (place / MEMBERSHIPS).is_dir()) or os.path.lexists(path):
                raise InputError(
                    f"There are no rules in {place}.",
                    f"Make some: ostraka policy set --site {place} ..., or name no folder.",
                ) from None
            return None
        return cls(place, held)

    def save(self) -> None:
        """Write the rules; what was spent stays."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomically(self.folder / FILE, self.rules.to_bytes())

    def check(self, poll: Poll, party: str | None = None) -> None:
        """Refuse a poll against the rules, or one that this year's account cannot pay."""
        self.rules.check(poll)
        limit, ledger = self._limit(), self.ledger()
        if ledger is None:
            _fit(Amount.zero(limit.kind), poll, limit)
            return
        with ledger.storage.transaction(write=False) as rows:
            _afford(rows, poll, party, limit)

    def charge(self, poll: Poll, party: str) -> None:
        """Count a poll that is going to be answered; call it before anything leaves."""
        self.rules.check(poll)
        limit, ledger = self._limit(), self.ledger() or self._make_ledger()
        with ledger.storage.transaction(write=True) as rows:
            spent = _afford(rows, poll, party, limit)
            if spent is not None:
                rows.add_charge(
                    day=datetime.now(UTC).date().isoformat(),
                    cost=_cost(poll),
                    note=_note(poll, party),
                    certificate=None,
                    spent={ACCOUNT: spent},
                )

    def answered(self, poll: Poll) -> str | None:
        """Under which name the poll was answered, this year; None if it was not."""
        ledger = self.ledger()
        return None if ledger is None else _name_in(ledger.history(), poll)

    def spent(self) -> Amount:
        """What was given away this year, as far as it was counted."""
        ledger = self.ledger()
        kept = Amount.zero(UNLIMITED.kind) if ledger is None else ledger.spent(ACCOUNT)
        return kept if kept.values[1] else Amount(Kind.PURE, kept.values[:1])

    def left(self) -> Amount | None:
        """What may still be given away this year; None if the rules do not limit that."""
        if self.rules.epsilon_per_year is None:
            return None
        wanted, ledger = self._budget().amount, self.ledger()
        if ledger is None:
            return wanted
        spent = _as(wanted, ledger.spent(ACCOUNT))
        return wanted - spent if spent.fits(wanted) else Amount.zero(wanted.kind)

    def ledger(self) -> Ledger | None:
        """This year's account; None until the first poll is counted."""
        path = self._path()
        if not os.path.lexists(path):
            return None
        with naming_file(path):
            found = Ledger(path)
            if found.budget.kind is not UNLIMITED.kind:
                raise FormatError("ledger", "it was not made by ostraka policy")
        return found

    def files(self) -> tuple[Path, ...]:
        """What nobody should write over."""
        return self.folder / FILE, self._path()

    def _path(self) -> Path:
        return self.folder / f"spent-{datetime.now(UTC).year}.db"

    def _budget(self) -> Budget:
        return Budget(epsilon=self.rules.epsilon_per_year, delta=self.rules.delta_per_year)

    def _limit(self) -> Amount:
        """The most of a year, and a little room; without a rule, what an account can hold."""
        if self.rules.epsilon_per_year is None:
            return UNLIMITED.amount
        wanted = self._budget().amount
        return Amount(wanted.kind, tuple(value * ROOM for value in wanted.values))

    def _make_ledger(self) -> Ledger:
        """Whole, or not at all: made beside its place, and put there if nobody was faster."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".spent-") as beside:
            made = Path(beside) / "new.db"
            Ledger.create(made, UNLIMITED, "person")
            with contextlib.suppress(FileExistsError):
                os.link(made, self._path())
        return Ledger(self._path())


VARIABLE: Final = "OSTRAKA_SITE"


def default_folder() -> Path | None:
    """Where a site's rules are: what OSTRAKA_SITE names, else in the user's own settings.

    None for a user who has no place for settings.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser()
    settings = os.environ.get("XDG_CONFIG_HOME")
    try:
        return (Path(settings) if settings else Path.home() / ".config") / "ostraka"
    except RuntimeError:
        return None


def _afford(rows: Rows, poll: Poll, party: str | None, limit: Amount) -> Amount | None:
    """What will be spent after this poll, which must fit; None if it is counted already."""
    add_up(rows)
    before = _name_in(rows.charges(), poll)
    if before is not None and party is not None and canonical(party) != before:
        raise RulesError(
            [f"you have answered it as {before!r}, and a second name would count your rows twice"]
        )
    if before is not None:
        return None
    (account,) = rows.accounts([ACCOUNT])
    _fit(_as(limit, account.spent), poll, limit)
    return account.spent + _cost(poll).amount(account.spent.kind)


def _fit(spent: Amount, poll: Poll, limit: Amount) -> None:
    asked = _cost(poll).amount(limit.kind)
    if not (spent + asked).fits(limit):
        left = limit - spent if spent.fits(limit) else Amount.zero(limit.kind)
        raise RulesError([f"it costs {asked}, and {left} is left of this year"])


def _as(limit: Amount, spent: Amount) -> Amount:
    """Of ε and δ what is limited. (With a limit for ε alone there are no polls with a δ.)"""
    return Amount(limit.kind, spent.values[: len(limit.values)])


def _note(poll: Poll, party: str) -> str:
    return f"{poll.digest} {canonical(party)}"


def _name_in(charges: list[Charge], poll: Poll) -> str | None:
    notes = (charge.note.split(" ", 1) for charge in charges)
    return next((name for digest, name in notes if digest == poll.digest), None)


def _cost(poll: Poll) -> Cost:
    """What a release of the poll costs whoever is in it, however many come."""
    n, of_persons = poll.expected_units, poll.promise.protects == "person"
    return Cost.of(poll.certificate(n, n if of_persons else None))
