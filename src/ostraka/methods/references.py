"""`batch` and `indiv`: what all data in one place would give, and each party on its own.

Not private: references for experiments, never a release.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ostraka.errors import ShapeError, TooFewPartiesError
from ostraka.party.training.linear import train
from ostraka.public.numbers import Samples
from ostraka.public.task import Task
from ostraka.release.model import LinearModel

__all__ = ["fit_batch", "mean_accuracy"]


def fit_batch(
    samples: Samples, labels: Any, task: Task, lambda_: float = 1e-4, loss: str = "logistic"
) -> LinearModel:
    """`batch`: the exact minimiser over all samples."""
    return LinearModel(task=task, weights=train(samples, labels, task, lambda_, loss))


def mean_accuracy(classifiers: Iterable[Any], samples: Samples, labels: Any) -> float:
    """`indiv`: the share of samples that a party's own classifier gets right, mean over parties."""
    truth = np.asarray(labels)
    shares = [_share(getattr(local, "predict", local)(samples), truth) for local in classifiers]
    if not shares:
        raise TooFewPartiesError(0, 1)
    return float(np.mean(shares))


def _share(answers: Any, truth: Any) -> float:
    given = np.asarray(answers)
    if not (given.shape == truth.shape and truth.ndim == 1 and truth.size):
        allowed = f"{given.shape}, one for each of at least one sample"
        raise ShapeError("The labels", got=truth.shape, allowed=allowed)
    return float(np.mean(given == truth))
