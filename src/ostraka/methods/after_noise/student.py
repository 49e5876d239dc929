"""A student: a model that learns the answers of another one on the public auxiliary set, for free.

    letter  name here      meaning
    X       features       public auxiliary features, N×p, and q (`rows`) a weight for each row
    S       scores         of the teacher, N×K
    W, b    –              the ridge fit of onehot(argmax S) on X, and an intercept: class `shares`
    π       shares         the released ones, or `even_out` of them
    a       –              a factor that makes softmax(a·score) as sure as the teacher is, of rows
                           that the student has not learnt from (`apart`)

Where classes hardly overlap, the teacher is mostly right, and its own answers on X show a line that
is straighter than the one that noise has bent. Where they overlap, answers lose what probabilities
say, and a student would be worse.

The intercept. Class k has the score b_k + R_k(1 − π_k) in the middle of its rows, where R_k is how
much of its answers the fit explains, and elsewhere about b_k − R_k·π_k. So two classes are level
halfway between them if b_k + R_k(½ − π_k) is the same for both. Of two classes R is one number, and
where it is near 1 that says b = π. Of many, a rare one is explained less than a common one: R_k
grows with π_k, and with b = π a common class takes rows of its rare neighbours; small equal shares
have about b = 1/K. In between, b_k ∝ π_k^(1/(n − 1)) is used, where n = 1/Σπ² says how many classes
there are that count, two at least. That power is no theorem: of several rules it did best on test
rows of the tables that we have (docs/comparison.md).

A linear model has no intercept of its own here: it has the direction u with Xu = 1, which is there
if the map to features appends a constant, and the nearest to it otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from ostraka.methods.after_noise.apart import hold_out, own_moves
from ostraka.methods.after_noise.denoise import uniform
from ostraka.methods.noisy_sum import differences
from ostraka.solve.losses import Array

__all__ = ["Fitted", "add_bias", "covary", "even_out", "softmax", "soften", "sureness", "teach"]

SUREST = 1e4
"""The largest a."""
LEAST_SURE = -8.0
BISECTIONS = 30


def add_bias(features: Array, weights: Array, bias: Array) -> Array:
    """Weights of x whose scores are those of `weights` plus `bias`."""
    return np.asarray(weights + np.outer(_constant_direction(features), bias))


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fitted:
    """A model of what was released, right as often as it can be.

    With the objective "balanced" it becomes one that takes all classes to be equally common:
    probabilities are in proportion to a class's share, so the largest of p_k/π_k finds as many of
    every class as can be found, on average over classes.
    """

    weights: Array
    """p×K."""
    apart: Array
    """Scores of X, each row as if nobody had learnt from it."""
    shares: Array
    rows: Array | None = None

    def aim(self, objective: str, features: Array) -> Array:
        """Weights as a release has them."""
        if objective == "accuracy":
            return differences(self.weights)
        return differences(add_bias(features, self.weights, -np.log(self.shares)))

    def probabilities(self, objective: str) -> Array:
        """Of X, by a model with this objective."""
        aimed = self.apart if objective == "accuracy" else self.apart - np.log(self.shares)
        return softmax(aimed)

    def expect(self, objective: str) -> float:
        """How often the choices of a model with this objective are right, as far as it knows."""
        chosen = self.probabilities(objective).argmax(axis=1)[:, np.newaxis]
        own = np.take_along_axis(softmax(self.apart), chosen, axis=1)[:, 0]
        return float((uniform(own) if self.rows is None else self.rows) @ own)


def teach(
    features: Array,
    scores: Array,
    shares: Array,
    penalty: float | None = None,
    rows: Array | None = None,
) -> tuple[Array, Array]:
    """Weights of x: the ridge fit of the teacher's answers, penalty K/N unless another is given.

    Scores are these shares on average, and not those of the answers, which name common classes too
    often. And the scores of X, each row apart.
    """
    n, n_classes = scores.shape
    weights = uniform(features) if rows is None else rows
    answers = np.eye(n_classes)[scores.argmax(axis=1)]
    weighted = features * weights[:, np.newaxis]
    mean, answered = weighted.sum(axis=0), weights @ answers
    gram = weighted.T @ features - np.outer(mean, mean)
    gram[np.diag_indices_from(gram)] += n_classes / n if penalty is None else penalty
    fitted = np.linalg.solve(gram, weighted.T @ answers - np.outer(mean, answered))
    moves = weights + own_moves(features, gram, weights, mean)
    apart = hold_out(features @ fitted - mean @ fitted, answers - answered, moves) + shares
    return add_bias(features, fitted, shares - mean @ fitted), apart


def even_out(shares: Array) -> Array:
    """b for classes that hardly overlap."""
    n_counting = max(2.0, 1.0 / float(shares @ shares))
    powers = shares ** (1.0 / (n_counting - 1.0))
    return np.asarray(powers / powers.sum())


def soften(scores: Array, measure: Callable[[Array], float], aim: float) -> float:
    """a: where a measure of softmax(a·S) that grows with a is the aim."""
    low, high = LEAST_SURE, math.log(SUREST)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2.0
        below = measure(softmax(math.exp(middle) * scores)) < aim
        low, high = (middle, high) if below else (low, middle)
    return math.exp((low + high) / 2.0)


def covary(scores: Array, labels: Array, rows: Array | None = None) -> float:
    """Σ_i q_i ⟨S_i, P_i⟩."""
    weights = uniform(scores) if rows is None else rows
    return float(weights @ np.einsum("ij,ij->i", scores, labels))


def sureness(probabilities: Array, rows: Array | None = None) -> float:
    """The mean probability of the class that is chosen: how often a model thinks it is right."""
    weights = uniform(probabilities) if rows is None else rows
    return float(weights @ probabilities.max(axis=1))


def softmax(scores: Array) -> Array:
    """Probabilities, row by row."""
    # Class by class: sums along short rows take several times as long.
    powers = np.array(scores.T, order="C")
    powers -= powers.max(axis=0)
    np.exp(powers, out=powers)
    powers /= powers.sum(axis=0)
    return powers.T


def _constant_direction(features: Array) -> Array:
    """u."""
    constant = np.flatnonzero((features == features[0]).all(axis=0) & (features[0] != 0.0))
    if constant.size:
        direction = np.zeros(features.shape[1])
        direction[constant[-1]] = 1.0 / features[0, constant[-1]]
        return direction
    return np.asarray(np.linalg.lstsq(features, np.ones(len(features)), rcond=1e-10)[0])
