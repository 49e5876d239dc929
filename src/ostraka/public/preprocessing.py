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

Only numpy is needed, because a published model predicts through this module. Sparse matrices are
recognised by what they can do.

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

__all__ = ["Preprocessing", "inside_unit_ball", "is_sparse", "Samples", "Features"]

Samples: TypeAlias = Any
"""Rows as measured: whatever `numpy.asarray` takes as a matrix, or a scipy sparse matrix."""

Features: TypeAlias = Any
"""A C-contiguous float64 array, or a canonical scipy csr matrix of float64."""

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

BLOCK_NUMBERS = 2**16
"""How many squares are held at a time for norms: half a megabyte, which stays in the cache."""


def is_sparse(samples: Samples) -> bool:
    """Tell whether these are scipy sparse rows, without importing scipy."""
    return hasattr(samples, "tocsr")


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
        rows = _numbers(samples, "samples")
        _finite_peaks(rows, "samples")
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
        rows = _numbers(samples, "samples")
        _finite_peaks(rows, "samples")
        if self._moves:
            self._check_columns(rows)
        mapped = _without_overflow(self._map(rows))
        peak = float(np.max(_finite_peaks(mapped, "mapped samples"), initial=0.0))
        if peak == 0.0:
            return replace(self, radius=1.0)
        radius = peak * float(np.quantile(_row_norms(mapped / peak), quantile))
        radius = radius if radius > 0.0 else peak
        return replace(self, radius=min(radius, sys.float_info.max))

    def __call__(self, samples: Samples, multiply: Product | None = None) -> Features:
        """Give the features of these samples; the samples stay as they are.

        `multiply` is what multiplies dense rows with the components, where the last bits of a row
        must not depend on other rows.
        """
        rows = _numbers(samples, "samples")
        if self._moves:
            _check_finite(rows, "samples")
            self._check_columns(rows)
            rows = _without_overflow(self._map(rows, multiply))
        features = _divide(rows, self._divisors(rows), n_appended=int(self.constant > 0.0))
        scaled = features if is_sparse(features) else features[:, : rows.shape[1]]
        norms = _row_norms(scaled)
        shrink = math.sqrt((1.0 - self.constant) * (1.0 + self.constant))
        _multiply_rows(scaled, shrink * _pull_factors(norms))
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
        if not is_sparse(rows) and _largest(rows) / self.radius <= SQUARES_FIT:
            return self.radius
        peaks = _finite_peaks(rows, "samples")
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
            return _csr_with_last_column(features, self.constant)
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
    rows = _numbers(samples, what)
    peaks = _finite_peaks(rows, what)
    with np.errstate(over="ignore"):
        norms = _row_norms(rows)
    outside = np.flatnonzero(~(norms <= NORM_TOLERATED))
    if outside.size:
        row = int(outside[0])
        # Relative to its own peak, because the square of a huge number overflows.
        norm = float(peaks[row] * _row_norms(rows[row : row + 1] / peaks[row])[0])
        raise FeatureNormError(what, row=row, norm=norm)
    if np.any(norms > NORM_KEPT):
        rows = rows.copy()
        _multiply_rows(rows, _pull_factors(norms))
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
    if math.isfinite(_largest(rows)):
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


def _numbers(samples: Samples, what: str) -> Features:
    """Give the samples as a float64 matrix: an array, maybe the given one, or a new csr matrix."""
    if is_sparse(samples):
        _check_shape(tuple(samples.shape), what)
        _check_kind(samples.dtype, what)
        return _canonical_csr(samples)
    if isinstance(samples, np.ma.MaskedArray) and np.ma.is_masked(samples):
        raise InputError(f"{what} are masked in places.", "Fill in or drop what is masked.")
    try:
        given = np.asarray(samples)
    except ValueError:
        raise ShapeError(
            what, got="ragged", allowed="two dimensions, rows of equal length"
        ) from None
    _check_shape(given.shape, what)
    _check_kind(given.dtype, what)
    try:
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise _not_numbers(given.dtype, what) from None


def _check_shape(shape: tuple[int, ...], what: str) -> None:
    if len(shape) != 2 or shape[1] < 1:
        raise ShapeError(
            what, got=shape, allowed="two dimensions (rows, columns) with at least one column"
        )


