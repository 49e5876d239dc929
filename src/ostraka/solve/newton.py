"""The fast solvers: Newton's method with the exact Hessian, or with conjugate gradients.

The first is for few weights, the second for many. Neither promises to arrive (accelerated.py does);
each stops as soon as the certified gradient bound is small enough, or gives up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ostraka.solve.losses import UNIT_ROUNDOFF, Array
from ostraka.solve.risk import Risk, gamma

__all__ = ["Iterate", "evaluate", "newton", "exact_direction", "conjugate_gradient_direction"]

MAX_STEPS = 1000
"""The Huber hinge with a narrow corner may need hundreds; the fall-back would need far more."""
MAX_HALVINGS = 60
"""Where all curvature but λ is gone, the full step is up to L/λ times too long."""
MAX_PRODUCTS = 2000
PATIENCE = 5
"""Steps without a smaller gradient or risk before giving up: at the floor of doubles."""

Direction = Callable[[Risk, "Iterate"], Array]


@dataclass(frozen=True, slots=True)
class Iterate:
    """A point with everything known about it."""

    w: Array
    z: Array
    gradient: Array
    gradient_bound: float
    """‖∇R(w)‖ at most, rounding included."""


def evaluate(risk: Risk, w: Array, z: Array | None = None) -> Iterate:
    """The gradient at w, with the bound that a certificate may use.

    z, if given, must be the product Xw itself.
    """
    z = risk.scores(w) if z is None else z
    gradient = risk.gradient(w, z)
    slack = 1.0 + gamma(w.size + 8)
    norm = float(np.linalg.norm(gradient)) * slack
    return Iterate(
        w, z, gradient, norm + risk.shape.gradient_rounding(float(np.linalg.norm(w)) * slack)
    )


def newton(risk: Risk, tolerance: float, direction: Direction, start: Array) -> Iterate:
    """Damped Newton from `start`: the best point met, whether or not it reaches the tolerance."""
    here = best = evaluate(risk, start)
    value = lowest = risk.value(here.w, here.z)
    idle = 0
    for _ in range(MAX_STEPS):
        if best.gradient_bound <= tolerance or idle > PATIENCE:
            break
        step = direction(risk, here)
        if not np.all(np.isfinite(step)):
            break
        here, value = _line_search(risk, here, value, step)
        gained = here.gradient_bound < best.gradient_bound or value < lowest - _blur(value)
        idle = 0 if gained else idle + 1
        lowest = min(lowest, value)
        best = min(best, here, key=lambda point: point.gradient_bound)
    return best


def _line_search(risk: Risk, here: Iterate, value: float, step: Array) -> tuple[Iterate, float]:
    """Halve the step until the risk falls enough; below what doubles resolve, any step will do."""
    fall = float(np.vdot(here.gradient, step))
    size = 1.0
    for _ in range(MAX_HALVINGS):
        w = here.w - size * step
        z = risk.scores(w)
        reached = risk.value(w, z)
        if reached <= value - 1e-4 * size * fall + _blur(value):
            break
        size *= 0.5
    return evaluate(risk, w, z), reached


def _blur(value: float) -> float:
    """Differences of risks below this are rounding."""
    return 64.0 * UNIT_ROUNDOFF * (1.0 + abs(value))


def exact_direction(risk: Risk, here: Iterate) -> Array:
    """H⁻¹g by Cholesky."""
    hessian = risk.hessian(risk.curvature(here.z))
    try:
        factor = cho_factor(hessian, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:  # λ below the rounding of H: take the gradient's own direction
        return here.gradient / risk.shape.smoothness
    step: Array = cho_solve(factor, here.gradient.ravel(), check_finite=False).reshape(here.w.shape)
    return step


def conjugate_gradient_direction(risk: Risk, here: Iterate) -> Array:
    """H⁻¹g to a relative accuracy that grows as the gradient falls (an inexact Newton step)."""
    product = risk.hessian_product(risk.curvature(here.z))
    norm = float(np.linalg.norm(here.gradient))
    target = norm * max(1e-8, min(0.1, np.sqrt(norm)))
    step = np.zeros_like(here.w)
    residual = here.gradient.copy()
    search = residual.copy()
    squared = float(np.vdot(residual, residual))
    for _ in range(MAX_PRODUCTS):
        if squared <= target**2:
            break
        image = product(search)
        size = squared / float(np.vdot(search, image))
        step += size * search
        residual -= size * image
        squared, previous = float(np.vdot(residual, residual)), squared
        search = residual + (squared / previous) * search
    return step
