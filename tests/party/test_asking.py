"""How classifiers are asked, and that a failure on one sample stays with that sample."""

from __future__ import annotations

import math
import os
import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.errors import (
    InputError,
    NonFiniteError,
    ParameterError,
    ShapeError,
    UnknownClassError,
)
from ostraka.party import asking
from ostraka.party.asking import ask_votes
from ostraka.public.classes import ClassIndex

ROWS = np.linspace(-0.6, 0.6, 20).reshape(10, 2)
NAMES = ("red", "green", "blue")
NUMBERS = (30, -10, 20)
EXPECTED = np.arange(10) % 3


def asked(
    classifier: Any, classes: tuple[Any, ...] = NAMES, rows: Any = ROWS, **options: Any
) -> list[int]:
    index = ClassIndex(classes)
    n = rows.shape[0]
    votes = ask_votes(classifier, index, lambda i, j: rows[i:j].copy(), n, **options)
    assert votes.dtype == np.min_scalar_type(len(classes) - 1)
    assert votes.shape == (n,)
    return [int(vote) for vote in votes]


class Predicting:
    """Answers prepared labels, ten in all, in the order in which it is asked."""

    def __init__(self, answers: Any) -> None:
        self.answers = answers
        self.n_asked: list[int] = []

    def predict(self, samples: Any) -> Any:
        start = sum(self.n_asked)
        self.n_asked.append(samples.shape[0])
        return self.answers[start : start + samples.shape[0]]


class Rating:
    """Has only predict_proba."""

    def __init__(self, probabilities: Any, classes: Any = None) -> None:
        self.probabilities = np.asarray(probabilities)
        if classes is not None:
            self.classes_ = np.asarray(classes)

    def predict_proba(self, samples: Any) -> Any:
        return self.probabilities[: samples.shape[0]]


class TestLabels:
    @pytest.mark.parametrize("chunk_rows", [1, 3, 10, 8192])
    def test_asks_in_chunks_and_gives_indices(self, chunk_rows: int) -> None:
        classifier = Predicting(np.array(NAMES)[EXPECTED])
        assert asked(classifier, chunk_rows=chunk_rows) == EXPECTED.tolist()
        assert max(classifier.n_asked) <= chunk_rows
        assert sum(classifier.n_asked) == 10

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
    def test_labels_come_in_many_forms(self, form: Any, classes: tuple[Any, ...]) -> None:
        labels = np.array(classes)[EXPECTED]
        assert asked(Predicting(form(labels)), classes) == EXPECTED.tolist()

    @pytest.mark.parametrize("dtype", ["U5", "U40", ">U40"])
    def test_texts_come_in_many_widths(self, dtype: str) -> None:
        assert asked(Predicting(np.array(NAMES, dtype=dtype)[EXPECTED])) == EXPECTED.tolist()

    @pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float32, np.float64])
    def test_integers_come_in_many_types(self, dtype: Any) -> None:
        labels = np.array(NUMBERS, dtype=dtype)[EXPECTED]
        assert asked(Predicting(labels), NUMBERS) == EXPECTED.tolist()

    def test_unsigned_and_bool_answers(self) -> None:
        for dtype in (np.uint8, np.uint64, np.bool_):
            labels = (EXPECTED == 0).astype(dtype)
            assert asked(Predicting(labels), (0, 1)) == (EXPECTED == 0).astype(int).tolist()

    def test_neighbouring_large_integers_stay_apart(self) -> None:
        classes = (2**62, 2**62 + 1, -(2**63))
        assert asked(Predicting(np.array(classes)[EXPECTED]), classes) == EXPECTED.tolist()
        with pytest.raises(UnknownClassError):
            asked(Predicting(np.full(10, 2**63, dtype=np.uint64)), classes)

    def test_functions_are_called_like_predict(self) -> None:
        votes = asked(lambda rows: np.where(rows[:, 0] > 0, "green", "blue"))
        assert votes == np.where(ROWS[:, 0] > 0, 1, 2).tolist()

    @pytest.mark.parametrize(
        ("n_classes", "dtype"), [(2, np.uint8), (256, np.uint8), (257, np.uint16)]
    )
    def test_votes_are_small(self, n_classes: int, dtype: Any) -> None:
        index = ClassIndex(tuple(range(n_classes)))
        classifier = Predicting(np.full(2, n_classes - 1))
        votes = ask_votes(classifier, index, lambda i, j: ROWS[i:j], 2)
        assert (votes.dtype, votes.tolist()) == (dtype, [n_classes - 1] * 2)

    def test_real_classifiers_vote_what_they_predict(self) -> None:
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        labels = np.array(NAMES)[EXPECTED]
        for classifier in (LogisticRegression().fit(ROWS, labels), LinearSVC().fit(ROWS, labels)):
            votes = asked(classifier, chunk_rows=4)
            assert np.array(NAMES)[votes].tolist() == classifier.predict(ROWS).tolist()

    def test_unknown_classes(self) -> None:
        for answers, given_label in [
            (np.array(["red"] * 9 + ["rot"]), "rot"),
            (["red"] * 9 + [None], None),
            (np.arange(10), 0),
            (np.array([b"red"] * 10), b"red"),
        ]:
            complaint = r"is not among the 3 classes 'red', 'green', 'blue'\."
            with pytest.raises(UnknownClassError, match=complaint) as caught:
                asked(Predicting(answers))
            assert caught.value.given == given_label

    @pytest.mark.parametrize("answer", [math.nan, math.inf, -math.inf, 20.5, 1e300, 21])
    def test_numbers_that_are_no_class(self, answer: float) -> None:
        with pytest.raises(UnknownClassError, match=r"is not among"):
            asked(Predicting(np.full(10, answer)), NUMBERS)

    def test_nan_is_not_the_class_called_nan(self) -> None:
        with pytest.raises(UnknownClassError, match=r"Class nan"):
            asked(Predicting(["nan"] * 9 + [math.nan]), ("nan", "b"))

    @pytest.mark.parametrize("answers", [["red"] * 9, np.full((10, 2), "red"), "red"])
    def test_wrong_lengths(self, answers: Any) -> None:
        complaint = (
            r"answer for samples 0 to 9: the shape is .* "
            r"Allowed: one class for each of the 10 samples"
        )
        with pytest.raises(ShapeError, match=complaint):
            asked(lambda rows: answers)

    def test_what_is_no_classifier(self) -> None:
        for fallback in (None, 0):
            complaint = r"of type int has neither predict nor predict_proba and is not a function"
            with pytest.raises(InputError, match=complaint):
                asked(3, fallback=fallback)

    @pytest.mark.parametrize(
        "options", [{"chunk_rows": 0}, {"chunk_rows": math.nan}, {"fallback": 3}, {"fallback": -1}]
    )
    def test_options_outside_their_range(self, options: dict[str, Any]) -> None:
        with pytest.raises(ParameterError, match=rf"{next(iter(options))} = .* is not allowed"):
            asked(Predicting(EXPECTED), **options)


