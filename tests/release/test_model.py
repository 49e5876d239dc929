from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from ostraka.errors import InputError, NonFiniteError, ParameterError, ShapeError, UnknownClassError
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.columns import Columns
from ostraka.public.preprocessing import Preprocessing
from ostraka.public.task import Task
from ostraka.release import scoring
from ostraka.release.model import LinearModel, say_always
from ostraka.release.scoring import WHOLE_ROWS

BINARY = Task(classes=("no", "yes"), n_features=2)
THREE = Task(classes=(3, 1, 2), n_features=2)


def test_a_binary_tie_goes_to_the_second_class() -> None:
    model = LinearModel(task=BINARY, weights=np.array([1.0, 0.0]))
    assert model.predict([[0.5, 0], [0, 0.3], [-0.1, 0]]).tolist() == ["yes", "yes", "no"]


def test_more_classes_take_the_first_of_the_largest_scores() -> None:
    model = LinearModel(task=THREE, weights=np.array([[1.0, 0, 0], [0, 1.0, 1.0]]))
    assert model.predict([[1, 0], [0, 1], [0, 0]]).tolist() == [3, 1, 3]


@pytest.mark.parametrize(
    "model",
    [
        LinearModel(task=BINARY, weights=np.array([30.0, -900.0])),
        LinearModel(task=THREE, weights=np.array([[1.0, 800.0, -3], [0, 1.0, 1.0]])),
    ],
)
def test_probabilities_are_probabilities_and_agree_with_the_classes(model: LinearModel) -> None:
    samples = np.random.default_rng(0).uniform(-0.7, 0.7, (50, 2))
    p = model.predict_proba(samples)
    assert np.abs(p.sum(axis=1) - 1).max() < 1e-12
    assert (
        np.asarray(model.task.classes)[p.argmax(axis=1)] == model.predict(samples)
    ).mean() > 0.95
    assert model.score(samples, model.predict(samples)) == 1.0


def test_the_constant_feature_is_the_intercept() -> None:
    task = Task(classes=(0, 1), n_features=2, preprocessing=Preprocessing(constant=0.5))
    model = LinearModel(task=task, weights=np.array([0.0, 1.0]))
    assert model.predict([[-0.9]]).tolist() == [1]
    assert task.n_columns == 1


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_model_knows_that_it_names_one_class_for_every_row(n_classes: int) -> None:
    classes, constant = ("a", "b", "c")[:n_classes], 0.5
    task = Task(classes=classes, n_features=3, preprocessing=Preprocessing(constant=constant))
    rng = np.random.default_rng(0)
    directions = rng.standard_normal((2000, 2))
    rows = directions / np.linalg.norm(directions, axis=1, keepdims=True) * (1 - constant**2) ** 0.5
    known = []
    for slope in (1e-9, 0.05, 0.2, 0.4, 0.8, 3.0):
        weights = np.vstack([slope * rng.standard_normal((2, n_classes)), np.eye(n_classes)[1]])
        if n_classes == 2:
            weights = weights[:, 1] - weights[:, 0]
        model = LinearModel(task=task, weights=weights)
        told = set(model.predict(rows).tolist())
        known.append(model.always)
        assert model.always in (None, *told)
        assert model.always is None or told == {"b"}
    assert known[0] == "b"
    assert known[-1] is None
    weights = np.eye(3)[:, [2]] * np.eye(n_classes)[1]
    named = LinearModel(task=task, weights=weights if n_classes > 2 else weights[:, 1])
    assert "names 'b' for EVERY row" in str(say_always(named))
    assert say_always(LinearModel(task=BINARY, weights=np.array([0.0, 1.0]))) is None, "no constant"


