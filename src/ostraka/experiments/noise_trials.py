"""The accuracy of one model under many draws of noise, at many ε.

The noise of ε is 1/ε times that of ε = 1 (except for the grid, which is a millionth of the
sensitivity), so the scores of a block of test rows are X·w + (1/ε)·X·η: two products for all draws
and all ε, and a comparison for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from ostraka.experiments.tasks import Test
from ostraka.mechanism.laws import Exact
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.after_noise.student import softmax
from ostraka.methods.base import Method
from ostraka.solve.losses import Array

__all__ = [
    "Quality",
    "accuracies",
    "accuracy",
    "judge_scores",
    "noisy_accuracies",
    "qualities",
    "weights_of",
    "unit_noise",
    "exponential_noise",
]

SCORES_AT_ONCE = 2**22
N_BINS = 10


def weights_of(vector: Exact, method: Method, mechanism: Mechanism) -> Array:
    """The model that would be released without noise."""
    return method.weights(mechanism.mean(vector), mechanism)


def unit_noise(
    method: Method, mechanism: Mechanism, generator: np.random.Generator, n_draws: int
) -> Array:
    """Noise for the mechanism's ε, as weights: (n, d) or (n, d, K)."""
    drawn = mechanism.rehearse(generator, n_draws)
    return np.stack([method.weights(row, mechanism) for row in drawn])


def exponential_noise(
    method: Method, mechanism: Mechanism, generator: np.random.Generator, n_draws: int
) -> Array:
    """The hypothesis about the paper's figures: a length of Exp(S/ε), not Gamma(D, S/ε).

    The direction is right. NOT private.
    """
    directions = generator.standard_normal((n_draws, mechanism.dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    scale = mechanism.noise_scale / mechanism.divisor
    lengths = scale * generator.standard_exponential((n_draws, 1))
    return np.stack([method.weights(row, mechanism) for row in directions * lengths])


def accuracy(weights: Array, test: Test) -> float:
    """The share of test samples that a model gets right."""
    return accuracies(weights[np.newaxis], test)[0]


def accuracies(models: Array, test: Test) -> list[float]:
    """The same for many models, of shape (n, d) or (n, d, K), in one pass over the test samples."""
    if models.ndim == 3 and models.shape[2] == 2:
        models = models[:, :, 1] - models[:, :, 0]
    nothing = np.zeros(models.shape[1:])
    found: list[float] = noisy_accuracies(nothing, models, (1.0,), test)[0].tolist()
    return found


@final
class Quality(float):
    """An accuracy that also knows how it is made up.

    `balanced`: the mean over classes of how many of each are found. `area`: with two classes, how
    often a sample of the second gets a higher score than one of the first (AUC); otherwise None.
    `doubtful`: how far the probability of the class that is chosen is from how often it is right,
    on average over tenths of probability (expected calibration error).
    """

    balanced: float
    area: float | None
    doubtful: float


def qualities(models: Array, test: Test) -> list[Quality]:
    """Accuracies with what else there is to say, one for each model (n, d) or (n, d, K)."""
    return [judge_scores(np.asarray(test.features @ model), test) for model in models]


def judge_scores(scores: Array, test: Test) -> Quality:
    """The same of the scores that a model gives to the test samples."""
    from sklearn.metrics import roc_auc_score

    if scores.ndim == 2 and scores.shape[1] == 2:
        scores = scores[:, 1] - scores[:, 0]
    two = scores.ndim == 1
    chosen = scores >= 0.0 if two else scores.argmax(axis=1)
    repeats = test.repeats.astype(np.float64)
    right = np.bincount(test.labels, weights=repeats * (chosen == test.labels))
    there = np.bincount(test.labels, weights=repeats)
    found = Quality(right.sum() / there.sum())
    found.balanced = float(np.mean(right[there > 0.0] / there[there > 0.0]))
    found.doubtful = _calibration_error(scores, chosen == test.labels, repeats)
    both = two and bool((there > 0.0).sum() == 2)
    found.area = float(roc_auc_score(test.labels, scores, sample_weight=repeats)) if both else None
    return found


def _calibration_error(scores: Array, right: NDArray[np.bool_], repeats: Array) -> float:
    """[Naeini, Cooper, Hauskrecht 2015], in ten bins of equal width."""
    full = np.stack([np.zeros_like(scores), scores], axis=1) if scores.ndim == 1 else scores
    sure = softmax(full).max(axis=1)
    bins = np.minimum((sure * N_BINS).astype(np.int64), N_BINS - 1)
    gaps = np.bincount(bins, weights=repeats * (sure - right), minlength=N_BINS)
    return float(np.abs(gaps).sum() / repeats.sum())


def noisy_accuracies(
    weights: Array, noise: Array, inverse_epsilons: Sequence[float], test: Test
) -> Array:
    """Accuracies of `weights` + `noise`·(1/ε), of shape (values of 1/ε, draws)."""
    n_draws, outputs = len(noise), int(np.prod(weights.shape[1:]))
    # Of shape (d, draws·outputs).
    columns = noise.reshape(n_draws, -1, outputs).transpose(1, 0, 2).reshape(-1, n_draws * outputs)
    right = np.zeros((len(inverse_epsilons), n_draws))
    step = max(1, SCORES_AT_ONCE // (n_draws * outputs))
    for start in range(0, test.labels.shape[0], step):
        rows = slice(start, start + step)
        features, labels, repeats = (
            test.features[rows],
            test.labels[rows],
            test.repeats[rows].astype(np.float64),
        )
        clean = (features @ weights.reshape(-1, outputs))[:, np.newaxis, :]
        shaken = (features @ columns).reshape(-1, n_draws, outputs)
        for position, inverse in enumerate(inverse_epsilons):
            scores = clean + inverse * shaken
            chosen = scores[:, :, 0] >= 0.0 if outputs == 1 else scores.argmax(axis=2)
            right[position] += repeats @ (chosen == labels[:, np.newaxis])
    return right / test.n_samples
