"""The kernel student: what it learns, when it is taken, and that it never costs a release."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ostraka.methods.after_noise import kernel
from ostraka.methods.after_noise.kernel import learn_kernel, take_student
from ostraka.methods.after_noise.student import sureness
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.task import Task
from ostraka.release.kernel_model import KernelModel, compare_rows
from ostraka.release.model import LinearModel
from ostraka.solve.losses import Array
from tests.laws.cases import Case, in_process

RNG = np.random.default_rng(3)


def clumps(n: int, K: int, seed: int = 0, spread: float = 0.12) -> tuple[Array, Array]:
    """Unit rows around K random directions, and which."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(9).standard_normal((K, 6))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    labels = rng.integers(0, K, n)
    rows = centres[labels] + spread * rng.standard_normal((n, 6))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * (1.0 - 1e-9), labels


def a_teacher(K: int, bent: float = 1.5) -> LinearModel:
    """A line through the clumps, bent by noise."""
    rows, labels = clumps(400, K)
    weights = np.linalg.lstsq(rows, np.eye(K)[labels], rcond=None)[0]
    weights += bent * np.random.default_rng(5).standard_normal(weights.shape) / K
    weights = 4.0 * (weights if K > 2 else weights[:, 1] - weights[:, 0])
    return LinearModel(task=Task(classes=tuple(range(K)), n_features=6), weights=weights)


@pytest.mark.parametrize("K", [2, 5])
def test_it_answers_as_its_teacher_does_and_is_as_sure_of_new_rows(K: int) -> None:
    rows, teacher = clumps(300, K)[0], a_teacher(K)
    student = learn_kernel(rows, teacher)
    assert student.linear is teacher
    assert np.mean(student.predict(rows) == teacher.predict(rows)) > 0.9
    fresh = clumps(3000, K, seed=6)[0]
    p, q = student.probabilities(fresh), teacher.probabilities(rows)
    assert abs(sureness(p) - sureness(q)) < 0.02
    assert np.abs(p.mean(axis=0) - q.mean(axis=0)).max() < 0.1


def test_it_mends_what_noise_has_bent_where_classes_lie_in_clumps() -> None:
    gains = []
    for seed in range(5):
        rows, _ = clumps(500, 5, seed)
        fresh, labels = clumps(2000, 5, seed + 100)
        teacher = a_teacher(5)
        student = learn_kernel(rows, teacher)
        gains.append(student.score(fresh, labels) - teacher.score(fresh, labels))
    assert min(gains) > 0.0


def test_few_landmarks_stand_for_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, teacher = clumps(600, 4)[0], a_teacher(4)
    whole = learn_kernel(rows, teacher)
    assert len(whole.landmarks) == 600
    monkeypatch.setattr(kernel, "MOST_LANDMARKS", 200)
    monkeypatch.setattr(kernel, "ROWS_AT_ONCE", 64)
    few = learn_kernel(rows, teacher)
    assert len(few.landmarks) == 200
    assert np.mean(few.predict(rows) == whole.predict(rows)) > 0.97
    monkeypatch.setattr(kernel, "MOST_ROWS", 300)
    assert np.mean(learn_kernel(rows, teacher).predict(rows) == whole.predict(rows)) > 0.95


def test_with_all_rows_as_landmarks_it_is_kernel_ridge() -> None:
    rows, teacher = clumps(150, 3)[0], a_teacher(3)
    student = learn_kernel(rows, teacher)
    near, answers = compare_rows(rows, rows), np.eye(3)[teacher.choices(rows)]
    centred = answers - answers.mean(axis=0)
    fitted = near @ np.linalg.solve(near + kernel.RIDGE * np.eye(150), centred)
    scores = student.score_features(rows)
    scores -= scores.mean(axis=0)
    fitted -= fitted.mean(axis=0)
    factor = float(np.sum(scores * fitted) / np.sum(fitted**2))
    assert np.abs(scores / factor - fitted).max() < 1e-4


def test_where_classes_overlap_it_keeps_the_order_of_probabilities() -> None:
    """Answers say nothing of who is nearer to the line."""
    rows, _ = clumps(300, 2, spread=0.6)
    teacher = a_teacher(2)
    scores = teacher.score_features(rows)
    found = [
        np.corrcoef(learn_kernel(rows, teacher, soft=soft).score_features(rows), scores)[0, 1]
        for soft in (True, False)
    ]
    assert found[0] > 0.95
    assert found[0] > found[1]


