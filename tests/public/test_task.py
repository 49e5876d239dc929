"""What a model is about: classes, columns, and the public way to features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from ostraka.errors import InputError, ShapeError, UnknownClassError
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.columns import Columns
from ostraka.public.preprocessing import Preprocessing
from ostraka.public.task import Task

TASK = Task(classes=("no", "yes"), n_features=3, preprocessing=Preprocessing(constant=0.5))
NAMED = Task(classes=(1, 2, 3), n_features=2, columns=Columns.of_numbers(("age", "dose")))


def test_columns_and_weights() -> None:
    assert (TASK.n_columns, TASK.weight_shape) == (2, (3,))
    assert (NAMED.n_columns, NAMED.weight_shape) == (2, (2, 3))
    mapped = Preprocessing(components=np.eye(5, 2), constant=0.5)
    projected = Task(classes=("no", "yes"), n_features=3, preprocessing=mapped)
    assert (projected.n_columns, projected.weight_shape) == (5, (3,))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"n_features": 0}, "n_features"),
        ({"n_features": 2.0}, "n_features"),
        ({"n_features": 1}, "room for at least one column"),
        ({"classes": ("a", "a")}, "at least two distinct"),
        ({"classes": {"a", "b"}}, "classes"),
        ({"preprocessing": Preprocessing(components=np.eye(5, 3), constant=0.5)}, "4, as the pre"),
        ({"columns": Columns.of_numbers(("one",))}, "1 encoded columns"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], complaint: str) -> None:
    given = {"classes": TASK.classes, "n_features": 3, "preprocessing": TASK.preprocessing}
    with pytest.raises(InputError, match=complaint):
        Task(**{**given, **change})


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_the_task_of_an_auxiliary_set(form: Any) -> None:
    rows = np.array([[0.1, 0.2], [0.3, -0.4]])
    auxiliary = AuxiliarySet(form(rows), ("no", "yes"))
    assert Task.of(auxiliary) == Task(classes=("no", "yes"), n_features=2)
    assert abs(Task.of(auxiliary).features(form(rows)) - auxiliary.features).max() == 0.0
    table = AuxiliarySet.scaled(pd.DataFrame(rows, columns=["age", "dose"]), (1, 2), 0.25)
    task = Task.of(table)
    assert task.feature_names == ("age", "dose")
    assert task.preprocessing == table.preprocessing
    assert (task.n_features, task.n_columns) == (3, 2)


def test_labels_become_indices() -> None:
    assert NAMED.indices([3, 1, 1]).tolist() == [2, 0, 0]
    assert NAMED.indices(np.array([[3], [1]])).tolist() == [2, 0], "one column is as good as none"
    assert TASK.indices([]).shape == (0,)
    with pytest.raises(UnknownClassError, match="Class 4"):
        NAMED.indices([1, 4])
    with pytest.raises(ShapeError, match="one class for each sample"):
        NAMED.indices(np.ones((2, 2)))


def test_columns_are_checked_by_name_and_number() -> None:
    table = pd.DataFrame({"age": [0.1], "dose": [0.2]})
    assert NAMED.rows(table).tolist() == [[0.1, 0.2]]
    with pytest.raises(InputError, match="a column is missing, 'dose'"):
        NAMED.rows(table.rename(columns={"dose": "weight"}), "The table")
    assert NAMED.rows(table.assign(more="x")[["more", "dose", "age"]]).tolist() == [[0.1, 0.2]]
    assert NAMED.rows([[0.1, 0.2]]).shape == (1, 2)
    for wrong in (np.zeros((2, 3)), np.zeros(2), csr_matrix((1, 5))):
        with pytest.raises(ShapeError, match=r"\(rows, 2\)"):
            NAMED.rows(wrong)
