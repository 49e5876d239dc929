"""The tables: made by a command, one process at a time; another version is refused."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import text

from ostraka.errors import StateError
from ostraka.service.storage import tables
from ostraka.service.storage.database import Database
from ostraka.service.storage.migrations import check_version, is_empty, migrate, version
from tests.databases import new_database


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'x.db'}"
    return new_database(request.getfixturevalue("postgresql"))


@pytest.fixture
def empty(url: str) -> Database:
    return Database.open(url)


def test_from_nothing(empty: Database) -> None:
    assert is_empty(empty)
    with pytest.raises(StateError, match=r"has no tables yet; .*: ostraka serve migrate"):
        check_version(empty)
    assert migrate(empty) == (None, "1")
    check_version(empty)
    assert migrate(empty) == ("1", "1")
    empty.close()


def test_the_tables_are_those_that_the_code_knows(empty: Database) -> None:
    migrate(empty)
    with empty.read() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, tables.METADATA) == []
    empty.close()


def test_a_version_that_is_not_known(empty: Database) -> None:
    migrate(empty)
    with empty.write() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '99'"))
        assert version(connection) == "99"
    for refuse in (check_version, migrate):
        with pytest.raises(StateError, match="version 99, which is newer"):
            refuse(empty)
    empty.close()


def test_several_at_once(url: str) -> None:
    """Workers that make tables at the same time get in nobody's way."""

    def make(_: int) -> str:
        database = Database.open(url)
        try:
            return migrate(database)[1]
        finally:
            database.close()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(make, range(4))) == {"1"}
