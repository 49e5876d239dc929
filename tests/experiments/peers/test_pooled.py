from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ostraka.experiments.peers import PEERS, PeerData
from ostraka.experiments.peers.data import best, gaussian_scale, narrow_data
from ostraka.experiments.peers.pooled import logistic_regression
from ostraka.experiments.tasks import Test as Measure
from ostraka.party.rows import Parties


def peer_data(
    n_classes: int, *, n_parties: int = 60, equal: bool = True, seed: int = 0, d: int = 6
) -> PeerData:
    """Blobs around points of the simplex, in the unit ball.

    Unequal parties have 1 to 12 samples, more than there are features.
    """
    generator = np.random.default_rng([seed, n_classes])

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        labels = generator.integers(0, n_classes, n)
        samples = 0.4 * generator.standard_normal((n, d))
        samples[np.arange(n), labels] += 1.5
        return samples / np.maximum(1.0, np.linalg.norm(samples, axis=1, keepdims=True)) * (
            1.0 - 1e-12
        ), labels

    sizes = np.full(n_parties, 5) if equal else generator.integers(1, 13, n_parties)
    features, labels = drawn(int(sizes.sum()))
    test, answers = drawn(300)
    parties = Parties.group(features, labels, np.repeat(np.arange(n_parties), sizes))
    return PeerData(
        drawn(150)[0], parties, Measure(test, answers, np.ones(300, dtype=np.int64)), n_classes, 5
    )


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_pool_is_learnt_and_needs_no_noise(n_classes: int) -> None:
    data = peer_data(n_classes, equal=False)
    generator = np.random.default_rng(0)
    few, many = (logistic_regression(data, epsilon, 1e-6, generator, 3) for epsilon in (1e-3, 1e3))
    assert few == many
    assert len(few) == 3
    assert few[0] > 0.9


def test_repeated_test_rows_count_as_often_as_they_stand_for() -> None:
    data = peer_data(2)
    repeats = np.arange(300) % 4
    longer = np.repeat(np.arange(300), repeats)
    by_repeats = replace(data, test=replace(data.test, repeats=repeats))
    spelt_out = replace(
        data,
        test=Measure(
            data.test.features[longer],
            data.test.labels[longer],
            np.ones(len(longer), dtype=np.int64),
        ),
    )
    generator = np.random.default_rng(0)
    assert logistic_regression(by_repeats, 1.0, 1e-6, generator, 1) == pytest.approx(
        logistic_regression(spelt_out, 1.0, 1e-6, generator, 1)
    )


def test_every_peer_says_what_it_promises() -> None:
    assert set(PEERS) == {
        "pate",
        "pate-confident",
        "dp-gd",
        "dp-fedavg",
        "dp-gd-public",
        "local-dp",
        "pooled",
    }
    for name, peer in PEERS.items():
        assert peer.name == name
        assert peer.trust
        assert peer.tuning
        assert ("(ε, δ), party" in peer.guarantee) == peer.private
    assert [name for name, peer in PEERS.items() if not peer.private] == ["pooled"]


def test_fewer_directions_keep_rows_in_the_ball() -> None:
    data = peer_data(3, d=12)
    assert narrow_data(data, None) is data
    assert narrow_data(data, 12) is data
    narrow = narrow_data(data, 10)
    for rows in (narrow.auxiliary, narrow.parties.features, narrow.test.features):
        assert rows.shape[1] == 10
        assert np.linalg.norm(rows, axis=1).max() <= 1.0


@pytest.mark.parametrize("epsilon", [0.03, 1.0, 10.0, 30.0])
def test_the_gaussian_is_not_below_dp_accountings(epsilon: float) -> None:
    from dp_accounting.dp_event import GaussianDpEvent
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant().compose(GaussianDpEvent(gaussian_scale(epsilon, 1e-6, 3.0) / 3.0))
    # Their δ is rounded up on a grid of losses of 1e-4, which moves it by a share
    # of up to about 1e-4 times the slope of log δ.
    assert accountant.get_delta(epsilon) <= 1e-6 * 1.02


def test_the_best_setting_is_that_of_the_best_mean() -> None:
    assert best([[0.1, 0.9], [0.6, 0.5], [0.5, 0.5]]) == 1
