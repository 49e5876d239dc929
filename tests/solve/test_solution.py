"""The point is taken through its certificate."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ostraka.errors import OstrakaError, PrecisionError
from ostraka.solve import Risk, Solution, default_tolerance, minimise
from ostraka.solve.losses import Logistic


def solution(gradient_bound: float = 1e-8, lambda_: float = 1e-4) -> Solution:
    return Solution(
        point=np.array([1.0, 2.0]), gradient_bound=gradient_bound, lambda_=lambda_, route="newton"
    )


def test_distance_is_the_gradient_bound_over_lambda() -> None:
    assert solution().distance_bound == 1e-8 / 1e-4


def test_within_gives_the_point() -> None:
    known = solution()
    assert known.within(known.distance_bound) is known.point
    assert known.within(1.0) is known.point


@pytest.mark.parametrize("radius", [0.0, 0.99e-4, math.nan, -1.0])
def test_within_refuses_what_is_not_proved(radius: float) -> None:
    with pytest.raises(
        PrecisionError, match=r"known to within 0.0001, but .* Solve with a smaller tolerance"
    ) as caught:
        solution().within(radius)
    assert caught.value.known == solution().distance_bound
    assert caught.value.asked is radius
    assert isinstance(caught.value, OstrakaError)


def test_unknown_gradient_is_never_within() -> None:
    with pytest.raises(PrecisionError):
        solution(gradient_bound=math.nan).within(math.inf)


def test_point_is_read_only() -> None:
    with pytest.raises(ValueError, match="read-only"):
        solution().point[0] = 5.0


def test_solution_is_frozen() -> None:
    with pytest.raises(AttributeError):
        solution().gradient_bound = 0.0  # type: ignore[misc]


@pytest.mark.parametrize("lambda_", [1e-7, 3e-5, 0.1, 7.0])
def test_tolerance_over_lambda_is_always_reached(lambda_: float) -> None:
    """The radius that is published in advance is τ/λ: the point is always within it.

    Not even one rounding makes it fail.
    """
    rng = np.random.default_rng(0)
    risk = Risk(rng.uniform(-0.4, 0.4, (30, 4)), rng.random(30), Logistic(), lambda_)
    tolerance = default_tolerance(risk.shape)
    assert minimise(risk, tolerance).within(tolerance / lambda_).shape == (4,)
