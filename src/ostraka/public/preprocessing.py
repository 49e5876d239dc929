"""From samples to features inside the unit ball.

    code name   meaning
    samples     rows as measured: arrays, lists of rows, data frames, scipy sparse matrices
    features    rows as the methods see them: float64, every Euclidean norm at most 1
    radius      a public length; samples are divided by it
    constant    the value of one appended feature, the intercept; 0 appends nothing
    center,     an optional public linear map before that: (x − center)/scale, times components
    scale,
    components

Guarantee: the exact norm of every row of features is at most 1, with the rounding of every step
counted. A row norm is computed to a relative error far below 2⁻³⁴ (the sum is pairwise). A row
whose computed norm is above 1−2⁻³² is scaled to 1−2⁻³⁰; the few roundings after that have a
relative size of 2⁻⁵³ each and cannot use up that margin. With a constant κ the squared norm is
(1−κ²)‖x‖² + κ² ≤ 1 − (1−κ²)2⁻³¹ before rounding; √(1−κ²) is computed as √((1−κ)(1+κ)), so its error
is relative to 1−κ² too and the margin holds however near κ is to 1. The sensitivities of the output
perturbation methods rest on this [Hamm 2016, Thm 3: ‖x‖ ≤ 1].

Whatever the linear map does, the clipping after it makes the promise about norms hold. A poor map
costs accuracy, not privacy.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import (
    FeatureNormError,
    InputError,
    NonFiniteError,
    ParameterError,
    ShapeError,
    number,
)
from ostraka.public.numbers import (
    Features,
    Samples,
    as_rows,
    check_finite,
    divide,
    finite_peaks,
    is_sparse,
    largest_of,
    multiply_rows,
    row_norms,
    with_last_column,
)

__all__ = ["Preprocessing", "inside_unit_ball"]

Product: TypeAlias = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]
"""Rows and a table to their product."""

NORM_KEPT = 1.0 - 2.0**-32
"""Rows with a computed norm up to this stay as they are."""

NORM_PULLED = 1.0 - 2.0**-30
"""Longer rows are scaled to this norm: below `NORM_KEPT`, so that pulling twice changes nothing."""

NORM_TOLERATED = 1.0 + 1e-9
"""Features that were scaled elsewhere may be this long through rounding, but no longer."""

SQUARES_FIT = 2.0**400
"""Numbers up to this can be squared and added up by the million without overflow."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Preprocessing:
    """The public map from samples to features: centre, scale, project, clip, append a constant.

    Before clipping into the unit ball, rows are divided by `radius`.

    It is part of the poll and of the published model: everyone applies the same one. With a
    constant κ the clipped row is multiplied by √(1−κ²) first, so that the longer row is still
    inside the ball.

    Args:
        radius: rows are divided by it, then clipped to length 1.
        constant: the value of the appended feature; 0 appends nothing.
        center: subtracted from every row.
        scale: columns are divided by it, after centring.
        components: a matrix (columns, new columns) that multiplies every row after that, for
            example the directions of a PCA.

    """

    radius: float = 1.0
    constant: float = 0.0
    center: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | None = None
    components: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(
            self,
            "radius",
            number("radius", self.radius, 5e-324, sys.float_info.max, "a finite number above 0"),
        )
        object.__setattr__(self, "constant", number("constant", self.constant, 0.0, 1.0))
        if not self.constant < 1.0:
            raise ParameterError(
                "constant",
                got=self.constant,
                allowed="0 (no intercept) or a number below 1, such as 0.5",
            )
        for name, n_axes in (("center", 1), ("scale", 1), ("components", 2)):
            object.__setattr__(self, name, _public_array(name, getattr(self, name), n_axes))
        if self.scale is not None and not np.all(self.scale > 0.0):
            raise ParameterError(
                "scale", got="a number that is not above 0", allowed="positive numbers"
            )
        columns = {
            part.shape[0] for part in (self.center, self.scale, self.components) if part is not None
        }
        if len(columns) > 1:
            raise ShapeError(
                "center, scale and components",
                got=sorted(columns),
                allowed="the same number of columns",
            )

    @classmethod
    def fit(
        cls,
        samples: Samples,
        constant: float = 0.0,
        *,
        standardise: bool = False,
        components: NDArray[np.float64] | None = None,
        quantile: float = 1.0,
    ) -> Preprocessing:
        """Take everything from PUBLIC samples: means and deviations if asked for, and the radius.

        The radius is a quantile of the row norms. Never call it on private data: all of it is
        published, and one party's longest row could be read off the radius. Sparse samples are
        scaled but not centred unless there are components, because centring would fill them.
        """
        rows = as_rows(samples, "samples")
        finite_peaks(rows, "samples")
        center, scale = (
            _moments(rows, centred=components is not None) if standardise else (None, None)
        )
        return cls(constant=constant, center=center, scale=scale, components=components).scale_to(
            samples, quantile
        )

    def scale_to(self, samples: Samples, quantile: float = 1.0) -> Preprocessing:
        """The same with another radius: a quantile of the norms of mapped PUBLIC samples."""
        if not 0.0 < quantile <= 1.0:
            raise ParameterError("quantile", got=quantile, allowed="above 0, up to 1")
        rows = as_rows(samples, "samples")
        finite_peaks(rows, "samples")
        if self._moves:
            self._check_columns(rows)
        mapped = _without_overflow(self._map(rows))
        peak = float(np.max(finite_peaks(mapped, "mapped samples"), initial=0.0))
        if peak == 0.0:
            return replace(self, radius=1.0)
        radius = peak * float(np.quantile(row_norms(mapped / peak), quantile))
        radius = radius if radius > 0.0 else peak
        return replace(self, radius=min(radius, sys.float_info.max))

    def __call__(self, samples: Samples, multiply: Product | None = None) -> Features:
        """Give the features of these samples; the samples stay as they are.

        `multiply` is what multiplies dense rows with the components, where the last bits of a row
        must not depend on other rows.
        """
        rows = as_rows(samples, "samples")
        if self._moves:
            check_finite(rows, "samples")
            self._check_columns(rows)
            rows = _without_overflow(self._map(rows, multiply))
        features = divide(rows, self._divisors(rows), n_appended=int(self.constant > 0.0))
        scaled = features if is_sparse(features) else features[:, : rows.shape[1]]
        norms = row_norms(scaled)
        shrink = math.sqrt((1.0 - self.constant) * (1.0 + self.constant))
        multiply_rows(scaled, shrink * _pull_factors(norms))
        return self._with_constant(features)

    def n_columns(self, n_features: int) -> int:
        """How many columns samples must have to give this many features."""
        parts = [
            part.shape[0] for part in (self.center, self.scale, self.components) if part is not None
        ]
        return parts[0] if parts else n_features - int(self.constant > 0.0)

    def n_features(self, n_columns: int) -> int:
        """How many features samples with this many columns give."""
        return (n_columns if self.components is None else self.components.shape[1]) + int(
            self.constant > 0.0
        )

    def arrays(self) -> dict[str, NDArray[np.float64]]:
        """The arrays that are there, by name."""
        named = {"center": self.center, "scale": self.scale, "components": self.components}
        return {name: array for name, array in named.items() if array is not None}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Preprocessing):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        same = (
            self.radius == other.radius
            and self.constant == other.constant
            and mine.keys() == theirs.keys()
        )
        return same and all(np.array_equal(mine[name], theirs[name]) for name in mine)

    def __hash__(self) -> int:
        return hash(
            (self.radius, self.constant, *(array.tobytes() for array in self.arrays().values()))
        )

    @property
    def _moves(self) -> bool:
        return bool(self.arrays())

    def _check_columns(self, rows: Features) -> None:
        expected = self.n_columns(rows.shape[1])
        if rows.shape[1] != expected:
            raise ShapeError("The samples", got=tuple(rows.shape), allowed=f"{expected} columns")

    def _divisors(self, rows: Features) -> float | NDArray[np.float64]:
        """What each row is divided by.

        The radius, or the peak of a row whose squares would not fit. NaN and infinity are refused.
        """
        if not is_sparse(rows) and largest_of(rows) / self.radius <= SQUARES_FIT:
            return self.radius
        peaks = finite_peaks(rows, "samples")
        with np.errstate(over="ignore"):
            far = peaks / self.radius > SQUARES_FIT
        # A row that far out is clipped anyway: only its direction counts, and dividing by its peak
        # cannot overflow.
        return np.where(far, peaks, self.radius)

    def _map(self, rows: Features, multiply: Product | None = None) -> Features:
        """((x − center)/scale)·components; sparse rows are only ever multiplied."""
        if not self._moves:
            return rows
        with np.errstate(over="ignore", invalid="ignore"):
            if self.components is None:
                return self._standardise(rows)
            weights = (
                self.components
                if self.scale is None
                else self.components / self.scale[:, np.newaxis]
            )
            if multiply is not None and not is_sparse(rows):
                return multiply(rows if self.center is None else rows - self.center, weights)
            mapped: NDArray[np.float64] = np.asarray(rows @ weights)
            if self.center is not None:
                mapped -= self.center @ weights
            return mapped

    def _standardise(self, rows: Features) -> Features:
        if is_sparse(rows):
            if self.center is not None:
                raise InputError(
                    "The samples are sparse, but the preprocessing subtracts a centre, "
                    "which would fill them.",
                    "Give dense samples, or fit the preprocessing on sparse ones.",
                )
            rows.data /= 1.0 if self.scale is None else self.scale[rows.indices]
            return rows
        if self.center is None:
            return rows if self.scale is None else rows / self.scale
        moved = rows - self.center
        if self.scale is not None:
            moved /= self.scale
        return moved

    def _with_constant(self, features: Features) -> Features:
        if not self.constant > 0.0:
            return features
        if is_sparse(features):
            return with_last_column(features, self.constant)
        features[:, -1] = self.constant
        return features


