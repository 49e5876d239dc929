"""One trial: split, train the parties, count votes, solve once per method, then add noise.

Nothing that does not depend on ε is computed more than once. Every trial runs its matrix products
on one thread, so that its numbers do not depend on how many trials run beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.datasets.dataset import Dataset
from ostraka.experiments.noise_trials import (
    accuracy,
    exponential_noise,
    noisy_accuracies,
    unit_noise,
    weights_of,
)
from ostraka.experiments.settings import HYPOTHESIS, Settings
from ostraka.experiments.tasks import TASKS, Split, Test, split
from ostraka.mechanism.laws import Exact
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.avg import Avg
from ostraka.methods.base import Method, Options
from ostraka.methods.registry import METHODS
from ostraka.party.training.ensemble import linear_counts
from ostraka.party.training.linear import train_features
from ostraka.party.training.named import named
from ostraka.party.training.parameters import train_linear
from ostraka.party.training.votes import count_votes
from ostraka.public.promise import Promise
from ostraka.solve.losses import Array

__all__ = ["Measured", "run_trial"]

Counts = NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The accuracies of one method at one 1/ε in one trial: one, or one per draw of noise."""

    method: str
    calibration: str
    """ "none" for what needs no noise."""
    inverse_epsilon: float
    accuracies: tuple[float, ...]
    balanced: tuple[float, ...] = ()
    """The mean over classes of how many of each are found, where it was measured."""
    areas: tuple[float, ...] = ()
    """Under the ROC curve, with two classes."""
    told: tuple[float | None, ...] = ()
    """How often each model says that it is right; None where noise leaves it nothing to say."""
    doubtful: tuple[float, ...] = ()
    """The expected calibration error of each model."""


def run_trial(data: Dataset, settings: Settings, n_parties: int, trial: int) -> list[Measured]:
    """Everything that one trial measures."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        stream = settings.stream(n_parties, trial, "split")
        drawn = split(
            data,
            TASKS[settings.task],
            n_parties,
            stream,
            natural=settings.natural_parties,
            centre=settings.centre,
        )
        return list(_measure(drawn, settings, n_parties, trial))


def _measure(drawn: Split, settings: Settings, n_parties: int, trial: int) -> Iterator[Measured]:
    parties, test, n_classes = drawn.parties, drawn.test, drawn.auxiliary.n_classes
    parameters, counts, test_counts = _votes(drawn, settings)
    if "batch" in settings.methods:
        weights = train_features(
            parties.features, parties.labels, n_classes, settings.lambda_, "logistic"
        )
        yield _reference("batch", accuracy(weights, test))
    if "indiv" in settings.methods:
        yield _reference("indiv", _mean_accuracy(test_counts, test, len(parties)))
    for name in settings.private_methods:
        for calibration in settings.calibrations:
            method, mechanism, vector = _prepare(
                name, calibration, drawn, counts, parameters, settings
            )
            weights = weights_of(vector, method, mechanism)
            yield Measured(
                method=name,
                calibration=calibration,
                inverse_epsilon=0.0,
                accuracies=(accuracy(weights, test),),
            )
            stream = settings.stream(n_parties, trial, name, calibration)
            noise = unit_noise(method, mechanism, stream, settings.draws(trial))
            yield from _shake(name, calibration, weights, noise, settings, test)
        if settings.hypothesis:
            method, mechanism, vector = _prepare(name, "paper", drawn, counts, parameters, settings)
            stream = settings.stream(n_parties, trial, name, HYPOTHESIS)
            noise = exponential_noise(method, mechanism, stream, settings.draws(trial))
            weights = weights_of(vector, method, mechanism)
            yield from _shake(name, HYPOTHESIS, weights, noise, settings, test)


def _votes(drawn: Split, settings: Settings) -> tuple[Array | None, Counts, Counts]:
    """The parameters of linear parties, and the votes on the auxiliary set and on the test set."""
    parties, n_classes = drawn.parties, drawn.auxiliary.n_classes
    # Both at once: parties train once.
    asked = np.vstack([drawn.auxiliary.features, drawn.test.features])
    if settings.local == "linear":
        trained = train_linear(parties, n_classes, settings.lambda_, "logistic", 1, None)
        parameters = np.concatenate(list(trained))
        counts = linear_counts(parameters, asked, n_classes)
    else:
        parameters, templates = None, named(settings.local)
        templates = templates if isinstance(templates, list) else [templates]
        blocks = count_votes(parties, asked, n_classes, templates, n_jobs=1)
        counts = np.sum([block for _, block in blocks], axis=0)
    return parameters, counts[: drawn.auxiliary.n_samples], counts[drawn.auxiliary.n_samples :]


def _mean_accuracy(counts: Counts, test: Test, n_parties: int) -> float:
    """The share of parties that get a test sample right, averaged over the samples."""
    right = counts[np.arange(len(counts)), test.labels]
    return float(right @ test.repeats) / (n_parties * test.n_samples)


def _prepare(
    name: str, calibration: str, drawn: Split, counts: Counts, parameters: Any, settings: Settings
) -> tuple[Method, Mechanism, Exact]:
    """The method and its noise for ε = 1, and its private vector."""
    promise, n_parties = Promise(epsilon=1.0), len(drawn.parties)
    options = Options(lambda_=settings.lambda_, calibration=calibration)
    method: Method = METHODS[name].create(drawn.auxiliary, n_parties, promise, options)
    mechanism = method.mechanism(promise, n_parties)
    total = method.round_parameters(parameters).sum(axis=0) if isinstance(method, Avg) else counts
    return method, mechanism, method.statistic(total, mechanism)


def _shake(
    method: str, calibration: str, weights: Array, noise: Array, settings: Settings, test: Test
) -> Iterator[Measured]:
    accuracies = noisy_accuracies(weights, noise, settings.noisy, test)
    for inverse, row in zip(settings.noisy, accuracies.tolist()):
        yield Measured(
            method=method, calibration=calibration, inverse_epsilon=inverse, accuracies=tuple(row)
        )


def _reference(method: str, value: float) -> Measured:
    return Measured(method=method, calibration="none", inverse_epsilon=0.0, accuracies=(value,))
