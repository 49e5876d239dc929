"""What an estimator has from public things."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from ostraka import PrivateClassifier
from ostraka.errors import ParameterError, WrongTypeError
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.columns import Columns
from ostraka.public_side import PublicSide

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({"a": RNG.standard_normal(40), "b": RNG.choice(["x", "y"], 40)})
ROWS = RNG.standard_normal((40, 3))
SET = AuxiliarySet.scaled(ROWS, (0, 1))


def side(**options: Any) -> PublicSide:
    return PublicSide.of(PrivateClassifier(**options))


def test_classes_come_from_whoever_says_them_first() -> None:
    assert side(classes=["p", "q"]).list_classes(SET) == ["p", "q"]
    assert side().list_classes(SET) == (0, 1)
    assert side().list_classes(ROWS) is None


def test_columns_come_from_whoever_says_them_first() -> None:
    said = Columns.of_numbers(["a"])
    assert side(columns=said).describe(TABLE) is said
    assert side().describe(TABLE).names == ("a", "b")  # type: ignore[union-attr]
    mixed = side(columns={"b": "leave out"}).describe(TABLE)
    assert mixed is not None
    assert mixed.names == ("a",)
    assert side().describe(ROWS) is None
    assert side().describe(SET) is SET.columns
    with pytest.raises(WrongTypeError, match="read_csv"):
        side().describe("public.csv")


def test_a_set_stays_as_it_is_if_its_classes_are_those() -> None:
    assert side().prepare(SET, (0, 1), None, 3) is SET
    with pytest.raises(ParameterError, match=r"auxiliary\.classes"):
        side().prepare(SET, (1, 2), None, 3)


def test_without_samples_points_fill_a_ball() -> None:
    made = side(method="soft", radius=2.0).prepare(None, (0, 1), None, 3, ["a", "b", "c"])
    assert made.features.shape[1] == 4
    assert made.columns is not None
    assert made.columns.names == ("a", "b", "c")


def test_classifiers_that_vote_need_a_list_of_classes() -> None:
    assert side().prepare_for_votes(SET) is SET
    with pytest.raises(ParameterError, match="classes is missing"):
        side(method="consensus").prepare_for_votes(ROWS)
    assert side(method="consensus", classes=[0, 1]).prepare_for_votes(ROWS).n_samples == 40
