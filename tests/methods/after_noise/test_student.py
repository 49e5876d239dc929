"""Students: they learn what a teacher answers, know their intercept, and how sure to be."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.methods.after_noise.student import (
    add_bias,
    covary,
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
