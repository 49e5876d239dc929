"""The losses, their derivatives, and the constants that the privacy bounds are made of.

A linear model gives sample x the scores z = Wᵀx; the loss looks at x through z alone. Labels are
*soft*: a share α of votes for class +1 (binary), or a row of shares over K classes (softmax). Hard
labels are the corners.

    letter  name here               meaning
    c       smoothness              the largest eigenvalue of ∂²ℓ/∂z² anywhere
    G       slope_bound             the longest ∂ℓ/∂z anywhere
    g₀      slope_at_zero           the longest ∂ℓ/∂z at z = 0
    κ       label_gap               how far ∂ℓ/∂z moves, at most, when a label moves from one
                                    corner to another
    ω       ball                    sup ⟨−∂ℓ/∂z, z⟩: every minimiser has λ‖w‖² ≤ ω
    ℓ(0)    value_at_zero           the largest loss at z = 0
    φ       rounding                how far the computed ∂ℓ/∂z is from the exact one at the same z,
                                    with labels rounded once

Guarantee: each constant is an upper bound for every score and every label (losses.proof.md),
rounded up.
Source: Hamm, Cao, Belkin, ICML 2016, sections 3-4; κ, g₀, ω and φ are ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import lambertw

from ostraka.errors import LabelError, ParameterError, ShapeError
from ostraka.public.catalogue import LABEL_GAPS, SLOPE_BOUNDS

__all__ = ["Array", "Loss", "Logistic", "HuberHinge", "Softmax", "UNIT_ROUNDOFF", "loss_for"]

Array = NDArray[np.float64]

UNIT_ROUNDOFF = 2.0**-53
# Makes a constant computed in doubles an upper bound: its own rounding is far below 2^-40.
_UP = 1.0 + 2.0**-40


class Loss(Protocol):
    """What the solver and the bounds need to know about a loss."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def n_outputs(self) -> int: ...  # noqa: D102
    @property
    def n_classes(self) -> int: ...  # noqa: D102
    @property
    def smoothness(self) -> float: ...  # noqa: D102
    @property
    def slope_bound(self) -> float: ...  # noqa: D102
    @property
    def slope_at_zero(self) -> float: ...  # noqa: D102
    @property
    def label_gap(self) -> float: ...  # noqa: D102
    @property
    def ball(self) -> float: ...  # noqa: D102
    @property
    def value_at_zero(self) -> float: ...  # noqa: D102
    @property
    def rounding(self) -> float: ...  # noqa: D102

    def value(self, z: Array, labels: Array) -> Array:
        """ℓ for each sample."""

    def slope(self, z: Array, labels: Array) -> Array:
        """∂ℓ/∂z for each sample, shaped like z."""

    def curvature(self, z: Array, labels: Array) -> Array:
        """What the Hessian needs of z: l″ for each sample (binary), or probabilities (softmax)."""

    def apply_curvature(self, curvature: Array, v: Array) -> Array:
        """(∂²ℓ/∂z²)·v for each sample."""

    def check_labels(self, labels: Array) -> Array:
        """The labels as a read-only array, or an error."""


def loss_for(n_classes: int, name: str = "logistic") -> Loss:
    """The loss called `name` for this many classes: "logistic" means softmax beyond two classes."""
    if not n_classes >= 2:
        raise ParameterError("n_classes", got=n_classes, allowed="2 or more")
    if name == "logistic":
        return Logistic() if n_classes == 2 else Softmax(n_classes)
    if name == "huber" and n_classes == 2:
        return HuberHinge()
    raise ParameterError(
        "loss", got=name, allowed='"logistic" for any number of classes, "huber" for two'
    )


def _read_only(labels: Array) -> Array:
    view = labels.view()
    view.setflags(write=False)
    return view


