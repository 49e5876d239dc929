"""Rows by party: one name says whose they are, and nobody's rows move anybody else's."""

from __future__ import annotations

import dataclasses
import hashlib
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from ostraka.errors import InputError, ParameterError, ShapeError
from ostraka.party.names import canonical
from ostraka.party.rows import Parties
from ostraka.public.preprocessing import Preprocessing

N_PARTIES = 14
RNG = np.random.default_rng(0)
ROWS = RNG.uniform(-0.5, 0.5, (5 * N_PARTIES, 3))
LABELS = RNG.integers(0, 3, len(ROWS))
NAMES = np.array([f"ward-{j % N_PARTIES}" for j in range(len(ROWS))])


def grouped(
    rows: Any = ROWS, labels: Any = LABELS, names: Any = NAMES, roll: list[str] | None = None
) -> Parties:
    return Parties.group(rows, labels, names, roll)


def as_lists(parties: Parties) -> list[tuple[list[Any], list[int]]]:
    return [(rows.tolist(), labels.tolist()) for rows, labels, _ in parties]


def by_name(parties: Parties) -> dict[str, Any]:
    """Everything that is known about each party."""
    told = zip(as_lists(parties), (number for *_, number in parties))
    return dict(zip(parties.names, told))


class TestGrouping:
    @pytest.mark.parametrize(
        "names",
        [
            ["b", "a", "b", "c"],
            np.array(["b", "a", "b", "c"]),
            np.array(["b", "a", "b", "c"], dtype=object),
            np.array([b"b", b"a", b"b", b"c"]),
            pd.Series(["b", "a", "b", "c"], index=[9, 9, 1, 0]),
            pd.Series(["b", "a", "b", "c"], dtype="category"),
            pl.Series(["b", "a", "b", "c"]),
            ("b", "a", "b", "c"),
            ["B", " a ", "b", "C "],
            [2, 1, 2, 3],
            np.array([2, 1, 2, 3], dtype=np.uint8),
            [2.0, "1", 2, "3.0"],
            pd.Series([2, 1, 2, 3], dtype="Int64"),
            [2**71, 2**70, str(2**71), 2**72],
        ],
        ids=lambda names: f"{type(names).__name__} of {type(next(iter(names))).__name__}",
    )
    def test_rows_of_a_party_come_together_in_their_order(self, names: Any) -> None:
        rows = np.arange(8.0).reshape(4, 2)
        parties = grouped(rows, np.array([0, 1, 2, 0]), names)
        expected = [([[2.0, 3.0]], [1]), ([[0.0, 1.0], [4.0, 5.0]], [0, 2]), ([[6.0, 7.0]], [0])]
        assert as_lists(parties) == expected
        assert parties.names == sorted({canonical(name) for name in names})
        assert parties.sizes.tolist() == [1, 2, 1]

    def test_names_are_sorted_as_texts(self) -> None:
        assert grouped(ROWS[:4], LABELS[:4], [10, 9, "é", "z"]).names == ["10", "9", "z", "é"]

    def test_a_part_is_those_parties(self) -> None:
        parties = grouped()
        assert as_lists(parties.part(3, 6)) == as_lists(parties)[3:6]
        assert by_name(parties.part(3, 6)).items() <= by_name(parties).items()
        assert parties.part(3, 6).names == parties.names[3:6]
        assert len(parties.part(2, 2)) == 0

    def test_the_number_of_a_party_follows_from_its_name_alone(self) -> None:
        numbers = dict(zip(grouped().names, (number for *_, number in grouped())))
        few = grouped(ROWS[:1], LABELS[:1], [" Ward-5"])
        assert [number for *_, number in few] == [numbers["ward-5"]]
        assert len(set(numbers.values())) == N_PARTIES
        told = hashlib.sha256(b"'ward-5'").digest()[:4]
        assert numbers["ward-5"] == int.from_bytes(told, "little"), "as it has always been"

    @pytest.mark.parametrize(
        ("names", "row"),
        [
            ([1.0, np.nan, 2.0], 1),
            (np.array([np.nan, 1.0, 2.0]), 0),
            (["a", "b", np.nan], 2),
            (["a", None, "b"], 1),
            ([None, None, None], 0),
            (pd.Series(["a", "b", None]), 2),
            (pd.Series([1, pd.NA, 2], dtype="Int64"), 1),
            (pd.Series(["a", pd.NA, "b"], dtype="category"), 1),
            (pd.Series([1, pd.NA, 2], dtype=object), 1),
            (np.array([1.0, 2.0, np.nan], dtype=object), 2),
        ],
    )
    def test_missing_names_are_refused(self, names: Any, row: int) -> None:
        complaint = (
            rf"There is no party in row {row} \(counting from 0; line {row + 2} of a CSV file\): "
            r"its name is .*\. "
            r"Name a party for every sample, or drop it\."
        )
        with pytest.raises(InputError, match=complaint):
            grouped(ROWS[:3], LABELS[:3], names)

    @pytest.mark.parametrize("names", [[True, "a", "b"], [("a",), "b", "c"], [1.5, 2, 3]])
    def test_names_that_could_be_read_in_two_ways_are_refused(self, names: Any) -> None:
        with pytest.raises(ParameterError, match=r"party = .* is not allowed"):
            grouped(ROWS[:3], LABELS[:3], names)

    @pytest.mark.parametrize("names", [["a", "b"], [1, 2, 3, 4], 7 * ["a"]])
    def test_one_name_for_each_sample(self, names: Any) -> None:
        complaint = r"parties: the shape is .*Allowed: \(3,\), one name for each sample"
        with pytest.raises(ShapeError, match=complaint):
            grouped(ROWS[:3], LABELS[:3], names)

    @pytest.mark.parametrize("labels", [LABELS[:2], LABELS[:4], LABELS[:3].reshape(3, 1)])
    def test_one_label_for_each_sample(self, labels: Any) -> None:
        complaint = r"The labels: the shape is .*Allowed: \(3,\), one for each sample"
        with pytest.raises(ShapeError, match=complaint):
            grouped(ROWS[:3], labels, ["a", "b", "c"])
        with pytest.raises(ShapeError, match=complaint):
            Parties.rows(ROWS[:3], labels)

    def test_starts_that_do_not_fit_are_refused(self) -> None:
        for starts, names in (([0, 3], ["a", "b"]), ([0, 2], ["a"]), ([1, 3], ["a"])):
            with pytest.raises(ShapeError, match=r"names and starts.*M names, M\+1 starts"):
                Parties(ROWS[:3], LABELS[:3], np.array(starts), names)

    def test_it_cannot_be_changed(self) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            grouped().features = ROWS  # type: ignore[misc]

    def test_no_rows_are_no_parties(self) -> None:
        for parties in (grouped(ROWS[:0], LABELS[:0], []), Parties.rows(ROWS[:0], LABELS[:0])):
            assert len(parties) == 0
            assert list(parties) == []


