"""Any classifier as a student: K columns whatever it saw, and no file that holds it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from ostraka.errors import ParameterError
from ostraka.poll import Poll
from ostraka.public.task import Task
from ostraka.publishing import publish
from ostraka.release import Release
from ostraka.release.model import LinearModel
from ostraka.release.taught_model import TaughtModel, teach_classifier
from tests.laws.cases import Case, in_process

RNG = np.random.default_rng(0)
ROWS = RNG.uniform(-0.7, 0.7, (200, 2))
FOREST = RandomForestClassifier(n_estimators=10, random_state=0)


def a_teacher(n_classes: int) -> LinearModel:
    """Who never names the last of more than two classes."""
    task = Task(classes=tuple("abcd"[:n_classes]), n_features=2)
    weights = [1.0, 0.5] if n_classes == 2 else [[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    return LinearModel(task=task, weights=np.array(weights))


@pytest.mark.parametrize(
    "classifier",
    [FOREST, LinearSVC(), KNeighborsClassifier()],
    ids=lambda each: type(each).__name__,
)
@pytest.mark.parametrize("n_classes", [2, 4])
def test_it_learns_the_answers_and_has_all_columns(n_classes: int, classifier: Any) -> None:
    teacher = a_teacher(n_classes)
    model = teach_classifier(ROWS, teacher, classifier)
    assert np.mean(model.predict(ROWS) == teacher.predict(ROWS)) > 0.9
    assert model.score(ROWS, teacher.predict(ROWS)) > 0.9
    p = model.predict_proba(ROWS)
    assert p.shape == (200, n_classes)
    assert np.abs(p.sum(axis=1) - 1.0).max() < 1e-12
    assert np.isfinite(model.scores(ROWS)).all()
    assert model.scores(ROWS).shape == ((200,) if n_classes == 2 else (200, n_classes))
    assert (model.score_features(ROWS) == model.scores(ROWS)).all()
    if n_classes > 2:
        assert not p[:, -1].any(), "a class that was never named"
    assert model.predict(np.zeros((0, 2))).shape == (0,)
    assert model.linear is teacher
    assert not hasattr(classifier, "classes_"), "the one that was given stays unfitted"


def test_a_classifier_that_cannot_learn_is_told_of() -> None:
    task = Task(classes=(0, 1), n_features=2)
    certain = LinearModel(task=task, weights=np.zeros(2))
    with pytest.raises(ParameterError, match=r"LogisticRegression\(\), which failed"):
        teach_classifier(ROWS, certain, LogisticRegression())
    with pytest.raises(ParameterError, match="student"):
        teach_classifier(ROWS, certain, object())


def a_release() -> tuple[Poll, Release]:
    case = Case("cells", 3)
    poll = case.poll(epsilon=50.0)
    release = publish(poll, in_process(poll, case.world()))
    assert isinstance(release, Release)
    return poll, release


def test_refit_with_any_classifier_and_back(tmp_path: Path) -> None:
    poll, release = a_release()
    found = Release.from_bytes(release.to_bytes()).refit(student=FOREST, poll=poll)
    assert isinstance(found.model, TaughtModel)
    assert found.certificate == release.certificate
    features = poll.method.features  # type: ignore[attr-defined]
    assert np.mean(found.predict(features) == release.predict(features)) > 0.9
    assert found.predict_proba(features).shape == (len(features), 3)
    for refused in (lambda: found.save(tmp_path / "a"), found.to_bytes, lambda: found.digest):
        with pytest.raises(ParameterError, match=r"a RandomForestClassifier.*never code.*skops"):
            refused()
    assert not (tmp_path / "a").exists()
    with pytest.raises(ParameterError, match="never code"):
        Poll.evaluate(found, epsilon=1.0, parties=3)
    back = found.refit(student="auto", poll=poll)
    assert back.to_bytes() == release.to_bytes()


def test_a_class_of_classifiers_is_no_classifier() -> None:
    _, release = a_release()
    with pytest.raises(ParameterError, match=r"the class RandomForest.*Classifier\(\)"):
        release.refit(student=RandomForestClassifier)
