"""What the tests of the estimator run on: three kinds of trees, known to a hundred parties."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from ostraka import PrivateClassifier

X, INDEX = make_blobs(900, centers=3, n_features=4, random_state=0)
NAMES = np.array(["ash", "birch", "cedar"])
Y = NAMES[INDEX]
PUBLIC, X, Y = X[:200], X[200:], Y[200:]
PARTIES = np.repeat(np.arange(100), 7)


def almost_noiseless(**changes: Any) -> PrivateClassifier:
    """An estimator whose noise moves no answer."""
    return PrivateClassifier(**{"method": "soft", "epsilon": 1e9, "n_jobs": 1, **changes})
