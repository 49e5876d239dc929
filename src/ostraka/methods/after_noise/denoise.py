"""From a released statistic to a model: costs no budget, as nothing private is left in it.

    letter  name here   meaning
    X       features    the public auxiliary features, N×p, and Φ (`white`) their whitened form, N×k
    Q       contrasts   K×(K−1), orthonormal columns orthogonal to 1
    Y       target      the noisy statistic, k×(K−1): about ΦᵀSQ/N for the soft labels S behind it
    ν       noise       standard deviation of one coordinate of Y
    q       shares      a weight for each row of X, with sum 1: 1/N unless the private rows are
                        distributed differently (`shift`)

A noisy Y need not belong to any labelling. `feasible_labels` finds soft labels whose statistic is
nearest to it. `ridge` fits them, with a penalty that grows with the noise. `self_trained` lets the
model label X once more and fits its own answers, which smooths out what the noise bent. None of
this sees private data, so none of it needs a bound, and a failure of it would only cost accuracy.
"""

from __future__ import annotations

import numpy as np

from ostraka.solve.losses import Array

__all__ = [
    "best_k",
    "signal_shares",
    "feasible_labels",
    "onto_simplex",
    "ridge",
    "self_trained",
    "uniform",
]

STEPS = 12
SIGNAL_POWER = 1.5
"""A direction is assumed to hold signal in proportion to its value to this power."""


def signal_shares(values: Array) -> Array:
    """The assumed shares of signal in each direction: in proportion to a power of its value."""
    # Relative to the largest value: in a set without extent all of them are tiny.
    powers = (values / values.max()) ** SIGNAL_POWER
    shares: Array = powers / powers.sum()
    return shares


def best_k(values: Array, spread: Array, n_classes: int, n_samples: int) -> int:
    """How many directions to release, from public values: the k that keeps most of the signal.

    Maximises Σ q²/(q + K(ν² + 1/N)) over the kept directions, where q is a direction's share of
    the signal and ν² = `spread[k−1]` is the noise that k directions bring.
    """
    shares = signal_shares(values)
    kept = [
        np.sum(shares[:k] ** 2 / (shares[:k] + n_classes * (spread[k - 1] + 1.0 / n_samples)))
        for k in range(1, len(values) + 1)
    ]
    return int(np.argmax(kept)) + 1


def uniform(rows: Array) -> Array:
    """1/N for each row."""
    return np.full(len(rows), 1.0 / len(rows))


def feasible_labels(
    white: Array, contrasts: Array, target: Array, shares: Array | None = None, n_steps: int = STEPS
) -> Array:
    """Rows of S in the simplex with ‖Φᵀdiag(q)SQ − Y‖ small.

    Found by accelerated projected gradient descent, starting from uniform labels.

    In the metric diag(q) the step is one over the largest eigenvalue
    of Φᵀdiag(q)Φ, which is I for q = 1/N.
    """
    n_classes = contrasts.shape[0]
    step = (
        1.0
        if shares is None
        else 1.0
        / max(1.0, float(np.linalg.eigvalsh((white * shares[:, np.newaxis]).T @ white)[-1]))
    )
    weighted = white * (uniform(white) if shares is None else shares)[:, np.newaxis]
    labels = np.full((len(white), n_classes), 1.0 / n_classes)
    ahead, momentum = labels, 1.0
    for _ in range(n_steps):
        gradient = white @ (weighted.T @ (ahead @ contrasts) - target) @ contrasts.T
        moved = onto_simplex(ahead - step * gradient)
        grown = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = moved + (momentum - 1.0) / grown * (moved - labels)
        labels, momentum = moved, grown
    return labels


def onto_simplex(rows: Array) -> Array:
    """The nearest point of the simplex, row by row   [Held, Wolfe, Crowder 1974]."""
    # Relative to the largest entry, and cut where the answer is 0 anyway: nothing is lost to
    # rounding, however large the entries are.
    rows = np.maximum(rows - rows.max(axis=1, keepdims=True), -1.0)
    descending = np.sort(rows, axis=1)[:, ::-1]
    excess = (np.cumsum(descending, axis=1) - 1.0) / np.arange(1, rows.shape[1] + 1)
    last = np.count_nonzero(descending > excess, axis=1) - 1
    nearest: Array = np.maximum(rows - excess[np.arange(len(rows)), last][:, np.newaxis], 0.0)
    return nearest


def ridge(features: Array, labels: Array, penalty: float, shares: Array | None = None) -> Array:
    """(Xᵀdiag(q)X + penalty·I)⁻¹Xᵀdiag(q)(S − 1/K)."""
    weighted = features * (uniform(features) if shares is None else shares)[:, np.newaxis]
    centred = labels - 1.0 / labels.shape[1]
    weights: Array = np.linalg.solve(
        weighted.T @ features + penalty * np.eye(features.shape[1]), weighted.T @ centred
    )
    return weights


def self_trained(
    features: Array, weights: Array, shares: Array | None = None, penalty: float | None = None
) -> Array:
    """Fit the model's own answers on X, with a penalty of K/N unless another is given."""
    n_classes = weights.shape[1]
    answers = np.eye(n_classes)[(features @ weights).argmax(axis=1)]
    return ridge(
        features, answers, n_classes / len(features) if penalty is None else penalty, shares
    )
