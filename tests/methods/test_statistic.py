"""What the three methods share, apart from the laws in tests/laws: the certificate's numbers and the way from a sum to a model."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from ostraka.errors import ParameterError
from ostraka.losses import Array
from ostraka.methods import moments, statistic
from ostraka.methods.laws import variance
from ostraka.methods.statistic import StatisticPlan, StatisticTerms
from ostraka.noise import RoundedGaussian
from tests.laws.test_statistics import METHODS, Case


@pytest.mark.parametrize("noise", ["l2", "gaussian"])
def test_the_certificate_is_in_the_units_of_the_mean_times_the_number_of_parties(noise: str) -> None:
    planned = Case("moments", 3, 1e-6).plan(StatisticTerms(epsilon=1.0, delta=1e-6, noise=noise))
    promised = planned.certificate
    assert Fraction(promised.sensitivity) == planned.ball.diameter * Fraction(promised.grid)
    assert Fraction(promised.noise_scale) == Fraction(planned.law.scale) * Fraction(promised.grid)
    assert promised.sensitivity_parts.bound >= 2.0 * promised.radius
    assert (promised.rho is not None) == (noise == "gaussian") == isinstance(planned.law, RoundedGaussian)
    if promised.rho is not None:
        assert Fraction(promised.rho) >= (Fraction(promised.sensitivity) / Fraction(promised.noise_scale)) ** 2 / 2


@pytest.mark.parametrize("method", METHODS)
def test_the_declared_noise_is_that_of_the_mean(method: str) -> None:
    """What the recipe takes for the noise of one coordinate is what the law adds to it, in the recipe's own terms."""
    planned = Case(method, 3, 0.0).plan()
    deviation = variance(planned.law) ** 0.5 * planned.certificate.grid / planned.certificate.parties
    recipe = planned.recipe
    ours = {
        "moments": lambda: recipe.noise * recipe.clip_factor,
        "cells": lambda: recipe.noise * 2.0**0.5,
        "refine": lambda: deviation,
        "consensus": lambda: recipe.noise * len(recipe.features),
    }[method]()
    assert abs(ours / deviation - 1.0) <= 1e-9


@pytest.mark.parametrize("method", METHODS)
def test_a_penalty_can_be_set_and_changes_the_model_alone(method: str) -> None:
    case = Case(method, 3, 0.0)
    plans = [case.plan(case.terms(penalty=penalty)) for penalty in (None, 1e-3, 1e3)]
    assert plans[0].certificate == plans[1].certificate == plans[2].certificate
    total = case.total(case.world(), plans[0])
    usual, light, heavy = (np.linalg.norm(planned.model(total).weights) for planned in plans)
    assert heavy < 1e-2 * light
    assert heavy < usual


class Echo:
    """A recipe that shows what it is given."""

    def __init__(self) -> None:
        self.mean: Array = np.zeros(0)

    def weights(self, mean: Array) -> Array:
        self.mean = mean
        return np.zeros((5, 3))

    def surprise(self, mean: Array) -> float | None:
        return None


def test_a_sum_becomes_a_mean_exactly_and_a_huge_one_the_largest() -> None:
    planned = Case("moments", 3, 0.0).plan()
    echo = Echo()
    copy = StatisticPlan(certificate=planned.certificate, task=planned.task, ball=planned.ball, law=planned.law, recipe=echo)
    unit = Fraction(planned.certificate.grid) / planned.certificate.parties
    copy.model([3, -(2**70), 2**2000, -(2**2000)])
    assert [Fraction(value) for value in echo.mean[:2].tolist()] == [Fraction(float(3 * unit)), Fraction(float(-(2**70) * unit))]
    assert echo.mean[2:].tolist() == [float(statistic.LARGEST_MEAN), -float(statistic.LARGEST_MEAN)]


def test_terms_are_plain_numbers_whatever_is_given() -> None:
    terms = StatisticTerms(epsilon=np.float32(0.1), delta=np.float64(1e-6), samples_each=np.int8(5), least_parties=np.uint8(3))
    assert (type(terms.epsilon), type(terms.delta), type(terms.samples_each), type(terms.least_parties)) == (float, float, int, int)
    for given in ("1", None, [1.0], 10**400, True):
        with pytest.raises(ParameterError, match="epsilon"):
            StatisticTerms(epsilon=given)


@pytest.mark.parametrize("method", METHODS)
def test_counts_of_any_integer_type_give_the_same_plan(method: str) -> None:
    case = Case(method, 3, 0.0)
    plans = [case.plan(n_parties=n) for n in (8, np.int64(8), np.uint8(8))]
    assert all(type(plan.certificate.parties) is int and plan.certificate == plans[0].certificate for plan in plans)
    for n_parties in (8.0, "8", 2**41, -1):
        with pytest.raises(ParameterError, match="n_parties"):
            case.plan(n_parties=n_parties)


def test_a_wrong_number_of_parties_moves_the_model_and_not_the_promise() -> None:
    case = Case("moments", 2, 0.0)
    terms = StatisticTerms(epsilon=1.0)
    few, many = (moments.plan(case.auxiliary(), n, terms) for n in (8, 80))
    if few.ball == many.ball:
        assert few.law == many.law
    assert few.certificate.noise_scale * few.certificate.epsilon >= few.certificate.sensitivity
    assert many.certificate.noise_scale * many.certificate.epsilon >= many.certificate.sensitivity
