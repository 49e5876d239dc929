"""A ledger in a file: one SQLite database. The only SQL is here and in `sqlite_schema.py`.

It is opened again for every action, so that threads, forks and processes may share the path. The
file's own marks and its whole schema, triggers included, are checked before anything else is read.
Rows are only ever added; triggers refuse to change or remove them. Only a party's running sum
changes, and only with its last charge. A charge is durable when `COMMIT` returns: rollback journal,
`synchronous=EXTRA` (with `FULL` a power cut may bring the journal back, and with it the state
before the charge).

Why not keep a connection: a lock of SQLite is lost when *any* handle of the file is closed in the
same process, and a connection that crosses a fork damages the file. For the same reason nothing
here opens the file by other means while it may be in use.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any, Self, final

from ostraka.errors import FormatError, InputError, LedgerError, ParameterError, number, printable
from ostraka.files import check_folder, foreign_kind
from ostraka.ledger.amounts import Amount, Cost, Kind, exact_number, exact_text
from ostraka.ledger.sqlite_schema import VERSION, check_marks, check_schema, lay_out, upgrade
from ostraka.ledger.storage import DIGEST, LONGEST_NOTE, Account, Charge, Rows

__all__ = ["NO_LEDGER", "PATIENCE", "SqliteFile"]

NO_LEDGER = "there is no such ledger"

PATIENCE = 30.0
"""Seconds to wait for another process that is writing."""

_PRAGMAS = (
    "PRAGMA trusted_schema=OFF",
    "PRAGMA cell_size_check=ON",
    "PRAGMA foreign_keys=ON",
    "PRAGMA synchronous=EXTRA",
)

_NEVER_WRITTEN = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CONSTRAINT}


@final
class SqliteFile:
    """A `Storage` in one file."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        patience: float = PATIENCE,
    ) -> None:
        self.path = Path(path)
        self.patience = number("patience", patience, 0.0, 86400.0)

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        budget: Amount,
        unit: str = "party",
    ) -> Self:
        """A new file, never in place of another."""
        made = cls(path)
        check_folder(made.path)
        try:
            made.path.touch(exist_ok=False)
        except FileExistsError:
            problem = "it is there already, and a ledger is never replaced"
            raise FileExistsError(errno.EEXIST, problem, str(path)) from None
        try:
            with _translate(made.path), closing(_connect(made.path, PATIENCE)) as db:
                db.execute("BEGIN EXCLUSIVE")
                lay_out(db, budget, unit)
                db.execute("COMMIT")
        except BaseException:
            made.path.unlink(missing_ok=True)
            raise
        return made

    @property
    def place(self) -> str:
        """The path."""
        return str(self.path)

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Rows]:
        """Writers take turns from the start of their transactions."""
        path = self.path
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
        if not path.exists():
            raise FileNotFoundError(errno.ENOENT, NO_LEDGER, str(path))
        with _translate(path), closing(_connect(path, self.patience)) as db:
            db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                version = check_marks(db)
                check_schema(db, version)
                if write and version < VERSION:
                    upgrade(db)
                    version = VERSION
                yield _SqliteRows(db, keeps_draws=version == VERSION)
            except BaseException:
                _roll_back(db)
                raise
            _commit(db, path)