def test_dense_sparse_and_tables_agree() -> None:
    model = LinearModel(task=BINARY, weights=np.array([1.0, -2.0]))
    samples = np.random.default_rng(1).uniform(-0.5, 0.5, (20, 2))
    for form in (
        samples.tolist(),
        sp.csr_matrix(samples),
        sp.csc_array(samples),
        pd.DataFrame(samples),
    ):
        assert (model.predict(form) == model.predict(samples)).all()


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.coo_matrix, pd.DataFrame])
@pytest.mark.parametrize("task", [BINARY, THREE], ids=["two", "three"])
def test_blocks_of_rows_are_as_good_as_the_whole(
    task: Task, form: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    model = LinearModel(task=task, weights=rng.standard_normal(task.weight_shape))
    samples = rng.uniform(-0.7, 0.7, (2 * WHOLE_ROWS + 5, 2))
    whole = model.scores(form(samples))
    assert whole.shape == (len(samples), *task.weight_shape[1:])
    monkeypatch.setattr(scoring, "NUMBERS_AT_ONCE", 1)
    assert np.abs(model.scores(form(samples)) - whole).max() <= 1e-15
    assert (model.predict(form(samples)) == model.predict(samples)).all()
    assert model.scores(form(samples[:0])).shape == (0, *task.weight_shape[1:])
    samples[WHOLE_ROWS + 3, 1] = samples[-1, 0] = np.nan
    with pytest.raises(NonFiniteError, match=f"row {WHOLE_ROWS + 3} ") as refused:
        model.predict(form(samples))
    assert refused.value.row == WHOLE_ROWS + 3


def test_memory_is_bounded_while_scores_are_computed() -> None:
    """The samples are not copied as a whole, whatever is done to them."""
    rng = np.random.default_rng(0)
    samples = rng.standard_normal((40_000, 50))
    fitted = Preprocessing.fit(samples, 0.5, standardise=True)
    task = Task(classes=(0, 1), n_features=51, preprocessing=fitted)
    model = LinearModel(task=task, weights=rng.standard_normal(51))
    tracemalloc.start()
    try:
        model.scores(samples)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < samples.nbytes / 2 + 40_000 * 8


def test_a_task_of_an_auxiliary_set_knows_its_columns() -> None:
    table = pd.DataFrame({"age": [0.1, 0.2], "dose": [0.3, 0.4]})
    task = Task.of(AuxiliarySet.scaled(table, ("ill", "well")))
    model = LinearModel(task=task, weights=np.ones(2))
    assert model.predict(table).shape == (2,)
    with pytest.raises(InputError, match="The samples: a column is missing, 'dose'"):
        model.predict(table.rename(columns={"dose": "weight"}))
    assert (model.scores(table[["dose", "age"]]) == model.scores(table)).all()


def test_bad_input() -> None:
    model = LinearModel(task=BINARY, weights=np.ones(2))
    with pytest.raises(ShapeError, match="2 columns"):
        model.predict(np.zeros((3, 5)))
    with pytest.raises(NonFiniteError, match="first in row 1"):
        model.predict([[0, 0], [np.nan, 0]])
    with pytest.raises(NonFiniteError, match="The weights"):
        LinearModel(task=BINARY, weights=np.array([1.0, np.inf]))
    with pytest.raises(ShapeError, match=r"\(2, 3\)"):
        LinearModel(task=THREE, weights=np.ones(2))
    with pytest.raises(UnknownClassError, match="'maybe'"):
        BINARY.indices(["yes", "maybe"])
    with pytest.raises(ParameterError, match="at least two distinct"):
        Task(classes=("a", "a"), n_features=1)
    with pytest.raises(ParameterError, match="n_features"):
        Task(classes=("a", "b"), n_features=0)


def test_weights_cannot_be_changed_afterwards() -> None:
    weights = np.ones(2)
    model = LinearModel(task=BINARY, weights=weights)
    weights[0] = 7
    assert model.weights.tolist() == [1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        model.weights[0] = 7


def test_accuracy_is_of_fitting_labels_only() -> None:
    model = LinearModel(task=BINARY, weights=np.array([1.0, 0.0]))
    samples = [[0.5, 0], [-0.5, 0]]
    assert model.score(samples, ["yes", "no"]) == 1.0
    assert model.score(samples, np.array([["yes"], ["no"]])) == 1.0, "one column is as good as none"
    for labels in (["yes"], [], np.full((2, 2), "yes")):
        with pytest.raises(ShapeError, match="The labels"):
            model.score(samples, labels)
    with pytest.raises(UnknownClassError, match="Class 1"):
        model.score(samples, [1, 0])


def test_the_number_of_names_must_fit() -> None:
    with pytest.raises(ParameterError, match="1 encoded columns"):
        Task(classes=("a", "b"), n_features=3, columns=Columns.of_numbers(("x",)))
    with pytest.raises(ParameterError, match="n_features"):
        Task(classes=("a", "b"), n_features=3.0)  # type: ignore[arg-type]
