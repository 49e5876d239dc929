"""Rows by a number each, to notice what nobody meant to do with them.

    what is noticed                             why
    public rows that are private ones           their scale and their lists are published
    the same rows in a second release           every release costs every party its ε once more
    an accuracy measured on the parties' rows   the number tells of them, and flatters

The numbers are kept in the memory of this process alone; they go into no file. Two rows are taken
for the same if 64 bits agree, which by chance happens to one pair in 10¹⁹.
"""

from __future__ import annotations

import weakref
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ostraka.public.numbers import is_sparse

__all__ = ["are_shared", "mark_released", "mark_used", "row_keys", "was_used"]

Keys = NDArray[np.uint64]

BLOCK_NUMBERS: Final = 2**20
FEW: Final = 10
"""Of fewer rows nobody is told whether they were used: an accuracy on them says nothing anyway."""
_released: set[tuple[int, int]] = set()
_used: weakref.WeakKeyDictionary[Any, Keys] = weakref.WeakKeyDictionary()


def row_keys(rows: Any) -> Keys:
    """A number for each row, which depends on that row alone."""
    if is_sparse(rows):
        rows = rows.tocsr()
        spread = _spread(rows.data, _factors(rows.shape[1])[rows.indices])
        sums = np.concatenate([[np.uint64(0)], np.cumsum(spread, dtype=np.uint64)])
        keys: Keys = sums[rows.indptr[1:]] - sums[rows.indptr[:-1]]
        return keys
    array = np.asarray(rows, dtype=np.float64)
    factors = _factors(array.shape[1])
    keys = np.empty(len(array), dtype=np.uint64)
    step = max(1, BLOCK_NUMBERS // max(1, array.shape[1]))
    for start in range(0, len(array), step):
        block = array[start : start + step]
        keys[start : start + step] = _spread(block, factors).sum(axis=1, dtype=np.uint64)
    return keys


def are_shared(public: Any, private: Any) -> bool:
    """Whether most public rows are private ones.

    A row counts if it stands exactly once among the public rows and exactly once among the private
    ones. Of rows drawn apart from one another that is true of at most one in e, about .37, whatever
    they are drawn from: n·p·(1−p)^(n−1) ≤ 1/e nearly, for every probability p that a row has. So
    coarse tables, whose rows coincide anyway, are not suspected.
    """
    if is_sparse(public) is not is_sparse(private) or public.shape[1] != private.shape[1]:
        return False
    ours, theirs = _singles(row_keys(public)), _singles(row_keys(private))
    return bool(2 * np.isin(ours, theirs, assume_unique=True).sum() > public.shape[0])


def mark_released(rows: Any) -> bool:
    """Note that a release was made of these rows; say whether one was made of them before."""
    keys = row_keys(rows)
    name = (len(keys), int(keys.sum(dtype=np.uint64)))
    before = name in _released
    _released.add(name)
    return before


def mark_used(estimator: Any, rows: Any) -> None:
    """Note which rows an estimator was made of."""
    _used[estimator] = np.unique(row_keys(rows))


def was_used(estimator: Any, rows: Any) -> bool:
    """Whether most of these rows are among those.

    Of a few rows nothing is said, nor of one that is given many times: it may be somebody's.
    """
    keys = _used.get(estimator)
    if keys is None:
        return False
    given = np.unique(row_keys(rows))
    return bool(len(given) >= FEW and np.isin(given, keys, assume_unique=True).mean() > 0.5)


def _singles(keys: Keys) -> Keys:
    found, counts = np.unique(keys, return_counts=True)
    singles: Keys = found[counts == 1]
    return singles


def _factors(n_columns: int) -> Keys:
    return np.random.default_rng(0).integers(0, 2**63, n_columns, dtype=np.uint64) * 2 + 1


def _spread(numbers: NDArray[np.float64], factors: Keys) -> Keys:
    """Bits of a double spread over all 64, then weighted by the column."""
    bits: Keys = (np.ascontiguousarray(numbers, dtype=np.float64) + 0.0).view(np.uint64)
    bits ^= bits >> np.uint64(31)
    bits *= np.uint64(0x9E3779B97F4A7C15)
    bits ^= bits >> np.uint64(29)
    bits *= factors
    return bits
