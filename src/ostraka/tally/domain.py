"""What one party may send, and its exact sum: whole numbers in a ball, or a ballot.

    name here   meaning
    Ball        vectors with a norm of at most `length`, in units of the poll's lattice
    Ballots     one vote, an index of a class, for each of N auxiliary samples
    total       the sum of all contributions, exact, independent of their order

Guarantee (domain.proof.md): every summand lies in the domain, checked in whole numbers. So
replacing one moves the total by no more than the distance between two points of the domain,
whatever a party sends. A summand outside is refused with its party's name and changes nothing.

The total is private until noise has been added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import InputError, ParameterError, ShapeError, WrongTypeError, count
from ostraka.public.promise import MOST_PARTIES

__all__ = ["Ball", "BallSum", "BallotSum", "Ballots", "Domain", "Units", "longest"]

LARGEST_LENGTH = 2**24
LARGEST_DIMENSION = 2**22
MOST_SAMPLES = 2**26
# Up to this many classes, one comparison per class beats addressing every count by its index.
N_CLASSES_COMPARED = 6
BALLOTS_IN_A_BYTE = 255

Units: TypeAlias = NDArray[np.int64]


def longest(dimension: int) -> int:
    """The longest ball, in units: its squares can be added up in 64 bits."""
    bits = (count("dimension", dimension, 1, LARGEST_DIMENSION) - 1).bit_length()
    return min(LARGEST_LENGTH, 1 << ((62 - bits) // 2))


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
        # Python integers: twice the length must not wrap around in a narrow type.
        dimension = count("dimension", self.dimension, 1, LARGEST_DIMENSION)
        object.__setattr__(self, "dimension", dimension)
        object.__setattr__(self, "length", count("length", self.length, 1, longest(dimension)))

    @property
    def diameter(self) -> int:
        """How far apart two vectors of the ball can be, in the ball's norm."""
        return 2 * self.length

    def outside(self, vectors: Units) -> NDArray[np.intp]:
        """The rows that are not in the ball, in exact arithmetic."""
        far = (vectors.max(axis=1, initial=0) > self.length) | (
            vectors.min(axis=1, initial=0) < -self.length
        )
        near = np.where(far.reshape(-1, 1), 0, vectors)
        if self.norm == "l1":
            return np.flatnonzero(far | (np.abs(near).sum(axis=1) > self.length))
        return np.flatnonzero(far | (np.einsum("ij,ij->i", near, near) > self.length**2))

    def round_entries(self, vectors: NDArray[np.float64]) -> Units:
        """Vectors (rows, in units), rounded and shortened into the ball; 0 if not finite."""
        finite = np.isfinite(vectors).all(axis=1, keepdims=True)
        vectors = np.ascontiguousarray(np.where(finite, vectors, 0.0))
        # Rounding adds at most ½ to each coordinate: √D/2 in L2, D/2 in L1; one more for norms.
        spread = math.sqrt(self.dimension) if self.norm == "l2" else float(self.dimension)
        inner = max(self.length - spread / 2.0 - 1.0, 0.0)
        # Whatever traps are set: one that springs would reveal something about the data.
        with np.errstate(all="ignore"):
            peaks = np.abs(vectors).max(axis=1, initial=0.0)
            # The largest entry is 1: no square overflows.
            scaled = vectors / np.where(peaks > 0.0, peaks, 1.0)[:, np.newaxis]
            norms = np.linalg.norm(scaled, ord=2 if self.norm == "l2" else 1, axis=1)
            factors = np.minimum(peaks, inner / np.maximum(norms, 1.0))
            units: Units = np.rint(scaled * factors[:, np.newaxis]).astype(np.int64)
        units[self.outside(units)] = 0  # never seen; a promise, not a hope
        return units

    def new_sum(self) -> BallSum:
        """An empty sum."""
        return BallSum(self)

    def check_rows(self, vectors: Any, names: Sequence[str]) -> Units:
        """One vector of the ball per name, or an error that names who is outside."""
        rows = _whole(vectors, "The contributions")
        shape = (len(names), self.dimension)
        if rows.shape != shape:
            raise ShapeError("The contributions", got=rows.shape, allowed=f"{shape}, a row each")
        outside = self.outside(rows)
        if outside.size:
            raise InputError(
                f"The contribution of party {names[int(outside[0])]} lies outside the "
                f"{self.norm} ball of {self.length} units.",
                "Compute it with this poll: it is shortened there.",
            )
        return rows

    def check_sum(self, total: Any, n: int) -> Units:
        """What may be the sum of n vectors; whoever summed them is trusted that each lay inside."""
        whole = _whole(total, "The sum")
        if whole.shape != (self.dimension,):
            raise ShapeError("The sum", got=whole.shape, allowed=f"({self.dimension},)")
        problem = self.problem_of_sum(whole, n)
        if problem is not None:
            raise InputError(f"The sum is impossible: {problem}.", "Compute it with this poll.")
        return whole

    def problem_of_sum(self, total: Units, n: int) -> str | None:
        """What shows that a vector is not a sum of n vectors of the ball, if anything does."""
        most = n * self.length
        size = sum(abs(int(unit)) ** (1 if self.norm == "l1" else 2) for unit in total)
        if size > (most if self.norm == "l1" else most**2):
            return f"it is longer than {n} vectors of {self.length} units can be together"
        return None

    def __str__(self) -> str:
        return (
            f"{self.dimension} whole numbers within an {self.norm.upper()} ball "
            f"of {self.length} units"
        )


