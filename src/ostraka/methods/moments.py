"""`moments`: every party sends the moments of its own labels in whitened public coordinates; no local training, one upload.

    letter  name here    meaning
    z_i     –            W_kᵀx_i, a sample in the k widest directions of the auxiliary set, whitened
    Q       contrasts    K×(K−1), orthonormal columns orthogonal to 1; with `shift` also 1/√K: that column is the private mean feature
    Y_j     –            (1/n_j) Σ_i z_i Q[y_i]: what party j sends, shortened to length b and rounded to the lattice
    b, B    radius, ball.length   the ball, and the same in units
    cf      clip_factor  how much shortening shrinks a typical party, simulated in public
    ν       noise        standard deviation of one coordinate of the released mean, divided by cf

Guarantee (statistic.proof.md): two vectors of the ball are at most 2B units apart, whatever the data and whatever W_k; ε-private or (ε, δ).

Accuracy: with equal parties and private features distributed like the auxiliary ones the released mean tends to the label moments of all
data, from which the classifier that all data would give can be solved. b, k and cf come from simulated parties: rows of the auxiliary
set with random labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from ostraka.auxiliary import AuxiliarySet
from ostraka.contributions import own_products
from ostraka.errors import WrongTypeError
from ostraka.local.parties import Parties
from ostraka.losses import Array
from ostraka.methods.denoise import feasible_labels, ridge, self_trained
from ostraka.methods.party_vectors import Units, choose_directions, party_means, rounded_blocks
from ostraka.methods.shift import ALARM, shrunken, surprise, tilted
from ostraka.methods.simulated import N_SIMULATED, SimulatedParties
from ostraka.methods.statistic import StatisticPlan, StatisticTerms, check_public, make_certificate
from ostraka.model import Task
from ostraka.noise import Entropy, Rehearsal
from ostraka.release import ChargeFirst, Rehearsed, Release
from ostraka.sensitivity.geometry import class_basis
from ostraka.whitening import Whitening

__all__ = ["MomentsRecipe", "plan", "contributions", "release"]

MISJUDGED = 0.15
"""The mean feature of shortened parties is known up to about this share of it."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MomentsRecipe:
    """The public parts of a `moments` poll."""

    features: Array
    whitening: Array
    contrasts: Array
    clip_factor: float
    noise: float
    sampling: float
    """The variance of one coordinate for as many private, auxiliary and simulated samples."""
    penalty: float | None = None
    """Of the fits after the noise, if it was set."""
    expected: Array | None = None
    """Where the mean feature is released: what it is for parties made of auxiliary rows, shortening included."""

    def weights(self, mean: Array) -> Array:
        """Undo the shortening, find labels with these moments, fit them."""
        n, n_classes = len(self.features), len(self.contrasts)
        target, white, contrasts = self._target(mean), self.features @ self.whitening, self.contrasts[:, : n_classes - 1]
        shares = self._shares(target, white)
        labels = feasible_labels(white, contrasts, target[:, : n_classes - 1], shares)
        penalty = n_classes * (self.noise**2 + 1.0 / n) if self.penalty is None else self.penalty
        weights = ridge(self.features, labels, penalty, shares)
        # Where the noise is below the sampling error of X the model needs no rounding off, and would lose by it.
        return weights if self.noise**2 < 1.0 / (8.0 * n) else self_trained(self.features, weights, shares, self.penalty)

    def surprise(self, mean: Array) -> float | None:
        """Of the private mean feature where it was released; otherwise of moments that no labels of the auxiliary set have."""
        target, white = self._target(mean), self.features @ self.whitening
        if self._with_mean:
            return surprise(*self._gaps(target))
        labels = feasible_labels(white, self.contrasts, target)
        missing = white.T @ (labels @ self.contrasts) / len(white) - target
        return surprise(missing.ravel(), np.full(missing.size, self.noise**2 + self.sampling))

    @property
    def _with_mean(self) -> bool:
        return self.expected is not None

    def _target(self, mean: Array) -> Array:
        return mean.reshape(self.whitening.shape[1], -1) / self.clip_factor

    def _gaps(self, target: Array) -> tuple[Array, Array]:
        """Private less public mean feature, and the variance of that."""
        assert self.expected is not None
        n_classes = len(self.contrasts)
        gaps = math.sqrt(n_classes) * target[:, -1] - self.expected
        # Private labels shorten their parties differently from random ones: what that may do is no sign of a shift.
        misjudged = MISJUDGED**2 * float(np.mean(self.expected**2))
        return gaps, np.full(len(gaps), n_classes * self.noise**2 + self.sampling + misjudged)

    def _shares(self, target: Array, white: Array) -> Array | None:
        if not self._with_mean or not surprise(*self._gaps(target)) > ALARM:
            return None
        gaps, variances = self._gaps(target)
        aim = np.clip(white.mean(axis=0) + shrunken(gaps, variances), white.min(axis=0), white.max(axis=0))
        return tilted(white, aim, float(variances[0]))


