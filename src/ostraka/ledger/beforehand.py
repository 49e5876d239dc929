"""For information only: what releases would cost together if all were fixed before the first.

Composes privacy-loss distributions (dp-accounting), estimated pessimistically, and never reports
more than the plain sum of the ε. It is not a rule for spending: the theorem behind it needs costs
that do not depend on earlier releases, and its numbers are doubles.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from ostraka.errors import InputError, number
from ostraka.ledger.amounts import Cost

__all__ = ["compose_epsilon"]

STEP = 1e-4
"""Distance of the losses that are told apart; each loss is rounded up."""


def compose_epsilon(costs: Iterable[Cost], delta: float) -> float:
    """An ε such that the releases together are (ε, δ)-DP, if their costs were fixed beforehand."""
    counted = Counter(costs)
    allowed = number(
        "delta", delta, math.ulp(0.0), math.nextafter(1.0, 0.0), "a number above 0 and below 1"
    )
    if not counted:
        return 0.0
    parts = [_distribution(cost).self_compose(n) for cost, n in counted.items()]
    together = functools.reduce(lambda a, b: a.compose(b), parts)
    return min(float(together.get_epsilon_for_delta(allowed)), _sum_up(counted, allowed))


def _sum_up(counted: Counter[Cost], allowed: float) -> float:
    """The plain sum of the ε, if that of the δ is allowed."""
    if any(cost.epsilon is None for cost in counted):
        return math.inf
    deltas = sum(n * Fraction(cost.delta or 0.0) for cost, n in counted.items())
    epsilons = float(sum(n * Fraction(cost.epsilon or 0.0) for cost, n in counted.items()))
    return math.nextafter(epsilons, math.inf) if deltas <= Fraction(allowed) else math.inf


def _distribution(cost: Cost) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as pld
    from dp_accounting.pld.common import DifferentialPrivacyParameters

    if cost.gaussian and cost.rho is not None:
        # ρ = Δ²/(2σ²) with Δ = 1: σ = 1/√(2ρ), rounded down
        sigma = math.nextafter(1.0 / math.sqrt(2.0 * cost.rho), 0.0) * (1.0 - 1e-15)
        return pld.from_gaussian_mechanism(
            sigma, pessimistic_estimate=True, value_discretization_interval=STEP
        )
    if cost.epsilon is None:
        raise InputError(
            f"A release of {cost} has no (ε, δ) of its own, and its noise is not known to be "
            "Gaussian.",
            "Only costs with ε, or Gaussian ones, have a figure of this kind.",
        )
    return pld.from_privacy_parameters(
        DifferentialPrivacyParameters(cost.epsilon, cost.delta or 0.0),
        value_discretization_interval=STEP,
    )
