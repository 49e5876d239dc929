from __future__ import annotations

import math

import numpy as np
import pytest

from ostraka.auxiliary import AuxiliarySet
from ostraka.errors import ParameterError
from ostraka.losses import Logistic, Softmax
from ostraka.methods import avg, soft, vote
from ostraka.methods.terms import Terms
from ostraka.model import Task
from ostraka.planner import noise_length, risk_bound
from tests.sensitivity.worlds import unit_rows

N, D, M, LAMBDA, EPSILON = 500, 8, 300, 1e-2, 2.0
AUXILIARY = AuxiliarySet(unit_rows(np.random.default_rng(0), N, D), ("no", "yes"))
PAPER = Terms(epsilon=EPSILON, lambda_=LAMBDA, calibration="paper")


def test_soft_by_the_papers_calibration_gives_the_printed_bound() -> None:
    bound = risk_bound(soft.plan(AUXILIARY, M, PAPER).certificate, Logistic(), 3.0, law="paper")
    c = 0.25
    printed = 4 * D**2 * (c + LAMBDA) * math.log(D / 0.05) ** 2 / (LAMBDA**2 * M**2 * EPSILON**2)
    assert printed <= bound.noise <= printed * (1 + 1e-4), "up to the solver's and the grid's parts"
    assert bound.sampling == pytest.approx(16 * (32 + math.log(20)) / (LAMBDA * N))
    assert bound.regulariser == pytest.approx(0.5 * LAMBDA * 9)
    assert bound.proved


def test_vote_has_no_parties_in_its_bound() -> None:
    few, many = (risk_bound(vote.plan(AUXILIARY, m, PAPER).certificate, Logistic(), 1.0).noise for m in (10, 10_000))
    assert few == many


@pytest.mark.parametrize("dimension", [1, 2, 10, 500])
@pytest.mark.parametrize("failure", [0.5, 0.05, 1e-6])
def test_the_quantile_is_never_longer_than_the_papers_bound(dimension: int, failure: float) -> None:
    exact = noise_length(1.0, dimension, failure)
    assert exact <= noise_length(1.0, dimension, failure, "paper") * (1 + 1e-12)


def test_the_length_is_exceeded_as_often_as_stated() -> None:
    """A binomial count of 100 000 draws at 5 %: five standard deviations, false alarm below 1e-6 (and the seed is fixed)."""
    drawn = np.random.default_rng(0).gamma(7, 2.0, 100_000)
    exceeded = int((drawn > noise_length(2.0, 7, 0.05)).sum())
    assert abs(exceeded - 5000) < 5 * math.sqrt(5000 * 0.95)


def test_softmax_is_labelled_as_a_guide() -> None:
    auxiliary = AuxiliarySet(AUXILIARY.samples, ("a", "b", "c"))
    assert not risk_bound(soft.plan(auxiliary, M, PAPER).certificate, Softmax(3), 1.0).proved


def test_bad_input() -> None:
    with pytest.raises(ParameterError, match="a probability between 0 and 1"):
        noise_length(1.0, 3, 1.0)
    with pytest.raises(ParameterError, match='"soft" or "vote"'):
        risk_bound(avg.plan(Task.of(AUXILIARY), M, PAPER).certificate, Logistic(), 1.0)
