"""A desk, a poll that names it, and what its parties send."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from ostraka.party.contribution import Contribution
from ostraka.poll import Poll
from ostraka.trustee import Desk, Request
from tests.laws.cases import Case
from tests.laws.sealed import ask, new_desk, sealed_poll, send, servers_with

CASE = Case("cells", 3)


@dataclass(frozen=True)
class Made:
    desk: Desk
    poll: Poll
    sent: list[Contribution]

    @property
    def request(self) -> Request:
        return ask(self.poll, self.sent)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    desk = new_desk(tmp_path / "desk")
    poll = sealed_poll(CASE, servers_with(desk), title="A poll")
    return Made(desk, poll, send(poll, CASE.world()))
