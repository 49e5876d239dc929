"""A labelled table of the user's own as an experiment: public, or simulated, never private.

Some rows are kept for measuring, always the same ones; in every trial others are drawn as the
public table. What the columns are is taken from the whole table, as a data dictionary would say it;
scales and directions are fitted on the public rows of a trial alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.datasets.dataset import Dataset, Labelled
from ostraka.errors import InputError, count
from ostraka.party.names import canonical_each

__all__ = ["default_public_rows", "keep_test_rows", "typical_size"]

TEST_SHARE, MOST_TEST = 0.2, 8000
"""More rows would not measure much better: the error of a share is half a percent by then."""
PUBLIC_SHARE = 0.1
MOST_PUBLIC = 5000
LEAST_ROWS = 100


def keep_test_rows(
    name: str,
    samples: NDArray[np.float64],
    labels: NDArray[Any],
    sources: NDArray[Any] | None,
    seed: int = 0,
) -> Dataset:
    """The table as a data set: a fifth of its rows, at most 8000, drawn at random to measure on."""
    if len(samples) < LEAST_ROWS:
        raise InputError(
            f"{name} has {len(samples)} rows.", f"A comparison needs {LEAST_ROWS} or more."
        )
    classes, indices = np.unique(np.asarray(labels).astype(str), return_inverse=True)
    parties = None if sources is None else np.array(canonical_each(sources, len(samples)))
    order = np.random.default_rng(seed).permutation(len(samples))
    n_test = min(MOST_TEST, round(TEST_SHARE * len(samples)))

    def part(rows: NDArray[np.intp]) -> Labelled:
        own = None if parties is None else parties[rows]
        return Labelled(samples[rows], indices[rows].astype(np.int64), own)

    held = tuple(str(each) for each in classes)
    return Dataset(name=name, classes=held, train=part(order[n_test:]), test=part(order[:n_test]))


def default_public_rows(data: Dataset) -> int:
    """A tenth of the rows that are not kept for measuring, up to five thousand."""
    return min(MOST_PUBLIC, max(2, round(PUBLIC_SHARE * len(data.train))))


def typical_size(data: Dataset, n_public: int) -> int:
    """How many rows a natural party has, the public rows taken away: the median."""
    assert data.train.sources is not None
    _, sizes = np.unique(data.train.sources, return_counts=True)
    left = 1.0 - count("public-rows", n_public, 2, len(data.train) - 1) / len(data.train)
    return max(1, round(float(np.median(sizes)) * left))
