"""One party, one ballot: what others hold, and in which order rows come, must not matter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ostraka.errors import InputError, ParameterError, ShapeError, WrongTypeError
from ostraka.party.rows import Parties, number_of
from ostraka.party.training import votes, workers
from ostraka.party.training.ensemble import linear_counts
from ostraka.party.training.linear import train
from ostraka.party.training.parameters import train_linear
from ostraka.party.training.templates import Maker
from ostraka.party.training.votes import (
    blank_votes,
    count_linear_votes,
    count_votes,
    linear_parameters,
    local_votes,
)
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.task import Task

N_CLASSES, N_COLUMNS, N_PARTIES, N_SAMPLES = 3, 3, 14, 25
RNG = np.random.default_rng(0)
FEATURES = RNG.uniform(-0.5, 0.5, (N_SAMPLES, N_COLUMNS))
ROWS = RNG.uniform(-0.5, 0.5, (5 * N_PARTIES, N_COLUMNS))
LABELS = RNG.integers(0, N_CLASSES, len(ROWS))
NAMES = np.array([f"ward-{j % N_PARTIES}" for j in range(len(ROWS))])
ROLL = [f"ward-{j}" for j in range(N_PARTIES)]
MARK = 0.4375
"""Marks a sample that a classifier cannot take; synthetic rows do not have it."""


class Plain:
    """No scikit-learn: fit and predict, nothing else."""

    def __init__(self) -> None:
        self.seen: list[int] = []

    def fit(self, rows: Any, labels: Any) -> None:
        self.seen += labels.tolist()

    def predict(self, rows: Any) -> Any:
        return np.full(rows.shape[0], np.bincount(self.seen).argmax())


class Writer(Plain):
    """Writes into whatever it is given."""

    def fit(self, rows: Any, labels: Any) -> None:
        super().fit(rows, labels)
        rows *= 0.0
        labels[:] = 0

    def predict(self, rows: Any) -> Any:
        answers = (rows[:, 0] > 0.0).astype(int)
        rows *= -1.0
        return answers


def nearest_mean(rows: np.ndarray, labels: np.ndarray) -> Any:
    means = np.stack([rows[labels == k].mean(axis=0) for k in range(labels.max() + 1)])
    return lambda samples: ((samples[:, np.newaxis] - means) ** 2).sum(axis=2).argmin(axis=1)


RANDOM = [
    RandomForestClassifier(3),
    make_pipeline(StandardScaler(), RandomForestClassifier(2)),
    BaggingClassifier(DecisionTreeClassifier(max_features=1), n_estimators=2),
    VotingClassifier(
        [
            ("tree", DecisionTreeClassifier(splitter="random")),
            ("guess", DummyClassifier(strategy="uniform")),
        ]
    ),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=1, splitter="random"), n_estimators=2),
    RandomForestClassifier(2, random_state=np.random.RandomState(0)),
    DummyClassifier(strategy="stratified"),
]
MIXED = [
    *RANDOM,
    LogisticRegression(max_iter=1000),
    GaussianNB(),
    KNeighborsClassifier(1),
    nearest_mean,
    Plain(),
    Writer(),
]


def grouped(rows: Any = ROWS, labels: Any = LABELS, names: Any = NAMES) -> Parties:
    return Parties.group(rows, labels, names)


def summed(batches: Iterator[tuple[list[str], Any]], parties: Parties) -> np.ndarray:
    """The counts of all, after checking whose they are."""
    names, counts = [], None
    for some, more in batches:
        names += some
        assert more.dtype == np.int64
        assert (more.sum(axis=1) == len(some)).all(), "one vote per party and sample"
        counts = more.copy() if counts is None else counts + more
    assert names == parties.names
    assert counts is not None
    return counts


def counted(
    parties: Parties,
    templates: Any = MIXED,
    features: Any = FEATURES,
    n_jobs: int = 1,
    n_classes: int = N_CLASSES,
    **options: Any,
) -> np.ndarray:
    # A stream that all could share, and that would carry one party's data to the next.
    np.random.seed(0)  # noqa: NPY002
    batches = count_votes(parties, features, n_classes, templates, n_jobs=n_jobs, **options)
    return summed(batches, parties)


def counted_linear(
    parties: Parties,
    features: Any = FEATURES,
    n_classes: int = N_CLASSES,
    lambda_: float = 1e-3,
    loss: str = "logistic",
    n_jobs: int = 1,
) -> np.ndarray:
    batches = count_linear_votes(parties, features, n_classes, lambda_, loss, n_jobs=n_jobs)
    return summed(batches, parties)


def as_lists(parties: Parties) -> list[tuple[list[Any], list[int]]]:
    return [(rows.tolist(), labels.tolist()) for rows, labels, _ in parties]


@st.composite
def data_of_one(draw: st.DrawFn, least: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Anything that a party may hold: nothing, one class or several, rows far away or the same."""
    n_rows = draw(st.integers(least, 7))
    numbers = st.floats(-1.0, 1.0, width=16)
    row = st.lists(numbers, min_size=N_COLUMNS, max_size=N_COLUMNS)
    rows = draw(st.lists(row, min_size=n_rows, max_size=n_rows))
    labels = draw(st.lists(st.integers(0, N_CLASSES - 1), min_size=n_rows, max_size=n_rows))
    return np.array(rows).reshape(n_rows, N_COLUMNS), np.array(labels, dtype=np.int64)


