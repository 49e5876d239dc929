"""What people give, and what becomes of it; the estimator's tests try the rest."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.errors import LabelError, UnknownClassError
from ostraka.given import labelled, length, plain, same_samples


def test_labels_are_numbered_by_the_public_list() -> None:
    classes, labels = labelled(np.array(["b", "a", "b"]), ["b", "a", "c"])
    assert (classes.tolist(), labels.tolist()) == (["b", "a", "c"], [0, 1, 0])
    classes, labels = labelled(np.array([7, 3, 7]), None)
    assert (classes.tolist(), labels.tolist()) == ([3, 7], [1, 0, 1])
    with pytest.raises(UnknownClassError):
        labelled(np.array(["d"]), ["a", "b"])
    with pytest.raises(LabelError, match="one class only"):
        labelled(np.array([1, 1]), None)


def test_private_samples_are_recognised_as_themselves() -> None:
    X = np.ones((3, 2))
    assert same_samples(X, X)
    assert same_samples(X.copy(), X)
    assert not same_samples(X[:2], X)
    assert not same_samples([[1.0]], X)


def test_small_conversions() -> None:
    assert plain(np.array([1.0, 2.0])) == (1, 2)
    assert plain(np.array([False, True])) == (0, 1)
    assert (length([1, 2]), length(iter([1]))) == (2, None)
