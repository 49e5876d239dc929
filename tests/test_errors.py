"""Errors say what, got, allowed and what to do; wrong kinds of objects are named."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from ostraka import AuxiliarySet, Poll, Tally, publish
from ostraka import errors as tree
from ostraka.errors import (
    NOTHING_HAPPENED,
    OstrakaError,
    ParameterError,
    WrongTypeError,
    count,
    nothing_spent,
    number,
    say_number,
)

ROWS = np.array([[0.1, 0.2], [0.3, 0.4]])
AUXILIARY = AuxiliarySet(ROWS, ("no", "yes"))
POLL = Poll.create(AUXILIARY, method="soft", epsilon=1.0, parties=2)


@pytest.mark.parametrize("name", [name for name in tree.__all__ if name.endswith("Error")])
def test_every_error_is_in_the_tree_that_the_module_draws(name: str) -> None:
    assert name in (tree.__doc__ or "")
    assert issubclass(getattr(tree, name), OstrakaError)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: Tally(ROWS), "The poll is of type ndarray. Give a Poll"),
        (
            lambda: Tally(POLL).add(b"OSTRAKON"),
            "The contribution is of type bytes. Give a Contribution",
        ),
        (lambda: POLL.cast(dict, "a"), "not the class itself"),
        (lambda: publish(POLL, [1, 2]), "The tally is of type list"),
        (lambda: publish(1.0, Tally(POLL)), "The poll is of type float"),
        (
            lambda: Poll.create(POLL.task, method="soft", epsilon=1.0, parties=2),
            "public samples, for method",
        ),
        (lambda: POLL.with_auxiliary(ROWS), "private=True"),
        (
            lambda: AuxiliarySet("samples.csv", ("no", "yes")),
            "The auxiliary set is of type str",
        ),
        (lambda: AuxiliarySet(None, ("no", "yes")), "NoneType"),
    ],
)
def test_another_kind_of_object_is_named(call: Any, complaint: str) -> None:
    with pytest.raises(WrongTypeError, match=complaint) as caught:
        call()
    assert isinstance(caught.value, TypeError)


@pytest.mark.parametrize(
    "given", [None, "1", b"1", True, [1.0], np.array([1.0]), float("nan"), 3.0, 10**400]
)
def test_what_is_no_number_in_range(given: Any) -> None:
    with pytest.raises(ParameterError, match="a number from 0 to 2"):
        number("x", given, 0.0, 2.0)


@pytest.mark.parametrize("given", [None, "1", True, 1.0, np.float64(1), 0, -5, 8])
def test_what_is_no_count_in_range(given: Any) -> None:
    with pytest.raises(ParameterError, match="a whole number, 1 or more, up to 7"):
        count("x", given, 1, 7)


def test_numbers_become_plain() -> None:
    assert type(number("x", np.float32(0.5), 0.0, 1.0)) is float
    assert type(number("x", np.int64(1), 0.0, 1.0)) is float
    assert type(count("x", np.int64(1), 0)) is int


@pytest.mark.parametrize(
    "error",
    [
        ParameterError("x", got=1, allowed="2"),
        WrongTypeError("x", 1, "y"),
        tree.TooFewPartiesError(1, 2),
        tree.RehearsalError(),
    ],
)
def test_errors_cross_from_workers_as_they_are(error: OstrakaError) -> None:
    import pickle

    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is type(error)
    assert str(twin) == str(error)
    assert vars(twin) == vars(error)


def test_what_did_not_happen_is_said_by_whoever_could_have_done_it() -> None:
    with pytest.raises(ParameterError) as caught, nothing_spent():
        raise ParameterError("epsilon", got=0, allowed="more")
    assert str(caught.value) == f"epsilon = 0 is not allowed. Allowed: more. {NOTHING_HAPPENED}"
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    with pytest.raises(KeyError), nothing_spent():
        raise KeyError("not ours")


def test_what_was_given_is_shown_as_a_person_would_write_it() -> None:
    assert tree.show(("home",)) == "'home'"
    assert tree.show([]) == "nothing"
    assert tree.show(0.5) == "0.5"
    assert tree.show(np.arange(100.0)) == "an object of type ndarray"
    assert str(ParameterError("--classes", got=("home",), allowed="two")).startswith(
        "--classes = 'home' is not allowed."
    )


def test_a_truth_value_of_numpy_is_no_number() -> None:
    with pytest.raises(ParameterError, match="True"):
        tree.number("epsilon", np.True_, 0.0, 1.0)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (1e-5, "1e-5"),
        (1.5e-10, "1.5e-10"),
        (1e18, "1e18"),
        (1e-100, "1e-100"),
        (0.0, "0"),
        (2.5, "2.5"),
        (float("inf"), "inf"),
    ],
)
def test_numbers_are_said_as_people_write_them(value: float, said: str) -> None:
    assert say_number(value) == said
