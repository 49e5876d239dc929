"""`auto`: a choice from public values alone, the same every time, on any set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ostraka.errors import ParameterError, TooFewPartiesError, WrongTypeError
from ostraka.methods.base import Options
from ostraka.methods.choose import CANDIDATES, Case, choose, create, rehearse
from ostraka.methods.made_up import N_WORLDS
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.prepare import prepare
from ostraka.public.preprocessing import Preprocessing
from ostraka.public.promise import Promise
from ostraka.solve.losses import Array
from tests.mechanism.worlds import unit_rows

PROMISE, OPTIONS = Promise(epsilon=1.0), Options(samples_each=3)


def auxiliary(n_classes: int, n: int = 90) -> AuxiliarySet:
    return AuxiliarySet(
        unit_rows(np.random.default_rng(0), n, 4) * [1, 0.7, 0.5, 0.3], tuple(range(n_classes))
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_choice_is_one_of_them_and_the_same_every_time(n_classes: int, delta: float) -> None:
    """It is made with the poll, which has seen no contribution: nothing private can sway it."""
    polls = [
        Poll.create(auxiliary(n_classes), epsilon=1.0, delta=delta, parties=40, samples_each=3)
        for _ in range(2)
    ]
    assert polls[0].method.name in ("moments", "cells")
    assert polls[0].to_bytes() == polls[1].to_bytes()
    promise = Promise(epsilon=1.0, delta=delta)
    name, rehearsed = choose(auxiliary(n_classes), 40, promise, OPTIONS)
    made = create(name, auxiliary(n_classes), 40, promise, OPTIONS)
    assert made.mechanism(promise, 40) == polls[0].mechanism(40)
    assert polls[0].forecast == rehearsed.kept
    by_name = Poll.create(
        auxiliary(n_classes), method=made.name, epsilon=1.0, delta=delta, parties=40
    )
    assert by_name.forecast is None


def test_a_single_cell_asks_for_class_shares_alone() -> None:
    for n_classes, dimension in ((2, 1), (3, 3)):
        table = np.random.default_rng(0).standard_normal((90, 4))
        public = prepare(table, range(n_classes), "auto")
        made = create("one cell", public, 40, PROMISE, OPTIONS)
        mechanism = made.mechanism(PROMISE, 40)
        assert mechanism.dimension == dimension
        weights = made.weights(mechanism.mean([2**21] * dimension), mechanism)
        scores = made.features @ weights
        assert np.ptp(scores, axis=0).max() <= 1e-9 * np.abs(scores).max(), "the same everywhere"


def test_where_nearly_nothing_can_be_said_nothing_else_is_asked() -> None:
    """Twenty parties, six classes, columns that tell nothing of each other."""
    rng = np.random.default_rng(5)
    shares = [0.75, 0.05, 0.05, 0.05, 0.05, 0.05]
    table = pd.DataFrame({f"c{i}": rng.choice(list("nabcde"), 400, p=shares) for i in range(8)})
    poll = Poll.create(table, classes=range(6), epsilon=1.0, parties=20, samples_each=50)
    assert poll.method.name == "cells"
    assert poll.domain.dimension == 6  # type: ignore[union-attr]
    assert poll.forecast == 0.0


def test_numpys_global_stream_is_left_alone() -> None:
    before = np.random.get_state()[1].tolist()  # noqa: NPY002
    choose(auxiliary(2), 40, PROMISE, OPTIONS)
    assert np.random.get_state()[1].tolist() == before  # noqa: NPY002


def test_where_they_differ_clearly_the_better_one_is_taken() -> None:
    for n_parties, epsilon in ((5, 0.01), (5000, 100.0)):
        promise = Promise(epsilon=epsilon)
        case = Case(n_parties, promise)
        found = rehearse(auxiliary(3), [case], OPTIONS)[case]
        assert tuple(found) == tuple(CANDIDATES)
        chosen, rehearsed = choose(auxiliary(3), n_parties, promise, OPTIONS)
        assert rehearsed == found[chosen]
        assert found[chosen].right == max(each.right for each in found.values())
        assert all(0.0 <= each.right <= 1.0 for each in found.values())
        assert all(0.0 <= each.kept <= 1.0 for each in found.values())
        assert (rehearsed.kept > 0.5) is (epsilon == 100.0)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_many_cases_at_once_are_found_as_each_by_itself(n_classes: int) -> None:
    """They share worlds, clusterings and directions: none of that may change a digit."""
    cases = [
        Case(n_units, Promise(epsilon=epsilon))
        for n_units in (7, 40, 3000)
        for epsilon in (0.1, 1.0, 30.0)
    ]
    cases += [Case(40, Promise(epsilon=1.0, delta=1e-6, noise="l2")), cases[0]]
    together = rehearse(auxiliary(n_classes), cases, OPTIONS)
    assert list(together) == cases[:-1]
    for case, found in together.items():
        assert rehearse(auxiliary(n_classes), [case], OPTIONS) == {case: found}


def test_whoever_watches_sees_every_world_go_by() -> None:
    seen = []

    def watch(items: Iterable[Any], total: int) -> Iterator[Any]:
        for number, item in enumerate(items, start=1):
            seen.append((number, total))
            yield item

    cases = [Case(40, PROMISE), Case(50, PROMISE), Case(50, Promise(epsilon=2.0))]
    rehearse(auxiliary(2), cases, OPTIONS, watch)
    total = 2 * len(CANDIDATES) * N_WORLDS
    assert seen == [(number, total) for number in range(1, total + 1)]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "features",
    [
        unit_rows(np.random.default_rng(1), 5, 4),
        unit_rows(np.random.default_rng(1), 1, 4),
        np.full((5, 3), 0.3),
        np.zeros((6, 2)),
        np.repeat(np.eye(2) * 0.9, 4, axis=0),
        np.concatenate([np.zeros((30, 2)), [[0.5, 0.5]]]),
    ],
    ids=["five rows", "one row", "constant", "zero", "two distinct", "an outlier"],
)
def test_small_and_poor_sets_have_a_choice(features: Array, n_classes: int) -> None:
    poll = Poll.create(
        AuxiliarySet(features, tuple(range(n_classes))), epsilon=1.0, parties=10, samples_each=3
    )
    mechanism = poll.mechanism(10)
    assert np.isfinite(
        poll.model(mechanism.mean([3] * mechanism.dimension), mechanism).weights
    ).all()


def test_made_up_parties_have_a_bounded_number_of_samples() -> None:
    """A million parties of a million rows would not fit into memory."""
    name, found = choose(auxiliary(2), 10**6, Promise(epsilon=0.01), Options(samples_each=10**6))
    assert name in CANDIDATES
    assert 0.0 <= found.kept <= 1.0


def test_bad_input_is_refused() -> None:
    with pytest.raises(TooFewPartiesError, match="at least"):
        Poll.create(auxiliary(2), epsilon=1.0, parties=1)
    with pytest.raises(WrongTypeError, match="AuxiliarySet"):
        choose(auxiliary(2).features, 10, PROMISE, OPTIONS)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="parties"):
        Poll.create(auxiliary(2), epsilon=1.0, parties=2.5)  # type: ignore[arg-type]


def test_nothing_is_rehearsed_on_samples_that_are_somebodys_secret() -> None:
    """However many there are: some would be drawn, and their secrecy forgotten."""
    rows = unit_rows(np.random.default_rng(0), 3000, 3)
    clipped = Preprocessing(radius=2.0)
    secret = AuxiliarySet(rows, ("a", "b"), preprocessing=clipped, private=True)
    with pytest.raises(ParameterError, match="a private set"):
        rehearse(secret, [Case(20, Promise(epsilon=1.0))], Options())
