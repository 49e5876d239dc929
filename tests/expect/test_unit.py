"""Whom a poll can protect and still leave a model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ostraka.expect.describe import describe
from ostraka.expect.unit import TOO_MUCH, advise_unit, drowns, share_deviation
from ostraka.mechanism.laws import l1_law
from ostraka.poll import Poll
from tests.laws.cases import Case


def polled(**changes: Any) -> Poll:
    return Case("cells", 2).poll(**changes)


def of_persons(persons: int, **changes: Any) -> Poll:
    return polled(protects="person", parties=None, persons=persons, **changes)


def test_the_deviation_is_that_of_the_noise_on_a_share() -> None:
    """A replaced party moves the shares by 2 in L1; 200 000 draws, within 2 % but for 1e-6."""
    n, epsilon, unit = 50, 0.7, 2**20
    law = l1_law(epsilon, 2 * unit, 2)
    drawn = law.rehearse(np.random.default_rng(0), 100_000) / (n * unit)
    assert abs(drawn.std() / share_deviation(n, epsilon) - 1.0) <= 0.02


def test_few_parties_with_many_rows_are_told_of_persons() -> None:
    poll = polled(parties=5)
    assert "With 5 parties and ε = 1 the noise that hides a whole party" in str(drowns(poll))
    told = str(advise_unit(poll, 5, 1000))
    assert "--protects person helps: with about 5,000 rows" in told
    assert "by about 0.00057 only" in told


def test_few_parties_with_few_rows_are_told_that_there_is_no_way() -> None:
    poll = polled(parties=3, epsilon=0.01)
    assert "by half and more" in str(drowns(poll))
    assert advise_unit(poll, 3, 2) == "More parties, or a larger ε, would help."


def test_few_persons_are_told_so() -> None:
    poll = of_persons(20, epsilon=0.1)
    assert "With 20 persons and ε = 0.1 the noise that hides one person" in str(drowns(poll))
    assert advise_unit(poll, 2, 10) == "More parties, or a larger ε, would help."


def test_who_could_promise_more_is_told_so() -> None:
    told = str(advise_unit(of_persons(5000), 500, 10))
    assert "500 parties may be enough to protect whole parties at ε = 1" in told
    assert "--protects party" in told


def test_where_there_is_nothing_to_say_nothing_is_said() -> None:
    for poll, n_parties in ((polled(parties=1000), 1000), (of_persons(5000), 5)):
        assert drowns(poll) is None
        assert advise_unit(poll, n_parties, 1000) is None


@pytest.mark.parametrize("parties", [2, 10, 14, 15, 40, 1000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_one_verdict_is_told_wherever_a_poll_is_described(parties: int, epsilon: float) -> None:
    """What is expected, what is advised, and the numbers agree."""
    poll = polled(parties=parties, epsilon=epsilon)
    little = share_deviation(parties, epsilon) > TOO_MUCH
    assert (drowns(poll) is not None) == little
    assert describe(poll)["Will the model be any good?"].startswith("Little") == little
    assert (advise_unit(poll, parties, 100) is not None) == little
