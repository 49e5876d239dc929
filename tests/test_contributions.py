"""Contributions: the ball in exact arithmetic at the ends of 64 bits, refusals that change nothing, exact sums, and mutants."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka import contributions
from ostraka.contributions import LARGEST_DIMENSION, LARGEST_LENGTH, Ball, ContributionSum, own_products
from ostraka.errors import InputError, ParameterError, ShapeError, WrongTypeError
from ostraka.losses import Array

LEAST, MOST = -(2**63), 2**63 - 1
norms = st.sampled_from(["l1", "l2"])


def inside(ball: Ball, vector: list[int]) -> bool:
    """The definition, in Python's integers."""
    if ball.norm == "l1":
        return sum(map(abs, vector)) <= ball.length
    return sum(unit**2 for unit in vector) <= ball.length**2


def accepted(ball: Ball, vector: list[int]) -> bool:
    return ball.outside(np.array([vector], dtype=np.int64)).size == 0


# ---- the ball ----------------------------------------------------------------------------------------------------------

near = st.integers(-30, 30)
wild = st.sampled_from([LEAST, LEAST + 1, -(2**32), -(2**31), 2**31, 2**32, 2**62, MOST, 3037000500, -3037000500])


@given(norms, st.integers(1, 40), st.lists(near | wild, min_size=1, max_size=6))
def test_inside_means_inside(norm: Any, length: int, vector: list[int]) -> None:
    ball = Ball(norm=norm, length=length, dimension=len(vector))
    assert accepted(ball, vector) == inside(ball, vector)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("vector", [[LEAST, LEAST], [MOST, MOST], [LEAST, MOST], [2**32, 0], [2**31, 2**31], [LEAST, 0], [3037000500, 0]])
def test_squares_and_sums_that_wrap_around_are_outside(norm: Any, vector: list[int]) -> None:
    """2³²·2³² and −2⁶³ − 2⁶³ are 0 in 64 bits, and |−2⁶³| is negative."""
    assert not accepted(Ball(norm=norm, length=LARGEST_LENGTH, dimension=2), vector)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_largest_ball_in_the_largest_dimension_is_exact(norm: Any) -> None:
    ball = Ball(norm=norm, length=LARGEST_LENGTH, dimension=LARGEST_DIMENSION)
    side = LARGEST_LENGTH // (LARGEST_DIMENSION if norm == "l1" else math.isqrt(LARGEST_DIMENSION))
    edge = np.full((2, LARGEST_DIMENSION), side)
    edge[1, -1] += 1
    assert ball.outside(edge).tolist() == [1]
    assert ball.outside(np.full((1, LARGEST_DIMENSION), LARGEST_LENGTH)).tolist() == [0]


def naive_outside(ball: Ball, vectors: Any) -> Any:
    """The mutant without the first comparison: in 64 bits sums wrap around."""
    with np.errstate(all="ignore"):
        sums = np.abs(vectors).sum(axis=1) if ball.norm == "l1" else (vectors * vectors).sum(axis=1)
    return np.flatnonzero(sums > (ball.length if ball.norm == "l1" else ball.length**2))


def test_a_check_that_wraps_around_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ball, "outside", naive_outside)
    caught = [
        (norm, vector)
        for norm, vector in itertools.product(["l1", "l2"], [[LEAST, LEAST], [2**32, 0], [LEAST, 0]])
        if accepted(Ball(norm=norm, length=5, dimension=2), vector)
    ]
    assert {norm for norm, _ in caught} == {"l1", "l2"}


@given(norms, st.integers(1, 12), st.lists(near, min_size=2, max_size=2), st.lists(near, min_size=2, max_size=2))
def test_two_vectors_of_a_ball_are_at_most_a_diameter_apart(norm: Any, length: int, one: list[int], other: list[int]) -> None:
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


# ---- rounding into it ----------------------------------------------------------------------------------------------------

floats = st.floats(width=64) | st.sampled_from(
    [1e308, -1.7976931348623157e308, 5e-324, -5e-324, 0.5, -0.5, 1.5, 2.0**24, math.inf, math.nan]
)


