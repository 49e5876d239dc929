"""What every peer is given, what it gives back, and the noise that all of them share.

All peers are compared at the level of a whole party: neighbours differ in ONE party, whose entire
data set is replaced. All end in a linear model on the same features, so that only the mechanism
differs.

    letter  name here    meaning
    Δ       sensitivity  how far replacing one party moves everything that gets noise, in L2,
                         over all rounds and queries together
    σ       –            standard deviation of the Gaussian noise on each number

`gaussian_scale`: Gaussians compose exactly. Steps i with sensitivity Δ_i and noise σ_i, each of
which may depend on what came out before, are as private as one Gaussian with (Δ/σ)² = Σ (Δ_i/σ_i)²
[Dong, Roth, Su 2022, Cor. 3.3], whose (ε, δ) curve is known exactly [Balle and Wang 2018, Thm 8].
So no peer pays for loose accounting.

Nothing here is a release: noise comes from a seeded generator, in floating point.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias, final

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ostraka.errors import ParameterError
from ostraka.experiments.tasks import Test
from ostraka.mechanism import RoundedGaussian
from ostraka.party.rows import Parties
from ostraka.public.whitening import Whitening
from ostraka.solve.losses import Array

__all__ = [
    "Accuracies",
    "DIRECTIONS",
    "Peer",
    "PeerData",
    "best",
    "finish",
    "gaussian_scale",
    "narrow_data",
    "widen_models",
]

DIRECTIONS = (10, 50, None)
"""In how many of the widest auxiliary directions to learn (None: in all features).

It is part of the grids of tuned peers.
"""
INSIDE = 1.0 - 2.0**-30
"""Keeps rows in the unit ball when a rotation rounds up."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class PeerData:
    """One split of a data set, all features by the same public map."""

    auxiliary: Array
    """Public features without labels, in the unit ball."""
    parties: Parties
    test: Test
    n_classes: int
    samples_each: int
    """How many samples a party typically has: declared, public."""


Accuracies: TypeAlias = Callable[[PeerData, float, float, np.random.Generator, int], list[float]]
"""(data, ε, δ, generator, number of draws) ↦ one accuracy on the test set for each draw."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """A method to compare with, and what has to be said about it."""

    name: str
    accuracies: Accuracies
    guarantee: str
    trust: str
    tuning: str
    private: bool = True
    """False for a method that has no noise and does not depend on ε."""


def gaussian_scale(epsilon: float, delta: float, sensitivity: float = 1.0) -> float:
    """The smallest σ that is (ε, δ)-private at this L2 sensitivity."""
    return _unit_scale(float(epsilon), float(delta)) * sensitivity


def best(candidates: Sequence[list[float]]) -> int:
    """Which setting did best on the test set: tuning for free, which favours the peer.

    The best mean of many is also the luckiest, so the winner is measured once more with fresh
    noise, and that is what counts.
    """
    if not candidates:
        raise ParameterError("candidates", got=0, allowed="at least one setting")
    return int(np.argmax([np.mean(accuracies) for accuracies in candidates]))


@lru_cache(maxsize=2 * len(DIRECTIONS))
def narrow_data(data: PeerData, directions: int | None) -> PeerData:
    """The same split in the widest directions of its auxiliary set: public, and costs no budget."""
    if directions is None or directions >= data.auxiliary.shape[1]:
        return data
    basis = _basis(data, directions)
    parties = replace(data.parties, features=np.asarray(data.parties.features @ basis))
    test = replace(data.test, features=np.asarray(data.test.features @ basis))
    return replace(data, auxiliary=data.auxiliary @ basis, parties=parties, test=test)


def widen_models(data: PeerData, directions: int | None, models: Array) -> Array:
    """The same models (n, p, K) as weights of all features."""
    if directions is None or directions >= data.auxiliary.shape[1]:
        return models
    return np.asarray(_basis(data, directions) @ models)


@lru_cache(maxsize=2 * len(DIRECTIONS))
def _basis(data: PeerData, directions: int) -> Array:
    return np.asarray(INSIDE * Whitening.of(data.auxiliary).basis[:, :directions])


def finish(data: PeerData, models: Array) -> Array:
    """Models (n, p, K) fitted to their own labels: `denoise.self_train` for many at once.

    Each labels all auxiliary rows.
    """
    factor = _auxiliary_factor(data)
    targets = np.empty_like(models)
    for position, weights in enumerate(models):
        answers = np.eye(data.n_classes)[(data.auxiliary @ weights).argmax(axis=1)]
        targets[position] = (
            data.auxiliary.T @ (answers - 1.0 / data.n_classes) / len(data.auxiliary)
        )
    solved = cho_solve(factor, targets.transpose(1, 0, 2).reshape(targets.shape[1], -1))
    ends: Array = solved.reshape(targets.shape[1], len(models), data.n_classes).transpose(1, 0, 2)
    return ends


@lru_cache(maxsize=len(DIRECTIONS))
def _auxiliary_factor(data: PeerData) -> tuple[Array, bool]:
    n, p = data.auxiliary.shape
    factor: tuple[Array, bool] = cho_factor(
        data.auxiliary.T @ data.auxiliary / n + data.n_classes / n * np.eye(p)
    )
    return factor


@lru_cache(maxsize=1024)
def _unit_scale(epsilon: float, delta: float) -> float:
    return RoundedGaussian.for_epsilon_delta(epsilon, delta, 1.0, 1).scale
