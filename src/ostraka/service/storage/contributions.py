"""Contributions in the database: written many at once, read one by one.

A row is replaced by a later revision of the same party alone, or by one that was signed by a later
key: whoever had stolen the earlier one has no last word. The very same upload once more changes
nothing and is as good as the first. What an admin has handed in for a party has generation and
revision 0.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, func, select, update

from ostraka.service.storage import tables

__all__ = ["Found", "Row", "count", "erase", "find", "leave_unread", "put", "stream"]


class Row(NamedTuple):
    """One contribution, as it is kept."""

    poll: int
    party: int
    generation: int
    revision: int
    commitment: bytes
    persons: int | None
    salt: bytes
    signature: bytes | None
    content: bytes


_COLUMNS: Final = ", ".join(Row._fields)
_NEWER: Final = """ON CONFLICT (poll, party) DO UPDATE SET
  generation = excluded.generation, revision = excluded.revision,
  commitment = excluded.commitment, persons = excluded.persons,
  salt = excluded.salt, signature = excluded.signature, content = excluded.content
WHERE (contribution.generation, contribution.revision) < (excluded.generation, excluded.revision)
  OR ((contribution.generation, contribution.revision) = (excluded.generation, excluded.revision)
      AND (contribution.commitment = excluded.commitment OR excluded.revision = 0))"""
_SQLITE: Final = (
    f"INSERT INTO contribution ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) {_NEWER}"
)
_POSTGRESQL: Final = f"""INSERT INTO contribution ({_COLUMNS})
SELECT * FROM unnest(%b::integer[], %b::integer[], %b::integer[], %b::integer[], %b::bytea[],
  %b::bigint[], %b::bytea[], %b::bytea[], %b::bytea[]) {_NEWER} RETURNING poll, party"""


def put(connection: Connection, rows: Sequence[Row]) -> set[tuple[int, int]]:
    """Write them, each party at most once; whose rows are there now.

    Not among them is whoever has sent a later revision before, or another one of the same number.
    Two who write at once lock rows in the same order, so neither waits for the other for ever.
    """
    rows = sorted(rows, key=lambda row: (row.poll, row.party))
    cursor = connection.connection.cursor()  # a statement a row through SQLAlchemy costs more
    driver: Any = connection.dialect.loaded_dbapi
    try:
        if connection.dialect.name != "sqlite":
            cursor.execute(_POSTGRESQL, [list(each) for each in zip(*rows, strict=True)])
            return {(poll, party) for poll, party in cursor.fetchall()}
        written = set()
        for row in rows:
            cursor.execute(_SQLITE, row)
            if cursor.rowcount == 1:
                written.add((row.poll, row.party))
        return written
    except driver.Error as error:  # it may quote the row, and goes into a log
        state = getattr(error, "sqlstate", None)
        raise type(error)(f"contributions were not written ({state})") from None
    finally:
        cursor.close()


def stream(
    connection: Connection, poll: int
) -> Generator[tuple[str, bytes, bytes, bytes], None, None]:
    """Name, commitment, salt and content of each contribution to a poll, a few at a time."""
    kept = tables.contribution
    query = (
        select(tables.party.c.name, kept.c.commitment, kept.c.salt, kept.c.content)
        .join(tables.party, tables.party.c.id == kept.c.party)
        .where(kept.c.poll == poll)
        .order_by(kept.c.party)
    )
    # Options of the query: those of a connection would stay, for whatever is written on it next.
    with connection.execute(query.execution_options(yield_per=200)) as found:
        yield from (tuple(row) for row in found)


def count(connection: Connection, poll: int) -> tuple[int, int | None]:
    """How many have contributed, and of how many persons."""
    kept = tables.contribution
    query = select(func.count(), func.sum(kept.c.persons)).where(kept.c.poll == poll)
    parties, persons = connection.execute(query).one()
    return int(parties), None if persons is None else int(persons)


def erase(connection: Connection, poll: int) -> None:
    """Forget what was sent to a poll that has ended; who took part, and commitments, stay."""
    kept = tables.contribution
    connection.execute(
        update(kept).where(kept.c.poll == poll).values(content=None, salt=None, signature=None)
    )


class Found(NamedTuple):
    """What is known of a contribution without looking into it."""

    revision: int
    commitment: bytes
    handed_in: bool
    unread: bool
    """Whether a trustee could not open its half, so that it was left out."""


def find(connection: Connection, digest: str, party: int) -> Found | None:
    """A party's contribution to a poll; what an earlier key has signed has revision 0: a first one
    by the present key takes its place.
    """
    kept, known = tables.contribution, tables.party
    query = (
        select(
            kept.c.revision, kept.c.commitment, kept.c.generation, known.c.generation, kept.c.unread
        )
        .join(tables.poll, tables.poll.c.id == kept.c.poll)
        .join(known, known.c.id == kept.c.party)
        .where(tables.poll.c.digest == digest, kept.c.party == party)
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        return None
    revision, commitment, generation, now, unread = row
    return Found(
        revision=int(revision) if generation == now else 0,
        commitment=bytes(commitment),
        handed_in=generation == 0,
        unread=bool(unread),
    )


def leave_unread(connection: Connection, poll: int, names: Sequence[str]) -> None:
    """Note whose half a trustee could not open."""
    kept, known = tables.contribution, tables.party
    for name in names:
        of_party = select(known.c.id).where(known.c.name == name).scalar_subquery()
        theirs = update(kept).where(kept.c.poll == poll, kept.c.party == of_party)
        connection.execute(theirs.values(unread=True))
