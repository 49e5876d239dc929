"""Laws of the ballot: how classifiers are asked, and a wire format that survives hostile bytes."""

from __future__ import annotations

import dataclasses
import gzip
import io
import math
import pickle
import struct

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

from ostraka.auxiliary import AuxiliarySet
from ostraka.ballot import Ballot
from ostraka.ballot_format import HEADER
from ostraka.errors import (
    FormatError,
    InputError,
    LabelError,
    NonFiniteError,
    OstrakaError,
    ParameterError,
    ShapeError,
    UnknownClassError,
)
from ostraka.preprocessing import Preprocessing

DIGEST = "0123456789abcdef" * 4
ROWS = np.linspace(-0.6, 0.6, 20).reshape(10, 2)
NAMES = ("red", "green", "blue")
NUMBERS = (30, -10, 20)
AUXILIARY = AuxiliarySet(ROWS, NAMES)
EXPECTED = np.arange(10) % 3


class Predicting:
    """Answers prepared labels, ten in all, in the order in which it is asked."""

    def __init__(self, answers) -> None:
        self.answers = answers
        self.n_asked: list[int] = []

    def predict(self, samples):
        start = sum(self.n_asked)
        self.n_asked.append(samples.shape[0])
        return self.answers[start : start + samples.shape[0]]


class Rating:
    """Has only predict_proba."""

    def __init__(self, probabilities, classes=None) -> None:
        self.probabilities = np.asarray(probabilities)
        if classes is not None:
            self.classes_ = np.asarray(classes)

    def predict_proba(self, samples):
        return self.probabilities[: samples.shape[0]]


@st.composite
def ballots(draw):
    n_classes = draw(st.one_of(st.integers(2, 20), st.sampled_from([255, 256, 257, 65536, 65537, 2**32 - 1])))
    votes = draw(st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=40))
    return Ballot(np.array(votes, dtype=np.int64), n_classes, draw(st.binary(min_size=32, max_size=32)).hex())


