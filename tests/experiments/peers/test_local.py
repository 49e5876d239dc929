from __future__ import annotations

import numpy as np
import pytest

from ostraka.experiments.peers import PEERS
from ostraka.experiments.peers.local import plan_for, sum_noise
from ostraka.mechanism import RoundedGaussian
from ostraka.mechanism.l2_delta import delta_bound
from ostraka.mechanism.laws import UnitL2, variance
from ostraka.methods.base import Work
from tests.experiments.peers.test_pooled import peer_data

run = PEERS["local-dp"].accuracies


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("epsilon", [0.1, 10.0])
def test_each_report_alone_keeps_the_promise(n_classes: int, epsilon: float) -> None:
    data = peer_data(n_classes, equal=False)
    method, mechanism = plan_for(data, epsilon, 1e-6)
    reports = np.vstack([rows for _, rows in method.contribute(data.parties, Work())])
    assert len(reports) == len(data.parties)
    assert method.domain.outside(reports).size == 0
    diameter, law = 2.0 * method.domain.length, mechanism.law
    if isinstance(law, UnitL2):
        assert delta_bound(epsilon, law.scale, diameter, law.dimension) <= 1e-6
        assert delta_bound(epsilon, law.scale / 2.0, diameter, law.dimension) > 1e-6, (
            "a sensitivity of b would be caught"
        )
    else:
        assert isinstance(law, RoundedGaussian)
        assert law.delta(epsilon, diameter) <= 1e-6
        assert RoundedGaussian(scale=law.scale / 2.0, dimension=1).delta(epsilon, diameter) > 1e-6


def test_without_delta_it_is_pure() -> None:
    method, mechanism = plan_for(peer_data(2), 0.5, 0.0)
    assert mechanism.law.scale * 0.5 >= 2 * method.domain.length * (1.0 - 1e-12)


def test_every_party_adds_noise_of_its_own_and_the_plan_knows_it() -> None:
    data = peer_data(3, n_parties=100)
    _, mechanism = plan_for(data, 1.0, 1e-6)
    generator = np.random.default_rng(0)
    noise = np.stack([sum_noise(mechanism, 100, generator) for _ in range(300)])
    # At least 600 numbers: the variance is known to 6 %; half of it, or twice, does not happen.
    assert 50.0 * variance(mechanism.law) < noise.var() < 200.0 * variance(mechanism.law)
    on_the_mean = np.sqrt(100.0 * variance(mechanism.law)) * mechanism.grid / 100.0
    assert mechanism.deviation == pytest.approx(on_the_mean, rel=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_accuracy_tends_to_that_of_moments_as_epsilon_grows(n_classes: int) -> None:
    data = peer_data(n_classes, equal=False)
    free = run(data, 1e4, 1e-6, np.random.default_rng(0), 2)
    tight = run(data, 0.01, 1e-6, np.random.default_rng(0), 20)
    assert len(free) == 2
    assert min(free) > 0.85
    assert np.mean(tight) < 0.75


def test_the_generator_decides() -> None:
    data = peer_data(2)
    first, again, other = (
        run(data, 1.0, 1e-6, np.random.default_rng(seed), 3) for seed in (5, 5, 6)
    )
    assert first == again
    assert first != other