class TestProbabilities:
    def test_columns_are_the_classes_unless_the_classifier_says_otherwise(self) -> None:
        probabilities = np.tile([0.1, 0.7, 0.2], (10, 1))
        assert set(asked(Rating(probabilities))) == {1}
        assert set(asked(Rating(probabilities, ["blue", "red", "green"]))) == {0}

    def test_a_party_may_know_fewer_classes(self) -> None:
        assert set(asked(Rating(np.tile([0.1, 0.9], (10, 1)), ["red", "blue"]))) == {2}

    def test_equal_ones_go_to_the_lowest_class_index(self) -> None:
        probabilities = np.tile([0.4, 0.2, 0.4], (10, 1))
        assert set(asked(Rating(probabilities))) == {0}
        assert set(asked(Rating(probabilities, ["blue", "red", "green"]))) == {1}

    def test_what_is_refused(self) -> None:
        with pytest.raises(UnknownClassError, match=r"'cyan'"):
            asked(Rating(np.ones((10, 2)), ["red", "cyan"]))
        complaint = r"probabilities for samples 0 to 9: the shape is \(10, 2\)"
        with pytest.raises(ShapeError, match=complaint):
            asked(Rating(np.ones((10, 2))))
        complaint = r"probabilities holds NaN or infinite numbers, first in row 0"
        with pytest.raises(NonFiniteError, match=complaint):
            asked(Rating(np.full((10, 3), math.nan)))


# Ways to fail on the samples whose first number is above a half.


def raising(rows: Any) -> Any:
    if (rows[:, 0] > 0.5).any():
        raise RuntimeError("a sample above a half")
    return ["green"] * len(rows)


def leaving(rows: Any) -> Any:
    if (rows[:, 0] > 0.5).any():
        sys.exit("a sample above a half")
    return ["green"] * len(rows)


def one_too_many(rows: Any) -> Any:
    return ["green"] * (len(rows) + int((rows[:, 0] > 0.5).any()))


def no_class(rows: Any) -> Any:
    return np.where(rows[:, 0] > 0.5, "cyan", "green")


def not_a_number(rows: Any) -> Any:
    return [math.nan if row[0] > 0.5 else "green" for row in rows]


def no_array(rows: Any) -> Any:
    return object() if (rows[:, 0] > 0.5).any() else ["green"] * len(rows)


def talking(rows: Any) -> Any:
    if (rows[:, 0] > 0.5).any():
        print("a sample above a half")
        os.write(2, b"a sample above a half")
        warnings.warn("a sample above a half", stacklevel=1)
        return 1 / 0
    return ["green"] * len(rows)


class Infinite:
    def predict_proba(self, rows: Any) -> Any:
        with np.errstate(divide="raise"):
            return np.outer(1.0 / (rows[:, 0] <= 0.5), [0.0, 1.0, 0.0])


