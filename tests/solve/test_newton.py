"""The fast solvers: directions solve their systems, and the risk goes down.

Well-posed problems never need the fall-back.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

import ostraka.solve as solve
from ostraka.solve import Risk, default_tolerance, minimise
from ostraka.solve.losses import Array, HuberHinge, Logistic, Loss, Softmax
from ostraka.solve.newton import (
    MAX_STEPS,
    Iterate,
    conjugate_gradient_direction,
    evaluate,
    exact_direction,
    newton,
)

LOSSES: list[Loss] = [Logistic(), HuberHinge(), HuberHinge(0.01), Softmax(3)]
DIRECTIONS = [exact_direction, conjugate_gradient_direction]


def features(kind: str, rng: np.random.Generator, n: int, d: int) -> Array:
    x = rng.standard_normal((n, d))
    if kind == "sphere":
        return x / (np.linalg.norm(x, axis=1, keepdims=True) * (1.0 + 1e-14))
    if kind == "one-hot":
        return np.eye(d)[rng.integers(d, size=n)]
    if kind == "unequal":
        x *= 10.0 ** -np.linspace(0.0, 6.0, d)
    if kind == "duplicated":
        x = np.repeat(x[: n // 10 + 1], 10, axis=0)[:n]
    if kind == "rank one":
        x = np.outer(x[:, 0], rng.standard_normal(d))
    return x / (np.linalg.norm(x, axis=1).max() * (1.0 + 1e-14))


def labels(kind: str, rng: np.random.Generator, x: Array, loss: Loss) -> Array:
    n, k = len(x), loss.n_classes
    if kind == "soft":
        shares = rng.multinomial(7, rng.dirichlet(np.full(k, 0.5), size=n)) / 7
    else:
        separable = (x @ rng.standard_normal((x.shape[1], k))).argmax(axis=1)
        shares = np.eye(k)[separable if kind == "separable" else rng.integers(k, size=n)]
    return shares if loss.n_outputs > 1 else shares[:, 0]


def problem(kind: str, answers: str, loss: Loss, lambda_: float, n: int, d: int) -> Risk:
    rng = np.random.default_rng(n + d)
    x = features(kind, rng, n, d)
    return Risk(x, labels(answers, rng, x, loss), loss, lambda_)


KINDS = ["gauss", "sphere", "one-hot", "unequal", "duplicated", "rank one"]
ANSWERS = ["separable", "random", "soft"]


def without_fall_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(risk: Risk, tolerance: float) -> Iterate:
        raise RuntimeError("the fall-back was used")

    monkeypatch.setattr(solve, "accelerated", refuse)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("answers", ANSWERS)
def test_well_posed_problems_need_no_fall_back(
    kind: str, answers: str, loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_fall_back(monkeypatch)
    for n, d in ((1, 1), (40, 5), (1000, 20)):
        for lambda_ in (1e-6, 1e-4, 1e-2, 1.0, 10.0):
            risk = problem(kind, answers, loss, lambda_, n, d)
            assert minimise(risk).gradient_bound <= default_tolerance(risk.shape)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("kind", ["sphere", "one-hot", "duplicated"])
def test_ten_thousand_rows_need_no_fall_back(
    kind: str, loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_fall_back(monkeypatch)
    risk = problem(kind, "separable", loss, 1e-6, 10_000, 100 if loss.n_outputs == 1 else 30)
    assert minimise(risk).gradient_bound <= default_tolerance(risk.shape)


@pytest.mark.parametrize("share", range(0, 101))
def test_step_across_the_flat_part_of_the_hinge_is_halved_often_enough(
    share: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All curvature but λ vanishes there: the full step is ten million times too long."""
    without_fall_back(monkeypatch)
    for lambda_ in (1e-8, 1e-6):
        risk = Risk(np.ones((1, 1)), np.array([share / 100]), HuberHinge(0.01), lambda_)
        assert minimise(risk).gradient_bound <= default_tolerance(risk.shape)


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), Softmax(3)], ids=str)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "csr"])
def test_directions_solve_the_newton_system(loss: Loss, direction: object, as_sparse: bool) -> None:
    risk = problem("sphere", "soft", loss, 0.1, 50, 4)
    if as_sparse:
        risk = Risk(sparse.csr_matrix(risk.features), risk.labels, loss, 0.1)
    here = evaluate(risk, risk.zero() + 0.01)
    step = direction(risk, here)  # type: ignore[operator]
    left = risk.hessian_product(risk.curvature(here.z))(step) - here.gradient
    allowed = 1e-12 if direction is exact_direction else 0.1
    assert np.linalg.norm(left) <= allowed * np.linalg.norm(here.gradient)


def test_conjugate_gradients_stand_still_at_a_zero_gradient() -> None:
    risk = Risk(np.zeros((3, 2)), np.full(3, 0.5), Logistic(), 1.0)
    here = evaluate(risk, risk.zero())
    assert not np.any(conjugate_gradient_direction(risk, here))


def test_singular_hessian_leaves_the_gradient_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    risk = problem("gauss", "random", Logistic(), 1e-3, 20, 3)
    here = evaluate(risk, risk.zero())
    monkeypatch.setattr(Risk, "hessian", lambda self, curvature: -np.eye(3))
    assert np.array_equal(exact_direction(risk, here), here.gradient / risk.shape.smoothness)


def test_gives_up_on_an_impossible_tolerance_with_the_best_point() -> None:
    risk = problem("gauss", "random", Logistic(), 1e-3, 200, 3)
    steps = []

    def counted(risk: Risk, here: Iterate) -> Array:
        steps.append(here.gradient_bound)
        return exact_direction(risk, here)

    end = newton(risk, 0.0, counted, risk.zero())
    assert end.gradient_bound <= min(steps)
    assert end.gradient_bound <= default_tolerance(risk.shape)
    assert len(steps) < 50 < MAX_STEPS


def test_gives_up_on_a_direction_that_is_not_finite() -> None:
    risk = problem("gauss", "random", Logistic(), 1e-3, 20, 3)
    end = newton(risk, 1e-10, lambda risk, here: np.full_like(here.w, np.nan), risk.zero())
    assert np.array_equal(end.w, risk.zero())


def test_risk_never_rises_on_the_way() -> None:
    risk = problem("sphere", "separable", HuberHinge(0.01), 1e-5, 300, 10)
    seen = []

    def watched(risk: Risk, here: Iterate) -> Array:
        seen.append(risk.value(here.w, here.z))
        return exact_direction(risk, here)

    newton(risk, default_tolerance(risk.shape), watched, risk.zero())
    assert len(seen) > 5
    assert all(later <= earlier + 1e-13 for earlier, later in itertools.pairwise(seen))


def test_starting_at_the_minimiser_takes_no_step() -> None:
    risk = problem("gauss", "soft", Softmax(3), 1e-2, 60, 4)
    tolerance = default_tolerance(risk.shape)
    start = minimise(risk).point
    assert newton(risk, tolerance, lambda *_: pytest.fail("stepped"), start).w is start