def replaced(party: str, own: tuple[np.ndarray, np.ndarray], first: bool) -> Parties:
    others = party != NAMES
    order = slice(None, None, 1 if first else -1)
    parts = [
        (own[0], own[1], np.full(len(own[1]), party)),
        (ROWS[others], LABELS[others], NAMES[others]),
    ][order]
    return Parties.group(*(np.concatenate(arrays) for arrays in zip(*parts)), ROLL)


def alone(party: str, own: tuple[np.ndarray, np.ndarray]) -> Parties:
    return Parties.single(*own, party)


class TestOnePartyMovesOneBallot:
    BEFORE = counted(Parties.group(ROWS, LABELS, NAMES, ROLL))

    @settings(max_examples=25, deadline=None)
    @given(party=st.integers(0, N_PARTIES - 1), own=data_of_one(), first=st.booleans())
    def test_whatever_it_holds(
        self, party: int, own: tuple[np.ndarray, np.ndarray], first: bool
    ) -> None:
        name = f"ward-{party}"
        change = counted(replaced(name, own, first)) - self.BEFORE
        assert np.abs(change).sum(axis=1).max() <= 2
        mine = name == NAMES
        old, new = counted(alone(name, (ROWS[mine], LABELS[mine]))), counted(alone(name, own))
        assert old.sum(axis=1).tolist() == new.sum(axis=1).tolist() == [1] * N_SAMPLES
        assert (change == new - old).all(), "every change is that of its own ballot"

    @pytest.mark.parametrize("template", RANDOM, ids=lambda template: type(template).__name__)
    def test_random_classifiers_one_by_one(self, template: Any) -> None:
        before = counted(grouped(), [template])
        for party in (0, 7):
            name = f"ward-{party}"
            more = 3 + party
            own = (np.tile(ROWS[::-1][:more], (2, 1)), np.arange(2 * more) % N_CLASSES)
            change = counted(replaced(name, own, first=True), [template]) - before
            mine = name == NAMES
            old = counted(alone(name, (ROWS[mine], LABELS[mine])), [template])
            assert (change == counted(alone(name, own), [template]) - old).all()

    def test_every_template_is_taken_by_someone(self) -> None:
        many = Parties.rows(np.zeros((60, 1)), np.zeros(60, dtype=int))
        assert {number % 5 for *_, number in many} == set(range(5))

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_linear_classifiers(self, n_classes: int) -> None:
        labels = LABELS % n_classes
        before = counted_linear(grouped(labels=labels), n_classes=n_classes)
        for party in range(N_PARTIES):
            mine = f"ward-{party}" == NAMES
            other = np.where(mine[:, np.newaxis], -ROWS[::-1], ROWS)
            change = counted_linear(grouped(other, labels), n_classes=n_classes) - before
            assert np.abs(change).sum(axis=1).max() <= 2


