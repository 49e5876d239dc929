"""Students: they learn what a teacher answers, know their intercept, and how sure to be."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.methods.after_noise.student import (
    add_bias,
    covary,
    even_out,
    soften,
    softmax,
    sureness,
    teach,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("column", [0, 2])
def test_a_constant_feature_carries_the_bias(column: int) -> None:
    features = RNG.standard_normal((40, 3))
    features[:, column] = 0.2
    weights, bias = RNG.standard_normal((3, 4)), RNG.standard_normal(4)
    found = features @ add_bias(features, weights, bias)
    assert np.abs(found - (features @ weights + bias)).max() < 1e-12


def test_without_a_constant_the_bias_is_as_near_as_features_allow() -> None:
    together = RNG.dirichlet(np.ones(3), size=40)
    found = together @ add_bias(together, np.zeros((3, 2)), np.array([1.0, -2.0]))
    assert np.abs(found - [1.0, -2.0]).max() < 1e-9, "rows that sum to 1 hold a constant"
    features = RNG.standard_normal((40, 3))
    off = features @ add_bias(features, np.zeros((3, 1)), np.array([1.0])) - 1.0
    assert np.abs(features.T @ off).max() < 1e-9, "least squares"
    assert not add_bias(np.zeros((5, 2)), np.zeros((2, 2)), np.ones(2)).any()


def test_a_student_of_a_straight_teacher_answers_alike() -> None:
    features = np.column_stack([RNG.standard_normal((500, 3)), np.full(500, 0.3)])
    scores = features @ RNG.standard_normal((4, 3))
    answered = np.eye(3)[scores.argmax(axis=1)].mean(axis=0)
    taught = features @ teach(features, scores, answered)[0]
    assert (taught.argmax(axis=1) == scores.argmax(axis=1)).mean() > 0.8
    shares = np.array([0.5, 0.3, 0.2])
    told = features @ teach(features, scores, shares)[0]
    assert np.abs(told.mean(axis=0) - shares).max() < 1e-9, "classes as common as was released"


def test_shares_are_evened_out_where_more_than_two_classes_count() -> None:
    for two in ([0.5, 0.5], [0.2, 0.8], [0.79, 0.2, 0.008, 0.002]):
        assert np.abs(even_out(np.array(two)) - two).max() < 1e-12, "no more than two count"
    for K in (2, 3, 10):
        assert np.abs(even_out(np.full(K, 1.0 / K)) - 1.0 / K).max() < 1e-12
    shares = np.array([0.4, 0.2, 0.15, 0.1, 0.1, 0.05])
    found = even_out(shares)
    assert found.sum() == pytest.approx(1.0)
    assert (np.diff(found) <= 1e-12).all(), "in the same order"
    assert found[0] < 0.25
    assert found[-1] > 0.1


def test_a_rare_class_keeps_its_rows() -> None:
    """By its share a common class takes rows of rare ones, which the fit explains less."""
    shares, K = np.array([0.46, 0.2, 0.12, 0.1, 0.08, 0.04]), 6
    right = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        centres, labels = 3.0 * rng.standard_normal((K, 3)), rng.choice(K, 1500, p=shares)
        rows = np.column_stack([centres[labels] + rng.standard_normal((1500, 3)), np.ones(1500)])
        answers = np.eye(K)[labels[:300]]
        students = [
            teach(rows[:300], answers, b)[0] for b in (even_out(shares), shares, np.full(K, 1 / K))
        ]
        found = [(rows[300:] @ weights).argmax(axis=1) for weights in students]
        right.append([np.mean(chosen == labels[300:]) for chosen in found])
    evened, by_share, equal = np.mean(right, axis=0)
    assert evened > by_share + 0.02
    assert evened > equal + 0.01


def test_rows_count_as_much_as_they_weigh() -> None:
    features = np.column_stack([RNG.standard_normal((60, 2)), np.full(60, 0.3)])
    scores = RNG.standard_normal((60, 2))
    doubled = np.repeat(np.arange(60), np.where(np.arange(60) < 20, 2, 1))
    rows = np.where(np.arange(60) < 20, 2.0, 1.0) / 80.0
    shares = np.array([0.4, 0.6])
    weighted, _ = teach(features, scores, shares, 0.1, rows)
    repeated, _ = teach(features[doubled], scores[doubled], shares, 0.1)
    assert np.abs(weighted - repeated).max() < 1e-9


@pytest.mark.parametrize("aim", [0.4, 0.6, 0.95])
def test_softening_reaches_its_aim(aim: float) -> None:
    scores = RNG.standard_normal((200, 3))
    factor = soften(scores, sureness, aim)
    assert sureness(softmax(factor * scores)) == pytest.approx(aim, abs=1e-6)


def test_softening_towards_a_covariance() -> None:
    scores = RNG.standard_normal((200, 3))
    aim = covary(scores, softmax(2.5 * scores))
    assert soften(scores, lambda found: covary(scores, found), aim) == pytest.approx(2.5, rel=1e-6)


def test_what_cannot_be_reached_has_a_bound() -> None:
    flat = np.zeros((5, 2))
    for aim in (0.1, 2.0):
        assert 0.0 < soften(flat, sureness, aim) < np.inf
