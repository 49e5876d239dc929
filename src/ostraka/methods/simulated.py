"""Parties made of auxiliary rows: how long would their vectors be, and what does shortening leave?

    letter  name here  meaning
    Y_j     sums       (parties, r, c): the mean of z_i v_iᵀ over a party's samples,
                       with z_i whitened and v_i what its label stands for
    b       radii      for every number k of directions: the mean length of Y_j in the first k
    cf      kept       what shortening to b leaves of a typical party

Public: nothing here sees private data, and only accuracy depends on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.methods.party_means import party_covariances
from ostraka.solve.losses import Array

__all__ = ["N_SIMULATED", "SimulatedParties"]

N_SIMULATED = 300
N_MODELS = 15
LOG_APART = (math.log(0.5), math.log(8.0))
"""How far apart classes are: from labels that are mostly chance to hardly any."""
RAREST = 1e-3
UNEVEN = 0.5
"""How uneven classes are: the parameter of a Dirichlet law [Jeffreys 1946]."""
MOST_SAMPLES = 200
LEAST_RADIUS = 2.0**-300
"""For an auxiliary set without extent: even values this small have a lattice in doubles."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class SimulatedParties:
    """A few hundred simulated parties."""

    sums: Array

    @classmethod
    def of(
        cls,
        white: Array,
        samples_each: int,
        values: Callable[[NDArray[Any], np.random.Generator], Array],
        seed: int = 0,
    ) -> SimulatedParties:
        """Rows at random; `values` gives v_i for an array of rows."""
        generator = np.random.default_rng(seed)
        n = min(samples_each, MOST_SAMPLES)
        rows = generator.integers(0, len(white), (N_SIMULATED, n))
        drawn = values(rows, generator)
        return cls(np.stack([white[own].T @ party for own, party in zip(rows, drawn)]) / n)

    @classmethod
    def labelled(
        cls,
        white: Array,
        signal: Array,
        contrasts: Array,
        samples_each: int,
        *,
        within: float = 1.0,
        with_mean: bool = False,
        seed: int = 0,
    ) -> SimulatedParties:
        """What parties send (`party_covariances`) whose labels come from random softmax models.

        Weights as the signal is assumed to be spread over directions, classes more or less apart,
        and more or less common.
        """
        generator = np.random.default_rng(seed)
        n, n_classes = min(samples_each, MOST_SAMPLES), len(contrasts)
        per_model = N_SIMULATED // N_MODELS
        starts = np.arange(per_model + 1) * n
        vectors = []
        for _ in range(N_MODELS):
            drawn = generator.standard_normal((len(signal), n_classes))
            scores = white @ (drawn * np.sqrt(signal)[:, np.newaxis])
            apart = math.exp(generator.uniform(*LOG_APART))
            common = np.log(generator.dirichlet(np.full(n_classes, UNEVEN)) + RAREST)
            noise = generator.gumbel(size=scores.shape)
            labels = (apart * scores + common + noise).argmax(axis=1)
            rows = generator.integers(0, len(white), per_model * n)
            vectors.append(
                party_covariances(
                    white[rows], contrasts[labels[rows]], starts, within=within, with_mean=with_mean
                )
            )
        return cls(np.concatenate(vectors).reshape(N_SIMULATED, white.shape[1] + 1, -1))

    @property
    def lengths(self) -> Array:
        """(parties, r): the length in the first k directions."""
        lengths: Array = np.sqrt(np.cumsum((self.sums**2).sum(axis=2), axis=1))
        return lengths

    @property
    def radii(self) -> Array:
        """b for every k."""
        radii: Array = np.maximum(self.lengths.mean(axis=0), LEAST_RADIUS)
        return radii

    def factors(self) -> Array:
        """(parties, r): how much each is shortened."""
        factors: Array = np.minimum(1.0, self.radii / np.maximum(self.lengths, LEAST_RADIUS))
        return factors

    @property
    def kept(self) -> Array:
        """cf for every k."""
        kept: Array = self.factors().mean(axis=0)
        return kept

    def shorten_mean(self, k: int) -> Array:
        """The estimate that the mean of the shortened parties gives, divided by cf: (k, c)."""
        factors = self.factors()[:, k - 1]
        mean: Array = (self.sums[:, :k] * factors[:, np.newaxis, np.newaxis]).mean(
            axis=0
        ) / factors.mean()
        return mean