def _check_kind(dtype: np.dtype[Any], what: str) -> None:
    """Accept numbers, and objects that may be numbers; not text, dates or complex numbers."""
    if dtype.kind not in "biufO":
        raise _not_numbers(dtype, what)


def _not_numbers(dtype: np.dtype[Any], what: str) -> InputError:
    return InputError(
        f"{what} holds values of type {dtype}, which are not real numbers.",
        "Encode categories, texts and dates as numbers first.",
    )


def _canonical_csr(samples: Samples) -> Features:
    """Give a copy in canonical form: sorted, without duplicates, without stored zeros."""
    rows = samples.tocsr(copy=True).astype(np.float64, copy=False)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def _check_finite(rows: Features, what: str) -> None:
    """Refuse NaN and infinity; the rows are looked at one by one only if there are some."""
    if is_sparse(rows) or not math.isfinite(_largest(rows)):
        _finite_peaks(rows, what)


def _largest(rows: NDArray[np.float64]) -> float:
    """The largest absolute value of all; NaN if there is one.

    Several times as fast as that of each row.
    """
    return max(float(rows.max(initial=0.0)), -float(rows.min(initial=0.0)))


def _finite_peaks(rows: Features, what: str) -> NDArray[np.float64]:
    """Give the largest absolute value of each row; refuse NaN and infinity."""
    if is_sparse(rows):
        peaks = _reduce_rows(np.maximum, np.abs(rows.data), rows.indptr)
    else:
        peaks = np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))
    bad = np.flatnonzero(~np.isfinite(peaks))
    if bad.size:
        raise NonFiniteError(what, row=int(bad[0]))
    return peaks


def _row_norms(rows: Features) -> NDArray[np.float64]:
    """Give Euclidean norms. Each sum runs along contiguous memory, where numpy adds pairwise."""
    if is_sparse(rows):
        return np.sqrt(_reduce_rows(np.add, np.square(rows.data), rows.indptr))
    squares = np.empty(rows.shape[0])
    step = max(1, BLOCK_NUMBERS // rows.shape[1])
    for start in range(0, rows.shape[0], step):
        block = slice(start, start + step)
        np.add.reduce(np.square(rows[block]), axis=1, out=squares[block])
    return np.sqrt(squares)


def _reduce_rows(
    ufunc: np.ufunc, values: NDArray[np.float64], indptr: NDArray[Any]
) -> NDArray[np.float64]:
    """Reduce the stored values of every sparse row to one number; 0 for rows without any."""
    reduced = np.zeros(indptr.size - 1)
    filled = np.flatnonzero(np.diff(indptr))
    if filled.size:
        reduced[filled] = ufunc.reduceat(values, indptr[filled])
    return reduced


def _pull_factors(norms: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(NORM_PULLED, norms, out=np.ones_like(norms), where=norms > NORM_KEPT)


def _divide(rows: Features, divisors: float | NDArray[np.float64], *, n_appended: int) -> Features:
    """Divide every row by its divisor, into new memory.

    Dense rows get room for appended columns.
    """
    if is_sparse(rows):
        rows.data /= np.repeat(divisors, np.diff(rows.indptr))
        return rows
    n_samples, n_columns = rows.shape
    room = np.empty((n_samples, n_columns + n_appended))
    np.divide(rows, np.reshape(divisors, (-1, 1)), out=room[:, :n_columns])
    return room


def _multiply_rows(rows: Features, factors: NDArray[np.float64]) -> None:
    """Multiply in place. Stored numbers that vanish are dropped, to keep csr rows canonical."""
    if is_sparse(rows):
        rows.data *= np.repeat(factors, np.diff(rows.indptr))
        rows.eliminate_zeros()
    elif np.any(factors != 1.0):
        rows *= factors[:, np.newaxis]


def _csr_with_last_column(rows: Features, value: float) -> Features:
    """Append a column that holds one value, without importing scipy."""
    n_samples, n_columns = rows.shape
    indptr = rows.indptr.astype(np.int64) + np.arange(n_samples + 1)
    kept = np.ones(rows.nnz + n_samples, dtype=np.bool_)
    kept[indptr[1:] - 1] = False
    data = np.full(kept.size, value)
    data[kept] = rows.data
    indices = np.full(kept.size, n_columns, dtype=np.int64)
    indices[kept] = rows.indices
    return type(rows)((data, indices, indptr), shape=(n_samples, n_columns + 1))
