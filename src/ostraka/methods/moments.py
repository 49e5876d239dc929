"""`moments`: every party sends the moments of its labels in whitened public coordinates.

There is no local training, and one upload.

    letter  name here    meaning
    z_i     –            W_kᵀx_i, a sample in the k widest directions of the auxiliary set, whitened
    Q       contrasts    K×(K−1), orthonormal columns orthogonal to 1; with `shift` also 1/√K: that
                         column is the private mean feature
    Y_j     –            (1/n_j) Σ_i z_i Q[y_i]: what party j sends, shortened to length b, rounded
    b, B    –, length    the ball, and the same in units
    cf      clip_factor  how much shortening shrinks a typical party, simulated in public
    ν       –            standard deviation of one coordinate of the released mean, divided by cf

Guarantee (noisy_sum.proof.md): two vectors of the ball are at most 2B units apart,
whatever the data and whatever W_k; ε-private or (ε, δ).

Accuracy: with equal parties and private features distributed like the auxiliary ones, the released
mean tends to the label moments of all data. From these one can solve for the classifier that all
data would give. b, k and cf come from simulated parties: auxiliary rows with random labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, final

import numpy as np

from ostraka.errors import ShapeError
from ostraka.mechanism.geometry import class_basis
from ostraka.mechanism.laws import Exact
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.after_noise.denoise import feasible_labels, ridge, self_train
from ostraka.methods.after_noise.shift import ALARM, shrink, surprise, tilt
from ostraka.methods.base import (
    Block,
    Options,
    Work,
    check_positive,
    check_shapes,
    public_features,
    whole,
)
from ostraka.methods.noisy_sum import differences, hidden_ball, numbers_sent
from ostraka.methods.party_vectors import choose_directions, party_means, round_blocks
from ostraka.methods.simulated import N_SIMULATED, SimulatedParties
from ostraka.party.products import own_products
from ostraka.party.rows import Parties
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.public.task import Task
from ostraka.public.whitening import Whitening
from ostraka.solve.losses import Array
from ostraka.tally.domain import Ball, Units

__all__ = ["Moments"]

MISJUDGED = 0.15
"""The mean feature of shortened parties is known up to about this share of it."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """The public parts of a `moments` poll."""

    name: ClassVar[str] = "moments"
    start: ClassVar[None] = None

    features: Array = field(repr=False)
    whitening: Array
    contrasts: Array
    length: int
    grid: float
    clip_factor: float
    samples_each: int
    penalty: float | None = None
    """The penalty of the fits after the noise, if it was set."""
    student: bool | None = None
    """Whether the model labels the auxiliary set once more; None: if the noise is large enough."""
    expected: Array | None = None
    """The mean feature of simulated parties, shortening included, if the mean is released."""

    def __post_init__(self) -> None:
        check_positive(self)
        found = check_shapes(
            features=(self.features, "Np"),
            whitening=(self.whitening, "pk"),
            contrasts=(self.contrasts, "Kc"),
            expected=(self.expected, "k"),
        )
        with_mean = int(self.expected is not None)
        if found["c"] != found["K"] - 1 + with_mean:
            allowed = "K−1 columns, and one more where the mean feature is released"
            raise ShapeError("contrasts", got=self.contrasts.shape, allowed=allowed)

    @classmethod
    def create(
        cls, public: AuxiliarySet | Task, n_units: int, promise: Promise, options: Options
    ) -> Moments:
        """Choose the directions and the ball, for this many units."""
        auxiliary, features = public_features(public, cls.name)
        n_classes = auxiliary.n_classes
        whitening = Whitening.of(features)
        contrasts = _contrasts(n_classes, options.shift)
        simulated = SimulatedParties.of(
            features @ whitening.map(whitening.rank),
            options.samples_each,
            lambda rows, generator: contrasts[generator.integers(0, n_classes, rows.shape)],
        )
        chosen = choose_directions(
            simulated, whitening, len(features), n_classes, n_units, promise, signal=1.0
        )
        expected = math.sqrt(n_classes) * simulated.shorten_mean(chosen.k)[:, -1]
        return cls(
            features=features,
            whitening=whitening.map(chosen.k),
            contrasts=contrasts,
            length=chosen.ball.length,
            grid=chosen.grid,
            clip_factor=chosen.clip_factor,
            samples_each=options.samples_each,
            penalty=options.penalty,
            expected=expected if options.shift else None,
        )

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.contrasts)

    @property
    def domain(self) -> Ball:
        """k·c numbers in an L2 ball."""
        dimension = self.whitening.shape[1] * self.contrasts.shape[1]
        return Ball(norm="l2", length=self.length, dimension=dimension)

    def contribute(self, parties: Parties, work: Work) -> Iterator[Block]:  # noqa: ARG002
        """Every party's vector; each row depends on its own party alone."""

        def means(part: Parties) -> Array:
            white = own_products(part.features, self.whitening)
            return party_means(white, self.contrasts[part.labels], part.starts)

        return round_blocks(parties, self.domain, self.grid, means)

    def mechanism(self, promise: Promise, n_units: int) -> Mechanism:
        """ℓ2 noise (or a Gaussian) for two vectors of the ball."""
        mean = " and their mean" if self.expected is not None else ""
        coordinates = numbers_sent(self.whitening.shape[1], self.n_classes) + mean
        return hidden_ball(self.domain, self.grid, promise, n_units, coordinates)

    def statistic(self, total: Units, mechanism: Mechanism) -> Exact:  # noqa: ARG002
        """The sum itself."""
        return whole(total)

    def weights(self, mean: Array, mechanism: Mechanism) -> Array:
        """Undo the shortening, find labels with these moments, and fit them."""
        n, n_classes = len(self.features), len(self.contrasts)
        target, white = self._target(mean), self.features @ self.whitening
        contrasts = self.contrasts[:, : n_classes - 1]
        shares = self._shares(target, white, mechanism)
        labels = feasible_labels(white, contrasts, target[:, : n_classes - 1], shares)
        noise = self._noise(mechanism)
        penalty = n_classes * (noise**2 + 1.0 / n) if self.penalty is None else self.penalty
        weights = ridge(self.features, labels, penalty, shares)
        # If the noise is below the sampling error of X, the model needs no smoothing.
        trained = noise**2 >= 1.0 / (8.0 * n) if self.student is None else self.student
        if trained:
            weights = self_train(self.features, weights, shares, self.penalty)
        return differences(weights)

    def surprise(self, mean: Array, mechanism: Mechanism) -> float | None:
        """The surprise of the private mean feature, if it was released.

        Otherwise of moments that no labels of the auxiliary set have.
        """
        target, white = self._target(mean), self.features @ self.whitening
        if self.expected is not None:
            return surprise(*self._gaps(target, mechanism))
        labels = feasible_labels(white, self.contrasts, target)
        missing = white.T @ (labels @ self.contrasts) / len(white) - target
        variance = self._noise(mechanism) ** 2 + self._sampling(mechanism)
        return surprise(missing.ravel(), np.full(missing.size, variance))

    def _noise(self, mechanism: Mechanism) -> float:
        """ν."""
        return mechanism.deviation / self.clip_factor

    def _sampling(self, mechanism: Mechanism) -> float:
        """The variance of one coordinate for these private, auxiliary and simulated samples."""
        each = self.samples_each
        private = 1.0 / (float(mechanism.divisor) * each)
        return private + 1.0 / len(self.features) + 1.0 / (N_SIMULATED * each)

    def _target(self, mean: Array) -> Array:
        return mean.reshape(self.whitening.shape[1], -1) / self.clip_factor

    def _gaps(self, target: Array, mechanism: Mechanism) -> tuple[Array, Array]:
        """Private minus public mean feature, and the variance of the difference."""
        assert self.expected is not None
        n_classes = len(self.contrasts)
        gaps = math.sqrt(n_classes) * target[:, -1] - self.expected
        # Private labels shorten their parties differently from random ones: not a sign of a shift.
        misjudged = MISJUDGED**2 * float(np.mean(self.expected**2))
        noise = n_classes * self._noise(mechanism) ** 2
        return gaps, np.full(len(gaps), noise + self._sampling(mechanism) + misjudged)

    def _shares(self, target: Array, white: Array, mechanism: Mechanism) -> Array | None:
        if self.expected is None or not surprise(*self._gaps(target, mechanism)) > ALARM:
            return None
        gaps, variances = self._gaps(target, mechanism)
        moved = white.mean(axis=0) + shrink(gaps, variances)
        aim = np.clip(moved, white.min(axis=0), white.max(axis=0))
        return tilt(white, aim, float(variances[0]))


def _contrasts(n_classes: int, with_mean: bool) -> Array:
    """Q, and for the mean feature a column that makes it a rotation of all classes."""
    differences = class_basis(n_classes)
    if not with_mean:
        return differences
    return np.column_stack([differences, np.full(n_classes, n_classes**-0.5)])
