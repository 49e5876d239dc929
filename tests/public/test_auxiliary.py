"""Laws of the auxiliary set: what it keeps, what its digest tells apart, what it refuses."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from ostraka.errors import FeatureNormError, NonFiniteError, ParameterError, ShapeError
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.columns import Columns
from ostraka.public.preprocessing import Preprocessing

ROWS = np.array([[0.1, 0.2], [0.3, -0.4], [0.0, 0.5]])
BINARY = ("no", "yes")


class SlicedFrame:
    """As much of a polars data frame as is used."""

    def __init__(self, rows: np.ndarray) -> None:
        self._rows = rows
        self.columns = ["a", "b"]
        self.shape = rows.shape

    def __getitem__(self, name: str) -> np.ndarray:
        return self._rows[:, self.columns.index(name)]

    def __array__(self, dtype=None, copy=None):
        return np.array(self._rows, dtype=dtype)

    def slice(self, offset: int, length: int) -> SlicedFrame:
        return SlicedFrame(self._rows[offset : offset + length])


CONTAINERS = [
    np.array,
    sp.csr_array,
    sp.coo_array,
    sp.csc_matrix,
    pd.DataFrame,
    SlicedFrame,
    lambda rows: rows.tolist(),
]


class TestWhatItKeeps:
    def test_sizes_and_order_of_classes(self):
        auxiliary = AuxiliarySet(ROWS, ("z", "a", "m"), preprocessing=Preprocessing(constant=0.5))
        assert (auxiliary.n_samples, auxiliary.n_features, auxiliary.n_classes) == (3, 3, 3)
        assert auxiliary.classes == ("z", "a", "m")

    def test_features_are_the_samples_inside_the_ball(self):
        np.testing.assert_array_equal(AuxiliarySet(ROWS, BINARY).features, ROWS)
        preprocessing = Preprocessing(radius=2.0, constant=0.3)
        np.testing.assert_array_equal(
            AuxiliarySet(ROWS, BINARY, preprocessing=preprocessing).features, preprocessing(ROWS)
        )

    @pytest.mark.parametrize("make", CONTAINERS)
    def test_rows_are_slices_of_the_samples(self, make):
        auxiliary = AuxiliarySet(make(ROWS), BINARY)
        part = auxiliary.rows(1, 3)
        np.testing.assert_array_equal(
            part.toarray() if sp.issparse(part) else np.asarray(part), ROWS[1:3]
        )
        assert isinstance(part, type(auxiliary.samples))

    @pytest.mark.parametrize("make", [np.array, pd.DataFrame, SlicedFrame])
    def test_samples_stay_as_given(self, make):
        samples = make(ROWS)
        kept = AuxiliarySet(samples, BINARY).samples
        assert type(kept) is type(samples) or isinstance(samples, list)
        assert (np.asarray(kept) == np.asarray(samples)).all()

    def test_feature_names_come_from_data_frames(self):
        assert AuxiliarySet(pd.DataFrame(ROWS, columns=["age", "dose"]), BINARY).columns.names == (
            "age",
            "dose",
        )
        assert AuxiliarySet(SlicedFrame(ROWS), BINARY).columns.names == ("a", "b")
        assert AuxiliarySet(pd.DataFrame(ROWS), BINARY).columns is None
        assert AuxiliarySet(ROWS, BINARY).columns is None

    @pytest.mark.parametrize("make", CONTAINERS)
    def test_features_are_read_only(self, make):
        features = AuxiliarySet(make(ROWS), BINARY).features
        with pytest.raises(ValueError, match=r"read-only"):
            (features.data if sp.issparse(features) else features)[:1] = 7.0

    @pytest.mark.parametrize(
        "make", [np.array, sp.csr_array, lambda rows: pd.DataFrame(rows[:, :1].copy())]
    )
    def test_writing_to_the_samples_changes_no_features(self, make):
        samples = make(ROWS)
        auxiliary = AuxiliarySet(samples, BINARY)
        before = auxiliary.features.copy()
        if sp.issparse(samples):
            samples.data[:] = 9.0
        elif isinstance(samples, pd.DataFrame):
            samples.iloc[:, :] = 9.0
        else:
            samples[:] = 9.0
        assert abs(auxiliary.features - before).max() == 0

    def test_it_cannot_be_changed(self):
        with pytest.raises(dataclasses.FrozenInstanceError):
            AuxiliarySet(ROWS, BINARY).private = True

    def test_numpy_classes_become_python_ones(self):
        assert [type(name) for name in AuxiliarySet(ROWS, np.array([3, -1])).classes] == [int, int]
        assert [type(name) for name in AuxiliarySet(ROWS, np.array(["b", "a"])).classes] == [
            str,
            str,
        ]

    def test_scaled_fits_the_preprocessing_on_the_samples(self):
        auxiliary = AuxiliarySet.scaled(ROWS * 100, BINARY, constant=0.25)
        assert auxiliary.preprocessing == Preprocessing.fit(ROWS * 100, 0.25)
        assert auxiliary.n_features == 3
        assert not auxiliary.private


class TestDigest:
    def test_is_a_sha256_of_what_is_the_same(self):
        digest = AuxiliarySet(ROWS, BINARY).digest
        assert len(bytes.fromhex(digest)) == 32
        assert digest == AuxiliarySet(pd.DataFrame(ROWS, columns=["a", "b"]), list(BINARY)).digest
        assert digest == AuxiliarySet(np.asfortranarray(ROWS), BINARY).digest

    def test_stays_what_it_was_in_earlier_versions(self):
        # Polls and ballots store digests: to change this line, change DIGEST_FORM too.
        auxiliary = AuxiliarySet([[0.5, -0.25]], (1, 2), preprocessing=Preprocessing(radius=2.0))
        assert (
            auxiliary.digest == "8c87d71ba9cf6fd4350b66feedc4d79e8c7c1e7f8c5e04a80e6a49ef6181a29f"
        )
        sparse = AuxiliarySet(sp.csr_array([[0.5, 0.0]]), ("a", "ä"))
        assert sparse.digest == "84ee625526ceb8570584792ed0f8ece579a24ca99e57f8dd9643f16a639c2352"

    def test_zeros_have_no_sign(self):
        assert (
            AuxiliarySet([[0.0, 1.0]], BINARY).digest == AuxiliarySet([[-0.0, 1.0]], BINARY).digest
        )

    def test_sparse_formats_and_index_types_do_not_matter(self):
        wide = sp.csr_array(ROWS)
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        forms = [sp.csr_array(ROWS), sp.coo_array(ROWS), sp.csc_matrix(ROWS), wide]
        assert len({AuxiliarySet(form, BINARY).digest for form in forms}) == 1

    def test_tells_different_sets_apart(self):
        changed = ROWS.copy()
        changed[2, 1] = np.nextafter(0.5, 0)
        sets = [
            AuxiliarySet(ROWS, BINARY),
            AuxiliarySet(changed, BINARY),
            AuxiliarySet(ROWS[::-1], BINARY),
            AuxiliarySet(ROWS.T, BINARY),
            AuxiliarySet(ROWS.reshape(2, 3), BINARY),
            AuxiliarySet(ROWS, BINARY[::-1]),
            AuxiliarySet(ROWS, ("no", "yes", "maybe")),
            AuxiliarySet(ROWS, (1, 2)),
            AuxiliarySet(ROWS, ("1", "2")),
            AuxiliarySet(ROWS, BINARY, preprocessing=Preprocessing(radius=2.0)),
        ]
        assert len({auxiliary.digest for auxiliary in sets}) == len(sets)

    def test_a_map_that_changes_nothing_is_as_good_as_none(self):
        mapped = AuxiliarySet(ROWS, BINARY, preprocessing=Preprocessing())
        assert mapped.digest == AuxiliarySet(ROWS, BINARY).digest

    def test_of_a_private_set_is_not_public(self):
        assert (
            AuxiliarySet(ROWS, BINARY, preprocessing=Preprocessing(), private=True).public_digest
            is None
        )
        public = AuxiliarySet(ROWS, BINARY)
        assert public.public_digest == public.digest

    def test_repr_shows_no_samples(self):
        assert "0.1" not in repr(
            AuxiliarySet(ROWS, BINARY, preprocessing=Preprocessing(), private=True)
        )


class TestRefusals:
    @pytest.mark.parametrize(
        "classes",
        [
            (),
            ("a",),
            ("a", "a"),
            ("a", 1),
            (1.0, 2.0),
            (True, False),
            (0, True),
            (None, "a"),
            "ab",
            b"ab",
            ("a", "a\0"),
            (0, 2**63),
            (math.nan, 1),
            np.array([True, False]),
        ],
    )
    def test_classes(self, classes):
        with pytest.raises(
            ParameterError,
            match=r"classes = .* is not allowed. Allowed: a list of at least two distinct names",
        ):
            AuxiliarySet(ROWS, classes)

    def test_no_samples(self):
        with pytest.raises(
            ShapeError, match=r"The auxiliary set: the shape is \(0, 2\). Allowed: at least one row"
        ):
            AuxiliarySet(np.empty((0, 2)), BINARY)

    def test_rows_outside_the_ball_without_preprocessing(self):
        with pytest.raises(
            FeatureNormError, match=r"Row 1 of auxiliary samples has Euclidean norm 2"
        ):
            AuxiliarySet([[0.0], [2.0]], BINARY)

    def test_nan(self):
        with pytest.raises(
            NonFiniteError, match=r"auxiliary samples holds NaN or infinite numbers, first in row 1"
        ):
            AuxiliarySet([[0.0], [math.nan]], BINARY)

    def test_scaled_has_no_private_option(self):
        with pytest.raises(TypeError, match=r"private"):
            AuxiliarySet.scaled(ROWS, BINARY, private=True)


@pytest.mark.parametrize("form", [np.array, pd.DataFrame, sp.csr_matrix, list])
def test_neither_the_giver_nor_a_classifier_can_change_the_samples(form):
    """Otherwise one party's classifier would shape what the next one votes on."""
    given = form(ROWS.tolist()) if form is list else form(ROWS.copy())
    auxiliary = AuxiliarySet(given, BINARY)
    before = np.asarray(
        auxiliary.rows(0, 3).todense() if form is sp.csr_matrix else auxiliary.rows(0, 3)
    ).copy()

    def meddling(samples):
        samples *= 0
        return np.full(samples.shape[0], "no")

    Poll.create(auxiliary, method="soft", epsilon=1.0, parties=2).cast(meddling, "a")
    if form is not list:
        given *= 0
    after = auxiliary.rows(0, 3)
    assert (np.asarray(after.todense() if form is sp.csr_matrix else after) == before).all()


