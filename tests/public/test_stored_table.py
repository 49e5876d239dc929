"""A public table as a poll carries it."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ostraka.errors import ShapeError
from ostraka.public.stored_table import StoredTable

FRAME = pd.DataFrame({"age": [1.5, None, 3.0], "sex": ["f", None, "m"], "other": [1, 2, 3]})


def test_numbers_and_texts_are_kept() -> None:
    stored = StoredTable.of(FRAME, ["sex", "age"])
    assert stored.columns == ("sex", "age")
    assert stored.shape == (3, 2)
    assert stored.texts == {"sex": ["f", "m"]}
    assert stored["sex"].tolist() == ["f", None, "m"]
    assert np.array_equal(stored["age"], [1.5, np.nan, 3.0], equal_nan=True)
    assert stored.has_gaps
    assert not StoredTable.of(FRAME, ["other"]).has_gaps
    assert StoredTable.of(stored, ["sex", "age"]) is stored


def test_classifiers_see_a_pandas_table() -> None:
    for frame in (FRAME, pl.from_pandas(FRAME)):
        seen = StoredTable.of(frame, ["age", "sex"]).slice(1, 2)
        assert list(seen.columns) == ["age", "sex"]
        assert seen["sex"].tolist()[1] == "m"
        assert seen["sex"].isna().tolist() == [True, False]


def test_without_pandas_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'ostraka\[cli\]'"):
        StoredTable({"a": np.zeros(1)}, {}).slice(0, 1)


def test_what_is_damaged_is_refused() -> None:
    with pytest.raises(ShapeError):
        StoredTable({"a": np.zeros(1), "b": np.zeros(2)}, {})
    for place in (1, -2, 2**40):
        with pytest.raises(ValueError, match="texts of its column 'a'"):
            StoredTable({"a": np.array([place])}, {"a": ["x"]})
    with pytest.raises(ValueError, match="texts of its column 'a'"):
        StoredTable({"a": np.array([0])}, {"a": [3]})  # type: ignore[list-item]
    for wrong in (np.zeros(1, dtype=np.float32), np.zeros((1, 2)), np.zeros(1, dtype=np.int64)):
        with pytest.raises(ValueError, match="numbers of its column 'a'"):
            StoredTable({"a": wrong}, {})
