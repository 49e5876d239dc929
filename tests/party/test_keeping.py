"""Rows that are kept back: by their places among their own unit's rows, and by nothing else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from ostraka import Poll, PrivateClassifier, Release
from ostraka.errors import FormatError, ParameterError
from ostraka.methods.base import Work
from ostraka.party.keeping import leave_kept_back, take_kept_back
from ostraka.party.rows import Parties, number_of
from ostraka.tensors import read_tensors, write_tensors
from tests.laws.cases import Case, M, World, by_files, in_process, rehearsed

sizes_of_units = st.lists(st.integers(0, 12), min_size=1, max_size=8)


def parties_of(sizes: list[int]) -> Parties:
    """Unit j's row i holds (j, i)."""
    pairs = [(j, i) for j, n in enumerate(sizes) for i in range(n)]
    rows = np.array(pairs, dtype=float).reshape(-1, 2)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Parties(
        rows, np.zeros(len(rows), dtype=int), starts, [f"u{j}" for j in range(len(sizes))]
    )


def places(parties: Parties) -> list[list[int]]:
    return [rows[:, 1].astype(int).tolist() for rows, _, _ in parties]


@given(sizes_of_units, st.integers(2, 7))
def test_every_row_is_learnt_from_or_kept_back_by_its_place_in_its_own_unit(
    sizes: list[int], every: int
) -> None:
    given = parties_of(sizes)
    taken, left = take_kept_back(given, every), leave_kept_back(given, every)
    assert taken.names == left.names == given.names
    for j, n in enumerate(sizes):
        expected = [i for i in range(n) if (i + number_of(f"u{j}")) % every == 0]
        assert places(taken)[j] == expected
        assert places(left)[j] == [i for i in range(n) if i not in expected]
        assert (taken.features[taken.starts[j] : taken.starts[j + 1], 0] == j).all()


@given(sizes_of_units, st.integers(2, 7), st.integers(0, 30))
def test_how_many_rows_a_neighbour_has_moves_nobody_elses(
    sizes: list[int], every: int, other: int
) -> None:
    for choose in (take_kept_back, leave_kept_back):
        here = places(choose(parties_of(sizes), every))
        there = places(choose(parties_of([other, *sizes[1:]]), every))
        assert here[1:] == there[1:]


def test_a_rule_that_counts_across_units_would_be_caught() -> None:
    """The mutant of the test above: every third row of the whole table."""

    def by_table(parties: Parties) -> list[list[int]]:
        chosen = np.arange(len(parties.labels)) % 3 == 0
        starts = np.concatenate([[0], np.cumsum(chosen)])[parties.starts]
        return places(
            Parties(parties.features[chosen], parties.labels[chosen], starts, parties.names)
        )

    assert by_table(parties_of([4, 5, 6]))[1:] != by_table(parties_of([5, 5, 6]))[1:]


def test_rows_that_are_added_at_the_end_leave_the_others_where_they_were() -> None:
    before, after = (places(take_kept_back(parties_of([n, 4]), 3)) for n in (7, 20))
    assert after[0][: len(before[0])] == before[0]


def test_different_names_keep_different_places_back() -> None:
    given = parties_of([1] * 500)
    kept = np.diff(take_kept_back(given, 5).starts)
    assert 60 <= kept.sum() <= 140  # 100 expected, deviation 9


def test_sparse_rows_are_kept_back_too() -> None:
    given = parties_of([3, 0, 9])
    sparse = Parties(sp.csr_matrix(given.features), given.labels, given.starts, given.names)
    taken = take_kept_back(sparse, 2)
    assert (taken.features.toarray() == take_kept_back(given, 2).features).all()


# ---- in a poll -----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["moments", "cells", "consensus"])
def test_a_poll_learns_as_if_the_rows_were_not_there(method: str) -> None:
    case = Case(method, 3)
    poll, plain, world = case.poll(keep_back=3), case.poll(), case.world()
    left: World = [
        tuple(part[[(i + number_of(str(j))) % 3 != 0 for i in range(len(part))]] for part in own)
        for j, own in enumerate(world)
    ]  # type: ignore[misc]
    assert (in_process(poll, world).total == in_process(plain, left).total).all()
    assert (by_files(poll, world).total == in_process(poll, world).total).all()
    assert poll.digest != plain.digest


def test_persons_keep_their_own_rows_back() -> None:
    """By the person's name, not by the holder's."""
    case = Case("cells", 2)
    poll = case.poll(protects="person", parties=None, persons=M, keep_back=3)
    of_parties, world = case.poll(keep_back=3), case.world()
    samples, labels = (np.concatenate(part) for part in zip(*world))
    persons = np.repeat(np.arange(M), [len(own) for _, own in world])
    sent = poll.contribute(samples, labels, "north", persons=persons)
    assert (sent.values == in_process(of_parties, world).total).all()


