from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ostraka.errors import EmptyPartyError, ParameterError, ShapeError
from ostraka.local.linear import train
from ostraka.losses import Array, Logistic
from ostraka.methods import avg
from ostraka.methods.terms import Terms
from ostraka.model import Task
from ostraka.noise import Rehearsal
from ostraka.sensitivity.bounds import minimiser_radius

TASK = Task(classes=("no", "yes"), n_features=3)
TERMS = Terms(epsilon=1.0)


def test_the_statistic_is_the_mean_to_within_the_grid() -> None:
    parameters = np.random.default_rng(0).standard_normal((50, 3))
    planned = avg.plan(TASK, 50, TERMS)
    mean = np.array(avg.statistic(parameters, planned), dtype=float) * planned.certificate.grid
    assert np.abs(mean - parameters.mean(axis=0)).max() <= planned.certificate.grid


def test_parameters_may_come_from_a_stream() -> None:
    def stream() -> Iterator[Array]:
        for party in range(5):
            yield np.full(3, float(party))

    planned = avg.plan(TASK, 5, TERMS)
    assert avg.statistic(stream(), planned) == avg.statistic(np.arange(5.0)[:, None] * np.ones(3), planned)


def test_local_minimisers_are_not_clipped_and_anything_longer_is() -> None:
    rng = np.random.default_rng(1)
    planned = avg.plan(TASK, 2, TERMS)
    radius = planned.certificate.radius
    assert radius == minimiser_radius(Logistic(), TERMS.lambda_)
    local = train(rng.uniform(-0.5, 0.5, (6, 3)), ["no", "yes"] * 3, TASK)
    grid = planned.certificate.grid
    assert np.abs(np.array(avg.contribution(local, planned, 0), dtype=float) * grid - local).max() <= grid
    huge = np.array(avg.contribution(np.array([1e9, 0, 0]), planned, 0), dtype=float) * grid
    assert huge[0] <= radius + grid


def test_a_smaller_public_radius_means_less_noise() -> None:
    default, small = avg.plan(TASK, 10, TERMS), avg.plan(TASK, 10, TERMS, radius=1.0)
    assert small.certificate.sensitivity_parts.bound == 2 * 1.0 / 10
    assert small.certificate.noise_scale < default.certificate.noise_scale
    assert avg.plan(TASK, 10, TERMS, radius=1e9).certificate == default.certificate


@pytest.mark.parametrize("radius", [1e-12, 1.0, 1e12])
def test_whatever_a_party_sends_it_stays_in_the_ball(radius: float) -> None:
    """Numbers that are none count as zero: a refusal would tell on the party."""
    planned = avg.plan(TASK, 2, TERMS, radius=radius)
    grid, limit = planned.certificate.grid, planned.certificate.radius
    assert limit is not None
    for value in (np.nan, np.inf, 1e308, 1e-320, -1e153, 0.0):
        units = avg.contribution(np.array([value, 1.0, value]), planned, 0)
        assert np.linalg.norm(np.array(units, dtype=float)) * grid <= limit * (1 + 1e-12) + 2 * grid


def test_bad_input() -> None:
    with pytest.raises(ShapeError, match="The parameters of party 0"):
        avg.release([np.ones(4), np.ones(3)], TASK, 2, TERMS, source=Rehearsal(0))
    with pytest.raises(ParameterError, match=r"n_parties = 3.*2, as many as sent"):
        avg.release([np.ones(3), np.ones(3)], TASK, 3, TERMS, source=Rehearsal(0))
    for radius in (-1.0, 0.0, 1e-200, float("nan"), "1"):
        with pytest.raises(ParameterError, match="radius"):
            avg.plan(TASK, 2, TERMS, radius=radius)
    with pytest.raises(ParameterError, match='None for calibration "paper"'):
        avg.plan(TASK, 2, Terms(epsilon=1.0, calibration="paper"), radius=1.0)
    with pytest.raises(EmptyPartyError, match="Party 'ward-3' has no samples"):
        train(np.zeros((0, 3)), [], TASK, party="ward-3")
