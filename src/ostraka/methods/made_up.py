"""Parties made up of public rows, and what they would send, added up: for many settings of a method
at once.

    name here   meaning
    World       labels of the auxiliary rows that have nothing to do with the truth, parties that
                hold some of these rows, and a seed for the noise
    worlds      eighteen of them: labels by random lines, and by clusters with random classes
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
from typing import TypeAlias, final

import numpy as np

from ostraka.methods.cells import Cells
from ostraka.methods.moments import Moments
from ostraka.party.products import own_products
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.classes import Indices
from ostraka.public.whitening import Whitening
from ostraka.solve.losses import Array
from ostraka.tally.domain import Units

__all__ = ["N_WORLDS", "Adder", "World", "adder", "sample", "worlds"]

N_LABELLINGS = 6
"""Of each of three kinds."""
N_WORLDS = 3 * N_LABELLINGS
CLUSTERED_ROWS = 1000
MOST_ROWS = 5000
NUMBERS_AT_ONCE = 2**21
"""Sixteen megabytes of them."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class World:
    """Labels of all auxiliary rows, the rows that each party holds (a line each), and a seed."""

    labels: Indices
    rows: Indices
    seed: int


Adder: TypeAlias = Callable[[World], list[Units]]


def adder(methods: Sequence[Cells | Moments]) -> Adder:
    """What adds up the vectors of a world's parties, for methods of one kind on one set."""
    cells = [method for method in methods if isinstance(method, Cells)]
    if cells:
        return lambda world: [_sum_of_cells(method, world) for method in cells]
    moments = [method for method in methods if isinstance(method, Moments)]
    widest = max(moments, key=lambda method: method.whitening.shape[1])
    # The directions of the others are the first ones of these.
    white = own_products(widest.features, widest.whitening)
    return lambda world: _sums_of_moments(moments, white, world)


@lru_cache(maxsize=2)
def worlds(auxiliary: AuxiliarySet, n_parties: int, samples_each: int) -> list[World]:
    """The same for every method and every ε."""
    generator = np.random.default_rng(1)
    n, shape = auxiliary.n_samples, (n_parties, samples_each)
    return [
        World(
            labels=labels,
            rows=generator.integers(0, n, n_parties * samples_each).reshape(shape),
            seed=int(generator.integers(2**31)),
        )
        for labels in _labellings(auxiliary.features, auxiliary.n_classes, generator)
    ]


@lru_cache(maxsize=2)
def sample(auxiliary: AuxiliarySet) -> AuxiliarySet:
    """So many rows are enough to tell the methods apart."""
    if auxiliary.n_samples <= MOST_ROWS:
        return auxiliary
    rows = np.random.default_rng(2).permutation(auxiliary.n_samples)[:MOST_ROWS]
    return AuxiliarySet(auxiliary.features[np.sort(rows)], auxiliary.classes)


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
    contrasts = methods[0].contrasts
    totals = [np.zeros(method.domain.dimension, dtype=np.int64) for method in methods]
    numbers = white.shape[1] * max(world.rows.shape[1], contrasts.shape[1])
    step = max(1, NUMBERS_AT_ONCE // numbers)
    for start in range(0, len(world.rows), step):
        rows = world.rows[start : start + step]
        products = white[rows].transpose(0, 2, 1) @ contrasts[world.labels[rows]]
        means = products.reshape(len(rows), -1) / rows.shape[1]
        for method, total in zip(methods, totals):
            total += method.domain.round_entries(means[:, : len(total)] / method.grid).sum(axis=0)
    return totals


def _labellings(
    features: Array, n_classes: int, generator: np.random.Generator
) -> Iterator[Indices]:
    """Labels that a line explains, with weights in proportion to a direction's extent, and labels
    that clusters explain.
    """
    from sklearn.cluster import KMeans

    whitening = Whitening.of(features)
    extents = whitening.basis * np.sqrt(whitening.values)
    for _ in range(N_LABELLINGS):
        drawn = generator.standard_normal((whitening.rank, n_classes))
        scores = features @ (extents @ drawn)
        yield np.argmax(scores - np.median(scores, axis=0), axis=1)
    for n_clusters in (n_classes, 2 * n_classes):
        for _ in range(N_LABELLINGS):
            rows = features[generator.permutation(len(features))[:CLUSTERED_ROWS]]
            n = min(n_clusters, len(np.unique(rows, axis=0)))
            seed = int(generator.integers(2**31))
            centres = KMeans(n, n_init=1, random_state=seed).fit(rows).cluster_centers_
            squares = np.einsum("ij,ij->i", centres, centres) / 2.0
            nearest = np.argmax(features @ centres.T - squares, axis=1)
            yield generator.permutation(np.arange(len(centres)) % n_classes)[nearest]
