"""One path: over Flower, the same contributions give the same sum, and so the same release.

What a node sends are the bytes of its contribution's file, and what the server adds up and
publishes goes through the same tally and the same door as in one process and by files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from flwr.app import Context

from ostraka import releasing
from ostraka.flower import coordinator, create_client, create_sharded_client
from ostraka.poll import Poll
from ostraka.release import Release
from ostraka.tally import Tally
from tests.flower.made import FakeGrid, Node, a_context, an_order
from tests.laws.cases import CASES, Case, M, World, by_files, in_process, stated, vector

every_case = pytest.mark.parametrize("case", CASES, ids=str)


def a_node_each(world: World) -> dict[int, Node]:
    """Every party has a node."""

    def create(party: int) -> Node:
        app = create_client(lambda context: (*world[party], party))
        return lambda message: app(message, a_context(party))

    return {party: create(party) for party in range(len(world))}


def sharded(world: World) -> dict[int, Node]:
    """Two nodes, each with half of the parties, the later ones first."""

    def create(own: range) -> Node:
        def load(context: Context) -> Any:
            return ((*world[party], party) for party in reversed(own))

        app = create_sharded_client(load)
        return lambda message: app(message, a_context())

    half = len(world) // 2
    return {2: create(range(half, len(world))), 1: create(range(half))}


@pytest.mark.parametrize("nodes", [a_node_each, sharded])
@every_case
def test_over_flower_the_total_and_the_release_are_the_same(
    case: Case, nodes: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll, world = case.poll(), case.world()
    seen: list[Tally] = []
    real = releasing.publish_release

    def noting(poll: Poll, tally: Tally, *more: Any) -> Any:
        seen.append(tally)
        return real(poll, tally, *more)

    monkeypatch.setattr(coordinator, "publish_release", noting)
    context = a_context()
    context.run_config = an_order(tmp_path, poll, parties_per_node=M)
    coordinator.serve(FakeGrid(nodes(world)), context)
    (there,) = seen
    for here in (in_process(poll, world), by_files(poll, world)):
        assert (here.total == there.total).all()
        assert here.n_units == there.n_units == M
        assert vector(poll, here) == vector(poll, there)
    release = Release.load(tmp_path / "made.ostraka")
    promised = stated(release, case)
    assert promised.certificate == poll.certificate(M)
