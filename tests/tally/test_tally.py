"""The tally: each party once, of this poll, on its roll; nothing half-added.

What all methods obey is in tests/laws.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ostraka.errors import InputError, ParameterError, WrongTypeError
from ostraka.party.contribution import Contribution, Kind
from ostraka.public.promise import Promise
from ostraka.tally import Tally
from ostraka.tally.domain import Ball, Ballots, Domain

DIGEST = "ab" * 32


class Asked:
    """As much of a poll as a tally needs."""

    def __init__(
        self, domain: Domain, protects: Any = "party", roll: tuple[str, ...] | None = None
    ) -> None:
        self.digest, self.domain, self.roll = DIGEST, domain, roll
        self.promise = Promise(epsilon=1.0, protects=protects)


BALL = Ball(norm="l2", length=10, dimension=2)
BALLOTS = Ballots(n_samples=3, n_classes=2)


def vector(party: Any, values: Any = (1, 2), **changes: Any) -> Contribution:
    given = {
        "poll": DIGEST,
        "party": party,
        "kind": Kind.VECTOR,
        "values": np.array(values),
        **changes,
    }
    return Contribution(**given)


def test_names_are_canonical_and_counted_once() -> None:
    tally = Tally(Asked(BALL))
    tally.add(vector("Ward 3"))
    tally.add_block([3, "Ward  4 "], np.array([[0, 1], [0, 2]]))
    assert tally.names == ["ward 3", "3", "ward 4"]
    assert (tally.n_parties, tally.n_units, tally.total.tolist()) == (3, 3, [1, 5])
    for again in ("WARD 3", 3.0, "003"):
        with pytest.raises(InputError, match="was counted already"):
            tally.add(vector(again))
    with pytest.raises(InputError, match="Party a is named more than once"):
        tally.add_block(["a", "A"], np.zeros((2, 2), dtype=int))
    assert (tally.n_parties, tally.total.tolist()) == (3, [1, 5])


def test_of_a_block_all_or_none() -> None:
    tally = Tally(Asked(BALL, roll=("a", "b")))
    for names, block, problem in (
        (["a", "c"], [[1, 1], [1, 1]], "Party c is not on the roll"),
        (["a", "b"], [[1, 1], [10, 1]], "party b lies outside"),
        (["a"], [[1, 1], [1, 1]], "a row each"),
    ):
        with pytest.raises(InputError, match=problem):
            tally.add_block(names, np.array(block))
    assert (tally.n_parties, tally.missing, tally.total.tolist()) == (0, ["a", "b"], [0, 0])


def test_kinds_that_the_poll_did_not_ask_for() -> None:
    votes = {"kind": Kind.BALLOT, "n_classes": 2, "values": np.array([0, 1, 1])}
    summed = {"kind": Kind.VECTORS, "n_persons": 4, "values": np.array([3, 4])}
    file = {"kind": Kind.CLASSIFIER, "values": np.frombuffer(b"abc", dtype=np.uint8)}
    for given, problem in (
        (votes, "did not send"),
        (summed, "a sum over persons"),
        (file, "has not voted yet"),
    ):
        with pytest.raises(InputError, match=rf"Party ward-1.*{problem}"):
            Tally(Asked(BALL)).add(vector("ward-1", **given))
    with pytest.raises(InputError, match="did not send 3 votes"):
        Tally(Asked(BALLOTS)).add(vector("ward-1"))
    with pytest.raises(InputError, match="its own vector, but this poll protects one person"):
        Tally(Asked(BALL, "person")).add(vector("ward-1"))
    with pytest.raises(InputError, match="the shape is"):
        Tally(Asked(BALL)).add(vector("ward-1", (1, 2, 3)))
    with pytest.raises(InputError, match="Votes run from"):
        Tally(Asked(BALLOTS)).add(
            vector("a", kind=Kind.BALLOT, n_classes=5, values=np.array([0, 1, 4]))
        )


def test_holders_add_up_their_persons() -> None:
    tally = Tally(Asked(BALL, "person"))
    tally.add(vector("north", (30, 0), kind=Kind.VECTORS, n_persons=3))
    tally.add_sum("south", [0, 5], 1)
    tally.add_sum("west", [0, 0], 0)
    assert (tally.n_parties, tally.n_units, tally.total.tolist()) == (3, 4, [30, 5])
    with pytest.raises(InputError, match="longer than 3 vectors"):
        tally.add(vector("east", (31, 0), kind=Kind.VECTORS, n_persons=3))
    with pytest.raises(ParameterError, match="protects one person"):
        tally.add_block(["a"], np.array([[1, 1]]))
    with pytest.raises(ParameterError, match="protects one party"):
        Tally(Asked(BALL)).add_sum("a", [1, 1], 1)
    counts = Tally(Asked(BALLOTS, "person"))
    counts.add(
        vector("north", [[2, 1], [0, 3], [3, 0]], kind=Kind.BALLOTS, n_classes=2, n_persons=3)
    )
    assert counts.total.tolist() == [[2, 1], [0, 3], [3, 0]]


def test_more_than_fit_into_64_bits_are_refused() -> None:
    tally = Tally(Asked(BALL, "person"))
    tally.add_sum("north", [1, 1], 2**38)
    with pytest.raises(ParameterError, match="parties"):
        tally.add_sum("south", [1, 1], 1)
    assert tally.n_units == 2**38


def test_what_is_no_poll_and_no_contribution() -> None:
    with pytest.raises(WrongTypeError, match=r"Poll.create"):
        Tally(BALL)  # type: ignore[arg-type]
    with pytest.raises(WrongTypeError, match=r"Contribution.from_bytes"):
        Tally(Asked(BALL)).add(b"bytes")  # type: ignore[arg-type]


def test_repr_shows_sizes_only() -> None:
    tally = Tally(Asked(BALL))
    tally.add(vector("a", (3, 4)))
    assert repr(tally) == "Tally(n_parties=1, n_units=1)"


def test_the_total_is_a_copy() -> None:
    tally = Tally(Asked(BALL))
    tally.total[0] = 9
    assert not tally.total.any()