@pytest.mark.parametrize("K", [2, 3])
def test_it_learns_probabilities_where_it_was_asked_for_and_hardly_helps(K: int) -> None:
    poll, mean = a_poll("moments", K, student="kernel")
    mechanism, nothing = poll.mechanism(400), np.zeros_like(mean)
    features = poll.method.features  # type: ignore[attr-defined]
    for given, soft in ((mean, K == 2), (nothing, True)):
        model = poll.model(given, mechanism)
        said = poll.method.fit(given, mechanism).probabilities("accuracy")  # type: ignore[attr-defined]
        expected = learn_kernel(features, model.linear, said, soft=soft)
        assert isinstance(model, KernelModel)
        assert (model.weights == expected.weights).all()


@pytest.mark.parametrize("K", [2, 3])
def test_a_teacher_that_knows_nothing_makes_no_fuss(K: int) -> None:
    rows = clumps(50, K)[0]
    task = Task(classes=tuple(range(K)), n_features=6)
    for size in (0.0, 1e-300, 1e300):
        weights = np.full(task.weight_shape, size)
        with np.errstate(all="ignore"):
            student = learn_kernel(rows, LinearModel(task=task, weights=weights))
        assert np.isfinite(student.probabilities(rows)).all()


def a_poll(method: str, K: int, **options: Any) -> tuple[Poll, Array]:
    """With what parties in clumps would send without noise."""
    rows, labels = clumps(4000, K, seed=1)
    auxiliary = AuxiliarySet(clumps(400, K, seed=2)[0], tuple(range(K)))
    given = {"epsilon": 10.0, "parties": 400, "samples_each": 10, **options}
    poll = Poll.create(auxiliary, method=method, **given)
    mechanism = poll.mechanism(400)
    world = [(rows[j::400], labels[j::400]) for j in range(400)]
    return poll, mechanism.mean(poll.method.statistic(in_process(poll, world).total, mechanism))


@pytest.mark.parametrize("method", ["moments", "cells"])
@pytest.mark.parametrize("K", [2, 4])
def test_by_default_it_is_for_more_than_two_classes_that_hardly_overlap(
    method: str, K: int
) -> None:
    poll, mean = a_poll(method, K)
    mechanism = poll.mechanism(400)
    if K > 2:
        assert poll.method.separates(mean, mechanism)  # type: ignore[attr-defined]
    model = poll.model(mean, mechanism)
    assert isinstance(model, KernelModel) is (K > 2)
    nothing = np.zeros_like(mean)
    assert isinstance(poll.model(nothing, mechanism), LinearModel)
    assert take_student(poll.method, nothing, mechanism, model.linear) is None
    for student in ("none", "linear"):
        plain = replace(poll, method=replace(poll.method, student=student))
        assert isinstance(plain.model(mean, mechanism), LinearModel)
    asked = replace(poll, method=replace(poll.method, student="kernel"))
    assert isinstance(asked.model(nothing, mechanism), KernelModel)


@pytest.mark.parametrize("method", ["consensus", "refine", "cells", "moments"])
def test_every_one_of_our_methods_takes_one_on_request(method: str) -> None:
    for K in (2, 3):
        poll = Case(method, K).poll(student="kernel")
        mechanism = poll.mechanism(8)
        for number in (0.0, 1.0, 1e300, -1e308):
            mean = np.full(mechanism.dimension, number)
            model = poll.model(mean, mechanism)
            assert np.isfinite(model.probabilities(poll.method.features)).all()  # type: ignore[attr-defined]
        assert isinstance(poll.model(np.zeros(mechanism.dimension), mechanism), KernelModel)


@pytest.mark.parametrize("error", [MemoryError, ValueError, np.linalg.LinAlgError, RuntimeError])
def test_a_failure_leaves_the_teacher(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    poll, mean = a_poll("cells", 4)
    mechanism = poll.mechanism(400)
    linear = poll.model(mean, mechanism).linear

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(kernel, "learn_kernel", fail)
    found = poll.model(mean, mechanism)
    assert isinstance(found, LinearModel)
    assert (found.weights == linear.weights).all()
