"""What a trustee remembers: which request each poll is frozen for, and what was answered.

The file knows whose it is: it serves one key alone.

Guarantee: a poll has one request for ever, from the moment that `turn` has begun; and one answer,
from the moment that it was kept. Two processes take turns. What was kept is on the disk.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self, final

from ostraka.errors import LedgerError
from ostraka.signing import PublicKey

__all__ = ["Kept", "Memory"]

PATIENCE: Final = 60.0
MARK: Final = 0x4F737441  # "OstA"
_TABLE: Final = (
    "CREATE TABLE answer (poll TEXT PRIMARY KEY, request TEXT NOT NULL, answer BLOB) STRICT"
)
_OWNER: Final = "CREATE TABLE owner (public_key BLOB NOT NULL) STRICT"
_NEVER: Final = """CREATE TRIGGER never_another BEFORE UPDATE ON answer
WHEN OLD.request <> NEW.request OR OLD.poll <> NEW.poll OR OLD.answer IS NOT NULL
BEGIN SELECT RAISE(ABORT, 'a poll has one request and one answer'); END"""


@final
class Kept:
    """One poll, while it is this process's turn."""

    def __init__(self, connection: sqlite3.Connection, poll: str) -> None:
        self._connection, self._poll = connection, poll
        query = "SELECT request, answer FROM answer WHERE poll = ?"
        found: tuple[str, bytes | None] = connection.execute(query, (poll,)).fetchone()
        self.frozen, self.answer = found

    def keep(self, answer: bytes) -> None:
        """Write the answer down."""
        update = "UPDATE answer SET answer = ? WHERE poll = ?"
        self._connection.execute(update, (answer, self._poll))
        self.answer = answer


@final
class Memory:
    """A file."""

    def __init__(self, path: Path, key: PublicKey) -> None:
        self.path, self._key = path, key

    @classmethod
    def create(cls, path: Path, key: PublicKey) -> Self:
        """A new one, for whoever has this key."""
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            connection.execute(_NEVER)
            connection.execute(_OWNER)
            connection.execute("INSERT INTO owner VALUES (?)", (key.raw,))
            connection.execute(f"PRAGMA application_id = {MARK}")
            connection.execute("COMMIT")
        path.chmod(0o600)
        return cls(path, key)

    def frozen(self, poll: str) -> str | None:
        """The digest of the request that a poll is frozen for."""
        with self._opened() as connection:
            query = "SELECT request FROM answer WHERE poll = ?"
            found = connection.execute(query, (poll,)).fetchone()
        return None if found is None else str(found[0])

    def answered(self) -> list[str]:
        """The polls that have an answer."""
        with self._opened() as connection:
            query = "SELECT poll FROM answer WHERE answer IS NOT NULL"
            return [poll for (poll,) in connection.execute(query)]

    def knows(self, poll: str) -> bool:
        """Whether it is frozen."""
        return self.frozen(poll) is not None

    @contextlib.contextmanager
    def turn(self, poll: str, request: str) -> Iterator[Kept]:
        """Freeze a poll for a request, if it is not frozen yet; then nobody else has a turn.

        What is frozen stays so, whatever happens in the turn.
        """
        with self._opened() as connection:
            insert = "INSERT INTO answer (poll, request) VALUES (?, ?) ON CONFLICT DO NOTHING"
            connection.execute(insert, (poll, request))
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield Kept(connection, poll)
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")

    @contextlib.contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        if not self.path.is_file():
            raise LedgerError(
                str(self.path), "is missing", "Put it back: without it answers could be repeated."
            )
        try:
            with contextlib.closing(
                sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
            ) as connection:
                connection.execute("PRAGMA synchronous = EXTRA")
                (mark,) = connection.execute("PRAGMA application_id").fetchone()
                if mark != MARK:
                    raise sqlite3.DatabaseError("it is another database")
                (owner,) = connection.execute("SELECT public_key FROM owner").fetchone()
                if owner != self._key.raw:
                    raise sqlite3.DatabaseError("it belongs to another key")
                yield connection
        except sqlite3.Error as error:
            remedy = "Look at the disk, and at who else uses the folder; then try again."
            raise LedgerError(str(self.path), f"cannot be used ({error})", remedy) from error
