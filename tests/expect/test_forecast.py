"""Forecasts: from public things alone, and they get better with ε and with parties."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from ostraka.expect.forecast import forecast, outlook
from ostraka.methods.base import Options
from ostraka.methods.choose import CANDIDATES
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.public.whitening import half_whiten

SAMPLES, _ = make_blobs(300, centers=5, n_features=6, random_state=0)
AUXILIARY = AuxiliarySet(SAMPLES, ("a", "b", "c"), preprocessing=half_whiten(SAMPLES, 3))
PROMISE = Promise(epsilon=1.0)
OPTIONS = Options(samples_each=5)


def test_all_candidates_are_forecast_and_the_best_one_comes_first() -> None:
    found = forecast(AUXILIARY, 500, PROMISE, OPTIONS)
    assert {each.method for each in found} == set(CANDIDATES)
    assert [each.right for each in found] == sorted((each.right for each in found), reverse=True)
    for each in found:
        assert each.epsilon == 1.0
        assert len(each.noise_to_signal) == each.directions <= each.dimension
        assert all(ratio > 0.0 for ratio in each.noise_to_signal)


def test_forecasts_repeat() -> None:
    first, second = (forecast(AUXILIARY, 500, PROMISE, OPTIONS) for _ in range(2))
    assert first == second


def test_what_is_forecast_is_what_a_poll_would_choose() -> None:
    best, other, last = forecast(AUXILIARY, 500, PROMISE, OPTIONS)
    assert last.method == "one cell"
    assert last.directions == 1
    poll = Poll.create(AUXILIARY, epsilon=1.0, parties=500, samples_each=5)
    assert poll.method.name == best.method
    assert poll.forecast == best.kept
    assert poll.mechanism(500).dimension == best.dimension
    asked = Poll.create(AUXILIARY, method=other.method, epsilon=1.0, parties=500, samples_each=5)
    assert asked.mechanism(500).dimension == other.dimension
    assert asked.mechanism(500).noise == other.noise


def test_a_noise_that_cells_cannot_have_leaves_moments_alone() -> None:
    for noise in ("l2", "gaussian"):
        (only,) = forecast(AUXILIARY, 500, Promise(epsilon=1.0, delta=1e-6, noise=noise), OPTIONS)
        assert (only.method, only.noise) == ("moments", noise)


def test_less_privacy_and_more_parties_help() -> None:
    found = outlook(AUXILIARY, 500, PROMISE, OPTIONS, epsilons=[0.003, 10.0], numbers=[5000, 5])
    assert [[each.epsilon for each in row] for row in found.by_epsilon] == [[0.003] * 3, [10.0] * 3]
    low, high = (row[0].kept for row in found.by_epsilon)
    assert high > low + 0.2
    assert list(found.by_parties) == [5, 5000]
    assert found.by_parties[5000] > found.by_parties[5] + 0.2


def test_an_outlook_holds_the_forecasts_of_each_case_by_itself() -> None:
    found = outlook(AUXILIARY, 500, PROMISE, OPTIONS, epsilons=[0.1, 1.0], numbers=[50, 500])
    for epsilon, row in zip((0.1, 1.0), found.by_epsilon, strict=True):
        assert row == forecast(AUXILIARY, 500, replace(PROMISE, epsilon=epsilon), OPTIONS)
    for n_units, kept in found.by_parties.items():
        assert kept == forecast(AUXILIARY, n_units, PROMISE, OPTIONS)[0].kept


@pytest.mark.parametrize("method", ["moments", "cells"])
def test_noise_to_signal_falls_with_the_number_of_parties(method: str) -> None:
    few, many = (
        {each.method: each for each in forecast(AUXILIARY, m, PROMISE, OPTIONS)}[method]
        for m in (100, 100_000)
    )
    assert np.median(many.noise_to_signal) < np.median(few.noise_to_signal)


def test_twice_the_epsilon_halves_the_noise_of_the_same_cells() -> None:
    one, two = (
        forecast(AUXILIARY, 10**9, replace(PROMISE, epsilon=epsilon), OPTIONS)
        for epsilon in (1.0, 2.0)
    )
    first, second = (next(each for each in found if each.method == "cells") for found in (one, two))
    assert first.directions == second.directions
    ratios = np.array(first.noise_to_signal) / np.array(second.noise_to_signal)
    assert np.abs(ratios - 2.0).max() <= 1e-9
