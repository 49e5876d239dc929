"""What coordinators and nodes say to Flower."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostraka.errors import ParameterError
from ostraka.flower.settings import Order, find_party, read_given, read_path

CONFIG = {"poll": "/a/b.poll", "out": "/a/b.ostraka"}


def test_what_is_not_said_has_a_default() -> None:
    order = Order.read({**CONFIG, "ledger": "", "something-of-the-app": 3})
    assert order == Order(poll=Path("/a/b.poll"), out=Path("/a/b.ostraka"))
    assert (order.deadline, order.least_nodes, order.parties_per_node) == (600.0, 2, 1)


def test_everything_can_be_said() -> None:
    said = {
        "ledger": "/l.db",
        "deadline": 30,
        "least-nodes": 3,
        "parties-per-node": 500,
        "wait-for-nodes": 9,
    }
    order = Order.read({**CONFIG, **said, "recover": True, "force": True})
    assert order == Order(
        poll=Path("/a/b.poll"),
        out=Path("/a/b.ostraka"),
        ledger=Path("/l.db"),
        deadline=30,
        least_nodes=3,
        wait_for_nodes=9,
        parties_per_node=500,
        recover=True,
        force=True,
    )


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"poll": ""}, "poll is missing.*the poll's file"),
        ({"out": ""}, "out is missing.*a file to write"),
        ({"poll": "b.poll"}, "poll = 'b.poll' is not allowed.*an absolute path"),
        ({"ledger": "budgets.db"}, "ledger.*an absolute path"),
        ({"ledger": 3}, "ledger = 3.*an absolute path"),
        ({"deadline": 0.0}, "deadline = 0.0.*more than 0"),
        ({"deadline": -1}, "deadline"),
        ({"deadline": "soon"}, "deadline"),
        ({"deadline": 1e12}, "deadline"),
        ({"deadline": float("nan")}, "deadline"),
        ({"least-nodes": 0}, "least-nodes = 0.*1 or more"),
        ({"least-nodes": 2.5}, "least-nodes"),
        ({"parties-per-node": 0}, "parties-per-node"),
        ({"wait-for-nodes": -1}, "wait-for-nodes = -1"),
        ({"wait-for-nodes": True}, "wait-for-nodes"),
        ({"again": "no"}, "again = 'no'.*true or false"),
        ({"force": 1}, "force = 1.*true or false"),
        ({"recover": True}, "recover = True.*with a ledger"),
        ({"recover": True, "again": True, "ledger": "/l.db"}, "recover.*without again"),
    ],
)
def test_what_cannot_be_meant_is_refused(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ParameterError, match=complaint):
        Order.read({**CONFIG, **change})


def test_a_node_says_what_the_options_of_the_command_say() -> None:
    said = {"data": "/my/rows.csv", "label-column": "outcome", "party": 3, "site": "/my/rules"}
    given = read_given({**said, "partition-id": 0})
    assert (given.data, given.label_column) == (Path("/my/rows.csv"), "outcome")
    assert (given.local, given.model, given.trust, given.person_column) == (
        "linear",
        None,
        (),
        None,
    )
    assert find_party(said) == "3"
    assert find_party({}) is None
    assert read_path(said, "site") == Path("/my/rules")


@pytest.mark.parametrize("party", [True, 3.5])
def test_a_name_is_a_text_or_a_whole_number(party: Any) -> None:
    with pytest.raises(ParameterError, match=r"party = .*your name in the poll"):
        find_party({"party": party})


def test_a_column_is_a_text() -> None:
    with pytest.raises(ParameterError, match=r"label-column = 3.*a text"):
        read_given({"label-column": 3})
