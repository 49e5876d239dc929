"""The demonstration: handwritten digits over 200 parties with mixed local classifiers.

The digits are bundled with scikit-learn.

400 unlabelled digits are public: the auxiliary set. Everything else is private, five samples to a
party. Accuracies are means over rehearsals; the release at the end, by `auto` at ε = 1, is real.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias, final, get_args

import numpy as np

from ostraka.expect.planner import METHODS
from ostraka.mechanism import Rehearsal
from ostraka.methods.base import Calibration, Options, Watch, Work
from ostraka.methods.references import fit_batch
from ostraka.methods.registry import METHODS as ALL
from ostraka.party.rows import Parties
from ostraka.party.training.named import named
from ostraka.party.training.parameters import train_linear
from ostraka.party.training.votes import count_votes
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.public.task import Task
from ostraka.public.whitening import half_whiten
from ostraka.publishing import publish
from ostraka.release import Release
from ostraka.release.model import LinearModel
from ostraka.solve.losses import Array
from ostraka.tally import Tally
from ostraka.tally.domain import Units

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
        """The mean accuracy at one ε."""
        return self.curves[method, calibration][0][EPSILONS.index(epsilon)]


def digits(watch: Watch | None = None) -> Demonstration:
    """Run it."""
    from sklearn.datasets import load_digits

    samples, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(samples))
    samples, labels = samples[order], labels[order]
    auxiliary = AuxiliarySet.scaled(
        samples[:N_AUXILIARY], tuple(range(10)), standardise=True, quantile=0.95
    )
    task = Task.of(auxiliary)
    private = slice(N_AUXILIARY, N_AUXILIARY + N_PARTIES * SAMPLES_EACH)
    features = task.features(samples[private])
    parties = Parties.group(
        features, labels[private], np.repeat(np.arange(N_PARTIES), SAMPLES_EACH)
    )
    test = (samples[private.stop :], labels[private.stop :])

    blocks = count_votes(parties, auxiliary.features, 10, named("mixed"), n_jobs=1, watch=watch)
    counts = np.sum([block for _, block in blocks], axis=0)
    parameters = np.concatenate(list(train_linear(parties, 10, LAMBDA, "logistic", 1, None)))
    curves: Curves = {
        (method, calibration): _curve(method, calibration, auxiliary, counts, parameters, test)
        for method in METHODS
        for calibration in get_args(Calibration)
    }
    public = AuxiliarySet(
        samples[:N_AUXILIARY],
        tuple(range(10)),
        preprocessing=half_whiten(samples[:N_AUXILIARY], 10),
    )
    rows = (samples[private], labels[private], np.repeat(np.arange(N_PARTIES), SAMPLES_EACH))
    curves["auto", "tight"] = _own_curve(rows, public, test)
    references = {
        "batch": fit_batch(samples[private], labels[private], task, LAMBDA).score(*test),
        "indiv": float(
            np.mean(
                [LinearModel(task=task, weights=weights).score(*test) for weights in parameters]
            )
        ),
    }
    poll, tally = _run_poll(rows, public, 1.0)
    release = publish(poll, tally)
    assert isinstance(release, Release)
    return Demonstration(curves, references, release)


def _curve(
    name: str,
    calibration: Calibration,
    auxiliary: AuxiliarySet,
    counts: Units,
    parameters: Array,
    test: tuple[Any, Any],
) -> tuple[list[float], list[float]]:
    """The private vector does not depend on ε: compute it once, rehearse it with many noises."""
    options = Options(lambda_=LAMBDA, calibration=calibration)
    method = ALL[name].create(auxiliary, N_PARTIES, Promise(epsilon=1.0), options)
    total = method.round_parameters(parameters).sum(axis=0) if name == "avg" else counts
    vector, scores = None, []
    for epsilon in EPSILONS:
        mechanism = method.mechanism(Promise(epsilon=epsilon), N_PARTIES)
        vector = method.statistic(total, mechanism) if vector is None else vector
        drawn = (mechanism.mean(mechanism.draw(vector, Rehearsal(seed))) for seed in range(N_DRAWS))
        task = Task.of(auxiliary)
        models = (LinearModel(task=task, weights=method.weights(mean, mechanism)) for mean in drawn)
        scores.append([model.score(*test) for model in models])
    return [float(np.mean(row)) for row in scores], [float(np.std(row)) for row in scores]


def _own_curve(
    rows: tuple[Any, Any, Any], public: AuxiliarySet, test: tuple[Any, Any]
) -> tuple[list[float], list[float]]:
    """`auto`: the statistic is a different one at every ε."""
    scores = []
    for epsilon in EPSILONS:
        poll, tally = _run_poll(rows, public, epsilon)
        rehearsed = (publish(poll, tally, Rehearsal(seed)) for seed in range(N_DRAWS))
        scores.append([outcome.score(*test) for outcome in rehearsed])
    return [float(np.mean(row)) for row in scores], [float(np.std(row)) for row in scores]


def _run_poll(
    rows: tuple[Any, Any, Any], public: AuxiliarySet, epsilon: float
) -> tuple[Poll, Tally]:
    poll = Poll.create(
        public,
        epsilon=epsilon,
        parties=N_PARTIES,
        samples_each=SAMPLES_EACH,
        title="Handwritten digits",
    )
    tally = Tally(poll)
    for names, block in poll.blocks(poll.parties(*rows), Work()):
        tally.add_block(names, block)
    return poll, tally
