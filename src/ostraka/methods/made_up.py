"""Worlds made up of public rows: labels, parties that hold some of the rows, and what these would
send, added up, for many settings of a method at once.

    name here   meaning
    World       public rows as features, labels that have nothing to do with the truth, the rows
                that each party holds, and a seed for the noise
    worlds      half of them take a column of the public table for the label, and all others for the
                features: columns of a table depend on each other much as a label depends on them.
                In the other half classes are clusters, with some labels wrong.
    adder       the sum of what the parties of a world would send, for each of several methods

The parties hold auxiliary rows, so what does not depend on labels is computed once for each
auxiliary row, and what does not depend on ε or on the number of units once for all methods. The
sums are those of `contribute`, up to the rounding of a product.

Everything is public: rows and labels are made up, and nothing here protects anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from ostraka.methods.after_noise.denoise import signal_shares
from ostraka.methods.after_noise.posterior import Evidence, fit_softmax
from ostraka.methods.cells import Cells, count_distinct
from ostraka.methods.moments import Moments
from ostraka.party.products import own_products
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.classes import Indices
from ostraka.public.preprocessing import is_sparse
from ostraka.public.whitening import Whitening, half_whiten
from ostraka.solve.losses import Array
from ostraka.tally.domain import Units

__all__ = ["N_WORLDS", "Adder", "World", "adder", "worlds"]

N_OF_COLUMNS = 6
N_OF_CLUSTERS = 6
N_WORLDS = N_OF_COLUMNS + N_OF_CLUSTERS
MOST_ROWS = 2500
CLUSTERED_ROWS = 1000
MOST_WRONG = 0.4
"""Of the labels in a world of clusters, at most this share is drawn at random."""
COMMONEST = 0.97
"""A column in which one value is more common says nothing."""
EVEN = 2.0
"""How evenly the values of a number fall into classes: the parameter of a Dirichlet law."""
MOST_TRIED = 40
NUMBERS_AT_ONCE = 2**21
"""Sixteen megabytes of them."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class World:
    """Public rows, their labels, the rows that each party holds (a line each), and a seed."""

    auxiliary: AuxiliarySet
    labels: Indices
    rows: Indices
    seed: int

    def judge(self, chosen: Any, objective: str = "accuracy") -> float:
        """How often these choices are right; or the mean of that over classes."""
        right = chosen == self.labels
        if objective == "accuracy":
            return float(np.mean(right))
        return float(np.mean([np.mean(right[self.labels == k]) for k in np.unique(self.labels)]))

    def guess(self, objective: str = "accuracy") -> float:
        """The same for naming one class always."""
        commonest = np.bincount(self.labels).argmax()
        return self.judge(np.full_like(self.labels, commonest), objective)

    def without_privacy(self, objective: str = "accuracy") -> float:
        """How often a line is right that was fitted to all rows and labels."""
        features, n_classes = self.auxiliary.features, self.auxiliary.n_classes
        whitening = Whitening.of(features, centred=True)
        white = (features - features.mean(axis=0)) @ whitening.map(whitening.rank)
        shares = np.bincount(self.labels, minlength=n_classes) / len(white)
        target = white.T @ (np.eye(n_classes)[self.labels] - shares) / len(white)
        found = Evidence(
            shares=np.maximum(shares, 1e-6),
            target=target,
            variance=0.0,
            signal=signal_shares(whitening.values),
            n_rows=len(white),
        )
        slopes, bias = fit_softmax(white, target, found.shares, found.penalties())
        bias = bias if objective == "accuracy" else bias - np.log(found.shares)
        return self.judge((white @ slopes + bias).argmax(axis=1), objective)


Adder: TypeAlias = Callable[[World], list[Units]]


def adder(methods: Sequence[Cells | Moments]) -> Adder:
    """What adds up the vectors of a world's parties, for methods of one kind on one set."""
    cells = [method for method in methods if isinstance(method, Cells)]
    if cells:
        return lambda world: [_sum_of_cells(method, world) for method in cells]
    moments = [method for method in methods if isinstance(method, Moments)]
    widest = max(moments, key=lambda method: method.whitening.shape[1])
    # The directions of the others are the first ones of these.
    white = own_products(widest.features, widest.whitening) - widest.centre
    return lambda world: _sums_of_moments(moments, white, world)


@lru_cache(maxsize=2)
def worlds(auxiliary: AuxiliarySet, n_parties: int, samples_each: int) -> list[World]:
    """The same for every method and every ε; those of columns first, each with its opposite."""
    generator = np.random.default_rng(1)
    small, encoded = _sample(auxiliary)
    of_columns = [] if encoded is None else list(_of_columns(auxiliary, encoded, generator))
    of_clusters = list(_of_clusters(small, generator))
    # Without columns to take, clusters are all there is; the halves weigh the same.
    missing = N_OF_COLUMNS - len(of_columns)
    filled = [*of_columns, *(of_columns or of_clusters)[:1] * missing] if missing else of_columns
    shape = (n_parties, samples_each)
    return [
        World(
            auxiliary=rows_of,
            labels=labels,
            rows=generator.integers(0, rows_of.n_samples, n_parties * samples_each).reshape(shape),
            seed=int(generator.integers(2**31)),
        )
        for rows_of, labels in [*filled, *of_clusters]
    ]


