"""Covariate shift: are the parties' samples distributed like the auxiliary ones, and what if not?

All of it costs no budget.

    letter  name here  meaning
    –       gaps       how far each released number lies from what the auxiliary set would give
    –       variances  of the gaps, if there is no shift: noise and sampling
    q       shares     a weight for each auxiliary row, with sum 1; 1/N without shift

`moments` and `cells` take the auxiliary rows to be a picture of the private ones. Where that is
wrong, the model is biased, and no ε helps. The released numbers show it, because parts of them do
not depend on labels: the private mass of each cell, the private mean feature. `surprise` says by
how many standard deviations they are off; from `ALARM` on, the auxiliary rows are weighted until
they fit what was released.

All of this is post-processing of noisy numbers; nothing private is seen.
"""

from __future__ import annotations

import numpy as np

from ostraka.solve.losses import Array

__all__ = ["ALARM", "chance", "remark", "shrink", "surprise", "tilt"]

ALARM = 5.0
"""Standard deviations: noise alone hardly ever gets there, a shift that matters goes far beyond."""
SPREAD = 6.0
"""The variance of a squared gap over its squared mean is at most about this for our laws.

It is 2 for a Gaussian and 5 for Laplace noise.
"""
TAIL = 61.0
"""So that one number with Laplace noise gets to `ALARM` once in ten thousand times: its squares
have a long tail, which many of them together have not. exp(−√(2(1 + 5√(6 + 61)))) = 1.06e-4.
"""
NEWTON_STEPS = 50
ENOUGH = 1e-9


def surprise(gaps: Array, variances: Array) -> float:
    """How many standard deviations Σ gap²/variance lies above its mean without shift.

    Below `ALARM` that says nothing.
    """
    return float((_squares(gaps, variances) - gaps.size) / np.sqrt(chance(gaps.size)))


def chance(n: int) -> float:
    """How far noise alone may carry the sum of n squared gaps, each over its variance: squared."""
    return SPREAD * n + TAIL


def remark(shift: float | None, weighted: bool) -> str | None:
    """What to tell people about a release's shift; None if there is nothing to tell."""
    if shift is None or not shift > ALARM:
        return None
    found = (
        "The parties' samples are not distributed like the auxiliary ones: "
        f"what was released is {shift:.0f} standard deviations off."
    )
    if weighted:
        return f"{found} The auxiliary samples were weighted to fit; better ones would help more."
    return (
        f"{found} The model may be poor where they differ. "
        "Better auxiliary samples help; so may shift=True, in another release."
    )


def shrink(gaps: Array, variances: Array) -> Array:
    """The gaps, less what noise has added to them on the whole   [James and Stein 1961]."""
    kept: Array = gaps * max(0.0, 1.0 - gaps.size / max(_squares(gaps, variances), 1.0))
    return kept


def tilt(white: Array, target: Array, penalty: float) -> Array:
    """Shares q ∝ exp(θ·z_i) with Σ q_i z_i near the target.

    Newton's method on log Σ exp(θ·z_i) − θ·target + penalty‖θ‖²/2, which is convex; the penalty
    keeps θ finite where no weighting reaches the target.
    """
    theta = np.zeros(white.shape[1])
    value, shares = _log_partition(white, theta, target, penalty)
    for _ in range(NEWTON_STEPS):
        mean = shares @ white
        gradient = mean - target + penalty * theta
        if gradient @ gradient <= ENOUGH**2:
            break
        curvature = (
            (white * shares[:, np.newaxis]).T @ white
            - np.outer(mean, mean)
            + penalty * np.eye(len(theta))
        )
        direction = np.linalg.solve(curvature, gradient)
        step = 1.0
        while True:
            moved = theta - step * direction
            lower, weighted = _log_partition(white, moved, target, penalty)
            if lower <= value - 1e-4 * step * (gradient @ direction):
                break
            step /= 2.0
            if step < ENOUGH:
                return shares  # as good as doubles can tell
        theta, value, shares = moved, lower, weighted
    return shares


def _log_partition(
    white: Array, theta: Array, target: Array, penalty: float
) -> tuple[float, Array]:
    exponents = white @ theta
    largest = exponents.max()
    weights = np.exp(exponents - largest)
    total = weights.sum()
    return float(
        largest + np.log(total) - theta @ target + penalty * (theta @ theta) / 2.0
    ), weights / total


def _squares(gaps: Array, variances: Array) -> float:
    return float(np.sum(np.minimum(np.abs(gaps), 1e100) ** 2 / variances))
