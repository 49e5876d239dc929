"""What `moments` and `refine` share: one vector per party, in a ball chosen by public simulation.

The vector is the mean of z_i v_iᵀ over the party's samples.

    letter  name here    meaning
    z_i     white        a sample in the k widest directions of the auxiliary set, whitened
    v_i     values       what its label stands for, c numbers
    b       radius       the ball; in units of the lattice `ball.length`
    cf      clip_factor  how much shortening to b shrinks a typical party

The promise rests on the ball alone (noisy_sum.proof.md); everything else here is a matter of
accuracy, except that a party's vector must come from its own rows to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from ostraka.mechanism.laws import l2_variance
from ostraka.methods.after_noise.denoise import best_k
from ostraka.methods.base import Block
from ostraka.methods.noisy_sum import lattice
from ostraka.methods.simulated import SimulatedParties
from ostraka.party.quiet import quietly
from ostraka.party.rows import Parties, cut_parties
from ostraka.public.promise import Promise
from ostraka.public.whitening import Whitening
from ostraka.solve.losses import Array
from ostraka.tally.domain import Ball

__all__ = ["Directions", "choose_directions", "lengthen", "round_blocks"]

NUMBERS_AT_ONCE = 2**24
MOST_NUMBERS = 2**14
"""The most numbers that a party sends."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Directions:
    """How many directions are released, in which ball, on which lattice."""

    k: int
    grid: float
    ball: Ball
    clip_factor: float


def choose_directions(
    simulated: SimulatedParties,
    whitening: Whitening,
    n_auxiliary: int,
    n_classes: int,
    n_units: int,
    promise: Promise,
    *,
    signal: float = 1.0,
    first_rows: int = 0,
    told: float = 0.0,
) -> Directions:
    """The k that keeps most of a signal of this size, from public values.

    `first_rows`: so many rows of a vector come before those of the directions. `told`: the range of
    one more number, beside what vectors are shortened to.
    """
    n_columns, more = simulated.sums.shape[2], int(told > 0.0)
    factors = simulated.kept[first_rows:]
    lengths = simulated.radii[first_rows:] * lengthen(told)
    dimensions = (np.arange(1.0, whitening.rank + 1.0) + first_rows) * n_columns + more
    moves = 2.0 * lengths / n_units
    one = l2_variance(promise.epsilon, promise.delta, moves, dimensions)
    spread = promise.n_noises * one
    values = whitening.values[: max(1, (MOST_NUMBERS - more) // n_columns - first_rows)]
    k = best_k(values, spread / (signal * factors) ** 2, n_classes, n_auxiliary)
    grid, ball = lattice(float(lengths[k - 1]), (k + first_rows) * n_columns + more)
    return Directions(k=k, grid=grid, ball=ball, clip_factor=float(factors[k - 1]))


def lengthen(told: float) -> float:
    """The radius of the ball for vectors of length up to 1 and one more number within ±told/2."""
    return math.hypot(1.0, told / 2.0)


def round_blocks(
    parties: Parties, ball: Ball, grid: float, means: Callable[[Parties], Array]
) -> Iterator[Block]:
    """The vectors of all parties, many to a block, shortened and rounded."""
    rows = max(1, NUMBERS_AT_ONCE // ball.dimension)
    for first, stop in cut_parties(parties.sizes, rows):
        part = parties.part(first, stop)
        with quietly():
            units = ball.round_entries(means(part) / grid)
        yield list(part.names), units