def test_what_others_send_does_not_depend_on_how_many_rows_somebody_has() -> None:
    case = Case("cells", 2)
    poll, rng = case.poll(keep_back=4), np.random.default_rng(0)

    def sent(n: int) -> dict[str, Any]:
        names = np.concatenate([np.full(n, 0), np.repeat([1, 2], 9)])
        samples = np.concatenate([rng.normal(size=(n, 5)), np.linspace(-1, 1, 90).reshape(18, 5)])
        labels = np.arange(len(samples))[::-1] % 2
        blocks = poll.blocks(poll.group(samples, labels, names), Work())
        return {name: row for names_, block in blocks for name, row in zip(names_, block)}

    here, there = sent(3), sent(4)
    assert (here["1"] == there["1"]).all()
    assert (here["2"] == there["2"]).all()


def test_a_poll_and_a_release_say_what_is_kept_back() -> None:
    case = Case("cells", 2)
    poll = case.poll(keep_back=5)
    assert Poll.from_bytes(poll.to_bytes()).keep_back == 5
    assert Poll.from_bytes(case.poll().to_bytes()).keep_back is None
    outcome = rehearsed(poll, in_process(poll, case.world()))
    assert outcome.keep_back == 5
    release = Release(model=outcome.model, certificate=poll.certificate(M), keep_back=5)
    again = Release.from_bytes(release.to_bytes())
    assert again.keep_back == 5
    assert again.to_bytes() == release.to_bytes()
    assert read_tensors(release.to_bytes(), "release")[1]["ostraka"] == "5"


@pytest.mark.parametrize("every", [1, 0, -5, 2.5, 1001, "5", True])
def test_what_cannot_be_kept_back_is_refused(every: Any) -> None:
    with pytest.raises(ParameterError, match="keep_back"):
        Case("cells", 2).poll(keep_back=every)


def test_existing_classifiers_are_refused_where_rows_are_kept_back() -> None:
    poll = Case("consensus", 2).poll(keep_back=5)
    with pytest.raises(ParameterError, match="nobody knows whether it has seen"):
        poll.cast(lambda rows: np.zeros(len(rows), dtype=int), "a")


def test_a_second_round_keeps_back_what_the_first_one_did() -> None:
    case = Case("refine", 2)
    auxiliary = case.auxiliary()
    start = case.options(auxiliary)["start"]
    with pytest.raises(ParameterError, match=r"keep_back = 5.*None, as in the first round"):
        Poll.create(auxiliary, method="refine", epsilon=1.0, parties=M, start=start, keep_back=5)
    kept = Release(model=start.model, certificate=start.certificate, keep_back=4)
    poll = Poll.create(auxiliary, method="refine", epsilon=1.0, parties=M, start=kept)
    assert poll.keep_back == 4


@pytest.mark.parametrize("written", ["", "5.0", "-5", "1", "٥", "9" * 400, "1001"])
def test_a_hostile_release_is_refused(written: str) -> None:
    poll = Case("cells", 2).poll(keep_back=5)
    model = rehearsed(poll, in_process(poll, Case("cells", 2).world())).model
    release = Release(model=model, certificate=poll.certificate(M), keep_back=5)
    tensors, metadata = read_tensors(release.to_bytes(), "release")
    with pytest.raises(FormatError, match="keep_back"):
        Release.from_bytes(write_tensors(tensors, {**metadata, "keep_back": written}))


@pytest.mark.parametrize("number", ["3", "4", "7"])
def test_a_release_of_another_format_does_not_say_it(number: str) -> None:
    poll = Case("cells", 2).poll(keep_back=5)
    model = rehearsed(poll, in_process(poll, Case("cells", 2).world())).model
    release = Release(model=model, certificate=poll.certificate(M), keep_back=5)
    tensors, metadata = read_tensors(release.to_bytes(), "release")
    with pytest.raises(FormatError, match="format 1 to 6"):
        Release.from_bytes(write_tensors(tensors, {**metadata, "ostraka": number}))


def test_the_estimator_keeps_rows_back() -> None:
    rng = np.random.default_rng(0)
    X, public = rng.normal(size=(400, 3)), rng.normal(size=(100, 3))
    y = (X[:, 0] > 0).astype(int)
    model = PrivateClassifier("cells", keep_back=5, random_state=0)
    model.fit(X, y, parties=np.arange(400) // 10, auxiliary=public)
    assert model.poll_.keep_back == model.release_.keep_back == 5
