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

from ostraka.party.rows import cut_parties
from ostraka.solve.losses import Array

__all__ = ["party_covariances", "party_means"]

NUMBERS_AT_ONCE = 2**17
"""A megabyte."""


def party_means(white: Array, values: Array, starts: NDArray[np.intp]) -> Array:
    """(1/n_j) Σ_i z_i v_iᵀ for every party, as rows; 0 for a party without samples."""
    sizes, (k, c) = np.diff(starts), (white.shape[1], values.shape[1])
    sums = np.zeros((len(sizes), k, c))
    # Products of a few parties at a time stay in the cache; of a large party, column by column.
    # And no matrix product: see `own_products`.
    for first, stop in cut_parties(sizes, max(1, NUMBERS_AT_ONCE // max(1, k * c))):
        own = slice(starts[first], starts[stop])
        filled = first + np.flatnonzero(sizes[first:stop])
        if not filled.size:
            continue
        step = max(1, NUMBERS_AT_ONCE // max(1, k * (own.stop - own.start)))
        for column in range(0, c, step):
            some = values[own, np.newaxis, column : column + step]
            products = (white[own, :, np.newaxis] * some).reshape(own.stop - own.start, -1)
            found = np.add.reduceat(products, starts[filled] - own.start, axis=0)
            sums[filled, :, column : column + step] = found.reshape(len(filled), k, -1)
    means: Array = sums.reshape(len(sizes), -1) / np.maximum(sizes, 1)[:, np.newaxis]
    return means


def party_covariances(
    white: Array,
    values: Array,
    starts: NDArray[np.intp],
    *,
    within: float = 1.0,
    with_mean: bool = False,
) -> Array:
    """The mean v̄_j of every party's values, then (1/n_j) Σ_i z_i (v_i − s_j v̄_j)ᵀ, as one row each.

    s_j = `within`·(1 − 1/n_j). With the mean of z_i/√K as a last column, where K−1 is the number of
    values; its first entry is 0.
    """
    sizes = np.diff(starts)
    own = party_means(np.ones((len(white), 1)), values, starts)
    subtracted = within * (1.0 - 1.0 / np.maximum(sizes, 1))
    rest = values - np.repeat(own * subtracted[:, np.newaxis], sizes, axis=0)
    found = party_means(white, rest, starts).reshape(len(sizes), white.shape[1], -1)
    vectors = np.concatenate([own[:, np.newaxis], found], axis=1)
    if with_mean:
        root = math.sqrt(values.shape[1] + 1)
        mean = party_means(white, np.full((len(white), 1), 1.0 / root), starts)
        column = np.column_stack([np.zeros(len(sizes)), mean])
        vectors = np.concatenate([vectors, column[:, :, np.newaxis]], axis=2)
    return vectors.reshape(len(sizes), -1)
