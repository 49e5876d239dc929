"""`cells`: every party sends a histogram of its (cell, class) pairs, over public clusters.

The cells are clusters of the auxiliary set.

    letter  name here   meaning
    G       –           number of cells
    h_j     –           party j's histogram over cells and classes divided by n_j:
                        not negative, total 1
    L       UNITS       what 1 is worth in units; entries are rounded down, towards 0
    m_g     masses      the share of auxiliary samples in cell g
    F       sums        row g: the sum of the features in cell g, over N
    s       –           scale of the noise on one entry of the released mean
    q       shares      a weight for each auxiliary row: 1/N, unless the private masses of the cells
                        differ from the public ones (`shift`)

Guarantee (noisy_sum.proof.md): a party's vector has an L1 norm of at most L units, so replacing it
moves the sum by at most 2L, whatever G and K; discrete Laplace noise of scale 2L/ε on each entry
makes it ε-private with δ = 0. With two classes one signed column says everything, except how much
of the private data a cell holds, which takes two (`shift`).

The simplest mechanism of all, and the best one at small ε. Weights: the best linear prediction of
the cells' label masses from their feature sums, if weights are equally likely in all directions and
noise, sampling and what a line cannot fit each have their own variance.

A single cell is about which class is the commonest. There a party sends the squares of its class
shares, over their sum: still not negative with total 1, so the noise is the same, but classes are
further apart. Where parties are alike, the roots of what is released are in proportion to the
shares; where they differ, the commonest class is commoner than the roots say.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import ParameterError
from ostraka.mechanism.laws import Exact
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.after_noise.denoise import onto_simplex, uniform
from ostraka.methods.after_noise.line import Line
from ostraka.methods.after_noise.posterior import SEPARATED, likely_shares, spread
from ostraka.methods.after_noise.shift import ALARM, shrink, surprise
from ostraka.methods.after_noise.student import (
    Fitted,
    add_bias,
    even_out,
    soften,
    sureness,
    teach,
)
from ostraka.methods.base import (
    Block,
    Options,
    Work,
    check_positive,
    check_shapes,
    labels_again,
    public_features,
    whole,
)
from ostraka.methods.noisy_sum import hidden_ball
from ostraka.party.products import own_products
from ostraka.party.quiet import quietly
from ostraka.party.rows import Parties
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.public.task import Task
from ostraka.solve.losses import Array
from ostraka.tally.domain import Ball, Units

__all__ = ["Cells", "count_distinct", "nearest_centres"]

UNITS = 2**20
SAMPLES_PER_CELL = 10
MOST_CELLS = 500
NOISE_MARGIN = 15.0
"""With Mε over this many cells, a cell's mass is 7.5 times the scale of its noise."""
CAUTION = 1.5
"""Class shares are shrunk as if their noise had this many times its variance."""
MISTRUST, MISTRUST_TRAINED = 0.1, 0.4
"""How far a line's own probabilities typically are from the truth, and where classes are separated.
"""
MOVED = 1.0
"""By so many of its deviations noise makes labels seem to agree with answers that it has moved."""
SUREST = 0.995
WITHIN = 0.5
"""How much of what mixed cells seem to lose a model of separated classes tells apart."""
MISFIT = 0.1
"""Variance of a cell's label mass that no line explains, over its squared mass."""
UNLIKE = 0.05
"""How far the roots of squares typically are from the shares, because parties differ."""
LEAST_SHARE = 0.1
"""A cell keeps at least this much of its public mass."""
ROWS_AT_ONCE = 2**18
CLUSTERED_ROWS = 20_000
"""Cells are found on at most this many auxiliary samples; then all samples are assigned."""
MOST_NUMBERS = 2**14
DECIMALS = 9


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """The public parts of a `cells` poll."""

    name: ClassVar[str] = "cells"
    start: ClassVar[None] = None

    features: Array = field(repr=False)
    centres: Array
    assigned: NDArray[np.int64]
    """The cell of each auxiliary row."""
    n_classes: int
    n_columns: int
    """1 for a difference of two classes, otherwise K."""
    reweighted: bool
    """Whether auxiliary rows are weighted where private masses differ from public ones."""
    samples_each: int
    squared: bool = False
    """Whether parties send the squares of their class shares: with a single cell."""
    penalty: float | None = None
    """How little to trust the released masses, if it was set."""
    student: str = "auto"
    """What learns the fitted model's answers; by default something if classes hardly overlap."""
    objective: str = "accuracy"
    """ "balanced": classes are told apart as if all were equally common."""

    def __post_init__(self) -> None:
        check_positive(self)
        n_cells = check_shapes(
            features=(self.features, "Np"),
            centres=(self.centres, "Gp"),
            assigned=(self.assigned, "N"),
        )["G"]
        if not (self.assigned.min() >= 0 and self.assigned.max() < n_cells):
            raise ParameterError("assigned", got="other cells", allowed=f"0 to {n_cells - 1}")
        if self.n_columns != self.n_classes and (self.n_columns, self.n_classes) != (1, 2):
            allowed = "the number of classes, or 1 of two"
            raise ParameterError("n_columns", got=self.n_columns, allowed=allowed)
        if self.squared and n_cells > 1:
            raise ParameterError("squared", got=True, allowed="False, with more than one cell")

    @classmethod
    def create(
        cls,
        public: AuxiliarySet | Task,
        n_units: int,
        promise: Promise,
        options: Options,
        n_cells: int | None = None,
    ) -> Cells:
        """Cluster the auxiliary set, for this many units."""
        auxiliary, features = public_features(public, cls.name)
        n_classes = auxiliary.n_classes
        n_columns = 1 if n_classes == 2 and not options.shift else n_classes
        wanted = n_cells or _default_cells(len(features), n_units, promise)
        clustering = _cluster(auxiliary, min(wanted, MOST_NUMBERS // n_columns))
        return cls(
            features=features,
            centres=clustering.centres,
            assigned=clustering.assigned,
            n_classes=n_classes,
            n_columns=n_columns,
            reweighted=options.shift,
            samples_each=options.samples_each,
            squared=wanted == 1 and not options.shift,
            penalty=options.penalty,
            student=options.student,
            objective=options.objective,
        )

    @property
    def domain(self) -> Ball:
        """G·K shares (G for two classes) in an L1 ball."""
        return Ball(norm="l1", length=UNITS, dimension=len(self.centres) * self.n_columns)

    def contribute(self, parties: Parties, work: Work) -> Iterator[Block]:  # noqa: ARG002
        """Every party's counts·L/n_j, rounded towards 0, in whole numbers throughout."""
        step = max(1, ROWS_AT_ONCE * 8 // self.domain.dimension)
        for first in range(0, len(parties), step):
            part = parties.part(first, min(first + step, len(parties)))
            with quietly():
                units = self._histograms(part)
            yield list(part.names), units

    def mechanism(self, promise: Promise, n_units: int) -> Mechanism:
        """Discrete Laplace noise for two histograms."""
        kind = "a difference of" if self.n_columns == 1 else self.n_classes
        coordinates = f"{len(self.centres)} cells, {kind} classes"
        if self.squared:
            coordinates = f"squared class shares, {kind} classes"
        return hidden_ball(self.domain, 1.0 / UNITS, promise, n_units, coordinates)

    def statistic(self, total: Units, mechanism: Mechanism) -> Exact:  # noqa: ARG002
        """The sum itself."""
        return whole(total)

    def weights(self, mean: Array, mechanism: Mechanism) -> Array:
        """Those of the model, aimed at the objective."""
        return self.fit(mean, mechanism).aim(self.objective, self.features)

    def fit(self, mean: Array, mechanism: Mechanism) -> Fitted:
        """The most probable line through the cells' label masses, beyond the class shares.

        Where classes hardly overlap, a student of it.
        """
        mean = self._unsquare(mean, mechanism)
        rows = self._shares(mean, mechanism)
        weighted = uniform(self.features) if rows is None else rows
        line, centre = self._line(mean, mechanism, weighted), weighted @ self.features
        fitted, strength = line.fit(self.penalty), line.strength
        weights = add_bias(self.features, fitted, line.shares - centre @ fitted)
        scores = apart = self.features @ weights
        separated = strength > SEPARATED
        trained = labels_again(self.student, separated)
        if trained:
            shares = even_out(line.shares) if separated else line.shares
            weights, apart = teach(self.features, scores, shares, self.penalty, rows)
        centred, lines = self.features - centre, (fitted, line.fit(1.0 / strength))
        said = [onto_simplex(centred @ each + line.shares) for each in lines]
        sure = self._sureness(mean, mechanism, said, apart, weighted, trained)
        factor = soften(apart, partial(sureness, rows=rows), sure)
        return Fitted(weights=factor * weights, apart=factor * apart, shares=line.shares, rows=rows)

    def separates(self, mean: Array, mechanism: Mechanism) -> bool:
        """Whether classes hardly overlap, as far as what was released tells."""
        mean = self._unsquare(mean, mechanism)
        rows = self._shares(mean, mechanism)
        weighted = uniform(self.features) if rows is None else rows
        return self._line(mean, mechanism, weighted).strength > SEPARATED

    def surprise(self, mean: Array, mechanism: Mechanism) -> float | None:
        """The surprise of the cells' private masses.

        With one signed column: of labels that outweigh the cell they are in. Squares tell nothing.
        """
        if self.squared:
            return None
        if self.n_columns > 1:
            return surprise(*self._gaps(mean, mechanism))
        masses = self._public_masses()
        noise = _noise(mechanism)
        excess = np.maximum(np.abs(mean) - masses, 0.0)
        variances = 2.0 * noise**2 + masses * self._sampling(mechanism)
        # If all labels of a cell agree, half of the noise lies on the far side: half the squares.
        return surprise(excess * 2.0**0.5, variances)

    def class_shares(self, mean: Array, mechanism: Mechanism) -> tuple[Array, float]:
        """How common each class is, added up over the cells, and the deviation of that."""
        shares, off = self._add_up(self._unsquare(mean, mechanism), mechanism)
        return shares, math.hypot(off, UNLIKE) if self.squared else off

    def _add_up(self, mean: Array, mechanism: Mechanism) -> tuple[Array, float]:
        off = math.sqrt(2.0 * len(self.centres)) * _noise(mechanism)
        if self.n_columns == 1:
            second = (1.0 + float(mean.sum())) / 2.0
            return np.array([1.0 - second, second]), float(off) / 2.0
        shares: Array = mean.reshape(-1, self.n_columns).sum(axis=0)
        return shares, float(off)

    def entries(
        self, cells: NDArray[np.int64], labels: NDArray[Any], starts: NDArray[np.intp]
    ) -> tuple[NDArray[np.int64], Units]:
        """Where the parties' vectors, laid end to end, are not 0, and what they hold there."""
        K, sizes = self.n_columns, np.diff(starts)
        owners = np.repeat(np.arange(len(sizes)), sizes)
        columns = cells if K == 1 else cells * K + labels
        votes = 2 * labels - 1 if K == 1 else np.ones_like(labels)
        # Refuses a column that there is not, which would lie in the next party's vector.
        held = np.ravel_multi_index((owners, columns), (len(sizes), self.domain.dimension))
        places, which = np.unique(held, return_inverse=True)
        counts = np.zeros(len(places), dtype=np.int64)
        np.add.at(counts, which, votes)
        scaled, divisors = counts * UNITS, sizes[places // self.domain.dimension]
        units: Units = np.sign(scaled) * (np.abs(scaled) // divisors)
        if self.squared:
            units = self._square(units, places // self.domain.dimension, len(sizes))
        return places, units

    def _square(self, units: Units, owners: NDArray[np.int64], n_owners: int) -> Units:
        """Of each party's shares their squares over the sum of these, rounded towards 0.

        The difference u of two shares becomes 2u/(1 + u²). Nothing exceeds 2⁶¹.
        """
        if self.n_columns == 1:
            sizes = np.abs(units)
            found: Units = np.sign(units) * (2 * sizes * UNITS**2 // (UNITS**2 + sizes**2))
            return found
        totals = np.zeros(n_owners, dtype=np.int64)
        np.add.at(totals, owners, units**2)
        squares: Units = units**2 * UNITS // np.maximum(totals[owners], 1)
        return squares

    def _unsquare(self, mean: Array, mechanism: Mechanism) -> Array:
        """What all parties' shares would be, if they were alike; where nothing was squared, what
        was released.
        """
        if not self.squared:
            return mean
        deviation = mechanism.deviation
        if self.n_columns == 1:
            mean, deviation = np.array([1.0 - mean[0], 1.0 + mean[0]]) / 2.0, deviation / 2.0
        # The roots of noise around 0 would be large.
        roots = np.sqrt(likely_shares(mean, deviation**2))
        shares = roots / roots.sum()
        return np.asarray(shares if self.n_columns > 1 else shares[1:] - shares[:1])

    def _histograms(self, part: Parties) -> Units:
        cells = nearest_centres(part.features, self.centres)
        places, units = self.entries(cells, part.labels, part.starts)
        vectors = np.zeros(len(part) * self.domain.dimension, dtype=np.int64)
        vectors[places] = units
        return vectors.reshape(len(part), -1)

    def _line(self, mean: Array, mechanism: Mechanism, weighted: Array) -> Line:
        noise, masses = _noise(mechanism), self._masses(weighted)
        found, deviation = self._add_up(mean, mechanism)
        shares = found if self.squared else likely_shares(found, CAUTION * deviation**2)
        held, variance = self._label_masses(mean, masses, noise)
        sampled = masses / (float(mechanism.divisor) * self.samples_each)
        unexplained = (sampled + MISFIT * masses**2) * spread(shares) / self.n_classes
        centre = weighted @ self.features
        squares = weighted @ np.einsum("ij,ij->i", self.features, self.features)
        return Line(
            sums=self._sums(weighted) - np.outer(masses, centre),
            left=held - np.outer(masses, shares),
            variances=np.maximum(variance + unexplained, np.finfo(np.float64).tiny),
            shares=shares,
            extent=max(float(squares - centre @ centre), np.finfo(np.float64).tiny),
        )

    def _sureness(
        self,
        mean: Array,
        mechanism: Mechanism,
        lines: list[Array],
        scores: Array,
        weighted: Array,
        trained: bool,
    ) -> float:
        """How often the answers are right: what two lines say, and what the released masses say.

        The fitted line is as long as separated classes need, and flatters where they overlap; one
        that is as long as what was released makes likely is too cautious where they do not: their
        mean. The masses say how many labels of each cell agree with the answers there: noisy, and
        too many, because noise has moved the answers towards itself; but no line is as sure as
        separated classes are. They take labels and answers within a cell to have nothing to do with
        each other. What they have is the lines' word, where they tell more of rows than of the
        cells that these are in; where classes are separated, which lines understate, about half of
        what a mixed cell seems to lose is told apart within it.
        """
        K, chosen = self.n_classes, scores.argmax(axis=1)
        counted = np.zeros((len(self.centres), K))
        np.add.at(counted, (self.assigned, chosen), weighted)
        masses, noise = self._masses(weighted), _noise(mechanism)
        given = counted / np.maximum(masses, np.finfo(np.float64).tiny)[:, np.newaxis]
        if self.n_columns == 1:
            found = np.stack([masses - mean, masses + mean], axis=1) / 2.0
            moved = (given[:, 1] - given[:, 0]) / 2.0
        else:
            found, moved = mean.reshape(-1, K), given
        deviation = math.sqrt(2.0 * noise**2 * float(np.sum(moved**2)))
        likely = np.mean(lines, axis=0) * weighted[:, np.newaxis]
        said = float(np.take_along_axis(likely, chosen[:, np.newaxis], axis=1).sum())
        mistrust = MISTRUST_TRAINED if trained else MISTRUST
        trust = mistrust**2 / (mistrust**2 + (2.0 * deviation) ** 2)
        agreeing = float(np.sum(given * found))
        if trained:
            mixed = 1.0 - float(masses @ np.einsum("ij,ij->i", given, given))
            agreeing *= 1.0 + WITHIN * mixed
        else:
            agreeing += said - float(np.sum(given * self._by_cell(likely)))
        told = said + trust * (agreeing - MOVED * deviation - said)
        return float(np.clip(told, 1.0 / K, SUREST))

    def _masses(self, weighted: Array) -> Array:
        masses = np.bincount(self.assigned, weights=weighted, minlength=len(self.centres))
        return masses.astype(np.float64)

    def _sums(self, weighted: Array) -> Array:
        """Of the features in each cell."""
        return self._by_cell(self.features * weighted[:, np.newaxis])

    def _by_cell(self, rows: Array) -> Array:
        """The sum of each cell's rows."""
        n_cells, p = len(self.centres), rows.shape[1]
        places = self.assigned[:, np.newaxis] * p + np.arange(p)
        sums = np.bincount(places.ravel(), weights=rows.ravel(), minlength=n_cells * p)
        return sums.astype(np.float64, copy=False).reshape(n_cells, p)

    def _shares(self, mean: Array, mechanism: Mechanism) -> Array | None:
        if not self.reweighted or not surprise(*self._gaps(mean, mechanism)) > ALARM:
            return None
        n, masses = len(self.features), self._public_masses()
        moved = masses + shrink(*self._gaps(mean, mechanism))
        private = np.clip(moved, LEAST_SHARE * masses, 1.0)
        factors = private / (private.sum() * np.maximum(masses, 1.0 / n))
        shares: Array = factors[self.assigned] / n
        return shares

    def _gaps(self, mean: Array, mechanism: Mechanism) -> tuple[Array, Array]:
        """Private minus public mass of each cell, and the variance of the difference."""
        private, masses = mean.reshape(-1, self.n_columns).sum(axis=1), self._public_masses()
        noise = _noise(mechanism)
        least = np.maximum(masses, 1.0 / len(self.features))
        variances = 2.0 * self.n_columns * noise**2 + least * self._sampling(mechanism)
        return private - masses, variances

    def _public_masses(self) -> Array:
        counts = np.bincount(self.assigned, minlength=len(self.centres))
        return counts / len(self.features)

    def _sampling(self, mechanism: Mechanism) -> float:
        """The variance of a cell's mass over the mass, for these numbers of samples."""
        return 1.0 / (float(mechanism.divisor) * self.samples_each) + 1.0 / len(self.features)

    def _label_masses(self, mean: Array, masses: Array, noise: float) -> tuple[Array, float]:
        """Each cell's mass by class, made possible, and the variance of the noise in it."""
        K = self.n_classes
        if self.n_columns == 1:
            difference = np.clip(mean, -masses, masses)
            held = np.stack([masses - difference, masses + difference], axis=1) / 2.0
            return held, noise**2 / 2.0
        held = np.clip(mean.reshape(-1, K), 0.0, masses[:, np.newaxis])
        return held, 2.0 * noise**2 * (1.0 - 1.0 / K)


def nearest_centres(features: Array, centres: Array) -> NDArray[np.int64]:
    """The cell of each row, computed from that row alone to the last bit."""
    half_squares = np.einsum("ij,ij->i", centres, centres) / 2.0
    step = ROWS_AT_ONCE // 8
    nearest = [
        np.argmax(own_products(features[i : i + step], centres.T) - half_squares, axis=1)
        for i in range(0, features.shape[0], step)
    ]
    return np.concatenate(nearest) if nearest else np.zeros(0, dtype=np.int64)


def count_distinct(rows: Array) -> int:
    """How many rows differ by more than rounding: there cannot be more clusters."""
    return len(np.unique(rows.round(DECIMALS), axis=0))


def _noise(mechanism: Mechanism) -> float:
    """s; of two noises, that of a single one with their variance."""
    return mechanism.noise_scale / mechanism.divisor * math.sqrt(mechanism.n_noises)


def _default_cells(n_auxiliary: int, n_units: int, promise: Promise) -> int:
    """√(Mε), so that a cell's noise and size shrink together, or more if the noise stays small.

    Each cell must hold enough auxiliary samples.
    """
    budget = n_units * promise.felt_epsilon
    wanted = min(max(budget**0.5, budget / NOISE_MARGIN), float(MOST_CELLS))
    return int(np.clip(round(wanted), 2, max(2, n_auxiliary // SAMPLES_PER_CELL)))


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Clustering:
    """Centres of cells, and the cell of each auxiliary row."""

    centres: Array
    assigned: NDArray[np.int64]


def _cluster(auxiliary: AuxiliarySet, n_cells: int) -> _Clustering:
    """So many cells: found once for each auxiliary set, whatever ε and the number of units."""
    found = _clusterings(auxiliary)
    if n_cells not in found:
        centres = _centres(auxiliary.features, n_cells)
        assigned = nearest_centres(auxiliary.features, centres)
        for array in (centres, assigned):
            array.flags.writeable = False
        found[n_cells] = _Clustering(centres, assigned)
    return found[n_cells]


@lru_cache(maxsize=2)
def _clusterings(auxiliary: AuxiliarySet) -> dict[int, _Clustering]:  # noqa: ARG001
    """Those of this set that were asked for so far, by their number of cells."""
    return {}


def _centres(features: Array, n_cells: int) -> Array:
    from sklearn.cluster import KMeans

    rows = features
    if len(rows) > CLUSTERED_ROWS:
        rows = rows[np.random.default_rng(0).permutation(len(rows))[:CLUSTERED_ROWS]]
    fitted = KMeans(min(n_cells, count_distinct(rows)), n_init=3, random_state=0).fit(rows)
    centres: Array = fitted.cluster_centers_
    return centres
