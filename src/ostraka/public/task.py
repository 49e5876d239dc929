"""What a model is about: its classes, and the public way from samples to features. Needs numpy alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from ostraka.errors import InputError, ParameterError, ShapeError, count
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.classes import ClassIndex, ClassName, Indices, checked_classes
from ostraka.public.preprocessing import Preprocessing, Samples, is_sparse

__all__ = ["Task"]


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
            raise ParameterError(
                "n_features", got=self.n_features, allowed="room for at least one column of samples"
            )
        given = self.preprocessing.n_features(self.n_columns)
        if given != self.n_features:
            raise ParameterError(
                "n_features", got=self.n_features, allowed=f"{given}, as the preprocessing gives"
            )
        if not all(name.isprintable() for name in self.feature_names or ()):
            raise ParameterError(
                "feature_names", got="control characters", allowed="printable texts"
            )
        if self.feature_names is not None and len(self.feature_names) != self.n_columns:
            raise ShapeError(
                "feature_names",
                got=(len(self.feature_names),),
                allowed=f"({self.n_columns},), one name per column",
            )

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
            raise ShapeError(
                "The labels", got=given.shape, allowed="(n_samples,), one class for each sample"
            )
        return ClassIndex(self.classes).of(given.ravel())

    def rows(self, samples: Samples) -> Any:
        """Samples as an array or a sparse matrix, after checking that their columns are those of this task."""
        names = getattr(samples, "columns", None)
        if (
            names is not None
            and self.feature_names is not None
            and tuple(names) != self.feature_names
        ):
            missing = [name for name in self.feature_names if name not in set(names)]
            unexpected = [str(name) for name in names if name not in set(self.feature_names)]
            wrong = (
                f"missing: {missing[:5]}"
                if missing
                else f"unexpected: {unexpected[:5]}"
                if unexpected
                else "their order differs"
            )
            raise InputError(
                f"The columns of the samples are not those of the model; {wrong}.",
                f"Give the columns {list(self.feature_names[:5])}{'...' if len(self.feature_names) > 5 else ''} in this order.",
            )
        shape = tuple(samples.shape) if hasattr(samples, "shape") else np.shape(samples)
        if len(shape) != 2 or shape[1] != self.n_columns:
            raise ShapeError(
                "The samples",
                got=shape,
                allowed=f"(rows, {self.n_columns}), {self.n_columns} columns",
            )
        return samples if is_sparse(samples) else np.asarray(samples)

    def features(self, samples: Samples) -> Any:
        """The features of samples, after checking that they are of this task."""
        return self.preprocessing(self.rows(samples))
