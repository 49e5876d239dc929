"""The demonstration: handwritten digits (bundled with scikit-learn) over 200 parties with mixed local classifiers.

400 unlabelled digits are public: the auxiliary set. Everything else is private, five samples to a party. Accuracies are means over
rehearsals; the release at the end, by `auto` at ε = 1, is real.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, final, get_args

import numpy as np

from ostraka.auxiliary import AuxiliarySet
from ostraka.local.named import named
from ostraka.local.parties import Parties, Watch, linear_parameters, tally_parties
from ostraka.methods import auto, avg, batch, soft, vote
from ostraka.methods.output_perturbation import Plan
from ostraka.methods.statistic import StatisticTerms
from ostraka.methods.terms import Calibration, Terms
from ostraka.model import LinearModel, Task
from ostraka.noise import Rehearsal
from ostraka.planner import METHODS
from ostraka.release import Rehearsed, Release
from ostraka.tally import Tally
from ostraka.whitening import half_whitened

__all__ = ["Demonstration", "EPSILONS", "digits"]

EPSILONS = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3)
N_AUXILIARY, N_PARTIES, SAMPLES_EACH, N_DRAWS = 400, 200, 5, 20
LAMBDA = 1e-3


Curves: TypeAlias = dict[tuple[str, Calibration], tuple[list[float], list[float]]]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Demonstration:
    """Accuracy by method, calibration and ε; references; a release."""

    curves: Curves
    references: dict[str, float]
    release: Release

    def mean(self, method: str, calibration: Calibration, epsilon: float) -> float:
        """The mean accuracy at one of the ε."""
        return self.curves[method, calibration][0][EPSILONS.index(epsilon)]


def digits(watch: Watch | None = None) -> Demonstration:
    """Run it."""
    from sklearn.datasets import load_digits

    samples, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(samples))
    samples, labels = samples[order], labels[order]
    auxiliary = AuxiliarySet.scaled(samples[:N_AUXILIARY], tuple(range(10)), standardise=True, quantile=0.95)
    task = Task.of(auxiliary)
    private = slice(N_AUXILIARY, N_AUXILIARY + N_PARTIES * SAMPLES_EACH)
    features = task.features(samples[private])
    parties = Parties.group(features, labels[private], np.repeat(np.arange(N_PARTIES), SAMPLES_EACH))
    test = (samples[private.stop :], labels[private.stop :])

    tally = tally_parties(parties, named("mixed"), auxiliary, n_jobs=1, watch=watch)
    parameters = list(linear_parameters(parties, 10, LAMBDA, "logistic", n_jobs=1))
    curves: Curves = {
        (method, calibration): _curve(method, calibration, auxiliary, tally, parameters, test)
        for method in METHODS
        for calibration in get_args(Calibration)
    }
    public = AuxiliarySet(samples[:N_AUXILIARY], tuple(range(10)), preprocessing=half_whitened(samples[:N_AUXILIARY], 10))
    ours = Parties.group(samples[private], labels[private], np.repeat(np.arange(N_PARTIES), SAMPLES_EACH)).mapped(Task.of(public).features)
    curves["auto", "tight"] = _own_curve(ours, public, test)
    references = {
        "batch": batch.fit(samples[private], labels[private], task, LAMBDA).score(*test),
        "indiv": float(np.mean([LinearModel(task=task, weights=weights).score(*test) for weights in parameters])),
    }
    release = auto.release(ours, public, StatisticTerms(epsilon=1.0, samples_each=SAMPLES_EACH))
    assert isinstance(release, Release)
    return Demonstration(curves, references, release)


def _curve(
    method: str, calibration: Calibration, auxiliary: AuxiliarySet, tally: Tally, parameters: Sequence[Any], test: tuple[Any, Any]
) -> tuple[list[float], list[float]]:
    """The private vector does not depend on ε, so it is computed once and rehearsed with many noises."""
    terms = partial(Terms, lambda_=LAMBDA, calibration=calibration)
    plans = [_plan(method, auxiliary, terms(epsilon=epsilon)) for epsilon in EPSILONS]
    if method == "avg":
        vector = avg.statistic(parameters, plans[0])
    else:
        vector = (soft.statistic if method == "soft" else vote.statistic)(tally, plans[0])
    scores = [[_drawn(plan, vector, seed).model.score(*test) for seed in range(N_DRAWS)] for plan in plans]
    return [float(np.mean(row)) for row in scores], [float(np.std(row)) for row in scores]


def _own_curve(parties: Parties, public: AuxiliarySet, test: tuple[Any, Any]) -> tuple[list[float], list[float]]:
    """`auto`: the statistic is another one at every ε."""
    scores = []
    for epsilon in EPSILONS:
        name, planned = auto.choose(public, N_PARTIES, StatisticTerms(epsilon=epsilon, samples_each=SAMPLES_EACH))
        total = planned.added(auto.METHODS[name].contributions(parties, planned)).total
        scores.append([planned.publish_total(total, Rehearsal(seed)).model.score(*test) for seed in range(N_DRAWS)])
    return [float(np.mean(row)) for row in scores], [float(np.std(row)) for row in scores]


def _plan(method: str, auxiliary: AuxiliarySet, terms: Terms) -> Plan:
    if method == "avg":
        return avg.plan(Task.of(auxiliary), N_PARTIES, terms)
    return (soft.plan if method == "soft" else vote.plan)(auxiliary, N_PARTIES, terms)


def _drawn(plan: Plan, vector: list[int], seed: int) -> Release | Rehearsed:
    return plan.publish(vector, Rehearsal(seed))
