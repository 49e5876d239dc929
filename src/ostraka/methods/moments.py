"""`moments`: every party sends the moments of its own labels in whitened public coordinates; no local training, one upload.

    letter  name here    meaning
    z_i     –            W_kᵀx_i, a sample in the k widest directions of the auxiliary set, whitened
    Q       contrasts    K×(K−1), orthonormal columns orthogonal to 1
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
from numpy.typing import NDArray

from ostraka.auxiliary import AuxiliarySet
from ostraka.classes import Indices
from ostraka.contributions import LARGEST_DIMENSION, LARGEST_LENGTH, Ball, own_products
from ostraka.errors import WrongTypeError
from ostraka.local.parties import Parties
from ostraka.losses import Array
from ostraka.methods.denoise import best_k, feasible_labels, ridge, self_trained
from ostraka.methods.laws import l2_law, l2_variance, variance
from ostraka.methods.statistic import StatisticPlan, StatisticTerms, check_public, make_certificate
from ostraka.model import Task
from ostraka.noise import Entropy, Rehearsal
from ostraka.release import ChargeFirst, Rehearsed, Release
from ostraka.sensitivity.geometry import class_basis
from ostraka.whitening import Whitening

__all__ = ["MomentsRecipe", "plan", "contributions", "release"]

N_SIMULATED = 300
MOST_SIMULATED_SAMPLES = 200
NUMBERS_AT_ONCE = 2**24
LEAST_RADIUS = 2.0**-300
"""For an auxiliary set without extent: what is worth so little still has a lattice in doubles."""

Units = NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MomentsRecipe:
    """The public parts of a `moments` poll."""

    features: Array
    whitening: Array
    contrasts: Array
    clip_factor: float
    noise: float

    def weights(self, mean: Array) -> Array:
        """Undo the shortening, find labels with these moments, fit them."""
        n, n_classes = len(self.features), len(self.contrasts)
        target = mean.reshape(self.whitening.shape[1], -1) / self.clip_factor
        labels = feasible_labels(self.features @ self.whitening, self.contrasts, target)
        weights = ridge(self.features, labels, n_classes * (self.noise**2 + 1.0 / n))
        # Where the noise is below the sampling error of X the model needs no rounding off, and would lose by it.
        return weights if self.noise**2 < 1.0 / (8.0 * n) else self_trained(self.features, weights)


def plan(auxiliary: AuxiliarySet, n_parties: int, terms: StatisticTerms) -> StatisticPlan:
    """What a release by this many parties will promise, and how: known before anyone contributes."""
    features, n_parties = check_public(auxiliary, terms), terms.checked_parties(n_parties)
    n_classes = auxiliary.n_classes
    whitening = Whitening.of(features)
    lengths, factors = _simulated(features @ whitening.map(whitening.rank), n_classes, terms.samples_each)
    dimensions = np.arange(1.0, whitening.rank + 1.0) * (n_classes - 1)
    spread = l2_variance(terms.epsilon, terms.delta, 2.0 * lengths / n_parties, dimensions) / factors**2
    most = max(1, LARGEST_DIMENSION // (n_classes - 1))
    k = best_k(whitening.values[:most], spread, n_classes, len(features))
    radius, factor, dimension = float(lengths[k - 1]), float(factors[k - 1]), k * (n_classes - 1)
    grid = math.ldexp(1.0, math.ceil(math.log2(radius / LARGEST_LENGTH)))
    ball = Ball(norm="l2", length=max(1, math.floor(radius / grid)), dimension=dimension)
    law = l2_law(terms.epsilon, terms.delta, float(ball.diameter), dimension, terms.noise)
    recipe = MomentsRecipe(
        features=features,
        whitening=whitening.map(k),
        contrasts=class_basis(n_classes),
        clip_factor=factor,
        noise=math.sqrt(variance(law)) * grid / (n_parties * factor),
    )
    certificate = make_certificate(
        "moments", auxiliary, n_parties, terms, law,
        sensitivity=float(ball.diameter), grid=grid, radius=ball.length * grid,
        coordinates=f"{k} whitened directions, {n_classes - 1} differences of classes",
    )  # fmt: skip
    return StatisticPlan(certificate=certificate, task=Task.of(auxiliary), ball=ball, law=law, recipe=recipe)


def contributions(parties: Parties, planned: StatisticPlan) -> Iterator[Units]:
    """What every party sends, many parties to a block; each row depends on its own party alone."""
    recipe = planned.recipe
    if not isinstance(recipe, MomentsRecipe):
        raise WrongTypeError("The plan", recipe, "a plan of moments")
    ball = planned.ball
    assert ball is not None
    sizes = np.diff(parties.starts)
    for first, stop in _blocks(sizes, max(1, NUMBERS_AT_ONCE // ball.dimension)):
        part = parties.part(first, stop)
        means = _label_moments(own_products(part.features, recipe.whitening), part.labels, part.starts, recipe.contrasts)
        with np.errstate(all="ignore"):
            units = means / planned.certificate.grid
        yield ball.rounded(units)


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


def _label_moments(white: Array, labels: Indices, starts: NDArray[np.intp], contrasts: Array) -> Array:
    """(1/n_j) Σ_i z_i Q[y_i] for every party, as rows; 0 for a party without samples."""
    sizes = np.diff(starts)
    filled = np.flatnonzero(sizes)
    sums = np.zeros((len(sizes), white.shape[1], contrasts.shape[1]))
    # Class by class, and without a matrix product: see `own_products`.
    for label, row in enumerate(contrasts if filled.size else ()):
        of_class = np.add.reduceat(np.where(labels[:, np.newaxis] == label, white, 0.0), starts[:-1][filled], axis=0)
        sums[filled] += of_class[:, :, np.newaxis] * row
    means: Array = sums.reshape(len(sizes), -1) / np.maximum(sizes, 1)[:, np.newaxis]
    return means


def _blocks(sizes: NDArray[np.intp], rows: int) -> Iterator[tuple[int, int]]:
    """Consecutive parties with about so many rows together."""
    first, held = 0, 0
    for party, size in enumerate(sizes.tolist()):
        if held and held + size > rows:
            yield first, party
            first, held = party, 0
        held += max(size, 1)
    if len(sizes):
        yield first, len(sizes)


def _simulated(white: Array, n_classes: int, samples_each: int) -> tuple[Array, Array]:
    """For every k: the median length of a simulated party's vector, and what clipping there leaves of the mean."""
    generator = np.random.default_rng(0)
    n = min(samples_each, MOST_SIMULATED_SAMPLES)
    rows = generator.integers(0, len(white), (N_SIMULATED, n))
    labels = generator.integers(0, n_classes, (N_SIMULATED, n))
    contrasts = class_basis(n_classes)
    sums = np.stack([white[own].T @ contrasts[classes] for own, classes in zip(rows, labels)]) / n
    lengths = np.sqrt(np.cumsum((sums**2).sum(axis=2), axis=1))
    medians = np.maximum(np.median(lengths, axis=0), LEAST_RADIUS)
    return medians, np.minimum(1.0, medians / np.maximum(lengths, LEAST_RADIUS)).mean(axis=0)