def _check_binary_labels(labels: Array) -> Array:
    labels = np.ascontiguousarray(labels, dtype=np.float64)
    if labels.ndim != 1:
        raise ShapeError(
            "The labels of a binary loss",
            got=labels.shape,
            allowed="(n_samples,), shares of class +1",
        )
    if not np.all((labels >= 0.0) & (labels <= 1.0)):
        raise LabelError(
            "Some labels lie outside [0, 1].", "A binary label is the share of votes for class +1."
        )
    return _read_only(labels)


@final
@dataclass(frozen=True, slots=True)
class Logistic:
    """Binary: l(t) = log(1+e^{−t}), mixed as α·l(z) + (1−α)·l(−z) = log(1+e^z) − αz."""

    name = "logistic"
    n_outputs = 1
    n_classes = 2
    smoothness = 0.25
    slope_bound = SLOPE_BOUNDS["logistic"]
    slope_at_zero = 0.5
    label_gap = LABEL_GAPS["logistic"]
    ball = float(lambertw(1.0 / math.e).real) * _UP
    value_at_zero = math.log(2.0) * _UP
    rounding = 16.0 * UNIT_ROUNDOFF

    def value(self, z: Array, labels: Array) -> Array:
        """ℓ for each sample."""
        out: Array = np.log1p(np.exp(-np.abs(z))) + np.maximum(z, 0.0) - labels * z
        return out

    def slope(self, z: Array, labels: Array) -> Array:
        """σ(z) − α."""
        return _sigmoid(z) - labels

    def curvature(self, z: Array, labels: Array) -> Array:  # noqa: ARG002
        """σ(z)(1−σ(z)), as e/(1+e)² with e = exp(−|z|), which does not cancel."""
        e = np.exp(-np.abs(z))
        out: Array = e / (1.0 + e) ** 2
        return out

    def apply_curvature(self, curvature: Array, v: Array) -> Array:
        """l″·v for each sample."""
        return curvature * v

    def check_labels(self, labels: Array) -> Array:
        """The labels as an array of shares in [0, 1], or an error."""
        return _check_binary_labels(labels)


def _sigmoid(z: Array) -> Array:
    e = np.exp(-np.abs(z))
    out: Array = np.where(z >= 0.0, 1.0, e) / (1.0 + e)
    return out


@final
@dataclass(frozen=True, slots=True)
class HuberHinge:
    """Binary: the hinge with a rounded corner of half-width h; 0 beyond 1+h, linear below 1−h."""

    h: float = 0.5

    name = "huber"
    n_outputs = 1
    n_classes = 2
    slope_bound = SLOPE_BOUNDS["huber"]
    slope_at_zero = 1.0
    label_gap = LABEL_GAPS["huber"]
    value_at_zero = 1.0

    def __post_init__(self) -> None:
        if not 0.0 < self.h < 1.0:
            raise ParameterError("h", got=self.h, allowed="a number between 0 and 1, both excluded")

    @property
    def smoothness(self) -> float:
        """1/(2h)."""
        return 0.5 / self.h * _UP

    @property
    def ball(self) -> float:
        """The largest −t·l′(t): inside the corner at t = (1+h)/2, or at its lower end 1−h."""
        h = self.h
        return (1.0 - h if h < 1.0 / 3.0 else (1.0 + h) ** 2 / (8.0 * h)) * _UP

    @property
    def rounding(self) -> float:
        """Four roundings of numbers up to 4, divided by 2h, and the mix."""
        return 16.0 * UNIT_ROUNDOFF * (1.0 + 1.0 / self.h)

    def value(self, z: Array, labels: Array) -> Array:
        """ℓ for each sample."""
        return labels * self._l(z) + (1.0 - labels) * self._l(-z)

    def slope(self, z: Array, labels: Array) -> Array:
        """α·l′(z) − (1−α)·l′(−z)."""
        return (1.0 - labels) * self._fall(-z) - labels * self._fall(z)

    def curvature(self, z: Array, labels: Array) -> Array:
        """l″ mixed: 1/(2h) inside the corner of either side."""
        h = self.h
        inside: Array = labels * (np.abs(1.0 - z) <= h) + (1.0 - labels) * (np.abs(1.0 + z) <= h)
        return inside * (0.5 / h)

    def apply_curvature(self, curvature: Array, v: Array) -> Array:
        """l″·v for each sample."""
        return curvature * v

    def check_labels(self, labels: Array) -> Array:
        """The labels as an array of shares in [0, 1], or an error."""
        return _check_binary_labels(labels)

    def _l(self, t: Array) -> Array:
        depth = np.clip(1.0 + self.h - t, 0.0, 2.0 * self.h)  # how far into the corner
        out: Array = depth**2 / (4.0 * self.h) + np.maximum(1.0 - self.h - t, 0.0)
        return out

    def _fall(self, t: Array) -> Array:
        """−l′(t), in [0, 1]."""
        out: Array = np.clip((1.0 + self.h - t) / (2.0 * self.h), 0.0, 1.0)
        return out


