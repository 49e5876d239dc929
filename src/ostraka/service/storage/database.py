"""The connection to the database: SQLite in the service's data folder, or PostgreSQL by URL.

Guarantee: a transaction of `write` is durable when it has been left without an error (SQLite: WAL
with synchronous=FULL; PostgreSQL: synchronous_commit is not off), and has changed nothing when it
was left with one. A transaction of `read` sees one moment.

On SQLite writers take turns from the first statement on. On PostgreSQL they run side by side, and
lock the rows that they decide by: a poll's row, or the ledger's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Self, final

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError

from ostraka.errors import ParameterError, ServiceError
from ostraka.errors.words import one_line

__all__ = ["Database", "take_turns"]

PATIENCE: Final = 30.0
"""Seconds to wait for another process that is writing."""
TURNS: Final = 0x4F737472  # "Ostr"
_PRAGMAS: Final = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA trusted_schema=OFF",
    "PRAGMA cell_size_check=ON",
    "PRAGMA secure_delete=ON",
)
NO_ANSWER: Final = "cannot use its database"
AGAIN: Final = (
    "What was asked for may not have happened. Try again in a minute: every request can be "
    "repeated, and takes effect once. If it goes on, look at the service's log."
)


@final
class Database:
    """Where everything but large files is kept."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @classmethod
    def open(cls, url: str) -> Self:
        """By a URL: sqlite:///PATH or postgresql://USER@HOST/NAME."""
        try:
            parsed = make_url(url)
        except ArgumentError:
            parsed = None
        if parsed is None or parsed.get_backend_name() not in ("sqlite", "postgresql"):
            allowed = "sqlite:///PATH, or postgresql://USER:PASSWORD@HOST/NAME"
            raise ParameterError("database", got="another URL", allowed=allowed)
        if parsed.get_backend_name() == "sqlite":
            return cls(_sqlite(parsed))
        parsed = parsed.set(drivername="postgresql+psycopg")
        return cls(_postgresql(parsed))

    @classmethod
    def in_file(cls, path: Path) -> Self:
        """SQLite in a file."""
        return cls.open(f"sqlite:///{path}")

    @property
    def is_sqlite(self) -> bool:
        """Which of the two it is."""
        return self.engine.dialect.name == "sqlite"

    @property
    def place(self) -> str:
        """What messages call it, without a password."""
        return self.engine.url.render_as_string(hide_password=True)

    def check_reachable(self) -> None:
        """Refuse, in the database's own words, what cannot be reached: for whoever runs it."""
        try:
            with self.engine.connect():
                return
        except DBAPIError as error:
            told = one_line(str(error.orig).strip().partition("\n")[0])
            raise ServiceError(
                self.place, f"cannot be used: {told}", "Check its URL, and whether it runs."
            ) from error

    @contextlib.contextmanager
    def read(self) -> Iterator[Connection]:
        """One moment, to look at."""
        with self._telling(), self.engine.connect() as connection:
            if not self.is_sqlite:
                connection.execution_options(
                    isolation_level="REPEATABLE READ", postgresql_readonly=True
                )
            yield connection

    @contextlib.contextmanager
    def write(self) -> Iterator[Connection]:
        """Everything done inside happens, or, after any error, none of it."""
        with self._telling(), self.engine.connect() as connection:
            connection.execution_options(writes=True)
            with connection.begin():
                yield connection

    def session(self) -> Connection:
        """A connection of one's own, without transactions, until it is closed."""
        with self._telling():
            connection = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            connection.detach()
            return connection

    def forget(self, table: str) -> None:
        """Leave as little as can be of rows that were erased. What somebody else is reading stays
        until the next time; so does all of it if the database does not answer.
        """
        with (
            contextlib.suppress(ServiceError),
            self._telling(),
            self.engine.connect() as connection,
        ):
            if self.is_sqlite:
                connection.connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
                return
            connection.execution_options(isolation_level="AUTOCOMMIT")
            connection.execute(text(f"VACUUM {table}"))

    def close(self) -> None:
        """Leave nothing open."""
        self.engine.dispose()

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """What a database says of itself is for the log; people hear what to do."""
        try:
            yield
        except (DBAPIError, self._driver_error) as error:
            raise ServiceError(self.place, NO_ANSWER, AGAIN) from error

    @property
    def _driver_error(self) -> type[Exception]:
        """Of statements that go past SQLAlchemy."""
        kind: type[Exception] = self.engine.dialect.loaded_dbapi.Error
        return kind


def take_turns(connection: Connection) -> None:
    """Until the end of this transaction, whoever else asks for a turn waits.

    For what has no row that could be locked: making tables, or a service; letting people in, and
    taking that back.
    """
    if connection.dialect.name != "sqlite":  # there, writers take turns anyway
        connection.execute(text(f"SELECT pg_advisory_xact_lock({TURNS})"))


def _sqlite(url: Any) -> Engine:
    _make_private(url.database)
    engine = create_engine(
        url,
        hide_parameters=True,  # contributions do not belong into a log
        connect_args={"timeout": PATIENCE, "check_same_thread": False},
    )

    def connect(connection: Any, _record: Any) -> None:
        connection.isolation_level = None  # transactions begin where we say
        for pragma in _PRAGMAS:
            connection.execute(pragma)

    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", connect)
    event.listen(engine, "begin", begin)
    return engine


def _make_private(path: str | None) -> None:
    """A new file is for its owner alone from the first moment; SQLite's files beside it follow."""
    if path and path != ":memory:":
        with contextlib.suppress(OSError):  # SQLite says what is wrong with the place
            os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))


def _postgresql(url: Any) -> Engine:
    engine = create_engine(
        url,
        hide_parameters=True,
        pool_pre_ping=True,  # the database may have been away
        connect_args={"connect_timeout": int(PATIENCE)},
    )

    def connect(connection: Any, _record: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('synchronous_commit', 'on', false) "
                "WHERE current_setting('synchronous_commit') = 'off'"
            )
        connection.commit()

    event.listen(engine, "connect", connect)
    return engine