class TestPartiesWithoutRows:
    @pytest.mark.parametrize("n_classes", [2, 3, 7])
    def test_cast_the_blank_ballot(self, n_classes: int) -> None:
        nobody = Parties.group(ROWS[:0], LABELS[:0], [], ROLL)
        expected = np.eye(n_classes, dtype=int)[np.arange(N_SAMPLES) % n_classes] * N_PARTIES
        counts = counted(nobody, [GaussianNB(var_smoothing=0.1)], n_classes=n_classes)
        assert (counts == expected).all()
        assert (counted_linear(nobody, n_classes=n_classes) == expected).all()
        blank = blank_votes(n_classes * 4, n_classes)
        assert np.bincount(blank).tolist() == [4] * n_classes, "it favours nobody"

    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("n_parties", [20, 300])
    @pytest.mark.parametrize("loss", ["logistic", "huber"])
    def test_are_the_same_beside_others(self, n_classes: int, n_parties: int, loss: str) -> None:
        if loss == "huber" and n_classes > 2:
            return
        generator = np.random.default_rng(2)
        rows = generator.uniform(-0.5, 0.5, (3 * n_parties, N_COLUMNS))
        labels = generator.integers(0, n_classes, len(rows))
        roll = [str(number) for number in range(n_parties)]
        there = np.arange(len(rows)) % n_parties % 3 > 0  # every third has nothing
        names = np.arange(len(rows)) % n_parties
        full = Parties.group(rows, labels, names, roll)
        some = Parties.group(rows[there], labels[there], names[there], roll)
        all_weights, weights = (
            np.concatenate([part for _, part in parameters_of(parties, n_classes, loss)])
            for parties in (full, some)
        )
        absent = np.arange(n_parties) % 3 == 0
        assert (weights[absent] == 0.0).all()
        assert (weights[~absent] == all_weights[~absent]).all(), "others' weights do not move"
        counts = counted_linear(some, n_classes=n_classes, loss=loss)
        first = np.array([number_of(name) % n_classes for name in roll])
        others = linear_counts(weights[~absent], FEATURES, n_classes, first[~absent])
        blank = np.eye(n_classes, dtype=int)[np.arange(N_SAMPLES) % n_classes]
        assert (counts == others + absent.sum() * blank).all()

    def test_sparse_ones_too(self) -> None:
        roll = [*ROLL, "ward-99"]
        dense, sparse = (
            Parties.group(form, LABELS, NAMES, roll) for form in (ROWS, sp.csr_array(ROWS))
        )
        features = sp.csr_array(FEATURES)
        template = [DecisionTreeClassifier(random_state=0)]
        assert (counted(sparse, template, features) == counted(dense, template)).all()
        assert (counted_linear(sparse, features) == counted_linear(dense)).all()

    def test_the_number_of_ballots_does_not_tell_who_has_rows(self) -> None:
        nobody = Parties.group(ROWS[:0], LABELS[:0], [], ROLL)
        both = [counted(parties, [GaussianNB()]).sum() for parties in (grouped(), nobody)]
        assert both == [N_PARTIES * N_SAMPLES] * 2


def parameters_of(parties: Parties, n_classes: int, loss: str = "logistic") -> Any:
    return linear_parameters(parties, n_classes, 1e-3, loss, n_jobs=1)


