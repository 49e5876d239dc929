"""A service on each kind of database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostraka.service.service import Service
from ostraka.service.settings import Settings
from tests.databases import database_with_tables
from tests.service.made import settings_in, start


@pytest.fixture(autouse=True)
def _nothing_left_open(nothing_left_open: None) -> None:
    """Also not by tests that open a service again."""


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> str | None:
    """A database of each kind; None is the default one in the data folder."""
    if request.param == "sqlite":
        return None
    return database_with_tables(request.getfixturevalue("postgresql"))


@pytest.fixture
def settings(tmp_path: Path, database_url: str | None) -> Settings:
    return settings_in(tmp_path, database_url)


@pytest.fixture
def service(settings: Settings) -> Iterator[Service]:
    """One that was just started."""
    made = start(settings)
    yield made
    made.database.close()
