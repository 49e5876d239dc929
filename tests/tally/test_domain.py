"""Contributions: the ball at the ends of 64 bits, exact sums, and mutants.

Refusals change nothing.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.errors import InputError, ParameterError, ShapeError, WrongTypeError
from ostraka.tally.domain import LARGEST_DIMENSION, LARGEST_LENGTH, Ball, Ballots, longest

LEAST, MOST = -(2**63), 2**63 - 1
norms = st.sampled_from(["l1", "l2"])


def inside(ball: Ball, vector: list[int]) -> bool:
    """The definition, in Python's integers."""
    if ball.norm == "l1":
        return sum(map(abs, vector)) <= ball.length
    return sum(unit**2 for unit in vector) <= ball.length**2


def accepted(ball: Ball, vector: list[int]) -> bool:
    return ball.outside(np.array([vector], dtype=np.int64)).size == 0


# ---- the ball ------------------------------------------------------------------------------------

near = st.integers(-30, 30)
wild = st.sampled_from(
    [LEAST, LEAST + 1, -(2**32), -(2**31), 2**31, 2**32, 2**62, MOST, 3037000500, -3037000500]
)


@given(norms, st.integers(1, 40), st.lists(near | wild, min_size=1, max_size=6))
def test_inside_means_inside(norm: Any, length: int, vector: list[int]) -> None:
    ball = Ball(norm=norm, length=length, dimension=len(vector))
    assert accepted(ball, vector) == inside(ball, vector)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize(
    "vector",
    [
        [LEAST, LEAST],
        [MOST, MOST],
        [LEAST, MOST],
        [2**32, 0],
        [2**31, 2**31],
        [LEAST, 0],
        [3037000500, 0],
    ],
)
def test_squares_and_sums_that_wrap_around_are_outside(norm: Any, vector: list[int]) -> None:
    """2³²·2³² and −2⁶³ − 2⁶³ are 0 in 64 bits, and |−2⁶³| is negative."""
    assert not accepted(Ball(norm=norm, length=LARGEST_LENGTH, dimension=2), vector)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("dimension", [2**14, LARGEST_DIMENSION])
def test_the_largest_ball_in_a_large_dimension_is_exact(norm: Any, dimension: int) -> None:
    largest = longest(dimension)
    assert largest**2 * dimension <= 2**62
    ball = Ball(norm=norm, length=largest, dimension=dimension)
    inside_l1 = np.zeros(dimension, dtype=np.int64)
    inside_l1[:: max(1, dimension // largest)] = 1
    edge = np.tile(
        inside_l1 if norm == "l1" else np.full(dimension, largest // math.isqrt(dimension)), (2, 1)
    )
    edge[1, -1] += largest if norm == "l1" else 1
    assert ball.outside(edge).tolist() == [1]
    assert ball.outside(np.full((1, dimension), largest)).tolist() == [0]


def test_a_longer_ball_than_can_be_squared_in_64_bits_is_refused() -> None:
    assert [longest(d) for d in (1, 2**14, 2**14 + 1, 2**22)] == [2**24, 2**24, 2**23, 2**20]
    with pytest.raises(ParameterError, match="length"):
        Ball(norm="l2", length=2**24, dimension=2**14 + 1)


def naive_outside(ball: Ball, vectors: Any) -> Any:
    """The mutant without the first comparison: in 64 bits sums wrap around."""
    with np.errstate(all="ignore"):
        sums = np.abs(vectors).sum(axis=1) if ball.norm == "l1" else (vectors * vectors).sum(axis=1)
    return np.flatnonzero(sums > (ball.length if ball.norm == "l1" else ball.length**2))


def test_a_check_that_wraps_around_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ball, "outside", naive_outside)
    caught = [
        (norm, vector)
        for norm, vector in itertools.product(
            ["l1", "l2"], [[LEAST, LEAST], [2**32, 0], [LEAST, 0]]
        )
        if accepted(Ball(norm=norm, length=5, dimension=2), vector)
    ]
    assert {norm for norm, _ in caught} == {"l1", "l2"}


@given(
    norms,
    st.integers(1, 12),
    st.lists(near, min_size=2, max_size=2),
    st.lists(near, min_size=2, max_size=2),
)
def test_two_vectors_of_a_ball_are_at_most_a_diameter_apart(
    norm: Any, length: int, one: list[int], other: list[int]
) -> None:
    ball = Ball(norm=norm, length=length, dimension=2)
    if accepted(ball, one) and accepted(ball, other):
        differences = [a - b for a, b in zip(one, other)]
        assert inside(Ball(norm=norm, length=ball.diameter, dimension=2), differences)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int64, np.uint64])
