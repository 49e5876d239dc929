"""What `moments` and `refine` share: one vector per party, the mean of z_i v_iᵀ over its samples, in a ball that public simulation chose.

    letter  name here    meaning
    z_i     white        a sample in the k widest directions of the auxiliary set, whitened
    v_i     values       what its label stands for, c numbers
    b, B    ball.length  the ball, B = b in units of the lattice
    cf      clip_factor  how much shortening to b shrinks a typical party
    ν       noise        standard deviation of one coordinate of the released mean, divided by cf

The promise rests on the ball alone (statistic.proof.md); everything else here is a matter of accuracy, except that a party's vector must
come from its own rows to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from ostraka.contributions import LARGEST_DIMENSION, LARGEST_LENGTH, Ball
from ostraka.local.parties import Parties
from ostraka.losses import Array
from ostraka.methods.denoise import best_k
from ostraka.methods.laws import Law, l2_law, l2_variance, variance
from ostraka.methods.simulated import SimulatedParties
from ostraka.methods.statistic import StatisticPlan, StatisticTerms
from ostraka.whitening import Whitening

__all__ = ["Directions", "Units", "choose_directions", "party_means", "rounded_blocks"]

NUMBERS_AT_ONCE = 2**24

Units = NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Directions:
    """How many directions are released, in which ball, on which lattice, with which noise."""

    k: int
    grid: float
    ball: Ball
    law: Law
    clip_factor: float
    noise: float


def choose_directions(
    simulated: SimulatedParties,
    whitening: Whitening,
    n_auxiliary: int,
    n_classes: int,
    n_parties: int,
    terms: StatisticTerms,
    signal: float,
) -> Directions:
    """The k that keeps most of a signal of this size, from public things."""
    n_columns = simulated.sums.shape[2]
    lengths, factors = simulated.radii, simulated.kept
    dimensions = np.arange(1.0, whitening.rank + 1.0) * n_columns
    spread = l2_variance(terms.epsilon, terms.delta, 2.0 * lengths / n_parties, dimensions) / (signal * factors) ** 2
    k = best_k(whitening.values[: max(1, LARGEST_DIMENSION // n_columns)], spread, n_classes, n_auxiliary)
    radius, factor = float(lengths[k - 1]), float(factors[k - 1])
    grid = math.ldexp(1.0, math.ceil(math.log2(radius / LARGEST_LENGTH)))
    ball = Ball(norm="l2", length=max(1, math.floor(radius / grid)), dimension=k * n_columns)
    law = l2_law(terms.epsilon, terms.delta, float(ball.diameter), ball.dimension, terms.noise)
    noise = math.sqrt(variance(law)) * grid / (n_parties * factor)
    return Directions(k=k, grid=grid, ball=ball, law=law, clip_factor=factor, noise=noise)


def rounded_blocks(parties: Parties, planned: StatisticPlan, means: Callable[[Parties], Array]) -> Iterator[Units]:
    """The vectors of all parties, many to a block, shortened and rounded."""
    ball = planned.ball
    assert ball is not None
    for first, stop in _blocks(np.diff(parties.starts), max(1, NUMBERS_AT_ONCE // ball.dimension)):
        with np.errstate(all="ignore"):
            units = means(parties.part(first, stop)) / planned.certificate.grid
        yield ball.rounded(units)


def party_means(white: Array, values: Array, starts: NDArray[np.intp]) -> Array:
    """(1/n_j) Σ_i z_i v_iᵀ for every party, as rows; 0 for a party without samples."""
    sizes = np.diff(starts)
    filled = np.flatnonzero(sizes)
    sums = np.zeros((len(sizes), white.shape[1], values.shape[1]))
    # Column by column, and without a matrix product: see `own_products`.
    for column in range(values.shape[1] if filled.size else 0):
        sums[filled, :, column] = np.add.reduceat(white * values[:, [column]], starts[:-1][filled], axis=0)
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