FAILING: list[Any] = [
    raising,
    leaving,
    one_too_many,
    no_class,
    not_a_number,
    no_array,
    talking,
    Infinite(),
]


class TestFallback:
    @pytest.mark.parametrize("classifier", FAILING)
    def test_a_failure_stays_with_its_sample(
        self, classifier: Any, capfd: pytest.CaptureFixture[str]
    ) -> None:
        expected = [2 if row[0] > 0.5 else 1 for row in ROWS]
        assert asked(classifier, chunk_rows=1, fallback=2) == expected
        assert capfd.readouterr() == ("", "")

    @pytest.mark.parametrize("classifier", FAILING)
    def test_with_its_chunk_where_samples_are_asked_together(self, classifier: Any) -> None:
        failing = [bool((ROWS[start : start + 4, 0] > 0.5).any()) for start in (0, 4, 8)]
        expected = [2 if failing[i // 4] else 1 for i in range(10)]
        assert asked(classifier, chunk_rows=4, fallback=2) == expected

    @pytest.mark.parametrize("classifier", [*FAILING[:-2], FAILING[-1]])
    def test_without_it_the_error_is_raised(self, classifier: Any) -> None:
        with pytest.raises((Exception, SystemExit)):
            asked(classifier, chunk_rows=1)

    def test_an_interruption_is_no_failure(self) -> None:
        def interrupted(rows: Any) -> Any:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            asked(interrupted, fallback=0)

    def test_answers_stay_as_they_are(self) -> None:
        answers = np.array(NAMES)[EXPECTED]
        assert asked(Predicting(answers), fallback=0) == EXPECTED.tolist()

    def test_the_global_streams_stay_as_they_were(self) -> None:
        before = random.getstate()
        asked(lambda rows: [NAMES[random.randrange(3)] for _ in rows], fallback=0)
        assert random.getstate() == before


class Drawing:
    """Draws more often for some samples than for others, from every global stream."""

    def predict(self, rows: Any) -> Any:
        return [NAMES[self.one(row)] for row in rows]

    def one(self, row: Any) -> int:
        for _ in range(1 + int(row[0] > 0)):
            drawn = random.random() + np.random.random()  # noqa: NPY002
        return int(drawn * 1.49)


CLASSIFIERS: list[Callable[..., Any] | Any] = [*FAILING, Drawing()]


class TestOnePrivateSampleMovesItsOwnVote:
    """The promise to the owner of an auxiliary sample, for every classifier that is here."""

    @settings(max_examples=60, deadline=None)
    @given(
        st.integers(0, 9),
        st.floats(-1.0, 1.0),
        st.integers(0, len(CLASSIFIERS) - 1),
    )
    def test_whatever_it_is(self, sample: int, value: float, which: int) -> None:
        assert self.moved(sample, value, CLASSIFIERS[which]) <= {sample}

    @staticmethod
    def moved(sample: int, value: float, classifier: Any, chunk_rows: int = 1) -> set[int]:
        other = ROWS.copy()
        other[sample] = value
        votes = [
            asked(classifier, rows=rows, chunk_rows=chunk_rows, fallback=2)
            for rows in (ROWS, other)
        ]
        return {i for i in range(10) if votes[0][i] != votes[1][i]}

    def test_mutant_a_whole_ballot_falls_back(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Without it, one sample would change all votes."""

        def whole(ask: Any, fallback: int) -> Any:
            failed: list[bool] = []

            def once(samples: Any, start: int, stop: int) -> Any:
                try:
                    failed or ask(samples, start, stop)
                except Exception:
                    failed.append(True)
                return np.full(stop - start, fallback if failed else 1)

            return once

        monkeypatch.setattr(asking, "_without_failing", whole)
        assert not self.moved(0, 0.9, raising) <= {0}

    def test_mutant_chunks_of_several(self) -> None:
        assert not self.moved(0, 0.9, raising, chunk_rows=5) <= {0}

    def test_mutant_streams_that_run_on(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(asking, "restart_streams", lambda: None)
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002
        assert not self.moved(0, 0.9, Drawing()) <= {0}


class OtherClasses:
    """Its classes are not those of the poll."""

    classes_ = ("red", "own secret")

    def predict_proba(self, rows: Any) -> Any:
        return np.full((len(rows), 2), 0.5)


class Shy:
    """Fails when it is only looked at, and says why."""

    @property
    def predict(self) -> Any:
        print("row 17 of my data")
        raise InputError("row 17 of my data is bad.", "Look at it.")


@pytest.mark.parametrize("classifier", [OtherClasses(), Shy()])
def test_with_a_fallback_nothing_of_a_failure_is_seen(
    classifier: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    assert asked(classifier, fallback=1) == [1] * 10
    assert capfd.readouterr() == ("", "")
    with pytest.raises(InputError):
        asked(classifier)


def test_what_is_no_classifier_is_refused_even_with_a_fallback() -> None:
    with pytest.raises(InputError, match="has neither predict nor predict_proba"):
        asked(3, fallback=0)