@final
class _SqliteRows:
    """The statements, in a transaction that somebody else ends."""

    def __init__(self, db: sqlite3.Connection, *, keeps_draws: bool) -> None:
        self._db, self._keeps_draws = db, keeps_draws

    def unit(self) -> str:
        rows = self._db.execute("SELECT unit FROM budget").fetchall()
        if rows not in ([("party",)], [("person",)]):
            raise FormatError("ledger", "it does not say whose accounts it keeps")
        return str(rows[0][0])

    def budget(self) -> Amount:
        rows = self._db.execute("SELECT kind, amount FROM budget").fetchall()
        if len(rows) != 1 or rows[0][0] not in {kind.value for kind in Kind}:
            raise FormatError("ledger", "its budget is missing or of an unknown kind")
        return Amount.from_text(Kind(rows[0][0]), rows[0][1])

    def names(self) -> list[str]:
        names = [name for (name,) in self._db.execute("SELECT name FROM party")]
        if not all(isinstance(name, str) and name.isprintable() for name in names):
            raise FormatError("ledger", "the name of a party is not printable text")
        return names

    def accounts(self, names: Sequence[str]) -> list[Account]:
        budget = self.budget()
        zero = Amount.zero(budget.kind)
        read: dict[str, Amount] = {}  # most parties have spent the same

        def amount(text: Any, otherwise: Amount) -> Amount:
            if text is None:
                return otherwise
            if text not in read:
                read[text] = Amount.from_text(budget.kind, text)
            return read[text]

        rows = self._db.execute(
            """SELECT asked.value, (SELECT amount FROM allowance WHERE allowance.party = party.id
                                    ORDER BY allowance.id DESC LIMIT 1),
                 spent, coalesce(n_releases, 0)
               FROM json_each(?) AS asked LEFT JOIN party ON party.name = asked.value
               ORDER BY asked.key""",
            (json.dumps(names),),
        )
        return [
            Account(
                party=name,
                budget=amount(allowed, budget),
                spent=amount(spent, zero),
                n_releases=n_releases,
            )
            for name, allowed, spent, n_releases in rows
        ]

    def costs(self, names: Sequence[str]) -> Iterator[tuple[str, Cost, int]]:
        read: dict[tuple[Any, ...], Cost] = {}  # of many charges a few costs differ
        rows = self._db.execute(
            """SELECT asked.value, count(*), epsilon, delta, rho, gaussian
               FROM json_each(?) AS asked CROSS JOIN party ON party.name = asked.value
                 CROSS JOIN share ON share.party = party.id
                 CROSS JOIN charge ON charge.id = share.charge
               GROUP BY asked.key, epsilon, delta, rho, gaussian""",
            (json.dumps(names),),
        )
        for name, n, *texts in rows:
            key = tuple(texts)
            if key not in read:
                with _explaining_damage("a charge"):
                    read[key] = _cost(*texts)
            yield name, read[key], n

    def charges(self, party: str | None = None) -> list[Charge]:
        query = """SELECT id, day, epsilon, delta, rho, gaussian, note, n_parties,
                      certificate, digest
                    FROM charge LEFT JOIN settlement ON settlement.charge = id"""
        if party is not None:
            query += """ WHERE id IN (SELECT share.charge FROM share
                           WHERE share.party = (SELECT party.id FROM party WHERE name = ?))"""
        given = () if party is None else (party,)
        return [_charge(row) for row in self._db.execute(query + " ORDER BY id", given)]

    def shares(self) -> Iterator[tuple[int, str]]:
        query = "SELECT charge, name FROM share JOIN party ON party.id = share.party"
        yield from self._db.execute(query)

    def check(self) -> None:
        """SQLite's own checks of the whole file."""
        (found,) = self._db.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok" or self._db.execute("PRAGMA foreign_key_check").fetchone() is not None:
            raise FormatError("ledger", f"it is damaged ({found})")

    def add_allowance(self, names: Sequence[str], amount: Amount) -> None:
        self._add_parties(names)
        self._db.executemany(
            "INSERT INTO allowance (party, amount) SELECT id, ? FROM party WHERE name = ?",
            ((amount.to_text(), name) for name in names),
        )

    def add_charge(
        self,
        *,
        day: str,
        cost: Cost,
        note: str,
        certificate: str | None,
        spent: Mapping[str, Amount],
    ) -> int:
        self._add_parties(list(spent))
        amounts = [
            None if value is None else exact_text(Fraction(value))
            for value in (cost.epsilon, cost.delta, cost.rho)
        ]
        added = self._db.execute(
            """INSERT INTO charge
                 (day, epsilon, delta, rho, gaussian, note, n_parties, certificate)
               VALUES (?, ?, ?, ?, ?, ?, ?, ?)""",
            (day, *amounts, int(cost.gaussian), note, len(spent), certificate),
        )
        id_ = int(added.lastrowid or 0)
        self._add_shares(id_, spent)
        return id_

    def _add_parties(self, names: Sequence[str]) -> None:
        """Rows for those that have none yet."""
        self._db.execute(
            """INSERT INTO party (name, spent, n_releases) SELECT value, ?, 0 FROM json_each(?)
               WHERE value NOT IN (SELECT name FROM party) ORDER BY key""",
            (Amount.zero(self.budget().kind).to_text(), json.dumps(names)),
        )

    def _add_shares(self, id_: int, spent: Mapping[str, Amount]) -> None:
        self._db.execute(
            """INSERT INTO share (charge, party) SELECT ?, party.id
               FROM json_each(?) AS asked JOIN party ON name = asked.value ORDER BY party.id""",
            (id_, json.dumps(list(spent))),
        )
        self._db.executemany(
            "UPDATE party SET spent = ?, n_releases = n_releases + 1 WHERE name = ?",
            ((total.to_text(), name) for name, total in spent.items()),
        )

    def add_draw(self, charge: int, numbers: Sequence[int]) -> None:
        text = json.dumps(list(numbers), separators=(",", ":"))
        self._db.execute("INSERT INTO drawn (charge, numbers) VALUES (?, ?)", (charge, text))

    def drawn(self, charge: int) -> list[int] | None:
        if not self._keeps_draws:
            return None
        query = "SELECT numbers FROM drawn WHERE charge = ?"
        found = self._db.execute(query, (charge,)).fetchone()
        return None if found is None else _numbers(charge, found[0])

    def add_settlement(self, charge: int, digest: str) -> None:
        self._db.execute("INSERT INTO settlement (charge, digest) VALUES (?, ?)", (charge, digest))


