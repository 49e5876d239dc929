"""Principal components of PUBLIC samples, dense or sparse.

    letter   code name    meaning
    X        rows         m samples, d columns
    μ        center       their mean
    A        centred      X − 1μᵀ, never formed for sparse rows
    V        components   (d, n): the first n right singular vectors of A, orthonormal
    Ω        sketch       (d, n+20) standard Gaussian numbers

Dense samples: V from the triangular factor of A, to rounding; these are the eigenvectors of the
covariance AᵀA/m. Sparse samples: the randomised range finder with 4 power iterations,
orthonormalised after each product, which only multiplies with X and Xᵀ:

    AΩ = XΩ − 1(μᵀΩ),      AᵀQ = XᵀQ − μ(1ᵀQ).

[Halko, Martinsson, Tropp, "Finding structure with randomness", SIAM Review 53, 2011,
algorithms 4.4 and 5.1.]

Without centring, μ is 0 and A is X: the directions of the second moments, which keep the sign and
the sparsity of samples that were not negative.

Only columns that occur in the samples take part; the others have zeros in V. V is dense: with
millions of columns, first drop those that do not occur (`occupied_columns`).

The directions are published with the model. Never call this on private data.

Why not the eigenvectors of AᵀA for dense samples: squaring A would halve the digits, and the rank
could not be told from rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from ostraka.errors import NonFiniteError, ParameterError, ShapeError, count
from ostraka.public.numbers import Samples, is_sparse

__all__ = ["principal_components", "occupied_columns"]

N_EXTRA = 20
"""Columns of the sketch beyond n."""
N_POWERS = 4
NO_DIRECTION = "none, because the samples are all equal and have no direction"

Matrix = NDArray[np.float64]


def principal_components(
    samples: Samples, n_components: int, *, seed: int = 0, centre: bool = True, fewer: bool = False
) -> tuple[Matrix, Matrix]:
    """Give the centre (d,) and the first n principal directions (d, n) of public samples.

    The entry of each direction that is largest in absolute value is positive (the first of them, if
    there are several).

    Args:
        samples: public rows, an array or a scipy sparse matrix.
        n_components: how many directions; at most the rank of the (centred) samples.
        seed: of the sketch, for sparse samples; dense ones need none.
        centre: subtract the mean. False: take the rows as they are, with a centre of zeros.
        fewer: if there are not so many directions, give as many as the rank allows instead of
            refusing.

    """
    _check_shape(samples)
    n = count("n_components", n_components, 1)
    rng = np.random.default_rng(count("seed", seed, 0))
    if not is_sparse(samples):
        rows = _finite(np.array(samples, dtype=np.float64))
        center = rows.mean(axis=0) if centre else np.zeros(rows.shape[1])
        values, directions = _dense(rows, center)
        return center, _first(directions, values, n, _rounding(rows.shape, center, values), fewer)
    kept = occupied_columns(samples)
    narrow = samples.tocsr()[:, kept].astype(np.float64)
    _finite(narrow.data)
    mean = np.asarray(narrow.mean(axis=0)).ravel() if centre else np.zeros(kept.size)
    values, directions = _sparse(_Centred(narrow, mean), n, rng)
    found = _first(directions, values, n, _rounding(narrow.shape, mean, values), fewer)
    center, components = np.zeros(samples.shape[1]), np.zeros((samples.shape[1], found.shape[1]))
    center[kept], components[kept] = mean, found
    return center, components


def occupied_columns(samples: Samples) -> NDArray[np.int64]:
    """Give the columns in which at least one sample is not 0, in order."""
    _check_shape(samples)
    if not is_sparse(samples):
        return np.flatnonzero(np.any(np.asarray(samples) != 0, axis=0)).astype(np.int64)
    rows = samples.tocsr()
    occurs = np.zeros(rows.shape[1], dtype=np.bool_)
    occurs[rows.indices[rows.data != 0]] = True
    return np.flatnonzero(occurs).astype(np.int64)


@final
@dataclass(frozen=True, slots=True)
class _Centred:
    """A = X − 1μᵀ, given by how it multiplies matrices."""

    rows: Samples
    mean: Matrix

    def times(self, right: Matrix) -> Matrix:
        product: Matrix = self.rows @ right - self.mean @ right
        return product

    def transposed_times(self, right: Matrix) -> Matrix:
        product: Matrix = self.rows.T @ right - np.outer(self.mean, right.sum(axis=0))
        return product


def _dense(rows: Matrix, center: Matrix) -> tuple[Matrix, Matrix]:
    """Give singular values and right singular vectors of A, which overwrites `rows`."""
    rows -= center
    square = np.linalg.qr(rows, mode="r") if rows.shape[0] > rows.shape[1] else rows
    _, values, directions = np.linalg.svd(square, full_matrices=False)
    return values, directions.T


def _sparse(centred: _Centred, n: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Give singular values and right singular vectors of QQᵀA; Q nearly spans A's first ones."""
    m, d = centred.rows.shape
    width = min(n + N_EXTRA, m, d)
    q = _orthonormal(centred.times(rng.standard_normal((d, width))))
    for _ in range(N_POWERS):
        q = _orthonormal(centred.times(_orthonormal(centred.transposed_times(q))))
    basis, corner = qr(
        centred.transposed_times(q), mode="economic", overwrite_a=True, check_finite=False
    )
    left, values, _ = np.linalg.svd(corner)
    return values, basis @ left


def _orthonormal(matrix: Matrix) -> Matrix:
    """Orthonormal columns with the same span; without this, powers would leave one direction."""
    basis: Matrix = qr(matrix, mode="economic", overwrite_a=True, check_finite=False)[0]
    return basis


def _rounding(shape: tuple[int, int], center: Matrix, values: Matrix) -> float:
    """Singular values up to this may be rounding, of A's largest or of the subtracted mean."""
    largest = max(float(values.max(initial=0.0)), float(np.sqrt(shape[0]) * np.linalg.norm(center)))
    return max(shape) * float(np.finfo(np.float64).eps) * largest


def _first(directions: Matrix, values: Matrix, n: int, rounding: float, fewer: bool) -> Matrix:
    rank = int(np.count_nonzero(values > rounding))
    if n > rank and not (fewer and rank):
        raise ParameterError(
            "n_components",
            got=n,
            allowed=f"1 to {rank}, the rank of the samples around their centre"
            if rank
            else NO_DIRECTION,
        )
    n = min(n, rank)
    chosen = directions[:, :n]
    peaks = chosen[np.argmax(np.abs(chosen), axis=0), np.arange(n)]
    return np.ascontiguousarray(chosen * np.where(peaks < 0.0, -1.0, 1.0))


def _check_shape(samples: Samples) -> None:
    shape = tuple(samples.shape) if hasattr(samples, "shape") else np.shape(samples)
    if len(shape) != 2 or min(shape) < 1:
        raise ShapeError(
            "samples", got=shape, allowed="two dimensions (rows, columns), neither of them 0"
        )


def _finite(array: Matrix) -> Matrix:
    if not np.isfinite(array).all():
        raise NonFiniteError(
            "samples",
            row=int(np.flatnonzero(~np.isfinite(array).reshape(len(array), -1).all(axis=1))[0]),
        )
    return array
