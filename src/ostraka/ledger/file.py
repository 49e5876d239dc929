"""The file of a ledger: one SQLite database, opened for every act anew, so that threads, forks and processes may share the path.

Checked before anything else is read: the file's own marks, and its whole schema, triggers included. Rows are only ever added; triggers
refuse to change or remove them. The one thing that changes is a party's running sum, so that a charge takes as long as the first one
however long the history is; `Ledger.audit` adds the history up again. A charge is durable when `COMMIT` returns: rollback journal,
`synchronous=EXTRA` (with `FULL` a power cut may bring the journal back, and with it the time before the charge).

Why not keep a connection: a lock of SQLite is lost when *any* handle of the file is closed in the same process, and a connection that
crosses a fork damages the file. For the same reason nothing here opens the file by other means while it may be in use.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ostraka.errors import FormatError, LedgerError
from ostraka.files import check_folder
from ostraka.foreign import foreign_kind

__all__ = ["PATIENCE", "make_file", "transaction"]

PATIENCE = 30.0
"""Seconds to wait for another process that is writing."""

# Raise VERSION with every change of the schema or of its meaning; readers of old numbers stay, each with a file in the tests.
VERSION = 1
APPLICATION = 0x4F737472  # "Ostr"

# By what a row is known, in each table.
_KEYS = {
    "budget": ("id",),
    "party": ("id", "name"),
    "allowance": ("id",),
    "charge": ("id",),
    "share": ("charge, party",),
    "settlement": ("charge",),
}
_TABLES = """
CREATE TABLE budget (id INTEGER PRIMARY KEY CHECK (id = 1), kind TEXT NOT NULL, amount TEXT NOT NULL);
CREATE TABLE party (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, spent TEXT NOT NULL, n_releases INTEGER NOT NULL);
CREATE TABLE allowance (id INTEGER PRIMARY KEY, party INTEGER NOT NULL REFERENCES party, amount TEXT NOT NULL);
CREATE INDEX allowance_of_party ON allowance (party, id);
CREATE TABLE charge (
  id INTEGER PRIMARY KEY, day TEXT NOT NULL, epsilon TEXT, delta TEXT, rho TEXT,
  gaussian INTEGER NOT NULL CHECK (gaussian IN (0, 1)), note TEXT NOT NULL, n_parties INTEGER NOT NULL CHECK (n_parties > 0)
);
CREATE TABLE share (
  charge INTEGER NOT NULL REFERENCES charge, party INTEGER NOT NULL REFERENCES party, PRIMARY KEY (charge, party)
) WITHOUT ROWID;
CREATE TABLE settlement (charge INTEGER PRIMARY KEY REFERENCES charge, digest TEXT NOT NULL);
"""
_MOVES_WITH_A_CHARGE = """NEW.id = OLD.id AND NEW.name = OLD.name AND NEW.n_releases = OLD.n_releases + 1
  AND EXISTS (SELECT 1 FROM share WHERE charge = (SELECT max(id) FROM charge) AND party = OLD.id)"""
_PRAGMAS = ("PRAGMA trusted_schema=OFF", "PRAGMA cell_size_check=ON", "PRAGMA foreign_keys=ON", "PRAGMA synchronous=EXTRA")

_NEVER_WRITTEN = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_CONSTRAINT}


def make_file(path: Path, kind: str, amount: str) -> None:
    """A new ledger without charges; one that is there is never replaced."""
    check_folder(path)
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        raise FileExistsError(errno.EEXIST, "it is there already, and a ledger is never replaced", str(path)) from None
    try:
        with _translated(path), closing(_connected(path, PATIENCE)) as db:
            db.execute("BEGIN EXCLUSIVE")
            for statement in _schema():
                db.execute(statement)
            db.execute("INSERT INTO budget VALUES (1, ?, ?)", (kind, amount))
            db.execute(f"PRAGMA application_id={APPLICATION}")
            db.execute(f"PRAGMA user_version={VERSION}")
            db.execute("COMMIT")
    except BaseException:
        path.unlink(missing_ok=True)
        raise


@contextmanager
def transaction(path: Path, patience: float, *, write: bool) -> Iterator[sqlite3.Connection]:
    """A connection in a transaction: all of it happens, or, after any error, none of it. Writers take turns from the beginning on."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "there is no such ledger", str(path))
    with _translated(path), closing(_connected(path, patience)) as db:
        db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
        try:
            _check_marks(db)
            _check_schema(db)
            yield db
        except BaseException:
            _roll_back(db)
            raise
        _commit(db, path)


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
            outcome="Nothing was drawn; whether it was charged is uncertain.",
        ) from None


