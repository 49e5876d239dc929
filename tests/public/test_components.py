"""Principal components against numpy's singular values; sparse samples stay sparse."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import subspace_angles

from ostraka.datasets.url import read_svm
from ostraka.errors import NonFiniteError, ParameterError, ShapeError
from ostraka.public.components import occupied_columns, principal_components

DATA = Path(os.environ.get("OSTRAKA_DATA") or "data")
SAMPLE = DATA / "url_svmlight_sample.svm.gz"
FORMS: list[Any] = [np.asarray, sp.csr_array, sp.csc_matrix, sp.coo_array]


def rows_with(values: np.ndarray, m: int, d: int, seed: int = 0) -> np.ndarray:
    """Samples whose centred matrix has these singular values, around a mean far from 0."""
    rng = np.random.default_rng(seed)
    left = rng.normal(size=(m, len(values)))
    left = np.linalg.qr(left - left.mean(axis=0))[0]
    right = np.linalg.qr(rng.normal(size=(d, len(values))))[0]
    return (left * values) @ right.T + rng.normal(size=d) * 3.0


def svd_of(samples: np.ndarray, centre: bool = True) -> tuple[np.ndarray, np.ndarray]:
    _, values, directions = np.linalg.svd(
        samples - samples.mean(axis=0) if centre else samples, full_matrices=False
    )
    return values, directions.T


def captured(samples: np.ndarray, center: np.ndarray, components: np.ndarray) -> np.ndarray:
    return np.linalg.norm((samples - center) @ components, axis=0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("centre", [True, False])
class TestAgainstNumpy:
    @pytest.mark.parametrize(("m", "d"), [(200, 30), (30, 200), (60, 60)])
    def test_directions_and_singular_values(self, form: Any, centre: bool, m: int, d: int) -> None:
        samples = rows_with(np.geomspace(10, 0.1, 25), m, d)
        center, components = principal_components(form(samples), 6, centre=centre)
        values, directions = svd_of(samples, centre)
        assert components.shape == (d, 6)
        np.testing.assert_allclose(center, samples.mean(axis=0) if centre else 0.0, atol=1e-12)
        assert subspace_angles(components, directions[:, :6]).max() < 1e-7
        np.testing.assert_allclose(captured(samples, center, components), values[:6], rtol=1e-9)
        np.testing.assert_allclose(components.T @ components, np.eye(6), atol=1e-12)

    def test_each_direction_is_numpys_up_to_its_sign(self, form: Any, centre: bool) -> None:
        samples = rows_with(np.array([9.0, 5.0, 2.0, 1.0, 0.3]), 80, 20)
        _, components = principal_components(form(samples), 4, centre=centre)
        _, directions = svd_of(samples, centre)
        np.testing.assert_allclose(
            np.abs(np.sum(components * directions[:, :4], axis=0)), 1.0, atol=1e-10
        )

    def test_the_largest_entry_of_each_direction_is_positive(self, form: Any, centre: bool) -> None:
        samples = rows_with(np.geomspace(10, 1, 12), 50, 17, seed=3)
        for flipped in (samples, -samples):
            _, components = principal_components(form(flipped), 8, centre=centre)
            peaks = np.argmax(np.abs(components), axis=0)
            assert (components[peaks, np.arange(8)] > 0).all()


class TestSketch:
    def test_a_slow_decay_is_still_nearly_optimal(self) -> None:
        samples = rows_with(np.linspace(2.0, 1.0, 150), 300, 200)
        center, components = principal_components(sp.csr_array(samples), 10)
        values, _ = svd_of(samples)
        best, got = np.sum(values[:10] ** 2), np.sum(captured(samples, center, components) ** 2)
        # No direction stands out: the hardest case for a sketch.
        assert 0.95 * best <= got <= best * (1 + 1e-9)

    def test_the_seed_decides_and_is_fixed_by_default(self) -> None:
        samples = sp.random_array((300, 400), density=0.05, format="csr", rng=0)
        first, again, other = (principal_components(samples, 5, seed=seed)[1] for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        np.testing.assert_array_equal(first, principal_components(samples, 5)[1])
        assert not np.array_equal(first, other)

    def test_the_samples_stay_as_they_are(self) -> None:
        for samples in (
            sp.random_array((40, 30), density=0.3, format="csr", rng=0),
            np.random.default_rng(0).normal(size=(40, 30)),
        ):
            before = samples.copy()
            principal_components(samples, 3)
            assert abs(samples - before).max() == 0


class TestColumns:
    def test_only_columns_that_occur_take_part(self) -> None:
        narrow = rows_with(np.geomspace(5, 1, 8), 40, 12)
        wide = np.zeros((40, 1000))
        places = np.sort(np.random.default_rng(0).choice(1000, 12, replace=False))
        wide[:, places] = narrow
        for form in (sp.csr_array, np.asarray):
            np.testing.assert_array_equal(occupied_columns(form(wide)), places)
            center, components = principal_components(form(wide), 4)
            narrow_center, narrow_components = principal_components(narrow, 4)
            np.testing.assert_allclose(components[places], narrow_components, atol=1e-8)
            np.testing.assert_allclose(center[places], narrow_center, atol=1e-12)
            elsewhere = np.delete(np.arange(1000), places)
            assert np.abs(components[elsewhere]).max() < 1e-12
            assert np.abs(center[elsewhere]).max() == 0

    def test_stored_zeros_do_not_occur(self) -> None:
        samples = sp.csr_array(
            (np.array([1.0, 0.0, 2.0]), np.array([0, 2, 3]), np.array([0, 2, 3])), shape=(2, 5)
        )
        assert occupied_columns(samples).tolist() == [0, 3]

    def test_no_column_occurs(self) -> None:
        assert occupied_columns(sp.csr_array((3, 4))).size == 0


class TestRefusals:
    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("n", [3, 4, 29])
    def test_more_directions_than_the_rank(self, form: Any, n: int) -> None:
        samples = rows_with(np.array([3.0, 1.0]), 30, 40)
        with pytest.raises(
            ParameterError,
            match=rf"n_components = {n} is not allowed. Allowed: 1 to 2, the rank of the samples",
        ):
            principal_components(form(samples), n)
        assert principal_components(form(samples), 2)[1].shape == (40, 2)

    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("value", [1.0, 0.1, 1e8, -1e-8, 0.0])
    def test_equal_samples_have_no_directions(self, form: Any, value: float) -> None:
        with pytest.raises(ParameterError, match="the samples are all equal"):
            principal_components(form(np.full((7, 3), value)), 1)

    @pytest.mark.parametrize("form", FORMS)
    def test_one_sample_has_none_around_its_mean_and_one_around_0(self, form: Any) -> None:
        sample = form(np.array([[3.0, -4.0]]))
        with pytest.raises(ParameterError):
            principal_components(sample, 1)
        np.testing.assert_allclose(
            principal_components(sample, 1, centre=False)[1], [[-0.6], [0.8]], atol=1e-15
        )

    @pytest.mark.parametrize("n", [0, -1, 1.5, True, None, "2"])
    def test_what_is_no_number_of_directions(self, n: Any) -> None:
        with pytest.raises(ParameterError, match="n_components"):
            principal_components(np.eye(4), n)

    @pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_numbers_that_are_not_finite(self, form: Any, bad: float) -> None:
        samples = np.eye(5)
        samples[3, 2] = bad
        with pytest.raises(NonFiniteError) as caught:
            principal_components(form(samples), 2)
        assert caught.value.row == 3

    @pytest.mark.parametrize(
        "samples", [np.zeros(4), np.zeros((0, 3)), np.zeros((3, 0)), sp.csr_array((0, 3))]
    )
    def test_shapes(self, samples: Any) -> None:
        for call in (lambda: principal_components(samples, 1), lambda: occupied_columns(samples)):
            with pytest.raises(ShapeError, match="samples"):
                call()


@pytest.fixture(scope="module")
def real() -> Any:
    if not SAMPLE.exists():
        pytest.skip(f"{SAMPLE.name} is not in {DATA}; set OSTRAKA_DATA to the folder that holds it")
    return read_svm(SAMPLE).samples


class TestRealSparseRows:
    def test_columns_that_do_not_occur_can_be_dropped_first(self, real: Any) -> None:
        """Six thousand rows of three million columns would take 177 GB.

        The work takes less than two vectors of that length do.
        """
        kept = occupied_columns(real)
        tracemalloc.start()
        try:
            center, components = principal_components(real[:, kept], 10)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 120 * 2**20
        spread = np.asarray(real[:, kept] @ components - center @ components)
        lengths = np.linalg.norm(spread, axis=0)
        assert (np.diff(lengths) <= 0).all()
        oracle = sp.linalg.svds(
            _centred(real[:, kept], center), k=10, random_state=0, return_singular_vectors=False
        )
        np.testing.assert_allclose(lengths, np.sort(oracle)[::-1], rtol=1e-3)

    def test_all_columns_at_once_cost_the_result_and_no_more(self, real: Any) -> None:
        tracemalloc.start()
        try:
            center, components = principal_components(real, 2)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        result = components.nbytes + center.nbytes
        assert components.shape == (3_231_961, 2)
        assert peak < result + 120 * 2**20
        kept = occupied_columns(real)
        assert not np.delete(components, kept, axis=0).any()
        np.testing.assert_array_equal(components[kept], principal_components(real[:, kept], 2)[1])


def _centred(rows: Any, center: np.ndarray) -> Any:
    """An operator for scipy's own solver, as an oracle."""
    ones = np.ones(rows.shape[0])
    return sp.linalg.LinearOperator(
        rows.shape,
        matvec=lambda v: rows @ v.ravel() - ones * float(center @ v.ravel()),
        rmatvec=lambda u: rows.T @ u.ravel() - center * float(u.sum()),
        dtype=np.float64,
    )
