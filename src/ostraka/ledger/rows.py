"""The rows of a ledger: reading them, with checks, and adding them."""

from __future__ import annotations

import json
import re
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any, final

from ostraka.errors import FormatError, InputError, ParameterError
from ostraka.ledger.amounts import Amount, Cost, Kind, exact_number, exact_text
from ostraka.ledger.names import printable

__all__ = [
    "DIGEST",
    "LONGEST_NOTE",
    "Account",
    "Charge",
    "add_charge",
    "add_parties",
    "all_names",
    "check_storage",
    "read_accounts",
    "read_budget",
    "read_charges",
]

LONGEST_NOTE = 2000
DIGEST = re.compile("[0-9a-f]{64}")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One line of the ledger."""

    id: int
    day: str
    cost: Cost
    note: str
    n_parties: int
    digest: str | None = None
    """SHA-256 of the published file; None while no release is recorded."""

    @property
    def is_open(self) -> bool:
        """Charged, but no release recorded: counted as spent."""
        return self.digest is None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What one party may spend, has spent and in how many releases."""

    party: str
    budget: Amount
    spent: Amount
    n_releases: int

    @property
    def left(self) -> Amount:
        """Budget minus spent, exactly."""
        return self.budget - self.spent


def read_budget(db: sqlite3.Connection) -> Amount:
    """The budget of every party that has no allowance of its own."""
    rows = db.execute("SELECT kind, amount FROM budget").fetchall()
    if len(rows) != 1 or rows[0][0] not in {kind.value for kind in Kind}:
        raise FormatError("ledger", "its budget is missing or of an unknown kind")
    return Amount.from_text(Kind(rows[0][0]), rows[0][1])


def all_names(db: sqlite3.Connection) -> list[str]:
    """Every party that was ever named."""
    names = [name for (name,) in db.execute("SELECT name FROM party")]
    if not all(isinstance(name, str) and name.isprintable() for name in names):
        raise FormatError("ledger", "the name of a party is not printable text")
    return names


def read_accounts(db: sqlite3.Connection, names: list[str]) -> list[Account]:
    """The accounts of the named parties, in their order."""
    budget = read_budget(db)
    zero = Amount.zero(budget.kind)
    read: dict[str, Amount] = {}  # most parties have spent the same

    def amount(text: Any, otherwise: Amount) -> Amount:
        if text is None:
            return otherwise
        if text not in read:
            read[text] = Amount.from_text(budget.kind, text)
        return read[text]

    rows = db.execute(
        """SELECT asked.value,
             (SELECT amount FROM allowance WHERE allowance.party = party.id ORDER BY allowance.id DESC LIMIT 1),
             spent, coalesce(n_releases, 0)
           FROM json_each(?) AS asked LEFT JOIN party ON party.name = asked.value ORDER BY asked.key""",
        (json.dumps(names),),
    )
    return [
        Account(party=name, budget=amount(allowed, budget), spent=amount(spent, zero), n_releases=n_releases)
        for name, allowed, spent, n_releases in rows
    ]


def add_parties(db: sqlite3.Connection, names: list[str]) -> None:
    """Rows for those that have none yet."""
    db.execute(
        "INSERT INTO party (name, spent, n_releases) "
        "SELECT value, ?, 0 FROM json_each(?) WHERE value NOT IN (SELECT name FROM party) ORDER BY key",
        (Amount.zero(read_budget(db).kind).to_text(), json.dumps(names)),
    )


def add_charge(db: sqlite3.Connection, cost: Cost, note: str, names: list[str]) -> Charge:
    """The row of a charge, and one for each party that shares it."""
    day = datetime.now(UTC).date().isoformat()
    amounts = [None if value is None else exact_text(Fraction(value)) for value in (cost.epsilon, cost.delta, cost.rho)]
    added = db.execute(
        "INSERT INTO charge (day, epsilon, delta, rho, gaussian, note, n_parties) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (day, *amounts, int(cost.gaussian), note, len(names)),
    )
    made = Charge(id=int(added.lastrowid or 0), day=day, cost=cost, note=note, n_parties=len(names))
    shares = (
        "INSERT INTO share (charge, party) SELECT ?, party.id FROM json_each(?) AS asked JOIN party ON name = asked.value ORDER BY party.id"
    )
    db.execute(shares, (made.id, json.dumps(names)))
    return made


def read_charges(db: sqlite3.Connection, party: str | None = None) -> list[Charge]:
    """All charges, or one party's, oldest first."""
    query = "SELECT id, day, epsilon, delta, rho, gaussian, note, n_parties, digest FROM charge LEFT JOIN settlement ON charge = id"
    if party is not None:
        query += (
            " WHERE EXISTS (SELECT 1 FROM share WHERE share.charge = charge.id AND share.party = (SELECT id FROM party WHERE name = ?))"
        )
    return [_charge(row) for row in db.execute(query + " ORDER BY id", () if party is None else (party,))]


def _charge(row: tuple[Any, ...]) -> Charge:
    id_, day, epsilon, delta, rho, gaussian, note, n_parties, digest = row
    try:
        values = [None if text is None else _double(exact_number(text)) for text in (epsilon, delta, rho)]
        cost = Cost(epsilon=values[0], delta=values[1], rho=values[2], gaussian=bool(gaussian))
        day, note = printable("day", day, 10), printable("note", note, LONGEST_NOTE)
        if not (digest is None or DIGEST.fullmatch(digest)):
            raise ParameterError("digest", got=digest, allowed="64 hexadecimal digits")
    except (InputError, OverflowError, TypeError) as error:
        raise FormatError("ledger", f"charge {id_} is damaged ({getattr(error, 'problem', error)})") from None
    return Charge(id=id_, day=day, cost=cost, note=note, n_parties=n_parties, digest=digest)


def _double(value: Fraction) -> float:
    if Fraction(float(value)) != value:
        raise FormatError("ledger", f"{exact_text(value)[:40]} is not a double")
    return float(value)


def check_storage(db: sqlite3.Connection) -> None:
    """SQLite's own checks of the whole file."""
    (found,) = db.execute("PRAGMA integrity_check(1)").fetchone()
    if found != "ok" or db.execute("PRAGMA foreign_key_check").fetchone() is not None:
        raise FormatError("ledger", f"it is damaged ({found})")
