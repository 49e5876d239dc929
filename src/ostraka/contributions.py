"""What a party sends when labels enter through a bounded vector of whole numbers, and the exact sum of such vectors.

    name here   meaning
    ball        which vectors are allowed: a norm and a largest length, in units of the poll's lattice
    total       the sum of all contributions, exact, independent of their order
    n_parties   how many

Guarantee: every summand lies in the ball, checked in whole numbers, so that replacing one party moves the total by at most `diameter`,
whatever a party sends. A vector outside the ball is refused by the party's name and changes nothing. A party that has nothing sends zeros,
so that who takes part does not depend on data.

The total is private until noise has been added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import InputError, ParameterError, ShapeError, WrongTypeError, count

__all__ = ["Ball", "ContributionSum", "LARGEST_LENGTH", "LARGEST_DIMENSION", "own_products"]

LARGEST_LENGTH = 2**24
"""So long a ball may be, in units: its squares can be added up in 64 bits in every dimension that is allowed."""
LARGEST_DIMENSION = 2**14
MOST_PARTIES = 2**38
"""So many can be added in 64 bits."""
NUMBERS_AT_ONCE = 2**16
"""Half a megabyte, which stays in the cache."""
FACTOR_BITS = 25
"""Of a row and of a column, both about 1 long: what they have in common is below 2^51, where doubles count exactly."""

Units = NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ball:
    """The vectors of whole numbers with a norm of at most `length`."""

    norm: Literal["l1", "l2"]
    length: int
    dimension: int

    def __post_init__(self) -> None:
        if self.norm not in ("l1", "l2"):
            raise ParameterError("norm", got=self.norm, allowed='"l1" or "l2"')
        # Python's integers: twice the length must not wrap around in some narrow type that it was given in.
        object.__setattr__(self, "length", count("length", self.length, 1, LARGEST_LENGTH))
        object.__setattr__(self, "dimension", count("dimension", self.dimension, 1, LARGEST_DIMENSION))

    @property
    def diameter(self) -> int:
        """How far apart two vectors of the ball can be, in its own norm."""
        return 2 * self.length

    def outside(self, vectors: Units) -> NDArray[np.intp]:
        """The rows that are not in the ball, in exact arithmetic."""
        far = (vectors.max(axis=1, initial=0) > self.length) | (vectors.min(axis=1, initial=0) < -self.length)
        near = np.where(far.reshape(-1, 1), 0, vectors)
        norms = np.abs(near).sum(axis=1) if self.norm == "l1" else np.einsum("ij,ij->i", near, near)
        limit = self.length if self.norm == "l1" else self.length**2
        return np.flatnonzero(far | (norms > limit))

    def rounded(self, vectors: NDArray[np.float64]) -> Units:
        """Vectors (as rows, in units) shortened until their rounding lies in the ball; what is not finite becomes 0."""
        vectors = np.ascontiguousarray(np.where(np.isfinite(vectors).all(axis=1, keepdims=True), vectors, 0.0))
        # Rounding adds at most ½ to each coordinate: √D/2 in L2, D/2 in L1. One unit more covers the norms' own rounding.
        slack = (math.sqrt(self.dimension) if self.norm == "l2" else float(self.dimension)) / 2.0 + 1.0
        inner = max(self.length - slack, 0.0)
        with np.errstate(all="ignore"):  # whatever traps are set: one that springs would tell something about the data
            peaks = np.abs(vectors).max(axis=1, initial=0.0)
            scaled = vectors / np.where(peaks > 0.0, peaks, 1.0)[:, np.newaxis]  # the largest entry is 1: no square overflows
            norms = np.maximum(np.linalg.norm(scaled, ord=2 if self.norm == "l2" else 1, axis=1), 1.0)
            units: Units = np.rint(scaled * np.minimum(peaks, inner / norms)[:, np.newaxis]).astype(np.int64)
        units[self.outside(units)] = 0  # never seen; a promise, not a hope
        return units


@final
class ContributionSum:
    """Adds contributions up, exactly."""

    def __init__(self, ball: Ball) -> None:
        if not isinstance(ball, Ball):
            raise WrongTypeError("The ball", ball, "the Ball of a plan of moments or cells")
        self.ball = ball
        self._total = np.zeros(ball.dimension, dtype=np.int64)
        self._n_parties = 0

    @property
    def n_parties(self) -> int:
        """M."""
        return self._n_parties

    @property
    def total(self) -> list[int]:
        """The sum, as Python integers."""
        return [int(unit) for unit in self._total]

    def add(self, party: object, vector: Any) -> None:
        """Add one party's contribution, or refuse it by the party's name. That a party sends one only is the caller's to see to."""
        self.add_many(_whole(vector, f"The contribution of party {party!r}")[np.newaxis], [party])

    def add_many(self, vectors: Any, parties: Any = None) -> None:
        """Add many contributions, one per row; if one is refused none is added."""
        rows = _whole(vectors, "The contributions")
        if rows.ndim != 2 or rows.shape[1] != self.ball.dimension:
            raise ShapeError("The contributions", got=rows.shape, allowed=f"({self.ball.dimension},) for each party")
        outside = self.ball.outside(rows)
        if outside.size:
            first = int(outside[0])
            name = first if parties is None else parties[first]
            raise InputError(
                f"The contribution of party {name!r} lies outside the {self.ball.norm} ball of {self.ball.length} units.",
                "Compute it with this poll's own plan: it is clipped there.",
            )
        if self._n_parties + len(rows) > MOST_PARTIES:
            raise ParameterError("n_parties", got=self._n_parties + len(rows), allowed=f"up to {MOST_PARTIES}")
        self._total += rows.sum(axis=0)
        self._n_parties += len(rows)