@settings(max_examples=300)
@given(norms, st.sampled_from([1, 2, 3, 7, 1000, LARGEST_LENGTH]), st.lists(floats, min_size=1, max_size=9))
def test_whatever_is_rounded_lies_inside_and_springs_no_trap(norm: Any, length: int, vector: list[float]) -> None:
    ball = Ball(norm=norm, length=length, dimension=len(vector))
    with np.errstate(all="raise"):
        (units,) = ball.rounded(np.array([vector])).tolist()
    assert inside(ball, units)


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("dimension", [1, 2, LARGEST_DIMENSION])
@pytest.mark.parametrize("length", [1, 5, 2**13, LARGEST_LENGTH])
def test_large_and_small_dimensions_and_balls_narrower_than_the_rounding(norm: Any, dimension: int, length: int) -> None:
    rng = np.random.default_rng(0)
    ball = Ball(norm=norm, length=length, dimension=dimension)
    sizes = np.array([[0.0], [1e-320], [0.4], [1.0], [length], [1e9], [1e200], [1e308]])
    vectors = np.concatenate(
        [sizes * rng.uniform(-1, 1, (len(sizes), dimension)), sizes * np.ones(dimension), np.full((1, dimension), np.inf)]
    )
    with np.errstate(all="raise"):
        units = ball.rounded(vectors)
    assert ball.outside(units).size == 0
    assert not units[-1].any()


def test_little_is_lost_by_shortening() -> None:
    """A vector far outside keeps its direction and nearly the whole length; one inside is only rounded."""
    rng = np.random.default_rng(1)
    ball = Ball(norm="l2", length=LARGEST_LENGTH, dimension=50)
    directions = rng.standard_normal((20, 50))
    units = ball.rounded(directions * 1e300)
    lengths = np.linalg.norm(units, axis=1)
    assert (lengths >= 0.999 * LARGEST_LENGTH).all()
    assert (np.sum(units * directions, axis=1) >= 0.999999 * lengths * np.linalg.norm(directions, axis=1)).all()
    small = rng.uniform(-100, 100, (20, 50))
    assert (np.abs(ball.rounded(small) - small) <= 0.5).all()


def test_rounding_without_its_slack_is_caught() -> None:
    """The mutant shortens to the length itself; rounding then leaves the ball."""
    rng = np.random.default_rng(2)
    ball = Ball(norm="l2", length=100, dimension=40)
    vectors = rng.standard_normal((200, 40))
    mutant = np.rint(vectors * (ball.length / np.linalg.norm(vectors, axis=1, keepdims=True))).astype(np.int64)
    assert ball.outside(mutant).size > 0
    assert ball.outside(ball.rounded(vectors * 1e6)).size == 0


# ---- products that depend on one row each ---------------------------------------------------------------------------------


def unit(rows: Array) -> Array:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def rows_interfere(product: Any) -> bool:
    """Whether a row's product changes with the rows around it."""
    rng = np.random.default_rng(3)
    for p, k in [(3, 2), (50, 20), (201, 30)]:
        rows, table = unit(rng.standard_normal((700, p))), rng.standard_normal((p, k)) * np.geomspace(1e-3, 1e6, k)
        whole = product(rows, table)
        for start, stop in [(0, 1), (1, 3), (5, 12), (100, 164), (3, 700), (0, 699)]:
            if (product(rows[start:stop], table) != whole[start:stop]).any():
                return True
    return False


def test_a_rows_product_does_not_depend_on_other_rows() -> None:
    assert not rows_interfere(own_products)


def test_an_order_of_adding_that_depends_on_the_number_of_rows_is_caught() -> None:
    assert rows_interfere(lambda rows, table: rows @ table if len(rows) % 2 else rows[:, ::-1] @ table[::-1])


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_products_are_exact_for_the_rounded_factors(p: int, k: int, seed: int) -> None:
    """Against Python's integers, for the longest rows and columns; and close to the product itself."""
    rng = np.random.default_rng(seed)
    rows, table = unit(rng.standard_normal((4, p))), rng.standard_normal((p, k)) * 2.0 ** rng.integers(-40, 40, k)
    powers = [2.0 ** math.ceil(math.log2(np.linalg.norm(column))) for column in table.T]
    bits = contributions.FACTOR_BITS
    got = own_products(rows, table)
    for i, j in itertools.product(range(4), range(k)):
        pairs = zip(np.rint(rows[i] * 2.0**bits).tolist(), np.rint(table[:, j] / powers[j] * 2.0**bits).tolist())
        exact = sum(int(x) * int(w) for x, w in pairs) * Fraction(powers[j]) / 4**bits
        assert Fraction(float(got[i, j])) == exact
        assert abs(float(got[i, j]) - float(rows[i] @ table[:, j])) <= 4.0 * p * 2.0**-bits * powers[j]


