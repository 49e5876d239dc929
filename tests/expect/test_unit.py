"""Whom a poll can protect and still leave a model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.expect.unit import ENOUGH, advise_unit, share_deviation
from ostraka.mechanism.laws import l1_law


def test_the_deviation_is_that_of_the_noise_on_a_share() -> None:
    """A replaced party moves the shares by 2 in L1; 200 000 draws, within 2 % but for 1e-6."""
    n, epsilon, unit = 50, 0.7, 2**20
    law = l1_law(epsilon, 2 * unit, 2)
    drawn = law.rehearse(np.random.default_rng(0), 100_000) / (n * unit)
    assert abs(drawn.std() / share_deviation(n, epsilon) - 1.0) <= 0.02


def test_few_parties_with_many_rows_are_told_of_persons() -> None:
    told = advise_unit("party", 5, 1000, None, 1.0)
    assert told is not None
    assert "With 5 parties and ε = 1" in told
    assert "share of a class by about 0.57" in told
    assert "--protects person makes one: 5,000 rows are enough" in told


def test_few_parties_with_few_rows_are_told_that_there_is_no_way() -> None:
    told = advise_unit("party", 3, 2, None, 0.01)
    assert told is not None
    assert "by about 1.00: expect little of a model. More parties or a larger ε would help." in told
    assert "--protects" not in told


def test_few_persons_are_told_so() -> None:
    told = advise_unit("person", 2, 10, 20, 0.1)
    assert told is not None
    assert "With 20 persons and ε = 0.1" in told
    assert "expect little of a model" in told


def test_who_could_promise_more_is_told_so() -> None:
    told = advise_unit("person", 500, 10, 5000, 1.0)
    assert told is not None
    assert "500 parties are enough to protect whole parties at ε = 1" in told
    assert "--protects party" in told


@pytest.mark.parametrize(
    "given",
    [
        ("party", 1000, 10, None, 1.0),
        ("person", 5, 1000, 5000, 1.0),
        ("row", 5, 10, None, 1.0),
        ("row", 100_000, 1, None, 1.0),
    ],
)
def test_where_there_is_nothing_to_say_nothing_is_said(
    given: tuple[str, int, int, int, float],
) -> None:
    assert advise_unit(*given) is None


@given(st.integers(2, 10**6), st.integers(1, 10**4), st.floats(1e-3, 100.0))
def test_parties_are_warned_just_where_their_shares_would_drown(
    n: int, each: int, epsilon: float
) -> None:
    told = advise_unit("party", n, each, None, epsilon)
    assert (told is not None) == (share_deviation(n, epsilon) > ENOUGH)
    if told is not None:
        helped = share_deviation(n * each, epsilon) <= ENOUGH
        assert ("--protects person" in told) == helped
