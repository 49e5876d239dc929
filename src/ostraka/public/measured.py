"""How much of a public table is measured numbers, and how much categories.

Where columns are measured, as pixels and sensors are, classes tend to be clusters of the rows, and
parties that differ tend to hold different clusters. Where columns are categories, clusters are only
the categories themselves and say little about a label. Two rules follow from that: what labels are
made up for rehearsals (`methods.made_up_labels`), and how much of its own mean label a party
subtracts (`methods.moments`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.numbers import is_sparse

__all__ = ["encoded_rows", "share_measured"]

MOST_ROWS = 2500
"""So many rows tell enough."""


def encoded_rows(auxiliary: AuxiliarySet) -> tuple[NDArray[np.int64], NDArray[np.float64] | None]:
    """Some of the rows, in order, and their columns before the preprocessing, if they are known."""
    rows = np.random.default_rng(2).permutation(auxiliary.n_samples)[:MOST_ROWS]
    rows.sort()
    if auxiliary.samples is None or is_sparse(auxiliary.samples):
        return rows, None
    return rows, np.asarray(auxiliary.encoded, dtype=np.float64)[rows]


def share_measured(encoded: NDArray[np.float64] | None) -> float:
    """How much of the variance of columns, of range 1, is in others than those of 0 and 1.

    1 where the columns are unknown.
    """
    if encoded is None:
        return 1.0
    ranges = np.maximum(np.abs(encoded).max(axis=0), np.finfo(np.float64).tiny)
    variances = np.var(encoded / ranges, axis=0)
    category = np.isin(encoded, (0.0, 1.0)).all(axis=0)
    return float(variances[~category].sum() / max(variances.sum(), np.finfo(np.float64).tiny))