def own_products(rows: Any, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """About rows·table, for rows in the unit ball (longer ones are shortened): each row's result depends on that row alone.

    That holds to the last bit, which it does not for a product in doubles: libraries add in an order that depends on how many rows there
    are, so that one party's rows would move the last bits of another's, and with them a rounding or a tie. Here both factors are rounded
    to so few bits that every sum is exact.
    """
    n, step = rows.shape[0], max(1, NUMBERS_AT_ONCE // rows.shape[1])
    products = np.empty((n, table.shape[1]))
    with np.errstate(all="ignore"):
        powers = np.exp2(np.ceil(np.log2(np.maximum(np.linalg.norm(table, axis=0), np.finfo(np.float64).tiny))))
        whole_table = np.rint(table / powers * 2.0**FACTOR_BITS)
        for start in range(0, n, step):
            block = rows[start : start + step]
            block = block.toarray() if hasattr(block, "toarray") else np.asarray(block, dtype=np.float64)
            products[start : start + step] = np.rint(_shortened(block) * 2.0**FACTOR_BITS) @ whole_table
        products *= powers * 2.0 ** (-2 * FACTOR_BITS)
    return products


def _shortened(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of length 1 at most; each by itself, and 0 if it is not finite."""
    # Contiguous: a length is then added up within its row, in an order that the number of columns decides.
    rows = np.ascontiguousarray(rows)
    peaks = np.abs(rows).max(axis=1, initial=0.0)  # NaN or infinite where the row is
    if not np.all(peaks <= 1.0):
        rows = np.where((peaks < np.inf)[:, np.newaxis], rows / np.maximum(peaks, 1.0)[:, np.newaxis], 0.0)
    lengths = np.linalg.norm(rows, axis=1)
    shortened: NDArray[np.float64] = rows / np.maximum(lengths, 1.0)[:, np.newaxis]
    return shortened


def _whole(given: Any, what: str) -> Units:
    array = np.asarray(given)
    if array.dtype.kind not in "iu" or (array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max):
        raise WrongTypeError(what, given, "whole numbers of up to 64 bits, in units of the poll's lattice")
    return array.astype(np.int64, copy=False)
