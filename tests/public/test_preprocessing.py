"""Laws of the map from samples to features: the exact norm bound, and what is refused."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from ostraka.errors import FeatureNormError, InputError, NonFiniteError, ParameterError, ShapeError
from ostraka.public.preprocessing import Preprocessing, inside_unit_ball

JUST_BELOW_ONE = math.nextafter(1.0, 0.0)
CONSTANTS = [0.0, 5e-324, 1e-9, 0.1, 0.5, 0.6, 0.999, 1.0 - 2.0**-30, JUST_BELOW_ONE]
RADII = [5e-324, 1e-200, 0.1, 1.0, 3.0, 1e200, sys.float_info.max]
finite = st.floats(allow_nan=False, allow_infinity=False)
matrices = arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=finite)


def exact_square_norms(features: object) -> list[Fraction]:
    dense = features.toarray() if sp.issparse(features) else features
    return [sum((Fraction(value) ** 2 for value in row), Fraction(0)) for row in dense.tolist()]


def nasty_rows() -> np.ndarray:
    rng = np.random.default_rng(5)
    rows = [
        np.full(7, 1 / math.sqrt(7)),
        np.full(7, math.nextafter(1 / math.sqrt(7), 1.0)),
        np.eye(7)[0],
        np.eye(7)[0] * JUST_BELOW_ONE,
        np.eye(7)[0] * (1.0 - 2.0**-32),
        np.eye(7)[0] * math.nextafter(1.0 - 2.0**-32, 0.0),
        np.array([0.6, 0.8, 0, 0, 0, 0, 0]),
        np.array([1.0, 1e-9, -1e-9, 1e-170, 5e-324, 0, -0.0]),
        np.full(7, sys.float_info.max),
        np.full(7, -5e-324),
        np.array([1e308, -1e-308, 1, 0, 0, 0, 0]),
        np.zeros(7),
    ]
    directions = rng.normal(size=(200, 7))
    directions /= np.linalg.norm(directions, axis=1)[:, np.newaxis]
    stretched = directions * (1.0 + rng.integers(-4, 5, size=(200, 1)) * 2.0**-52)
    return np.vstack([rows, directions, stretched])


class TestTheNormBound:
    @pytest.mark.parametrize("constant", CONSTANTS)
    @pytest.mark.parametrize("radius", RADII)
    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
    def test_nasty_rows_are_inside_in_exact_arithmetic(self, constant, radius, form):
        features = Preprocessing(radius=radius, constant=constant)(form(nasty_rows()))
        assert max(exact_square_norms(features)) <= 1

    @given(
        matrices,
        st.floats(min_value=0, exclude_min=True, allow_infinity=False),
        st.sampled_from(CONSTANTS),
    )
    def test_any_rows_are_inside_in_exact_arithmetic(self, samples, radius, constant):
        assert (
            max(exact_square_norms(Preprocessing(radius=radius, constant=constant)(samples))) <= 1
        )

    @given(matrices, st.sampled_from(CONSTANTS))
    def test_the_fitted_radius_keeps_every_row_inside(self, samples, constant):
        assert max(exact_square_norms(Preprocessing.fit(samples, constant)(samples))) <= 1

    def test_long_rows_are_inside_in_exact_arithmetic(self):
        samples = np.full((1, 300_001), 1 / math.sqrt(300_001))
        assert Fraction(samples[0, 0]) ** 2 * 300_001 > 1 - Fraction(1, 2**40)
        (value,) = set(Preprocessing()(samples)[0].tolist())
        assert Fraction(value) ** 2 * 300_001 <= 1

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
    def test_rows_on_the_boundary_are_pulled_inside(self, form):
        rows = nasty_rows()
        kept = rows[np.abs(rows).max(axis=1) <= 1]
        features = inside_unit_ball(form(kept), "samples")
        assert max(exact_square_norms(features)) <= 1
        dense = features.toarray() if sp.issparse(features) else features
        assert np.abs(dense - kept).max() <= 2.0**-29


class TestWhatItDoes:
    def test_divides_clips_and_appends(self):
        features = Preprocessing(radius=10.0, constant=0.6)(
            np.array([[3.0, 4.0], [30.0, 40.0], [0.0, 0.0]])
        )
        np.testing.assert_allclose(
            features, [[0.24, 0.32, 0.6], [0.48, 0.64, 0.6], [0, 0, 0.6]], rtol=2.0**-29
        )
        assert features.dtype == np.float64
        assert features.flags.c_contiguous

    @given(matrices)
    def test_applying_it_twice_changes_nothing(self, samples):
        once = Preprocessing()(samples)
        np.testing.assert_array_equal(Preprocessing()(once), once)
        np.testing.assert_array_equal(inside_unit_ball(once, "samples"), once)

    @given(matrices, st.sampled_from(CONSTANTS), st.sampled_from(RADII))
    def test_sparse_and_dense_agree(self, samples, constant, radius):
        preprocessing = Preprocessing(radius=radius, constant=constant)
        sparse = preprocessing(sp.csr_array(samples))
        np.testing.assert_allclose(sparse.toarray(), preprocessing(samples), rtol=1e-15, atol=0)
        assert sparse.has_canonical_format
        assert np.all(sparse.data != 0)

    def test_directions_survive_clipping_even_where_squares_overflow(self):
        features = Preprocessing(radius=1e-300)(np.array([[3e300, 4e300]]))
        np.testing.assert_allclose(features, [[0.6, 0.8]], rtol=2.0**-29)

    @pytest.mark.parametrize(
        "form", ["csr_array", "csr_matrix", "csc_array", "coo_array", "bsr_array", "lil_matrix"]
    )
    def test_every_sparse_format_gives_canonical_csr(self, form):
        samples = getattr(sp, form)(np.array([[0.0, 2.0], [0.0, 0.0], [1.0, 1.0]]))
        features = Preprocessing(radius=4.0, constant=0.5)(samples)
        assert features.format == "csr"
        np.testing.assert_allclose(features.toarray()[:, 2], 0.5)
        np.testing.assert_allclose(features.toarray()[0, 1], 0.5 * math.sqrt(0.75))

    def test_sparse_duplicates_are_added_and_stored_zeros_dropped(self):
        samples = sp.coo_array(([0.5, 0.25, 0.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
        features = inside_unit_ball(samples, "samples")
        assert features.nnz == 1
        assert features.toarray()[0, 1] == 0.75

    @pytest.mark.parametrize(
        "make", [np.asarray, list, pd.DataFrame, lambda rows: np.asfortranarray(rows)]
    )
    def test_containers_of_rows(self, make):
        rows = [[1.0, 2.0], [3.0, 4.0]]
        np.testing.assert_array_equal(
            Preprocessing(radius=9)(make(rows)), Preprocessing(radius=9)(np.array(rows))
        )

    @pytest.mark.parametrize("dtype", [np.float32, np.int8, np.uint64, np.bool_, object])
    def test_types_of_numbers(self, dtype):
        features = Preprocessing(radius=4)(np.array([[1, 0]], dtype=dtype))
        np.testing.assert_array_equal(features, [[0.25, 0.0]])

    @pytest.mark.parametrize("form", [np.array, sp.csr_array])
    def test_the_samples_stay_as_they_are(self, form):
        samples = form([[3.0, 4.0], [0.6, 0.8]])
        before = samples.copy()
        Preprocessing(constant=0.5)(samples)
        inside_unit_ball(samples[1:], "samples")
        assert abs(samples - before).max() == 0

    def test_rows_well_inside_are_passed_on_without_a_copy(self):
        samples = np.full((3, 2), 0.5)
        assert np.shares_memory(inside_unit_ball(samples, "samples"), samples)

    def test_no_rows_give_no_features(self):
        assert Preprocessing(constant=0.5)(np.empty((0, 3))).shape == (0, 4)

    def test_numpy_alone_is_enough(self):
        code = (
            "import sys; from ostraka.public.preprocessing import Preprocessing; "
            "Preprocessing(constant=0.5)([[1.0, 2.0]]);"
            "assert 'scipy' not in sys.modules and 'pandas' not in sys.modules"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


class TestFit:
    def test_takes_the_longest_row(self):
        assert Preprocessing.fit([[3.0, 4.0], [1.0, 0.0]], constant=0.5) == Preprocessing(
            radius=5.0, constant=0.5
        )

    @pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
    def test_all_zero_samples_give_radius_one(self, make):
        assert Preprocessing.fit(make(np.zeros((2, 3)))) == Preprocessing(radius=1.0)

    @pytest.mark.parametrize("size", [5e-324, 1e-250, 1e250, sys.float_info.max])
    def test_no_scale_is_too_small_or_too_large(self, size):
        assert size <= Preprocessing.fit([[size, size]]).radius <= sys.float_info.max


class TestRefusals:
    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
    def test_numbers_that_are_not_finite(self, bad, form):
        samples = np.zeros((4, 2))
        samples[2, 1] = bad
        for refuse in (
            Preprocessing(),
            Preprocessing.fit,
            lambda rows: inside_unit_ball(rows, "samples"),
        ):
            with pytest.raises(
                NonFiniteError,
                match=r"samples holds NaN or infinite numbers, first in row 2 \(counting from 0",
            ) as caught:
                refuse(form(samples))
            assert caught.value.row == 2

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
    @pytest.mark.parametrize(
        ("size", "shown"), [(1.001, "1.001"), (1e200, r"1e\+200"), (1 + 2e-9, "1")]
    )
    def test_rows_outside_the_ball(self, form, size, shown):
        samples = form([[0.5, 0.5], [0.0, size], [0.0, 7.0]])
        with pytest.raises(
            FeatureNormError,
            match=rf"Row 1 of my rows has Euclidean norm {shown}, but .* norms up to 1\. Scale by",
        ) as caught:
            inside_unit_ball(samples, "my rows")
        assert caught.value.row == 1
        assert caught.value.norm == size

    @pytest.mark.parametrize(
        "samples", [np.zeros(3), np.zeros((2, 2, 2)), 1.0, np.zeros((3, 0)), [[1.0], [1.0, 2.0]]]
    )
    def test_what_is_no_matrix(self, samples):
        with pytest.raises(ShapeError, match=r"samples: the shape is .* Allowed: two dimensions"):
            Preprocessing()(samples)

    @pytest.mark.parametrize(
        "samples", [[["a"]], [[1j]], [[None]], np.array([["2020-01-01"]], dtype="M8[D]"), [[{}]]]
    )
    def test_what_is_no_number(self, samples):
        with pytest.raises(InputError, match=r"samples holds"):
            Preprocessing()(samples)

    def test_data_frames_with_text(self):
        with pytest.raises(InputError, match=r"which are not real numbers. Encode categories"):
            Preprocessing()(pd.DataFrame({"age": [1.0], "city": ["Athens"]}))

    @pytest.mark.parametrize("radius", [0.0, -1.0, math.nan, math.inf])
    def test_radius(self, radius):
        with pytest.raises(
            ParameterError, match=r"radius = .* is not allowed. Allowed: a finite number above 0"
        ):
            Preprocessing(radius=radius)

    @pytest.mark.parametrize("constant", [-0.1, 1.0, math.nan, math.inf])
    def test_constant(self, constant):
        with pytest.raises(ParameterError, match=r"constant = .* is not allowed"):
            Preprocessing(constant=constant)


class TestTheLinearMapBefore:
    RNG = np.random.default_rng(7)
    ROWS = RNG.standard_normal((60, 4)) * [1.0, 100.0, 1e-3, 5.0] + [0.0, 1e3, 2.0, -1.0]

    def test_standardised_columns_have_mean_zero_and_deviation_one_up_to_the_radius(self) -> None:
        fitted = Preprocessing.fit(self.ROWS, standardise=True)
        features = fitted(self.ROWS) * fitted.radius
        assert np.abs(features.mean(axis=0)).max() < 1e-9
        assert np.abs(features.std(axis=0) - 1.0).max() < 1e-6

    def test_rows_stay_in_the_ball_whatever_the_map(self) -> None:
        for fitted in (
            Preprocessing.fit(self.ROWS, 0.5, standardise=True, quantile=0.5),
            Preprocessing.fit(
                self.ROWS,
                standardise=True,
                components=self.RNG.standard_normal((4, 2)),
                quantile=0.9,
            ),
            Preprocessing(center=np.full(4, 1e9), scale=np.full(4, 1e-9), constant=0.3),
        ):
            for row in fitted(self.ROWS * 1e3):
                assert sum(Fraction(float(x)) ** 2 for x in row) <= 1

    def test_a_quantile_clips_the_longest(self) -> None:
        fitted = Preprocessing.fit(self.ROWS, standardise=True, quantile=0.5)
        norms = np.linalg.norm(fitted(self.ROWS), axis=1)
        assert (norms > 0.999).sum() == 30

    def test_constant_columns_are_left_alone(self) -> None:
        fitted = Preprocessing.fit([[1.0, 7.0], [3.0, 7.0]], standardise=True)
        assert fitted.scale is not None
        assert fitted.scale.tolist() == [1.0, 1.0]
        assert fitted([[2.0, 7.0]]).tolist() == [[0.0, 0.0]]

    def test_sparse_rows_are_scaled_but_not_filled_and_components_agree_with_dense(self) -> None:
        sparse = sp.random_array((50, 6), density=0.3, rng=self.RNG, format="csr")
        fitted = Preprocessing.fit(sparse, standardise=True)
        assert fitted.center is None
        assert fitted(sparse).nnz == sparse.nnz
        components = self.RNG.standard_normal((6, 3))
        one = Preprocessing.fit(sparse, standardise=True, components=components)
        other = Preprocessing.fit(sparse.toarray(), standardise=True, components=components)
        assert np.abs(one(sparse) - other(sparse.toarray())).max() < 1e-9
        with pytest.raises(InputError, match="which would fill them"):
            Preprocessing(center=np.ones(6))(sparse)

    def test_equal_maps_are_equal_and_the_digest_knows_the_difference(self) -> None:
        one, same = (Preprocessing(center=np.array([1.0, 2.0])) for _ in range(2))
        other = Preprocessing(center=np.array([1.0, 3.0]))
        assert one == same
        assert hash(one) == hash(same)
        assert one != other
        assert one != Preprocessing()

    def test_bad_maps_are_refused(self) -> None:
        with pytest.raises(ParameterError, match="positive numbers"):
            Preprocessing(scale=np.array([1.0, 0.0]))
        with pytest.raises(NonFiniteError, match="center"):
            Preprocessing(center=np.array([np.nan]))
        with pytest.raises(ShapeError, match="the same number of columns"):
            Preprocessing(center=np.ones(2), scale=np.ones(3))
        with pytest.raises(ShapeError, match="2 columns"):
            Preprocessing(center=np.ones(2))([[1.0, 2.0, 3.0]])
        with pytest.raises(ParameterError, match="quantile"):
            Preprocessing.fit([[1.0]], quantile=0.0)

    def test_rows_that_the_map_takes_beyond_the_doubles_become_zero(self) -> None:
        """A refusal would reveal that somebody has such a row."""
        fitted = Preprocessing(scale=np.array([1e-5, 1.0]))
        assert fitted([[1e308, 0.0], [0.0, 0.5]]).tolist() == [[0.0, 0.0], [0.0, 0.5]]
