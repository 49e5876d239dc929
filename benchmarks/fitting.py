"""`PrivateClassifier.fit` with a scikit-learn classifier per party, against the bare local fits.

Both use the same workers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.timing import best_times
from ostraka import PrivateClassifier

__all__ = ["compare"]

N_PARTIES, SAMPLES_EACH, N_FEATURES, N_AUXILIARY = 10_000, 20, 20, 500


def _bare(samples: NDArray[np.float64], labels: NDArray[np.int64]) -> None:
    with threadpool_limits(limits=1, user_api="blas"):
        for rows, own in zip(samples, labels, strict=True):
            LogisticRegression(max_iter=1000).fit(rows, own)


def compare() -> list[dict[str, Any]]:
    """Seconds for both, and their ratio."""
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((N_PARTIES, SAMPLES_EACH, N_FEATURES))
    labels = (samples[:, :, 0] + 0.5 * rng.standard_normal((N_PARTIES, SAMPLES_EACH)) > 0).astype(
        np.int64
    )
    # Every party has both classes, so that both sides train equally often.
    labels[:, 0], labels[:, 1] = 0, 1
    parties = np.repeat(np.arange(N_PARTIES), SAMPLES_EACH)
    public = rng.standard_normal((N_AUXILIARY, N_FEATURES))
    batches = np.array_split(np.arange(N_PARTIES), 32)

    def bare() -> None:
        Parallel(n_jobs=-1)(delayed(_bare)(samples[batch], labels[batch]) for batch in batches)

    def private() -> None:
        model = PrivateClassifier("soft", 1.0, local=LogisticRegression(max_iter=1000))
        model.fit(
            samples.reshape(-1, N_FEATURES), labels.ravel(), parties=parties, auxiliary=public
        )

    seconds = best_times({"bare local fits": bare, "PrivateClassifier.fit": private})
    return [
        {"work": name, "seconds": took, "times_bare": took / seconds["bare local fits"]}
        for name, took in seconds.items()
    ]
