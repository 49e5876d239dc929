"""From a noisy statistic to a model: slow exact oracles, and statistics that no data gives."""

from __future__ import annotations

import gc
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.mechanism.geometry import class_basis
from ostraka.methods.after_noise import denoise
from ostraka.methods.after_noise.denoise import (
    STEPS,
    best_k,
    feasible_labels,
    onto_simplex,
    ridge,
    self_train,
)
from ostraka.public.whitening import Whitening
from ostraka.solve.losses import Array


def nearest_in_simplex(row: list[float]) -> list[Fraction]:
    """Exact: subtract the t for which the positive parts sum to 1.

    It is found by trying every number of positive entries.
    """
    exact = [Fraction(value) for value in row]
    for n_positive in range(1, len(row) + 1):
        largest = sorted(exact, reverse=True)[:n_positive]
        t = (sum(largest) - 1) / n_positive
        if sum(max(value - t, Fraction(0)) for value in exact) == 1:
            return [max(value - t, Fraction(0)) for value in exact]
    raise AssertionError


entries = (
    st.floats(-3, 3)
    | st.floats(-1e9, 1e9)
    | st.sampled_from([1e300, -1e300, 1e17, -1e17, 5e-324, 0.0, 1.0, 2.0**53])
)
matrices = st.integers(1, 6).flatmap(
    lambda k: st.lists(st.lists(entries, min_size=k, max_size=k), min_size=1, max_size=4)
)


def simplex_errors(project: object, rows: list[list[float]]) -> float:
    """The largest error of any entry, in exact arithmetic."""
    found = project(np.array(rows))  # type: ignore[operator]
    exact = [nearest_in_simplex(row) for row in rows]
    return max(
        float(abs(Fraction(float(a)) - b))
        for ours, theirs in zip(found, exact)
        for a, b in zip(ours, theirs)
    )


@settings(max_examples=300)
@given(matrices)
def test_the_nearest_point_of_the_simplex(rows: list[list[float]]) -> None:
    found = onto_simplex(np.array(rows))
    assert (found >= 0.0).all()
    assert (np.abs(found.sum(axis=1) - 1.0) <= 1e-12).all()
    assert simplex_errors(onto_simplex, rows) <= 1e-12


def unshifted(rows: Array) -> Array:
    """The mutant that subtracts nothing first: 1 is lost beside 2⁵³."""
    descending = np.sort(rows, axis=1)[:, ::-1]
    excess = (np.cumsum(descending, axis=1) - 1.0) / np.arange(1, rows.shape[1] + 1)
    last = np.count_nonzero(descending > excess, axis=1) - 1
    return np.maximum(rows - excess[np.arange(len(rows)), last][:, np.newaxis], 0.0)


def test_a_projection_that_loses_the_one_is_caught() -> None:
    assert simplex_errors(unshifted, [[0.5, 0.2, -1.0]]) <= 1e-12
    assert simplex_errors(unshifted, [[1e17, 0.0, -1.0]]) > 1.0
    assert simplex_errors(onto_simplex, [[1e17, 0.0, -1.0]]) <= 1e-12


def whitened(n: int = 80, k: int = 5, seed: int = 0) -> Array:
    rows = np.random.default_rng(seed).standard_normal((n, k)) * np.geomspace(1, 0.1, k)
    return rows @ Whitening.of(rows).map(k)


def misfit(white: Array, contrasts: Array, target: Array, labels: Array) -> float:
    """(N/2)·‖ΦᵀSQ/N − Y‖², which the steps minimise; its gradient has a Lipschitz constant of 1."""
    return (
        len(white) / 2.0 * float(np.sum((white.T @ labels @ contrasts / len(white) - target) ** 2))
    )


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_labels_that_exist_are_approached_as_fast_as_the_theorem_says(n_classes: int) -> None:
    """f(S) ≤ 2‖S₀ − S*‖²/(t+1)² for labels S* that give the statistic exactly.

    [Beck and Teboulle 2009, Theorem 4.4].
    """
    white, contrasts = whitened(), class_basis(n_classes)
    rng = np.random.default_rng(1)
    for labels in (
        np.eye(n_classes)[rng.integers(0, n_classes, 80)],
        rng.dirichlet(np.ones(n_classes), 80),
    ):
        target = white.T @ labels @ contrasts / 80
        found = feasible_labels(white, contrasts, target)
        bound = 2.0 * np.sum((labels - 1.0 / n_classes) ** 2) / (STEPS + 1) ** 2
        # Φ is white up to 1e-6.
        assert misfit(white, contrasts, target, found) <= bound * (1.0 + 1e-4)