class TestRoll:
    ROLL: ClassVar = ["ward-20", "ward-3", "ward-1", "ward-0"]

    def test_the_parties_are_those_of_the_roll_in_its_order(self) -> None:
        some = np.isin(NAMES, self.ROLL)
        parties = grouped(ROWS[some], LABELS[some], NAMES[some], self.ROLL)
        assert parties.names == self.ROLL
        assert parties.sizes.tolist() == [0, 5, 5, 5]
        without = by_name(grouped())
        told = by_name(parties)
        assert all(told[name] == without[name] for name in self.ROLL[1:])
        assert told["ward-20"][0] == ([], [])
        assert next(iter(parties))[0].shape == (0, 3)

    def test_nobody_may_have_rows(self) -> None:
        parties = grouped(ROWS[:0], LABELS[:0], [], self.ROLL)
        assert parties.names == self.ROLL
        assert parties.sizes.tolist() == [0, 0, 0, 0]

    def test_strangers_are_refused_by_name(self) -> None:
        complaint = (
            r"Party ward-10 has rows, but is not on the roll \(nor are 9 more\)\. "
            r"Put every party on the roll, or leave its rows out\."
        )
        with pytest.raises(InputError, match=complaint):
            grouped(roll=["ward-0", "ward-1", "ward-11", "ward-12", "ward-20"])
        with pytest.raises(InputError, match=r"Party x has rows, but is not on the roll\."):
            grouped(ROWS[:1], LABELS[:1], ["X"], ["ward-0"])

    def test_the_roll_stays_the_callers(self) -> None:
        roll = list(self.ROLL)
        parties = grouped(ROWS[:0], LABELS[:0], [], roll)
        roll.append("later")
        assert parties.names == self.ROLL


class TestOtherWays:
    def test_every_row_a_party(self) -> None:
        parties = Parties.rows(ROWS[:4], LABELS[:4])
        assert parties.names == ["0", "1", "2", "3"]
        assert as_lists(parties) == [
            ([row.tolist()], [label]) for row, label in zip(ROWS, LABELS[:4])
        ]
        named = grouped(ROWS[:4], LABELS[:4], np.arange(4))
        assert by_name(parties) == by_name(named)

    @pytest.mark.parametrize("n", [0, 5])
    def test_a_single_party(self, n: int) -> None:
        parties = Parties.single(ROWS[:n], LABELS[:n], "ward-3")
        assert (parties.names, parties.sizes.tolist()) == (["ward-3"], [n])
        assert as_lists(parties) == [(ROWS[:n].tolist(), LABELS[:n].tolist())]
        assert [number for *_, number in parties] == [by_name(grouped())["ward-3"][1]]


def norms(rows: Any) -> Any:
    return np.linalg.norm(rows, axis=1, keepdims=True)


