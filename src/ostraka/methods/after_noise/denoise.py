"""From a released statistic to a model: costs no budget, as nothing private is left in it.

    letter  name here   meaning
    X       features    the public auxiliary features, N×p, and Φ (`white`) their whitened form, N×k
    Q       contrasts   K×(K−1), orthonormal columns orthogonal to 1
    Y       target      the noisy statistic, k×(K−1): about ΦᵀSQ/N for the soft labels S behind it
    ν       noise       standard deviation of one coordinate of Y
    q       shares      a weight for each row of X, with sum 1: 1/N unless the private rows are
                        distributed differently (`shift`)

A noisy Y need not belong to any labelling. `feasible_labels` finds soft labels whose statistic is
nearest to it. `ridge` fits them, with a penalty that grows with the noise. `self_train` lets the
model label X once more and fits its own answers, which smooths out what the noise bent. None of
this sees private data, so none of it needs a bound, and a failure of it would only cost accuracy.
"""

from __future__ import annotations

import weakref

import numpy as np

from ostraka.solve.losses import Array

__all__ = [
    "best_k",
    "signal_shares",
    "feasible_labels",
    "onto_simplex",
    "ridge",
    "self_train",
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
        gradient *= step  # in place, here and below: new memory would take longer than the numbers
        moved = onto_simplex(np.subtract(ahead, gradient, out=gradient))
        grown = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = moved - labels
        ahead *= (momentum - 1.0) / grown
        ahead += moved
        labels, momentum = moved, grown
    return labels


def onto_simplex(rows: Array) -> Array:
    """The nearest point of the simplex, row by row   [Held, Wolfe, Crowder 1974]."""
    # Entry by entry, over all rows at once and in place: short sums along rows, and new memory,
    # take several times as long.
    descending = np.ascontiguousarray(np.sort(rows, axis=1).T[::-1])
    largest = descending[0].copy()
    # Relative to the largest entry, and cut where the answer is 0 anyway: nothing is lost to
    # rounding, however large the entries.
    descending -= largest
    np.maximum(descending, -1.0, out=descending)
    excess = np.empty_like(descending)
    total, kept = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.intp)
    for n, (entries, above) in enumerate(zip(descending, excess), start=1):
        total += entries
        np.subtract(total, 1.0, out=above)
        above /= n
        kept += entries > above
    nearest: Array = rows - largest[:, np.newaxis]
    np.maximum(nearest, -1.0, out=nearest)
    nearest -= excess[kept - 1, np.arange(len(rows))][:, np.newaxis]
    return np.maximum(nearest, 0.0, out=nearest)


def ridge(features: Array, labels: Array, penalty: float, shares: Array | None = None) -> Array:
    """(Xᵀdiag(q)X + penalty·I)⁻¹Xᵀdiag(q)(S − 1/K)."""
    weighted = features * (uniform(features) if shares is None else shares)[:, np.newaxis]
    gram = _second_moments(features) if shares is None else weighted.T @ features
    centred = labels - 1.0 / labels.shape[1]
    weights: Array = np.linalg.solve(
        gram + penalty * np.eye(features.shape[1]), weighted.T @ centred
    )
    return weights


def self_train(
    features: Array, weights: Array, shares: Array | None = None, penalty: float | None = None
) -> Array:
    """Fit the model's own answers on X, with a penalty of K/N unless another is given."""
    n_classes = weights.shape[1]
    answers = np.eye(n_classes)[(features @ weights).argmax(axis=1)]
    return ridge(
        features, answers, n_classes / len(features) if penalty is None else penalty, shares
    )


def _second_moments(features: Array) -> Array:
    """XᵀX/N; kept for the next fit as long as X lives, where nobody can change X and this is not
    the larger of the two.
    """
    kept = _kept.get(id(features))
    if kept is not None:
        return kept
    moments: Array = (features * uniform(features)[:, np.newaxis]).T @ features
    safe = features.base is None and not features.flags.writeable
    if safe and moments.size <= features.size:
        _kept[id(features)] = moments
        weakref.finalize(features, _kept.pop, id(features), None)
    return moments


_kept: dict[int, Array] = {}
"""XᵀX/N by the identity of X, for sets whose features own their memory and are read-only."""
