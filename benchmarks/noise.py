"""The exact ℓ2 draw against the fast rehearsal in doubles: what exactness costs."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.timing import best_times
from ostraka.noise import Entropy, L2Noise, Rehearsal

__all__ = ["compare"]


def compare() -> list[dict[str, Any]]:
    """Seconds per draw, by dimension."""
    rows = []
    for dimension in (10, 121, 300, 1000):
        noise = L2Noise(scale=1.0, spacing=2.0**-24, dimension=dimension)
        runs = {"exact": partial(noise.draw, Entropy()), "doubles": partial(noise.draw, Rehearsal(0))}
        seconds = best_times(runs, rounds=5)
        rows.append(
            {
                "dimension": dimension,
                "exact_seconds": seconds["exact"],
                "times_doubles": seconds["exact"] / seconds["doubles"],
            }
        )
    return rows
