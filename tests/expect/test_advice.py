"""What people are told of a promise and of a public table, before anybody is asked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from ostraka.errors import InputWarning
from ostraka.expect.advice import TINY, look_at_public, weak
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet

RNG = np.random.default_rng(3)


def made(public: pd.DataFrame, classes: tuple[str, ...] = ("home", "ward")) -> AuxiliarySet:
    poll = Poll.create(public, classes=classes, parties=500, epsilon=1.0, method="moments")
    assert poll.auxiliary is not None
    return poll.auxiliary


def a_table(n_rows: int = 80) -> pd.DataFrame:
    return pd.DataFrame(
        {"age": RNG.integers(20, 90, n_rows), "pressure": RNG.standard_normal(n_rows)}
    )


@pytest.mark.parametrize(
    ("epsilon", "told"),
    [(11.0, "59,874 times surer"), (30.0, "as if it had been shown"), (1e9, "ε = 1e+09 hides")],
)
def test_an_epsilon_that_hides_nothing(epsilon: float, told: str) -> None:
    assert told in str(weak(epsilon))
    assert "e^" not in str(weak(epsilon))


def test_an_epsilon_that_hides_something() -> None:
    assert weak(10.0) is None


def test_a_good_table_needs_no_word() -> None:
    assert look_at_public(made(a_table())) == []


def test_case_numbers_are_told_of() -> None:
    public = a_table().assign(case=RNG.permutation(80) * 7 + 100_000)
    (told,) = look_at_public(made(public))
    assert told.startswith("In 'case' every public row has another whole number.")


def test_a_tiny_table_is_told_of() -> None:
    assert look_at_public(made(a_table(TINY)))[-1:] == []
    (told,) = look_at_public(made(a_table(TINY - 1)))
    assert f"The public table has {TINY - 1} rows." in told


@pytest.mark.parametrize(
    ("held", "classes"),
    [
        (["home", "ward"], ("home", "ward")),
        (["home", "ward", "unknown"], ("home", "ward")),
        (["home", "ward"], ("home", "ward", "care")),
        (["Home", "WARD", None], ("home", "ward")),
    ],
)
def test_the_label_is_told_of(held: list[str | None], classes: tuple[str, ...]) -> None:
    public = a_table().assign(outcome=(held * 40)[:80])
    with pytest.warns(InputWarning, match="the classes themselves in 'outcome'"):
        auxiliary = made(public, classes)
    (told,) = look_at_public(auxiliary)
    assert "the classes themselves in 'outcome'" in told


def test_one_name_in_common_is_not_the_label() -> None:
    public = a_table().assign(sent_to=(["home", "hospital"] * 40)[:80])
    assert look_at_public(made(public)) == []