@pytest.mark.parametrize("size", [0.0, 1e-9, 0.1, 1.0, 30.0, 1e6, 1e17, 1e100, 1e300])
@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_any_statistic_gives_labels_in_the_simplex_that_fit_it_better(
    n_classes: int, size: float
) -> None:
    white, contrasts = whitened(), class_basis(n_classes)
    target = size * np.random.default_rng(2).standard_normal((5, n_classes - 1))
    labels = feasible_labels(white, contrasts, target)
    assert (labels >= 0.0).all()
    assert (np.abs(labels.sum(axis=1) - 1.0) <= 1e-12).all()
    if size <= 1e100:
        uniform = np.full_like(labels, 1.0 / n_classes)
        before, after = (misfit(white, contrasts, target, each) for each in (uniform, labels))
        assert after <= before


@pytest.mark.parametrize("penalty", [1e-8, 1e-3, 1.0, 1e4])
def test_ridge_solves_its_equations(penalty: float) -> None:
    """Against least squares on the rows with √penalty·I below them: features are never squared."""
    rng = np.random.default_rng(3)
    features = rng.standard_normal((50, 6)) / 3
    labels = rng.dirichlet(np.ones(4), 50)
    below = np.concatenate([features / np.sqrt(50), np.sqrt(penalty) * np.eye(6)])
    aims = np.concatenate([(labels - 0.25) / np.sqrt(50), np.zeros((6, 4))])
    expected = np.linalg.lstsq(below, aims, rcond=None)[0]
    assert (
        np.abs(ridge(features, labels, penalty) - expected).max() <= 1e-9 * np.abs(expected).max()
    )


def test_ridge_takes_features_without_full_rank() -> None:
    features = np.ones((5, 3)) / 2
    weights = ridge(features, np.eye(2)[[0, 0, 0, 1, 1]], 0.1)
    assert np.isfinite(weights).all()
    assert np.abs(weights - weights[0]).max() <= 1e-12


def test_a_model_that_is_sure_of_itself_stays_so() -> None:
    rng = np.random.default_rng(4)
    features = np.concatenate(
        [rng.standard_normal((200, 3)) * 0.05 + centre for centre in 0.8 * np.eye(3)]
    )
    weights = np.eye(3)
    kept = self_train(features, weights)
    assert ((features @ kept).argmax(axis=1) == (features @ weights).argmax(axis=1)).all()


@pytest.mark.parametrize(
    "values",
    [
        np.full(4, 2.0**-1000),
        np.array([1.0, 1e-10]),
        np.array([1e300]),
        np.full(3, np.finfo(float).tiny),
    ],
)
@pytest.mark.parametrize("spread", [0.0, 1e-6, 1.0, 1e200])
def test_the_number_of_directions_is_one_of_those_there_are(values: Array, spread: float) -> None:
    assert 1 <= best_k(values, np.full(len(values), spread), 3, 100) <= len(values)


def test_more_noise_never_asks_for_more_directions() -> None:
    values = np.geomspace(1, 1e-4, 30)
    found = [
        best_k(values, noise * np.arange(1.0, 31.0), 3, 1000)
        for noise in np.geomspace(1e-8, 10, 30)
    ]
    assert (np.diff(found) <= 0).all()
    assert found[0] > found[-1]


@pytest.mark.parametrize("writeable", [True, False])
def test_second_moments_that_are_kept_are_those_of_the_features(writeable: bool) -> None:
    """Kept only where nobody can change the features, and only as long as they live."""
    rng = np.random.default_rng(0)
    features, labels = rng.standard_normal((40, 3)), onto_simplex(rng.standard_normal((40, 4)))
    features.flags.writeable = writeable
    shares = np.full(40, 1.0 / 40)
    for _ in range(2):
        found = ridge(features, labels, 0.1)
        assert (found == ridge(features, labels, 0.1, shares)).all()
        if writeable:
            features *= 2.0
    key = id(features)
    assert (key in denoise._kept) is not writeable
    del features
    gc.collect()
    assert key not in denoise._kept


def test_second_moments_larger_than_the_features_are_not_kept() -> None:
    wide = np.random.default_rng(0).standard_normal((3, 4))
    wide.flags.writeable = False
    ridge(wide, np.eye(3), 0.1)
    assert id(wide) not in denoise._kept
