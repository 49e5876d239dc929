"""What comes for a poll with a trustee is kept, sealed, for `ostraka release`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.errors import ParameterError, TooFewPartiesError
from ostraka.flower import asking, server
from ostraka.party.contribution import Contribution
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.trustee import Joining
from tests.flower.made import CLASSES, FakeGrid, a_context, an_order, sending
from tests.laws.sealed import ask, new_desk, servers_with
from tests.sealing.made import COORDINATOR

NAMES = ("north", "south/east", "west")


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PAUSE", 0.001)


@pytest.fixture
def poll(tmp_path: Path) -> Poll:
    rows = np.random.default_rng(0).random((40, 3)) / 2
    servers = servers_with(new_desk(tmp_path / "desk"))
    public = AuxiliarySet(rows, CLASSES)
    return Poll.create(public, epsilon=1.0, parties=3, method="cells", servers=servers)


def run(poll: Poll, folder: Path, **more: Any) -> None:
    rng = np.random.default_rng(1)
    made = {
        name: poll.contribute(rng.random((4, 3)) / 2, rng.choice(CLASSES, 4), name).to_bytes()
        for name in NAMES
    }
    grid = FakeGrid({node: sending(made[name]) for node, name in enumerate(NAMES, 1)})
    context = a_context()
    context.run_config = {**an_order(folder, poll), "out": str(folder / "inbox"), **more}
    server(grid, context)


def test_what_came_is_kept_and_can_be_released(poll: Poll, tmp_path: Path) -> None:
    run(poll, tmp_path)
    kept = [Contribution.load(path) for path in sorted((tmp_path / "inbox").iterdir())]
    assert sorted(each.party for each in kept) == sorted(NAMES)
    request = ask(poll, kept)
    from ostraka.trustee import Desk

    joining = Joining(poll, request, Desk.at(tmp_path / "desk").answer(request), COORDINATOR)
    for each in kept:
        joining.add(each)
    assert joining.tally().n_parties == 3


def test_nothing_is_charged_or_mixed_up(poll: Poll, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="ostraka release charges"):
        run(poll, tmp_path, ledger=str(tmp_path / "b.db"))
    with pytest.raises(TooFewPartiesError):
        run(poll, tmp_path, **{"least-nodes": 4, "deadline": 0.05})
    assert not (tmp_path / "inbox").exists()
    run(poll, tmp_path)
    with pytest.raises(ParameterError, match="is not there yet, or empty"):
        run(poll, tmp_path)
