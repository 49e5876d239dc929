"""A party's own linear classifier, trained by the certified solver.

It is what `avg` averages, and one of many classifiers that may vote.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostraka.errors import EmptyPartyError, ShapeError
from ostraka.public.classes import Indices
from ostraka.public.numbers import Samples
from ostraka.public.task import Task
from ostraka.solve import Risk, minimise
from ostraka.solve.losses import Array, loss_for

__all__ = ["train", "train_features"]


def train(
    samples: Samples,
    labels: Any,
    task: Task,
    lambda_: float = 1e-4,
    loss: str = "logistic",
    party: object = "unnamed",
) -> Array:
    """The weights that minimise one party's regularised risk; a single class is allowed."""
    indices = task.indices(labels)
    if indices.size == 0:
        raise EmptyPartyError(party)
    features = task.features(samples)
    if features.shape[0] != indices.size:
        raise ShapeError(
            "The labels", got=indices.shape, allowed=f"({features.shape[0]},), one for each sample"
        )
    return train_features(features, indices, len(task.classes), lambda_, loss)


def train_features(
    features: Any, labels: Indices, n_classes: int, lambda_: float, loss: str
) -> Array:
    """The same from features and class indices that were checked before."""
    shares = labels.astype(np.float64) if n_classes == 2 else np.eye(n_classes)[labels]
    return minimise(Risk(features, shares, loss_for(n_classes, loss), lambda_)).point