def inside_unit_ball(samples: Samples, what: str) -> Features:
    """Give already scaled samples as features, or refuse them.

    Rows longer than 1 + 1e-9 raise `FeatureNormError`. Rows on the boundary are pulled inside, so
    that the exact norm of every row is at most 1. Dense float64 rows that need no pulling are
    passed on without a copy.

    Args:
        samples: rows as `Preprocessing` takes them.
        what: what to call them in an error.

    """
    rows = as_rows(samples, what)
    peaks = finite_peaks(rows, what)
    with np.errstate(over="ignore"):
        norms = row_norms(rows)
    outside = np.flatnonzero(~(norms <= NORM_TOLERATED))
    if outside.size:
        row = int(outside[0])
        # Relative to its own peak, because the square of a huge number overflows.
        norm = float(peaks[row]) * float(row_norms(rows[row : row + 1] / peaks[row])[0])
        raise FeatureNormError(what, row=row, norm=norm)
    if np.any(norms > NORM_KEPT):
        rows = rows.copy()
        multiply_rows(rows, _pull_factors(norms))
    return rows


def _public_array(name: str, given: Any, n_axes: int) -> NDArray[np.float64] | None:
    """Give a read-only copy, or refuse anything but an array of finite numbers."""
    if given is None:
        return None
    array = np.array(given, dtype=np.float64, order="C")
    if array.ndim != n_axes or array.size == 0:
        raise ShapeError(
            name, got=array.shape, allowed=f"{n_axes} dimension{'s' * (n_axes > 1)}, not empty"
        )
    if not np.isfinite(array).all():
        raise NonFiniteError(
            name,
            row=int(np.flatnonzero(~np.isfinite(array).reshape(len(array), -1).all(axis=1))[0]),
        )
    array.flags.writeable = False
    return array


