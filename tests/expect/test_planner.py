"""What the planner says before anything is collected: the paper's bound, and how much noise."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from ostraka.errors import ParameterError
from ostraka.expect.describe import noise_ratio
from ostraka.expect.planner import (
    METHODS,
    Setting,
    needed_epsilon,
    needed_parties,
    noise_length,
    noise_to_signal,
    risk_bound,
)
from ostraka.mechanism.bounds import minimiser_radius
from ostraka.mechanism.mechanism import Mechanism
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.release.certificate import NoisySum, PerturbedMinimiser
from ostraka.solve.losses import Logistic, Softmax
from tests.laws.cases import Case
from tests.laws.cases import M as CASE_PARTIES
from tests.mechanism.worlds import unit_rows

N, D, M, LAMBDA, EPSILON = 500, 8, 300, 1e-2, 2.0
FEATURES = unit_rows(np.random.default_rng(0), N, D)


def mechanism(method: str, n_classes: int = 2, n_parties: int = M) -> Mechanism:
    """By the paper's calibration."""
    poll = Poll.create(
        AuxiliarySet(FEATURES, tuple(range(n_classes))),
        method=method,
        epsilon=EPSILON,
        lambda_=LAMBDA,
        calibration="paper",
        parties=n_parties,
    )
    return poll.mechanism(n_parties)


def setting(method: str = "soft", calibration: str = "tight", n_classes: int = 2) -> Setting:
    return Setting(
        method=method,
        n_parties=M,
        n_samples=N,
        n_features=D,
        n_classes=n_classes,
        epsilon=EPSILON,
        lambda_=LAMBDA,
        calibration=calibration,
    )


# ---- the paper's bound ---------------------------------------------------------------------------


def test_soft_by_the_papers_calibration_gives_the_printed_bound() -> None:
    bound = risk_bound(mechanism("soft"), N, Logistic(), 3.0, law="paper")
    c = 0.25
    printed = 4 * D**2 * (c + LAMBDA) * math.log(D / 0.05) ** 2 / (LAMBDA**2 * M**2 * EPSILON**2)
    assert printed <= bound.noise <= printed * (1 + 1e-4), "up to the solver's and the grid's parts"
    assert bound.sampling == pytest.approx(16 * (32 + math.log(20)) / (LAMBDA * N))
    assert bound.regulariser == pytest.approx(0.5 * LAMBDA * 9)
    assert bound.total == bound.noise + bound.sampling + bound.regulariser
    assert bound.proved


def test_vote_has_no_parties_in_its_bound() -> None:
    few, many = (
        risk_bound(mechanism("vote", n_parties=m), N, Logistic(), 1.0).noise for m in (10, 10_000)
    )
    assert few == many


@pytest.mark.parametrize("dimension", [1, 2, 10, 500])
@pytest.mark.parametrize("failure", [0.5, 0.05, 1e-6])
def test_the_quantile_is_never_longer_than_the_papers_bound(dimension: int, failure: float) -> None:
    exact = noise_length(1.0, dimension, failure)
    assert exact <= noise_length(1.0, dimension, failure, "paper") * (1 + 1e-12)


def test_the_length_is_exceeded_as_often_as_stated() -> None:
    """A binomial count of 100 000 draws at 5 %: five standard deviations, failure below 1e-6."""
    drawn = np.random.default_rng(0).gamma(7, 2.0, 100_000)
    exceeded = int((drawn > noise_length(2.0, 7, 0.05)).sum())
    assert abs(exceeded - 5000) < 5 * math.sqrt(5000 * 0.95)


def test_softmax_is_labelled_as_a_guide() -> None:
    assert not risk_bound(mechanism("soft", 3), N, Softmax(3), 1.0).proved


def test_bad_input() -> None:
    for failure in (0.0, 1.0, math.nan):
        with pytest.raises(ParameterError, match="a probability between 0 and 1"):
            noise_length(1.0, 3, failure)
        with pytest.raises(ParameterError, match="a probability between 0 and 1"):
            risk_bound(mechanism("soft"), N, Logistic(), 1.0, failure_sampling=failure)
    with pytest.raises(ParameterError, match='that of "soft" or "vote"'):
        risk_bound(mechanism("avg"), N, Logistic(), 1.0)


