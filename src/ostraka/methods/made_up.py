"""Worlds made up of public rows: labels, parties that hold some of the rows, and what these would
send, added up, for many settings of a method at once.

    name here   meaning
    World       public rows as features, labels that have nothing to do with the truth
                (`made_up_labels`), the rows that each party holds, and a seed for the noise
    worlds      a dozen of them, the same for every method and every ε
    natural     parties of unlike sizes, each in its own corner of the population: it draws its rows
                from some of the cells of the auxiliary set more than from others
    adder       the sum of what the parties of a world would send, for each of several methods

The parties hold auxiliary rows, so what does not depend on labels is computed once for each
auxiliary row, and what does not depend on ε or on the number of units once for all methods. The
sums are those of `contribute`, up to the rounding of a product.

Everything is public: rows and labels are made up, and nothing here protects anybody.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, final

import numpy as np

from ostraka.methods.after_noise.denoise import signal_shares
from ostraka.methods.after_noise.posterior import Evidence, fit_softmax
from ostraka.methods.cells import Cells
from ostraka.methods.made_up_labels import N_WORLDS, label_rows, near_centres
from ostraka.methods.moments import Moments
from ostraka.party.products import own_products
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.classes import Indices
from ostraka.public.whitening import Whitening
from ostraka.solve.losses import Array
from ostraka.tally.domain import Units

__all__ = ["N_WORLDS", "Adder", "World", "adder", "worlds"]

NUMBERS_AT_ONCE = 2**21
"""Sixteen megabytes of them."""
PORTIONS = (0.3, 0.4, 0.3)
"""So many natural parties are small, typical and large."""
UNLIKE = 4.0
"""How many times as large as a typical one a large one is, unless more is known; as many times
smaller is a small one.
"""
N_CORNERS = 30
CORNERS = (10.0, 1.5, 0.3)
"""How evenly a natural party's rows lie over the cells, from world to world: the parameter of a
Dirichlet law, for all cells together.
"""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class World:
    """Public rows, their labels, the rows that parties hold, and a seed.

    Parties of one size are the lines of one array.
    """

    auxiliary: AuxiliarySet
    labels: Indices
    held: tuple[Indices, ...]
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


@lru_cache(maxsize=4)
def worlds(
    auxiliary: AuxiliarySet,
    n_parties: int,
    samples_each: int,
    natural: bool | None = None,
    largest: int | None = None,
) -> list[World]:
    """A dozen; nothing in them depends on a method or on ε.

    Where nobody has said whether parties are natural, they are in every second world. `largest`:
    how many samples the largest party has.
    """
    # Halfway to the largest, as sizes go.
    unlike = UNLIKE if largest is None else (largest / samples_each) ** 0.5
    sizes = tuple(max(1, round(samples_each * unlike**power)) for power in (-1, 0, 1))
    generator = np.random.default_rng(1)
    found = []
    for number, (rows, labels) in enumerate(label_rows(auxiliary, generator)):
        corners = CORNERS[number % len(CORNERS)]
        if natural is False or (natural is None and number % 2):
            held = _deal(rows.features, n_parties, samples_each, generator)
        else:
            held = _deal_corners(rows.features, n_parties, sizes, corners, generator)
        seed = int(generator.integers(2**31))
        found.append(World(auxiliary=rows, labels=labels, held=held, seed=seed))
    return found


def _deal(
    features: Array, n_parties: int, each: int, generator: np.random.Generator
) -> tuple[Indices, ...]:
    return (generator.integers(0, len(features), (n_parties, each)),)


def _deal_corners(
    features: Array,
    n_parties: int,
    sizes: tuple[int, ...],
    even: float,
    generator: np.random.Generator,
) -> tuple[Indices, ...]:
    cells = near_centres(features, N_CORNERS, generator)
    order, masses = np.argsort(cells, kind="stable"), np.bincount(cells) / len(cells)
    starts = np.cumsum([0, *np.bincount(cells)])
    bounds = np.rint(np.cumsum([0.0, *PORTIONS]) * n_parties).astype(np.int64)
    held = []
    for n, number in zip(sizes, np.diff(bounds)):
        shares = generator.dirichlet(even * masses + 1e-3, number)
        drawn = generator.random((number, n, 1)) > np.cumsum(shares, axis=1)[:, np.newaxis, :-1]
        corner = drawn.sum(axis=2)
        within = generator.random((number, n)) * (starts[corner + 1] - starts[corner])
        held.append(order[starts[corner] + within.astype(np.int64)])
    return tuple(rows for rows in held if len(rows))


def _sum_of_cells(method: Cells, world: World) -> Units:
    total = np.zeros(method.domain.dimension, dtype=np.int64)
    for held in world.held:
        rows, starts = held.ravel(), np.arange(len(held) + 1) * held.shape[1]
        places, units = method.entries(method.assigned[rows], world.labels[rows], starts)
        np.add.at(total, places % len(total), units)
    return total


def _sums_of_moments(methods: Sequence[Moments], white: Array, world: World) -> list[Units]:
    """The vectors in the widest space, once.

    Then each method shortens the first numbers of them.
    """
    totals = [np.zeros(method.domain.dimension, dtype=np.int64) for method in methods]
    for held in world.held:
        numbers = white.shape[1] * max(held.shape[1], methods[0].n_classes)
        step = max(1, NUMBERS_AT_ONCE // numbers)
        for start in range(0, len(held), step):
            vectors = _vectors(methods[0], white, world, held[start : start + step])
            for method, total in zip(methods, totals):
                means = vectors[:, : method.whitening.shape[1] + 1].reshape(len(vectors), -1)
                sent = method.shorten(means, np.ones(len(means), dtype=np.bool_))
                total += method.domain.round_entries(sent / method.grid).sum(axis=0)
    return totals


def _vectors(method: Moments, white: Array, world: World, rows: Indices) -> Array:
    """What `party_covariances` gives, for parties of the same size."""
    each = rows.shape[1]
    values = method.contrasts[world.labels[rows]]
    own = values.mean(axis=1, keepdims=True)
    held, subtracted = white[rows], method.within * (1.0 - 1.0 / each)
    found = held.transpose(0, 2, 1) @ (values - subtracted * own) / each
    vectors: Array = np.concatenate([own, found], axis=1)
    if not method.with_mean:
        return vectors
    column: Any = np.concatenate([np.zeros((len(rows), 1)), held.mean(axis=1)], axis=1)
    return np.concatenate([vectors, column[:, :, np.newaxis] / method.n_classes**0.5], axis=2)
