"""Means over each party's own rows: of products of features and labels, and how both vary together.

    letter  name here  meaning
    z_i     white      a sample in the k widest directions of the auxiliary set, whitened
    v_i     values     what its label stands for, c numbers
    n_j     –          how many rows party j has; its rows lie between two of `starts`

Each line of a result comes from its own party's rows to the last bit: nothing here multiplies
matrices or adds across parties.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ostraka.solve.losses import Array

__all__ = ["party_covariances", "party_means"]


def party_means(white: Array, values: Array, starts: NDArray[np.intp]) -> Array:
    """(1/n_j) Σ_i z_i v_iᵀ for every party, as rows; 0 for a party without samples."""
    sizes = np.diff(starts)
    filled = np.flatnonzero(sizes)
    sums = np.zeros((len(sizes), white.shape[1], values.shape[1]))
    # Column by column, and without a matrix product: see `own_products`.
    for column in range(values.shape[1] if filled.size else 0):
        products = white * values[:, [column]]
        sums[filled, :, column] = np.add.reduceat(products, starts[:-1][filled], axis=0)
    means: Array = sums.reshape(len(sizes), -1) / np.maximum(sizes, 1)[:, np.newaxis]
    return means


def party_covariances(
    white: Array, values: Array, starts: NDArray[np.intp], *, with_mean: bool = False
) -> Array:
    """The mean v̄_j of every party's values, then (1/n_j) Σ_i z_i (v_i − s_j v̄_j)ᵀ, as one row each.

    s_j = 1 − 1/n_j. With the mean of z_i/√K as a last column, where K−1 is the number of values;
    its first entry is 0.
    """
    sizes = np.diff(starts)
    own = party_means(np.ones((len(white), 1)), values, starts)
    rest = values - np.repeat(
        own * (1.0 - 1.0 / np.maximum(sizes, 1))[:, np.newaxis], sizes, axis=0
    )
    found = party_means(white, rest, starts).reshape(len(sizes), white.shape[1], -1)
    vectors = np.concatenate([own[:, np.newaxis], found], axis=1)
    if with_mean:
        root = math.sqrt(values.shape[1] + 1)
        mean = party_means(white, np.full((len(white), 1), 1.0 / root), starts)
        column = np.column_stack([np.zeros(len(sizes)), mean])
        vectors = np.concatenate([vectors, column[:, :, np.newaxis]], axis=2)
    return vectors.reshape(len(sizes), -1)
