"""Casting the ballots of linear classifiers, against the matrix product that it must do."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.timing import best_times
from ostraka.party.training.ensemble import linear_counts
from ostraka.public.auxiliary import AuxiliarySet

__all__ = ["compare"]

N_CLASSIFIERS = 5_000
BLOCK = 2048


def compare(auxiliary: AuxiliarySet) -> list[dict[str, Any]]:
    """Seconds for both, and their ratio."""
    weights = np.random.default_rng(0).standard_normal((N_CLASSIFIERS, auxiliary.n_features))
    transposed = np.ascontiguousarray(weights.T)
    scores = np.empty((BLOCK, N_CLASSIFIERS))

    def product() -> None:
        for start in range(0, auxiliary.n_samples, BLOCK):
            block = auxiliary.features[start : start + BLOCK]
            np.matmul(block, transposed, out=scores[: len(block)])

    seconds = best_times(
        {"product": product, "ballots": lambda: linear_counts(weights, auxiliary.features, 2)}
    )
    return [
        {"work": name, "seconds": took, "times_product": took / seconds["product"]}
        for name, took in seconds.items()
    ]
