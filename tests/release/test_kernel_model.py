"""A kernel model by the book, in blocks, and what is refused as one."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from ostraka.errors import InputError, NonFiniteError, ParameterError, ShapeError
from ostraka.public.preprocessing import Preprocessing
from ostraka.public.task import Task
from ostraka.release import scoring
from ostraka.release.kernel_model import MOST_LANDMARKS, KernelModel, compare_rows
from ostraka.release.model import LinearModel
from ostraka.release.scoring import WHOLE_ROWS

RNG = np.random.default_rng(0)


def a_model(n_classes: int = 3, n_landmarks: int = 7, **changes: Any) -> KernelModel:
    public = Preprocessing(radius=2.0, constant=0.3)
    task = Task(classes=tuple(range(n_classes)), n_features=4, preprocessing=public)
    shape = task.weight_shape[1:]
    rng = np.random.default_rng(n_classes)
    given: dict[str, Any] = {
        "linear": LinearModel(task=task, weights=rng.standard_normal((4, *shape))),
        "landmarks": task.features(rng.standard_normal((n_landmarks, 3))),
        "weights": rng.standard_normal((n_landmarks + 1, *shape)),
    }
    return KernelModel(**{**given, **changes})


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_by_the_book(n_classes: int) -> None:
    model, samples = a_model(n_classes), RNG.standard_normal((50, 3))
    features = model.task.features(samples)
    expected = [
        sum(np.exp(-np.sum((x - l) ** 2)) * v for l, v in zip(model.landmarks, model.weights[:-1]))
        + model.weights[-1]
        for x in features
    ]
    scores = model.scores(samples)
    assert scores.shape == (50,) if n_classes == 2 else (50, n_classes)
    assert np.abs(scores - expected).max() < 1e-12
    assert (model.score_features(features) == scores).all()
    chosen = scores >= 0 if n_classes == 2 else scores.argmax(axis=1)
    assert (model.predict(samples) == chosen).all()
    assert model.score(samples, model.predict(samples)) == 1.0
    p = model.predict_proba(samples)
    assert np.abs(p.sum(axis=1) - 1.0).max() < 1e-12
    assert (p == model.probabilities(features)).all()
    assert (p.argmax(axis=1) == chosen).all()


def test_a_constant_feature_changes_nothing() -> None:
    rows, landmarks = RNG.uniform(-0.5, 0.5, (9, 3)), RNG.uniform(-0.5, 0.5, (4, 3))
    longer = [np.column_stack([each, np.full(len(each), 0.3)]) for each in (rows, landmarks)]
    assert np.abs(compare_rows(*longer) - compare_rows(rows, landmarks)).max() < 1e-15


def test_a_row_is_as_near_to_itself_as_can_be() -> None:
    rows = RNG.uniform(-0.5, 0.5, (200, 3))
    near = compare_rows(rows, rows)
    assert near.max() <= 1.0
    assert np.diagonal(near).min() > 1.0 - 1e-15


def test_sparse_samples_and_blocks_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    model, samples = a_model(), RNG.standard_normal((2 * WHOLE_ROWS + 5, 3))
    scores = model.scores(samples)
    assert np.abs(model.scores(sp.csr_matrix(samples)) - scores).max() < 1e-12
    monkeypatch.setattr(scoring, "NUMBERS_AT_ONCE", 1)
    assert np.abs(model.scores(samples) - scores).max() < 1e-12
    samples[WHOLE_ROWS + 3, 1] = np.nan
    with pytest.raises(NonFiniteError, match=f"row {WHOLE_ROWS + 3} "):
        model.predict(samples)


def test_memory_is_bounded() -> None:
    model, features = a_model(n_landmarks=1000), np.zeros((50_000, 4))
    tracemalloc.start()
    try:
        model.score_features(features)
        assert tracemalloc.get_traced_memory()[1] < 16e6  # all kernel values are 400 MB
    finally:
        tracemalloc.stop()


def test_no_rows() -> None:
    assert a_model().predict(np.zeros((0, 3))).shape == (0,)
    assert a_model().probabilities(np.zeros((0, 4))).shape == (0, 3)


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"landmarks": np.zeros((7, 5))}, ShapeError),
        ({"landmarks": np.zeros(7)}, ShapeError),
        ({"landmarks": np.zeros((0, 4))}, ParameterError),
        ({"landmarks": np.zeros((MOST_LANDMARKS + 1, 4))}, ParameterError),
        ({"landmarks": np.full((7, 4), np.nan)}, NonFiniteError),
        ({"landmarks": np.full((7, 4), 0.6)}, ParameterError),
        ({"landmarks": np.full((7, 4), 1e200)}, ParameterError),
        ({"weights": np.zeros((7, 3))}, ShapeError),
        ({"weights": np.zeros((8, 2))}, ShapeError),
        ({"weights": np.full((8, 3), np.inf)}, NonFiniteError),
    ],
)
def test_what_is_no_kernel_model_is_refused(
    changes: dict[str, Any], kind: type[InputError]
) -> None:
    with pytest.raises(kind):
        a_model(**changes)


def test_it_cannot_be_changed() -> None:
    model = a_model()
    for array in (model.landmarks, model.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    assert repr(model) == "KernelModel(n_classes=3, n_columns=3, n_landmarks=7)"
