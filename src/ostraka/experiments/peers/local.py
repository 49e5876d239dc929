"""Local differential privacy: every party randomises its own report, and nobody is trusted.

What a party reports is what it sends in our method `moments`: the moments of its labels in whitened public coordinates, shortened to
length b. There the sum gets noise once; here every report does, for the same distance of 2b between any two of them, before it leaves the
party. The average of M independent noises is √M times as long as that of one on the sum, so the poll is planned as if √M parties took
part: the plan's choice of directions, its ridge and its post-processing then fit the noise there is.

Guarantee: (ε, δ) for a party's whole data set, against everybody, the coordinator included; pure ε with δ = 0. One upload.

Trust: nobody.

Tuning: none; everything is from the public plan, as in `moments`.

Source: Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith, "What can we learn privately?", FOCS 2008 (the model); Duchi, Jordan,
Wainwright 2013 (what it costs at best).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ostraka.auxiliary import AuxiliarySet
from ostraka.experiments.noise_trials import accuracy
from ostraka.experiments.peers.data import PeerData
from ostraka.losses import Array
from ostraka.methods import moments
from ostraka.methods.statistic import StatisticPlan, StatisticTerms

__all__ = ["randomised_moments", "planned_for", "summed_noise"]

NUMBERS_AT_ONCE = 2**22


def randomised_moments(data: PeerData, epsilon: float, delta: float, generator: np.random.Generator, n_draws: int) -> list[float]:
    """The moments of randomised reports, and the model that `moments` makes of them."""
    plan = planned_for(data, epsilon, delta)
    total = sum((block.sum(axis=0) for block in moments.contributions(data.parties, plan)), np.zeros(plan.law.dimension, dtype=np.int64))
    unit = plan.certificate.grid / len(data.parties)
    noisy = (total + summed_noise(plan, len(data.parties), generator) for _ in range(n_draws))
    return [accuracy(plan.recipe.weights(unit * reports), data.test) for reports in noisy]


def planned_for(data: PeerData, epsilon: float, delta: float) -> StatisticPlan:
    """The plan whose noise on the mean is that of M randomised reports: `law` is one party's own."""
    auxiliary = AuxiliarySet(data.auxiliary, tuple(range(data.n_classes)))
    terms = StatisticTerms(epsilon=epsilon, delta=delta, samples_each=data.samples_each)
    return moments.plan(auxiliary, max(2, round(math.sqrt(len(data.parties)))), terms)


def summed_noise(plan: StatisticPlan, n_parties: int, generator: np.random.Generator) -> Array:
    """The sum of one independent draw for each party, in units of the lattice."""
    total: Array = np.sum([plan.law.rehearse(generator, size).sum(axis=0) for size in _portions(n_parties, plan.law.dimension)], axis=0)
    return total


def _portions(n_parties: int, dimension: int) -> Iterator[int]:
    at_once = max(1, NUMBERS_AT_ONCE // dimension)
    for start in range(0, n_parties, at_once):
        yield min(at_once, n_parties - start)