def test_a_length_of_any_integer_type_has_the_same_diameter(kind: Any) -> None:
    """Twice 100 is −56 in 8 bits: a sensitivity that small would be no promise."""
    ball = Ball(norm="l1", length=kind(100), dimension=kind(2))
    assert ball == Ball(norm="l1", length=100, dimension=2)
    assert ball.diameter == 200
    assert ball.outside(np.array([[100, 0], [-60, 40], [100, 1]])).tolist() == [2]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"norm": "linf"}, '"l1" or "l2"'),
        ({"length": 0}, "length"),
        ({"length": LARGEST_LENGTH + 1}, "length"),
        ({"length": 2.0}, "length"),
        ({"dimension": 0}, "dimension"),
        ({"dimension": LARGEST_DIMENSION + 1}, "dimension"),
    ],
)
def test_balls_that_could_overflow_are_refused(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ParameterError, match=complaint):
        Ball(**{"norm": "l2", "length": 5, "dimension": 2, **change})


# ---- rounding into it ----------------------------------------------------------------------------

floats = st.floats(width=64) | st.sampled_from(
    [1e308, -1.7976931348623157e308, 5e-324, -5e-324, 0.5, -0.5, 1.5, 2.0**24, math.inf, math.nan]
)


@settings(max_examples=300)
@given(
    norms,
    st.sampled_from([1, 2, 3, 7, 1000, LARGEST_LENGTH]),
    st.lists(floats, min_size=1, max_size=9),
)
def test_whatever_is_rounded_lies_inside_and_springs_no_trap(
    norm: Any, length: int, vector: list[float]
) -> None:
    ball = Ball(norm=norm, length=length, dimension=len(vector))
    with np.errstate(all="raise"):
        (units,) = ball.round_entries(np.array([vector])).tolist()
    assert inside(ball, units)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("dimension", [1, 2, 2**14])
@pytest.mark.parametrize("length", [1, 5, 2**13, LARGEST_LENGTH])
def test_large_and_small_dimensions_and_balls_narrower_than_the_rounding(
    norm: Any, dimension: int, length: int
) -> None:
    rng = np.random.default_rng(0)
    ball = Ball(norm=norm, length=length, dimension=dimension)
    sizes = np.array([[0.0], [1e-320], [0.4], [1.0], [length], [1e9], [1e200], [1e308]])
    vectors = np.concatenate(
        [
            sizes * rng.uniform(-1, 1, (len(sizes), dimension)),
            sizes * np.ones(dimension),
            np.full((1, dimension), np.inf),
        ]
    )
    with np.errstate(all="raise"):
        units = ball.round_entries(vectors)
    assert ball.outside(units).size == 0
    assert not units[-1].any()


def test_little_is_lost_by_shortening() -> None:
    """A vector far outside keeps its direction and nearly all its length; inside, it is rounded."""
    rng = np.random.default_rng(1)
    ball = Ball(norm="l2", length=LARGEST_LENGTH, dimension=50)
    directions = rng.standard_normal((20, 50))
    units = ball.round_entries(directions * 1e300)
    lengths = np.linalg.norm(units, axis=1)
    assert (lengths >= 0.999 * LARGEST_LENGTH).all()
    assert (
        np.sum(units * directions, axis=1)
        >= 0.999999 * lengths * np.linalg.norm(directions, axis=1)
    ).all()
    small = rng.uniform(-100, 100, (20, 50))
    assert (np.abs(ball.round_entries(small) - small) <= 0.5).all()


def test_rounding_without_its_slack_is_caught() -> None:
    """The mutant shortens to the length itself; rounding then leaves the ball."""
    rng = np.random.default_rng(2)
    ball = Ball(norm="l2", length=100, dimension=40)
    vectors = rng.standard_normal((200, 40))
    mutant = np.rint(
        vectors * (ball.length / np.linalg.norm(vectors, axis=1, keepdims=True))
    ).astype(np.int64)
    assert ball.outside(mutant).size > 0
    assert ball.outside(ball.round_entries(vectors * 1e6)).size == 0


# ---- the sum -------------------------------------------------------------------------------------

BALL = Ball(norm="l1", length=10, dimension=3)