def _roll_back(db: sqlite3.Connection) -> None:
    with contextlib.suppress(sqlite3.Error):  # some errors have rolled back already; closing does it in any case
        db.execute("ROLLBACK")


def _connected(path: Path, patience: float) -> sqlite3.Connection:
    if not path.is_file():
        raise FormatError("ledger", "it is not a regular file")
    if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, "it may not be read", str(path))
    db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=patience, isolation_level=None)
    try:
        for pragma in _PRAGMAS:
            db.execute(pragma)
    except BaseException:
        db.close()
        raise
    return db


def _check_marks(db: sqlite3.Connection) -> None:
    (application,), (version,) = db.execute("PRAGMA application_id").fetchone(), db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        empty = db.execute("PRAGMA page_count").fetchone()[0] == 0
        raise FormatError("ledger", "it is empty" if empty else "it is an SQLite file of another program")
    if version != VERSION:
        raise FormatError("ledger", f"it is of version {version}, and this Ostraka reads version {VERSION}")


def _check_schema(db: sqlite3.Connection) -> None:
    if _objects(db) != _expected_objects():
        raise FormatError("ledger", "its tables or triggers are not those of a ledger")


def _objects(db: sqlite3.Connection) -> frozenset[tuple[str, ...]]:
    return frozenset(db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master"))


@functools.cache
def _expected_objects() -> frozenset[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in _schema():
            db.execute(statement)
        return _objects(db)


def _schema() -> list[str]:
    return [*filter(str.strip, _TABLES.split(";")), *(text for table in _KEYS for text in _triggers(table))]


def _triggers(table: str) -> list[str]:
    """No row is changed or removed, nor replaced by one with the same key; a party's running sum moves with its last charge only."""
    refuse = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
    same = " OR ".join(f"({key}) = ({', '.join(f'NEW.{name}' for name in key.split(', '))})" for key in _KEYS[table])
    unless = f"WHEN NOT ({_MOVES_WITH_A_CHARGE}) " if table == "party" else ""
    return [
        f"CREATE TRIGGER {table}_is_not_changed BEFORE UPDATE ON {table} {unless}{refuse}",
        f"CREATE TRIGGER {table}_is_not_removed BEFORE DELETE ON {table} {refuse}",
        f"CREATE TRIGGER {table}_is_not_replaced BEFORE INSERT ON {table} WHEN EXISTS (SELECT 1 FROM {table} WHERE {same}) {refuse}",
    ]


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Errors of SQLite as errors of ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise _explained(error, path) from None
    except UnicodeDecodeError:  # a message of SQLite that quotes a damaged schema
        raise FormatError("ledger", "it is damaged (its schema is not text)") from None


def _explained(error: sqlite3.Error, path: Path) -> Exception:
    match _code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return LedgerError(path, "has been in use by another process for too long", "Try again when that one is done.")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return LedgerError(path, "cannot be written", "Allow writing to the file and to its folder, where SQLite keeps its journal.")
        case sqlite3.SQLITE_FULL:
            return LedgerError(path, "does not fit on the disk", "Make room.")
        case sqlite3.SQLITE_NOTADB:
            with path.open("rb") as opened:  # no ledger, so nobody holds a lock that this could break
                kind = foreign_kind(opened.read(16))
            return FormatError("ledger", f"it begins like {kind}" if kind else "it is not an SQLite file")
        case None | sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_SCHEMA | sqlite3.SQLITE_CONSTRAINT:
            return FormatError("ledger", f"it is damaged ({error})")
        case _:
            return LedgerError(path, f"could not be used ({error})", "Check the disk and the file.")


def _code(error: sqlite3.Error) -> int | None:
    """SQLite's primary code; texts that are not UTF-8 have none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF
