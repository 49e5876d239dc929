"""Who is asked, who counts, and who is listed instead: nodes that do whatever nodes do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flwr.app import ArrayRecord, ConfigRecord, Error, Message, RecordDict

from ostraka.errors import TooFewPartiesError
from ostraka.expect.describe import most_bytes
from ostraka.flower import asking, counting
from ostraka.flower.asking import check_nodes, collect
from ostraka.flower.counting import Counting, Refused
from ostraka.flower.settings import Order
from ostraka.party.contribution import Contribution, Kind
from ostraka.party.names import LONGEST_NAME
from ostraka.poll import Poll
from ostraka.tally import Tally
from tests.flower.made import FakeGrid, Node, a_poll, made_by, saying, sending

POLL = a_poll()
NORTH, SOUTH, WEST = (
    made_by(POLL, name, seed) for seed, name in enumerate(("north", "south", "west"))
)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PAUSE", 0.001)


def order(**changes: Any) -> Order:
    return Order(poll=Path("/p"), out=Path("/o"), **{"deadline": 20.0, **changes})


def ask(nodes: dict[int, Node], poll: Poll = POLL, **changes: Any) -> Counting:
    return collect(poll, FakeGrid(nodes), order(**changes))


def the_sum_of(*sent: bytes) -> Tally:
    tally = Tally(POLL)
    for each in sent:
        tally.add(Contribution.from_bytes(each))
    return tally


def same(one: Tally, other: Tally) -> bool:
    return one.names == other.names and bool((one.total == other.total).all())


def refused_besides_two(node: Node, **changes: Any) -> list[Refused]:
    """What is said of a third node, which changes nothing of what two others sent."""
    counted = ask({1: sending(NORTH), 2: sending(SOUTH), 3: node}, **changes)
    assert same(counted.tally, the_sum_of(NORTH, SOUTH))
    assert counted.n_nodes == 2
    return counted.refused


def test_everybody_is_asked_once_and_counted() -> None:
    grid = FakeGrid({1: sending(NORTH), 2: sending(SOUTH), 3: sending(WEST)})
    counted = collect(POLL, grid, order())
    assert same(counted.tally, the_sum_of(NORTH, SOUTH, WEST))
    assert (counted.refused, sorted(grid.asked)) == ([], [1, 2, 3])


def test_who_connects_late_is_asked_too() -> None:
    grid = FakeGrid({1: sending(NORTH), 2: sending(SOUTH), 3: sending(WEST)}, late={2: 3, 3: 5})
    counted = collect(POLL, grid, order(least_nodes=3))
    assert same(counted.tally, the_sum_of(NORTH, SOUTH, WEST))
    assert grid.asked == [1, 2, 3]


def test_those_who_are_expected_are_waited_for() -> None:
    nodes = {1: sending(NORTH), 2: sending(SOUTH), 3: sending(WEST)}
    hurried = collect(POLL, FakeGrid(nodes, late={3: 5}), order(least_nodes=2))
    assert hurried.tally.names == ["north", "south"]
    waiting = collect(POLL, FakeGrid(nodes, late={3: 5}), order(least_nodes=2, wait_for_nodes=3))
    assert waiting.tally.names == ["north", "south", "west"]
    in_vain = collect(POLL, FakeGrid(nodes), order(wait_for_nodes=4, deadline=0.05))
    assert in_vain.tally.n_parties == 3


def test_one_node_that_may_send_for_many_parties_does() -> None:
    counted = ask({1: sending(NORTH, SOUTH), 2: sending(WEST)}, parties_per_node=2)
    assert same(counted.tally, the_sum_of(NORTH, SOUTH, WEST))


def test_more_than_a_node_may_send_is_refused_as_a_whole() -> None:
    west, east = made_by(POLL, "west"), made_by(POLL, "east")
    (refused,) = refused_besides_two(sending(west, east))
    assert refused == (
        "node 3",
        "it sent 2 contributions, and parties-per-node allows 1",
    )


# ---- twice ---------------------------------------------------------------------------------------


def test_two_nodes_under_one_name_count_once_and_the_first_one_counts() -> None:
    again = made_by(POLL, " NORTH ", seed=9)
    (refused,) = refused_besides_two(sending(again))
    assert refused == ("node 3", "Party north was counted already.")


def test_a_second_answer_of_a_node_is_listed() -> None:
    def eager(message: Message) -> Message:
        grid.replies[message.metadata.message_id] = []
        return sending(NORTH)(message)  # type: ignore[return-value]

    grid = FakeGrid({1: eager, 2: lambda message: None})
    asked = asking.Asking(POLL, grid, order())
    asked.invite(10.0)
    first, second = sending(NORTH), sending(SOUTH)
    question = Message(RecordDict(), dst_node_id=1, message_type="query")
    question.metadata.__dict__["_message_id"] = "message 0"
    asked._take([first(question), second(question)])  # type: ignore[list-item]
    assert asked.counting.tally.names == ["north"]
    assert asked.counting.refused == [
        ("node 1", "it answered a second time; its first answer counts")
    ]


def test_an_answer_of_somebody_who_was_not_asked_is_not_looked_at() -> None:
    asked = asking.Asking(POLL, FakeGrid({}), order())
    question = Message(RecordDict(), dst_node_id=7, message_type="query")
    question.metadata.__dict__["_message_id"] = "made up"
    asked._take([sending(NORTH)(question)])  # type: ignore[list-item]
    assert asked.counting.tally.n_parties == 0


# ---- names ---------------------------------------------------------------------------------------


def named(**more: Any) -> Counting:
    """Three nodes, whose keys were registered as north, south and the west."""
    names = {1: "North", 2: " south", 3: "the west"}
    nodes = {1: sending(NORTH), 2: sending(SOUTH), 3: sending(WEST)}
    return collect(POLL, FakeGrid(nodes, names=names), order(**more))


def test_what_a_named_node_sends_counts_under_that_name_alone() -> None:
    counted = named()
    assert counted.tally.names == ["north", "south"]
    (refused,) = counted.refused
    assert refused == (
        "node 3 (the west)",
        "It is of party west, and its node is registered as the west.",
    )


def test_nobody_takes_a_name_from_the_node_that_has_it() -> None:
    nodes = {1: sending(SOUTH), 2: sending(SOUTH), 3: sending(WEST)}
    grid = FakeGrid(nodes, names={1: "north", 2: "south", 3: "west"})
    assert collect(POLL, grid, order()).tally.names == ["south", "west"]


def test_a_node_for_many_parties_bears_none_of_their_names() -> None:
    assert named(parties_per_node=2).tally.names == ["north", "south", "west"]


# ---- rubbish -------------------------------------------------------------------------------------


def reply_with(content: RecordDict | Error) -> Node:
    return lambda message: Message(content, reply_to=message)


ODD: dict[str, tuple[Node, str]] = {
    "no bytes of ours": (sending(b"\x80rubbish"), "it begins like a pickle"),
    "nothing": (sending(b""), "it has only 0 bytes"),
    "cut off": (sending(WEST[:-1]), "it is cut off"),
    "followed": (sending(WEST + b"x"), "It has|followed by something else"),
    "empty list": (sending(), "its answer holds no contribution"),
    "texts": (saying(contributions=["text"]), "its answer holds no contribution"),
    "one text": (saying(contributions="text"), "its answer holds no contribution"),
    "another key": (saying(weights=[b"x"]), "its answer holds no contribution"),
    "an unknown refusal": (saying(refused="because row 3 is ill"), "holds no contribution"),
    "a list of refusals": (saying(refused=["rules"]), "holds no contribution"),
    "a number": (saying(contributions=3, refused=2.5), "holds no contribution"),
    "another record": (
        reply_with(RecordDict({"other": ConfigRecord({"contributions": [WEST]})})),
        "its answer holds no contribution",
    ),
    "arrays": (
        reply_with(RecordDict({"ostraka": ArrayRecord()})),
        "its answer holds no contribution",
    ),
    "its rules": (saying(refused="rules"), "its own rules refuse this poll"),
    "its rows": (saying(refused="rows"), "why is in its own log"),
    "its version": (saying(refused="poll"), "it could not read the poll"),
    "an error": (reply_with(Error(2, "row 3: age is 17")), "its Flower app failed"),
    "a death": (reply_with(Error(5, "gone")), "it went away before it had answered"),
    "an unknown error": (reply_with(Error(99, "row 3")), "Flower reports error 99"),
    "another poll": (
        sending(made_by(a_poll(title="another"), "west")),
        "Party west contributed to the poll",
    ),
    "outside the ball": (
        sending(
            Contribution(
                poll=POLL.digest,
                party="west",
                kind=Kind.VECTOR,
                values=[2**30] * POLL.domain.dimension,  # type: ignore[arg-type]
            ).to_bytes()
        ),
        "The contribution of party west lies outside",
    ),
}


@pytest.mark.parametrize("what", ODD)
def test_what_does_not_count_is_listed_and_changes_nothing(what: str) -> None:
    node, told = ODD[what]
    (refused,) = refused_besides_two(node)
    assert refused.who == "node 3"
    assert any(part in refused.why for part in told.split("|")), refused.why
    assert "row 3" not in refused.why, "what a node says in its own words is never shown"


def test_too_many_bytes_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    giant = WEST + bytes(10**6)
    read: list[int] = []
    real = Contribution.from_bytes

    def reading(data: bytes) -> Contribution:
        read.append(len(data))
        return real(data)

    monkeypatch.setattr(counting.Contribution, "from_bytes", reading)
    (refused,) = refused_besides_two(sending(giant))
    assert refused.why == f"It has {len(giant):,} bytes."
    assert max(read) < 1000


def test_the_longest_name_there_is_has_room() -> None:
    longest = made_by(POLL, "\U0001d11e" * LONGEST_NAME)
    assert len(longest) == most_bytes(POLL)
    assert ask({1: sending(NORTH), 2: sending(longest)}).refused == []


def test_a_roll_keeps_strangers_out_and_ends_the_wait() -> None:
    poll = a_poll(parties=None, roll=["north", "south"])
    north, south = (made_by(poll, name) for name in ("north", "south"))
    west = replace(Contribution.from_bytes(south), party="west").to_bytes()
    nodes = {1: sending(west), 2: sending(north), 3: sending(south), 4: lambda message: None}
    counted = ask(nodes, poll)
    assert counted.tally.names == ["north", "south"]
    assert ("node 1", "Party west is not on the roll of this poll.") in counted.refused
    assert "Missing: 0" in counted.report()


def test_an_answer_that_flower_cannot_read_is_lost_alone() -> None:
    """Whatever a node packs into its message, no other node's answer goes with it."""

    class Broken(FakeGrid):
        def pull_messages(self, message_ids: Any) -> Any:
            pulled = super().pull_messages(message_ids)
            if any(reply.metadata.src_node_id == 2 for reply in pulled):
                raise ValueError("not a RecordDict")
            return pulled

    grid = Broken({1: sending(NORTH), 2: sending(WEST), 3: sending(SOUTH)})
    counted = collect(POLL, grid, order(deadline=0.05))
    assert counted.tally.names == ["north", "south"]
    assert counted.refused == [("node 2", "it had not answered when the asking ended")]


# ---- time ----------------------------------------------------------------------------------------


def test_at_the_deadline_it_goes_on_with_what_came() -> None:
    silent = lambda message: None  # noqa: E731
    (refused,) = refused_besides_two(silent, deadline=0.05)
    assert refused == ("node 3", "it had not answered when the asking ended")


def test_what_comes_after_the_deadline_is_not_counted() -> None:
    late = FakeGrid({1: sending(NORTH), 2: sending(SOUTH), 3: sending(WEST)}, late={3: 10**9})
    counted = collect(POLL, late, order(least_nodes=3, deadline=0.05))
    assert late.asked == [1, 2]
    assert counted.tally.names == ["north", "south"]


def test_too_few_nodes_are_refused() -> None:
    counted = ask({1: sending(NORTH), 2: saying(refused="rules")}, deadline=0.05)
    with pytest.raises(TooFewPartiesError, match="1 node has contributed, but at least 2"):
        check_nodes(counted, order())


def test_a_node_that_could_not_be_reached_is_asked_again() -> None:
    class Flaky(FakeGrid):
        def push_messages(self, messages: Any) -> Any:
            sent = super().push_messages(messages)
            return [None for _ in sent] if self.looks == 1 else sent

    grid = Flaky({1: sending(NORTH), 2: sending(SOUTH)})
    assert collect(POLL, grid, order()).tally.names == ["north", "south"]
    assert grid.asked == [1, 2, 1, 2]


def test_the_report_names_everybody_once() -> None:
    counted = ask({1: sending(NORTH), 2: sending(SOUTH), 3: sending(b"x"), 4: sending(b"x")})
    assert counted.report().splitlines() == [
        "In: 2 (north, south)",
        "Refused: 2",
        "  node 3, node 4: it has only 1 bytes",
    ]
