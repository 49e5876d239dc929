"""Many draws at once give what one model after the other would."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, roc_auc_score

from ostraka.experiments import noise_trials
from ostraka.experiments.noise_trials import (
    accuracy,
    exponential_noise,
    noisy_accuracies,
    qualities,
    unit_noise,
    weights_of,
)
from ostraka.experiments.tasks import Test as Measured
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.avg import Avg
from ostraka.methods.base import Options
from ostraka.public.promise import Promise
from ostraka.public.task import Task


def a_test_set(n_classes: int, n: int = 200, d: int = 5) -> Measured:
    generator = np.random.default_rng(1)
    return Measured(
        generator.standard_normal((n, d)),
        generator.integers(0, n_classes, n),
        generator.integers(1, 5, n),
    )


def one_by_one(weights: np.ndarray, test: Measured) -> float:
    scores = test.features @ weights
    chosen = scores >= 0.0 if scores.ndim == 1 else scores.argmax(axis=1)
    return float(((chosen == test.labels) * test.repeats).sum() / test.repeats.sum())


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("at_once", [1, 37, 2**22])
def test_blocks_equal_single_models(
    n_classes: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise_trials, "SCORES_AT_ONCE", at_once)
    test, generator = a_test_set(n_classes), np.random.default_rng(0)
    shape = (5,) if n_classes == 2 else (5, n_classes)
    weights, noise = generator.standard_normal(shape), generator.standard_normal((7, *shape))
    found = noisy_accuracies(weights, noise, (0.1, 2.0), test)
    expected = [
        [one_by_one(weights + inverse * row, test) for row in noise] for inverse in (0.1, 2.0)
    ]
    assert np.abs(found - np.array(expected)).max() < 1e-12
    assert accuracy(weights, test) == pytest.approx(one_by_one(weights, test), abs=1e-12)


def made(epsilon: float = 1.0) -> tuple[Avg, Mechanism]:
    promise = Promise(epsilon=epsilon)
    method = Avg.create(Task(classes=("a", "b", "c"), n_features=4), 100, promise, Options())
    return method, method.mechanism(promise, 100)


def test_noise_of_an_epsilon_is_scaled_noise_of_one() -> None:
    """Within the grid, which is a millionth of the sensitivity."""
    one, tenth = (
        unit_noise(*made(epsilon), np.random.default_rng(5), 20) for epsilon in (1.0, 0.1)
    )
    assert np.abs(tenth - 10.0 * one).max() <= 20.0 * made()[1].grid


def test_lengths_are_gamma_and_under_the_hypothesis_exponential() -> None:
    """Means of 4000 draws; each test fails by chance with probability below 1e-9.

    That is six standard errors.
    """
    (method, mechanism), n = made(), 4000
    scale, dimension = mechanism.noise_scale / mechanism.divisor, mechanism.dimension
    for noise, mean, sd in (
        (unit_noise(method, mechanism, np.random.default_rng(0), n), dimension, np.sqrt(dimension)),
        (exponential_noise(method, mechanism, np.random.default_rng(0), n), 1.0, 1.0),
    ):
        lengths = np.linalg.norm(noise.reshape(n, -1), axis=1) / scale
        assert abs(lengths.mean() - mean) < 6.0 * sd / np.sqrt(n)


def test_the_model_without_noise_is_the_vector_on_its_grid() -> None:
    method, mechanism = made()
    weights = np.random.default_rng(0).standard_normal((4, 3))
    # Tight coordinates keep only differences of classes.
    weights -= weights.mean(axis=1, keepdims=True)
    vector = (100 * method.round_parameters(weights[np.newaxis])[0]).tolist()
    assert np.abs(weights_of(vector, method, mechanism) - weights).max() < 2.0 * mechanism.grid


@pytest.mark.parametrize("n_classes", [2, 4])
def test_an_accuracy_knows_how_it_is_made_up(n_classes: int) -> None:
    """As scikit-learn finds it, with every sample as often as it is repeated."""
    test = a_test_set(n_classes)
    shape = (3, 5) if n_classes == 2 else (3, 5, n_classes)
    models = np.random.default_rng(2).standard_normal(shape)
    for weights, found in zip(models, qualities(models, test), strict=True):
        scores = test.features @ weights
        chosen = scores >= 0.0 if n_classes == 2 else scores.argmax(axis=1)
        assert float(found) == pytest.approx(one_by_one(weights, test), abs=1e-12)
        expected = balanced_accuracy_score(test.labels, chosen, sample_weight=test.repeats)
        assert found.balanced == pytest.approx(expected, abs=1e-12)
        if n_classes > 2:
            assert found.area is None
            continue
        area = roc_auc_score(test.labels, scores, sample_weight=test.repeats)
        assert found.area == pytest.approx(area, abs=1e-12)


def test_two_columns_of_scores_are_one_difference() -> None:
    test = a_test_set(2)
    columns = np.random.default_rng(2).standard_normal((1, 5, 2))
    (both,) = qualities(columns, test)
    (one,) = qualities(columns[:, :, 1] - columns[:, :, 0], test)
    assert (both, both.balanced) == (one, one.balanced)
    assert both.area == pytest.approx(one.area)


def test_a_class_that_is_not_there_does_not_count() -> None:
    test = a_test_set(2)
    (found,) = qualities(np.zeros((1, 5)), replace(test, labels=np.ones_like(test.labels)))
    assert (float(found), found.balanced, found.area) == (1.0, 1.0, None)


def test_probabilities_that_are_right_as_often_as_they_say_are_not_doubtful() -> None:
    rng = np.random.default_rng(4)
    rows = rng.standard_normal((40_000, 2)) * 2.0
    labels = (rng.random(len(rows)) < 1.0 / (1.0 + np.exp(-rows[:, 0]))).astype(np.int64)
    test = Measured(rows, labels, np.ones_like(labels))
    honest, boastful = qualities(np.array([[1.0, 0.0], [4.0, 0.0]]), test)
    assert honest == boastful
    assert honest.doubtful < 0.02
    assert boastful.doubtful > 0.1
