"""μ bounds what any move of the labels does to the gradient; the bases are what they say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from ostraka.mechanism import geometry
from ostraka.mechanism.geometry import class_basis, gradient_factor, span_basis
from ostraka.solve.losses import Array
from tests.mechanism.worlds import unit_rows

RNG = np.random.default_rng(0)
SETS = {
    "sphere": unit_rows(RNG, 50, 4),
    "all alike": np.tile(unit_rows(RNG, 1, 3), (20, 1)),
    "short": unit_rows(RNG, 30, 5) * 0.01,
    "zeros": np.zeros((4, 3)),
    "one": unit_rows(RNG, 1, 7),
    "flat": unit_rows(RNG, 40, 3) @ np.eye(3, 6),
    "wide": unit_rows(RNG, 5, 60),
    "long": unit_rows(RNG, 3000, 2),
}


def worst_move(features: Array) -> float:
    """The largest ‖Xᵀb‖/N over |b_i| ≤ 1 that alternating maximisation finds."""
    rng, best = np.random.default_rng(1), 0.0
    for _ in range(20):
        u = rng.standard_normal(features.shape[1])
        for _ in range(20):
            u = features.T @ np.sign(features @ u)
        best = max(best, float(np.linalg.norm(u)) / len(features))
    return best


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix], ids=["dense", "csr"])
def test_no_move_exceeds_mu(name: str, form: type) -> None:
    mu = gradient_factor(form(SETS[name]))
    assert worst_move(SETS[name]) <= mu <= 1.0


def test_mu_is_attained_when_all_samples_are_alike() -> None:
    assert worst_move(SETS["all alike"]) >= 0.9999999 * gradient_factor(SETS["all alike"])


def test_mu_is_small_on_a_sphere_and_a_smaller_one_is_caught() -> None:
    mu = gradient_factor(SETS["sphere"])
    assert mu < 0.8
    assert worst_move(SETS["sphere"]) > 0.8 * mu


def test_mu_is_at_least_the_exact_mean_norm_or_root_of_the_exact_trace_share() -> None:
    """One column: mean|x| and √mean x² are both exact rationals to compare with."""
    x = np.array([[0.1], [0.7], [-0.3]])
    exact = sum(abs(Fraction(float(v))) for v in x[:, 0]) / 3
    assert Fraction(gradient_factor(x)) >= exact


def test_large_sets_fall_back_to_the_mean_norm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry, "MAX_GRAM", 3)
    assert gradient_factor(SETS["sphere"]) >= 0.999
    assert span_basis(SETS["flat"]) is None


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_class_basis_is_orthonormal_and_orthogonal_to_ones(n_classes: int) -> None:
    q = class_basis(n_classes)
    assert q.shape == (n_classes, n_classes - 1)
    assert np.abs(q.T @ q - np.eye(n_classes - 1)).max() < 1e-14
    assert np.abs(q.sum(axis=0)).max() < 1e-14


@pytest.mark.parametrize(("name", "rank"), [("flat", 3), ("wide", 5), ("all alike", 1), ("one", 1)])
def test_span_basis_spans_the_samples(name: str, rank: int) -> None:
    for features in (SETS[name], sp.csr_matrix(SETS[name])):
        u = span_basis(features)
        assert u is not None
        assert u.shape == (SETS[name].shape[1], rank)
        assert np.abs(SETS[name] @ u @ u.T - SETS[name]).max() < 1e-12


def test_full_rank_needs_no_basis_and_zeros_keep_one_direction() -> None:
    assert span_basis(SETS["sphere"]) is None
    u = span_basis(SETS["zeros"])
    assert u is not None
    assert u.shape == (3, 1)