@given(st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), max_size=20), st.randoms())
def test_a_sum_is_exact_and_its_order_leaves_no_trace(
    vectors: list[list[int]], random: Any
) -> None:
    forwards, shuffled = BALL.new_sum(), BALL.new_sum()
    for vector in vectors:
        forwards.add_rows([vector], ["a"])
    random.shuffle(vectors)
    cut = random.randint(0, len(vectors))
    for part in (vectors[:cut], vectors[cut:]):
        shuffled.add_rows(np.array(part, dtype=np.int64).reshape(-1, 3), ["a"] * len(part))
    assert forwards.total.tolist() == shuffled.total.tolist()
    assert forwards.total.tolist() == [sum(column) for column in zip(*vectors)] or not vectors


def test_many_contributions_in_blocks_add_up() -> None:
    rng = np.random.default_rng(4)
    ball = Ball(norm="l2", length=LARGEST_LENGTH, dimension=30)
    summed, expected = ball.new_sum(), [0] * 30
    for size in (1, 4096, 0, 7, 2**14):
        block = rng.integers(-(2**21), 2**21, (size, 30))
        summed.add_rows(block, ["a"] * size)
        expected = [before + sum(column) for before, column in zip(expected, block.T.tolist())]
    assert summed.total.tolist() == expected


@pytest.mark.parametrize(
    "kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
)
def test_every_integer_type_is_added_without_wrapping(kind: Any) -> None:
    summed = Ball(norm="l1", length=127, dimension=1).new_sum()
    summed.add_rows(np.full((1000, 1), 127, dtype=kind), ["a"] * 1000)
    assert summed.total.tolist() == [127_000]


def test_a_contribution_outside_is_refused_by_name_and_changes_nothing() -> None:
    summed = BALL.new_sum()
    summed.add_rows([[1, 2, 3]], ["ward-1"])
    with pytest.raises(InputError, match=r"party ward-2 lies outside the l1 ball of 10 units"):
        summed.add_rows([[5, -5, 1]], ["ward-2"])
    with pytest.raises(InputError, match="party c lies outside"):
        summed.add_rows([[1, 0, 0], [10, 0, 0], [11, 0, 0], [12, 0, 0]], ["a", "b", "c", "d"])
    with pytest.raises(InputError, match="party b lies outside"):
        summed.add_rows([[1, 0, 0], [LEAST, 0, 0]], ["a", "b"])
    assert summed.total.tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("vector", "error"),
    [
        ([1.0, 2.0, 3.0], WrongTypeError),
        ([math.nan, 0.0, 0.0], WrongTypeError),
        ([True, False, True], WrongTypeError),
        (["1", "2", "3"], WrongTypeError),
        ([2**63, 0, 0], WrongTypeError),
        (np.array([2**64 - 1, 0, 0], dtype=np.uint64), WrongTypeError),
        ([2**200, 0, 0], WrongTypeError),
        (np.array([1, 2, 3], dtype="m8[s]"), WrongTypeError),
        (None, WrongTypeError),
        ([], WrongTypeError),
        (5, ShapeError),
        ([1, 2], ShapeError),
        ([1, 2, 3, 4], ShapeError),
        ([[1, 2, 3]], ShapeError),
    ],
)
def test_what_is_no_vector_of_whole_numbers_is_refused(
    vector: Any, error: type[InputError]
) -> None:
    summed = BALL.new_sum()
    with pytest.raises(error):
        summed.add_rows([vector], ["ward-1"])
    assert summed.total.tolist() == [0, 0, 0]


@given(
    norms, st.lists(st.lists(st.integers(-10, 10), min_size=3, max_size=3), min_size=1, max_size=9)
)
def test_what_persons_sum_to_is_accepted(norm: Any, vectors: list[list[int]]) -> None:
    ball = Ball(norm=norm, length=10, dimension=3)
    own = [vector for vector in vectors if inside(ball, vector)]
    summed = ball.new_sum()
    summed.add_sum(
        np.sum(own, axis=0, dtype=np.int64) if own else np.zeros(3, dtype=np.int64), len(own)
    )
    assert summed.total.tolist() == ([sum(column) for column in zip(*own)] or [0, 0, 0])


@pytest.mark.parametrize(
    ("norm", "total"),
    [("l1", [21, 0, 0]), ("l1", [7, 7, 7]), ("l2", [21, 0, 0]), ("l2", [15, 15, 0])],
)
def test_a_sum_that_so_many_persons_cannot_have_is_refused(norm: Any, total: list[int]) -> None:
    summed = Ball(norm=norm, length=10, dimension=3).new_sum()
    with pytest.raises(InputError, match=r"The sum is impossible: it is longer than 2 vectors"):
        summed.add_sum(total, 2)
    with pytest.raises(InputError, match="impossible"):
        summed.add_sum([LEAST, LEAST, MOST], 2)
    assert not summed.total.any()


