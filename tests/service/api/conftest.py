"""The application of a service, and people who ask it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ostraka.service.service import Service
from ostraka.service.settings import Settings
from tests.databases import database_with_tables
from tests.service.api.asking import Api, People, asking


@pytest.fixture
def database_url(request: pytest.FixtureRequest) -> str | None:
    """SQLite, unless a test asks for both: what differs is tested below the routes."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return None
    return database_with_tables(request.getfixturevalue("postgresql"))


@pytest.fixture
def api(service: Service, settings: Settings) -> Iterator[Api]:
    with asking(service, settings) as made:
        yield made


@pytest.fixture
def people(service: Service) -> People:
    return People.join(service)
