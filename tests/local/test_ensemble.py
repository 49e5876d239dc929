"""The law of the ensemble: the same tally as ballots cast one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from ostraka.auxiliary import AuxiliarySet
from ostraka.ballot import Ballot
from ostraka.errors import InputError, NonFiniteError, ParameterError, ShapeError
from ostraka.local.ensemble import tally_linear
from ostraka.preprocessing import Preprocessing
from ostraka.tally import Tally


def auxiliary_of(n_classes: int, *, form=np.asarray, n_samples: int = 70, n_columns: int = 5, seed: int = 0):
    """Small integers as samples and weights: scores are exact in float64, and ties and zeros are frequent."""
    samples = np.random.default_rng(seed).integers(-2, 3, size=(n_samples, n_columns)) / 16.0
    return AuxiliarySet(form(samples), tuple(f"class {index}" for index in range(n_classes)))


def one_by_one(weights, auxiliary) -> Tally:
    names = np.array(auxiliary.classes)
    tally = Tally(auxiliary)
    for party in weights:

        def classifier(rows, party=party):
            scores = rows @ party
            return names[(scores >= 0).astype(int) if scores.ndim == 1 else np.argmax(scores, axis=1)]

        tally.add(Ballot.cast(classifier, auxiliary))
    return tally


def integer_weights(*shape: int):
    return np.random.default_rng(sum(shape)).integers(-2, 3, size=shape)


class TestTheSameTally:
    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
    @pytest.mark.parametrize(("chunk_rows", "chunk_parties"), [(1, 1), (7, 3), (64, 255), (1024, 240)])
    @pytest.mark.parametrize("shape", [(9, 5), (9, 5, 2), (9, 5, 3), (2, 5, 300), (1, 5)])
    def test_as_ballots_cast_one_by_one(self, form, chunk_rows, chunk_parties, shape):
        auxiliary = auxiliary_of(2 if len(shape) == 2 else shape[2], form=form)
        weights = integer_weights(*shape)
        together = tally_linear(weights, auxiliary, chunk_rows=chunk_rows, chunk_parties=chunk_parties)
        expected = one_by_one(weights, auxiliary)
        np.testing.assert_array_equal(together.counts, expected.counts)
        assert together.n_parties == expected.n_parties == shape[0]

    @pytest.mark.parametrize("shape", [(600, 5), (600, 5, 4)])
    def test_also_for_more_parties_than_fit_in_a_byte(self, shape):
        auxiliary = auxiliary_of(2 if len(shape) == 2 else 4, n_samples=3)
        unanimous = np.broadcast_to(integer_weights(1, *shape[1:]), shape)
        assert tally_linear(unanimous, auxiliary).counts.max() == 600

    @given(st.integers(1, 30), st.integers(2, 5), st.integers(0, 2**32 - 1))
    def test_also_for_weights_of_any_size(self, n_parties, n_classes, seed):
        rng = np.random.default_rng(seed)
        auxiliary = auxiliary_of(n_classes)
        weights = rng.normal(size=(n_parties, 5, n_classes)) * 10.0 ** rng.integers(-9, 9, size=(n_parties, 1, 1))
        np.testing.assert_array_equal(tally_linear(weights, auxiliary).counts, one_by_one(weights, auxiliary).counts)

    def test_on_features_with_an_intercept(self):
        samples = np.random.default_rng(3).normal(size=(50, 4))
        auxiliary = AuxiliarySet(samples, (0, 1), preprocessing=Preprocessing(radius=2.0, constant=0.3))
        on_features = AuxiliarySet(auxiliary.features, (0, 1))
        weights = np.random.default_rng(4).normal(size=(20, 5))
        np.testing.assert_array_equal(tally_linear(weights, auxiliary).counts, one_by_one(weights, on_features).counts)

    @pytest.mark.parametrize("dtype", [np.float32, np.int8])
    def test_for_weights_of_other_types(self, dtype):
        auxiliary, weights = auxiliary_of(2), integer_weights(9, 5)
        np.testing.assert_array_equal(tally_linear(weights.astype(dtype), auxiliary).counts, tally_linear(weights, auxiliary).counts)

    def test_for_weights_in_any_order_of_memory(self):
        auxiliary, weights = auxiliary_of(3), integer_weights(9, 5, 3)
        np.testing.assert_array_equal(tally_linear(np.asfortranarray(weights), auxiliary).counts, tally_linear(weights, auxiliary).counts)

    @pytest.mark.parametrize("shape", [(9, 5), (9, 5, 2)])
    def test_when_scores_would_overflow(self, shape):
        auxiliary, weights = auxiliary_of(2), integer_weights(*shape)
        huge = weights * (math.ldexp(1.0, 1021) * np.where(np.arange(9) % 2, 1.0, 2.0**-1021)).reshape(-1, *[1] * (len(shape) - 1))
        np.testing.assert_array_equal(tally_linear(huge, auxiliary).counts, tally_linear(weights, auxiliary).counts)


class TestTies:
    def test_a_score_of_zero_votes_for_the_second_class(self):
        for zero in (0.0, -0.0):
            assert tally_linear(np.full((3, 5), zero), auxiliary_of(2)).counts.tolist() == [[0, 3]] * 70

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_equal_scores_vote_for_the_lowest_index(self, n_classes):
        counts = tally_linear(np.ones((3, 5, n_classes)), auxiliary_of(n_classes)).counts
        assert counts.tolist() == [[3] + [0] * (n_classes - 1)] * 70


class TestRefusals:
    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
    @pytest.mark.parametrize("shape", [(300, 5), (300, 5, 2)])
    def test_weights_that_are_not_finite(self, bad, shape):
        weights = np.ones(shape)
        weights[260, 3] = bad
        with pytest.raises(NonFiniteError, match=r"weights holds NaN or infinite numbers, first in row 260"):
            tally_linear(weights, auxiliary_of(2))

    @pytest.mark.parametrize("shape", [(5,), (3, 4), (3, 5, 3), (0, 5), (3, 5, 2, 1)])
    def test_shapes_that_do_not_fit(self, shape):
        with pytest.raises(
            ShapeError,
            match=r"weights: the shape is .* Allowed: \(parties, 5\) or \(parties, 5, 2\) with at least one party",
        ):
            tally_linear(np.ones(shape), auxiliary_of(2))

    def test_one_column_for_more_than_two_classes(self):
        with pytest.raises(ShapeError, match=r"Allowed: \(parties, 5, 3\) with"):
            tally_linear(np.ones((3, 5)), auxiliary_of(3))

    def test_weights_that_are_no_numbers(self):
        with pytest.raises(InputError, match=r"weights are of type complex128. Give real numbers"):
            tally_linear(np.ones((3, 5), dtype=complex), auxiliary_of(2))

    @pytest.mark.parametrize(("chunk_rows", "chunk_parties"), [(0, 1), (1, 0), (1, 256), (math.nan, 1)])
    def test_sizes_of_blocks(self, chunk_rows, chunk_parties):
        with pytest.raises(ParameterError, match=r"chunk_(rows|parties) = .* is not allowed"):
            tally_linear(np.ones((3, 5)), auxiliary_of(2), chunk_rows=chunk_rows, chunk_parties=chunk_parties)
