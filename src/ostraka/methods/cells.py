"""`cells`: the auxiliary set is clustered in public; every party sends the histogram of its own (cell, class) pairs.

    letter  name here   meaning
    G       n_cells     how many cells
    h_j     –           party j's histogram over cells and classes divided by n_j: not negative, total 1
    L       ball.length what 1 is worth in units; entries are rounded down, towards 0
    m_g     masses      the share of auxiliary samples in cell g, F (`sums`) the sum of its features over N
    s       noise       scale of the noise on one entry of the released mean
    q       shares      a weight for each auxiliary row: 1/N, unless the cells' private masses are not the public ones (`shift`)

Guarantee (statistic.proof.md): a party's vector has an L1 norm of at most L units, so replacing it moves the sum by at most 2L, whatever G
and K; discrete Laplace noise of scale 2L/ε on each entry makes it ε-private with δ = 0. With two classes one signed column says all,
except how much of the private data a cell holds, which takes two (`shift`).

The simplest mechanism of all, and the best one at small ε. Weights: the best linear prediction of the cells' label masses from their
feature sums, when weights are as likely in all directions and noise, sampling and what a line cannot fit each have their variance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from ostraka.auxiliary import AuxiliarySet
from ostraka.contributions import LARGEST_DIMENSION, Ball, own_products
from ostraka.errors import ParameterError, WrongTypeError, count
from ostraka.local.parties import Parties
from ostraka.losses import Array
from ostraka.methods.denoise import self_trained, uniform
from ostraka.methods.laws import l1_law
from ostraka.methods.shift import ALARM, shrunken, surprise
from ostraka.methods.statistic import StatisticPlan, StatisticTerms, check_public, make_certificate
from ostraka.model import Task
from ostraka.noise import Entropy, Rehearsal
from ostraka.release import ChargeFirst, Rehearsed, Release

__all__ = ["CellsRecipe", "plan", "contributions", "release"]

UNITS = 2**20
SAMPLES_PER_CELL = 10
MOST_CELLS = 500
NOISE_MARGIN = 15.0
"""With Mε over this many cells, a cell's mass is 7.5 times the scale of its noise."""
PRIOR = 3.0
"""Variance of a weight before anything is known, times K."""
MISFIT = 0.1
"""Variance of a cell's label mass that no line explains, over its squared mass."""
LEAST_SHARE = 0.1
"""A cell keeps at least this much of its public mass."""
ROWS_AT_ONCE = 2**18
CLUSTERED_ROWS = 20_000
"""Cells are found on so many auxiliary samples at most; all samples are then assigned."""

Units = NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CellsRecipe:
    """The public parts of a `cells` poll."""

    features: Array
    centres: Array
    assigned: NDArray[np.intp]
    """The cell of each auxiliary row."""
    n_classes: int
    n_columns: int
    """1 for a difference of two classes, otherwise K."""
    reweighted: bool
    """Whether auxiliary rows are weighted where private masses differ from public ones."""
    n_samples: float
    """How many private samples there are in all, about."""
    noise: float
    penalty: float | None = None
    """Of the last fit, if it was set."""

    def weights(self, mean: Array) -> Array:
        """Clip to what a cell can hold, fit, let the model label X once more."""
        K, cells = self.n_classes, self.assigned
        shares = self._shares(mean, cells)
        weighted = uniform(self.features) if shares is None else shares
        masses = np.bincount(cells, weights=weighted, minlength=len(self.centres)).astype(np.float64)
        sums = np.zeros_like(self.centres)
        np.add.at(sums, cells, self.features * weighted[:, np.newaxis])
        held, noise_variance = self._label_masses(mean, masses)
        centred = held - held.mean(axis=1, keepdims=True)
        variances = noise_variance + masses / (K * self.n_samples) + MISFIT * masses**2 / K
        prior = PRIOR / K
        fitted = prior * sums.T @ np.linalg.solve(prior * sums @ sums.T + np.diag(variances), centred)
        return self_trained(self.features, fitted, shares, self.penalty)

    def surprise(self, mean: Array) -> float | None:
        """Of the cells' private masses; with one signed column, of labels that outweigh the cell they are in."""
        masses = np.bincount(self.assigned, minlength=len(self.centres)) / len(self.features)
        if self.n_columns > 1:
            return surprise(*self._gaps(mean, masses))
        excess = np.maximum(np.abs(mean) - masses, 0.0)
        # A cell whose labels all agree has noise on the far side half of the time: a sum of squares half as large, at most.
        return surprise(excess * 2.0**0.5, 2.0 * self.noise**2 + masses * self._sampling)

    def _shares(self, mean: Array, cells: NDArray[np.intp]) -> Array | None:
        masses = np.bincount(cells, minlength=len(self.centres)) / len(self.features)
        if not self.reweighted or not surprise(*self._gaps(mean, masses)) > ALARM:
            return None
        private = np.clip(masses + shrunken(*self._gaps(mean, masses)), LEAST_SHARE * masses, 1.0)
        factors = private / (private.sum() * np.maximum(masses, 1.0 / len(self.features)))
        shares: Array = factors[cells] / len(self.features)
        return shares

    def _gaps(self, mean: Array, masses: Array) -> tuple[Array, Array]:
        """Private less public mass of each cell, and the variance of that."""
        private = mean.reshape(-1, self.n_columns).sum(axis=1)
        least = 1.0 / len(self.features)
        return private - masses, 2.0 * self.n_columns * self.noise**2 + np.maximum(masses, least) * self._sampling

    @property
    def _sampling(self) -> float:
        """The variance of a cell's mass over the mass, for as many private and as many auxiliary samples."""
        return 1.0 / self.n_samples + 1.0 / len(self.features)

    def _label_masses(self, mean: Array, masses: Array) -> tuple[Array, float]:
        """Each cell's mass by class, made possible, and the variance of the noise in it."""
        K = self.n_classes
        if self.n_columns == 1:
            difference = np.clip(mean, -masses, masses)
            return np.stack([masses - difference, masses + difference], axis=1) / 2.0, self.noise**2 / 2.0
        held = np.clip(mean.reshape(-1, K), 0.0, masses[:, np.newaxis])
        return held, 2.0 * self.noise**2 * (1.0 - 1.0 / K)


