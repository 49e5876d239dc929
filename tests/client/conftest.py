"""A service that answers, people who have joined it, and a stranger in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ostraka.client import Client
from ostraka.client import client as requests
from ostraka.client.membership import TOKEN
from ostraka.service.api.app import create
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from tests.client.served import Clock, Stranger, serve, stranger
from tests.service.made import joined, settings_in, start


@pytest.fixture(autouse=True)
def _nothing_left_open(nothing_left_open: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """And no token that whoever runs the tests may have."""
    monkeypatch.delenv(TOKEN, raising=False)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return settings_in(tmp_path)


@pytest.fixture
def service(settings: Settings) -> Service:
    return start(settings)


@pytest.fixture
def address(service: Service, settings: Settings) -> Iterator[str]:
    """Where the service answers."""
    with serve(create(service, settings)) as where:
        yield where


@pytest.fixture
def connect() -> Iterator[Callable[..., Client]]:
    """Makes clients, and closes them."""
    with ExitStack() as stack:
        yield lambda *given, **options: stack.enter_context(Client(*given, **options))


@pytest.fixture
def admin(service: Service, address: str, connect: Callable[..., Client]) -> Client:
    """An admin's."""
    (member,) = joined(service, "ann", role="admin")
    return connect(address, member.token)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Clients do not wait, and count how long they would have."""
    made = Clock()
    monkeypatch.setattr(requests, "time", made)
    return made


@pytest.fixture(scope="session")
def _one_stranger() -> Iterator[Stranger]:
    with stranger() as made:
        yield made


@pytest.fixture(name="stranger")
def _stranger(_one_stranger: Stranger) -> Stranger:
    """A server that is no service of ours."""
    _one_stranger.answers.clear()
    _one_stranger.asked.clear()
    return _one_stranger