def plan(auxiliary: AuxiliarySet, n_parties: int, terms: StatisticTerms) -> StatisticPlan:
    """What a release by this many parties will promise, and how: known before anyone contributes."""
    features, n_parties = check_public(auxiliary, terms), terms.checked_parties(n_parties)
    n_classes = auxiliary.n_classes
    whitening, contrasts = Whitening.of(features), _contrasts(n_classes, terms.shift)
    simulated = SimulatedParties.of(
        features @ whitening.map(whitening.rank),
        terms.samples_each,
        lambda rows, generator: contrasts[generator.integers(0, n_classes, rows.shape)],
    )
    chosen = choose_directions(simulated, whitening, len(features), n_classes, n_parties, terms, signal=1.0)
    recipe = MomentsRecipe(
        features=features,
        whitening=whitening.map(chosen.k),
        contrasts=contrasts,
        clip_factor=chosen.clip_factor,
        noise=chosen.noise,
        penalty=terms.penalty,
        sampling=1.0 / (float(n_parties) * terms.samples_each) + 1.0 / len(features) + 1.0 / (N_SIMULATED * terms.samples_each),
        expected=math.sqrt(n_classes) * simulated.shortened_mean(chosen.k)[:, -1] if terms.shift else None,
    )
    certificate = make_certificate(
        "moments", auxiliary, n_parties, terms, chosen.law,
        sensitivity=float(chosen.ball.diameter), grid=chosen.grid, radius=chosen.ball.length * chosen.grid,
        coordinates=f"{chosen.k} whitened directions, {n_classes - 1} differences of classes" + (" and their mean" if terms.shift else ""),
    )  # fmt: skip
    return StatisticPlan(certificate=certificate, task=Task.of(auxiliary), ball=chosen.ball, law=chosen.law, recipe=recipe)


def contributions(parties: Parties, planned: StatisticPlan) -> Iterator[Units]:
    """What every party sends, many parties to a block; each row depends on its own party alone."""
    recipe = planned.recipe
    if not isinstance(recipe, MomentsRecipe):
        raise WrongTypeError("The plan", recipe, "a plan of moments")

    def means(part: Parties) -> Array:
        return party_means(own_products(part.features, recipe.whitening), recipe.contrasts[part.labels], part.starts)

    return rounded_blocks(parties, planned, means)


def release(
    parties: Parties,
    auxiliary: AuxiliarySet,
    terms: StatisticTerms,
    source: Entropy | Rehearsal | None = None,
    charge: ChargeFirst = None,
) -> Release | Rehearsed:
    """One classifier from everybody's label moments. A seeded `source` makes a rehearsal of it."""
    planned = plan(auxiliary, len(parties), terms)
    return planned.publish(planned.added(contributions(parties, planned)), source or Entropy(), charge)


def _contrasts(n_classes: int, with_mean: bool) -> Array:
    """Q, and for the mean feature a column that makes it a rotation of all classes."""
    differences = class_basis(n_classes)
    return np.column_stack([differences, np.full(n_classes, n_classes**-0.5)]) if with_mean else differences
