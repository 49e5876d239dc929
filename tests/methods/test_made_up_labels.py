"""Labels made of public rows: which columns of an array are one category."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.methods.made_up_labels import group_columns, label_rows
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.whitening import half_whiten
from ostraka.solve.losses import Array


def one_hot(values: Array, n: int) -> Array:
    return np.eye(n)[values]


def categories() -> tuple[Array, Array]:
    """Three categories of 4, 2 and 3 values and a number between them, as an array; the groups."""
    rng = np.random.default_rng(0)
    first, second, third = (rng.integers(0, n, 300) for n in (4, 2, 3))
    number = rng.standard_normal((300, 1))
    table = np.hstack([one_hot(first, 4), one_hot(second, 2), number, one_hot(third, 3)])
    return table, np.repeat([0, 1, 2, 3], [4, 2, 1, 3])


def test_values_of_one_category_belong_together() -> None:
    table, expected = categories()
    assert group_columns(table).tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([[1.0, 0.0], [1.0, 1.0]], [0, 1]),  # two flags that a row can have both of
        ([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]], [0, 0]),  # some rows have none: a value not listed
        ([[0.5, 1.0], [1.0, 0.0]], [0, 1]),  # a number, then a flag
        ([[1.0, 0.5], [0.0, 1.0]], [0, 1]),
        ([[0.0, 0.0], [0.0, 0.0]], [0, 0]),
        ([[2.0], [0.0]], [0]),
    ],
)
def test_what_is_no_category_is_a_column_of_its_own(
    columns: list[list[float]], expected: list[int]
) -> None:
    assert group_columns(np.array(columns)).tolist() == expected


def test_a_category_of_an_array_is_a_label_as_a_whole() -> None:
    """One value against all others would be a label of two classes, known from its neighbours."""
    rng = np.random.default_rng(1)
    table = np.hstack([one_hot(rng.integers(0, 5, 400), 5) for _ in range(6)])
    public = AuxiliarySet(table, tuple(range(5)), preprocessing=half_whiten(table, 5))
    labelled = label_rows(public, np.random.default_rng(2))
    assert all(len(np.unique(labels)) == 5 for _, labels in labelled[:6])
    # The other 25 columns, and the constant: nothing tells the label.
    assert {rows.encoded.shape[1] for rows, _ in labelled[:6]} == {25}


def test_a_copy_of_a_column_is_no_label() -> None:
    """Two columns that say the same, among others that say nothing of each other."""
    rng = np.random.default_rng(3)
    numbers = rng.standard_normal((400, 7))
    category = one_hot(rng.integers(0, 2, 400), 2)  # without one, most worlds would be of clusters
    table = np.column_stack([numbers, category, 3.0 * numbers[:, 0] + 1.0])
    public = AuxiliarySet(table, (0, 1), preprocessing=half_whiten(table, 2))
    labelled = label_rows(public, np.random.default_rng(4))
    of_columns = [rows.encoded for rows, _ in labelled if rows is not labelled[-1][0]]
    assert of_columns, "some labels are columns"
    for rest in of_columns:
        both = [
            any(np.allclose(column, copy) for column in rest.T)
            for copy in (table[:, 0], table[:, -1])
        ]
        assert all(both), "neither of the two was the label"


def test_huge_numbers_in_a_column_overflow_nowhere() -> None:
    rng = np.random.default_rng(5)
    table = np.hstack([rng.standard_normal((100, 3)), one_hot(rng.integers(0, 4, 100), 4)])
    table[:, 0] *= 1e200
    public = AuxiliarySet(table, (0, 1), preprocessing=half_whiten(table, 2))
    with np.errstate(all="raise", under="ignore"):
        assert len(label_rows(public, np.random.default_rng(6))) == 12
