"""From noisy covariances of labels and features to the most probable softmax model.

It costs no budget, as nothing private is left in it.

    letter  name here   meaning
    Φ       white       public auxiliary rows in k directions, centred and whitened, N×k
    q       rows        a weight for each of them, with sum 1; 1/N without shift
    π       shares      how common each class is among the parties, from the released shares
    h       –           1 − π·π: how much the labels vary
    F       target      the noisy covariance of features and labels, k×K, rows with sum 0
    ν       noise       standard deviation of one coordinate of F in K−1 contrasts
    a_d     signal      the share of all signal that direction d is assumed to hold
    A       strength    how much of h a line explains, as far as F tells

The model p(x) = softmax(Vᵀφ(x) + b) minimises

    mean_q lse(Vᵀφ + b) − ⟨V, F + (mean_q φ)πᵀ⟩ − b·π + ½ Σ_d τ_d‖V_d‖².

Without τ it is the model whose features and labels vary together as was released, and whose
classes are as common: a softmax regression on data of which only these numbers are known. τ says
how little to trust F. To second order around equal scores, F_d is h/(K−1)·V_d plus noise of
variance ν² and a sampling error, and V_d has prior variance A·a_d·(K−1)/h per contrast. The
sampling error: features vary together in N public rows a bit differently than in the private ones,
so F_d is not quite what V makes of the public rows; that is of the order of what V explains, A·h,
over N, for K−1 contrasts. So the most probable V has τ_d = (ν² + A·h/((K−1)N))/(A·a_d). A direction
that holds only noise moves nothing, and what is left is π: the commonest class, with its
probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from ostraka.methods.after_noise.denoise import onto_simplex, uniform
from ostraka.methods.after_noise.shift import SPREAD, chance
from ostraka.methods.after_noise.student import softmax
from ostraka.solve.losses import Array

__all__ = [
    "RAREST",
    "SEPARATED",
    "Evidence",
    "correct_softmax",
    "fit_softmax",
    "likely_shares",
    "spread",
]

WEAKEST = 0.02
"""A line is assumed to explain at least this much of how labels vary, and classes to vary so."""
TYPICAL, TYPICALLY_OFF = 0.25, 0.2
"""How much it explains where nothing is known, and by how much that is typically wrong."""
SEPARATED = 0.5
"""If a line explains more than this of how labels vary, classes hardly overlap."""
CERTAINTY = 1.5
"""Standard deviations by which it must."""
RAREST = 1e-4
"""No class is taken to be rarer."""
LEAST_KEPT = 0.05
"""Of the differences between classes, whatever the noise."""
SMALLEST = 1e-100
FREE = 1e-6
"""The penalty of a bias."""
MOST_ROWS = 10_000
"""So many auxiliary rows are enough for a mean over them."""
STEPS = 300
ENOUGH = 1e-4
"""Stop when a step moves no number by more than this share of the largest."""


def likely_shares(found: Array, variance: float) -> Array:
    """Class shares, from noisy ones: shrunk to equal shares and made possible.

    [James and Stein 1961; for fewer than four classes the positive part of the first-order rule].
    """
    n_classes = len(found)
    gaps = found - found.mean()
    squares = max(float(gaps @ gaps), SMALLEST)
    # Never all the way: where shares would be equal, the first class would be the commonest.
    kept = max(LEAST_KEPT, 1.0 - max(1, n_classes - 1) * variance / squares)
    shares = np.maximum(onto_simplex((1.0 / n_classes + kept * gaps)[np.newaxis])[0], RAREST)
    return np.asarray(shares / shares.sum())


def spread(shares: Array) -> float:
    """h."""
    return max(1.0 - float(shares @ shares), WEAKEST)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """What was released about labels and features, and how uncertain it is."""

    shares: Array
    target: Array
    variance: float
    """ν² and what the number of private samples adds to it."""
    signal: Array
    n_rows: int
    weakest: float = WEAKEST
    """No A is smaller."""
    explained: float | None = None
    """How much of h the whole model explains; A, unless it goes on from another one."""

    @property
    def strength(self) -> float:
        """A, from the length of F beyond what errors add to it, as far as that can be trusted.

        By chance alone noise can be longer than expected; taken at its word, it would be believed.
        """
        explained, deviation = self._explained
        trust = TYPICALLY_OFF**2 / (TYPICALLY_OFF**2 + deviation * deviation)
        return float(np.clip(TYPICAL + trust * (explained - TYPICAL), self.weakest, 1.0))

    @property
    def separated(self) -> bool:
        """Whether classes hardly overlap: A is above `SEPARATED`, and not by chance."""
        explained, deviation = self._explained
        return min(explained, 1.0) - CERTAINTY * deviation > SEPARATED

    @property
    def surplus(self) -> float:
        """By how many standard deviations labels vary with features more than labels can vary."""
        most = spread(self.shares)
        beyond = float(np.sum(self.target**2)) - self._n_numbers * self.variance - most
        noise = chance(self._n_numbers) * self.variance**2 + 4.0 * self.variance * most
        return beyond / math.sqrt(max(noise, np.finfo(np.float64).tiny))

    def penalties(self, doubt: float | None = None) -> Array:
        """τ; `doubt` stands for its numerator over A, if it was set."""
        if doubt is None:
            doubt = (self.variance + self._sampling) / self.strength
        return np.asarray(doubt / self.signal)

    def covariance(self, slopes: Array, penalties: Array) -> tuple[float, float]:
        """⟨V, F⟩, how much a model's scores vary with the labels, and the variance of that.

        Less what V owes to errors in F: they move V by about 1/(h/(K−1) + τ_d), to second order, so
        that V fits them as if they were signal   [Stein 1981].
        """
        n_contrasts = len(self.shares) - 1
        curvatures = spread(self.shares) / n_contrasts + penalties
        owed = (self.variance + self._sampling) * n_contrasts * float(np.sum(1.0 / curvatures))
        found = float(np.sum(slopes * self.target)) - owed
        return found, self.variance * float(np.sum(slopes**2))

    @property
    def _explained(self) -> tuple[float, float]:
        """A by the length of F alone, and the deviation of that."""
        squares = float(np.sum(self.target**2)) - self._n_numbers * self.variance
        return squares / self._scale, self.variance * math.sqrt(
            SPREAD * self._n_numbers
        ) / self._scale

    @property
    def _n_numbers(self) -> int:
        return int(self.target.shape[0] * (self.target.shape[1] - 1))

    @property
    def _scale(self) -> float:
        """‖F‖² for A = 1."""
        return spread(self.shares) * float(self.signal.sum())

    @property
    def _sampling(self) -> float:
        """What the number of auxiliary rows adds to the variance: A·h/((K−1)N)."""
        explained = self.strength if self.explained is None else self.explained
        return explained * spread(self.shares) / ((len(self.shares) - 1) * self.n_rows)


def fit_softmax(
    white: Array, target: Array, shares: Array, penalty: Array, rows: Array | None = None
) -> tuple[Array, Array]:
    """V and b, by accelerated gradient steps that start again where they overshoot.

    [Beck and Teboulle 2009; O'Donoghue and Candès 2015]. In whitened coordinates the curvature is
    at most ½ in every direction, plus its penalty, so each has a step of its own.
    """
    # Weighted rows are all needed: a few of them may have all the weight.
    white = _some(white) if rows is None else white
    weights = uniform(white) if rows is None else rows
    design = np.column_stack([np.ones(len(white)), white])
    weighted = design * weights[:, np.newaxis]
    mean = weighted.sum(axis=0)[1:]
    aims = np.vstack([shares, target + np.outer(mean, shares)])
    tau = np.concatenate([[FREE], penalty])[:, np.newaxis]
    curvature = 0.5
    if rows is not None:
        curvature *= max(1.0, float(np.linalg.eigvalsh(weighted.T @ design)[-1]))
    start = np.log(shares) - np.log(shares).mean()
    first = np.vstack([start, np.zeros_like(target)])
    fitted = _descend(design, weighted, aims, tau, curvature, first)
    return fitted[1:], fitted[0]


def correct_softmax(white: Array, scores: Array, left: Array, penalty: Array) -> Array:
    """U of the model softmax(S + ΦU), for scores S of a first model that leave R unexplained.

    It minimises mean lse(S + ΦU) − ⟨U, mean φ softmax(S)ᵀ + R⟩ + ½ Σ_d τ_d‖U_d‖². At U = 0 the
    slope of that is −R: of the private loss itself, whatever the auxiliary rows are. They only say
    how far to go.
    """
    white, scores = _some(white), _some(scores)
    weighted = white / len(white)
    aims = weighted.T @ softmax(scores) + left
    nothing = np.zeros_like(left)
    return _descend(white, weighted, aims, penalty[:, np.newaxis], 0.5, nothing, scores)


def _descend(
    design: Array,
    weighted: Array,
    aims: Array,
    tau: Array,
    curvature: float,
    fitted: Array,
    scores: Array | float = 0.0,
) -> Array:
    steps = 1.0 / (curvature + tau)
    ahead, momentum = fitted, 1.0
    for _ in range(STEPS):
        slope = weighted.T @ softmax(scores + design @ ahead) - aims + tau * ahead
        moved = ahead - steps * slope
        change = moved - fitted
        grown = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        overshot = float(np.sum(slope * change)) > 0.0
        ahead = moved if overshot else moved + (momentum - 1.0) / grown * change
        fitted, momentum = moved, 1.0 if overshot else grown
        if np.abs(change).max() <= ENOUGH * max(float(np.abs(fitted).max()), 1e-3):
            break
    return fitted


def _some(white: Array) -> Array:
    """Evenly spaced rows, if there are very many: whatever their order, which is public."""
    if len(white) <= MOST_ROWS:
        return white
    return white[np.linspace(0, len(white) - 1, MOST_ROWS).astype(np.intp)]
