"""What is known of how good a model can be."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ostraka import Poll, Release, Tally, publish
from ostraka.errors import FormatError, ParameterError
from ostraka.release.outlook import TOO_NOISY, Outlook

RNG = np.random.default_rng(0)


def test_sentences() -> None:
    known = Outlook(kept=0.6, accuracy=0.83, off=0.1, shares=(0.2, 0.8), deviation=0.03)
    told = known.describe(("ill", "well"))
    assert "the model is right for about 83% of such samples" in told
    assert "(four times out of five between 73% and 93%)" in told
    assert "models like this one learnt 60% of what can be learnt without privacy" in told
    assert (
        "Always naming 'well', the commonest class, would be right for about 80%, give or" in told
    )
    assert "take 3%" in told
    assert "Nobody has measured" in told
    surely = Outlook(accuracy=0.99, off=0.1).describe(("ill", "well"))
    assert "between 89% and 100%" in surely
    noisy = Outlook(accuracy=0.99, off=0.4, shares=(0.2, 0.8), deviation=0.3)
    assert "right for about" not in noisy.describe(("ill", "well"))
    assert "too much noise to tell how often the model is right" in noisy.describe((0, 1))
    noisy = Outlook(shares=(0.2, 0.8), deviation=0.3).describe(("ill", "well"))
    assert "at least 50%" in noisy
    assert "the noise is too large to tell" in noisy
    assert "rehearsal" not in noisy
    assert "too large" not in Outlook().describe((0, 1, 2))
    assert "the commonest of 3 classes is right for at least 33%" in Outlook().describe((0, 1, 2))


@pytest.mark.parametrize(
    "wrong",
    [
        {"kept": -0.1},
        {"kept": math.nan},
        {"accuracy": 0.5},
        {"off": 0.1},
        {"accuracy": 1.5, "off": 0.1},
        {"accuracy": 0.5, "off": math.inf},
        {"shares": (0.5, 0.5)},
        {"deviation": 0.1},
        {"shares": (math.inf, 0.5), "deviation": 0.1},
    ],
)
def test_numbers_are_checked(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="outlook"):
        Outlook(**wrong)


@pytest.mark.parametrize("outlook", [Outlook(), Outlook.of(0.5, 0.75, (0.25, 0.75), 0.01)])
def test_it_is_read_as_it_was_written(outlook: Outlook) -> None:
    assert Outlook.from_json(outlook.to_json(), 2) == outlook


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"accuracy":1,"deviation":0,"kept":0.5,"off":0.1,"shares":[1]}',
        '{"accuracy":null,"deviation":null,"kept":-1.0,"off":null,"shares":null}',
        '{"accuracy":null,"deviation":1.0,"kept":null,"off":null,"shares":"ab"}',
        '{"accuracy":null,"deviation":null,"kept":null,"more":1,"off":null,"shares":null}',
        '{"accuracy":"x","deviation":null,"kept":null,"off":0.1,"shares":null}',
        '{"agreement":0.5,"deviation":1.0,"shares":null}',
        '{"accuracy":null,"deviation":0.1,"kept":null,"off":null,"shares":[0.5,null]}',
        "[" * 100_000,
    ],
)
def test_what_is_damaged_is_refused(text: str) -> None:
    with pytest.raises(FormatError, match="its outlook is damaged"):
        Outlook.from_json(text, 2)


def test_of_a_model_of_noise_nothing_is_said() -> None:
    for deviation, known in ((TOO_NOISY, True), (np.nextafter(TOO_NOISY, 1.0), False)):
        found = Outlook.of(None, 0.9, [0.5, 0.5], float(deviation))
        assert (found.accuracy is not None) is known is (found.off is not None)
        assert ("too much noise to tell how often" in found.describe((0, 1))) is not known


def test_noisy_shares_are_made_possible() -> None:
    found = Outlook.of(None, 0.7, (-0.2, 0.6, 1.4), 0.5)
    assert found.shares == pytest.approx((0.0, 0.375, 0.625))
    assert Outlook.of(None, 0.7, (-0.2, -0.1), 0.5).shares == (0.5, 0.5)
    low, high = (Outlook.of(None, 0.7, (0.5, 0.5), noise).off for noise in (0.0, 0.1))
    assert low is not None
    assert high is not None
    assert low < high


def test_it_travels_with_the_release() -> None:
    public = RNG.normal(size=(100, 2))
    poll = Poll.create(public, classes=["a", "b"], epsilon=5.0, parties=50)
    tally = Tally(poll)
    for party in range(50):
        tally.add(poll.contribute(RNG.normal(size=(2, 2)), ["a", "b"], party))
    release = publish(poll, tally)
    assert isinstance(release, Release)
    assert release.outlook.kept == poll.forecast
    assert Release.from_bytes(release.to_bytes()).outlook == release.outlook
