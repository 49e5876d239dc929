"""The regularised risk, its derivatives, and their rounding error.

    R(w) = (1/N) Σ_i ℓ(Wᵀx_i, label_i) + (λ/2)‖w‖²

    letter  name here      meaning
    N, d    n_samples, n_features
    W       weights        (d,) for a binary loss, (d, K) for softmax
    p       row_terms      the longest row: how many products a score sums
    e       gradient_rounding(‖w‖)

Guarantee: the computed gradient is within `gradient_rounding(norm)` of ∇R at any w with ‖w‖ ≤ norm
(risk.proof.md). To keep that error small for a million rows, sums over samples run in blocks.
Adding n terms in any order has an error of at most γ_n = nu/(1−nu) times the sum of their
magnitudes, so blocks of B cost γ_{B + N/B} instead of γ_N.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from ostraka.errors import ParameterError, ShapeError
from ostraka.solve.losses import UNIT_ROUNDOFF, Array, Loss

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

__all__ = ["Risk", "RiskShape", "gamma", "BLOCK_ROWS"]

BLOCK_ROWS = 1024
"""Rows per block: a block of a hundred features fits the second-level cache."""


def gamma(n_terms: float) -> float:
    """γ_n = nu/(1−nu): the relative error of a sum of n rounded terms, in any order."""
    nu = n_terms * UNIT_ROUNDOFF
    return nu / (1.0 - nu)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RiskShape:
    """What may be known of a risk before any label is seen: all that the promise depends on."""

    n_samples: int
    n_features: int
    row_terms: int
    loss: Loss
    lambda_: float

    def __post_init__(self) -> None:
        if not 0.0 < self.lambda_ < math.inf:
            raise ParameterError(
                "lambda", got=self.lambda_, allowed="a positive finite number, such as 1e-4"
            )
        if not (self.n_samples >= 1 and self.n_features >= 1):
            raise ShapeError(
                "The feature matrix",
                got=(self.n_samples, self.n_features),
                allowed="at least one sample and one feature",
            )

    @property
    def smoothness(self) -> float:
        """L = c + λ, for rows of norm at most 1."""
        return self.loss.smoothness + self.lambda_

    def gradient_rounding(self, norm: float) -> float:
        """e: how far the computed gradient may be from ∇R(w), for any ‖w‖ ≤ norm and any labels."""
        scores = self.loss.smoothness * gamma(self.row_terms + 1) * norm
        sums = (
            gamma(BLOCK_ROWS + math.ceil(self.n_samples / BLOCK_ROWS) + 2) * self.loss.slope_bound
        )
        pull = 4.0 * UNIT_ROUNDOFF * self.lambda_ * norm
        return 1.01 * (scores + self.loss.rounding + sums + pull)


def _canonical(features: Any) -> Any:
    """As CSR in doubles, each entry stored once: the error bound counts stored entries."""
    rows = features.tocsr().astype(np.float64, copy=False)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


@final
class Risk:
    """A risk that can be evaluated: features, soft labels, a loss and λ.

    The features are dense or CSR, with rows in the unit ball.
    """

    def __init__(
        self, features: Array | csr_matrix, labels: Array, loss: Loss, lambda_: float
    ) -> None:
        self.sparse = hasattr(features, "tocsr")
        stored: Any = (
            _canonical(features)
            if self.sparse
            else np.ascontiguousarray(features, dtype=np.float64)
        )
        self.features = stored
        self.labels = loss.check_labels(labels)
        if len(self.labels) != features.shape[0]:
            raise ShapeError(
                "The labels",
                got=self.labels.shape,
                allowed=f"{features.shape[0]} rows, as the features have",
            )
        self.loss = loss
        self.lambda_ = float(lambda_)
        n, d = features.shape
        row_terms = int(np.diff(stored.indptr).max(initial=0)) if self.sparse else d
        self.shape = RiskShape(
            n_samples=n, n_features=d, row_terms=row_terms, loss=loss, lambda_=self.lambda_
        )
        self._blocks = list(self._cut()) if self.sparse else None

    def _cut(self) -> Iterator[tuple[slice, Any]]:
        for start in range(0, self.features.shape[0], BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            yield rows, self.features[rows]

    def blocks(self) -> Iterator[tuple[slice, Any]]:
        """The features block by block, with the rows each block holds."""
        return iter(self._blocks) if self._blocks is not None else self._cut()

    def zero(self) -> Array:
        """w = 0."""
        d = self.shape.n_features
        return np.zeros(d if self.loss.n_outputs == 1 else (d, self.loss.n_outputs))

    def scores(self, w: Array) -> Array:
        """z = Xw."""
        z: Array = self.features @ w
        return z

    def value(self, w: Array, z: Array) -> float:
        """R(w), given z = Xw."""
        return float(self.loss.value(z, self.labels).mean() + 0.5 * self.lambda_ * np.vdot(w, w))

    def gradient(self, w: Array, z: Array) -> Array:
        """∇R(w), given z = Xw."""
        return self._average(self.loss.slope(z, self.labels)) + self.lambda_ * w

    def _average(self, slopes: Array) -> Array:
        """Xᵀ·slopes/N."""
        total = self.zero()
        for rows, block in self.blocks():
            total += block.T @ slopes[rows]
        total /= self.shape.n_samples
        return total

    def curvature(self, z: Array) -> Array:
        """The loss's curvature at z = Xw."""
        return self.loss.curvature(z, self.labels)

    def hessian_product(self, curvature: Array) -> Callable[[Array], Array]:
        """v ↦ ∇²R·v, without the matrix."""

        def product(v: Array) -> Array:
            return (
                self._average(self.loss.apply_curvature(curvature, self.scores(v)))
                + self.lambda_ * v
            )

        return product

    def hessian(self, curvature: Array) -> Array:
        """∇²R as a matrix over the flattened weights."""
        size = self.zero().size
        out = np.zeros((size, size))
        add = self._add_binary if self.loss.n_outputs == 1 else self._add_softmax
        for rows, block in self.blocks():
            add(out, block.toarray() if self.sparse else block, curvature[rows])
        out /= self.shape.n_samples
        out[np.diag_indices(size)] += self.lambda_
        return out

    @staticmethod
    def _add_binary(out: Array, x: Array, curvature: Array) -> None:
        root = np.sqrt(curvature)[:, None] * x
        # With the same matrix twice numpy calls the symmetric product, which is half the work.
        out += root.T @ root

    @staticmethod
    def _add_softmax(out: Array, x: Array, p: Array) -> None:
        """Σ_i (diag(p_i) − p_ip_iᵀ) ⊗ x_ix_iᵀ, in the order of W.ravel(): feature, then class."""
        n, d = x.shape
        k = p.shape[1]
        spread = (x[:, :, None] * p[:, None, :]).reshape(n, d * k)
        out -= spread.T @ spread
        diagonal = out.reshape(d, k, d, k)
        for cls in range(k):
            root = np.sqrt(p[:, cls])[:, None] * x
            diagonal[:, cls, :, cls] += root.T @ root