def plan(auxiliary: AuxiliarySet, n_parties: int, terms: StatisticTerms, n_cells: int | None = None) -> StatisticPlan:
    """What a release by this many parties will promise, and how: known before anyone contributes."""
    features, n_parties = check_public(auxiliary, terms), terms.checked_parties(n_parties)
    if terms.noise != "auto":
        raise ParameterError("noise", got=terms.noise, allowed='"auto" for the method cells, whose noise is discrete Laplace; or moments')
    K = auxiliary.n_classes
    n_columns = 1 if K == 2 and not terms.shift else K
    G = _default_cells(len(features), n_parties, terms.epsilon) if n_cells is None else count("n_cells", n_cells, 1)
    centres = _centres(features, min(G, LARGEST_DIMENSION // n_columns))
    ball = Ball(norm="l1", length=UNITS, dimension=len(centres) * n_columns)
    law = l1_law(terms.epsilon, ball.diameter, ball.dimension)
    recipe = CellsRecipe(
        features=features,
        centres=centres,
        assigned=nearest_centres(features, centres),
        n_classes=K,
        n_columns=n_columns,
        reweighted=terms.shift,
        n_samples=float(n_parties) * terms.samples_each,
        noise=law.scale / (UNITS * n_parties),
        penalty=terms.penalty,
    )
    certificate = make_certificate(
        "cells", auxiliary, n_parties, terms, law,
        sensitivity=float(ball.diameter), grid=1.0 / UNITS, radius=1.0,
        coordinates=f"{len(centres)} cells, {'a difference of' if n_columns == 1 else K} classes",
    )  # fmt: skip
    return StatisticPlan(certificate=certificate, task=Task.of(auxiliary), ball=ball, law=law, recipe=recipe)


def contributions(parties: Parties, planned: StatisticPlan) -> Iterator[Units]:
    """What every party sends, many parties to a block: counts·L/n_j rounded towards 0, in whole numbers throughout."""
    recipe = planned.recipe
    if not isinstance(recipe, CellsRecipe):
        raise WrongTypeError("The plan", recipe, "a plan of cells")
    K, columns = recipe.n_columns, planned.certificate.dimension
    step = max(1, ROWS_AT_ONCE * 8 // columns)
    for first in range(0, len(parties), step):
        part = parties.part(first, min(first + step, len(parties)))
        cells = nearest_centres(part.features, recipe.centres)
        sizes = np.diff(part.starts)
        owners = np.repeat(np.arange(len(part)), sizes)
        counts = np.zeros((len(part), columns), dtype=np.int64)
        if K == 1:
            np.add.at(counts, (owners, cells), 2 * part.labels - 1)
        else:
            np.add.at(counts, (owners, cells * K + part.labels), 1)
        scaled = counts * UNITS
        yield np.sign(scaled) * (np.abs(scaled) // np.maximum(sizes, 1)[:, np.newaxis])


def release(
    parties: Parties,
    auxiliary: AuxiliarySet,
    terms: StatisticTerms,
    source: Entropy | Rehearsal | None = None,
    charge: ChargeFirst = None,
) -> Release | Rehearsed:
    """One classifier from everybody's histograms. A seeded `source` makes a rehearsal of it."""
    planned = plan(auxiliary, len(parties), terms)
    return planned.publish(planned.added(contributions(parties, planned)), source or Entropy(), charge)


def nearest_centres(features: Array, centres: Array) -> NDArray[np.intp]:
    """The cell of each row, from that row alone to the last bit."""
    half_squares = np.einsum("ij,ij->i", centres, centres) / 2.0
    nearest = [
        np.argmax(own_products(features[start : start + ROWS_AT_ONCE // 8], centres.T) - half_squares, axis=1)
        for start in range(0, features.shape[0], ROWS_AT_ONCE // 8)
    ]
    return np.concatenate(nearest) if nearest else np.zeros(0, dtype=np.intp)


def _default_cells(n_auxiliary: int, n_parties: int, epsilon: float) -> int:
    """√(Mε), so that noise and size of a cell shrink together, or more if noise stays small; enough auxiliary samples in each."""
    budget = n_parties * epsilon
    wanted = min(max(budget**0.5, budget / NOISE_MARGIN), float(MOST_CELLS))
    return int(np.clip(round(wanted), 2, max(2, n_auxiliary // SAMPLES_PER_CELL)))


def _centres(features: Array, n_cells: int) -> Array:
    from sklearn.cluster import KMeans

    rows = features
    if len(rows) > CLUSTERED_ROWS:
        rows = rows[np.random.default_rng(0).permutation(len(rows))[:CLUSTERED_ROWS]]
    n_distinct = len(np.unique(rows, axis=0))
    centres: Array = KMeans(min(n_cells, n_distinct), n_init=3, random_state=0).fit(rows).cluster_centers_
    return centres