class TestPrivateAuxiliarySets:
    """One by one: an auxiliary sample moves the votes on itself, whatever the classifiers do."""

    @staticmethod
    def failing(rows: Any, labels: Any) -> Any:
        def answer(samples: Any) -> Any:
            if (samples[:, 0] == MARK).any():
                raise RuntimeError("a sample that it cannot take")
            return np.ones(len(samples), dtype=int)

        return answer

    @staticmethod
    def looking_around(rows: Any, labels: Any) -> Any:
        return lambda samples: np.full(len(samples), int(len(samples) > 1))

    ONE: ClassVar = (ROWS[:5], np.array([0, 0, 0, 1, 2]), "ward-1")

    def test_samples_are_asked_about_alone(self) -> None:
        for one_by_one in (True, False):
            counts = counted(
                Parties.single(*self.ONE), [self.looking_around], one_by_one=one_by_one
            )
            assert counts[:, int(not one_by_one)].tolist() == [1] * N_SAMPLES

    def test_a_failure_falls_back_for_its_sample_alone(self) -> None:
        features = FEATURES * 0.1
        features[[3, 11], 0] = MARK
        counts = counted(Parties.single(*self.ONE), [self.failing], features, one_by_one=True)
        assert np.flatnonzero(counts[:, 0]).tolist() == [3, 11], "to the party's commonest class"
        assert counts[:, 1].sum() == N_SAMPLES - 2
        counts = counted(Parties.single(*self.ONE), [self.failing], features)
        assert counts[:, 0].sum() == N_SAMPLES, "otherwise for the whole chunk"

    def test_chunks_that_do_not_fail_stay(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(votes, "CHUNK_ROWS", 10)
        features = FEATURES * 0.1
        features[13, 0] = MARK
        counts = counted(Parties.single(*self.ONE), [self.failing], features)
        assert np.flatnonzero(counts[:, 0]).tolist() == list(range(10, 20))

    @settings(max_examples=20, deadline=None)
    @given(st.integers(0, N_SAMPLES - 1), st.floats(-0.5, 0.5) | st.just(MARK))
    def test_one_sample_moves_its_own_votes(self, sample: int, value: float) -> None:
        assert self.moved(sample, value, one_by_one=True) <= {sample}

    def moved(self, sample: int, value: float, one_by_one: bool) -> set[int]:
        templates = [self.failing, RandomForestClassifier(2), GaussianNB(), nearest_mean]
        tame = FEATURES * 0.5
        other = tame.copy()
        other[sample] = value
        before, after = (
            counted(grouped(), templates, features, one_by_one=one_by_one)
            for features in (tame, other)
        )
        return set(np.flatnonzero((before != after).any(axis=1)).tolist())

    def test_mutant_a_whole_ballot_falls_back(self) -> None:
        """Asked in one go, others move too; public sets are still asked so, which does no harm."""
        assert not self.moved(0, MARK, one_by_one=False) <= {0}

    def test_mutant_a_party_catches_the_failure(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The party's own catch must come after the sample's."""

        def strict(*arguments: Any, **options: Any) -> Any:
            return local_votes(*arguments, **{**options, "falls_back": False})

        monkeypatch.setattr(votes, "local_votes", strict)
        assert not self.moved(0, MARK, one_by_one=True) <= {0}


class TestTemplates:
    def test_a_party_that_saw_one_class_votes_for_it(self) -> None:
        parties = grouped(ROWS[:6], np.array([2, 2, 0, 0, 1, 1]), [1, 1, 2, 2, 3, 3])
        assert counted(parties).tolist() == [[1, 1, 1]] * N_SAMPLES
        lonely = Parties.rows(ROWS[:2], np.array([2, 2]))
        assert counted(lonely).tolist() == [[0, 0, 2]] * N_SAMPLES

    def test_a_party_that_saw_some_classes_votes_for_those(self) -> None:
        for template in MIXED:
            counts = counted(grouped(ROWS[:10], np.array([0, 2] * 5), ["p"] * 10), [template])
            assert counts[:, 1].tolist() == [0] * N_SAMPLES

    def test_classifiers_see_classes_from_zero(self) -> None:
        seen: list[Any] = []

        def note(rows: Any, labels: Any) -> Any:
            seen.append(labels.tolist())
            return lambda samples: np.full(len(samples), 1)

        counts = counted(grouped(ROWS[:4], np.array([2, 1, 1, 2]), ["p"] * 4), [note])
        assert seen[1:] == [[1, 0, 0, 1]], "after a trial on synthetic rows"
        assert counts[:, 2].tolist() == [1] * N_SAMPLES, "and their answers are translated back"

    def test_a_template_is_never_fitted_itself(self) -> None:
        plain, forest = Plain(), RandomForestClassifier(2)
        counted(grouped(), [plain, forest])
        assert plain.seen == []
        assert not hasattr(forest, "estimators_")
        assert forest.random_state is None

    def test_what_fit_returns_is_asked_if_it_returns_something(self) -> None:
        class Maker:
            def fit(self, rows: Any, labels: Any) -> Any:
                return lambda samples: np.ones(len(samples), dtype=int)

        parties = grouped(ROWS[:4], np.array([0, 1, 0, 1]), ["p"] * 4)
        assert counted(parties, [Maker()])[:, 1].min() == 1

    def test_probabilities_are_enough(self) -> None:
        class Likely:
            def fit(self, rows: Any, labels: Any) -> None:
                self.n = labels.max() + 1

            def predict_proba(self, samples: Any) -> Any:
                return np.tile(np.arange(self.n), (len(samples), 1))

        parties = grouped(ROWS[:4], np.array([0, 2, 0, 2]), ["p"] * 4)
        assert counted(parties, [Likely()])[:, 2].min() == 1

    def test_rows_and_labels_of_the_parties_stay_as_they_are(self) -> None:
        parties = grouped()
        before = as_lists(parties)
        scaled = make_pipeline(StandardScaler(copy=False), GaussianNB(var_smoothing=0.1))
        counted(parties, [Writer(), scaled])
        assert as_lists(parties) == before

    @pytest.mark.parametrize(
        ("templates", "error", "complaint"),
        [
            (
                [],
                ParameterError,
                r"local = nothing is not allowed\. Allowed: at least one classifier",
            ),
            (
                [GaussianNB],
                WrongTypeError,
                r"of type .*Give an unfitted GaussianNB\(\.\.\.\), not the class itself",
            ),
            (["forest"], WrongTypeError, r"of type str\. Give an unfitted classifier with fit and"),
            (
                [GaussianNB(), None],
                WrongTypeError,
                r"of type NoneType\. Give .*or a function that makes one\.",
            ),
        ],
    )
    def test_templates_that_are_none(
        self, templates: Any, error: type[Exception], complaint: str
    ) -> None:
        with pytest.raises(error, match=complaint):
            count_votes(grouped(), FEATURES, N_CLASSES, templates, n_jobs=1)

    def test_an_answer_that_is_no_class_is_refused(self) -> None:
        def nine(rows: Any, labels: Any) -> Any:
            return lambda samples: np.full(len(samples), 9)

        with pytest.raises(InputError, match="Class 9 is not among the 3 classes 0, 1, 2"):
            count_votes(grouped(), FEATURES, N_CLASSES, [nine], n_jobs=1)

    def test_what_cannot_work_fails_before_anything_private_is_seen(self) -> None:
        seen = []

        def broken(rows: np.ndarray, labels: np.ndarray) -> None:
            seen.append(len(rows))

        with pytest.raises(InputError, match="NoneType has neither predict"):
            count_votes(grouped(), FEATURES, N_CLASSES, [broken])
        assert seen == [100], "when it is called, not when the first batch is asked for"

    def test_also_what_cannot_take_the_parties_own_form(self) -> None:
        """Trained on sparse rows, asked about dense ones: a failure would be silent later."""
        with pytest.raises(TypeError, match=r"[Ss]parse"):
            count_votes(grouped(sp.csr_array(ROWS)), FEATURES, N_CLASSES, [GaussianNB()])

    def test_the_trial_may_be_seen(self, capfd: pytest.CaptureFixture[str]) -> None:
        def loud(rows: Any, labels: Any) -> Any:
            print("trained on", len(rows))
            return lambda samples: np.zeros(len(samples), dtype=int)

        counted(grouped(), [loud])
        assert capfd.readouterr().out == "trained on 100\n"

    @pytest.mark.parametrize("wide", [ROWS[:, :2], np.hstack([ROWS, ROWS])])
    def test_other_columns_than_the_auxiliary_sets_are_refused(self, wide: Any) -> None:
        parties = grouped(wide)
        complaint = r"The parties' features: the shape is .*\(samples, 3\), as the auxiliary set"
        with pytest.raises(ShapeError, match=complaint):
            count_votes(parties, FEATURES, N_CLASSES, [GaussianNB()])
        with pytest.raises(ShapeError, match=complaint):
            count_linear_votes(parties, FEATURES, N_CLASSES, 1e-3, "logistic")

    def test_streams_hidden_from_get_params_are_separate_too(self) -> None:
        """A shuffling cross-validator draws from numpy's global stream."""
        template = GridSearchCV(
            DecisionTreeClassifier(max_features=1),
            {"max_depth": [1, 3]},
            cv=KFold(3, shuffle=True),
        )
        rng = np.random.default_rng(0)
        features = rng.standard_normal((50, 4))
        rows, labels = rng.standard_normal((30, 4)), rng.integers(0, 2, 30)
        before = local_votes(Maker(template), rows, labels, features, 7)
        np.random.random(1000)  # noqa: NPY002
        assert (local_votes(Maker(template), rows, labels, features, 7) == before).all()


class TestOrderAndForm:
    @pytest.mark.parametrize("seed", range(3))
    def test_how_the_rows_of_parties_are_mixed_does_not_matter(self, seed: int) -> None:
        """The order within a party is its own: a bootstrap may see it."""
        shuffled = np.random.default_rng(seed).permutation(NAMES)
        order = np.empty(len(NAMES), dtype=int)
        for name in np.unique(NAMES):
            order[shuffled == name] = np.flatnonzero(name == NAMES)
        mixed = grouped(ROWS[order], LABELS[order], NAMES[order])
        assert (counted(mixed) == counted(grouped())).all()

    @pytest.mark.parametrize(
        "template",
        [KNeighborsClassifier(1), LogisticRegression(max_iter=1000), nearest_mean, Plain()],
    )
    def test_any_order_for_classifiers_that_have_none(self, template: Any) -> None:
        order = np.random.default_rng(5).permutation(len(ROWS))
        rows = np.round(ROWS * 64) / 64
        mixed = grouped(rows[order], LABELS[order], NAMES[order])
        assert (counted(mixed, [template]) == counted(grouped(rows), [template])).all()

    @pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array])
    def test_sparse_rows_give_the_same_counts(self, form: Any) -> None:
        templates = [
            LogisticRegression(max_iter=1000),
            KNeighborsClassifier(1),
            DecisionTreeClassifier(random_state=0),
        ]
        sparse, features = grouped(form(ROWS)), form(FEATURES)
        assert (counted(sparse, templates, features) == counted(grouped(), templates)).all()
        assert (counted_linear(sparse, features) == counted_linear(grouped())).all()

    @pytest.mark.parametrize(
        ("n_classes", "loss"), [(2, "logistic"), (3, "logistic"), (2, "huber")]
    )
    def test_the_linear_path_counts_trained_models(self, n_classes: int, loss: str) -> None:
        samples = ROWS * 10.0
        classes = tuple(range(n_classes))
        auxiliary = AuxiliarySet.scaled(FEATURES * 10.0, classes, 0.5, standardise=True)
        task, labels = Task.of(auxiliary), LABELS % n_classes
        weights = np.stack(
            [
                train(samples[name == NAMES], labels[name == NAMES], task, 1e-3, loss)
                for name in np.unique(NAMES)
            ]
        )
        parties = Parties.group(task.features(samples), labels, NAMES)
        counts = counted_linear(parties, auxiliary.features, n_classes, 1e-3, loss)
        first = np.array([number_of(name) % n_classes for name in parties.names])
        assert (counts == linear_counts(weights, auxiliary.features, n_classes, first)).all()
        found = list(parameters_of(parties, n_classes, loss))
        assert [name for names, _ in found for name in names] == parties.names
        assert (np.concatenate([part for _, part in found]) == weights).all()
        alone = train_linear(parties, n_classes, 1e-3, loss, 1, None)
        assert (np.concatenate(list(alone)) == weights).all()

    def test_no_rows_are_no_parties(self) -> None:
        parties = Parties.rows(ROWS[:0], LABELS[:0])
        assert list(count_votes(parties, FEATURES, N_CLASSES, MIXED, n_jobs=1)) == []
        assert list(count_linear_votes(parties, FEATURES, N_CLASSES, 1e-3, "logistic")) == []

    def test_a_lambda_too_small_for_doubles_is_refused_from_public_numbers(self) -> None:
        for parties in (grouped(), grouped(ROWS[:0], LABELS[:0], [])):
            with pytest.raises(ParameterError, match=r"lambda = 1e-20 is not allowed"):
                count_linear_votes(parties, FEATURES, N_CLASSES, 1e-20, "logistic")


def test_the_watcher_sees_every_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "PARALLEL_FROM", 2)
    seen: list[int] = []

    def watch(batches: Any, total: int) -> Any:
        for number, batch in enumerate(batches, start=1):
            seen.append(total - number)
            yield batch

    parties = Parties.rows(ROWS, LABELS)
    counted(parties, [GaussianNB(var_smoothing=0.1)], watch=watch)
    assert seen == list(range(len(seen)))[::-1]
    assert len(seen) > 1
    seen.clear()
    batches = count_linear_votes(
        parties, FEATURES, N_CLASSES, 1e-3, "logistic", n_jobs=1, watch=watch
    )
    summed(batches, parties)
    assert seen == list(range(len(seen)))[::-1]
    assert seen
