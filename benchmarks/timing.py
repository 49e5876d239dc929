"""Side-by-side timing: every contender in turn, several rounds, the best time of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

__all__ = ["best_times"]


def best_times(contenders: Mapping[str, Callable[[], object]], rounds: int = 3) -> dict[str, float]:
    """Seconds per contender: the best of several interleaved rounds, so noise hits all alike."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, run in contenders.items():
            start = time.perf_counter()
            run()
            best[name] = min(best[name], time.perf_counter() - start)
    return best
