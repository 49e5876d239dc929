"""The certified solver against scikit-learn's, on the same soft-labelled problem.

All are driven to the same gradient norm. scikit-learn takes hard labels, so every row enters twice,
once as each class, weighted by its share of votes.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from benchmarks.timing import best_times
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.solve import Risk, minimise
from ostraka.solve.losses import Logistic

__all__ = ["compare"]

GRADIENT_NORM = 1e-8
LAMBDA = 1e-4
TOLERANCES = [10.0**-power for power in range(6, 16)]


def compare(auxiliary: AuxiliarySet, shares: NDArray[np.float64]) -> list[dict[str, Any]]:
    """One row per solver: gradient norm reached, seconds, and how many times slower than ours."""
    risk = Risk(auxiliary.features, shares, Logistic(), LAMBDA)
    doubled = np.vstack([auxiliary.features, auxiliary.features])
    classes = np.repeat([1, 0], len(shares))
    votes = np.concatenate([shares, 1.0 - shares])

    def fit(solver: str, tol: float) -> NDArray[np.float64]:
        model = LogisticRegression(
            C=1.0 / (LAMBDA * len(shares)),
            fit_intercept=False,
            solver=solver,
            tol=tol,
            max_iter=100_000,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(doubled, classes, sample_weight=votes)
        weights: NDArray[np.float64] = model.coef_[0]
        return weights

    def norm(weights: NDArray[np.float64]) -> float:
        return float(np.linalg.norm(risk.gradient(weights, risk.scores(weights))))

    loosest = {solver: _loosest(fit, norm, solver) for solver in ("newton-cholesky", "lbfgs")}
    runs: dict[str, Any] = {"ostraka": lambda: minimise(risk, GRADIENT_NORM).point}
    for solver, tol in loosest.items():
        runs[f"scikit-learn {solver}"] = lambda solver=solver, tol=tol: fit(solver, tol)
    seconds = best_times(runs)
    ours = seconds["ostraka"]
    return [
        {
            "solver": name,
            "gradient_norm": norm(run()),
            "seconds": seconds[name],
            "times_ours": seconds[name] / ours,
        }
        for name, run in runs.items()
    ]


def _loosest(fit: Any, norm: Any, solver: str) -> float:
    """The loosest tolerance at which the peer reaches the gradient norm, or its last one."""
    for tol in TOLERANCES:
        if norm(fit(solver, tol)) <= GRADIENT_NORM:
            return tol
    return TOLERANCES[-1]
