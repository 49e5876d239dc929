"""One trial: split, train the parties, count their votes, solve once per method, then shake with noise.

Nothing that does not depend on ε is computed more than once. Every trial runs its matrix products on one thread, so that its numbers do not
depend on how many run beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.auxiliary import AuxiliarySet
from ostraka.datasets.dataset import Dataset
from ostraka.experiments.noise_trials import accuracy, exponential_noise, noisy_accuracies, unit_noise, weights_of
from ostraka.experiments.settings import HYPOTHESIS, Settings
from ostraka.experiments.tasks import TASKS, Split, Test, split
from ostraka.local.ensemble import tally_linear
from ostraka.local.linear import train_features
from ostraka.local.named import named
from ostraka.local.parties import tally_parties, trained_linear
from ostraka.losses import Array
from ostraka.methods import avg, soft, vote
from ostraka.methods.output_perturbation import Exact, Plan
from ostraka.methods.terms import Calibration, Terms
from ostraka.model import Task
from ostraka.tally import Tally

__all__ = ["Measured", "run_trial"]

Counts = NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The accuracies of one method at one 1/ε in one trial: one number, or one per draw of noise."""

    method: str
    calibration: str
    """ "none" for what needs no noise."""
    inverse_epsilon: float
    accuracies: tuple[float, ...]


def run_trial(data: Dataset, settings: Settings, n_parties: int, trial: int) -> list[Measured]:
    """Everything that one trial measures."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        stream = settings.stream(n_parties, trial, "split")
        drawn = split(data, TASKS[settings.task], n_parties, stream, natural=settings.natural_parties, centre=settings.centre)
        return list(_measured(drawn, settings, n_parties, trial))


def _measured(drawn: Split, settings: Settings, n_parties: int, trial: int) -> Iterator[Measured]:
    parties, test, n_classes = drawn.parties, drawn.test, drawn.auxiliary.n_classes
    parameters, tally, test_counts = _votes(drawn, settings)
    if "batch" in settings.methods:
        weights = train_features(parties.features, parties.labels, n_classes, settings.lambda_, "logistic")
        yield _reference("batch", accuracy(weights, test))
    if "indiv" in settings.methods:
        yield _reference("indiv", _mean_accuracy(test_counts, test, len(parties)))
    for method in settings.private_methods:
        for calibration in settings.calibrations:
            plan, vector = _prepared(method, calibration, tally, parameters, settings)
            weights = weights_of(vector, plan)
            yield Measured(method=method, calibration=calibration, inverse_epsilon=0.0, accuracies=(accuracy(weights, test),))
            noise = unit_noise(plan, settings.stream(n_parties, trial, method, calibration), settings.draws(trial))
            yield from _shaken(method, calibration, weights, noise, settings, test)
        if settings.hypothesis:
            plan, vector = _prepared(method, "paper", tally, parameters, settings)
            noise = exponential_noise(plan, settings.stream(n_parties, trial, method, HYPOTHESIS), settings.draws(trial))
            yield from _shaken(method, HYPOTHESIS, weights_of(vector, plan), noise, settings, test)


def _votes(drawn: Split, settings: Settings) -> tuple[Array | None, Tally, Counts]:
    """The parameters of linear parties, the votes on the auxiliary set, and those on the test set."""
    auxiliary, parties, test = drawn.auxiliary, drawn.parties, drawn.test
    asked = AuxiliarySet(np.vstack([auxiliary.features, test.features]), auxiliary.classes)  # both at once: parties train once
    if settings.local == "linear":
        parameters = np.concatenate(list(trained_linear(parties, auxiliary.n_classes, settings.lambda_, "logistic", 1, None)))
        counts = tally_linear(parameters, asked).counts
    else:
        parameters, templates = None, named(settings.local)
        counts = tally_parties(parties, templates if isinstance(templates, list) else [templates], asked, n_jobs=1).counts
    tally = Tally(auxiliary)
    tally.add_counts(counts[: auxiliary.n_samples], len(parties))
    return parameters, tally, counts[auxiliary.n_samples :]


def _mean_accuracy(counts: Counts, test: Test, n_parties: int) -> float:
    """Over the parties: how many of them get a test sample right, averaged over the samples."""
    right = counts[np.arange(len(counts)), test.labels]
    return float(right @ test.repeats) / (n_parties * test.n_samples)


def _prepared(method: str, calibration: Calibration, tally: Tally, parameters: Any, settings: Settings) -> tuple[Plan, Exact]:
    """The method's plan for ε = 1, and its private vector."""
    terms = Terms(epsilon=1.0, lambda_=settings.lambda_, calibration=calibration)
    if method == "avg":
        plan = avg.plan(Task.of(tally.auxiliary), tally.n_parties, terms)
        return plan, avg.statistic(parameters, plan)
    module = soft if method == "soft" else vote
    plan = module.plan(tally.auxiliary, tally.n_parties, terms)
    return plan, module.statistic(tally, plan)


def _shaken(method: str, calibration: str, weights: Array, noise: Array, settings: Settings, test: Test) -> Iterator[Measured]:
    accuracies = noisy_accuracies(weights, noise, settings.noisy, test)
    for inverse, row in zip(settings.noisy, accuracies.tolist()):
        yield Measured(method=method, calibration=calibration, inverse_epsilon=inverse, accuracies=tuple(row))


def _reference(method: str, value: float) -> Measured:
    return Measured(method=method, calibration="none", inverse_epsilon=0.0, accuracies=(value,))
