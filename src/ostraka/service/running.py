"""Who runs a service at this moment, so that nobody changes its key or its tables under them.

    database      what every running process holds               what whoever changes it needs
    SQLite        a file beside it, locked with others           the same lock, alone
    PostgreSQL    an advisory lock of a session, with others     the same lock, alone

Guarantee: while a block of `alone` lasts, no process of this service begins to run, and none does
run that holds its lock. A lock ends with its process, however that ends: nothing is left behind.

Not covered: a process that has lost its session to PostgreSQL has no lock until it has another one,
for which it looks every few seconds. It notices another key at the next request
(`Service.check_key`), and takes nothing in. Where files cannot be locked (not on POSIX), nobody is
noticed.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Protocol, final

from sqlalchemy import Connection, text
from sqlalchemy.exc import SQLAlchemyError

from ostraka.errors import ServiceError, StateError
from ostraka.service.settings import Settings
from ostraka.service.storage.database import AGAIN, NO_ANSWER, Database

try:
    import fcntl
except ImportError:  # not POSIX
    fcntl = None  # type: ignore[assignment]

__all__ = ["Running", "alone", "is_running"]

LOCK: Final = 0x4F737473  # "Osts"
PATIENCE: Final = 3.0
"""Seconds to wait for whoever is just ending."""
PAUSE: Final = 0.05
LOOK_EACH: Final = 5.0
"""Seconds between two looks whether a session is still there."""
_KEPT_ALIVE: Final = ("idle = 30", "interval = 10", "count = 3")
"""So that the lock of a host that has vanished ends after a minute, and not after hours."""


@final
class Running:
    """A process that runs a service: from now on, until it is closed or dies."""

    def __init__(self, settings: Settings, look_each: float = LOOK_EACH) -> None:
        self._database, self._look_each = Database.open(settings.database_url), look_each
        self._ended = threading.Event()
        try:
            held = _wait_for(self._database, alone=False)
        except BaseException:
            self._database.close()
            raise
        if held is None:
            self._database.close()
            raise StateError(
                "This service's key or its tables are being changed.",
                "Start it when that has ended. Nothing was started.",
            )
        self._held: _Held | None = held
        self._thread = threading.Thread(target=self._keep, name="running", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """It does not run any more."""
        self._ended.set()
        self._thread.join(PATIENCE)  # it may wait for a database that does not answer
        if self._held is not None and not self._thread.is_alive():
            self._held.release()
        self._database.close()

    def _keep(self) -> None:
        """Get the lock again if the session was lost, as when the database is started anew."""
        while not self._ended.wait(self._look_each):
            if self._held is not None and not self._held.is_held():
                self._held.release()
                self._held = None
            if self._held is None:
                with contextlib.suppress(ServiceError, SQLAlchemyError):
                    self._held = _take(self._database, alone=False)


@contextlib.contextmanager
def alone(database: Database) -> Iterator[None]:
    """Nobody runs the service, and nobody begins to, until the end of the block."""
    held = _wait_for(database, alone=True)
    if held is None:
        error = StateError(
            f"This service is running: a process uses the database {database.place}.",
            "Stop all of its processes, on every host, and then run this command again.",
        )
        error.outcome = "Nothing was changed."
        raise error
    try:
        yield
    finally:
        held.release()


def is_running(database: Database) -> bool:
    """Whether somebody runs the service at this moment."""
    held = _take(database, alone=True)
    if held is not None:
        held.release()
    return held is None


class _Held(Protocol):
    def is_held(self) -> bool: ...

    def release(self) -> None: ...


def _wait_for(database: Database, *, alone: bool) -> _Held | None:
    deadline = time.monotonic() + PATIENCE
    while (held := _take(database, alone=alone)) is None and time.monotonic() < deadline:
        time.sleep(PAUSE)
    return held


def _take(database: Database, *, alone: bool) -> _Held | None:
    """The lock, or None if others are in the way."""
    if not database.is_sqlite:
        return _Session.take(database, alone=alone)
    return _File.take(Path(f"{database.engine.url.database}.running"), alone=alone)


@final
class _File:
    """A lock on an open file."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    @classmethod
    def take(cls, path: Path, *, alone: bool) -> _File | None:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(handle, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except OSError as error:
            os.close(handle)
            if isinstance(error, BlockingIOError):
                return None
            raise
        return cls(handle)

    def is_held(self) -> bool:
        return True

    def release(self) -> None:
        os.close(self._handle)


@final
class _Session:
    """A lock of a session with PostgreSQL."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @classmethod
    def take(cls, database: Database, *, alone: bool) -> _Session | None:
        made, kind = cls(database.session()), "lock" if alone else "lock_shared"
        try:
            for setting in _KEPT_ALIVE:
                made._connection.execute(text(f"SET tcp_keepalives_{setting}"))
            asked = text(f"SELECT pg_try_advisory_{kind}({LOCK})")
            if made._connection.execute(asked).scalar_one():
                return made
        except SQLAlchemyError as error:
            made.release()
            raise ServiceError(database.place, NO_ANSWER, AGAIN) from error
        made.release()
        return None

    def is_held(self) -> bool:
        try:
            self._connection.execute(text("SELECT 1"))
        except SQLAlchemyError:
            return False
        return True

    def release(self) -> None:
        with contextlib.suppress(SQLAlchemyError):  # it may be lost already
            # Else the lock would end a moment after the session is closed here.
            self._connection.execute(text("SELECT pg_advisory_unlock_all()"))
        with contextlib.suppress(SQLAlchemyError):
            self._connection.close()
