"""How far a share can be trusted that was computed from noisy sums: intervals at 95 %.

    letter  name here        meaning
    R, W    right, wrong     noisy means over all M units: of the share of a unit's rows that are
                             right, and of the share that are wrong; both 0 for one without rows
    T       –                R + W, the share of units that have rows, as far as noise lets see
    a       –                what is asked for: R/T without noise, the mean over units with rows
    σ_R²    right_variance   variance of the noise in R; σ_W² in W
    z       REACH            how many deviations the interval reaches

Guarantee (intervals.proof.md): the interval holds the share for all units like these 19 times out
of 20 or more, whatever the shares are, up to the normal approximation for which units took part;
for the units that took part it is wider than needed. Everything is computed from released numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

__all__ = ["REACH", "Estimate", "average", "find_share"]

REACH = math.log(20.0) / math.sqrt(2.0)
"""2.118: what a single Laplace variable exceeds once in 20 times, in deviations; a normal one, or a
sum of several, exceeds it less often."""
LARGEST = 1e60
"""Beyond it a noisy number is taken for this one: squares of squares must not overflow."""


@final
@dataclass(frozen=True, slots=True)
class Estimate:
    """A share, and between what it lies 19 times out of 20."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.1%} (19 times out of 20 between {self.low:.1%} and {self.high:.1%})"


def find_share(
    right: float, wrong: float, right_variance: float, wrong_variance: float, n_units: int
) -> Estimate | None:
    """R/(R+W) with its interval; None where noise leaves open whether there are rows at all.

    The shares a for which (1−a)R − aW is no further from 0 than z of its deviations: a quadratic
    inequality A·a² + B·a + C ≤ 0   [Fieller 1954; with a(1−a) of sampling, Wilson 1927].
    """
    R, W = (min(max(each, -LARGEST), LARGEST) for each in (right, wrong))
    T, z = R + W, REACH
    sampling = min(max(T, 0.0), 1.0) / n_units
    A = T * T - z * z * (right_variance + wrong_variance - sampling)
    if not z * math.sqrt(right_variance + wrong_variance) < T:
        return None
    B = -2.0 * R * T - z * z * (sampling - 2.0 * right_variance)
    C = R * R - z * z * right_variance
    value = min(max(R / T, 0.0), 1.0)
    root = math.sqrt(max(B * B - 4.0 * A * C, 0.0))
    low, high = ((-B + sign * root) / (2.0 * A) for sign in (-1.0, 1.0))
    if not (low <= 1.0 and high >= 0.0 and root > 0.0):
        # No share explains these numbers well: once in 40 times noise pushes one beyond 0 or 1.
        spread = z * math.sqrt(right_variance + wrong_variance) / T
        low, high = value - spread, value + spread
    return Estimate(value, max(0.0, min(low, value)), min(1.0, max(high, value)))


def average(estimates: Sequence[Estimate]) -> Estimate:
    """Their mean: what they are off by is added up in squares, each side for itself.

    [Zou, Donner 2008]
    """
    n = len(estimates)
    value = math.fsum(each.value for each in estimates) / n
    below = math.sqrt(math.fsum((each.value - each.low) ** 2 for each in estimates)) / n
    above = math.sqrt(math.fsum((each.high - each.value) ** 2 for each in estimates)) / n
    return Estimate(value, max(0.0, value - below), min(1.0, value + above))
