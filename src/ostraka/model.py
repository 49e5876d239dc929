"""A linear classifier that can be used: weights, the classes they speak of, and the public way from samples to features.

Needs numpy alone, so that a published model can be used anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.auxiliary import AuxiliarySet
from ostraka.classes import ClassIndex, ClassName, Indices, checked_classes
from ostraka.errors import InputError, NonFiniteError, ParameterError, ShapeError, count
from ostraka.preprocessing import Preprocessing, Samples

__all__ = ["Task", "LinearModel"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a model is about; public, and fixed before any data is seen."""

    classes: tuple[ClassName, ...]
    n_features: int
    """Columns of the features, the constant one included."""
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", checked_classes(self.classes))
        object.__setattr__(self, "n_features", count("n_features", self.n_features, 1))
        if not self.n_columns >= 1:
            raise ParameterError("n_features", got=self.n_features, allowed="room for at least one column of samples")
        given = self.preprocessing.n_features(self.n_columns)
        if given != self.n_features:
            raise ParameterError("n_features", got=self.n_features, allowed=f"{given}, as the preprocessing gives")
        if self.feature_names is not None and len(self.feature_names) != self.n_columns:
            raise ShapeError("feature_names", got=(len(self.feature_names),), allowed=f"({self.n_columns},), one name per column")

    @classmethod
    def of(cls, auxiliary: AuxiliarySet) -> Task:
        """The task of an auxiliary set."""
        return cls(
            classes=auxiliary.classes,
            n_features=auxiliary.n_features,
            preprocessing=auxiliary.preprocessing or Preprocessing(),
            feature_names=auxiliary.feature_names,
        )

    @property
    def n_columns(self) -> int:
        """Columns of the samples that people bring."""
        return self.preprocessing.n_columns(self.n_features)

    @property
    def weight_shape(self) -> tuple[int, ...]:
        """(d,) for two classes, (d, K) for more."""
        k = len(self.classes)
        return (self.n_features,) if k == 2 else (self.n_features, k)

    def indices(self, labels: Any) -> Indices:
        """The class index of each label."""
        given = np.asarray(labels)
        if given.ndim != 1 and given.shape[1:] != (1,):
            raise ShapeError("The labels", got=given.shape, allowed="(n_samples,), one class for each sample")
        return ClassIndex(self.classes).of(given.ravel())

    def features(self, samples: Samples) -> Any:
        """The features of samples, after checking that they are of this task."""
        names = getattr(samples, "columns", None)
        if names is not None and self.feature_names is not None and tuple(names) != self.feature_names:
            missing = [name for name in self.feature_names if name not in set(names)]
            unexpected = [str(name) for name in names if name not in set(self.feature_names)]
            wrong = f"missing: {missing[:5]}" if missing else f"unexpected: {unexpected[:5]}" if unexpected else "their order differs"
            raise InputError(
                f"The columns of the samples are not those of the model; {wrong}.",
                f"Give the columns {list(self.feature_names[:5])}{'...' if len(self.feature_names) > 5 else ''} in this order.",
            )
        features = self.preprocessing(samples)
        if features.shape[1] != self.n_features:
            raise ShapeError("The samples", got=np.shape(samples), allowed=f"{self.n_columns} columns")
        return features


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinearModel:
    """Two classes: class 1 where w·x ≥ 0. More: the class with the largest score, the first of equals."""

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
        z: NDArray[np.float64] = self.task.features(samples) @ self.weights
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
        """The model's probabilities, a column per class. After noise they are no longer calibrated."""
        z = self.scores(samples)
        z = np.stack([np.zeros_like(z), z], axis=1) if z.ndim == 1 else z
        p: NDArray[np.float64] = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return p

    def score(self, samples: Samples, labels: Any) -> float:
        """The share of samples whose class is right. On private samples this number is itself a disclosure."""
        truth = self.task.indices(labels)
        chosen = self.choices(samples)
        if not (truth.shape == chosen.shape and truth.size):
            raise ShapeError("The labels", got=truth.shape, allowed=f"{chosen.shape}, one for each of at least one sample")
        return float(np.mean(chosen == truth))
