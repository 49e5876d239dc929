"""What noisy sums share: lattices, the certificate's numbers, penalties after the noise.

The laws that all methods obey are in tests/laws.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.mechanism import RoundedGaussian
from ostraka.methods.noisy_sum import lattice
from ostraka.methods.registry import METHODS
from ostraka.poll import Poll
from tests.laws.cases import Case, M, in_process

OURS = ("moments", "cells", "consensus", "refine")


@given(st.floats(1e-12, 1e12), st.integers(1, 2**20))
def test_a_lattice_holds_no_more_than_the_ball_that_was_asked_for(
    radius: float, dimension: int
) -> None:
    grid, ball = lattice(radius, dimension)
    assert np.frexp(grid)[0] == 0.5
    assert ball.length * Fraction(grid) <= Fraction(radius)
    assert (ball.length + 1) * Fraction(grid) > Fraction(radius)
    assert ball.length >= 2**18, "fine enough for what is sent"


@pytest.mark.parametrize("noise", ["l2", "gaussian"])
def test_the_certificate_is_in_the_units_of_the_mean_times_the_number_of_parties(
    noise: str,
) -> None:
    poll = Case("moments", 3, 1e-6).poll(noise=noise)
    promised, mechanism = poll.certificate(M), poll.mechanism(M)
    assert Fraction(promised.sensitivity) == poll.domain.diameter * Fraction(promised.grid)
    assert Fraction(promised.noise_scale) == Fraction(mechanism.law.scale) * Fraction(promised.grid)
    assert promised.sensitivity >= 2.0 * promised.particular.radius
    assert (
        (promised.rho is not None)
        == (noise == "gaussian")
        == isinstance(mechanism.law, RoundedGaussian)
    )
    if promised.rho is not None:
        ratio = Fraction(promised.sensitivity) / Fraction(promised.noise_scale)
        assert Fraction(promised.rho) >= ratio**2 / 2


@pytest.mark.parametrize("method", OURS)
def test_a_penalty_can_be_set_and_changes_the_model_alone(method: str) -> None:
    case = Case(method, 2 if method == "refine" else 3)
    polls = [case.poll(penalty=penalty) for penalty in (None, 1e-3, 1e3)]
    assert polls[0].mechanism(M) == polls[1].mechanism(M) == polls[2].mechanism(M)
    total = in_process(polls[0], case.world()).total
    mechanism = polls[0].mechanism(M)
    mean = mechanism.mean(polls[0].method.statistic(total, mechanism))
    usual, light, heavy = (
        poll.model(mean, mechanism).probabilities(case.auxiliary().features).std(axis=0).max()
        for poll in polls
    )
    assert heavy < 0.2 * light
    assert heavy < usual


def test_where_classes_overlap_a_penalty_keeps_a_second_round_near_its_start() -> None:
    polls = [Case("refine", 3).poll(penalty=penalty) for penalty in (None, 1e-3, 1e3)]
    mechanism = polls[0].mechanism(M)
    mean = np.full(mechanism.dimension, 0.1)
    start = polls[0].method.guess  # type: ignore[attr-defined]
    usual, light, heavy = (
        np.abs(poll.method.fit(mean, mechanism).weights - start).max()  # type: ignore[attr-defined]
        for poll in polls
    )
    assert heavy < 0.01 * light
    assert heavy < usual


@pytest.mark.parametrize("method", list(METHODS))
def test_numbers_of_any_integer_type_give_the_same_poll(method: str) -> None:
    case = Case(method, 3, calibration=None if method in OURS else "tight")
    polls: list[Poll] = [case.poll(parties=n) for n in (8, np.int64(8), np.uint8(8))]
    assert all(
        type(poll.expected_units) is int and poll.digest == polls[0].digest for poll in polls
    )
    wrong: tuple[Any, ...] = (8.0, "8", 2**41, -1)
    for n_parties in wrong:
        with pytest.raises(ValueError, match="parties"):
            case.poll(parties=n_parties)
