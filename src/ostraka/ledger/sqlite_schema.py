"""The tables and triggers of a ledger's file, and how a file is known to have exactly these."""

from __future__ import annotations

import functools
import sqlite3
from contextlib import closing

from ostraka.errors import FormatError
from ostraka.ledger.amounts import Amount

__all__ = ["VERSION", "check_marks", "check_schema", "lay_out", "upgrade"]

# Raise VERSION with every change of the schema or of its meaning; a file of each old number stays
# in the tests.
#   1  names as they were given, after Unicode composition; never part of a release of Ostraka
#   2  names are canonical; accounts have a unit; a charge names its certificate
#   3  what was drawn stands beside its charge. A file of version 2 is read as one in which nothing
#      does, and becomes one of version 3 when it is next written to
VERSION, WITHOUT_DRAWS = 3, 2
APPLICATION = 0x4F737472  # "Ostr"

# By what a row is known, in each table.
_KEYS = {
    "budget": ("id",),
    "party": ("id", "name"),
    "allowance": ("id",),
    "charge": ("id",),
    "share": ("charge, party",),
    "settlement": ("charge",),
    "drawn": ("charge",),
}
_TABLES = """
CREATE TABLE budget (
  id INTEGER PRIMARY KEY CHECK (id = 1), kind TEXT NOT NULL, amount TEXT NOT NULL, \
unit TEXT NOT NULL);
CREATE TABLE party (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, spent TEXT NOT NULL,
  n_releases INTEGER NOT NULL);
CREATE TABLE allowance (
  id INTEGER PRIMARY KEY, party INTEGER NOT NULL REFERENCES party, amount TEXT NOT NULL);
CREATE INDEX allowance_of_party ON allowance (party, id);
CREATE TABLE charge (
  id INTEGER PRIMARY KEY, day TEXT NOT NULL, epsilon TEXT, delta TEXT, rho TEXT,
  gaussian INTEGER NOT NULL CHECK (gaussian IN (0, 1)), note TEXT NOT NULL,
  n_parties INTEGER NOT NULL CHECK (n_parties > 0), certificate TEXT);
CREATE TABLE share (
  charge INTEGER NOT NULL REFERENCES charge, party INTEGER NOT NULL REFERENCES party,
  PRIMARY KEY (party, charge)) WITHOUT ROWID;
CREATE TABLE settlement (charge INTEGER PRIMARY KEY REFERENCES charge, digest TEXT NOT NULL);
"""
_DRAWN = "CREATE TABLE drawn (charge INTEGER PRIMARY KEY REFERENCES charge, numbers TEXT NOT NULL)"
_MOVES_WITH_A_CHARGE = """NEW.id = OLD.id AND NEW.name = OLD.name
  AND NEW.n_releases = OLD.n_releases + 1
  AND EXISTS (SELECT 1 FROM share WHERE charge = (SELECT max(id) FROM charge) AND party = OLD.id)"""


def lay_out(db: sqlite3.Connection, budget: Amount, unit: str) -> None:
    """An empty ledger."""
    for statement in _schema(VERSION):
        db.execute(statement)
    whole = (budget.kind.value, budget.to_text(), unit)
    db.execute("INSERT INTO budget VALUES (1, ?, ?, ?)", whole)
    db.execute(f"PRAGMA application_id={APPLICATION}")
    db.execute(f"PRAGMA user_version={VERSION}")


def upgrade(db: sqlite3.Connection) -> None:
    """From version 2, in the transaction of somebody who is about to write."""
    for statement in (_DRAWN, *_triggers("drawn")):
        db.execute(statement)
    db.execute(f"PRAGMA user_version={VERSION}")


def check_marks(db: sqlite3.Connection) -> int:
    """The version; refuse a file of another program, or of a version that is not known."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION:
        empty = db.execute("PRAGMA page_count").fetchone()[0] == 0
        problem = "it is empty" if empty else "it is an SQLite file of another program"
        raise FormatError("ledger", problem)
    if version not in (WITHOUT_DRAWS, VERSION):
        told = ", in which one party could have several names and budgets" if version == 1 else ""
        known = f"{WITHOUT_DRAWS} and {VERSION}"
        problem = f"it is of version {version}{told}; this Ostraka reads versions {known}"
        raise FormatError("ledger", problem)
    return int(version)


def check_schema(db: sqlite3.Connection, version: int) -> None:
    """Refuse tables, indices, views and triggers that are not exactly the expected ones."""
    if _objects(db) != _lay_out_expected(version):
        raise FormatError("ledger", "its tables or triggers are not those of a ledger")


def _objects(db: sqlite3.Connection) -> frozenset[tuple[str, ...]]:
    found = db.execute("SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master")
    return frozenset((*names, _space(sql)) for *names, sql in found)


def _space(sql: str) -> str:
    """How lines are broken makes no difference."""
    return " ".join(sql.replace("(", " ( ").replace(")", " ) ").split())


@functools.cache
def _lay_out_expected(version: int) -> frozenset[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:")) as db:
        for statement in _schema(version):
            db.execute(statement)
        return _objects(db)


def _schema(version: int) -> list[str]:
    later = version > WITHOUT_DRAWS
    tables = [*filter(str.strip, _TABLES.split(";")), *([_DRAWN] if later else [])]
    known = [table for table in _KEYS if later or table != "drawn"]
    return [*tables, *(text for table in known for text in _triggers(table))]


def _triggers(table: str) -> list[str]:
    """No row is changed, removed, or replaced by one with the same key."""
    refuse = "BEGIN SELECT RAISE(ABORT, 'a ledger is append-only'); END"
    same = " OR ".join(
        f"({key}) = ({', '.join(f'NEW.{name}' for name in key.split(', '))})"
        for key in _KEYS[table]
    )
    unless = f"WHEN NOT ({_MOVES_WITH_A_CHARGE}) " if table == "party" else ""
    there = f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {same})"
    return [
        f"CREATE TRIGGER {table}_is_not_changed BEFORE UPDATE ON {table} {unless}{refuse}",
        f"CREATE TRIGGER {table}_is_not_removed BEFORE DELETE ON {table} {refuse}",
        f"CREATE TRIGGER {table}_is_not_replaced BEFORE INSERT ON {table} {there} {refuse}",
    ]