class TestRestored:
    """A set that comes from a file: its features as they were made then."""

    PUBLIC = Preprocessing(radius=2.0, constant=0.3)

    def restored(self, **changes):
        made = AuxiliarySet(ROWS, BINARY, preprocessing=self.PUBLIC)
        given = {
            "features": made.features,
            "classes": BINARY,
            "preprocessing": self.PUBLIC,
            "columns": Columns.of_numbers(("a", "b")),
            **changes,
        }
        return AuxiliarySet.restored(**given)

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
    def test_is_the_same_set_to_the_last_bit(self, form):
        made = AuxiliarySet(form(ROWS), BINARY, preprocessing=Preprocessing(radius=2.0))
        again = AuxiliarySet.restored(made.features, BINARY, Preprocessing(radius=2.0), None)
        assert again.digest == made.digest
        assert abs(again.features - made.features).max() == 0
        assert (again.n_samples, again.n_features, again.n_classes) == (3, 2, 2)

    def test_keeps_names_and_samples(self):
        again = self.restored(samples=ROWS)
        assert again.columns.names == ("a", "b")
        assert not again.private
        assert (again.rows(1, 3) == ROWS[1:3]).all()

    def test_without_samples_there_are_no_rows_to_ask_about(self):
        with pytest.raises(ParameterError, match="a poll whose parties vote"):
            self.restored().rows(0, 1)

    def test_features_outside_the_unit_ball_are_refused(self):
        with pytest.raises(FeatureNormError, match="Row 1"):
            self.restored(features=np.array([[0.1, 0.2, 0.3], [0.9, 0.9, 0.3]]))
        with pytest.raises(NonFiniteError, match="row 0"):
            self.restored(features=np.array([[np.nan, 0.2, 0.3]]))

    def test_features_are_read_only_and_its_own(self):
        features = np.array(self.restored().features)
        again = self.restored(features=features)
        features[:] = 0.0
        assert (again.features == self.restored().features).all()
        with pytest.raises(ValueError, match="read-only"):
            again.features[0] = 1.0

    @pytest.mark.parametrize("samples", [ROWS[:2], ROWS[:, :1], np.vstack([ROWS, ROWS])])
    def test_samples_of_another_shape_are_refused(self, samples):
        with pytest.raises(
            ShapeError, match=r"The auxiliary samples.*\(3, 2\), a row for each row"
        ):
            self.restored(samples=samples)

    def test_classes_are_checked(self):
        with pytest.raises(ParameterError, match="classes"):
            self.restored(classes=("one",))