class TestMaps:
    @pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, sp.csr_array])
    @pytest.mark.parametrize("out", [np.asarray, sp.csr_array])
    def test_some_or_all_may_have_no_rows(self, form: Any, out: Any) -> None:
        def wider(rows: Any) -> Any:
            dense = rows.toarray() if sp.issparse(rows) else rows
            return out(np.hstack([dense, dense[:, :1] * 2.0]))

        roll = [f"ward-{j}" for j in (20, 0, 1, 21)]
        some = np.isin(NAMES, roll)
        parties = Parties.group(form(ROWS)[some], LABELS[some], NAMES[some], roll).map(wider)
        plain = Parties.group(ROWS[some], LABELS[some], NAMES[some], roll)
        features = parties.features
        assert sp.issparse(features) == (out is not np.asarray)
        dense = features.toarray() if sp.issparse(features) else features
        assert np.array_equal(dense[:, :3], plain.features)
        assert dense.shape == (10, 4)
        assert (parties.names, parties.sizes.tolist()) == (roll, [0, 5, 5, 0])
        nobody = Parties.group(form(ROWS[:0]), LABELS[:0], [], roll).map(wider)
        assert nobody.features.shape == (0, 4)
        assert nobody.names == roll

    def test_the_public_preprocessing_is_such_a_map(self) -> None:
        public = Preprocessing(components=np.ones((3, 2)), constant=0.5)
        nobody = Parties.group(ROWS[:0], LABELS[:0], [], ["a"]).map(public)
        assert nobody.features.shape == (0, 3)
        assert np.array_equal(grouped().map(public).labels, grouped().labels)

    def test_each_meets_every_partys_rows_alone(self) -> None:
        seen: list[int] = []

        def work(rows: Any) -> Any:
            seen.append(len(rows))
            return norms(rows)

        parties = grouped(ROWS[:4], LABELS[:4], ["b", "a", "b", "b"], ["c", "b", "a", "d"])
        found = parties.each(work, np.zeros((7, 1)))
        assert seen == [3, 1]
        assert np.array_equal(found, norms(ROWS[[0, 2, 3, 1]]))
        empty = np.zeros((7, 1))
        assert grouped(ROWS[:0], LABELS[:0], [], ["c"]).each(work, empty) is empty

    def test_a_tiny_row_springs_no_trap(self, capfd: pytest.CaptureFixture[str]) -> None:
        """Under np.seterr(all="raise") a row of 1e-200 must not end the fit."""

        def loud(rows: Any) -> Any:
            print(rows)
            return rows * rows

        rows = np.full((2, 3), 1e-200)
        parties = Parties.group(rows, LABELS[:2], ["a", "b"])
        with np.errstate(all="raise"):
            assert parties.map(loud).features.tolist() == [[0.0] * 3] * 2
            assert parties.each(loud, rows).tolist() == [[0.0] * 3] * 2
        assert capfd.readouterr() == ("", "")

    def test_one_partys_number_of_rows_does_not_move_anothers_features(self) -> None:
        """A product of matrices may round a row differently when there are more rows beside it."""
        generator = np.random.default_rng(0)
        preprocessing = Preprocessing(components=generator.standard_normal((50, 34)))
        others = generator.standard_normal((200, 50))
        names = np.repeat(np.arange(1, 41), 5)

        def features(n_rows: int) -> np.ndarray:
            rows = np.vstack([generator.standard_normal((n_rows, 50)), others])
            labels = np.zeros(len(rows), dtype=np.int64)
            parties = Parties.group(rows, labels, np.concatenate([np.zeros(n_rows, int), names]))
            return np.asarray(parties.map(preprocessing).features[n_rows:])

        # With all rows at once, OpenBLAS 0.3.31 fails this for two numbers of rows in three.
        for n_rows in range(1, 40):
            assert np.array_equal(features(n_rows), features(1))


@st.composite
def rows_of_one(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n = draw(st.integers(0, 6))
    numbers = draw(st.lists(st.floats(-1e300, 1e300), min_size=3 * n, max_size=3 * n))
    labels = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    return np.array(numbers).reshape(n, 3), np.array(labels, dtype=np.int64)


class TestOnePartysRowsAreItsOwn:
    """The promise of rows.proof.md: replacing one party's rows changes nothing about others."""

    ROLL: ClassVar = [f"ward-{j}" for j in range(N_PARTIES)]

    @given(st.integers(0, N_PARTIES - 1), rows_of_one(), st.integers(0, 100))
    def test_whatever_they_are(
        self, party: int, own: tuple[np.ndarray, np.ndarray], seed: int
    ) -> None:
        name = f"ward-{party}"
        others = name != NAMES
        rows = np.vstack([own[0], ROWS[others]])
        labels = np.concatenate([own[1], LABELS[others]])
        names = np.concatenate([np.full(len(own[1]), name), NAMES[others]])
        order = self.mixed(names, seed)
        after = grouped(rows[order], labels[order], names[order], self.ROLL)
        before = grouped(roll=self.ROLL)
        assert after.names == before.names, "nor does anybody's place"
        told, was = by_name(after), by_name(before)
        assert all(told[each] == was[each] for each in self.ROLL if each != name)
        assert told[name][0] == (own[0].tolist(), own[1].tolist())

    @staticmethod
    def mixed(names: np.ndarray, seed: int) -> np.ndarray:
        """The parties mixed differently, with each party's rows in their order."""
        shuffled = np.random.default_rng(seed).permutation(names)
        order = np.empty(len(names), dtype=int)
        for name in np.unique(names):
            order[shuffled == name] = np.flatnonzero(names == name)
        return order