class TestCasting:
    @pytest.mark.parametrize("chunk_rows", [1, 3, 10, 8192])
    def test_asks_in_chunks_and_gives_indices(self, chunk_rows):
        classifier = Predicting(np.array(NAMES)[EXPECTED])
        ballot = Ballot.cast(classifier, AUXILIARY, chunk_rows=chunk_rows)
        np.testing.assert_array_equal(ballot.votes, EXPECTED)
        assert max(classifier.n_asked) <= chunk_rows
        assert (ballot.n_classes, ballot.n_samples, ballot.auxiliary_digest) == (3, 10, AUXILIARY.digest)

    @pytest.mark.parametrize(
        "form",
        [
            lambda labels: labels,
            lambda labels: labels.astype(object),
            lambda labels: labels.tolist(),
            lambda labels: tuple(labels.tolist()),
            pd.Series,
            lambda labels: pd.Series(labels).astype("category"),
            lambda labels: labels.reshape(-1, 1),
        ],
    )
    @pytest.mark.parametrize("classes", [NAMES, NUMBERS])
    def test_labels_come_in_many_forms(self, form, classes):
        auxiliary = AuxiliarySet(ROWS, classes)
        labels = np.array(classes)[EXPECTED]
        np.testing.assert_array_equal(Ballot.cast(Predicting(form(labels)), auxiliary).votes, EXPECTED)

    @pytest.mark.parametrize("dtype", ["U5", "U40", ">U40"])
    def test_texts_come_in_many_widths(self, dtype):
        labels = np.array(NAMES, dtype=dtype)[EXPECTED]
        np.testing.assert_array_equal(Ballot.cast(Predicting(labels), AUXILIARY).votes, EXPECTED)

    @pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float32, np.float64])
    def test_integers_come_in_many_types(self, dtype):
        labels = np.array(NUMBERS, dtype=dtype)[EXPECTED]
        np.testing.assert_array_equal(Ballot.cast(Predicting(labels), AuxiliarySet(ROWS, NUMBERS)).votes, EXPECTED)

    def test_unsigned_and_bool_answers(self):
        for dtype in (np.uint8, np.uint64, np.bool_):
            labels = (EXPECTED == 0).astype(dtype)
            ballot = Ballot.cast(Predicting(labels), AuxiliarySet(ROWS, (0, 1)))
            np.testing.assert_array_equal(ballot.votes, EXPECTED == 0)

    def test_neighbouring_large_integers_stay_apart(self):
        classes = (2**62, 2**62 + 1, -(2**63))
        auxiliary = AuxiliarySet(ROWS, classes)
        np.testing.assert_array_equal(Ballot.cast(Predicting(np.array(classes)[EXPECTED]), auxiliary).votes, EXPECTED)
        with pytest.raises(UnknownClassError):
            Ballot.cast(Predicting(np.full(10, 2**63, dtype=np.uint64)), auxiliary)

    def test_functions_are_called_like_predict(self):
        ballot = Ballot.cast(lambda rows: np.where(rows[:, 0] > 0, "green", "blue"), AUXILIARY)
        np.testing.assert_array_equal(ballot.votes, np.where(ROWS[:, 0] > 0, 1, 2))

    @pytest.mark.parametrize("make", [np.array, sp.csr_array, pd.DataFrame])
    def test_classifiers_see_the_samples_as_they_were_given(self, make):
        seen = []

        def classifier(rows):
            seen.append(type(rows))
            return ["red"] * rows.shape[0]

        auxiliary = AuxiliarySet(make(ROWS), NAMES)
        Ballot.cast(classifier, auxiliary)
        assert seen == [type(auxiliary.samples)]

    def test_real_classifiers_vote_what_they_predict(self):
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        labels = np.array(NAMES)[EXPECTED]
        for classifier in (LogisticRegression().fit(ROWS, labels), LinearSVC().fit(ROWS, labels)):
            ballot = Ballot.cast(classifier, AUXILIARY, chunk_rows=4)
            np.testing.assert_array_equal(np.array(NAMES)[ballot.votes], classifier.predict(ROWS))

    def test_unknown_classes(self):
        for answers, given_label in [
            (np.array(["red"] * 9 + ["rot"]), "rot"),
            (["red"] * 9 + [None], None),
            (np.arange(10), 0),
            (np.array([b"red"] * 10), b"red"),
        ]:
            with pytest.raises(
                UnknownClassError,
                match=r"is not among the 3 classes 'red', 'green', 'blue'. List every class",
            ) as caught:
                Ballot.cast(Predicting(answers), AUXILIARY)
            assert caught.value.given == given_label

    @pytest.mark.parametrize("answer", [math.nan, math.inf, -math.inf, 20.5, 1e300, 21])
    def test_numbers_that_are_no_class(self, answer):
        with pytest.raises(UnknownClassError, match=r"is not among"):
            Ballot.cast(Predicting(np.full(10, answer)), AuxiliarySet(ROWS, NUMBERS))

    def test_nan_is_not_the_class_called_nan(self):
        with pytest.raises(UnknownClassError, match=r"Class nan"):
            Ballot.cast(Predicting(["nan"] * 9 + [math.nan]), AuxiliarySet(ROWS, ("nan", "b")))

    @pytest.mark.parametrize("answers", [["red"] * 9, np.full((10, 2), "red"), "red"])
    def test_wrong_lengths(self, answers):
        with pytest.raises(ShapeError, match=r"answer for samples 0 to 9: the shape is .* Allowed: one class for each of the 10 samples"):
            Ballot.cast(lambda rows: answers, AUXILIARY)

    def test_what_is_no_classifier(self):
        with pytest.raises(InputError, match=r"of type int has neither predict nor predict_proba and is no function"):
            Ballot.cast(3, AUXILIARY)

    def test_chunk_rows(self):
        with pytest.raises(ParameterError, match=r"chunk_rows = 0 is not allowed"):
            Ballot.cast(Predicting(EXPECTED), AUXILIARY, chunk_rows=0)


