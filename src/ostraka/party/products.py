"""Products of rows and a table that do not depend on how many other rows there are.

Guarantee (products.proof.md): a row of the result depends on that row and the table alone, to the
last bit.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["own_nearness", "own_products", "own_softmax", "row_products"]

NUMBERS_AT_ONCE = 2**16
"""Half a megabyte, which stays in the cache."""
FACTOR_BITS = 25
"""Bits of a row and of a column, both of length about 1.

Their product in whole numbers is below 2^51, where doubles count exactly.
"""
COARSE_BITS, FINE_BITS = 11, 11
"""Of an exponent: steps of 2^−22."""
MOST = 1e300
"""Larger scores are not told apart."""
FARTHEST = 32
"""Exponentials of −32 and less are about 0: the squared distance of two rows is at most 4."""


def own_products(rows: Any, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """About rows·table, for rows in the unit ball: each row's result depends on that row alone.

    Longer rows are shortened to the ball. The claim holds to the last bit, which it would not for a
    product in doubles: libraries add in an order that depends on how many rows there are, so one
    party's rows would change the last bits of another's, and with them a rounding or a tie. Here
    both factors are rounded to so few bits that every sum is exact.
    """
    n, step = rows.shape[0], max(1, NUMBERS_AT_ONCE // rows.shape[1])
    products = np.empty((n, table.shape[1]))
    with np.errstate(all="ignore"):
        whole_table, exponents = _whole_columns(table)
        for start in range(0, n, step):
            block = rows[start : start + step]
            block = (
                block.toarray()
                if hasattr(block, "toarray")
                else np.asarray(block, dtype=np.float64)
            )
            products[start : start + step] = (
                np.rint(_shorten(block) * 2.0**FACTOR_BITS) @ whole_table
            )
        return np.asarray(np.ldexp(products, exponents - 2 * FACTOR_BITS))


def row_products(rows: NDArray[np.float64], table: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same for rows of any length, which are not shortened.

    Each row is divided by a power of two of its own, and its result multiplied by it.
    """
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    with np.errstate(all="ignore"):
        exponents = np.frexp(np.abs(rows).max(axis=1, initial=0.0))[1]
        small = np.ldexp(rows, -exponents[:, np.newaxis])  # no square overflows
        more = np.frexp(np.linalg.norm(small, axis=1))[1]
        products = own_products(np.ldexp(small, -more[:, np.newaxis]), table)
        return np.asarray(np.ldexp(products, (exponents + more)[:, np.newaxis]))


def own_nearness(rows: Any, landmarks: NDArray[np.float64]) -> NDArray[np.float64]:
    """About exp(−‖x − l‖²), for rows and landmarks in the unit ball: a column for each landmark.

    Each row's result depends on that row alone, to the last bit: how a library's exponential rounds
    may depend on where a number lies in memory, so distances are rounded to whole steps and looked
    up in two tables.
    """
    block = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows, dtype=np.float64)
    block = _shorten(block)
    lengths = np.linalg.norm(block, axis=1)[:, np.newaxis]
    squares = np.linalg.norm(np.ascontiguousarray(landmarks), axis=1) ** 2
    distances = lengths * lengths + squares - 2.0 * own_products(block, landmarks.T)
    return _decay(distances)


def own_softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """About exp(s_k)/Σ_l exp(s_l), a row for each; its result depends on that row alone."""
    scores = np.clip(np.nan_to_num(scores), -MOST, MOST)
    powers = _decay(scores.max(axis=1, keepdims=True) - scores)
    total = np.zeros(len(powers))
    for column in powers.T:
        total += column  # and not a sum along rows, in which a library chooses the order
    return np.asarray(powers / total[:, np.newaxis])


def _decay(exponents: NDArray[np.float64]) -> NDArray[np.float64]:
    """About exp(−e), number by number."""
    bits = COARSE_BITS + FINE_BITS
    steps = np.rint(np.clip(exponents, 0.0, FARTHEST) * 2.0**bits).astype(np.int64)
    coarse, fine = _exponentials()
    found: NDArray[np.float64] = coarse[steps >> FINE_BITS] * fine[steps & (2**FINE_BITS - 1)]
    return found


@cache
def _exponentials() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of whole steps, coarse and fine; computed once, so that all rows meet the same numbers."""
    coarse = np.exp(-np.arange(FARTHEST * 2**COARSE_BITS + 1) * 2.0**-COARSE_BITS)
    return coarse, np.exp(-np.arange(2**FINE_BITS) * 2.0 ** -(COARSE_BITS + FINE_BITS))


def _whole_columns(
    table: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Columns of length about 1, times 2^25 and rounded, and the powers of two they were divided
    by; 0 for what is not finite.
    """
    table = np.where(np.isfinite(table), table, 0.0)
    # By the largest entry first: the squares of a tiny column would vanish, and it would look
    # shorter than it is.
    peaks = np.frexp(np.abs(table).max(axis=0, initial=0.0))[1]
    small = np.ldexp(table, -peaks)
    more = np.frexp(np.linalg.norm(small, axis=0))[1]
    return np.rint(np.ldexp(small, FACTOR_BITS - more)), peaks + more


def _shorten(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rows of length 1 at most; each on its own, and 0 if it is not finite."""
    # Contiguous, so that a length is added up within its row, in an order that depends only on
    # the number of columns.
    rows = np.ascontiguousarray(rows)
    peaks = np.abs(rows).max(axis=1, initial=0.0)  # NaN or infinite where the row is
    if not np.all(peaks <= 1.0):
        rows = np.where(
            (peaks < np.inf)[:, np.newaxis], rows / np.maximum(peaks, 1.0)[:, np.newaxis], 0.0
        )
    lengths = np.linalg.norm(rows, axis=1)
    shortened: NDArray[np.float64] = rows / np.maximum(lengths, 1.0)[:, np.newaxis]
    return shortened
