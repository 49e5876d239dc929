"""How the tables come to be, and change from version to version.

Versions are in `versions/`, one file each, never changed once published. A service does not start
on tables of another version: `ostraka serve migrate` brings them to its own, one process at a time.
"""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect

from ostraka.errors import StateError
from ostraka.service.storage.database import Database, take_turns

__all__ = ["check_version", "is_current", "is_empty", "migrate", "version"]


def migrate(database: Database) -> tuple[str | None, str]:
    """Bring the tables to this version; from which, and to which."""
    with database.write() as connection:
        take_turns(connection)
        before = version(connection)
        config = _config()
        config.attributes["connection"] = connection
        _refuse_unknown(before, database)
        command.upgrade(config, "head")
    return before, _head()


def check_version(database: Database) -> None:
    """Refuse tables that are not of this version."""
    with database.read() as connection:
        found = version(connection)
    _refuse_unknown(found, database)
    if found != _head():
        have = "has no tables yet" if found is None else f"has tables of version {found}"
        raise StateError(
            f"The database {database.place} {have}; this Ostraka needs version {_head()}.",
            "Make a backup, stop all of its services, and run ostraka serve with the same options "
            "and the word migrate after them: ostraka serve migrate.",
        )


def is_current(database: Database) -> bool:
    """Whether the tables are of this version."""
    with database.read() as connection:
        return version(connection) == _head()


def is_empty(database: Database) -> bool:
    """Whether there is nothing in the database at all."""
    with database.read() as connection:
        return not inspect(connection).get_table_names()


def _refuse_unknown(found: str | None, database: Database) -> None:
    known = {each.revision for each in ScriptDirectory.from_config(_config()).walk_revisions()}
    if found is not None and found not in known:
        raise StateError(
            f"The database {database.place} has tables of version {found}, which is newer than "
            f"this Ostraka knows ({_head()}).",
            "Install the Ostraka that made them, or a later one.",
        )


def version(connection: Connection) -> str | None:
    """Of which version the tables are; None if there are none."""
    return MigrationContext.configure(connection).get_current_revision()


def _head() -> str:
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.set_main_option("path_separator", "os")
    return config
