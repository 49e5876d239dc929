"""What a promise may be, and for how many."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ostraka.errors import ParameterError, TooFewPartiesError
from ostraka.public.promise import MOST_PARTIES, Promise, check_parties, plural


def test_the_defaults_are_a_pure_promise_to_whole_parties() -> None:
    promise = Promise(epsilon=1)
    assert (promise.epsilon, promise.delta, promise.noise) == (1.0, 0.0, "auto")
    assert (promise.protects, promise.least_parties) == ("party", 2)
    assert type(promise.epsilon) is float
    assert Promise(epsilon=np.float64(0.5)) == Promise(epsilon=0.5)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"epsilon": 0.0}, "epsilon = 0.0.*above 0; 0.1 to 2 is usual"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": np.ones(1)}, "epsilon"),
        ({"epsilon": 10**400}, "epsilon"),
        ({"delta": -1e-9}, "delta.*0, or a probability up to 0.1"),
        ({"delta": 0.2}, "delta"),
        ({"delta": math.nan}, "delta"),
        ({"noise": "cauchy"}, "noise.*auto, l2, gaussian"),
        ({"noise": None}, "noise"),
        ({"protects": "nobody"}, "protects.*party, person, row"),
        ({"least_parties": 1}, "least_parties.*2 or more"),
        ({"least_parties": 2.0}, "least_parties"),
    ],
)
def test_what_cannot_be_promised_is_refused(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ParameterError, match=complaint):
        Promise(**{"epsilon": 1.0, **change})


def test_so_many_units_are_enough() -> None:
    promise = Promise(epsilon=1.0, least_parties=5)
    assert promise.check_units(np.int64(5)) == 5
    assert type(promise.check_units(np.int64(5))) is int
    with pytest.raises(TooFewPartiesError, match="4 parties have contributed, but at least 5"):
        promise.check_units(4)
    with pytest.raises(TooFewPartiesError, match=r"1 person has contributed.*describe that person"):
        Promise(epsilon=1.0, protects="person").check_units(1)
    with pytest.raises(TooFewPartiesError, match="0 rows have contributed"):
        Promise(epsilon=1.0, protects="row").check_units(0)


@pytest.mark.parametrize("n", [-1, 2.5, "3", True, None, MOST_PARTIES + 1])
def test_a_number_of_units_is_a_number(n: Any) -> None:
    with pytest.raises(ParameterError, match="parties"):
        check_parties(n)
    with pytest.raises(ParameterError, match="parties"):
        Promise(epsilon=1.0).check_units(n)


def test_as_many_as_can_be_added_up() -> None:
    assert check_parties(MOST_PARTIES) == MOST_PARTIES
    assert check_parties(0) == 0


def test_plurals() -> None:
    found = [plural("party", 1), plural("party", 2000), plural("person", 0), plural("row", 1)]
    assert found == ["1 party", "2,000 parties", "0 persons", "1 row"]
