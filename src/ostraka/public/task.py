"""What a model is about: its classes, and the public way from samples to features.

Needs only numpy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from ostraka.errors import ParameterError, ShapeError, count
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.classes import ClassIndex, ClassName, Indices, check_classes
from ostraka.public.columns import Columns, as_numbers, check_samples
from ostraka.public.numbers import Samples, is_sparse
from ostraka.public.preprocessing import Preprocessing

__all__ = ["Task"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What a model is about; public, and fixed before any data is seen."""

    classes: tuple[ClassName, ...]
    n_features: int
    """Columns of the features, the constant one included."""
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    columns: Columns | None = None
    """What the columns of tables are; None if samples are arrays without names."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", check_classes(self.classes))
        object.__setattr__(self, "n_features", count("n_features", self.n_features, 1))
        if not self.n_encoded >= 1:
            raise ParameterError(
                "n_features", got=self.n_features, allowed="room for at least one column of samples"
            )
        given = self.preprocessing.n_features(self.n_encoded)
        if given != self.n_features:
            raise ParameterError(
                "n_features", got=self.n_features, allowed=f"{given}, as the preprocessing gives"
            )
        if self.columns is not None and self.columns.width != self.n_encoded:
            got = f"{self.columns.width} encoded columns"
            raise ParameterError("columns", got=got, allowed=f"{self.n_encoded}, as it takes")

    @classmethod
    def of(cls, auxiliary: AuxiliarySet) -> Task:
        """The task of an auxiliary set."""
        return cls(
            classes=auxiliary.classes,
            n_features=auxiliary.n_features,
            preprocessing=auxiliary.preprocessing or Preprocessing(),
            columns=auxiliary.columns,
        )

    @property
    def n_encoded(self) -> int:
        """Columns of the numbers that the preprocessing takes."""
        return self.preprocessing.n_columns(self.n_features)

    @property
    def n_columns(self) -> int:
        """Columns of the samples that people bring."""
        return self.n_encoded if self.columns is None else len(self.columns)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of those columns, where they have names."""
        return None if self.columns is None else self.columns.names

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

    def rows(self, samples: Samples, what: str = "The samples") -> Any:
        """Samples as numbers, an array or a sparse matrix; refused if they do not fit this task.

        A table's columns are found by name: order, types and further columns do not matter.
        """
        if self.columns is not None and not is_sparse(samples):
            return self.columns.encode(samples, what)
        check_samples(samples, what)
        shape = tuple(samples.shape) if hasattr(samples, "shape") else np.shape(samples)
        if len(shape) != 2 or shape[1] != self.n_columns:
            allowed = f"(rows, {self.n_columns}), {self.n_columns} columns"
            raise ShapeError(what, got=shape, allowed=allowed)
        return samples if is_sparse(samples) else as_numbers(samples, what)

    def features(self, samples: Samples) -> Any:
        """The features of samples, after checking that they fit this task."""
        return self.preprocessing(self.rows(samples))
