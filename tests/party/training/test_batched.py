"""Batched local training gives the general solver's answers, certified, for parties of any size."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.party.training import batched
from ostraka.party.training.linear import train_features
from ostraka.solve import Risk
from ostraka.solve.losses import Array, loss_for

pytest.importorskip("numba", reason="numba is not installed (extra `experiments`)")
TOLERANCE = 1e-8


def problem(
    n_classes: int, sizes: list[int], d: int, seed: int = 0
) -> tuple[Array, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((sum(sizes), d))
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True) * (1 + 1e-9))
    return rows, rng.integers(0, n_classes, sum(sizes)), np.concatenate([[0], np.cumsum(sizes)])


def certified_norm(
    rows: Array, labels: np.ndarray, weights: Array, n_classes: int, lambda_: float
) -> float:
    shares = labels.astype(float) if n_classes == 2 else np.eye(n_classes)[labels]
    risk = Risk(rows, shares, loss_for(n_classes), lambda_)
    norm = float(np.linalg.norm(risk.gradient(weights, risk.scores(weights))))
    return norm + risk.shape.gradient_rounding(float(np.linalg.norm(weights)) * (1 + 1e-9))


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("lambda_", [1e-6, 1e-4, 1e-2, 1.0])
def test_every_party_is_solved_to_its_tolerance_and_as_the_general_solver_does(
    n_classes: int, lambda_: float
) -> None:
    sizes = [1, 2, 5, 22, 6, 1, 40]
    rows, labels, starts = problem(n_classes, sizes, 12)
    weights = batched.train_batched(rows, labels, starts, n_classes, lambda_, TOLERANCE)
    for party in range(len(sizes)):
        own = slice(starts[party], starts[party + 1])
        assert (
            certified_norm(rows[own], labels[own], weights[party], n_classes, lambda_)
            <= 1.01 * TOLERANCE
        )
        general = train_features(rows[own], labels[own], n_classes, lambda_, "logistic")
        assert np.linalg.norm(weights[party] - general) <= 2 * TOLERANCE / lambda_


@pytest.mark.parametrize("n_classes", [2, 4])
def test_parties_with_one_class_zero_rows_and_repeated_rows(n_classes: int) -> None:
    rows, labels, starts = problem(n_classes, [4, 4, 4], 5)
    labels[:4] = 1
    rows[4:8] = 0.0
    rows[8:12] = rows[8]
    weights = batched.train_batched(rows, labels, starts, n_classes, 1e-4, TOLERANCE)
    assert (weights[1] == 0.0).all()
    for party in range(3):
        own = slice(starts[party], starts[party + 1])
        assert (
            certified_norm(rows[own], labels[own], weights[party], n_classes, 1e-4)
            <= 1.01 * TOLERANCE
        )


def test_large_parties_and_failures_go_to_the_general_solver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows, labels, starts = problem(2, [300, 5], 4)
    asked = []

    def watched(*arguments: object) -> Array:
        asked.append(len(arguments[1]))  # type: ignore[arg-type]
        return train_features(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(batched, "train_features", watched)
    batched.train_batched(rows, labels, starts, 2, 1e-4, TOLERANCE)
    assert asked == [300]
    monkeypatch.setattr(batched, "_bounds", lambda *_: np.array([np.nan, np.inf]))
    batched.train_batched(rows, labels, starts, 2, 1e-4, TOLERANCE)
    assert asked == [300, 300, 5], "a party that is not proved solved is solved again"


def test_parties_do_not_see_each_other() -> None:
    rows, labels, starts = problem(3, [6, 7, 8], 9)
    before = batched.train_batched(rows, labels, starts, 3, 1e-3)
    rows[6:13], labels[6:13] = 0.1, 0
    after = batched.train_batched(rows, labels, starts, 3, 1e-3)
    assert (before[[0, 2]] == after[[0, 2]]).all()
    assert (before[1] != after[1]).any()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_parties_without_rows_have_weights_of_zero_and_move_nobody(n_classes: int) -> None:
    rows, labels, starts = problem(n_classes, [6, 300, 8], 9)
    before = batched.train_batched(rows, labels, starts, n_classes, 1e-3)
    with_empty = np.array([0, 0, 6, 306, 306, 314, 314])
    after = batched.train_batched(rows, labels, with_empty, n_classes, 1e-3)
    assert (after[[0, 3, 5]] == 0.0).all()
    assert (after[[1, 2, 4]] == before).all()
    nobody = batched.train_batched(rows[:0], labels[:0], np.zeros(4, dtype=int), n_classes, 1e-3)
    assert nobody.shape == (3, *before.shape[1:])
    assert (nobody == 0.0).all()
