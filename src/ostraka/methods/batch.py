"""`batch`: one classifier on everybody's data at once. Not private: a reference for experiments, never a release."""

from __future__ import annotations

from typing import Any

from ostraka.local.linear import train
from ostraka.model import LinearModel, Task
from ostraka.preprocessing import Samples

__all__ = ["fit"]


def fit(samples: Samples, labels: Any, task: Task, lambda_: float = 1e-4, loss: str = "logistic") -> LinearModel:
    """The exact minimiser over all samples."""
    return LinearModel(task=task, weights=train(samples, labels, task, lambda_, loss))
