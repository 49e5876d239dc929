"""The certified minimiser of a regularised risk.

`minimise(risk, tolerance)` always returns a point with ‖∇R‖ ≤ tolerance, rounding included, for
every tolerance of `tightest_tolerance(shape)` or more; the tolerance is fixed from public numbers
before any label is seen.
"""

from __future__ import annotations

from ostraka.solve.accelerated import accelerate, check_tolerance, step_bound, tightest_tolerance
from ostraka.solve.losses import Array
from ostraka.solve.newton import conjugate_gradient_direction, exact_direction, newton
from ostraka.solve.risk import Risk, RiskShape
from ostraka.solve.solution import Solution

__all__ = [
    "Risk",
    "RiskShape",
    "Solution",
    "default_tolerance",
    "minimise",
    "step_bound",
    "tightest_tolerance",
]

MAX_DENSE_WEIGHTS = 2000
"""Up to this many weights the Hessian is formed; beyond, it is only multiplied with."""
WARM_START_ROWS = 8192
"""Sets several times this size are first solved on a thinned set of about this many rows."""


def default_tolerance(shape: RiskShape) -> float:
    """τ: 1e-10, or the tightest that double precision can promise for this shape."""
    return max(1e-10, tightest_tolerance(shape))


def minimise(risk: Risk, tolerance: float | None = None) -> Solution:
    """The minimiser of `risk`, to a gradient norm of at most `tolerance`."""
    if tolerance is None:
        tolerance = default_tolerance(risk.shape)
    check_tolerance(risk.shape, tolerance)
    dense = risk.zero().size <= MAX_DENSE_WEIGHTS
    direction = exact_direction if dense else conjugate_gradient_direction
    route = "newton" if dense else "newton-cg"
    end = newton(risk, tolerance, direction, _warm_start(risk))
    if not end.gradient_bound <= tolerance:
        end, route = accelerate(risk, tolerance), "accelerated"
    return Solution(
        point=end.w, gradient_bound=end.gradient_bound, lambda_=risk.lambda_, route=route
    )


def _warm_start(risk: Risk) -> Array:
    """Zero, or for many rows the rough minimiser of every s-th row, to save full steps."""
    stride = risk.shape.n_samples // WARM_START_ROWS
    if stride < 3:
        return risk.zero()
    thinned = Risk(risk.features[::stride], risk.labels[::stride], risk.loss, risk.lambda_)
    dense = risk.zero().size <= MAX_DENSE_WEIGHTS
    direction = exact_direction if dense else conjugate_gradient_direction
    start = newton(thinned, 1e-4, direction, risk.zero()).w
    at_zero, at_start = (risk.value(w, risk.scores(w)) for w in (risk.zero(), start))
    return start if at_start < at_zero else risk.zero()