# ---- ballots -------------------------------------------------------------------------------------


@st.composite
def polls(draw: Any) -> tuple[Ballots, list[list[int]]]:
    domain = Ballots(n_samples=4, n_classes=draw(st.sampled_from([2, 3, 6, 7, 300])))
    votes = st.lists(st.integers(0, domain.n_classes - 1), min_size=4, max_size=4)
    return domain, draw(st.lists(votes, min_size=1, max_size=8))


@given(polls(), st.randoms(use_true_random=False))
def test_counts_are_the_sum_of_the_one_hot_ballots_in_any_order(
    poll: tuple[Ballots, list[list[int]]], random: Any
) -> None:
    domain, ballots = poll
    expected = sum(np.eye(domain.n_classes, dtype=np.int64)[votes] for votes in ballots)
    one_by_one, together, counted = domain.new_sum(), domain.new_sum(), domain.new_sum()
    together.add_rows(np.array(ballots), ["a"] * len(ballots))
    counted.add_sum(expected, len(ballots))
    random.shuffle(ballots)
    for votes in ballots:
        one_by_one.add_rows([votes], ["a"])
    for summed in (one_by_one, together, counted):
        assert (summed.total == expected).all()
        assert summed.total.dtype == np.int64


@given(polls(), st.data())
def test_replacing_one_ballot_moves_at_most_one_up_and_one_down(
    poll: tuple[Ballots, list[list[int]]], data: Any
) -> None:
    domain, ballots = poll
    replaced = [
        data.draw(st.lists(st.integers(0, domain.n_classes - 1), min_size=4, max_size=4)),
        *ballots[1:],
    ]
    totals = []
    for each in (ballots, replaced):
        summed = domain.new_sum()
        summed.add_rows(np.array(each), ["a"] * len(each))
        totals.append(summed.total)
    change = totals[0] - totals[1]
    assert np.abs(change).sum(axis=1).max() <= 2
    assert np.abs(change).max() <= 1


@pytest.mark.parametrize("n_ballots", [254, 255, 256, 600])
def test_more_ballots_than_a_byte_counts(n_ballots: int) -> None:
    summed = Ballots(n_samples=5, n_classes=3).new_sum()
    votes = np.random.default_rng(0).integers(0, 3, (n_ballots, 5))
    summed.add_rows(votes, ["a"] * n_ballots)
    assert (summed.total == sum(np.eye(3, dtype=int)[row] for row in votes)).all()


@pytest.mark.parametrize(
    ("counts", "n", "error", "text"),
    [
        (
            np.ones((3, 3), dtype=int),
            3,
            ShapeError,
            r"The counts: the shape is \(3, 3\). Allowed: \(4, 3\)",
        ),
        (np.ones((4, 3)), 3, WrongTypeError, "whole numbers"),
        (np.ones((4, 3), dtype=bool), 3, WrongTypeError, "whole numbers"),
        (np.tile([4, -1, 0], (4, 1)), 3, InputError, "Counts run from -1 to 4. Allowed: 0 to 3"),
        (
            np.tile([0, 0, 2], (4, 1)),
            3,
            InputError,
            "counts of sample 0 sum to 2, but 3 ballots were cast",
        ),
        (np.full((4, 3), 2**63, dtype=np.uint64), 3, WrongTypeError, "64 bits"),
        (np.full((4, 3), 2**62, dtype=np.int64), 3, InputError, "Allowed: 0 to 3, the ballots"),
    ],
)
def test_counts_that_no_ballots_have_change_nothing(
    counts: Any, n: int, error: type[InputError], text: str
) -> None:
    summed = Ballots(n_samples=4, n_classes=3).new_sum()
    with pytest.raises(error, match=text):
        summed.add_sum(counts, n)
    assert not summed.total.any()


@pytest.mark.parametrize(
    "votes",
    [[[0, 1, 3, 0]], [[0, -1, 0, 0]], [[0, 1]], [[0.0, 1.0, 2.0, 0.0]], [[True, True, True, True]]],
)
def test_votes_that_are_none_change_nothing(votes: Any) -> None:
    summed = Ballots(n_samples=4, n_classes=3).new_sum()
    with pytest.raises(InputError):
        summed.add_rows(votes, ["a"])
    assert not summed.total.any()
