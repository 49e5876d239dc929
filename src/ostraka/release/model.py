"""A linear classifier that can be used: weights, the classes they speak of, and the public way from
samples to features.

Needs numpy alone, so that a published model can be used anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.public.classes import Indices
from ostraka.public.numbers import Samples
from ostraka.public.task import Task
from ostraka.release.scoring import (
    check_numbers,
    choose_classes,
    measure_accuracy,
    name_classes,
    score_samples,
    softmax,
)

__all__ = ["LinearModel", "say_always"]


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearModel:
    """Two classes: class 1 where w·x ≥ 0. More.

    The class with the largest score, the first of equals.
    """

    task: Task
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        weights = check_numbers("The weights", self.weights, self.task.weight_shape)
        object.__setattr__(self, "weights", weights)

    @property
    def linear(self) -> LinearModel:
        """Itself."""
        return self

    @property
    def always(self) -> Any | None:
        """The class of every row, if the weights show that there is only one; otherwise None.

        Features have length 1 at most, and end with a constant: where that constant alone keeps a
        class ahead by more than all else can move, no row is of another class.
        """
        columns = self.weights if self.weights.ndim == 2 else self.weights[:, np.newaxis]
        if columns.shape[1] == 1:
            columns = np.column_stack([np.zeros(len(columns)), columns])
        ahead = self.task.preprocessing.constant * columns[-1]
        first = int(ahead.argmax())
        gaps = np.delete(ahead[first] - ahead, first)
        moves = np.linalg.norm(np.delete(columns - columns[:, [first]], first, axis=1)[:-1], axis=0)
        return self.task.classes[first] if bool((gaps > moves).all()) else None

    def scores(self, samples: Samples) -> NDArray[np.float64]:
        """Wᵀx for each sample: one number for two classes, K for more."""
        return score_samples(self.task, samples, self.score_features)

    def score_features(self, features: Any) -> NDArray[np.float64]:
        """The same of rows that are features already."""
        z: NDArray[np.float64] = features @ self.weights
        return z

    def choices(self, samples: Samples) -> Indices:
        """The index of the class of each sample."""
        return choose_classes(self.scores(samples))

    def predict(self, samples: Samples) -> NDArray[Any]:
        """The class of each sample."""
        return name_classes(self.task, self.choices(samples))

    def predict_proba(self, samples: Samples) -> NDArray[np.float64]:
        """The model's probabilities, a column per class.

        Those of `auto`, `moments`, `cells`, and of a `refine` that starts from one of them, are
        calibrated on what was released; after the noise of other methods they are not.
        """
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
        return f"LinearModel(n_classes={len(self.task.classes)}, n_columns={self.task.n_columns})"


def say_always(model: object) -> str | None:
    """That a model gives every row the same class, in words, if it is known to."""
    always = model.always if isinstance(model, LinearModel) else None
    if always is None:
        return None
    return (
        f"This model names {str(always)!r} for EVERY row: with so few parties, or so small an "
        "epsilon, no more could be told."
    )
