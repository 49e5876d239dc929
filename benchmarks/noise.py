"""What exactness costs: the exact ℓ2 draw against the fast one in doubles.

Also a certified calibration against an exact draw.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.timing import best_times
from ostraka.mechanism import Entropy, L2Noise, Rehearsal, RoundedGaussian, l2_delta

__all__ = ["calibrations", "compare"]


def compare() -> list[dict[str, Any]]:
    """Seconds per draw, by dimension."""
    rows = []
    for dimension in (10, 121, 300, 1000):
        noise = L2Noise(scale=1.0, spacing=2.0**-24, dimension=dimension)
        runs = {
            "exact": partial(noise.draw, Entropy()),
            "doubles": partial(noise.draw, Rehearsal(0)),
        }
        seconds = best_times(runs, rounds=5)
        rows.append(
            {
                "dimension": dimension,
                "exact_seconds": seconds["exact"],
                "times_doubles": seconds["exact"] / seconds["doubles"],
            }
        )
    return rows


def calibrations() -> list[dict[str, Any]]:
    """Finding the scale for ε = 1, δ = 1e-6, by dimension: ℓ2 noise, a Gaussian, and an ℓ2 draw."""
    rows = []
    for dimension in (3, 50, 250, 1000):
        noise = L2Noise(scale=1.0, spacing=2.0**-24, dimension=dimension)

        def uncached(dimension: int = dimension) -> float:
            l2_delta._unit_scale.cache_clear()
            return l2_delta.l2_scale(1.0, 1e-6, 1.0, dimension)

        seconds = best_times(
            {
                "l2": uncached,
                "gaussian": partial(RoundedGaussian.for_epsilon_delta, 1.0, 1e-6, 1.0, dimension),
                "draw": partial(noise.draw, Entropy()),
            },
            rounds=3,
        )
        rows.append(
            {
                "dimension": dimension,
                "l2_seconds": seconds["l2"],
                "times_gaussian": seconds["l2"] / seconds["gaussian"],
                "times_a_draw": seconds["l2"] / seconds["draw"],
            }
        )
    return rows
