"""Forecasts: from public things alone, and they get better with ε and with parties."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from ostraka.auxiliary import AuxiliarySet
from ostraka.forecast import at_epsilons, by_parties, forecast
from ostraka.methods.statistic import StatisticTerms
from ostraka.whitening import half_whitened

SAMPLES, _ = make_blobs(300, centers=5, n_features=6, random_state=0)
AUXILIARY = AuxiliarySet(SAMPLES, ("a", "b", "c"), preprocessing=half_whitened(SAMPLES, 3))
TERMS = StatisticTerms(epsilon=1.0, samples_each=5)


def test_both_methods_are_forecast_and_the_better_one_comes_first() -> None:
    found = forecast(AUXILIARY, 500, TERMS)
    assert {each.method for each in found} == {"moments", "cells"}
    assert found[0].agreement >= found[1].agreement
    for each in found:
        assert len(each.noise_to_signal) == each.directions <= each.dimension
        assert all(ratio > 0.0 for ratio in each.noise_to_signal)


def test_forecasts_repeat() -> None:
    assert forecast(AUXILIARY, 500, TERMS) == forecast(AUXILIARY, 500, TERMS)


def test_less_privacy_and_more_parties_help() -> None:
    low, high = (max(each.agreement for each in row) for row in at_epsilons(AUXILIARY, 500, TERMS, [0.003, 10.0]))
    assert high > low + 0.2
    sizes = by_parties(AUXILIARY, TERMS, [5000, 5])
    assert list(sizes) == [5, 5000]
    assert sizes[5000] > sizes[5] + 0.2


@pytest.mark.parametrize("method", ["moments", "cells"])
def test_noise_to_signal_falls_with_the_number_of_parties(method: str) -> None:
    few, many = ({each.method: each for each in forecast(AUXILIARY, m, TERMS)}[method] for m in (100, 100_000))
    assert np.median(many.noise_to_signal) < np.median(few.noise_to_signal)
