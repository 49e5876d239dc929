"""What a poll makes of what was released."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.mechanism import Rehearsal
from ostraka.poll import Poll
from ostraka.publishing import publish
from ostraka.tally import Tally

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("shares", [(0.3, 0.7), (0.1, 0.2, 0.7)])
@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("method", ["cells", "moments"])
def test_shares_of_classes_are_read_off(
    method: str, shares: tuple[float, ...], shift: bool
) -> None:
    """Without noise to speak of they are the parties' mean."""
    K = len(shares)
    public = RNG.normal(size=(400, 3))
    poll = Poll.create(
        public, classes=range(K), method=method, epsilon=1e5, parties=300, shift=shift or None
    )
    tally = Tally(poll)
    truth = np.zeros(K)
    for party in range(300):
        labels = RNG.choice(K, 10, p=shares)
        truth += np.bincount(labels, minlength=K) / 3000
        tally.add(poll.contribute(RNG.normal(size=(10, 3)), labels, party))
    outlook = publish(poll, tally, Rehearsal(0)).outlook
    assert outlook.shares is not None
    assert outlook.deviation is not None
    assert outlook.deviation < 0.02
    # Shortened vectors make a common class look a little rarer than it is.
    assert np.abs(np.array(outlook.shares) - truth).max() < (0.01 if method == "cells" else 0.05)


def test_a_forecast_for_others_is_not_told() -> None:
    """What was rehearsed for a thousand parties says nothing of the forty that came."""
    poll = Poll.create(RNG.normal(size=(100, 2)), classes=["a", "b"], epsilon=1.0, parties=1000)
    assert poll.forecast is not None
    for n_parties, told in ((40, None), (850, poll.forecast)):
        tally = Tally(poll)
        for party in range(n_parties):
            tally.add(poll.contribute(np.zeros((0, 2)), [], party))
        assert publish(poll, tally, Rehearsal(0)).outlook.kept == told


def test_noise_moves_shares_as_it_says() -> None:
    """The deviation of a class's share over 200 rehearsals.

    Within a third, but for a chance of 1e-6.
    """
    public = RNG.normal(size=(200, 2))
    poll = Poll.create(public, classes=["a", "b", "c"], method="cells", epsilon=1.0, parties=2000)
    tally = Tally(poll)
    for party in range(2000):
        tally.add(poll.contribute(RNG.normal(size=(2, 2)), ["a", "b"], party))
    found = [publish(poll, tally, Rehearsal(seed)).outlook for seed in range(200)]
    spread = np.std([outlook.shares[0] for outlook in found])  # type: ignore[index]
    said = found[0].deviation
    assert said is not None
    assert said / 1.5 < spread < said * 1.5