# ---- reading rows --------------------------------------------------------------------------------


def _charge(row: tuple[Any, ...]) -> Charge:
    id_, day, epsilon, delta, rho, gaussian, note, n_parties, certificate, digest = row
    with _explaining_damage(f"charge {id_}"):
        for text in (certificate, digest):
            if not (text is None or DIGEST.fullmatch(text)):
                raise ParameterError("digest", got=text, allowed="64 hexadecimal digits")
        return Charge(
            id=id_,
            day=printable("day", day, 10),
            cost=_cost(epsilon, delta, rho, gaussian),
            note=printable("note", note, LONGEST_NOTE),
            n_parties=n_parties,
            certificate=certificate,
            digest=digest,
        )


def _numbers(charge: int, text: Any) -> list[int]:
    try:
        numbers = json.loads(text)
        if isinstance(numbers, list) and all(type(number) is int for number in numbers):
            return numbers
    except (TypeError, ValueError, RecursionError):
        pass
    raise FormatError("ledger", f"what was drawn for charge {charge} is damaged")


def _cost(epsilon: Any, delta: Any, rho: Any, gaussian: Any) -> Cost:
    texts = (epsilon, delta, rho)
    values = [None if text is None else _double(exact_number(text)) for text in texts]
    return Cost(epsilon=values[0], delta=values[1], rho=values[2], gaussian=bool(gaussian))


@contextmanager
def _explaining_damage(what: str) -> Iterator[None]:
    try:
        yield
    except (FormatError, InputError, OverflowError, TypeError) as error:
        problem = f"{what} is damaged ({getattr(error, 'problem', error)})"
        raise FormatError("ledger", problem) from None


def _double(value: Fraction) -> float:
    if Fraction(float(value)) != value:
        raise FormatError("ledger", f"{exact_text(value)[:40]} is not a double")
    return float(value)


# ---- the file ------------------------------------------------------------------------------------


def _commit(db: sqlite3.Connection, path: Path) -> None:
    try:
        db.execute("COMMIT")
    except sqlite3.Error as error:
        _roll_back(db)
        if _code(error) in _NEVER_WRITTEN:
            raise
        raise LedgerError(
            path,
            f"could not be written to the end ({error})",
            "Look which charges are open before you try again.",
            outcome="Nothing was released; whether it was charged is uncertain.",
        ) from None


def _roll_back(db: sqlite3.Connection) -> None:
    # Some errors have rolled back already; closing does it in any case.
    with contextlib.suppress(sqlite3.Error):
        db.execute("ROLLBACK")


def _connect(path: Path, patience: float) -> sqlite3.Connection:
    if not path.is_file():
        raise FormatError("ledger", "it is not a regular file")
    if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, "it may not be read", str(path))
    address = f"{path.absolute().as_uri()}?mode=rw"
    db = sqlite3.connect(address, uri=True, timeout=patience, isolation_level=None)
    try:
        for pragma in _PRAGMAS:
            db.execute(pragma)
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def _translate(path: Path) -> Iterator[None]:
    """Errors of SQLite as errors of ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(error, path) from None
    except UnicodeDecodeError:  # a message of SQLite that quotes a damaged schema
        raise FormatError("ledger", "it is damaged (its schema is not text)") from None


def _explain(error: sqlite3.Error, path: Path) -> Exception:
    match _code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            problem = "has been in use by another process for too long"
            return LedgerError(path, problem, "Try again when that one is done.")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            remedy = "Allow writing to the file and to its folder, where SQLite keeps its journal."
            return LedgerError(path, "cannot be written", remedy)
        case sqlite3.SQLITE_FULL:
            return LedgerError(path, "does not fit on the disk", "Make room.")
        case sqlite3.SQLITE_NOTADB:
            with path.open("rb") as opened:  # no ledger, so nobody holds a lock that this breaks
                kind = foreign_kind(opened.read(16))
            problem = f"it begins like {kind}" if kind else "it is not an SQLite file"
            return FormatError("ledger", problem)
        case None | sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_SCHEMA | sqlite3.SQLITE_CONSTRAINT:
            return FormatError("ledger", f"it is damaged ({error})")
        case _:
            return LedgerError(path, f"could not be used ({error})", "Check the disk and the file.")


def _code(error: sqlite3.Error) -> int | None:
    """SQLite's primary code; texts that are not UTF-8 have none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
