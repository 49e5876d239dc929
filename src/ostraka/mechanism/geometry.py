"""What the public auxiliary features say about sensitivity and dimension.

    letter  name here         meaning
    μ       gradient_factor   min(mean_i ‖x_i‖, √c₁) ≤ 1, c₁ the largest eigenvalue of XᵀX/N
    U       span_basis        orthonormal basis of the span of the samples, d×r
    Q       class_basis       orthonormal basis of the vectors orthogonal to 1, K×(K−1)

Only for public auxiliary sets: with a private one each of these would be a release of its own.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ostraka.solve.losses import UNIT_ROUNDOFF, Array
from ostraka.solve.risk import BLOCK_ROWS, gamma

__all__ = ["gradient_factor", "span_basis", "class_basis", "MAX_GRAM"]

MAX_GRAM = 4096
"""Second-moment matrices are formed up to this size; beyond, the cheaper bounds are used."""
_RANK_CUT = 1e-12  # directions below this share of the largest eigenvalue count as empty


def gradient_factor(features: Any) -> float:
    """μ, rounded up: ‖Xᵀb‖/N ≤ μ·max|b_i| for every b (geometry.proof.md)."""
    n, d = features.shape
    squares = features.multiply(features) if hasattr(features, "tocsr") else features * features
    norms = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    mean_norm = float(norms.mean()) * (1.0 + gamma(n + d + 4))
    if min(n, d) > MAX_GRAM:
        return min(mean_norm, 1.0)
    eigenvalues = np.linalg.eigvalsh(_gram(features))
    # c₁ ≤ the computed eigenvalue + the rounding of the matrix and of its eigenvalues;
    # the trace is at most 1.
    error = gamma(BLOCK_ROWS + n // BLOCK_ROWS + d + 4) + 16.0 * min(n, d) * UNIT_ROUNDOFF
    largest = math.sqrt(float(eigenvalues[-1]) + error) * (1.0 + 4.0 * UNIT_ROUNDOFF)
    return min(mean_norm, largest, 1.0)


def span_basis(features: Any) -> Array | None:
    """U, or None if the samples span everything or the set is too large to tell."""
    n, d = features.shape
    if min(n, d) > MAX_GRAM or d * min(n, d) > MAX_GRAM**2:
        return None
    eigenvalues, vectors = np.linalg.eigh(_gram(features))
    kept = eigenvalues > _RANK_CUT * max(float(eigenvalues[-1]), np.finfo(float).tiny)
    if n < d:
        # The Gram matrix was of the samples: carry its vectors over to the features, then make
        # them orthonormal up to rounding.
        vectors = np.linalg.qr(np.asarray(features.T @ vectors[:, kept]))[0]
    elif kept.all():
        return None
    else:
        vectors = vectors[:, kept]
    return np.ascontiguousarray(vectors) if vectors.shape[1] else np.eye(d, 1)


def class_basis(n_classes: int) -> Array:
    """Q: Helmert's contrasts, scaled to length one."""
    k = np.arange(1, n_classes)
    basis = np.triu(np.ones((n_classes, n_classes - 1)))
    basis[k, k - 1] = -k
    basis /= np.sqrt(k * (k + 1.0))
    return basis


def _gram(features: Any) -> Array:
    """XᵀX/N, or XXᵀ/N if there are fewer samples than features: the same non-zero eigenvalues."""
    n, d = features.shape
    if n < d:
        product = features @ features.T
        small: Array = np.asarray(product.todense() if hasattr(product, "todense") else product) / n
        return small
    total = np.zeros((d, d))
    for start in range(0, n, BLOCK_ROWS):
        block = features[start : start + BLOCK_ROWS]
        block = block.toarray() if hasattr(block, "toarray") else block
        total += block.T @ block
    total /= n
    return total
