"""One trial measures what it says, by the product's own methods."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ostraka.experiments.settings import HYPOTHESIS, Settings
from ostraka.experiments.tasks import PaperTask, split
from ostraka.experiments.trial import Measured, run_trial
from ostraka.mechanism import Rehearsal
from ostraka.methods.base import Work
from ostraka.methods.references import mean_accuracy
from ostraka.party.training.linear import train_features
from ostraka.poll import Poll
from ostraka.publishing import publish
from ostraka.tally import Tally
from tests.experiments.small import small_dataset, small_task  # noqa: F401

SETTINGS = Settings(
    task="small", inverse_epsilons=(1e-4, 10.0), trials=2, private_trials=10, hypothesis=True
)
pytestmark = pytest.mark.usefixtures("small_task")


def at(
    measured: list[Measured], method: str, calibration: str, inverse: float
) -> tuple[float, ...]:
    (found,) = [
        m
        for m in measured
        if (m.method, m.calibration, m.inverse_epsilon) == (method, calibration, inverse)
    ]
    return found.accuracies


@pytest.mark.parametrize("n_classes", [2, 3])
def test_everything_is_measured_once(n_classes: int) -> None:
    measured = run_trial(small_dataset(n_classes), SETTINGS, 40, 0)
    keys = [(m.method, m.calibration, m.inverse_epsilon) for m in measured]
    private = [
        (method, calibration, inverse)
        for method in ("soft", "avg", "vote")
        for calibration in ("paper", "tight", HYPOTHESIS)
        for inverse in (0.0, 1e-4, 10.0)
        if not (calibration == HYPOTHESIS and inverse == 0.0)
    ]
    assert sorted(keys) == sorted([("batch", "none", 0.0), ("indiv", "none", 0.0), *private])
    assert all(len(m.accuracies) == (5 if m.inverse_epsilon else 1) for m in measured)


def test_little_noise_changes_little_and_much_noise_leaves_chance() -> None:
    measured = run_trial(small_dataset(), SETTINGS, 40, 0)
    clean = at(measured, "soft", "tight", 0.0)[0]
    assert clean > 0.95
    assert np.mean(at(measured, "soft", "tight", 1e-4)) > clean - 0.05
    assert np.mean(at(measured, "soft", "paper", 10.0)) < 0.9


def test_references_are_those_of_the_methods() -> None:
    data, settings = small_dataset(3), SETTINGS
    measured = run_trial(data, settings, 40, 1)
    from tests.experiments.small import SMALL

    drawn = split(data, SMALL, 40, settings.stream(40, 1, "split"))
    batch = train_features(
        drawn.parties.features, drawn.parties.labels, 3, settings.lambda_, "logistic"
    )
    right = (drawn.test.features @ batch).argmax(axis=1) == drawn.test.labels
    assert at(measured, "batch", "none", 0.0)[0] == pytest.approx(right.mean(), abs=1e-12)

    def local(j: int) -> object:
        rows = slice(drawn.parties.starts[j], drawn.parties.starts[j + 1])
        weights = train_features(
            drawn.parties.features[rows],
            drawn.parties.labels[rows],
            3,
            settings.lambda_,
            "logistic",
        )
        return lambda samples: (samples @ weights).argmax(axis=1)

    alone = mean_accuracy([local(j) for j in range(40)], drawn.test.features, drawn.test.labels)
    assert at(measured, "indiv", "none", 0.0)[0] == pytest.approx(alone, abs=1e-12)


def test_soft_without_noise_is_the_release_at_a_huge_epsilon() -> None:
    data = small_dataset()
    measured = run_trial(data, SETTINGS, 40, 0)
    from tests.experiments.small import SMALL

    drawn = split(data, SMALL, 40, SETTINGS.stream(40, 0, "split"))
    poll = Poll.create(
        drawn.auxiliary, method="soft", epsilon=1e12, parties=40, lambda_=SETTINGS.lambda_
    )
    tally = Tally(poll)
    for block in poll.blocks(drawn.parties, Work()):
        tally.add_block(*block)
    released = publish(poll, tally, Rehearsal(0))
    assert at(measured, "soft", "tight", 0.0)[0] == released.score(
        drawn.test.features, np.array(data.classes)[drawn.test.labels]
    )


def test_a_method_left_out_changes_nothing_for_the_others() -> None:
    data = small_dataset()
    every, alone = (
        run_trial(data, replace(SETTINGS, methods=methods), 40, 0)
        for methods in (SETTINGS.methods, ("vote",))
    )
    assert alone == [m for m in every if m.method == "vote"]


def test_other_local_classifiers_vote_and_average_nothing(
    small_task: PaperTask,  # noqa: F811
) -> None:
    measured = run_trial(small_dataset(3), replace(SETTINGS, local="tree"), 40, 0)
    assert {m.method for m in measured} == {"batch", "indiv", "soft", "vote"}
    assert 0.4 < at(measured, "indiv", "none", 0.0)[0] < at(measured, "batch", "none", 0.0)[0]


def test_natural_parties() -> None:
    measured = run_trial(small_dataset(), replace(SETTINGS, natural_parties=True), 3, 0)
    assert at(measured, "indiv", "none", 0.0)[0] > 0.9, "three parties with hundreds of rows each"
