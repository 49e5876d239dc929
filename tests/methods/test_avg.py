"""`avg`: the mean of what parties send, which always lies in the ball."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ostraka.errors import EmptyPartyError, ParameterError, WrongTypeError
from ostraka.mechanism.bounds import minimiser_radius
from ostraka.methods.avg import Avg
from ostraka.methods.base import Options
from ostraka.party.training.linear import train
from ostraka.poll import Poll
from ostraka.public.promise import Promise
from ostraka.public.task import Task
from ostraka.solve.losses import Logistic, loss_for

TASK = Task(classes=("no", "yes"), n_features=3)
PROMISE = Promise(epsilon=1.0)


def made(task: Task = TASK, **options: Any) -> Avg:
    return Avg.create(task, 10, PROMISE, Options(**options))


def test_without_noise_it_is_the_mean_to_within_the_grid() -> None:
    parameters = np.random.default_rng(0).standard_normal((50, 3))
    method = made()
    mechanism = method.mechanism(PROMISE, 50)
    mean = mechanism.mean(
        method.statistic(method.round_parameters(parameters).sum(axis=0), mechanism)
    )
    assert np.abs(method.weights(mean, mechanism) - parameters.mean(axis=0)).max() <= method.grid


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_local_minimisers_are_not_clipped(n_classes: int, calibration: str) -> None:
    rng = np.random.default_rng(1)
    task = Task(classes=tuple(range(n_classes)), n_features=3)
    method = made(task, calibration=calibration)
    local = np.stack(
        [train(rng.uniform(-0.5, 0.5, (6, 3)), np.arange(6) % n_classes, task) for _ in range(5)]
    )
    mechanism = method.mechanism(PROMISE, 5)
    for weights, units in zip(local, method.round_parameters(local)):
        back = method.weights(units * method.grid, mechanism)
        assert np.abs(back - weights).max() <= 2 * method.grid * n_classes


def test_the_ball_is_that_of_the_minimisers() -> None:
    for n_classes in (2, 5):
        method = made(Task(classes=tuple(range(n_classes)), n_features=3))
        radius = minimiser_radius(loss_for(n_classes), 1e-4)
        assert radius * (1 - 1e-6) <= method.length * method.grid <= radius
    assert minimiser_radius(Logistic(), 1e-4) == pytest.approx(52.8, abs=0.1)


def test_a_smaller_public_ball_means_less_noise() -> None:
    default, small = (made(ball=ball).mechanism(PROMISE, 10) for ball in (None, 1.0))
    assert small.sensitivity == pytest.approx(2.0, rel=1e-6)
    assert small.noise_scale < default.noise_scale
    assert made(ball=1e9).mechanism(PROMISE, 10) == default


@pytest.mark.parametrize("ball", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("calibration", ["tight", "paper"])
def test_whatever_a_party_sends_it_stays_in_the_ball(ball: float, calibration: str) -> None:
    """NaN and infinity count as zero: a refusal would give the party away."""
    method = made(ball=ball) if calibration == "tight" else made(calibration="paper")
    values = (np.nan, np.inf, 1e308, 1e-320, -1e153, 0.0)
    with np.errstate(all="raise"):
        units = method.round_parameters(np.array([[value, 1.0, value] for value in values]))
    assert method.domain.outside(units).size == 0
    assert not units[:2].any()


def test_wide_models_have_a_coarser_lattice() -> None:
    """With more numbers than 64 bits can square and add, the ball is shorter, not refused."""
    method = made(Task(classes=(0, 1), n_features=2**16))
    assert method.length < 2**24
    units = method.round_parameters(np.random.default_rng(0).standard_normal((1, 2**16)) * 1e9)
    assert method.domain.outside(units).size == 0
    length = float(np.linalg.norm(units.astype(float)))
    assert length >= 0.999 * method.length


def test_bad_input() -> None:
    for ball in (-1.0, 0.0, 1e-200, float("nan"), "1"):
        with pytest.raises(ParameterError, match="ball"):
            made(ball=ball)
    with pytest.raises(ParameterError, match='None for calibration "paper"'):
        made(ball=1.0, calibration="paper")
    with pytest.raises(EmptyPartyError, match="Party 'ward-3' has no samples"):
        train(np.zeros((0, 3)), [], TASK, party="ward-3")
    with pytest.raises(WrongTypeError, match="public samples, for method 'moments'"):
        Poll.create(TASK, method="moments", epsilon=1.0, parties=5)
