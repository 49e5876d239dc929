"""PATE: the parties' classifiers vote on public queries, and a student learns noisy winners.

    letter  name here   meaning
    Q       asked       how many auxiliary rows are voted on
    A       answered    how many of them may get a label
    T       threshold   share of the parties that must agree, in Confident-GNMax
    μ       –           1/σ(ε, δ): what all steps together may spend, Σ (Δ_i/σ_i)² ≤ μ²  (data.py)

Guarantee: (ε, δ), neighbours differ in one party's whole data set; data-independent. A replaced
party can change its vote on every query, by √2 in L2 each: two counts move by 1.

- GNMax: argmax of the counts + N(0, σ₂²), for all Q queries: σ₂ = √(2Q)/μ.
- Confident-GNMax: for every asked query the largest count + N(0, σ₁²) is compared with T·M (the
  largest count moves by at most 1); of those that pass, the first A get the GNMax label. All checks
  are made before any label, so both numbers are fixed beforehand: σ₁ = √Q/√(sμ²),
  σ₂ = √(2A)/√((1−s)μ²), where s is the checks' share of the budget. If fewer pass, the rest of the
  budget is not used.

Trust: a coordinator that sees the votes (or secure aggregation) and adds the noise. One upload.

Tuning: for free. How many public directions everybody learns in, Q, A, T, s and the student's
penalty are chosen by test accuracy, which favours this peer; the best setting is then measured with
fresh noise.

Why not the data-dependent loss of the paper: it is smaller where parties agree, but is itself
private, and would have to be smoothed and noised before anybody could be told.

Source: Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson,
"Scalable Private Learning with PATE", ICLR 2018.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.experiments.noise_trials import accuracies
from ostraka.experiments.peers.data import (
    DIRECTIONS,
    PeerData,
    best,
    finish,
    gaussian_scale,
    narrow_data,
)
from ostraka.party.training.ensemble import linear_counts
from ostraka.party.training.parameters import train_linear
from ostraka.public.classes import Indices
from ostraka.solve.losses import Array

__all__ = [
    "ASKED",
    "PENALTIES",
    "CONFIDENT_GRID",
    "Confidence",
    "gnmax",
    "confident_gnmax",
    "answer_scale",
    "check_scale",
]

LAMBDA = 1e-4
"""The regulariser of the parties' own classifiers."""
ASKED = (25, 50, 100, 200, 400, 800, 1600, 6400, 25600)
"""Those beyond the auxiliary set stand for all of it."""
PENALTIES = (0.1, 0.3, 1.0, 3.0)
"""Penalties of the student, times K over the number of labels."""

VOTE_CHANGE = math.sqrt(2.0)
"""How far a replaced party moves one query's counts, in L2."""
LARGEST_COUNT_CHANGE = 1.0

