"""The most probable line through noisy label masses of cells; it costs no budget.

    letter  name here  meaning
    F       sums       row g: the sum of centred features in cell g, over N
    R       left       row g: the mass of each class in cell g, less that of the class shares
    V       variances  of an entry of R in cell g: noise, sampling, and what no line explains
    h       –          1 − π·π: how much the labels vary
    t       extent     the variance of the auxiliary set, in all directions together

The model R = FW + error, with weights that are equally likely in all directions: independent with
variance A·h/(K·t), for which a line explains the share A of how the labels vary. Then
W = A·h/(Kt)·Fᵀ(A·h/(Kt)·FFᵀ + diag V)⁻¹R.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from ostraka.methods.after_noise.posterior import spread
from ostraka.solve.losses import Array

__all__ = ["Line"]

PRIOR = 3.0
"""A, before anything is known. More than all: a line that is sure of separated classes is longer
than its answers.
"""
STRENGTHS = np.geomspace(0.02, 4.0, 20)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Line:
    """What was released about cells, and how uncertain it is."""

    sums: Array
    left: Array
    variances: Array
    shares: Array
    extent: float

    def fit(self, penalty: float | None = None) -> Array:
        """W; a penalty stands for 1/A, if it was set."""
        prior = (PRIOR if penalty is None else 1.0 / penalty) * self._variance
        gram = prior * self.sums @ self.sums.T + np.diag(self.variances)
        return np.asarray(prior * self.sums.T @ np.linalg.solve(gram, self.left))

    @property
    def strength(self) -> float:
        """The most likely A: divided by its deviations, a column of R is N(0, A·h/(Kt)·FFᵀ + I)."""
        deviations = np.sqrt(self.variances)[:, np.newaxis]
        directions, lengths, _ = np.linalg.svd(self.sums / deviations, full_matrices=False)
        squares = ((directions.T @ (self.left / deviations)) ** 2).sum(axis=1)
        ratios = np.outer(STRENGTHS, self._variance * lengths**2) + 1.0
        n_free = len(self.shares) - 1
        likely = -n_free * np.log(ratios).sum(axis=1) - (squares / ratios).sum(axis=1)
        return float(STRENGTHS[int(np.argmax(likely))])

    @property
    def _variance(self) -> float:
        """Of a weight, for A = 1."""
        return spread(self.shares) / (len(self.shares) * self.extent)
