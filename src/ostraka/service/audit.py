"""What admins have done, for good: who, what, about what, and when.

Each line has a digest of itself and of the line before, so that a line that was taken out or
changed behind the database's back shows. Nothing private is here: no numbers of anybody, and no
times of anything but requests.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import final

from sqlalchemy import Connection, insert, select, text

from ostraka.errors import FormatError
from ostraka.service.access import Who
from ostraka.service.storage import tables
from ostraka.signing.statement import statement

__all__ = ["Line", "check", "last", "note", "note_names", "read"]

START = b"\0" * 32
NAMES = 100


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that was done."""

    id: int
    at: str
    who: str
    what: str
    about: str


def note(connection: Connection, who: Who | str, what: str, about: str) -> None:
    """Add a line, in the transaction of what was done."""
    if connection.dialect.name != "sqlite":  # one after the other: each builds on the last
        connection.execute(text("LOCK TABLE audit IN SHARE ROW EXCLUSIVE MODE"))
    query = select(tables.audit.c.chain).order_by(tables.audit.c.id.desc()).limit(1)
    before = connection.execute(query).scalar_one_or_none()
    at = datetime.now(UTC).isoformat(timespec="seconds")
    chain = _link(before or START, at, str(who), what, about)
    connection.execute(
        insert(tables.audit).values(at=at, who=str(who), what=what, about=about, chain=chain)
    )


def note_names(connection: Connection, who: Who | str, what: str, names: Sequence[str]) -> None:
    """The same about many people: every name is there, a hundred to a line."""
    for start in range(0, len(names), NAMES):
        note(connection, who, what, ", ".join(names[start : start + NAMES]))


def read(connection: Connection, after: int, limit: int) -> list[Line]:
    """Some lines, oldest first."""
    kept = tables.audit
    query = (
        select(kept.c.id, kept.c.at, kept.c.who, kept.c.what, kept.c.about)
        .where(kept.c.id > after)
        .order_by(kept.c.id)
        .limit(limit)
    )
    found = connection.execute(query)
    return [Line(id=i, at=at, who=who, what=what, about=about) for i, at, who, what, about in found]


def last(connection: Connection) -> str:
    """When something was last done."""
    query = select(tables.audit.c.at).order_by(tables.audit.c.id.desc()).limit(1)
    return connection.execute(query).scalar_one_or_none() or ""


def check(connection: Connection) -> int:
    """Refuse a log that was changed; how many lines it has."""
    kept, before, n = tables.audit, START, 0
    query = select(kept.c.at, kept.c.who, kept.c.what, kept.c.about, kept.c.chain)
    for at, who, what, about, chain in connection.execute(query.order_by(kept.c.id)):
        before, n = _link(before, at, who, what, about), n + 1
        if before != bytes(chain):
            raise FormatError("audit log", f"line {n} was changed, or one before it is missing")
    return n


def _link(before: bytes, *words: str) -> bytes:
    parts = (word.encode("utf-8") for word in words)
    return hashlib.sha256(statement("audit 1", before, *parts)).digest()
