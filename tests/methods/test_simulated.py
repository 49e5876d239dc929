"""Simulated parties: their lengths and what shortening leaves, against the definitions."""

from __future__ import annotations

import numpy as np

from ostraka.methods.simulated import N_SIMULATED, SimulatedParties


def simulated(samples_each: int = 4) -> SimulatedParties:
    white = np.random.default_rng(0).standard_normal((200, 5))
    values = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    return SimulatedParties.of(
        white, samples_each, lambda rows, generator: values[generator.integers(0, 3, rows.shape)]
    )


def test_lengths_are_those_of_the_first_directions() -> None:
    parties = simulated()
    assert parties.sums.shape == (N_SIMULATED, 5, 2)
    for k in (1, 3, 5):
        expected = [np.linalg.norm(each[:k]) for each in parties.sums]
        assert np.allclose(parties.lengths[:, k - 1], expected, atol=1e-12)
        assert abs(parties.radii[k - 1] - np.mean(expected)) <= 1e-12


def test_what_shortening_leaves() -> None:
    parties = simulated()
    k = 3
    radius = parties.radii[k - 1]
    shortened = [each[:k] * min(1.0, radius / np.linalg.norm(each[:k])) for each in parties.sums]
    kept = np.mean([min(1.0, radius / np.linalg.norm(each[:k])) for each in parties.sums])
    assert abs(parties.kept[k - 1] - kept) <= 1e-12
    assert np.abs(parties.shorten_mean(k) - np.mean(shortened, axis=0) / kept).max() <= 1e-12


def test_they_are_the_same_every_time_and_many_samples_stay_small() -> None:
    assert (simulated().sums == simulated().sums).all()
    assert simulated(10**9).sums.shape == (N_SIMULATED, 5, 2)


def test_parties_without_extent_have_a_radius() -> None:
    nothing = SimulatedParties(np.zeros((N_SIMULATED, 2, 1)))
    assert (nothing.radii > 0.0).all()
    assert (nothing.kept == 1.0).all()
