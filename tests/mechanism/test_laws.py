"""Which noise a statistic gets: certified for its (ε, δ), and never longer than needed.

It is refused where there is none.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.errors import ParameterError
from ostraka.mechanism import DiscreteLaplace, Entropy, Rehearsal, l2_scale, laws
from ostraka.mechanism.laws import (
    Law,
    UnitL2,
    l1_law,
    l2_law,
    l2_variance,
    scale_up,
    variance,
    verify,
)
from ostraka.mechanism.mechanism import Mechanism
from ostraka.release.certificate import Certificate, NoisySum, sum_up

GRID = 2.0**-20


def certified(law: Law, epsilon: float, delta: float, sensitivity: float) -> Certificate:
    """What a release with this noise would promise."""
    mechanism = Mechanism(
        law=law,
        grid=GRID,
        sensitivity=sensitivity * GRID,
        delta=delta,
        divisor=10,
        coordinates="some",
        particular=NoisySum(radius=sensitivity * GRID / 2.0),
    )
    return Certificate(
        method="cells" if isinstance(law, DiscreteLaplace) else "moments",
        epsilon=epsilon,
        delta=delta,
        round_epsilon=epsilon,
        round_delta=delta,
        neighbours="replace one party",
        parties=10,
        auxiliary_samples=100,
        auxiliary_digest="ab" * 32,
        sensitivity=mechanism.sensitivity,
        norm=mechanism.norm,
        noise=mechanism.noise,
        noise_scale=mechanism.noise_scale,
        rho=mechanism.rho,
        grid=GRID,
        dimension=mechanism.dimension,
        coordinates=mechanism.coordinates,
        particular=mechanism.particular,
    )


CASES = [
    (e, d, D)
    for e in (1e-3, 0.1, 1.0, 10.0, 1e3, 1e9)
    for d in (1e-12, 1e-6, 0.1)
    for D in (1, 2, 30, 400)
]


@pytest.mark.parametrize("noise", ["auto", "l2", "gaussian"])
def test_every_law_meets_its_delta(noise: Any) -> None:
    for epsilon, delta, dimension in CASES:
        for sensitivity in (2.0, 2.0**25, 123456.789):
            law = l2_law(epsilon, delta, sensitivity, dimension, noise)
            assert verify(certified(law, epsilon, delta, sensitivity)) <= delta


def test_less_noise_than_the_law_says_is_caught() -> None:
    """A thousandth less breaks the promise: calibration wastes less than that."""
    for epsilon, delta, dimension in CASES:
        for noise in ("l2", "gaussian"):
            promised = certified(l2_law(epsilon, delta, 1e6, dimension, noise), epsilon, delta, 1e6)
            # Otherwise the certificate itself would refuse it.
            rho = None if promised.rho is None else 1.01 * promised.rho
            assert (
                verify(replace(promised, noise_scale=0.999 * promised.noise_scale, rho=rho)) > delta
            )


@given(st.floats(1e-12, 1e18), st.floats(1.0, 2.0**60), st.integers(1, 10**6))
def test_pure_noise_covers_the_sensitivity_exactly(
    epsilon: float, sensitivity: float, dimension: int
) -> None:
    law = l2_law(epsilon, 0.0, sensitivity, dimension)
    assert isinstance(law, UnitL2)
    assert Fraction(law.scale) * Fraction(epsilon) >= Fraction(sensitivity)
    promised = certified(law, epsilon, 0.0, sensitivity)
    assert verify(promised) == 0.0


def test_a_pure_promise_short_of_one_bit_is_caught() -> None:
    promised = certified(l2_law(0.3, 0.0, 1e6, 5), 0.3, 0.0, 1e6)
    short = math.nextafter(promised.sensitivity / promised.epsilon, 0.0)
    # A certificate refuses it when made; `verify` must not rely on that.
    object.__setattr__(promised, "noise_scale", math.nextafter(short, 0.0))
    assert verify(promised) == math.inf


@settings(max_examples=25, deadline=None)
@given(st.floats(1e-3, 1e3), st.integers(1, 2**40), st.integers(1, 50))
def test_discrete_laplace_covers_the_sensitivity_exactly(
    epsilon: float, sensitivity: int, dimension: int
) -> None:
    law = l1_law(epsilon, sensitivity, dimension)
    assert isinstance(law, DiscreteLaplace)
    assert Fraction(law.scale) * Fraction(epsilon) >= sensitivity
    assert verify(certified(law, epsilon, 0.0, float(sensitivity))) == 0.0


def test_auto_is_never_longer_than_either() -> None:
    for epsilon, delta, dimension in CASES:
        chosen, ours, gaussian = (
            variance(l2_law(epsilon, delta, 1e6, dimension, noise))
            for noise in ("auto", "l2", "gaussian")
        )
        assert chosen <= min(ours, gaussian)
        assert variance(l2_law(epsilon, delta, 1e6, dimension)) <= variance(
            l2_law(epsilon, 0.0, 1e6, dimension)
        )


def test_a_huge_epsilon_takes_no_time_and_stays_pure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Calibrating a δ there took minutes for a ten-thousandth of the noise."""
    assert l2_scale(laws.PURE_FROM, 1e-6, 1.0, 500) >= (1.0 - 1e-3) / laws.PURE_FROM
    monkeypatch.setattr(laws, "l2_scale", None)
    law = l2_law(1e18, 1e-6, 2.0**25, 500)
    assert Fraction(law.scale) * 10**18 >= 2**25
    assert verify(certified(law, 1e18, 1e-6, 2.0**25)) == 0.0
    assert np.isfinite(l2_variance(1e18, 1e-6, np.ones(9), np.arange(1.0, 10.0))).all()


