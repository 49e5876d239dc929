"""Local differential privacy: every party randomises its own report, and nobody is trusted.

A party reports what it sends in our method `moments`: the moments of its labels in whitened public
coordinates, shortened to length b. There the sum gets noise once; here every report gets noise
before it leaves the party, for the same distance of 2b between any two reports. The sum of M
independent noises is √M times as long as one noise on the sum, so the poll is planned as if √M
parties took part: the plan's choice of directions, its ridge and its post-processing then fit the
actual noise.

Guarantee: (ε, δ) for a party's whole data set, against everybody including the coordinator; pure ε
with δ = 0. One upload.

Trust: nobody.

Tuning: none; everything comes from the public plan, as in `moments`.

Source: Kasiviswanathan, Lee, Nissim, Raskhodnikova, Smith, "What can we learn privately?", FOCS
2008 (the model); Duchi, Jordan, Wainwright 2013 (what it costs at best).
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ostraka.experiments.noise_trials import accuracy
from ostraka.experiments.peers.data import PeerData
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.base import Options, Work
from ostraka.methods.moments import Moments
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.solve.losses import Array

__all__ = ["plan_for", "randomised_moments", "sum_noise"]

NUMBERS_AT_ONCE = 2**22


def randomised_moments(
    data: PeerData, epsilon: float, delta: float, generator: np.random.Generator, n_draws: int
) -> list[float]:
    """The moments of randomised reports, and the model that `moments` makes from them."""
    method, mechanism = plan_for(data, epsilon, delta)
    blocks = method.contribute(data.parties, Work())
    total = sum((rows.sum(axis=0) for _, rows in blocks), np.zeros(mechanism.dimension, np.int64))
    unit, n_parties = mechanism.grid / len(data.parties), len(data.parties)
    noisy = (total + sum_noise(mechanism, n_parties, generator) for _ in range(n_draws))
    return [accuracy(method.weights(unit * reports, mechanism), data.test) for reports in noisy]


def plan_for(data: PeerData, epsilon: float, delta: float) -> tuple[Moments, Mechanism]:
    """The method whose noise on the mean is that of M randomised reports, with one party's law."""
    auxiliary = AuxiliarySet(data.auxiliary, tuple(range(data.n_classes)))
    promise = Promise(epsilon=epsilon, delta=delta)
    n_units = max(2, round(math.sqrt(len(data.parties))))
    method = Moments.create(auxiliary, n_units, promise, Options(samples_each=data.samples_each))
    return method, method.mechanism(promise, n_units)


def sum_noise(mechanism: Mechanism, n_parties: int, generator: np.random.Generator) -> Array:
    """The sum of one independent draw for each party, in units of the lattice."""
    portions = _portions(n_parties, mechanism.dimension)
    drawn = [mechanism.law.rehearse(generator, size).sum(axis=0) for size in portions]
    total: Array = np.sum(drawn, axis=0)
    return total


def _portions(n_parties: int, dimension: int) -> Iterator[int]:
    at_once = max(1, NUMBERS_AT_ONCE // dimension)
    for start in range(0, n_parties, at_once):
        yield min(at_once, n_parties - start)
