"""The coordinates in which noise is drawn.

Paper: all weights. Tight: the minimiser lies in the span of the auxiliary samples, and its rows sum
to zero over the classes (softmax), so V = UᵀWQ says everything about it in r(K−1) numbers instead
of dK. The map is linear with a norm of at most `stretch`, so the distance between two worlds grows
by no more than that factor. V is released with noise; to compute W = UVQᵀ from it is
post-processing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from ostraka.errors import count
from ostraka.mechanism.geometry import class_basis
from ostraka.solve.losses import Array
from ostraka.solve.risk import gamma

__all__ = ["Coordinates"]

MOST_CLASSES = 2**12
"""The basis of differences has a number for every two of them, and a poll that somebody sends says
how many there are.
"""


@final
@dataclass(frozen=True, slots=True)
class Coordinates:
    """V = UᵀWQ as a flat vector; a missing basis is the identity."""

    n_features: int
    n_outputs: int
    span: Array | None = None
    classes: Array | None = None

    @classmethod
    def all_weights(cls, n_features: int, n_outputs: int) -> Coordinates:
        """Every weight on its own."""
        return cls(n_features, n_outputs)

    @classmethod
    def reduce(cls, n_features: int, n_outputs: int, span: Array | None = None) -> Coordinates:
        """The span of the auxiliary samples, if given, and differences between classes."""
        count("classes", n_outputs, 1, MOST_CLASSES)
        return cls(n_features, n_outputs, span, class_basis(n_outputs) if n_outputs > 1 else None)

    @property
    def dimension(self) -> int:
        """D: how many numbers get noise."""
        rows = self.n_features if self.span is None else self.span.shape[1]
        return rows * (self.n_outputs if self.classes is None else self.n_outputs - 1)

    @property
    def description(self) -> str:
        """In words, for the certificate."""
        rows = "all features" if self.span is None else "the span of the auxiliary samples"
        return (
            rows
            if self.n_outputs == 1
            else f"{rows}, " + ("all classes" if self.classes is None else "differences of classes")
        )

    @property
    def stretch(self) -> float:
        """An upper bound on ‖U‖₂‖Q‖₂, which is 1 for exactly orthonormal bases."""
        return _norm_bound(self.span) * _norm_bound(self.classes)

    def rounding(self, norm: float) -> float:
        """How far `of(W)` may be from the exact UᵀWQ, for ‖W‖ ≤ norm."""
        if self.span is None and self.classes is None:
            return 0.0
        terms = (0 if self.span is None else self.n_features) + (
            0 if self.classes is None else self.n_outputs
        )
        size = (
            np.sqrt(self.dimension / max(self.n_outputs - 1, 1)) if self.span is not None else 1.0
        )
        outputs = np.sqrt(self.n_outputs) if self.classes is not None else 1.0
        return float(1.01 * gamma(terms + 2) * size * outputs * norm * self.stretch)

    def of(self, weights: Array) -> Array:
        """The coordinates of (d,) or (d, K) weights."""
        v = weights if self.span is None else self.span.T @ weights
        v = v if self.classes is None else v @ self.classes
        return v.ravel()

    def weights(self, coordinates: Array) -> Array:
        """The weights with these coordinates."""
        n_columns = self.n_outputs if self.classes is None else self.n_outputs - 1
        v = coordinates.reshape(-1, n_columns)
        v = v if self.classes is None else v @ self.classes.T
        v = v if self.span is None else self.span @ v
        return np.ascontiguousarray(v[:, 0] if self.n_outputs == 1 else v)


def _norm_bound(basis: Array | None) -> float:
    """‖B‖₂ ≤ √(1 + ‖BᵀB − I‖_F), with the rounding of computing that."""
    if basis is None:
        return 1.0
    n, r = basis.shape
    defect = float(np.linalg.norm(basis.T @ basis - np.eye(r))) + 2.0 * gamma(n + 4) * r
    return float(np.sqrt(1.0 + 1.01 * defect))