def test_gaussian_noise_without_a_delta_is_refused() -> None:
    with pytest.raises(
        ParameterError,
        match=r"delta = 0.0 is not allowed.*above 0 for Gaussian noise",
    ):
        l2_law(1.0, 0.0, 1.0, 3, "gaussian")
    with pytest.raises(ParameterError, match="auto, l2, gaussian"):
        l2_law(1.0, 0.0, 1.0, 3, "cauchy")  # type: ignore[arg-type]


@pytest.mark.parametrize("noise", ["l2", "gaussian"])
def test_laplace_is_for_l1_alone(noise: Any) -> None:
    law = l2_law(1.0, 1e-6, 2.0, 3, noise)
    assert not isinstance(law, DiscreteLaplace)
    with pytest.raises(ParameterError, match="l1"):
        replace(certified(law, 1.0, 1e-6, 2.0), norm="l1")
    with pytest.raises(ParameterError, match="norm"):
        replace(certified(l1_law(1.0, 2, 3), 1.0, 0.0, 2.0), norm="l2")


def test_the_quick_variance_is_near_the_exact_one() -> None:
    dimensions = np.arange(1.0, 200.0)
    quick = l2_variance(1.0, 1e-6, np.full_like(dimensions, 7.0), dimensions)
    exact = [variance(l2_law(1.0, 1e-6, 7.0, int(D), "l2")) for D in dimensions[::20]]
    assert np.abs(quick[::20] / exact - 1.0).max() <= 0.1


@pytest.mark.parametrize(
    "law",
    [l2_law(1.0, 0.0, 4.0, 3), l2_law(1.0, 1e-6, 4.0, 3, "gaussian"), l1_law(1.0, 4, 3)],
    ids=str,
)
def test_the_variance_is_that_of_the_draws(law: Law) -> None:
    """3·40 000 squares: their mean is within 5 % unless an event of less than 1e-6 happened."""
    draws = law.rehearse(np.random.default_rng(0), 40_000)
    assert abs(np.mean(draws**2) / (variance(law) + 1 / 12) - 1.0) <= 0.05


@pytest.mark.parametrize(
    "law",
    [l2_law(1.0, 0.0, 4.0, 3), l2_law(1.0, 1e-6, 4.0, 3, "gaussian"), l1_law(1.0, 4, 3)],
    ids=str,
)
def test_publishing_adds_noise_to_whole_numbers(law: Law) -> None:
    values = [2**50, -(2**50), 0]
    assert all(type(unit) is int for unit in law.publish(values, Entropy()))
    assert law.publish(values, Rehearsal(1)) == law.publish(values, Rehearsal(1))
    # They are all equal with a probability below 1e-6.
    assert len({tuple(law.publish(values, Entropy())) for _ in range(5)}) > 1
    with pytest.raises(ParameterError, match="source"):
        law.publish(values, np.random.default_rng(0))  # type: ignore[arg-type]


@given(st.floats(1e-280, 1e280), st.floats(1e-12, 1e18))
def test_a_scale_is_the_smallest_double_that_is_enough(sensitivity: float, epsilon: float) -> None:
    scale = scale_up(sensitivity, epsilon)
    assert Fraction(scale) * Fraction(epsilon) >= Fraction(sensitivity)
    below = math.nextafter(scale, 0.0)
    assert Fraction(below) * Fraction(epsilon) < Fraction(sensitivity)


@pytest.mark.parametrize("noise", ["l2", "gaussian"])
def test_a_second_round_is_verified_by_its_own_numbers(noise: Any) -> None:
    """What the first round cost is no excuse for less noise in the second."""
    law = l2_law(0.3, 1e-6, 1e6, 5, noise)
    alone = certified(law, 0.3, 1e-6, 1e6)
    before = {"start": "cd" * 32, "start_epsilon": 10.0, "start_delta": 0.01}
    second = replace(
        alone, method="refine", epsilon=sum_up(0.3, 10.0), delta=sum_up(1e-6, 0.01), **before
    )
    assert verify(second) == verify(alone) <= 1e-6
    rho = None if second.rho is None else 1e3 * second.rho
    assert verify(replace(second, noise_scale=second.noise_scale / 10.0, rho=rho)) > 1e-6
