"""The largest ρ whose zCDP implies (ε, δ)-differential privacy, certified.

    α  alpha  order of the Rényi divergence; any α > 1 gives a bound

Source: Canonne, Kamath, Steinke 2020, Corollary 13: δ ≤ exp((α−1)(αρ−ε))·(1−1/α)^(α−1)/α.
Proof: `book.proof.md` (d).
"""

from __future__ import annotations

import math

from flint import arb, ctx

from ostraka.errors import ParameterError

__all__ = ["implies", "largest_rho"]

N_BITS = 160


def largest_rho(epsilon: float, delta: float) -> float:
    """A double for which `implies` holds, directly below one for which it was not shown."""
    lower, upper = 0.0, epsilon
    while implies(upper, epsilon, delta):
        lower, upper = upper, 2 * upper
    while lower < (middle := lower + (upper - lower) / 2) < upper:
        lower, upper = (middle, upper) if implies(middle, epsilon, delta) else (lower, middle)
    if lower == 0.0:
        allowed = "such that some double ρ above 0 implies them"
        raise ParameterError("epsilon, delta", got=(epsilon, delta), allowed=allowed)
    return lower


def implies(rho: float, epsilon: float, delta: float) -> bool:
    """Whether ρ-zCDP is shown to be (ε, δ)-DP, at the order that looks best in doubles."""
    alpha = _best_order(rho, epsilon)
    before = ctx.prec
    ctx.prec = N_BITS
    try:
        a, r, e = arb(alpha), arb(rho), arb(epsilon)
        # log δ = (α−1)(αρ − ε + log(1 − 1/α)) − log α
        log_delta = (a - 1) * (a * r - e + (1 - 1 / a).log()) - a.log()
        # True only if it holds for every point of both balls.
        return bool(log_delta <= arb(delta).log())
    finally:
        ctx.prec = before


def _best_order(rho: float, epsilon: float) -> float:
    """Where the derivative (2α−1)ρ − ε + log(1−1/α), which increases, changes its sign.

    Whatever it returns is above 1.
    """
    lower, upper = -28.0, 42.0  # log(α−1)
    for _ in range(100):
        middle = (lower + upper) / 2
        alpha = 1.0 + math.exp(middle)
        falls = (2 * alpha - 1) * rho - epsilon + math.log1p(-1 / alpha) < 0
        lower, upper = (middle, upper) if falls else (lower, middle)
    return 1.0 + math.exp(lower)