def _sample(auxiliary: AuxiliarySet) -> tuple[AuxiliarySet, Array | None]:
    """So many rows are enough to tell methods apart; and the same rows before the preprocessing."""
    n = auxiliary.n_samples
    rows = np.random.default_rng(2).permutation(n)[:MOST_ROWS]
    rows.sort()
    plain = auxiliary.samples is not None and not is_sparse(auxiliary.samples)
    encoded = np.asarray(auxiliary.encoded, dtype=np.float64)[rows] if plain else None
    if n <= MOST_ROWS:
        return auxiliary, encoded
    return AuxiliarySet(auxiliary.features[rows], auxiliary.classes), encoded


def _of_columns(
    auxiliary: AuxiliarySet, encoded: Array, generator: np.random.Generator
) -> Iterator[tuple[AuxiliarySet, Indices]]:
    """Worlds in which a column is the label."""
    widths = [1] * encoded.shape[1]
    if auxiliary.columns is not None:
        widths = [column.width for column in auxiliary.columns.columns]
    groups = np.repeat(np.arange(len(widths)), widths)
    found = 0
    for group in generator.permutation(len(widths))[:MOST_TRIED]:
        labels = _labels_of(encoded[:, groups == group], auxiliary.n_classes, generator)
        rest = encoded[:, groups != group]
        rest = rest[:, (rest != rest[:1]).any(axis=0)]
        if labels is None or not rest.shape[1]:
            continue
        plain = auxiliary.preprocessing is None  # the samples are features already
        fitted = None if plain else half_whiten(rest, auxiliary.n_classes)
        yield AuxiliarySet(rest, auxiliary.classes, preprocessing=fitted), labels
        found += 1
        if found == N_OF_COLUMNS:
            return


def _labels_of(
    column: Array, n_classes: int, generator: np.random.Generator
) -> NDArray[np.int64] | None:
    """Classes by a column's values, or by what range they lie in; None if hardly any differ."""
    if column.shape[1] > 1 and np.isin(column, (0.0, 1.0)).all():
        values = np.where(column.any(axis=1), column.argmax(axis=1), column.shape[1])
        order = np.argsort(-np.bincount(values), kind="stable")
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.minimum(np.arange(len(order)), n_classes - 1)
        labels = ranks[values]
    else:
        cuts = np.cumsum(generator.dirichlet(np.full(n_classes, EVEN)))[:-1]
        numbers = column[:, 0]
        bounds = np.unique(np.quantile(numbers, cuts))
        labels = np.searchsorted(bounds, numbers, side="right").astype(np.int64)
    if np.bincount(labels).max() > COMMONEST * len(labels):
        return None
    return np.asarray(generator.permutation(n_classes)[labels], dtype=np.int64)


def _of_clusters(
    auxiliary: AuxiliarySet, generator: np.random.Generator
) -> Iterator[tuple[AuxiliarySet, Indices]]:
    """Worlds in which classes are one cluster each, two, or four."""
    from sklearn.cluster import KMeans

    features, n_classes = auxiliary.features, auxiliary.n_classes
    for number in range(N_OF_CLUSTERS):
        rows = features[generator.permutation(len(features))[:CLUSTERED_ROWS]]
        n = min(n_classes * (1 << number % 3), count_distinct(rows))
        seed = int(generator.integers(2**31))
        centres = KMeans(n, n_init=1, random_state=seed).fit(rows).cluster_centers_
        squares = np.einsum("ij,ij->i", centres, centres) / 2.0
        nearest = np.argmax(features @ centres.T - squares, axis=1)
        labels = generator.permutation(np.arange(len(centres)) % n_classes)[nearest]
        wrong = generator.random(len(labels)) < generator.uniform(0.0, MOST_WRONG)
        yield (
            auxiliary,
            np.where(wrong, generator.integers(0, n_classes, len(labels)), labels),
        )


def _sum_of_cells(method: Cells, world: World) -> Units:
    n_parties, each = world.rows.shape
    rows, starts = world.rows.ravel(), np.arange(n_parties + 1) * each
    places, units = method.entries(method.assigned[rows], world.labels[rows], starts)
    total = np.zeros(method.domain.dimension, dtype=np.int64)
    np.add.at(total, places % len(total), units)
    return total


def _sums_of_moments(methods: Sequence[Moments], white: Array, world: World) -> list[Units]:
    """The vectors in the widest space, once.

    Then each method shortens the first numbers of them.
    """
    totals = [np.zeros(method.domain.dimension, dtype=np.int64) for method in methods]
    numbers = white.shape[1] * max(world.rows.shape[1], methods[0].n_classes)
    step = max(1, NUMBERS_AT_ONCE // numbers)
    for start in range(0, len(world.rows), step):
        vectors = _vectors(methods[0], white, world, world.rows[start : start + step])
        for method, total in zip(methods, totals):
            means = vectors[:, : method.whitening.shape[1] + 1].reshape(len(vectors), -1)
            total += method.domain.round_entries(means / method.grid).sum(axis=0)
    return totals


def _vectors(method: Moments, white: Array, world: World, rows: Indices) -> Array:
    """What `party_covariances` gives, for parties of the same size."""
    each = rows.shape[1]
    values = method.contrasts[world.labels[rows]]
    own = values.mean(axis=1, keepdims=True)
    held = white[rows]
    found = held.transpose(0, 2, 1) @ (values - (1.0 - 1.0 / each) * own) / each
    vectors: Array = np.concatenate([own, found], axis=1)
    if not method.with_mean:
        return vectors
    column: Any = np.concatenate([np.zeros((len(rows), 1)), held.mean(axis=1)], axis=1)
    return np.concatenate([vectors, column[:, :, np.newaxis] / method.n_classes**0.5], axis=2)