class TestProbabilities:
    def test_columns_are_the_classes_of_the_set_unless_the_classifier_says_otherwise(self):
        probabilities = np.tile([0.1, 0.7, 0.2], (10, 1))
        assert set(Ballot.cast(Rating(probabilities), AUXILIARY).votes) == {1}
        assert set(Ballot.cast(Rating(probabilities, ["blue", "red", "green"]), AUXILIARY).votes) == {0}

    def test_a_party_may_know_fewer_classes(self):
        assert set(Ballot.cast(Rating(np.tile([0.1, 0.9], (10, 1)), ["red", "blue"]), AUXILIARY).votes) == {2}

    def test_equal_ones_go_to_the_lowest_class_index(self):
        probabilities = np.tile([0.4, 0.2, 0.4], (10, 1))
        assert set(Ballot.cast(Rating(probabilities), AUXILIARY).votes) == {0}
        assert set(Ballot.cast(Rating(probabilities, ["blue", "red", "green"]), AUXILIARY).votes) == {1}

    def test_what_is_refused(self):
        with pytest.raises(UnknownClassError, match=r"'cyan'"):
            Ballot.cast(Rating(np.ones((10, 2)), ["red", "cyan"]), AUXILIARY)
        with pytest.raises(ShapeError, match=r"probabilities for samples 0 to 9: the shape is \(10, 2\)"):
            Ballot.cast(Rating(np.ones((10, 2))), AUXILIARY)
        with pytest.raises(NonFiniteError, match=r"probabilities holds NaN or infinite numbers, first in row 0"):
            Ballot.cast(Rating(np.full((10, 3), math.nan)), AUXILIARY)


class TestTheValue:
    @pytest.mark.parametrize(
        ("n_classes", "dtype"),
        [(2, np.uint8), (256, np.uint8), (257, np.uint16), (65536, np.uint16), (65537, np.uint32)],
    )
    def test_votes_are_small_and_read_only(self, n_classes, dtype):
        given_votes = np.array([0, n_classes - 1])
        ballot = Ballot(given_votes, n_classes, DIGEST)
        assert ballot.votes.dtype == dtype
        given_votes[0] = 1
        assert ballot.votes[0] == 0
        with pytest.raises(ValueError, match=r"read-only"):
            ballot.votes[0] = 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            ballot.n_classes = 5

    def test_repr_keeps_the_votes_secret(self):
        assert repr(Ballot([1, 0, 1], 2, DIGEST)) == f"Ballot(n_classes=2, auxiliary_digest='{DIGEST}')"

    def test_equality_is_that_of_the_contents(self):
        ballot = Ballot([1, 0], 2, DIGEST)
        assert ballot == Ballot(np.array([1, 0], dtype=np.int8), 2, DIGEST)
        assert hash(ballot) == hash(Ballot([1, 0], 2, DIGEST))
        for other in (Ballot([1, 1], 2, DIGEST), Ballot([1, 0], 3, DIGEST), Ballot([1, 0], 2, DIGEST[::-1]), "ballot"):
            assert ballot != other

    @pytest.mark.parametrize(
        ("votes", "error", "text"),
        [
            ([], ShapeError, "at least one vote"),
            ([[0, 1]], ShapeError, "one dimension"),
            ([0.0, 1.0], LabelError, "votes are of type float64. Give class indices as integers"),
            ([0, 3], LabelError, "votes run from 0 to 3. Allowed: class indices from 0 to 2"),
            ([-1, 0], LabelError, "votes run from -1 to 0"),
        ],
    )
    def test_votes_that_are_refused(self, votes, error, text):
        with pytest.raises(error, match=text):
            Ballot(votes, 3, DIGEST)

    @pytest.mark.parametrize("n_classes", [0, 1, -3, 2**32, math.nan])
    def test_numbers_of_classes_that_are_refused(self, n_classes):
        with pytest.raises(ParameterError, match=r"n_classes = .* is not allowed"):
            Ballot([0], n_classes, DIGEST)

    @pytest.mark.parametrize("digest", ["", "abc", DIGEST.upper(), DIGEST + "0", DIGEST + "\n", "g" * 64])
    def test_digests_that_are_refused(self, digest):
        with pytest.raises(ParameterError, match=r"auxiliary_digest = .* Allowed: 64 hexadecimal digits"):
            Ballot([0], 2, digest)


