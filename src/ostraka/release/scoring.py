"""What every model does alike: samples become features in blocks, scores become classes and
probabilities.

With two classes a score is one number, and class 1 is where it is not below 0; with more there is
one for each, and the largest wins, the first of equals.

Needs numpy alone, so that a published model can be used anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import NonFiniteError, ShapeError
from ostraka.public.classes import Indices
from ostraka.public.numbers import Samples, is_sparse
from ostraka.public.task import Task

if TYPE_CHECKING:
    from ostraka.release.model import LinearModel

__all__ = [
    "Model",
    "check_numbers",
    "choose_classes",
    "measure_accuracy",
    "name_classes",
    "rows_at_once",
    "score_samples",
    "softmax",
]

NUMBERS_AT_ONCE = 2**18
"""Two megabytes of samples, which stay in the cache on their way to scores.

So memory is bounded, too.
"""
WHOLE_ROWS = 64

Array: TypeAlias = NDArray[np.float64]


class Model(Protocol):
    """A classifier that can be used: `LinearModel`, `KernelModel` or `TaughtModel`."""

    @property
    def task(self) -> Task:
        """The classes, and the public way from samples to features."""
        ...

    @property
    def linear(self) -> LinearModel:
        """The linear model that was fitted to what was released: this one, or its teacher."""
        ...

    def scores(self, samples: Samples) -> Array:
        """One number for each sample with two classes, K with more."""
        ...

    def score_features(self, features: Any) -> Array:
        """The same of rows that are features already."""
        ...

    def choices(self, samples: Samples) -> Indices:
        """The index of the class of each sample."""
        ...

    def predict(self, samples: Samples) -> NDArray[Any]:
        """The class of each sample."""
        ...

    def predict_proba(self, samples: Samples) -> Array:
        """The model's probabilities, a column per class."""
        ...

    def probabilities(self, features: Any) -> Array:
        """The same of rows that are features already."""
        ...

    def score(self, samples: Samples, labels: Any) -> float:
        """The share of samples whose class is right."""
        ...


def score_samples(task: Task, samples: Samples, score: Callable[[Any], Array]) -> Array:
    """The scores of samples, a block of features at a time."""
    rows = task.rows(samples)
    rows = rows.tocsr() if is_sparse(rows) else rows  # other sparse forms have no blocks of rows
    step = rows_at_once(rows.shape[1])
    z = np.empty((rows.shape[0], *task.weight_shape[1:]))
    # The first block is there even without rows: whatever is wrong with them is told.
    for start in range(0, max(1, rows.shape[0]), step):
        try:
            features = task.preprocessing(rows[start : start + step])
        except NonFiniteError as error:
            raise NonFiniteError(error.what, row=start + error.row) from None
        z[start : start + step] = score(features)
    return z


def choose_classes(z: Array) -> Indices:
    """The index of the class that scores choose."""
    return np.asarray(z >= 0.0 if z.ndim == 1 else z.argmax(axis=1), dtype=np.int64)


def name_classes(task: Task, chosen: Indices) -> NDArray[Any]:
    """The classes of these indices."""
    names: NDArray[Any] = np.asarray(task.classes)[chosen]
    return names


def measure_accuracy(task: Task, chosen: Indices, labels: Any) -> float:
    """The share of choices that are right."""
    truth = task.indices(labels)
    if not (truth.shape == chosen.shape and truth.size):
        raise ShapeError(
            "The labels",
            got=truth.shape,
            allowed=f"{chosen.shape}, one for each of at least one sample",
        )
    return float(np.mean(chosen == truth))


def softmax(z: Array) -> Array:
    """Probabilities of scores, a column per class."""
    z = np.stack([np.zeros_like(z), z], axis=1) if z.ndim == 1 else z
    p: Array = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    return p


def check_numbers(what: str, given: Any, shape: tuple[int, ...]) -> Array:
    """A read-only copy; another shape and numbers that are not finite are refused."""
    array = np.array(given, dtype=np.float64, order="C")
    if array.shape != shape:
        raise ShapeError(what, got=array.shape, allowed=str(shape))
    bad = np.flatnonzero(~np.isfinite(array).reshape(len(array), -1).all(axis=1))
    if bad.size:
        raise NonFiniteError(what, row=int(bad[0]))
    array.setflags(write=False)
    return array


def rows_at_once(width: int) -> int:
    """A multiple of what libraries multiply at once, so that blocks round like the whole."""
    return max(1, NUMBERS_AT_ONCE // width // WHOLE_ROWS) * WHOLE_ROWS
