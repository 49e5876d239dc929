"""The law of the ensemble: the same counts as of ballots cast one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from ostraka.errors import InputError, NonFiniteError, ParameterError, ShapeError
from ostraka.party.asking import ask_votes
from ostraka.party.training import ensemble
from ostraka.party.training.ensemble import linear_counts
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.classes import ClassIndex
from ostraka.public.preprocessing import Preprocessing


def auxiliary_of(
    n_classes: int, *, form=np.asarray, n_samples: int = 70, n_columns: int = 5, seed: int = 0
):
    """Small integers as samples and weights: scores are exact, and ties and zeros are frequent."""
    samples = np.random.default_rng(seed).integers(-2, 3, size=(n_samples, n_columns)) / 16.0
    return AuxiliarySet(form(samples), tuple(f"class {index}" for index in range(n_classes)))


def one_by_one(weights, auxiliary):
    """Ties are decided from class 0 for the first party, from class 1 for the second, and so on."""
    names, index = np.array(auxiliary.classes), ClassIndex(auxiliary.classes)
    n_classes = auxiliary.n_classes
    counts = np.zeros((auxiliary.n_samples, n_classes), dtype=np.int64)
    for number, party in enumerate(weights):

        def classifier(rows, party=party, first=number % n_classes):
            scores = rows @ party
            if scores.ndim == 1:
                return names[(scores >= 0).astype(int)]
            turned = np.roll(scores, -first, axis=1)
            return names[(np.argmax(turned, axis=1) + first) % n_classes]

        votes = ask_votes(
            classifier, index, lambda i, j: auxiliary.features[i:j], auxiliary.n_samples
        )
        counts[np.arange(auxiliary.n_samples), votes] += 1
    return counts


def together(weights, auxiliary, **options):
    return linear_counts(weights, auxiliary.features, auxiliary.n_classes, **options)


def scores_in_any_order(rng):
    """Products whose terms are added up in another order every time, as libraries may do."""

    def scores(weights, features):
        total = np.zeros((weights.shape[1], len(features)))
        for column in rng.permutation(len(weights)):
            total += np.outer(weights[column], features[:, column])
        return total

    return scores


def integer_weights(*shape: int):
    return np.random.default_rng(sum(shape)).integers(-2, 3, size=shape)


class TestTheSameCounts:
    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
    @pytest.mark.parametrize(
        ("chunk_rows", "chunk_parties"), [(1, 1), (7, 3), (64, 255), (1024, 240)]
    )
    @pytest.mark.parametrize("shape", [(9, 5), (9, 5, 2), (9, 5, 3), (2, 5, 300), (1, 5)])
    def test_as_ballots_cast_one_by_one(self, form, chunk_rows, chunk_parties, shape):
        auxiliary = auxiliary_of(2 if len(shape) == 2 else shape[2], form=form)
        weights = integer_weights(*shape)
        counts = together(weights, auxiliary, chunk_rows=chunk_rows, chunk_parties=chunk_parties)
        np.testing.assert_array_equal(counts, one_by_one(weights, auxiliary))
        assert counts.sum(axis=1).tolist() == [shape[0]] * auxiliary.n_samples

    @pytest.mark.parametrize("shape", [(600, 5), (600, 5, 4)])
    def test_also_for_more_parties_than_fit_in_a_byte(self, shape):
        auxiliary = auxiliary_of(2 if len(shape) == 2 else 4, n_samples=3)
        unanimous = np.broadcast_to(integer_weights(1, *shape[1:]), shape)
        assert together(unanimous, auxiliary).max() == 600

    @given(st.integers(1, 30), st.integers(2, 5), st.integers(0, 2**32 - 1))
    def test_also_for_weights_of_any_size(self, n_parties, n_classes, seed):
        rng = np.random.default_rng(seed)
        auxiliary = auxiliary_of(n_classes)
        weights = rng.normal(size=(n_parties, 5, n_classes)) * 10.0 ** rng.integers(
            -9, 9, size=(n_parties, 1, 1)
        )
        # Rounding to 25 bits may turn a vote where two scores are as near as that, and no other.
        scores = np.sort(np.einsum("nd,mdk->mnk", auxiliary.features, weights), axis=2)
        sizes = np.abs(weights).max(axis=(1, 2))[:, np.newaxis]
        n_near = int(np.count_nonzero(scores[:, :, -1] - scores[:, :, -2] <= 1e-6 * sizes))
        moved = np.abs(together(weights, auxiliary) - one_by_one(weights, auxiliary)).sum()
        assert moved <= 2 * n_near

    def test_on_features_with_an_intercept(self):
        samples = np.random.default_rng(3).normal(size=(50, 4))
        auxiliary = AuxiliarySet(
            samples, (0, 1), preprocessing=Preprocessing(radius=2.0, constant=0.3)
        )
        weights = np.random.default_rng(4).normal(size=(20, 5))
        np.testing.assert_array_equal(together(weights, auxiliary), one_by_one(weights, auxiliary))

    @pytest.mark.parametrize("dtype", [np.float32, np.int8])
    def test_for_weights_of_other_types(self, dtype):
        auxiliary, weights = auxiliary_of(2), integer_weights(9, 5)
        np.testing.assert_array_equal(
            together(weights.astype(dtype), auxiliary), together(weights, auxiliary)
        )

    def test_for_weights_in_any_order_of_memory(self):
        auxiliary, weights = auxiliary_of(3), integer_weights(9, 5, 3)
        np.testing.assert_array_equal(
            together(np.asfortranarray(weights), auxiliary), together(weights, auxiliary)
        )

    @pytest.mark.parametrize("shape", [(9, 5), (9, 5, 2)])
    def test_when_scores_would_overflow(self, shape):
        auxiliary, weights = auxiliary_of(2), integer_weights(*shape)
        huge = weights * (
            math.ldexp(1.0, 1021) * np.where(np.arange(9) % 2, 1.0, 2.0**-1021)
        ).reshape(-1, *[1] * (len(shape) - 1))
        np.testing.assert_array_equal(together(huge, auxiliary), together(weights, auxiliary))


class TestTies:
    def test_a_score_of_zero_votes_for_the_second_class(self):
        for zero in (0.0, -0.0):
            assert together(np.full((3, 5), zero), auxiliary_of(2)).tolist() == [[0, 3]] * 70

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_equal_scores_vote_from_the_partys_own_class_on(self, n_classes):
        equal = np.ones((6, 5, n_classes))
        auxiliary = auxiliary_of(n_classes)
        assert together(equal, auxiliary).tolist() == [[6 // n_classes] * n_classes] * 70
        first = np.full(6, n_classes - 1)
        assert together(equal, auxiliary, first=first)[:, -1].tolist() == [6] * 70
        # The last class loses where features sum to more than 0: then 0 wins.
        equal[:, :, -1] = -1.0
        up = auxiliary.features.sum(axis=1) > 0
        assert (together(equal, auxiliary, first=first)[up, 0] == 6).all()

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
    def test_who_else_is_there_turns_no_tie(self, form):
        """Parties that lack two of four classes: scores are equal, and last bits would decide."""
        rng = np.random.default_rng(5)
        samples = rng.normal(size=(300, 40))
        samples /= 1.001 * np.linalg.norm(samples, axis=1, keepdims=True)
        auxiliary = AuxiliarySet(form(samples), (0, 1, 2, 3))
        weights = rng.normal(size=(50, 40, 4))
        weights[:, :, 2:] = weights[:, :, [2]]
        first = rng.integers(0, 4, 50)
        alone = [together(weights[[j]], auxiliary, first=first[[j]]) for j in range(50)]
        assert (together(weights, auxiliary, first=first) == sum(alone)).all()
        some = together(weights[:7], auxiliary, first=first[:7], chunk_rows=13, chunk_parties=2)
        assert (some == sum(alone[:7])).all()

    def test_products_in_doubles_would_be_caught(self, monkeypatch):
        """In whole numbers no order of adding turns a tie.

        The mutant multiplies numbers as they come.
        """
        rng = np.random.default_rng(6)
        samples = rng.normal(size=(300, 40))
        samples /= 1.001 * np.linalg.norm(samples, axis=1, keepdims=True)
        auxiliary = AuxiliarySet(samples, (0, 1, 2, 3))
        weights = rng.normal(size=(50, 40, 4))
        weights[:, :, 2:] = weights[:, :, [2]]
        right = together(weights, auxiliary)
        monkeypatch.setattr(ensemble, "_scores", scores_in_any_order(rng))
        assert (together(weights, auxiliary) == right).all()
        monkeypatch.setattr(ensemble, "_whole_rows", lambda features: features)
        monkeypatch.setattr(
            ensemble, "_whole_weights", lambda own, _: np.atleast_3d(own).transpose(2, 1, 0)
        )
        assert (together(weights, auxiliary) != right).any()


class TestRefusals:
    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
    @pytest.mark.parametrize("shape", [(300, 5), (300, 5, 2)])
    def test_weights_that_are_not_finite(self, bad, shape):
        weights = np.ones(shape)
        weights[260, 3] = bad
        with pytest.raises(
            NonFiniteError, match=r"weights holds NaN or infinite numbers, first in row 260"
        ):
            together(weights, auxiliary_of(2))

    @pytest.mark.parametrize("shape", [(5,), (3, 4), (3, 5, 3), (0, 5), (3, 5, 2, 1)])
    def test_shapes_that_do_not_fit(self, shape):
        with pytest.raises(
            ShapeError,
            match=r"weights: the shape is .* "
            r"Allowed: \(parties, 5\) or \(parties, 5, 2\) with at least one party",
        ):
            together(np.ones(shape), auxiliary_of(2))

    def test_one_column_for_more_than_two_classes(self):
        with pytest.raises(ShapeError, match=r"Allowed: \(parties, 5, 3\) with"):
            together(np.ones((3, 5)), auxiliary_of(3))

    def test_weights_that_are_no_numbers(self):
        with pytest.raises(InputError, match=r"weights are of type complex128. Give real numbers"):
            together(np.ones((3, 5), dtype=complex), auxiliary_of(2))

    @pytest.mark.parametrize(
        ("chunk_rows", "chunk_parties"), [(0, 1), (1, 0), (1, 256), (math.nan, 1)]
    )
    def test_sizes_of_blocks(self, chunk_rows, chunk_parties):
        with pytest.raises(ParameterError, match=r"chunk_(rows|parties) = .* is not allowed"):
            together(
                np.ones((3, 5)), auxiliary_of(2), chunk_rows=chunk_rows, chunk_parties=chunk_parties
            )
