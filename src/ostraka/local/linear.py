"""A party's own linear classifier, trained by the certified solver: what `avg` averages, and one of many that may vote."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostraka.errors import EmptyPartyError, ShapeError
from ostraka.losses import Array, loss_for
from ostraka.model import Task
from ostraka.preprocessing import Samples
from ostraka.solve import Risk, minimise

__all__ = ["train"]


def train(samples: Samples, labels: Any, task: Task, lambda_: float = 1e-4, loss: str = "logistic", party: object = "unnamed") -> Array:
    """The weights that minimise the regularised risk of one party's samples; one class alone is allowed."""
    indices = task.indices(labels)
    if indices.size == 0:
        raise EmptyPartyError(party)
    features = task.features(samples)
    if features.shape[0] != indices.size:
        raise ShapeError("The labels", got=indices.shape, allowed=f"({features.shape[0]},), one for each sample")
    k = len(task.classes)
    shares = indices.astype(np.float64) if k == 2 else np.eye(k)[indices]
    return minimise(Risk(features, shares, loss_for(k, loss), lambda_)).point