@final
@dataclass(frozen=True, slots=True)
class Softmax:
    """K classes: ℓ = log Σ_l e^{z_l} − Σ_k α_k z_k."""

    n_classes: int

    name = "softmax"
    smoothness = 0.5
    slope_bound = SLOPE_BOUNDS["softmax"]
    label_gap = LABEL_GAPS["softmax"]

    def __post_init__(self) -> None:
        if not self.n_classes >= 2:
            raise ParameterError("n_classes", got=self.n_classes, allowed="2 or more")

    @property
    def n_outputs(self) -> int:
        """One score per class."""
        return self.n_classes

    @property
    def slope_at_zero(self) -> float:
        """‖e_y − 1/K‖."""
        return math.sqrt(1.0 - 1.0 / self.n_classes) * _UP

    @property
    def ball(self) -> float:
        """W₀((K−1)/e)."""
        return float(lambertw((self.n_classes - 1) / math.e).real) * _UP

    @property
    def value_at_zero(self) -> float:
        """log K."""
        return math.log(self.n_classes) * _UP

    @property
    def rounding(self) -> float:
        """One exponential and one division per class, a sum over the classes, the label."""
        return (2.0 * self.n_classes + 16.0) * UNIT_ROUNDOFF

    def value(self, z: Array, labels: Array) -> Array:
        """ℓ for each sample, with the largest score taken out so that nothing overflows."""
        shifted = z - z.max(axis=1, keepdims=True)
        out: Array = np.log(np.exp(shifted).sum(axis=1)) - np.einsum("ik,ik->i", labels, shifted)
        return out

    def slope(self, z: Array, labels: Array) -> Array:
        """p − α."""
        return self.curvature(z, labels) - labels

    def curvature(self, z: Array, labels: Array) -> Array:  # noqa: ARG002
        """The probabilities p: ∂²ℓ/∂z² = diag(p) − ppᵀ."""
        p: Array = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        return p

    def apply_curvature(self, curvature: Array, v: Array) -> Array:
        """p∘v − p(pᵀv) for each sample."""
        p = curvature
        out: Array = p * (v - np.einsum("ik,ik->i", p, v)[:, None])
        return out

    def check_labels(self, labels: Array) -> Array:
        """The labels as rows of shares that sum to one, or an error."""
        labels = np.ascontiguousarray(labels, dtype=np.float64)
        if labels.ndim != 2 or labels.shape[1] != self.n_classes:
            raise ShapeError(
                "The labels",
                got=labels.shape,
                allowed=f"(n_samples, {self.n_classes}), rows of shares",
            )
        if not np.all(labels >= 0.0) or not np.all(np.abs(labels.sum(axis=1) - 1.0) <= 1e-12):
            raise LabelError(
                "Some rows of labels are not shares.", "Each row must be non-negative and sum to 1."
            )
        return _read_only(labels)
