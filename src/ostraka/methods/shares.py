"""Histograms of each party's own rows, in whole numbers: what `evaluation` sends.

Guarantee (evaluation.proof.md): a party's numbers come from its own rows alone, are not negative,
and sum to at most what a whole is worth.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.tally.domain import Units

__all__ = ["round_shares"]


def round_shares(
    places: NDArray[np.int64], starts: NDArray[np.intp], n_places: int, worth: int
) -> Units:
    """The share of each party's rows at each place, worth so many units, rounded towards 0.

    A row for each party; zeros for one without rows.
    """
    sizes = np.diff(starts)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    # Refuses a place that there is not, which would lie in the next party's line.
    held = np.ravel_multi_index((owners, places), (len(sizes), n_places))
    counts = np.bincount(held, minlength=len(sizes) * n_places).reshape(len(sizes), n_places)
    shares: Units = counts.astype(np.int64) * worth // np.maximum(sizes, 1)[:, np.newaxis]
    return shares
