"""Compiled loops of `batched.py`, which explains what they compute and why.

Importing this module needs numba.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from ostraka.solve.losses import Array

__all__ = ["all_parties"]

# Sums may be taken in any order, several at a time: the rounding bounds hold for every order
# (solve/risk.proof.md).
ANY_ORDER = {"reassoc", "contract", "nsz"}

jit = numba.njit(cache=True, error_model="numpy", fastmath=ANY_ORDER)


@jit
def slopes(z: Array, share: Array, root: Array, slope: Array, n: int) -> float:
    """∂ℓ/∂z/n and S for one sample; returns the loss."""
    k = z.size
    if k == 1:
        e = np.exp(-abs(z[0]))
        p = (1.0 if z[0] >= 0.0 else e) / (1.0 + e)
        slope[0] = (p - share[0]) / n
        root[0, 0] = np.sqrt(e / n) / (1.0 + e)
        return np.log1p(e) + max(z[0], 0.0) - share[0] * z[0]
    top = z.max()
    total = 0.0
    loss = 0.0
    for a in range(k):
        slope[a] = np.exp(z[a] - top)
        total += slope[a]
        loss -= share[a] * (z[a] - top)
    for a in range(k):
        slope[a] /= total
    for a in range(k):
        for b in range(k):
            root[a, b] = -slope[a] * np.sqrt(slope[b] / n)
        root[a, a] += np.sqrt(slope[a] / n)
    for a in range(k):
        slope[a] = (slope[a] - share[a]) / n
    return loss + np.log(total)


@jit
def solve(matrix: Array, right: Array) -> bool:
    """Cholesky in place; False if the matrix is not positive."""
    n = right.size
    for j in range(n):
        s = matrix[j, j]
        for k in range(j):
            s -= matrix[j, k] * matrix[j, k]
        if not s > 0.0:
            return False
        pivot = np.sqrt(s)
        matrix[j, j] = pivot
        for i in range(j + 1, n):
            t = matrix[i, j]
            for k in range(j):
                t -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = t / pivot
    for i in range(n):
        t = right[i]
        for k in range(i):
            t -= matrix[i, k] * right[k]
        right[i] = t / matrix[i, i]
    for i in range(n - 1, -1, -1):
        t = right[i]
        for k in range(i + 1, n):
            t -= matrix[k, i] * right[k]
        right[i] = t / matrix[i, i]
    return True


@jit
def value(gram: Array, dual: Array, shares: Array, lambda_: float, z: Array) -> float:
    """R at w = XᵀA; fills in the scores z = GA."""
    n, k = dual.shape
    total = 0.0
    for i in range(n):
        for a in range(k):
            t = 0.0
            for m in range(n):
                t += gram[i, m] * dual[m, a]
            z[i, a] = t
            total += 0.5 * lambda_ * t * dual[i, a]
        if k == 1:
            total += (
                np.log1p(np.exp(-abs(z[i, 0]))) + max(z[i, 0], 0.0) - shares[i, 0] * z[i, 0]
            ) / n
        else:
            top = z[i].max()
            s = 0.0
            for a in range(k):
                s += np.exp(z[i, a] - top)
                total -= shares[i, a] * (z[i, a] - top) / n
            total += np.log(s) / n
    return total


@jit
def newton(x: Array, shares: Array, lambda_: float, tolerance: float) -> Array:
    """The weights of one party, by damped Newton steps in the span of its samples."""
    n, k = shares.shape
    gram = np.dot(x, x.T)
    dual, z, trial = np.zeros((n, k)), np.zeros((n, k)), np.zeros((n, k))
    v, roots, step = np.empty((n, k)), np.empty((n, k, k)), np.empty((n, k))
    matrix, right, image = np.empty((n * k, n * k)), np.empty(n * k), np.empty((n, k))
    here = value(gram, dual, shares, lambda_, z)
    for _ in range(60):
        for i in range(n):
            slopes(z[i], shares[i], roots[i], v[i], n)
            for a in range(k):
                v[i, a] += lambda_ * dual[i, a]
        squared = 0.0
        for i in range(n):
            for a in range(k):
                t = 0.0
                for m in range(n):
                    t += gram[i, m] * v[m, a]
                image[i, a] = t
                squared += t * v[i, a]
        if not squared > tolerance * tolerance:
            break
        for i in range(n):
            for a in range(k):
                t = 0.0
                for b in range(k):
                    t += roots[i, b, a] * image[i, b]
                right[i * k + a] = t
            for m in range(i + 1):
                if k == 1:
                    matrix[i, m] = gram[i, m] * roots[i, 0, 0] * roots[m, 0, 0]
                    continue
                for a in range(k):
                    for b in range(k):
                        t = 0.0
                        for c in range(k):
                            t += roots[i, c, a] * roots[m, c, b]
                        matrix[i * k + a, m * k + b] = gram[i, m] * t
            for a in range(k):
                matrix[i * k + a, i * k + a] += lambda_
        if not solve(matrix, right):
            break
        for i in range(n):
            for a in range(k):
                t = v[i, a]
                for b in range(k):
                    t -= roots[i, a, b] * right[i * k + b]
                step[i, a] = t / lambda_
        size = 1.0
        reached = here
        for _ in range(30):
            reached = value(gram, dual - size * step, shares, lambda_, trial)
            if reached <= here + 1e-14 * (1.0 + abs(here)):
                break
            size *= 0.5
        dual -= size * step
        z[:] = trial
        here = reached
    return np.dot(x.T, dual)


@jit
def gradient_norm(x: Array, shares: Array, lambda_: float, w: Array) -> float:
    """‖∇R(w)‖ as computed, from the weights themselves."""
    n, k = shares.shape
    slope, root, z = np.empty((n, k)), np.empty((k, k)), np.empty(k)
    for i in range(n):
        for a in range(k):
            t = 0.0
            for m in range(x.shape[1]):
                t += x[i, m] * w[m, a]
            z[a] = t
        slopes(z, shares[i], root, slope[i], 1)
    total = 0.0
    for m in range(x.shape[1]):
        for a in range(k):
            t = 0.0
            for i in range(n):
                t += x[i, m] * slope[i, a]
            g = t / n + lambda_ * w[m, a]
            total += g * g
    return np.sqrt(total)


@numba.njit(cache=True, parallel=True, error_model="numpy", fastmath=ANY_ORDER)
def all_parties(
    x: Array,
    shares: Array,
    starts: Any,
    small: Any,
    lambda_: float,
    tolerance: float,
    weights: Array,
    norms: Array,
) -> None:
    """Solve every small party, on all cores."""
    for party in numba.prange(starts.size - 1):
        if small[party]:
            rows = slice(starts[party], starts[party + 1])
            weights[party] = newton(x[rows], shares[rows], lambda_, tolerance)
            norms[party] = gradient_norm(x[rows], shares[rows], lambda_, weights[party])
