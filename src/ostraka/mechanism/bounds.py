"""How far one party can move the minimiser: every bound of the paper, and ours.

    letter  name here         meaning
    M       n_shares          one unit moves a label by at most 1/M: the number of units,
                              or 1 for majorities
    N       n_samples         size of the auxiliary set
    λ       lambda_           strength of the regulariser
    κ       loss.label_gap    how far a sample's gradient moves when its label moves
                              from corner to corner
    μ       gradient_factor   ≤ 1, what the public auxiliary features leave of such a move
                              (geometry.py)
    ρ       minimiser_radius  every minimiser lies in the ball of this radius, whatever the labels
    s, t    –                 how far the gradient moves: of an unchanged auxiliary sample (s),
                              of a replaced one (t)

Guarantee (bounds.proof.md): each function returns an upper bound on the Euclidean distance between
the *exact* minimisers (`avg`: means of vectors in the ball) of two neighbouring worlds, rounded up.
The caller adds the solver's tolerance and its rounding.
Source: Hamm, Cao, Belkin, ICML 2016, Theorem 3 and section 4; `avg`: Pathak, Rane, Raj, NIPS 2010.
"""

from __future__ import annotations

import math

from ostraka.solve.losses import Loss

__all__ = [
    "minimiser_radius",
    "paper_average",
    "paper_label_gap",
    "stability",
    "stability_private_auxiliary",
]

_UP = 1.0 + 2.0**-40  # a handful of roundings, each of relative size 2^-53, go up


def paper_label_gap(loss: Loss) -> float:
    """The paper's constant for κ: 2 for a binary loss of slope at most 1, √2 for softmax."""
    return 2.0 * loss.slope_bound if loss.n_outputs == 1 else loss.label_gap


def minimiser_radius(loss: Loss, lambda_: float) -> float:
    """ρ = min(√(ω/λ), g₀/λ): no minimiser is longer, for any labels, samples in the unit ball."""
    return min(math.sqrt(loss.ball / lambda_), loss.slope_at_zero / lambda_) * _UP


def stability(label_gap: float, gradient_factor: float, lambda_: float, n_shares: int) -> float:
    """S = κμ/(λM): one unit moves every label by at most 1/M   [Theorem 3 with κ = 2, μ = 1].

    M is 1 for majorities, which one unit may turn everywhere.
    """
    return label_gap * gradient_factor / (lambda_ * n_shares) * _UP


def stability_private_auxiliary(
    label_gap: float, loss: Loss, lambda_: float, n_shares: int, n_samples: int
) -> float:
    """S = [(N−1)κ/M + t]/(λN): one party and one auxiliary sample change; M = 1 for majorities."""
    t = 2.0 * loss.slope_bound
    return ((n_samples - 1) * (label_gap / n_shares) + t) / (lambda_ * n_samples) * _UP


def paper_average(loss: Loss, lambda_: float, n_parties: int) -> float:
    """S = 2G/(λM) for `avg`: 2/(λM) binary, 2√2/(λM) softmax."""
    return 2.0 * loss.slope_bound / (lambda_ * n_parties) * _UP
