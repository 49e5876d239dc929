"""`indiv`: how good the parties are on their own. Not private: a reference for experiments, never a release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ostraka.errors import ShapeError, TooFewPartiesError
from ostraka.preprocessing import Samples

__all__ = ["mean_accuracy"]


def mean_accuracy(classifiers: Iterable[Any], samples: Samples, labels: Any) -> float:
    """The mean, over the parties, of the share of samples that a party's own classifier gets right."""
    truth = np.asarray(labels)
    shares = [_share(getattr(local, "predict", local)(samples), truth) for local in classifiers]
    if not shares:
        raise TooFewPartiesError(0, 1)
    return float(np.mean(shares))


def _share(answers: Any, truth: Any) -> float:
    given = np.asarray(answers)
    if not (given.shape == truth.shape and truth.ndim == 1 and truth.size):
        raise ShapeError("The labels", got=truth.shape, allowed=f"{given.shape}, one for each of at least one sample")
    return float(np.mean(given == truth))
