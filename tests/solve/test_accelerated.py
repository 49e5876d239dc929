"""The solver that always arrives: within its step bound, for every input.

A potential that can be measured shows it.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable

import mpmath
import numpy as np
import pytest

import ostraka.solve as solve
from ostraka.errors import ParameterError
from ostraka.solve import (
    Risk,
    RiskShape,
    default_tolerance,
    minimise,
    step_bound,
    tightest_tolerance,
)
from ostraka.solve.accelerated import (
    accelerate,
    accelerated_steps,
    plain_steps,
    step_error,
    visited_norm,
)
from ostraka.solve.losses import Array, HuberHinge, Logistic, Loss, Softmax
from ostraka.solve.newton import Iterate, evaluate

MODULE = sys.modules["ostraka.solve.accelerated"]
LOSSES: list[Loss] = [Logistic(), HuberHinge(), HuberHinge(0.01), Softmax(3)]


def theta_of(shape: RiskShape) -> float:
    """θ, from the proof and not from the code: a mutant must not change what measures it."""
    return float(np.sqrt(shape.lambda_ / (4.0 * shape.smoothness)))


def problem(kind: str, loss: Loss, lambda_: float, n: int = 30, d: int = 3, seed: int = 0) -> Risk:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True) * (1.0 + 1e-14)
    if kind == "unequal":
        x = x * 10.0 ** -np.arange(0.0, 2.0 * d, 2.0)
    if kind == "same":
        x = np.repeat(x[:1], n, axis=0)
    answer = (x @ rng.standard_normal((d, loss.n_classes))).argmax(axis=1)
    shares = np.eye(loss.n_classes)[
        answer if kind == "separable" else rng.integers(loss.n_classes, size=n)
    ]
    if kind == "soft":
        shares = rng.multinomial(7, rng.dirichlet(np.full(loss.n_classes, 0.5), size=n)) / 7
    return Risk(x, shares if loss.n_outputs > 1 else shares[:, 0], loss, lambda_)


KINDS = ["separable", "random", "soft", "unequal", "same"]


class Counted:
    """`evaluate` with a count and the longest point it was asked for."""

    def __init__(self) -> None:
        self.n_steps = 0
        self.longest = 0.0

    def __call__(self, risk: Risk, w: Array) -> Iterate:
        self.n_steps += 1
        self.longest = max(self.longest, float(np.linalg.norm(w)))
        return evaluate(risk, w)


# --- arrival --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_arrives_within_its_bound(kind: str, loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    for lambda_ in (10.0, 1e-1, 1e-3):
        risk = problem(kind, loss, lambda_)
        for tolerance in (tightest_tolerance(risk.shape), 1e-6):
            counted = Counted()
            monkeypatch.setattr(MODULE, "evaluate", counted)
            end = accelerate(risk, tolerance)
            assert end.gradient_bound <= tolerance
            assert counted.n_steps <= step_bound(risk.shape, tolerance)
            assert counted.longest <= visited_norm(risk.shape)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("kind", ["separable", "same"])
def test_arrives_for_a_flat_risk(kind: str, loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    risk = problem(kind, loss, 1e-5, n=8, d=2)
    counted = Counted()
    monkeypatch.setattr(MODULE, "evaluate", counted)
    tolerance = default_tolerance(risk.shape)
    assert accelerate(risk, tolerance).gradient_bound <= tolerance
    assert counted.n_steps <= step_bound(risk.shape, tolerance)
    assert counted.longest <= visited_norm(risk.shape)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_minimise_falls_back_when_newton_stands_still(
    kind: str, loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        solve, "newton", lambda risk, tolerance, direction, start: evaluate(risk, start)
    )
    risk = problem(kind, loss, 1e-2)
    solution = minimise(risk)
    assert solution.route == "accelerated"
    assert solution.gradient_bound <= default_tolerance(risk.shape)
    monkeypatch.undo()
    by_newton = minimise(risk)
    assert by_newton.route == "newton"
    apart = float(np.linalg.norm(solution.point - by_newton.point))
    assert apart <= solution.distance_bound + by_newton.distance_bound


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_plain_steps_arrive_alone(loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    risk = problem("soft", loss, 0.1)
    tolerance = tightest_tolerance(risk.shape)
    monkeypatch.setattr(MODULE, "accelerated_steps", lambda shape: 0)
    monkeypatch.setattr(MODULE, "plain_steps", lambda shape, tolerance: 10**5)
    assert accelerate(risk, tolerance).gradient_bound <= tolerance


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("lambda_", [1.0, 0.05])
def test_plain_steps_from_the_promised_gap_keep_their_number(loss: Loss, lambda_: float) -> None:
    """The start is 25e²/(λθ) above the minimum at most, as the accelerated steps leave it."""
    risk = problem("soft", loss, lambda_)
    shape = risk.shape
    tolerance = tightest_tolerance(shape)
    gap = 25.0 * step_error(shape) ** 2 / (lambda_ * theta_of(shape))
    rng = np.random.default_rng(1)
    for _ in range(5):
        away = rng.standard_normal(risk.zero().shape)
        x = minimise(risk).point + np.sqrt(2.0 * gap / shape.smoothness) * away / np.linalg.norm(
            away
        )
        for _step in range(plain_steps(shape, tolerance)):
            here = evaluate(risk, x)
            if here.gradient_bound <= tolerance:
                break
            x = here.w - here.gradient / shape.smoothness
        assert here.gradient_bound <= tolerance


def test_a_broken_step_bound_does_not_pass_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MODULE, "accelerated_steps", lambda shape: 3)
    monkeypatch.setattr(MODULE, "plain_steps", lambda shape, tolerance: 3)
    with pytest.raises(AssertionError, match="unreachable"):
        accelerate(problem("random", Logistic(), 1e-3), 1e-10)


# --- the potential, measured ----------------------------------------------------------------------

Direction = Callable[[Array, Array, np.random.Generator], Array]
"""(exact gradient, distance from the minimiser, generator) to where the injected error points."""

DIRECTIONS: dict[str, Direction] = {
    "random": lambda gradient, away, rng: rng.standard_normal(away.shape),
    "always the same": lambda gradient, away, rng: np.ones_like(away),
    "outwards": lambda gradient, away, rng: -away,
    "inwards": lambda gradient, away, rng: away,
    "against the gradient": lambda gradient, away, rng: -gradient,
}


class Injected:
    """`evaluate` with an error of length e added to the gradient; ends after n steps.

    It keeps every point and answer.
    """

    def __init__(self, minimiser: Array, error: float, direction: str, n_steps: int) -> None:
        self.minimiser, self.error, self.n_steps = minimiser, error, n_steps
        self.direction = DIRECTIONS[direction]
        self.rng = np.random.default_rng(0)
        self.seen: list[tuple[Array, Array]] = []

    def __call__(self, risk: Risk, w: Array) -> Iterate:
        here = evaluate(risk, w)
        pointing = self.direction(here.gradient, w - self.minimiser, self.rng)
        length = float(np.linalg.norm(pointing))
        wrong = here.gradient + (self.error / length * pointing if length > 0.0 else 0.0)
        self.seen.append((w, wrong))
        bound = 0.0 if len(self.seen) == self.n_steps else np.inf
        return dataclasses.replace(here, gradient=wrong, gradient_bound=bound)


def potentials(risk: Risk, injected: Injected, theta: float) -> list[float]:
    """Φ along the run, its points rebuilt from what the run asked for."""
    lowest = risk.value(injected.minimiser, risk.scores(injected.minimiser))
    smoothness, convexity = 2.0 * risk.shape.smoothness, 0.5 * risk.shape.lambda_
    x = v = risk.zero()
    out = []
    for y, gradient in injected.seen:
        assert np.linalg.norm(y - (x + theta * v) / (1.0 + theta)) <= 1e-9 * (
            1.0 + np.linalg.norm(y)
        )
        away = v - injected.minimiser
        out.append(
            risk.value(x, risk.scores(x)) - lowest + 0.5 * convexity * float(np.vdot(away, away))
        )
        x = y - gradient / smoothness
        v = (1.0 - theta) * v + theta * y - (theta / convexity) * gradient
    return out


def excess(
    risk: Risk, error: float, direction: str, used: float, monkeypatch: pytest.MonkeyPatch
) -> tuple[float, ...]:
    """By how much Φ⁺ exceeds three bounds, at worst.

    They are (1−θ)Φ + 1.5e²/λ, (1−3θ/4)Φ + 7.5e²/λ, and (1−3θ/4)Φ.
    """
    shape = risk.shape
    theta, per_step = theta_of(shape), error**2 / shape.lambda_
    injected = Injected(minimise(risk).point, error, direction, n_steps=120)
    monkeypatch.setattr(MODULE, "evaluate", injected)
    monkeypatch.setattr(MODULE, "_theta", lambda shape: used)
    monkeypatch.setattr(MODULE, "accelerated_steps", lambda shape: 10**6)
    accelerate(risk, 0.0)
    phi = np.array(potentials(risk, injected, used))
    before, after = phi[:-1], phi[1:]
    return (
        float(np.max(after - (1.0 - theta) * before - 1.5 * per_step)),
        float(np.max(after - (1.0 - 0.75 * theta) * before - 7.5 * per_step)),
        float(np.max(after - (1.0 - 0.75 * theta) * before)),
    )


BLUR = 1e-13
"""Rounding of the measured potential itself."""


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_potential_contracts_whatever_the_errors(
    direction: str, kind: str, loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    for lambda_ in (1.0, 1e-2, 1e-3):
        for error in (0.0, 1e-4, 1e-2):
            risk = problem(kind, loss, lambda_)
            one_step, promised, _ = excess(
                risk, error, direction, theta_of(risk.shape), monkeypatch
            )
            monkeypatch.undo()
            assert one_step <= BLUR
            assert promised <= BLUR


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("factor", [2.0, 4.0])
def test_wrong_momentum_is_caught(
    loss: Loss, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    risk = problem("same", loss, 1e-3)
    one_step, promised, _ = excess(risk, 1e-8, "random", factor * theta_of(risk.shape), monkeypatch)
    assert one_step > 1e-4
    assert promised > 1e-4


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), Softmax(3)], ids=str)
def test_forgetting_the_errors_is_caught(loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    risk = problem("random", loss, 1.0)
    *_, forgotten = excess(risk, 1e-2, "always the same", theta_of(risk.shape), monkeypatch)
    assert forgotten > 1e-6


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("lambda_", [10.0, 1e-2, 1e-5])
def test_forming_the_points_errs_by_less_than_is_counted(loss: Loss, lambda_: float) -> None:
    """L‖ξ_x‖ ≤ 0.35e and √(λL/2)·‖ξ_v‖ ≤ 0.3e, at the longest points and largest gradients."""
    shape = RiskShape(n_samples=30, n_features=3, row_terms=3, loss=loss, lambda_=lambda_)
    radius, smoothness, error = visited_norm(shape), shape.smoothness, step_error(shape)
    theta = MODULE._theta(shape)
    rng = np.random.default_rng(0)
    for _ in range(20):
        x, v, gradient = (
            size * _unit(rng, 6) for size in (radius, radius, loss.slope_bound + lambda_ * radius)
        )
        y = (x + theta * v) / (1.0 + theta)
        x_next = y - gradient / (2.0 * smoothness)
        v_next = (1.0 - theta) * v + theta * y - (theta / (0.5 * lambda_)) * gradient
        with mpmath.workdps(50):
            lam, big = mpmath.mpf(lambda_), mpmath.mpf(smoothness)
            exact = mpmath.sqrt(lam / (4 * big))
            xs, vs, gs, ys = (mpmath.matrix(array.tolist()) for array in (x, v, gradient, y))
            xi_y = (1 + exact) * (ys - (xs + exact * vs) / (1 + exact))
            xi_x = mpmath.matrix(x_next.tolist()) - (ys - gs / (2 * big))
            xi_v = mpmath.matrix(v_next.tolist()) - (
                (1 - exact) * vs + exact * ys - (2 * exact / lam) * gs
            )
            assert big * (mpmath.norm(xi_x) + mpmath.norm(xi_y)) <= 0.35 * error
            assert mpmath.sqrt(lam * big / 2) * mpmath.norm(xi_v) <= 0.3 * error


def _unit(rng: np.random.Generator, n: int) -> Array:
    direction = rng.standard_normal(n)
    return direction / np.linalg.norm(direction)


# --- what the bound depends on --------------------------------------------------------------------


def test_step_bound_is_known_before_any_label_is_seen() -> None:
    assert list(inspect.signature(step_bound).parameters) == ["shape", "tolerance"]
    known = {field.name for field in dataclasses.fields(RiskShape)}
    assert known == {"n_samples", "n_features", "row_terms", "loss", "lambda_"}
    one, other = (
        problem(kind, Softmax(3), 1e-3, seed=seed) for kind, seed in (("soft", 1), ("separable", 2))
    )
    assert one.shape == other.shape
    assert step_bound(one.shape, 1e-9) == step_bound(other.shape, 1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_step_bound_grows_as_more_is_asked(loss: Loss) -> None:
    shape = RiskShape(n_samples=1000, n_features=10, row_terms=10, loss=loss, lambda_=1e-3)
    bounds = [
        step_bound(shape, factor * tightest_tolerance(shape)) for factor in (1.0, 10.0, 1000.0)
    ]
    assert bounds == sorted(bounds, reverse=True)
    assert min(bounds) >= accelerated_steps(shape) + 1


def test_step_bound_of_an_unpromised_tolerance_is_refused() -> None:
    shape = RiskShape(n_samples=1000, n_features=10, row_terms=10, loss=Logistic(), lambda_=1e-3)
    with pytest.raises(
        ParameterError, match=r"tolerance = .* is not allowed.*or more for this risk"
    ):
        step_bound(shape, 0.99 * tightest_tolerance(shape))


def test_lambda_too_small_for_doubles_is_refused() -> None:
    shape = RiskShape(n_samples=1000, n_features=10, row_terms=10, loss=Logistic(), lambda_=1e-14)
    with pytest.raises(
        ParameterError, match=r"lambda = 1e-14 is not allowed.*too flat for doubles"
    ):
        tightest_tolerance(shape)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_whatever_is_not_refused_is_above_its_rounding_floor(loss: Loss) -> None:
    """The induction of the proof: twice the floor is below ℓ(0)/50, so no point leaves the ball."""
    for lambda_ in 10.0 ** np.arange(-14.0, 6.0):
        shape = RiskShape(
            n_samples=10**6, n_features=100, row_terms=100, loss=loss, lambda_=float(lambda_)
        )
        try:
            tightest = tightest_tolerance(shape)
        except ParameterError:
            continue
        error = step_error(shape)
        assert tightest >= 8.0 * error
        assert 12.5 * error**2 / (lambda_ * theta_of(shape)) <= 0.0101 * loss.value_at_zero
