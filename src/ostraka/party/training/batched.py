"""Many small linear problems at once: every party's own logistic or softmax classifier, certified.

    letter  name here   meaning
    n, d    –           samples and features of one party; n is small, d may be larger
    G       gram        XXᵀ of one party
    A       dual        w = XᵀA: a minimiser lies in the span of its samples, so A (n numbers per
                        output) determines it
    V       –           (∂ℓ/∂z)/n + λA: the gradient is XᵀV, and its squared norm ⟨V, GV⟩
    S       –           a root of the curvature of one sample: ∂²ℓ/∂z² = n·SSᵀ

Newton's step in A is (V − S(SᵀGS + λI)⁻¹SᵀGV)/λ, a system of size n (binary) or nK (softmax)
instead of d or dK. One compiled loop runs over the parties on all cores, and saves what a general
solver spends on calls and checks for each problem.

Guarantee: every returned vector has ‖∇R‖ ≤ tolerance, rounding included. The gradient is evaluated
again at the returned weights, with its rounding bounded as in solve/risk.py. A party that does not
reach the tolerance is handed to the general solver, which always does.

Without numba (extra `experiments`) the general solver does everything.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.party.training.linear import train_features
from ostraka.public.classes import Indices
from ostraka.solve import RiskShape
from ostraka.solve.losses import Array, loss_for
from ostraka.solve.risk import gamma

__all__ = ["can_batch", "train_batched"]

LARGEST_SYSTEM = 256
"""Parties with a larger Newton system go to the general solver, which is as fast for them."""
TOLERANCE = 1e-9


def can_batch(features: Any, loss: str) -> bool:
    """Whether features are dense, the loss is smooth and numba is installed."""
    return not hasattr(features, "tocsr") and loss == "logistic" and find_spec("numba") is not None


def train_batched(
    features: Array,
    labels: Indices,
    starts: NDArray[np.intp],
    n_classes: int,
    lambda_: float,
    tolerance: float = TOLERANCE,
) -> Array:
    """The weights of every party: (M, d) for two classes, (M, d, K) for more.

    Rows starts[j]:starts[j+1] are those of party j. A party without rows has the weights 0, which
    minimise what is left of its risk.
    """
    features = np.ascontiguousarray(features, dtype=np.float64)
    n_parties, d = len(starts) - 1, features.shape[1]
    outputs = 1 if n_classes == 2 else n_classes
    weights = np.zeros((n_parties, d, outputs))
    norms = np.full(n_parties, np.inf)
    sizes = np.diff(starts)
    small = (sizes > 0) & (sizes * outputs <= LARGEST_SYSTEM)
    shares = labels.astype(np.float64)[:, None] if outputs == 1 else np.eye(n_classes)[labels]
    # Compiled when first used, then kept on disk.
    from ostraka.party.training.kernels import all_parties

    all_parties(
        features, shares, np.asarray(starts), small, lambda_, 0.1 * tolerance, weights, norms
    )
    weights = weights[:, :, 0] if outputs == 1 else weights
    solved = _bounds(weights, norms, sizes, n_classes, lambda_) <= tolerance
    for party in np.flatnonzero((sizes > 0) & ~solved):
        rows = slice(starts[party], starts[party + 1])
        weights[party] = train_features(
            features[rows], labels[rows], n_classes, lambda_, "logistic"
        )
    return weights


def _bounds(
    weights: Array, norms: Array, sizes: NDArray[np.intp], n_classes: int, lambda_: float
) -> Array:
    """Certified gradient norms: what was computed, plus what rounding may have hidden."""
    loss, d = loss_for(n_classes), weights.shape[1]
    lengths = np.sqrt((weights.reshape(len(weights), -1) ** 2).sum(axis=1)) * (
        1.0 + gamma(weights[0].size + 8)
    )
    bounds = norms * (1.0 + gamma(weights[0].size + 8))
    for size in np.unique(sizes[sizes > 0]):
        shape = RiskShape(
            n_samples=int(size), n_features=d, row_terms=d, loss=loss, lambda_=lambda_
        )
        here = sizes == size
        at_zero, at_one = shape.gradient_rounding(0.0), shape.gradient_rounding(1.0)
        # The rounding is linear in ‖w‖, for each party separately.
        bounds[here] += (at_zero + (at_one - at_zero) * lengths[here]) * (1.0 + 1e-9)
    return bounds
