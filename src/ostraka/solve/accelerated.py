"""The solver that always arrives, in a number of steps known in advance.

It takes accelerated gradient steps, then plain ones.

    letter  name here   meaning
    L, λ    shape.smoothness, shape.lambda_
    e       error       rounding error of a gradient step at any point it visits (`step_error`)
    τ       tolerance   what the certified gradient bound must reach
    θ       theta       √(λ/4L): the accelerated contraction rate
    Φ       –           F(x) − F* + (λ/4)‖v − w*‖², the potential that contracts

Guarantee (accelerated.proof.md): for every risk of this shape, every label and every
τ ≥ `tightest_tolerance(shape)`, a point with certified ‖∇R‖ ≤ τ is reached within
`step_bound(shape, τ)` steps, in double precision. Nothing in the bound depends on private data, so
"the solver did not converge" cannot happen, and cannot reveal anything.

Why not Newton alone: its bounds need self-concordance, which the Huber hinge lacks, and say nothing
about rounding.
"""

from __future__ import annotations

import math

from ostraka.errors import ParameterError
from ostraka.solve.losses import UNIT_ROUNDOFF
from ostraka.solve.newton import Iterate, evaluate
from ostraka.solve.risk import Risk, RiskShape

__all__ = [
    "accelerate",
    "step_bound",
    "accelerated_steps",
    "plain_steps",
    "step_error",
    "tightest_tolerance",
    "check_tolerance",
]


def visited_norm(shape: RiskShape) -> float:
    """No point visited is longer than this: (√2 + 2)√(ℓ(0)/λ), and one part in a hundred."""
    return 3.45 * math.sqrt(shape.loss.value_at_zero / shape.lambda_)


def step_error(shape: RiskShape) -> float:
    """e: the errors of the gradient and of forming the next points, as one gradient error."""
    norm = visited_norm(shape)
    forming = (
        32.0 * UNIT_ROUNDOFF * shape.smoothness * (norm + shape.loss.slope_bound / shape.smoothness)
    )
    return shape.gradient_rounding(norm) + forming


def tightest_tolerance(shape: RiskShape) -> float:
    """The smallest τ that is promised: 8e. Refuses a λ for which doubles cannot carry the proof."""
    error = step_error(shape)
    if not 12.5 * error * error <= 0.01 * shape.loss.value_at_zero * shape.lambda_ * _theta(shape):
        raise ParameterError(
            "lambda",
            got=shape.lambda_,
            allowed="a larger number: here the risk is too flat for doubles",
        )
    return 8.0 * error


def check_tolerance(shape: RiskShape, tolerance: float) -> None:
    """Refuse a tolerance that is not promised."""
    tightest = tightest_tolerance(shape)
    if not tolerance >= tightest:
        raise ParameterError(
            "tolerance", got=tolerance, allowed=f"{tightest} or more for this risk"
        )


def step_bound(shape: RiskShape, tolerance: float) -> int:
    """How many steps suffice for every input."""
    check_tolerance(shape, tolerance)
    return accelerated_steps(shape) + plain_steps(shape, tolerance)


def accelerated_steps(shape: RiskShape) -> int:
    """Steps after which Φ ≤ 25e²/(λθ), twice its floor."""
    theta, error = _theta(shape), step_error(shape)
    floor = 12.5 * error**2 / (shape.lambda_ * theta)
    return math.ceil(4.0 / (3.0 * theta) * math.log(shape.loss.value_at_zero / floor)) + 1


def plain_steps(shape: RiskShape, tolerance: float) -> int:
    """Gradient steps from there.

    While the test fails, each lowers R by at least 0.49·τ(τ−4e)/L, and by at least a share λ/2L of
    what is left.
    """
    theta, error, smoothness = _theta(shape), step_error(shape), shape.smoothness
    gap = 25.0 * error**2 / (shape.lambda_ * theta)
    fall = 0.49 * tolerance * (tolerance - 4.0 * error) / smoothness
    by_falls = gap / fall
    by_shares = 2.0 * smoothness / shape.lambda_ * math.log(max(gap / fall, 1.0)) + 1.0
    return math.ceil(min(by_falls, by_shares)) + 1


def accelerate(risk: Risk, tolerance: float) -> Iterate:
    """A point whose certified gradient bound is at most `tolerance`."""
    shape = risk.shape
    theta = _theta(shape)
    # The constants of the inexact oracle: see the proof.
    smoothness, convexity = 2.0 * shape.smoothness, 0.5 * shape.lambda_
    x = v = risk.zero()
    for _ in range(accelerated_steps(shape)):
        here = evaluate(risk, (x + theta * v) / (1.0 + theta))
        if here.gradient_bound <= tolerance:
            return here
        x = here.w - here.gradient / smoothness
        v = (1.0 - theta) * v + theta * here.w - (theta / convexity) * here.gradient
    for _ in range(plain_steps(shape, tolerance)):
        here = evaluate(risk, x)
        if here.gradient_bound <= tolerance:
            return here
        x = here.w - here.gradient / shape.smoothness
    raise AssertionError("unreachable: the step bound is proved in accelerated.proof.md")


def _theta(shape: RiskShape) -> float:
    return math.sqrt(shape.lambda_ / (4.0 * shape.smoothness))
