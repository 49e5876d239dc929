"""The most probable model: its optimum, what data it stands for, and what noise alone gives."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ostraka.methods.after_noise import posterior
from ostraka.methods.after_noise.posterior import Evidence, fit_softmax, likely_shares, spread
from ostraka.methods.after_noise.student import softmax
from ostraka.solve.losses import Array

RNG = np.random.default_rng(0)


def whitened(n: int, k: int) -> Array:
    rows = RNG.standard_normal((n, k))
    rows -= rows.mean(axis=0)
    return rows @ np.linalg.inv(np.linalg.cholesky(rows.T @ rows / n)).T


def evidence(target: Array, shares: Array, variance: float = 1e-6) -> Evidence:
    signal = np.full(len(target), 1.0 / len(target))
    return Evidence(shares=shares, target=target, variance=variance, signal=signal, n_rows=1000)


def labelled(white: Array, n_classes: int, strength: float) -> tuple[Array, Array]:
    """Class indices of a softmax model, and their covariance with the features."""
    scores = strength * white @ RNG.standard_normal((white.shape[1], n_classes))
    labels = (scores + RNG.gumbel(size=scores.shape)).argmax(axis=1)
    hot = np.eye(n_classes)[labels]
    return labels, white.T @ (hot - hot.mean(axis=0)) / len(white)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_with_exact_moments_it_is_the_regression_on_all_labels(n_classes: int) -> None:
    white = whitened(2000, 3)
    labels, target = labelled(white, n_classes, 0.7)
    shares = np.bincount(labels, minlength=n_classes) / len(labels)
    slopes, bias = fit_softmax(white, target, shares, np.full(3, 1e-9))
    expected = LogisticRegression(C=1e6, tol=1e-9).fit(white, labels).predict_proba(white)
    assert np.abs(softmax(white @ slopes + bias) - expected).max() < 1e-2


@pytest.mark.parametrize("weighted", [False, True])
def test_its_slope_vanishes_at_the_optimum(weighted: bool) -> None:
    white = whitened(300, 4)
    _, target = labelled(white, 3, 1.0)
    rows = RNG.dirichlet(np.ones(300)) if weighted else np.full(300, 1.0 / 300)
    shares, penalty = np.array([0.5, 0.3, 0.2]), np.array([0.01, 0.1, 1.0, 10.0])
    slopes, bias = fit_softmax(white, target, shares, penalty, rows if weighted else None)
    found = softmax(white @ slopes + bias)
    moments = (white * rows[:, np.newaxis]).T @ found
    aim = target + np.outer(rows @ white, shares)
    assert np.abs(moments - aim + penalty[:, np.newaxis] * slopes).max() < 2e-3
    assert np.abs(rows @ found - shares).max() < 2e-3


def test_noise_alone_leaves_the_class_shares() -> None:
    white, shares, named = whitened(500, 20), np.array([0.6, 0.3, 0.1]), []
    for seed in range(20):
        target = 0.3 * np.random.default_rng(seed).standard_normal((20, 3))
        target -= target.mean(axis=1, keepdims=True)
        found = evidence(target, shares, 0.3**2)
        assert not found.separated
        slopes, bias = fit_softmax(white, target, shares, found.penalties())
        named.append(float(np.mean((white @ slopes + bias).argmax(axis=1) == 0)))
    assert np.median(named) > 0.99
    assert min(named) > 0.7


def test_strength_is_how_much_a_line_explains() -> None:
    white = whitened(5000, 4)
    labels, target = labelled(white, 3, 30.0)
    shares = np.bincount(labels, minlength=3) / len(labels)
    hot = np.eye(3)[labels] - shares
    explained = float(np.sum(target**2) / np.mean(np.sum(hot**2, axis=1)))
    assert evidence(target, shares).strength == pytest.approx(explained, abs=0.01)
    assert evidence(target, shares).separated
    assert not evidence(target, shares, variance=0.05).separated, "it could be chance"


def test_labels_that_vary_more_than_labels_can_are_noticed() -> None:
    shares = np.array([0.5, 0.5])
    possible = np.array([[0.4, -0.4], [0.0, 0.0]])
    assert evidence(possible, shares, 1e-4).surplus < 0.0
    assert evidence(3.0 * possible, shares, 1e-4).surplus > 5.0


def test_what_a_model_owes_to_noise_is_taken_off() -> None:
    """A model fitted to noise alone seems to vary with it; corrected, it does not."""
    white, variance, seen = whitened(400, 10), 0.01, []
    shares = np.full(3, 1.0 / 3.0)
    for seed in range(40):
        target = variance**0.5 * np.random.default_rng(seed).standard_normal((10, 3))
        target -= target.mean(axis=1, keepdims=True)
        found = evidence(target, shares, variance)
        penalties = found.penalties(0.01)
        slopes, _ = fit_softmax(white, target, shares, penalties)
        told, _ = found.covariance(slopes, penalties)
        seen.append((float(np.sum(slopes * target)), told))
    raw, corrected = np.mean(seen, axis=0)
    assert raw > 0.05
    assert abs(corrected) < 0.2 * raw


def test_shares_are_shrunk_made_possible_and_never_made_equal() -> None:
    exact = likely_shares(np.array([0.7, 0.2, 0.1]), 0.0)
    assert exact == pytest.approx([0.7, 0.2, 0.1])
    noisy = likely_shares(np.array([0.7, 0.2, 0.1]), 0.05)
    assert 1.0 / 3.0 < noisy[0] < 0.7
    for found in (np.array([3.0, -1.0, -1.0]), np.array([1e9, -1e9, 0.0]), np.zeros(3)):
        shares = likely_shares(found, 10.0)
        assert shares.sum() == pytest.approx(1.0)
        assert (shares > 0.0).all()
        assert shares.argmax() == found.argmax(), "the commonest class is still named"


def test_very_many_rows_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    white = whitened(2000, 2)
    _, target = labelled(white, 2, 1.0)
    shares, penalty = np.array([0.5, 0.5]), np.full(2, 0.01)
    whole, _ = fit_softmax(white, target, shares, penalty)
    monkeypatch.setattr(posterior, "MOST_ROWS", 500)
    sampled, _ = fit_softmax(white, target, shares, penalty)
    assert 0.0 < np.abs(whole - sampled).max() < 0.2 * np.abs(whole).max()


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e12, 1e100])
def test_whatever_the_noise_did_there_is_a_model(size: float) -> None:
    white = whitened(50, 3)
    target = size * np.array([[1.0, -1.0], [0.5, -0.5], [0.0, 0.0]])
    found = evidence(target, np.array([0.9, 0.1]), max(size**2, 1e-300))
    with np.errstate(all="ignore"):
        slopes, bias = fit_softmax(white, target, found.shares, found.penalties())
    assert np.isfinite(slopes).all()
    assert np.isfinite(bias).all()


def test_labels_of_one_class_vary_a_little() -> None:
    assert spread(np.array([1.0, 0.0])) > 0.0


def test_public_rows_are_doubted_as_far_as_labels_are_explained() -> None:
    """Where a line explains little, few public rows are as good as many; where it explains much,
    or goes on from a model that does, they are not.
    """
    shares = np.array([0.5, 0.3, 0.2])

    def penalty(size: float, n_rows: int, explained: float | None = None) -> float:
        target = np.full((4, 3), size) * [1.0, -0.5, -0.5]
        found = Evidence(
            shares=shares,
            target=target,
            variance=1e-3,
            signal=np.full(4, 0.25),
            n_rows=n_rows,
            explained=explained,
        )
        return float(found.penalties()[0] * found.strength)

    weak, strong = (penalty(size, 100) - penalty(size, 10**9) for size in (0.02, 0.2))
    assert 0.0 < weak < 0.3 * strong
    assert penalty(0.02, 100, explained=1.0) > penalty(0.2, 100)