def test_products_of_anything_are_finite_and_of_long_rows_shortened() -> None:
    table = np.array([[3.0], [-4.0]])
    rows = np.array([[np.nan, 1.0], [np.inf, 0.0], [1e308, 1e308], [-1e308, 1e308], [5e-324, 0.0], [3.0, 0.0]])
    with np.errstate(all="raise"):
        got = own_products(rows, table)
    assert np.isfinite(got).all()
    assert (np.abs(got) <= 5.0 * (1.0 + 1e-6)).all()
    assert not got[:2].any()
    assert np.isfinite(own_products(np.ones((1, 2)), np.zeros((2, 3)))).all()


# ---- the sum --------------------------------------------------------------------------------------------------------------

BALL = Ball(norm="l1", length=10, dimension=3)


@given(st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), max_size=20), st.randoms())
def test_a_sum_is_exact_and_its_order_leaves_no_trace(vectors: list[list[int]], random: Any) -> None:
    forwards, shuffled = ContributionSum(BALL), ContributionSum(BALL)
    for name, vector in enumerate(vectors):
        forwards.add(name, vector)
    random.shuffle(vectors)
    cut = random.randint(0, len(vectors))
    for part in (vectors[:cut], vectors[cut:]):
        shuffled.add_many(np.array(part, dtype=np.int64).reshape(-1, 3))
    assert forwards.total == shuffled.total == [sum(column) for column in zip(*vectors)] or not vectors
    assert forwards.n_parties == shuffled.n_parties == len(vectors)
    assert all(type(unit) is int for unit in forwards.total)


def test_many_contributions_in_blocks_add_up() -> None:
    rng = np.random.default_rng(4)
    ball = Ball(norm="l2", length=LARGEST_LENGTH, dimension=30)
    summed, expected = ContributionSum(ball), [0] * 30
    for size in (1, 4096, 0, 7, 2**14):
        block = rng.integers(-(2**21), 2**21, (size, 30))
        summed.add_many(block)
        expected = [before + sum(column) for before, column in zip(expected, block.T.tolist())]
    assert summed.total == expected
    assert summed.n_parties == 1 + 4096 + 7 + 2**14


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_every_integer_type_is_added_without_wrapping(kind: Any) -> None:
    summed = ContributionSum(Ball(norm="l1", length=127, dimension=1))
    summed.add_many(np.full((1000, 1), 127, dtype=kind))
    assert summed.total == [127_000]


def test_a_contribution_outside_is_refused_by_name_and_changes_nothing() -> None:
    summed = ContributionSum(BALL)
    summed.add("ward-1", [1, 2, 3])
    with pytest.raises(InputError, match=r"party 'ward-2' lies outside the l1 ball of 10 units.*Nothing was drawn"):
        summed.add("ward-2", [5, -5, 1])
    with pytest.raises(InputError, match="party 'c' lies outside"):
        summed.add_many([[1, 0, 0], [10, 0, 0], [11, 0, 0], [12, 0, 0]], ["a", "b", "c", "d"])
    with pytest.raises(InputError, match="party 1 lies outside"):
        summed.add_many([[1, 0, 0], [LEAST, 0, 0]])
    assert (summed.total, summed.n_parties) == ([1, 2, 3], 1)


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
def test_what_is_no_vector_of_whole_numbers_is_refused(vector: Any, error: type[InputError]) -> None:
    summed = ContributionSum(BALL)
    with pytest.raises(error, match="Nothing was drawn and nothing was spent"):
        summed.add("ward-1", vector)
    assert (summed.total, summed.n_parties) == ([0, 0, 0], 0)


def test_repeated_and_empty_contributions_count() -> None:
    summed = ContributionSum(BALL)
    for _ in range(3):
        summed.add("the same", [0, 0, 0])
    summed.add_many(np.zeros((0, 3), dtype=np.int64))
    assert (summed.total, summed.n_parties) == ([0, 0, 0], 3)


def test_more_parties_than_fit_into_64_bits_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert contributions.MOST_PARTIES * LARGEST_LENGTH < 2**63
    monkeypatch.setattr(contributions, "MOST_PARTIES", 2)
    summed = ContributionSum(BALL)
    summed.add_many([[1, 1, 1], [1, 1, 1]])
    with pytest.raises(ParameterError, match="n_parties = 3"):
        summed.add("one more", [1, 1, 1])
    assert (summed.total, summed.n_parties) == ([2, 2, 2], 2)