class TestOnTheWire:
    @given(ballots())
    def test_round_trip(self, ballot):
        data = ballot.to_bytes()
        assert Ballot.from_bytes(data) == ballot
        assert Ballot.from_bytes(data).to_bytes() == data
        bits_per_vote = math.ceil(math.log2(ballot.n_classes))
        assert len(data) == 53 + math.ceil(ballot.n_samples * bits_per_vote / 8)

    @pytest.mark.parametrize("n_classes", [2, 3, 8, 300])
    @pytest.mark.parametrize("n_samples", [65535, 65536, 65537, 200_003])
    def test_round_trip_of_long_ballots(self, n_classes, n_samples):
        ballot = Ballot(np.random.default_rng(1).integers(0, n_classes, n_samples), n_classes, DIGEST)
        assert Ballot.from_bytes(ballot.to_bytes()) == ballot

    def test_version_1_stays_readable(self):
        data = bytes.fromhex("4f535452414b4f4e01050000000400000000000000") + bytes.fromhex(DIGEST)
        data += (4 | 3 << 3 | 0 << 6 | 1 << 9).to_bytes(2, "little")
        assert Ballot.from_bytes(data) == Ballot([4, 3, 0, 1], 5, DIGEST)

    def test_other_bytes_like_types(self):
        ballot = Ballot([1, 0, 2], 3, DIGEST)
        assert Ballot.from_bytes(bytearray(ballot.to_bytes())) == ballot
        assert Ballot.from_bytes(memoryview(ballot.to_bytes())) == ballot
        with pytest.raises(FormatError, match=r"it is of type str, not bytes"):
            Ballot.from_bytes("OSTRAKON")

    @given(ballots(), st.data())
    def test_any_truncation_is_refused(self, ballot, data):
        whole = ballot.to_bytes()
        with pytest.raises(FormatError):
            Ballot.from_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])

    @given(ballots(), st.binary(min_size=1, max_size=20))
    def test_any_extension_is_refused(self, ballot, more):
        with pytest.raises(FormatError, match=r"followed by something else"):
            Ballot.from_bytes(ballot.to_bytes() + more)

    @given(ballots(), st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), min_size=1, max_size=4))
    def test_any_mutation_gives_a_ballot_or_a_format_error(self, ballot, changes):
        mutated = bytearray(ballot.to_bytes())
        for place, value in changes:
            mutated[place % len(mutated)] = value
        try:
            read = Ballot.from_bytes(bytes(mutated))
        except FormatError:
            return
        assert read.to_bytes() == bytes(mutated)

    @given(st.binary(max_size=80), st.booleans())
    @example(b"", False)
    def test_any_bytes_give_a_ballot_or_a_format_error(self, data, with_opening):
        try:
            Ballot.from_bytes(b"OSTRAKON\x01" + data if with_opening else data)
        except OstrakaError as error:
            assert isinstance(error, FormatError)  # noqa: PT017

    @pytest.mark.parametrize(
        ("data", "text"),
        [
            (b"", "it has only 0 bytes"),
            (b"OSTRAK", "it has only 6 bytes"),
            (b"OSTRAKON\x01", "it has 9 bytes, but the header alone has 53; it was cut off"),
            (b"ostrakon" + bytes(60), "it does not begin with the letters OSTRAKON"),
            (HEADER.pack(b"OSTRAKON", 2, 2, 1, bytes(32)), "it has version 2, but only version 1 is known here"),
            (HEADER.pack(b"OSTRAKON", 0, 2, 1, bytes(32)), "it has version 0"),
            (HEADER.pack(b"OSTRAKON", 1, 1, 1, bytes(32)), "it has 1 classes, but at least 2 are needed"),
            (HEADER.pack(b"OSTRAKON", 1, 2, 0, bytes(32)), "it claims 0 votes"),
            (HEADER.pack(b"OSTRAKON", 1, 2, 2**64 - 1, bytes(32)), "it claims 18446744073709551615 votes"),
            (HEADER.pack(b"OSTRAKON", 1, 2, 2**26, bytes(32)), "its header promises 8388661; it is cut off"),
            (HEADER.pack(b"OSTRAKON", 1, 2, 8, bytes(32)) + b"ab", "has 55 bytes, but its header promises 54"),
            (HEADER.pack(b"OSTRAKON", 1, 3, 1, bytes(32)) + b"\x03", "class index 3, but there are only 3 classes"),
            (HEADER.pack(b"OSTRAKON", 1, 3, 1, bytes(32)) + b"\x04", "the unused bits of its last byte are not 0"),
        ],
    )
    def test_what_is_refused_and_why(self, data, text):
        with pytest.raises(FormatError, match=r"This is not a valid ballot: .* Nothing was loaded.") as caught:
            Ballot.from_bytes(data)
        assert text in caught.value.problem

    @pytest.mark.parametrize("protocol", [2, 3, 4, 5])
    def test_a_pickle_under_another_name(self, tmp_path, protocol):
        path = tmp_path / "ward-3.ballot"
        path.write_bytes(pickle.dumps(Ballot([0, 1], 2, DIGEST), protocol=protocol))
        with pytest.raises(FormatError, match=r"it begins like a pickle, which could run code and is never opened"):
            Ballot.from_bytes(path.read_bytes())

    def test_other_files_under_another_name(self):
        archive, array = io.BytesIO(), io.BytesIO()
        np.savez(archive, votes=np.zeros(9))
        np.save(array, np.zeros(9))
        for data, text in [
            (gzip.compress(Ballot([0, 1], 2, DIGEST).to_bytes()), "a gzip file"),
            (archive.getvalue(), "a zip file or a numpy archive"),
            (array.getvalue(), "a numpy file"),
            (pickle.dumps([1, 2, 3], protocol=0), "does not begin with the letters OSTRAKON"),
        ]:
            with pytest.raises(FormatError, match=text):
                Ballot.from_bytes(data)

    def test_the_caller_may_know_the_number_of_samples(self):
        data = Ballot([0, 1, 1], 2, DIGEST).to_bytes()
        assert Ballot.from_bytes(data, n_samples_bound=3).n_samples == 3
        with pytest.raises(FormatError, match=r"it claims 3 votes, but 1 to 2 are allowed"):
            Ballot.from_bytes(data, n_samples_bound=2)

    def test_sizes_are_checked_before_memory_is_taken(self, monkeypatch):
        def no_memory(*args, **kwargs):
            raise AssertionError("allocated")

        monkeypatch.setattr(np, "empty", no_memory)
        monkeypatch.setattr(np, "unpackbits", no_memory)
        claim = struct.pack("<8sBIQ32s", b"OSTRAKON", 1, 2**32 - 1, 2**26, bytes(32))
        with pytest.raises(FormatError, match=r"cut off"):
            Ballot.from_bytes(claim)


def test_a_private_set_is_asked_about_sample_by_sample_and_goes_by_a_random_name() -> None:
    """A classifier that looks at a whole batch would let one private sample change the votes on all others."""
    rows = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    private, again = (AuxiliarySet(rows, (0, 1), preprocessing=Preprocessing(), private=True) for _ in range(2))
    seen = []

    def batchwise(samples: np.ndarray) -> np.ndarray:
        seen.append(len(samples))
        return np.full(len(samples), int(samples[0, 0] > 0))

    votes = Ballot.cast(batchwise, private).votes
    assert set(seen) == {1}
    assert votes.tolist() == (rows[:, 0] > 0).astype(int).tolist()
    assert private.digest != again.digest
    assert private.digest == private.digest
    with pytest.raises(ParameterError, match="1 for a private auxiliary set"):
        Ballot.cast(batchwise, private, chunk_rows=2)
    with pytest.raises(ParameterError, match="private samples are clipped"):
        AuxiliarySet(rows, (0, 1), private=True)
