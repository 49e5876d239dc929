"""Rows of numbers, dense or sparse: taken as they come, checked, measured, scaled.

Only numpy is needed, because a published model predicts through this module. Sparse matrices are
recognised by what they can do.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import InputError, NonFiniteError, ShapeError

__all__ = [
    "Features",
    "Samples",
    "as_rows",
    "check_finite",
    "divide",
    "finite_peaks",
    "is_sparse",
    "largest_of",
    "multiply_rows",
    "row_norms",
    "with_last_column",
]

Samples: TypeAlias = Any
"""Rows as measured: whatever `numpy.asarray` takes as a matrix, or a scipy sparse matrix."""

Features: TypeAlias = Any
"""A C-contiguous float64 array, or a canonical scipy csr matrix of float64."""

BLOCK_NUMBERS = 2**16
"""How many squares are held at a time for norms: half a megabyte, which stays in the cache."""


def is_sparse(samples: Samples) -> bool:
    """Tell whether these are scipy sparse rows, without importing scipy."""
    return hasattr(samples, "tocsr")


def as_rows(samples: Samples, what: str) -> Features:
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


def check_finite(rows: Features, what: str) -> None:
    """Refuse NaN and infinity; the rows are looked at one by one only if there are some."""
    if is_sparse(rows) or not math.isfinite(largest_of(rows)):
        finite_peaks(rows, what)


def largest_of(rows: NDArray[np.float64]) -> float:
    """The largest absolute value of all; NaN if there is one.

    Several times as fast as that of each row.
    """
    return max(float(rows.max(initial=0.0)), -float(rows.min(initial=0.0)))


def finite_peaks(rows: Features, what: str) -> NDArray[np.float64]:
    """Give the largest absolute value of each row; refuse NaN and infinity."""
    if is_sparse(rows):
        peaks = _reduce_rows(np.maximum, np.abs(rows.data), rows.indptr)
    else:
        peaks = np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))
    bad = np.flatnonzero(~np.isfinite(peaks))
    if bad.size:
        raise NonFiniteError(what, row=int(bad[0]))
    return peaks


def row_norms(rows: Features) -> NDArray[np.float64]:
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


def divide(rows: Features, divisors: float | NDArray[np.float64], *, n_appended: int) -> Features:
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


def multiply_rows(rows: Features, factors: NDArray[np.float64]) -> None:
    """Multiply in place. Stored numbers that vanish are dropped, to keep csr rows canonical."""
    if is_sparse(rows):
        rows.data *= np.repeat(factors, np.diff(rows.indptr))
        rows.eliminate_zeros()
    elif np.any(factors != 1.0):
        rows *= factors[:, np.newaxis]


def with_last_column(rows: Features, value: float) -> Features:
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
