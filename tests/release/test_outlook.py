"""What is known of how good a model can be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ostraka import Poll, Release, Tally, publish
from ostraka.errors import FormatError, ParameterError
from ostraka.mechanism import Rehearsal
from ostraka.release.outlook import Outlook

RNG = np.random.default_rng(0)


def test_sentences() -> None:
    told = Outlook(agreement=0.83, shares=(0.2, 0.8), deviation=0.03).describe(("ill", "well"))
    assert "right for 83% of the samples" in told
    assert (
        "Always naming 'well', the commonest class, would be right for about 80%, give or" in told
    )
    assert "take 3%" in told
    assert "nobody has measured" in told
    noisy = Outlook(shares=(0.2, 0.8), deviation=0.3).describe(("ill", "well"))
    assert "at least 50%" in noisy
    assert "the noise is too large to tell" in noisy
    assert "rehearsal" not in noisy
    assert "too large" not in Outlook().describe((0, 1, 2))
    assert "the commonest of 3 classes is right for at least 33%" in Outlook().describe((0, 1, 2))


@pytest.mark.parametrize(
    "wrong",
    [
        {"agreement": -0.1},
        {"agreement": math.nan},
        {"shares": (0.5, 0.5)},
        {"deviation": 0.1},
        {"shares": (math.inf, 0.5), "deviation": 0.1},
    ],
)
def test_numbers_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="outlook"):
        Outlook(**wrong)


@pytest.mark.parametrize(
    "outlook", [Outlook(), Outlook(agreement=0.5, shares=(0.25, 0.75), deviation=0.01)]
)
def test_it_is_read_as_it_was_written(outlook: Outlook) -> None:
    assert Outlook.from_json(outlook.to_json(), 2) == outlook


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"agreement":1,"shares":[1],"deviation":0}',
        '{"agreement":-1,"shares":null,"deviation":null}',
        '{"agreement":null,"shares":"ab","deviation":1}',
        '{"agreement":null,"shares":null,"deviation":null,"more":1}',
        '{"agreement":"x","shares":null,"deviation":null}',
        "[" * 100_000,
    ],
)
def test_what_is_damaged_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="its outlook is damaged"):
        Outlook.from_json(text, 2)


@pytest.mark.parametrize("shares", [(0.3, 0.7), (0.1, 0.2, 0.7)])
@pytest.mark.parametrize("shift", [False, True])
def test_shares_of_classes_are_read_off_the_cells(shares: tuple[float, ...], shift: bool) -> None:
    """Without noise to speak of they are the parties' mean."""
    K = len(shares)
    public = RNG.normal(size=(400, 3))
    poll = Poll.create(
        public, classes=range(K), method="cells", epsilon=1e5, parties=300, shift=shift or None
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
    assert np.abs(np.array(outlook.shares) - truth).max() < 0.01


def test_clipped_moments_do_not_tell_shares() -> None:
    """Shortened vectors would make a common class look rarer than it is."""
    poll = Poll.create(
        RNG.normal(size=(100, 2)), classes=["a", "b"], method="moments", epsilon=5.0, parties=50
    )
    tally = Tally(poll)
    for party in range(50):
        tally.add(poll.contribute(RNG.normal(size=(2, 2)), ["a", "a"], party))
    assert publish(poll, tally, Rehearsal(0)).outlook.shares is None


def test_a_forecast_for_others_is_not_told() -> None:
    """What was rehearsed for a thousand parties says nothing of the forty that came."""
    poll = Poll.create(RNG.normal(size=(100, 2)), classes=["a", "b"], epsilon=1.0, parties=1000)
    assert poll.forecast is not None
    for n_parties, told in ((40, None), (850, poll.forecast)):
        tally = Tally(poll)
        for party in range(n_parties):
            tally.add(poll.contribute(np.zeros((0, 2)), [], party))
        assert publish(poll, tally, Rehearsal(0)).outlook.agreement == told


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


def test_it_travels_with_the_release() -> None:
    public = RNG.normal(size=(100, 2))
    poll = Poll.create(public, classes=["a", "b"], epsilon=5.0, parties=50)
    tally = Tally(poll)
    for party in range(50):
        tally.add(poll.contribute(RNG.normal(size=(2, 2)), ["a", "b"], party))
    release = publish(poll, tally)
    assert isinstance(release, Release)
    assert release.outlook.agreement == poll.forecast
    assert Release.from_bytes(release.to_bytes()).outlook == release.outlook