# ---- before there is a poll ----------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("calibration", ["paper", "tight"])
@pytest.mark.parametrize("method", METHODS)
def test_a_setting_promises_no_less_noise_than_the_poll(
    method: str, calibration: str, n_classes: int
) -> None:
    """Of the auxiliary samples it knows the number alone: their geometry can only help."""
    planned = setting(method, calibration, n_classes).mechanism()
    poll = Poll.create(
        AuxiliarySet(FEATURES, tuple(range(n_classes))),
        method=method,
        epsilon=EPSILON,
        lambda_=LAMBDA,
        calibration=calibration,
        parties=M,
    )
    found = poll.mechanism(M)
    assert planned.noise_scale >= found.noise_scale
    assert planned.dimension >= found.dimension
    if calibration == "paper" or method == "avg":
        assert planned.noise_scale == found.noise_scale


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_noise_to_signal_is_the_length_of_the_noise_over_that_of_the_longest_model(
    calibration: str, n_classes: int
) -> None:
    loss = Logistic() if n_classes == 2 else Softmax(n_classes)
    longest = minimiser_radius(loss, LAMBDA)
    for method in METHODS:
        planned = setting(method, calibration, n_classes)
        found, own = planned.mechanism(), planned.mechanism().particular
        length = found.noise_scale * found.dimension / found.divisor
        assert planned.noise_to_signal() == pytest.approx(length / longest, rel=1e-6)
        assert isinstance(own, NoisySum if method == "avg" else PerturbedMinimiser)


def test_of_our_own_methods_the_length_says_little() -> None:
    assert noise_ratio(Case("consensus", 2).poll()) is None
    poll = Case("avg", 3, calibration="paper").poll()
    assert noise_ratio(poll) == noise_to_signal(poll.mechanism(CASE_PARTIES), Softmax(3), 0.01)


@pytest.mark.parametrize("target", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("method", METHODS)
def test_the_epsilon_that_is_needed_is_enough_and_no_more(method: str, target: float) -> None:
    planned = setting(method)
    epsilon = needed_epsilon(planned, target)
    assert replace(planned, epsilon=epsilon).noise_to_signal() <= target * (1 + 1e-9)
    assert replace(planned, epsilon=0.999 * epsilon).noise_to_signal() > target


@pytest.mark.parametrize("target", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("method", ["soft", "avg"])
def test_so_many_parties_are_enough_and_one_fewer_is_not(method: str, target: float) -> None:
    planned = setting(method)
    needed = needed_parties(planned, target)
    assert needed is not None
    assert replace(planned, n_parties=needed).noise_to_signal() <= target
    assert needed == 2 or replace(planned, n_parties=needed - 1).noise_to_signal() > target


def test_no_number_of_parties_helps_vote() -> None:
    assert needed_parties(setting("vote"), 0.01) is None
    assert needed_parties(setting("vote"), 1e9) == 2


def test_bad_settings() -> None:
    for target in (0.0, -1.0, math.nan):
        with pytest.raises(ParameterError, match="target"):
            needed_epsilon(setting(), target)
        with pytest.raises(ParameterError, match="target"):
            needed_parties(setting(), target)
    with pytest.raises(ParameterError, match="'soft' or 'vote' or 'avg'"):
        replace(setting(), method="moments").mechanism()
    with pytest.raises(ParameterError, match="samples"):
        replace(setting(), n_samples=0).mechanism()
    with pytest.raises(ParameterError, match="calibration"):
        replace(setting(), calibration="loose").mechanism()
    with pytest.raises(ParameterError, match="epsilon"):
        replace(setting(), epsilon=0.0).mechanism()


def test_the_noise_of_a_setting_covers_its_sensitivity_exactly() -> None:
    for method in METHODS:
        planned = setting(method).mechanism()
        assert Fraction(planned.noise_scale) * Fraction(EPSILON) >= Fraction(planned.sensitivity)
