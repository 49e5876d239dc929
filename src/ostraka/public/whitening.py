"""The geometry of a PUBLIC auxiliary set: its directions, and features that balance them.

    letter    name here      meaning
    X         features       N rows, p columns
    C         –              XᵀX/N = U diag(c) Uᵀ, c descending; `centred`: of X less its mean
    c, U      values, basis  the r directions in which the set has any extent
    W_k       map(k)         U_k diag(c_k)^{−1/2}: (XW_k)ᵀ(XW_k)/N = I

Everything here is a function of public samples. The coordinator computes it once and the parties
receive it with the poll, so nobody depends on two machines finding the same eigenvectors. Privacy
never rests on W_k being what it should (see methods/*.proof.md); only accuracy does. Directions are
ordered by their value, and the largest entry of each is positive, so that one machine gives one
result.

`half_whiten` is the map from samples to features that our own methods prefer: columns that can be
compared with each other, centred, principal directions divided by the fourth root of their
variance, rows of length 1, a constant. Full whitening would turn directions that hold nothing into
noise; no whitening would drown those that hold little.

Which columns can be compared. A column of 0 and 1 stays as it is. A number is divided by twice its
deviation: then it varies as much as a column of 0 and 1 that is 1 in half of the rows, whatever its
unit and wherever its zero [Gelman 2008]. Divided by its largest value instead, a year or a latitude
would hardly vary, and the label could not depend on it. But where many numbers have one unit, as
pixels and sensors have, those that vary more hold more, and each is divided by its largest value.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from ostraka.public.components import principal_components
from ostraka.public.numbers import Features, Samples, is_sparse
from ostraka.public.preprocessing import Preprocessing

__all__ = ["Whitening", "half_whiten"]

MOST_COMPONENTS = 200
CONSTANT = 0.6
"""The constant feature is this over the number of classes."""
SHORTEST = 2.0**-30
"""Rows shorter than this share of the median stay shorter than 1: their direction is unknown."""
LEAST_RANGE = 1e-200
"""Columns below it hold nothing: dividing by their range could overflow doubles."""
LEAST_SPREAD = 2.0**-30
"""A column whose deviation is a smaller share of its largest value is a constant, as rounded."""
LEAST_ALIKE = 10
"""So many numbers may have one unit; of fewer, ranges are alike by chance."""
WIDEST = 2.0
"""Numbers have one unit if the widest range is at most this many times the median one."""
RANK_CUT = 1e-10
BLOCK_ROWS = 8192

Array = NDArray[np.float64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Whitening:
    """The directions of an auxiliary set, widest first."""

    values: Array
    basis: Array

    @classmethod
    def of(cls, features: Features, *, centred: bool = False) -> Whitening:
        """From the second moment, which is summed in blocks of rows; or from the covariance."""
        n, p = features.shape
        moment = np.zeros((p, p))
        mean = np.asarray(features.mean(axis=0)).ravel() if centred else 0.0
        for start in range(0, n, BLOCK_ROWS):
            block = features[start : start + BLOCK_ROWS]
            block = (block.toarray() if is_sparse(block) else block) - mean
            moment += block.T @ block
        values, basis = np.linalg.eigh(moment / n)
        values, basis = values[::-1], basis[:, ::-1]
        kept = values > RANK_CUT * max(float(values[0]), np.finfo(np.float64).tiny)
        kept[0] = True
        return cls(np.maximum(values[kept], np.finfo(np.float64).tiny), _fix_signs(basis[:, kept]))

    @property
    def rank(self) -> int:
        """r."""
        return len(self.values)

    def map(self, k: int) -> Array:
        """W_k; 0 for a set without extent."""
        extents = self.values[:k] > np.finfo(np.float64).tiny
        whitening: Array = self.basis[:, :k] * (extents / np.sqrt(self.values[:k]))
        return whitening

    @property
    def digest(self) -> str:
        """Names the geometry that a poll was made with."""
        return hashlib.sha256(
            self.values.astype("<f8").tobytes() + self.basis.astype("<f8").tobytes()
        ).hexdigest()


def half_whiten(samples: Samples, n_classes: int) -> Preprocessing:
    """Fit the map to features on PUBLIC samples."""
    rows = samples if is_sparse(samples) else np.asarray(samples, dtype=np.float64)
    scale = None if is_sparse(rows) else _comparable(rows)
    scaled = rows if scale is None else rows / scale
    center, directions = principal_components(
        scaled, min(MOST_COMPONENTS, min(scaled.shape)), fewer=True
    )
    spread = np.asarray(scaled @ directions) - center @ directions
    components = directions / np.mean(spread**2, axis=0) ** 0.25
    norms = np.linalg.norm(np.asarray(scaled @ components) - center @ components, axis=1)
    # A radius that all rows exceed, except vanishing ones: clipping to it and scaling up gives
    # every row the length 1.
    radius = max(float(np.median(norms)) * SHORTEST, np.finfo(np.float64).tiny)
    original = center if scale is None else center * scale
    return Preprocessing(
        center=original,
        scale=scale,
        components=components,
        radius=radius,
        constant=CONSTANT / n_classes,
    )


def _comparable(samples: Array) -> Array:
    """What each column is divided by.

    Sparse columns are left as they are, because most of them are rare.
    """
    largest = np.abs(samples).max(axis=0, initial=0.0)
    largest = np.where((largest > LEAST_RANGE) & np.isfinite(largest), largest, 1.0)
    within = samples / largest  # squares do not overflow
    spread = within.std(axis=0)
    numbers = ~np.isin(samples, (0.0, 1.0)).all(axis=0) & (spread > LEAST_SPREAD)
    if _have_one_unit((within.max(axis=0) - within.min(axis=0))[numbers] * largest[numbers]):
        return largest
    return np.where(numbers, 2.0 * spread * largest, largest)


def _have_one_unit(ranges: Array) -> bool:
    if len(ranges) < LEAST_ALIKE:
        return False
    return bool(ranges.max() <= WIDEST * np.median(ranges))


def _fix_signs(basis: Array) -> Array:
    peaks = basis[np.argmax(np.abs(basis), axis=0), np.arange(basis.shape[1])]
    return np.ascontiguousarray(basis * np.where(peaks < 0.0, -1.0, 1.0))
