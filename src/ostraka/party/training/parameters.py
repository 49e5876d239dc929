"""The parameters of every party's own certified linear classifier, in batches.

Many parties go through one compiled loop (`batched`); a few of them, or all without numba, go
through the general solver. A party without rows has the weights 0. Batches come in the order of the
parties.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ostraka.party.quiet import quietly
from ostraka.party.rows import Parties
from ostraka.party.training.batched import can_batch, train_batched
from ostraka.party.training.linear import train_features
from ostraka.party.training.workers import Watch, in_batches
from ostraka.solve import RiskShape, default_tolerance
from ostraka.solve.losses import Array, loss_for

__all__ = ["linear_parameters", "train_linear"]

BATCHED_FROM = 64
"""Fewer parties are not worth loading compiled code for."""
PARTIES_AT_ONCE = 2048
MOST_ROWS = 2**32
"""No party has more."""

Trained = tuple[list[str], Array]
"""Names and weights of a batch: (M, d) for two classes, (M, d, K) for more."""


def linear_parameters(
    parties: Parties,
    n_classes: int,
    lambda_: float,
    loss: str,
    *,
    n_jobs: int | None = -1,
    watch: Watch | None = None,
) -> Iterator[Trained]:
    """Names and weights, in batches, in the order of the parties."""
    _check_lambda(parties.features.shape[1], n_classes, lambda_, loss)
    if len(parties) < BATCHED_FROM or not can_batch(parties.features, loss):
        return in_batches(_train_batch, parties, (n_classes, lambda_, loss), n_jobs, watch)
    cuts = range(0, len(parties), PARTIES_AT_ONCE)
    parts = (parties.part(first, min(first + PARTIES_AT_ONCE, len(parties))) for first in cuts)
    trained = (_train_at_once(part, n_classes, lambda_) for part in parts)
    return iter(watch(trained, len(cuts)) if watch else trained)


def train_linear(
    parties: Parties,
    n_classes: int,
    lambda_: float,
    loss: str,
    n_jobs: int | None,
    watch: Watch | None,
) -> Iterator[Array]:
    """The weights alone, for experiments."""
    trained = linear_parameters(parties, n_classes, lambda_, loss, n_jobs=n_jobs, watch=watch)
    return (weights for _, weights in trained)


def _check_lambda(n_features: int, n_classes: int, lambda_: float, loss: str) -> None:
    """Refuse a λ that is too small for doubles, for everybody, from public numbers.

    Otherwise the general solver would refuse it only when somebody's rows need that solver.
    """
    shape = RiskShape(
        n_samples=MOST_ROWS,
        n_features=n_features,
        row_terms=n_features,
        loss=loss_for(n_classes, loss),
        lambda_=lambda_,
    )
    default_tolerance(shape)


def _train_at_once(parties: Parties, n_classes: int, lambda_: float) -> Trained:
    with quietly():
        rows, labels, starts = parties.features, parties.labels, parties.starts
        return list(parties.names), train_batched(rows, labels, starts, n_classes, lambda_)


def _train_batch(parties: Parties, task: tuple[int, float, str]) -> Trained:
    from threadpoolctl import threadpool_limits

    n_classes, d = task[0], parties.features.shape[1]
    weights = np.zeros((len(parties), d) if n_classes == 2 else (len(parties), d, n_classes))
    with quietly(), threadpool_limits(limits=1, user_api="blas"):
        for own, (rows, labels, _) in zip(weights, parties):
            if labels.size:
                own[:] = train_features(rows, labels, *task)
    return list(parties.names), weights
