"""`batch` and `indiv`: what they compute, and that they cannot be published."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.errors import EmptyPartyError, ShapeError, UnknownClassError
from ostraka.methods.references import fit_batch, mean_accuracy
from ostraka.party.training.linear import train
from ostraka.public.task import Task
from ostraka.release.model import LinearModel

TASK = Task(classes=("no", "yes"), n_features=2)
RNG = np.random.default_rng(0)
X = RNG.uniform(-0.7, 0.7, (300, 2))
Y = np.where(X[:, 0] > 0, "yes", "no")


def test_batch_learns_what_is_there_and_has_no_way_to_be_published() -> None:
    model = fit_batch(X, Y, TASK)
    assert model.score(X, Y) > 0.97
    assert not hasattr(model, "save")


@pytest.mark.parametrize("n_classes", [2, 3])
def test_parties_of_one_sample_or_one_class_can_train(n_classes: int) -> None:
    task = Task(classes=tuple(range(n_classes)), n_features=2)
    for labels in ([1], [1, 1, 1]):
        samples = np.abs(X[: len(labels)])
        model = LinearModel(task=task, weights=train(samples, labels, task))
        assert model.score(samples, labels) == 1.0


def test_indiv_is_the_mean_over_the_parties() -> None:
    right, wrong = (LinearModel(task=TASK, weights=np.array([sign, 0.0])) for sign in (1.0, -1.0))
    assert mean_accuracy([right, right, wrong], X, Y) == pytest.approx(2 / 3, abs=0.01)


def test_bad_input() -> None:
    with pytest.raises(UnknownClassError, match="'perhaps'"):
        fit_batch(X[:2], ["yes", "perhaps"], TASK)
    with pytest.raises(ShapeError, match="one for each sample"):
        fit_batch(X[:3], ["yes", "no"], TASK)
    with pytest.raises(EmptyPartyError, match="no samples"):
        fit_batch(X[:0], [], TASK)