def _without_overflow(rows: Features) -> Features:
    """Set rows that the map took beyond doubles to 0: refusing would reveal that there is one."""
    if is_sparse(rows):
        rows.data[~np.isfinite(rows.data)] = 0.0
        return rows
    if math.isfinite(largest_of(rows)):
        return rows
    bad = ~np.isfinite(rows).all(axis=1)
    return np.where(bad[:, np.newaxis], 0.0, rows)


def _moments(
    rows: Features, *, centred: bool
) -> tuple[NDArray[np.float64] | None, NDArray[np.float64]]:
    """Give column means and deviations.

    Means are None where they would fill sparse rows; constant columns keep their scale.
    """
    if rows.shape[0] == 0:
        return None, np.ones(rows.shape[1])
    if is_sparse(rows):
        mean = np.asarray(rows.mean(axis=0)).ravel()
        squares = np.asarray(rows.multiply(rows).mean(axis=0)).ravel()
        deviation = np.sqrt(np.maximum(squares - mean**2, 0.0)) if centred else np.sqrt(squares)
        return (mean if centred else None), np.where(deviation > 0.0, deviation, 1.0)
    with np.errstate(over="ignore"):
        deviation = rows.std(axis=0)
    usable = np.isfinite(deviation) & (deviation > 1e-12 * np.abs(rows).max(axis=0, initial=0.0))
    return rows.mean(axis=0), np.where(usable, deviation, 1.0)


def _pull_factors(norms: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(NORM_PULLED, norms, out=np.ones_like(norms), where=norms > NORM_KEPT)
