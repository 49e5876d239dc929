"""A linear classifier that can be used: weights, the classes they speak of, and the public way from
samples to features.

Needs numpy alone, so that a published model can be used anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import NonFiniteError, ShapeError
from ostraka.public.classes import Indices
from ostraka.public.preprocessing import Samples, is_sparse
from ostraka.public.task import Task

__all__ = ["LinearModel"]

NUMBERS_AT_ONCE = 2**18
"""Two megabytes of samples, which stay in the cache on their way to scores.

So memory is bounded, too.
"""
WHOLE_ROWS = 64


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearModel:
    """Two classes: class 1 where w·x ≥ 0. More.

    The class with the largest score, the first of equals.
    """

    task: Task
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.float64, order="C")
        if weights.shape != self.task.weight_shape:
            raise ShapeError("The weights", got=weights.shape, allowed=str(self.task.weight_shape))
        bad = np.flatnonzero(~np.isfinite(weights).reshape(len(weights), -1).all(axis=1))
        if bad.size:
            raise NonFiniteError("The weights", row=int(bad[0]))
        weights.setflags(write=False)
        object.__setattr__(self, "weights", weights)

    def scores(self, samples: Samples) -> NDArray[np.float64]:
        """Wᵀx for each sample: one number for two classes, K for more."""
        rows = self.task.rows(samples)
        rows = (
            rows.tocsr() if is_sparse(rows) else rows
        )  # other sparse forms have no blocks of rows
        step = _rows_at_once(rows.shape[1])
        z = np.empty((rows.shape[0], *self.weights.shape[1:]))
        # The first block is there even without rows: whatever is wrong with them is told.
        for start in range(0, max(1, rows.shape[0]), step):
            z[start : start + step] = self._scores_of(rows[start : start + step], start)
        return z

    def choices(self, samples: Samples) -> Indices:
        """The index of the class of each sample."""
        z = self.scores(samples)
        return np.asarray(z >= 0.0 if z.ndim == 1 else z.argmax(axis=1), dtype=np.int64)

    def predict(self, samples: Samples) -> NDArray[Any]:
        """The class of each sample."""
        chosen: NDArray[Any] = np.asarray(self.task.classes)[self.choices(samples)]
        return chosen

    def predict_proba(self, samples: Samples) -> NDArray[np.float64]:
        """The model's probabilities, a column per class.

        Those of `auto`, `moments` and `cells` are calibrated on what was released; after the noise
        of other methods they are not.
        """
        return _softmax(self.scores(samples))

    def probabilities(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same of rows that are features already."""
        return _softmax(features @ self.weights)

    def score(self, samples: Samples, labels: Any) -> float:
        """The share of samples whose class is right.

        On private samples this number is itself a disclosure.
        """
        truth = self.task.indices(labels)
        chosen = self.choices(samples)
        if not (truth.shape == chosen.shape and truth.size):
            raise ShapeError(
                "The labels",
                got=truth.shape,
                allowed=f"{chosen.shape}, one for each of at least one sample",
            )
        return float(np.mean(chosen == truth))

    def __repr__(self) -> str:
        return f"LinearModel(n_classes={len(self.task.classes)}, n_columns={self.task.n_columns})"

    def _scores_of(self, block: Any, start: int) -> NDArray[np.float64]:
        try:
            z: NDArray[np.float64] = self.task.preprocessing(block) @ self.weights
        except NonFiniteError as error:
            raise NonFiniteError(error.what, row=start + error.row) from None
        return z


def _softmax(z: NDArray[np.float64]) -> NDArray[np.float64]:
    z = np.stack([np.zeros_like(z), z], axis=1) if z.ndim == 1 else z
    p: NDArray[np.float64] = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p


def _rows_at_once(n_columns: int) -> int:
    """A multiple of what libraries multiply at once, so that blocks round like the whole."""
    return max(1, NUMBERS_AT_ONCE // n_columns // WHOLE_ROWS) * WHOLE_ROWS