Counts = NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Which auxiliary rows got a label, and which label."""

    rows: NDArray[np.intp]
    classes: Indices


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Confidence:
    """A setting of Confident-GNMax."""

    asked: int
    answered_share: float
    threshold: float
    checks_share: float
    """Of the budget, which is counted in μ²."""

    def answered(self, n_asked: int) -> int:
        """A."""
        return max(1, round(self.answered_share * n_asked))


CONFIDENT_GRID = tuple(
    Confidence(asked=asked, answered_share=answered, threshold=threshold, checks_share=share)
    for asked, answered, threshold, share in product(
        (100, 400, 1600, 25600), (0.25, 0.5), (0.4, 0.6), (0.2, 0.5)
    )
)


def gnmax(
    data: PeerData, epsilon: float, delta: float, generator: np.random.Generator, n_draws: int
) -> list[float]:
    """PATE with GNMax."""

    def measure(directions: int | None, asked: int) -> list[list[float]]:
        narrow = narrow_data(data, directions)
        return _students(
            narrow,
            [gnmax_labels(votes(narrow), asked, epsilon, delta, generator) for _ in range(n_draws)],
        )

    return _tune(measure, list(product(DIRECTIONS, _distinct(ASKED, len(data.auxiliary)))))


def confident_gnmax(
    data: PeerData, epsilon: float, delta: float, generator: np.random.Generator, n_draws: int
) -> list[float]:
    """PATE with Confident-GNMax."""

    def measure(directions: int | None, setting: Confidence) -> list[list[float]]:
        narrow, n_parties = narrow_data(data, directions), len(data.parties)
        labelled = [
            confident_labels(votes(narrow), n_parties, setting, epsilon, delta, generator)
            for _ in range(n_draws)
        ]
        return _students(narrow, labelled)

    return _tune(measure, list(product(DIRECTIONS, CONFIDENT_GRID)))


def gnmax_labels(
    counts: Counts, asked: int, epsilon: float, delta: float, generator: np.random.Generator
) -> Labels:
    """Labels for random queries."""
    rows = generator.permutation(len(counts))[:asked]
    return Labels(
        rows, noisy_winners(counts[rows], answer_scale(epsilon, delta, len(rows)), generator)
    )


def confident_labels(
    counts: Counts,
    n_parties: int,
    setting: Confidence,
    epsilon: float,
    delta: float,
    generator: np.random.Generator,
) -> Labels:
    """Labels for those of the random queries on which many parties agree."""
    rows = generator.permutation(len(counts))[: setting.asked]
    limit = setting.answered(len(rows))
    checks = check_scale(epsilon, delta, len(rows), setting.checks_share)
    sure = rows[passes(counts[rows], setting.threshold * n_parties, checks, generator)][:limit]
    return Labels(
        sure,
        noisy_winners(
            counts[sure], answer_scale(epsilon, delta, limit, 1.0 - setting.checks_share), generator
        ),
    )


def answer_scale(epsilon: float, delta: float, answered: int, share: float = 1.0) -> float:
    """σ₂ for this many labels, at this share of the budget."""
    return gaussian_scale(epsilon, delta, VOTE_CHANGE * math.sqrt(answered / share))


def check_scale(epsilon: float, delta: float, asked: int, share: float) -> float:
    """σ₁ for this many comparisons with the threshold."""
    return gaussian_scale(epsilon, delta, LARGEST_COUNT_CHANGE * math.sqrt(asked / share))


def noisy_winners(counts: Counts, scale: float, generator: np.random.Generator) -> Indices:
    """The class with the most votes, after noise."""
    winners: Indices = (counts + scale * generator.standard_normal(counts.shape)).argmax(axis=1)
    return winners


def passes(
    counts: Counts, threshold: float, scale: float, generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Where the largest count is above the threshold, after noise."""
    passed: NDArray[np.bool_] = (
        counts.max(axis=1) + scale * generator.standard_normal(len(counts)) >= threshold
    )
    return passed


@lru_cache(maxsize=len(DIRECTIONS))
def votes(data: PeerData) -> Counts:
    """The parties' votes on all auxiliary rows, N×K: teachers train once, whatever ε."""
    batches = train_linear(data.parties, data.n_classes, LAMBDA, "logistic", 1, None)
    counted = [linear_counts(weights, data.auxiliary, data.n_classes) for weights in batches]
    counts: Counts = np.sum(counted, axis=0)
    return counts


def _tune(
    measure: Callable[..., list[list[float]]], grid: Sequence[tuple[Any, ...]]
) -> list[float]:
    """The accuracies of the best setting with its best student, with fresh noise."""
    found = [measure(*setting) for setting in grid]
    position, student = divmod(
        best([accuracies for students in found for accuracies in students]), len(found[0])
    )
    return measure(*grid[position])[student]


def _students(data: PeerData, labelled: Sequence[Labels]) -> list[list[float]]:
    """Accuracies of every kind of student, each with one number per draw."""
    fitted = np.concatenate([_fit(data, labels) for labels in labelled])
    both = np.stack([fitted, finish(data, fitted)])  # PATE's students are semi-supervised
    found = np.array(accuracies(both.reshape(-1, *fitted.shape[1:]), data.test))
    kinds: list[list[float]] = (
        found.reshape(2, len(labelled), len(PENALTIES))
        .transpose(0, 2, 1)
        .reshape(-1, len(labelled))
        .tolist()
    )
    return kinds


def _fit(data: PeerData, labels: Labels) -> Array:
    """Ridge students, one for each penalty: (penalties, p, K)."""
    n_labels, n_classes = len(labels.rows), data.n_classes
    if n_labels == 0:
        return np.zeros((len(PENALTIES), data.auxiliary.shape[1], n_classes))
    rows = data.auxiliary[labels.rows]
    values, basis = np.linalg.eigh(rows.T @ rows / n_labels)
    moments = basis.T @ (rows.T @ (np.eye(n_classes)[labels.classes] - 1.0 / n_classes) / n_labels)
    return np.stack(
        [
            basis @ (moments / (values + penalty * n_classes / n_labels)[:, np.newaxis])
            for penalty in PENALTIES
        ]
    )


def _distinct(sizes: Sequence[int], most: int) -> list[int]:
    return sorted({min(size, most) for size in sizes})
