"""What people give, and what becomes of it; the estimator's tests try the rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ostraka.errors import EntryError, InputError, InputWarning, LabelError, UnknownClassError
from ostraka.given import as_given, check_labels, check_numbers, index_labels, length, plain


def test_labels_are_numbered_by_the_public_list() -> None:
    classes, labels = index_labels(np.array(["b", "a", "b"]), ["b", "a", "c"])
    assert (classes.tolist(), labels.tolist()) == (["b", "a", "c"], [0, 1, 0])
    classes, labels = index_labels(np.array([7, 3, 7]), None)
    assert (classes.tolist(), labels.tolist()) == ([3, 7], [1, 0, 1])
    with pytest.raises(UnknownClassError):
        index_labels(np.array(["d"]), ["a", "b"])
    with pytest.raises(LabelError, match="one class only"):
        index_labels(np.array([1, 1]), None)


def test_classes_that_look_alike_are_told() -> None:
    labels = np.array(["Home ", "home", "ward", "WARD", "away"])
    with pytest.warns(InputWarning, match=r"alike.*'Home ', 'home', 'WARD', 'ward'\. Write"):
        index_labels(labels, None)
    index_labels(labels, ["Home ", "home", "ward", "WARD", "away"])  # somebody means it
    index_labels(np.array([1, 10, -1]), None)


def test_gaps_among_labels_are_named() -> None:
    for labels in ([0.0, np.nan], ["a", None], np.array([1.0, np.nan])):
        with pytest.raises(LabelError, match=r"y has gaps .* first in row 1 .*Leave out rows"):
            check_labels(labels)
    check_labels(["a", "b"])


def test_samples_are_numbers() -> None:
    with pytest.raises(EntryError, match="X: column 1 holds 'low'"):
        check_numbers([[1, "low"]], "X")
    check_numbers([[1.0, 2.0]], "X")
    check_numbers([[1.0], [1.0, 2.0]], "X")  # scikit-learn says what is wrong with it


def test_small_conversions() -> None:
    assert plain(np.array([1.0, 2.0])) == (1, 2)
    assert plain(np.array([False, True])) == (0, 1)
    assert (length([1, 2]), length(iter([1]))) == (2, None)


@pytest.mark.parametrize(
    "samples", [np.array([[1.0, 2.0j]]), [[1.0, 2.0j]], np.array([[1.0, 2.0j]], dtype=object)]
)
def test_complex_numbers_are_refused_without_showing_rows(samples: Any) -> None:
    with pytest.raises(InputError, match=r"^X: Complex data not supported\. Give real numbers\.$"):
        check_numbers(samples, "X")


@pytest.mark.parametrize("labels", [np.array([0, 1j]), [0, 1 + 0j]])
def test_complex_labels_are_refused_without_showing_any(labels: Any) -> None:
    """Scikit-learn's own words show all of them."""
    with pytest.raises(LabelError, match=r"^y: Complex data not supported\. Give whole"):
        check_labels(labels)


def test_labels_of_a_list_stay_what_each_is() -> None:
    """numpy would make texts of all, or one double of two large numbers."""
    public = [2**53, 2**53 + 1]
    for odd, index in ((2**53, 0), (float(2**53), 0)):
        given = as_given([odd, 2**53 + 1, 2**53])
        assert index_labels(given, public)[1].tolist() == [index, 1, 0]
    with pytest.raises(UnknownClassError, match="'x'"):
        index_labels(as_given([0, 1, "x"]), [0, 1])


def test_what_pandas_calls_a_gap_is_one() -> None:
    with pytest.raises(LabelError, match="y has gaps"):
        check_labels(["a", pd.NA])
