"""`indiv`: how good the parties are on their own. Not private: a reference for experiments, never a release."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ostraka.preprocessing import Samples

__all__ = ["mean_accuracy"]


def mean_accuracy(classifiers: Iterable[Any], samples: Samples, labels: Any) -> float:
    """The mean, over the parties, of the share of samples that a party's own classifier gets right."""
    truth = np.asarray(labels)
    return float(np.mean([np.mean(np.asarray(local.predict(samples)) == truth) for local in classifiers]))