@final
class BallSum:
    """Adds vectors up, exactly."""

    __slots__ = ("_ball", "_total")

    def __init__(self, ball: Ball) -> None:
        self._ball = ball
        self._total = np.zeros(ball.dimension, dtype=np.int64)

    @property
    def total(self) -> Units:
        """The sum."""
        return self._total.copy()

    def add_rows(self, vectors: Any, names: Sequence[str]) -> None:
        """Add one vector per name; if one is refused, none is added."""
        self._total += self._ball.check_rows(vectors, names).sum(axis=0)

    def add_sum(self, total: Any, n: int) -> None:
        """Add the sum of n vectors; whoever summed them is trusted that each lay in the ball."""
        self._total += self._ball.check_sum(total, n)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Ballots:
    """One vote for each of N samples, an index below K."""

    n_samples: int
    n_classes: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_samples", count("n_samples", self.n_samples, 1, MOST_SAMPLES))
        object.__setattr__(self, "n_classes", count("n_classes", self.n_classes, 2, 2**32 - 1))

    @property
    def dimension(self) -> int:
        """N·K counts."""
        return self.n_samples * self.n_classes

    def new_sum(self) -> BallotSum:
        """An empty sum."""
        return BallotSum(self)

    def check_rows(self, votes: Any, names: Sequence[str]) -> NDArray[Any]:
        """One ballot per name, or an error."""
        shape, rows = (len(names), self.n_samples), np.asarray(votes)
        if rows.shape != shape:
            raise ShapeError("The ballots", got=rows.shape, allowed=f"{shape}, a row each")
        if rows.dtype.kind not in "iu":
            raise WrongTypeError("A ballot", votes, "class indices, whole numbers")
        if rows.size and not (rows.min() >= 0 and rows.max() < self.n_classes):
            allowed = f"Allowed: class indices from 0 to {self.n_classes - 1}."
            raise InputError(f"Votes run from {rows.min()} to {rows.max()}.", allowed)
        return rows

    def check_sum(self, counts: Any, n: int) -> Units:
        """Counts of n ballots that were cast together: every row must sum to n."""
        given, shape = _whole(counts, "The counts"), (self.n_samples, self.n_classes)
        if given.shape != shape:
            raise ShapeError("The counts", got=given.shape, allowed=f"{shape}, samples by classes")
        # Each count is bounded before they are summed, so that no sum can wrap around.
        if not (int(given.min()) >= 0 and int(given.max()) <= n):
            raise InputError(
                f"Counts run from {given.min()} to {given.max()}.",
                f"Allowed: 0 to {n}, the ballots.",
            )
        sums = given.sum(axis=1, dtype=np.int64)
        wrong = np.flatnonzero(sums != n)
        if wrong.size:
            raise InputError(
                f"The counts of sample {wrong[0]} sum to {sums[wrong[0]]}, "
                f"but {n} ballots were cast.",
                "Every ballot has exactly one vote per sample.",
            )
        return given

    def __str__(self) -> str:
        return f"{self.n_samples} votes for one of {self.n_classes} classes"


@final
class BallotSum:
    """Counts votes, exactly: counts[i, k] is how many gave class k to sample i."""

    __slots__ = ("_counts", "_domain", "_n_recent", "_recent")

    def __init__(self, domain: Ballots) -> None:
        self._domain = domain
        # One contiguous line of counts per class, so that adding runs along memory.
        self._counts = np.zeros((domain.n_classes, domain.n_samples), dtype=np.int64)
        lines = domain.n_classes - 1 if domain.n_classes <= N_CLASSES_COMPARED else 0
        self._recent = np.zeros((lines, domain.n_samples), dtype=np.uint8)
        self._n_recent = 0

    @property
    def total(self) -> Units:
        """The counts, of shape (N, K)."""
        self._settle()
        return np.ascontiguousarray(self._counts.T)

    def add_rows(self, votes: Any, names: Sequence[str]) -> None:
        """Count one ballot per name; if one is refused, none is counted."""
        for row in self._domain.check_rows(votes, names):
            self._count(row)

    def add_sum(self, counts: Any, n: int) -> None:
        """Count n ballots that were cast together."""
        self._counts += self._domain.check_sum(counts, n).T

    def _count(self, votes: NDArray[Any]) -> None:
        if self._domain.n_classes > N_CLASSES_COMPARED:
            # Each sample is addressed once, so numpy's plain += counts correctly.
            self._counts[votes, np.arange(self._domain.n_samples)] += 1
            return
        # Up to 255 ballots are counted in bytes, which touches an eighth of the memory.
        for index, line in enumerate(self._recent, start=1):
            line += votes == index
        self._n_recent += 1
        if self._n_recent == BALLOTS_IN_A_BYTE:
            self._settle()

    def _settle(self) -> None:
        """Move what was counted in bytes to the counts; class 0 is what is left."""
        if self._n_recent:
            self._counts[1:] += self._recent
            self._counts[0] += self._n_recent - self._recent.sum(axis=0, dtype=np.int64)
            self._recent[:] = 0
            self._n_recent = 0


Domain: TypeAlias = Ball | Ballots


def _whole(given: Any, what: str) -> Units:
    array = np.asarray(given)
    wide = array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max
    if array.dtype.kind not in "iu" or wide:
        raise WrongTypeError(what, given, "whole numbers of up to 64 bits, in units of the lattice")
    return array.astype(np.int64, copy=False)


assert MOST_PARTIES * LARGEST_LENGTH <= 2**62  # this many can be added in 64 bits
