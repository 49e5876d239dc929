"""From a public table to an auxiliary set: the map that suits a method, and no other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from ostraka.errors import ParameterError
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.prepare import INTERCEPT, QUANTILE, numeric, prepare
from ostraka.public.preprocessing import Preprocessing
from ostraka.public.task import Task
from ostraka.public.whitening import half_whiten

RNG = np.random.default_rng(0)
SAMPLES = RNG.standard_normal((40, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
OURS, PAPERS = ("auto", "moments", "cells", "consensus", "refine"), ("soft", "vote", "avg")


@pytest.mark.parametrize("method", OURS)
def test_ours_see_half_whitened_features(method: str) -> None:
    found = prepare(SAMPLES, ("a", "b", "c"), method)
    assert found.preprocessing == half_whiten(SAMPLES, 3)
    assert found.classes == ("a", "b", "c")
    assert not found.private


@pytest.mark.parametrize("method", PAPERS)
def test_the_papers_see_standardised_ones_with_an_intercept(method: str) -> None:
    found = prepare(SAMPLES, ("a", "b"), method)
    expected = AuxiliarySet.scaled(
        SAMPLES, ("a", "b"), INTERCEPT, standardise=True, quantile=QUANTILE
    )
    assert found.preprocessing == expected.preprocessing
    assert found.digest == expected.digest
    assert (found.features[:, -1] == INTERCEPT).all()
    other = prepare(SAMPLES, ("a", "b"), method, intercept=0.0)
    assert other.n_features == 3


@pytest.mark.parametrize("method", PAPERS)
def test_a_radius_is_taken_instead_of_a_scale(method: str) -> None:
    found = prepare(SAMPLES, ("a", "b"), method, radius=30.0, intercept=0.25)
    assert found.preprocessing == Preprocessing(radius=30.0, constant=0.25)


@pytest.mark.parametrize("method", [*OURS, *PAPERS])
def test_a_second_round_shares_the_map_of_the_first(method: str) -> None:
    public = Preprocessing(radius=9.0, center=SAMPLES.mean(axis=0))
    first = Task(classes=("a", "b"), n_features=SAMPLES.shape[1], preprocessing=public)
    again = prepare(SAMPLES, ("a", "b"), method, like=first)
    assert Task.of(again) == first


def test_tables_keep_the_names_of_their_columns() -> None:
    table = pd.DataFrame(SAMPLES, columns=["age", "dose", "höhe"])
    for method in ("moments", "soft"):
        found = prepare(table, ["no", "yes"], method)
        assert Task.of(found).feature_names == ("age", "dose", "höhe")
        same = prepare(SAMPLES, ["no", "yes"], method).features
        assert np.abs(found.features - same).max() <= 1e-12


def test_sparse_samples_stay_sparse_where_they_can() -> None:
    sparse = csr_matrix(np.where(RNG.random((40, 6)) < 0.3, RNG.random((40, 6)), 0.0))
    whitened = prepare(sparse, ("a", "b"), "cells")
    assert isinstance(whitened.features, np.ndarray)
    assert hasattr(prepare(sparse, ("a", "b"), "soft", radius=3.0).features, "tocsr")


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="method"):
        prepare(SAMPLES, ("a", "b"), "histogram")
    with pytest.raises(ParameterError, match="classes"):
        prepare(SAMPLES, ("a",), "soft")
    with pytest.raises(ParameterError, match="radius"):
        prepare(SAMPLES, ("a", "b"), "soft", radius=-1.0)


def test_numbers() -> None:
    table = pd.DataFrame({"a": [1, 2], "b": [True, False]})
    assert numeric(table).tolist() == [[1.0, 1.0], [2.0, 0.0]]
    assert numeric([[1, 2]]).dtype == np.float64
    sparse = csr_matrix((2, 3))
    assert numeric(sparse) is sparse
