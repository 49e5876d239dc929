"""A kernel classifier that can be used: a student of the linear model, with public landmarks.

    letter  name here    meaning
    l_i     landmarks    public rows of the auxiliary set as features, m×p, in the unit ball
    k(x,l)  –            exp(−‖x − l‖²)
    V       weights      a row for each landmark, and a last one that is added to every score

The scores of x are Σ_i V_i·k(x, l_i) + V_{m+1}. The landmarks are public and V comes of what the
linear model answers on public rows, so the student promises what the linear model promises.

Needs numpy alone, so that a published model can be used anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import ParameterError
from ostraka.public.classes import Indices
from ostraka.public.numbers import Samples, is_sparse
from ostraka.public.task import Task
from ostraka.release.model import LinearModel
from ostraka.release.scoring import (
    check_numbers,
    choose_classes,
    measure_accuracy,
    name_classes,
    rows_at_once,
    score_samples,
    softmax,
)

__all__ = ["KernelModel", "compare_rows"]

MOST_LANDMARKS: Final = 2**14
"""More are refused: 64 rows of kernel values stay small."""
LONGEST: Final = 1.0 + 1e-6
"""Features lie in the unit ball, up to rounding; so do landmarks, and no distance overflows."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KernelModel:
    """Two classes: class 1 where the score is at least 0. More: the class with the largest."""

    linear: LinearModel
    """Its teacher."""
    landmarks: NDArray[np.float64] = field(repr=False)
    weights: NDArray[np.float64] = field(repr=False)

    def __post_init__(self) -> None:
        shape = np.shape(self.landmarks)
        n = shape[0] if shape else 0
        if not 1 <= n <= MOST_LANDMARKS:
            allowed = f"1 to {MOST_LANDMARKS} rows of features"
            raise ParameterError("landmarks", got=f"shape {shape}", allowed=allowed)
        rows = check_numbers("The landmarks", self.landmarks, (n, self.task.n_features))
        if not float(np.abs(rows).max()) <= LONGEST or not _squares(rows).max() <= LONGEST**2:
            raise ParameterError("landmarks", got="longer ones", allowed="rows in the unit ball")
        of_weights = (n + 1, *self.task.weight_shape[1:])
        weights = check_numbers("The weights of landmarks", self.weights, of_weights)
        object.__setattr__(self, "landmarks", rows)
        object.__setattr__(self, "weights", weights)

    @property
    def task(self) -> Task:
        """That of its teacher."""
        return self.linear.task

    def scores(self, samples: Samples) -> NDArray[np.float64]:
        """One number for each sample with two classes, K with more."""
        return score_samples(self.task, samples, self.score_features)

    def score_features(self, features: Any) -> NDArray[np.float64]:
        """The same of rows that are features already, a block at a time."""
        step = rows_at_once(max(self.landmarks.shape))
        z = np.empty((features.shape[0], *self.weights.shape[1:]))
        for start in range(0, len(z), step):
            values = compare_rows(features[start : start + step], self.landmarks)
            z[start : start + step] = values @ self.weights[:-1] + self.weights[-1]
        return z

    def choices(self, samples: Samples) -> Indices:
        """The index of the class of each sample."""
        return choose_classes(self.scores(samples))

    def predict(self, samples: Samples) -> NDArray[Any]:
        """The class of each sample."""
        return name_classes(self.task, self.choices(samples))

    def predict_proba(self, samples: Samples) -> NDArray[np.float64]:
        """The model's probabilities, a column per class; on average as sure as its teacher's."""
        return softmax(self.scores(samples))

    def probabilities(self, features: Any) -> NDArray[np.float64]:
        """The same of rows that are features already."""
        return softmax(self.score_features(features))

    def score(self, samples: Samples, labels: Any) -> float:
        """The share of samples whose class is right.

        On private samples this number is itself a disclosure.
        """
        return measure_accuracy(self.task, self.choices(samples), labels)

    def __repr__(self) -> str:
        return (
            f"KernelModel(n_classes={len(self.task.classes)}, n_columns={self.task.n_columns}, "
            f"n_landmarks={len(self.landmarks)})"
        )


def compare_rows(features: Any, landmarks: NDArray[np.float64]) -> NDArray[np.float64]:
    """k(x, l): a row for each x, a column for each landmark."""
    rows = features.toarray() if is_sparse(features) else features
    near: NDArray[np.float64] = rows @ landmarks.T
    near *= 2.0
    near -= _squares(rows)[:, np.newaxis]
    near -= _squares(landmarks)
    np.minimum(near, 0.0, out=near)  # −‖x − l‖²; rounding must not make it positive
    return np.exp(near, out=near)


def _squares(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.einsum("ij,ij->i", rows, rows))
