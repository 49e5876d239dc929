"""All private rows in one place, with scikit-learn's logistic regression: a mark to aim at.

NOT private.

Guarantee: none; ε and δ are ignored, and every draw is the same. Trust: whoever holds the pool
sees everything. Tuning: for free, the best of a few regularisers by test accuracy.

The promise of differentially private training on pooled data (DP-SGD, diffprivlib) is about one
SAMPLE. A party with n samples is then protected only by group privacy: n·ε for pure ε. To protect
whole parties it must run at ε/n; see benchmarks/diffprivlib_peer.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ostraka.experiments.noise_trials import qualities
from ostraka.experiments.peers.data import PeerData

__all__ = ["LAMBDAS", "logistic_regression"]

LAMBDAS = (1e-3, 1e-4, 1e-5)
MOST_ITERATIONS = 5000


def logistic_regression(
    data: PeerData,
    epsilon: float,  # noqa: ARG001
    delta: float,  # noqa: ARG001
    generator: np.random.Generator,  # noqa: ARG001
    n_draws: int,
) -> list[float]:
    """The accuracy of the pool, once for every draw."""
    return [best(data)] * n_draws


@lru_cache(maxsize=1)
def best(data: PeerData) -> float:
    """Over the regularisers."""
    return max(_accuracy(data, lambda_) for lambda_ in LAMBDAS)


def _accuracy(data: PeerData, lambda_: float) -> float:
    from sklearn.linear_model import LogisticRegression

    parties, test = data.parties, data.test
    # scikit-learn divides the penalty by it, and adds the losses up.
    strength = 1.0 / (lambda_ * len(parties.labels))
    model = LogisticRegression(C=strength, fit_intercept=False, max_iter=MOST_ITERATIONS).fit(
        parties.features, parties.labels
    )
    weights = model.coef_[0] if len(model.coef_) == 1 else model.coef_.T
    found: float = qualities(weights[np.newaxis], test)[0]
    return found
