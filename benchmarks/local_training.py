"""All parties' local problems in one compiled loop, against a loop over scikit-learn.

scikit-learn's LogisticRegression is driven to the same gradient norm.
"""

from __future__ import annotations

import time
import warnings
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits

from benchmarks.timing import best_times
from ostraka.party.training.batched import train_batched
from ostraka.solve import Risk
from ostraka.solve.losses import loss_for

__all__ = ["compare"]

LAMBDA, GRADIENT_NORM, N_TIMED = 1e-4, 1e-8, 200
TOLERANCES = [10.0**-power for power in range(6, 16)]
SETTINGS = {
    "20 000 parties of 22 × 121, 2 classes": (20_000, 22, 121, 2),
    "1 000 parties of 6 × 50, 6 classes": (1_000, 6, 50, 6),
}


def compare() -> list[dict[str, Any]]:
    """Seconds for all parties; scikit-learn's from a part of them, as all would take minutes."""
    return [_row(name, *sizes) for name, sizes in SETTINGS.items()]


def _row(name: str, n_parties: int, n: int, d: int, n_classes: int) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((n_classes, d))
    labels = rng.integers(0, n_classes, n_parties * n)
    rows = centres[labels] + 2.0 * rng.standard_normal((n_parties * n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) * (1.0 + 1e-9)
    starts = np.arange(0, n_parties * n + 1, n)
    # Compile it before the clock starts.
    train_batched(rows[: 2 * n], labels[: 2 * n], starts[:3], n_classes, LAMBDA)
    seconds = best_times(
        {"ours": lambda: train_batched(rows, labels, starts, n_classes, LAMBDA, GRADIENT_NORM)}
    )["ours"]
    parts = [slice(a, b) for a, b in pairwise(starts)]
    parts = [part for part in parts if len(np.unique(labels[part])) > 1][:N_TIMED]
    with threadpool_limits(limits=1, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        tolerance = _loosest(rows, labels, parts[:10], n_classes)
        start = time.perf_counter()
        for part in parts:
            _fit(rows[part], labels[part], tolerance)
        peer = (time.perf_counter() - start) / len(parts) * n_parties
    return {
        "parties": name,
        "seconds": seconds,
        "scikit_learn_seconds": peer,
        "times_faster": peer / seconds,
    }


def _fit(rows: NDArray[np.float64], labels: NDArray[np.int64], tol: float) -> LogisticRegression:
    model = LogisticRegression(
        C=1.0 / (LAMBDA * len(labels)), fit_intercept=False, tol=tol, max_iter=100_000
    )
    return model.fit(rows, labels)


def _loosest(rows: Any, labels: Any, parts: list[slice], n_classes: int) -> float:
    """The loosest tolerance at which the peer reaches the gradient norm on a few parties."""
    for tol in TOLERANCES:
        if (
            max(
                _norm(rows[part], labels[part], _fit(rows[part], labels[part], tol), n_classes)
                for part in parts
            )
            <= GRADIENT_NORM
        ):
            return tol
    return TOLERANCES[-1]


def _norm(rows: Any, labels: Any, model: LogisticRegression, n_classes: int) -> float:
    if n_classes == 2:
        risk = Risk(rows, labels.astype(float), loss_for(2), LAMBDA)
        weights = model.coef_[0]
    else:
        # Classes that a party does not have carry no weight in scikit-learn's problem: compare on
        # those it has.
        present = np.unique(labels)
        if len(present) == 2:
            risk = Risk(rows, (labels == present[1]).astype(float), loss_for(2), LAMBDA)
            weights = model.coef_[0]
        else:
            risk = Risk(
                rows,
                np.eye(len(present))[np.searchsorted(present, labels)],
                loss_for(len(present)),
                LAMBDA,
            )
            weights = model.coef_.T
    return float(np.linalg.norm(risk.gradient(weights, risk.scores(weights))))
