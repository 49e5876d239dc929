"""One party, one ballot: what others hold, who works, and in which order rows come must not matter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from ostraka.auxiliary import AuxiliarySet
from ostraka.errors import InputError, ParameterError, ShapeError, WrongTypeError
from ostraka.local import parties as module
from ostraka.local.ensemble import tally_linear
from ostraka.local.linear import train
from ostraka.local.parties import Parties, linear_parameters, tally_linear_parties, tally_parties
from ostraka.model import Task
from ostraka.preprocessing import Preprocessing
from ostraka.tally import Tally

N_CLASSES, N_COLUMNS, N_PARTIES = 3, 3, 14
RNG = np.random.default_rng(0)
AUXILIARY = AuxiliarySet(RNG.uniform(-0.5, 0.5, (25, N_COLUMNS)), tuple("abc"))
ROWS = RNG.uniform(-0.5, 0.5, (5 * N_PARTIES, N_COLUMNS))
LABELS = RNG.integers(0, N_CLASSES, len(ROWS))
NAMES = np.array([f"ward-{j % N_PARTIES}" for j in range(len(ROWS))])


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
    VotingClassifier([("tree", DecisionTreeClassifier(splitter="random")), ("guess", DummyClassifier(strategy="uniform"))]),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=1, splitter="random"), n_estimators=2),
    RandomForestClassifier(2, random_state=np.random.RandomState(0)),
    DummyClassifier(strategy="stratified"),
]
MIXED = [*RANDOM, LogisticRegression(max_iter=1000), GaussianNB(), KNeighborsClassifier(1), nearest_mean, Plain(), Writer()]


def grouped(rows: Any = ROWS, labels: Any = LABELS, names: Any = NAMES) -> Parties:
    return Parties.group(rows, labels, names)


def counted(parties: Parties, templates: Any = MIXED, auxiliary: AuxiliarySet = AUXILIARY, n_jobs: int = 1) -> np.ndarray:
    np.random.seed(0)  # noqa: NPY002 - a stream that all could share, and that would carry one party's data to the next
    tally = tally_parties(parties, templates, auxiliary, n_jobs=n_jobs)
    assert tally.n_parties == len(parties)
    return tally.counts.copy()


def as_lists(parties: Parties) -> list[tuple[list[Any], list[int]]]:
    return [(rows.tolist(), labels.tolist()) for rows, labels, _ in parties]


class TestGrouping:
    def test_without_names_every_row_is_a_party(self) -> None:
        parties = grouped(ROWS[:4], LABELS[:4], None)
        assert len(parties) == 4
        assert as_lists(parties) == [([row.tolist()], [label]) for row, label in zip(ROWS, LABELS[:4].tolist())]

    @pytest.mark.parametrize(
        "names",
        [
            ["b", "a", "b", "c"],
            np.array(["b", "a", "b", "c"]),
            np.array(["b", "a", "b", "c"], dtype=object),
            pd.Series(["b", "a", "b", "c"], index=[9, 9, 1, 0]),
            pd.Series(["b", "a", "b", "c"], dtype="category"),
            pl.Series(["b", "a", "b", "c"]),
            ("b", "a", "b", "c"),
            [2, 1, 2, 3],
            np.array([2, 1, 2, 3], dtype=np.uint8),
            [20.5, -1, 20.5, 1e9],
            pd.Series([2, 1, 2, 3], dtype="Int64"),
            [2**70, 5, 2**70, 2**71],
            [True, False, True, 2],
            pd.to_datetime(["2021-01-01", "2020-01-01", "2021-01-01", "2022-01-01"]),
        ],
        ids=lambda names: f"{type(names).__name__} of {type(next(iter(names))).__name__}",
    )
    def test_rows_of_a_party_come_together_in_their_order(self, names: Any) -> None:
        rows = np.arange(8.0).reshape(4, 2)
        parties = grouped(rows, np.array([0, 1, 2, 0]), names)
        assert as_lists(parties) == [([[2.0, 3.0]], [1]), ([[0.0, 1.0], [4.0, 5.0]], [0, 2]), ([[6.0, 7.0]], [0])]

    def test_a_part_is_those_parties(self) -> None:
        parties = grouped()
        assert as_lists(parties.part(3, 6)) == as_lists(parties)[3:6]
        assert [number for *_, number in parties.part(3, 6)] == [number for *_, number in parties][3:6]

    def test_the_number_of_a_party_follows_from_its_name_alone(self) -> None:
        numbers = dict(zip(grouped().names.tolist(), (number for *_, number in grouped())))
        few = grouped(ROWS[:1], LABELS[:1], ["ward-5"])
        assert [number for *_, number in few] == [numbers["ward-5"]]
        assert len(set(numbers.values())) == N_PARTIES
        lists, arrays = ([number for *_, number in grouped(ROWS[:3], LABELS[:3], names)] for names in ([1, 2, 3], np.array([1, 2, 3])))
        boxed = [number for *_, number in grouped(ROWS[:3], LABELS[:3], list(np.array([1, 2, 3])))]
        assert lists == arrays == boxed

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
            (np.array(["2020-01-01", "NaT", "2020-01-02"], dtype="datetime64[D]"), 1),
            (np.array([1.0, 2.0, np.nan], dtype=object), 2),
        ],
    )
    def test_missing_names_are_refused(self, names: Any, row: int) -> None:
        complaint = (
            rf"Row {row} \(counting from 0\) has no party: its name is .*\. Name a party for every sample, or drop it\. Nothing was drawn"
        )
        with pytest.raises(InputError, match=complaint):
            grouped(ROWS[:3], LABELS[:3], names)

    @pytest.mark.parametrize("names", [["a", 1, "b"], [1, "1", 2], [("a",), "b", "c"], np.array([1, "a", 2], dtype=object)])
    def test_texts_and_numbers_do_not_mix(self, names: Any) -> None:
        with pytest.raises(InputError, match=r"names of the parties cannot be sorted\. Use texts or numbers, not both\."):
            grouped(ROWS[:3], LABELS[:3], names)

    @pytest.mark.parametrize("names", [["a", "b"], "abc", [["a"], ["b"], ["c"]], pd.DataFrame({"who": ["a", "b", "c"]}), 7])
    def test_one_name_for_each_sample(self, names: Any) -> None:
        with pytest.raises(ShapeError, match=r"parties: the shape is .*Allowed: \(3,\), one name for each sample"):
            grouped(ROWS[:3], LABELS[:3], names)


@st.composite
def data_of_one(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Anything that a party may hold: one row or several, one class or several, rows far away or all the same."""
    n_rows = draw(st.integers(1, 7))
    numbers = st.floats(-1.0, 1.0, width=16)
    rows = draw(st.lists(st.lists(numbers, min_size=N_COLUMNS, max_size=N_COLUMNS), min_size=n_rows, max_size=n_rows))
    labels = draw(st.lists(st.integers(0, N_CLASSES - 1), min_size=n_rows, max_size=n_rows))
    return np.array(rows), np.array(labels)


def replaced(party: str, own: tuple[np.ndarray, np.ndarray], first: bool) -> Parties:
    others = party != NAMES
    order = slice(None, None, 1 if first else -1)
    parts = [(own[0], own[1], np.full(len(own[1]), party)), (ROWS[others], LABELS[others], NAMES[others])][order]
    return grouped(*(np.concatenate(arrays) for arrays in zip(*parts)))


class TestOnePartyMovesOneBallot:
    BEFORE = counted(grouped())

    @settings(max_examples=25, deadline=None)
    @given(party=st.integers(0, N_PARTIES - 1), own=data_of_one(), first=st.booleans())
    def test_whatever_it_holds(self, party: int, own: tuple[np.ndarray, np.ndarray], first: bool) -> None:
        name = f"ward-{party}"
        change = counted(replaced(name, own, first)) - self.BEFORE
        assert np.abs(change).sum(axis=1).max() <= 2
        mine = name == NAMES
        old = counted(grouped(ROWS[mine], LABELS[mine], NAMES[mine]))
        new = counted(grouped(*own, np.full(len(own[1]), name)))
        assert old.sum(axis=1).tolist() == new.sum(axis=1).tolist() == [1] * AUXILIARY.n_samples
        assert (change == new - old).all(), "every change is that of its own ballot, as it casts it alone"

    @pytest.mark.parametrize("template", RANDOM, ids=lambda template: type(template).__name__)
    def test_random_classifiers_one_by_one(self, template: Any) -> None:
        before = counted(grouped(), [template])
        for party in (0, 7):
            name = f"ward-{party}"
            own = (np.tile(ROWS[::-1][: 3 + party], (2, 1)), np.arange(2 * (3 + party)) % N_CLASSES)
            change = counted(replaced(name, own, first=True), [template]) - before
            mine = name == NAMES
            old = counted(grouped(ROWS[mine], LABELS[mine], NAMES[mine]), [template])
            assert (change == counted(grouped(*own, np.full(len(own[1]), name)), [template]) - old).all()

    def test_every_template_is_taken_by_someone(self) -> None:
        taken = {number % 5 for *_, number in grouped(np.zeros((60, 1)), np.zeros(60, dtype=int), np.arange(60))}
        assert taken == set(range(5))

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_linear_classifiers(self, n_classes: int) -> None:
        auxiliary = AuxiliarySet(AUXILIARY.samples, tuple(range(n_classes)))
        labels = LABELS % n_classes
        before = tally_linear_parties(grouped(labels=labels), auxiliary, 1e-3, "logistic", n_jobs=1).counts
        for party in range(N_PARTIES):
            mine = f"ward-{party}" == NAMES
            other = np.where(mine[:, np.newaxis], -ROWS[::-1], ROWS)
            change = tally_linear_parties(grouped(other, labels), auxiliary, 1e-3, "logistic", n_jobs=1).counts - before
            assert np.abs(change).sum(axis=1).max() <= 2


class TestWorkers:
    @pytest.fixture(autouse=True)
    def _few_are_enough(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(module, "PARALLEL_FROM", 2)

    @pytest.fixture
    def many(self) -> Parties:
        """More than there are batches, so that a worker trains several in a row."""
        rng = np.random.default_rng(1)
        return Parties.group(rng.uniform(-0.5, 0.5, (500, N_COLUMNS)), rng.integers(0, 3, 500), np.arange(500) % 120)

    def test_their_number_does_not_change_the_tally(self, many: Parties) -> None:
        # Functions and classes of a test module are not importable in workers; joblib sends those made here by value.
        def first_row(rows: Any, labels: Any) -> Any:
            return lambda samples, label=int(labels[0]): np.full(len(samples), label)

        templates = [*RANDOM, LogisticRegression(max_iter=1000), KNeighborsClassifier(1), first_row]
        assert (counted(many, templates, n_jobs=1) == counted(many, templates, n_jobs=2)).all()

    def test_classifiers_that_write_into_the_auxiliary_set_do_so_for_themselves(self, many: Parties) -> None:
        """Arrays that arrive in a worker are no longer read-only."""
        template = make_pipeline(StandardScaler(copy=False), KNeighborsClassifier(1))
        assert (counted(many, [template], n_jobs=1) == counted(many, [template], n_jobs=2)).all()

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_linear(self, many: Parties, n_classes: int) -> None:
        auxiliary = AuxiliarySet(AUXILIARY.samples, tuple(range(n_classes)))
        parties = Parties(many.features, many.labels % n_classes, many.starts, many.names)
        one, two = (tally_linear_parties(parties, auxiliary, 1e-3, "logistic", n_jobs=n).counts for n in (1, 2))
        assert (one == two).all()
        alone, together = (list(linear_parameters(parties, n_classes, 1e-3, "logistic", n_jobs=n)) for n in (1, 2))
        assert sorted(weights.tolist() for weights in alone) == sorted(weights.tolist() for weights in together)

    def test_the_watcher_sees_every_batch(self, many: Parties) -> None:
        seen: list[int] = []

        def watch(batches: Any, total: int) -> Any:
            for number, batch in enumerate(batches, start=1):
                seen.append(total - number)
                yield batch

        tally_parties(many, [GaussianNB(var_smoothing=0.1)], AUXILIARY, n_jobs=1, watch=watch)
        assert seen == list(range(len(seen)))[::-1]
        assert len(seen) > 1


class TestTemplates:
    def test_a_party_that_saw_one_class_votes_for_it(self) -> None:
        parties = grouped(ROWS[:6], np.array([2, 2, 0, 0, 1, 1]), [1, 1, 2, 2, 3, 3])
        assert counted(parties).tolist() == [[1, 1, 1]] * AUXILIARY.n_samples
        lonely = grouped(ROWS[:2], np.array([2, 2]), None)
        assert counted(lonely).tolist() == [[0, 0, 2]] * AUXILIARY.n_samples

    def test_a_party_that_saw_some_classes_votes_for_those(self) -> None:
        for template in MIXED:
            counts = counted(grouped(ROWS[:10], np.array([0, 2] * 5), ["p"] * 10), [template])
            assert counts[:, 1].tolist() == [0] * AUXILIARY.n_samples

    def test_classifiers_see_classes_from_zero(self) -> None:
        seen: list[Any] = []

        def note(rows: Any, labels: Any) -> Any:
            seen.append(labels.tolist())
            return lambda samples: np.full(len(samples), 1)

        counts = counted(grouped(ROWS[:4], np.array([2, 1, 1, 2]), ["p"] * 4), [note])
        assert seen[1:] == [[1, 0, 0, 1]], "after a trial on synthetic rows"
        assert counts[:, 2].tolist() == [1] * AUXILIARY.n_samples, "and their answers are translated back"

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

        assert counted(grouped(ROWS[:4], np.array([0, 1, 0, 1]), ["p"] * 4), [Maker()])[:, 1].min() == 1

    def test_probabilities_are_enough(self) -> None:
        class Likely:
            def fit(self, rows: Any, labels: Any) -> None:
                self.n = labels.max() + 1

            def predict_proba(self, samples: Any) -> Any:
                return np.tile(np.arange(self.n), (len(samples), 1))

        assert counted(grouped(ROWS[:4], np.array([0, 2, 0, 2]), ["p"] * 4), [Likely()])[:, 2].min() == 1

    def test_rows_and_labels_of_the_parties_stay_as_they_are(self) -> None:
        parties = grouped()
        before = as_lists(parties)
        counted(parties, [Writer(), make_pipeline(StandardScaler(copy=False), GaussianNB(var_smoothing=0.1))])
        assert as_lists(parties) == before

    def test_a_private_auxiliary_set_is_asked_about_sample_by_sample(self) -> None:
        def batch_looker(rows: Any, labels: Any) -> Any:
            return lambda samples: np.full(len(samples), int(len(samples) > 1))

        preprocessing = Preprocessing(radius=1.0)
        for private, expected in ((True, 0), (False, 1)):
            auxiliary = AuxiliarySet(AUXILIARY.samples, (0, 1), preprocessing=preprocessing, private=private)
            counts = counted(grouped(ROWS[:2], np.array([0, 1]), ["p", "p"]), [batch_looker], auxiliary)
            assert counts[:, expected].tolist() == [1] * auxiliary.n_samples

    @pytest.mark.parametrize(
        ("templates", "error", "complaint"),
        [
            ([], ParameterError, r"local = \[\] is not allowed\. Allowed: at least one classifier\."),
            (
                [GaussianNB],
                WrongTypeError,
                r"The local classifier is of type .*Give an unfitted GaussianNB\(\.\.\.\), not the class itself",
            ),
            (["forest"], WrongTypeError, r"The local classifier is of type str\. Give an unfitted classifier with fit and predict"),
            ([GaussianNB(), None], WrongTypeError, r"of type NoneType\. Give .*or a function that makes one\. Nothing was drawn"),
        ],
    )
    def test_templates_that_are_none(self, templates: Any, error: type[Exception], complaint: str) -> None:
        with pytest.raises(error, match=complaint):
            tally_parties(grouped(), templates, AUXILIARY, n_jobs=1)

    def test_an_answer_that_is_no_class_is_refused(self) -> None:
        with pytest.raises(InputError, match="Class 9 is not among the 3 classes 0, 1, 2"):
            counted(grouped(ROWS[:2], np.array([0, 1]), ["p", "p"]), [lambda rows, labels: lambda samples: np.full(len(samples), 9)])


class TestOrderAndForm:
    @pytest.mark.parametrize("seed", range(3))
    def test_how_the_rows_of_different_parties_are_mixed_does_not_matter(self, seed: int) -> None:
        """The order within a party is its own: a bootstrap may see it."""
        shuffled = np.random.default_rng(seed).permutation(NAMES)
        order = np.empty(len(NAMES), dtype=int)
        for name in np.unique(NAMES):
            order[shuffled == name] = np.flatnonzero(name == NAMES)
        assert (counted(grouped(ROWS[order], LABELS[order], NAMES[order])) == counted(grouped())).all()

    @pytest.mark.parametrize("template", [KNeighborsClassifier(1), LogisticRegression(max_iter=1000), nearest_mean, Plain()])
    def test_any_order_for_classifiers_that_have_none(self, template: Any) -> None:
        order = np.random.default_rng(5).permutation(len(ROWS))
        rows = np.round(ROWS * 64) / 64
        assert (counted(grouped(rows[order], LABELS[order], NAMES[order]), [template]) == counted(grouped(rows), [template])).all()

    @pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array])
    def test_sparse_rows_give_the_same_tally(self, form: Any) -> None:
        templates = [LogisticRegression(max_iter=1000), KNeighborsClassifier(1), DecisionTreeClassifier(random_state=0)]
        auxiliary = AuxiliarySet(form(AUXILIARY.samples), AUXILIARY.classes)
        assert (counted(grouped(form(ROWS)), templates, auxiliary) == counted(grouped(), templates)).all()
        sparse, dense = (
            tally_linear_parties(grouped(rows), prepared, 1e-2, "logistic", n_jobs=1).counts
            for rows, prepared in ((form(ROWS), auxiliary), (ROWS, AUXILIARY))
        )
        assert (sparse == dense).all()

    @pytest.mark.parametrize(("n_classes", "loss"), [(2, "logistic"), (3, "logistic"), (2, "huber")])
    def test_the_linear_path_is_the_tally_of_trained_models(self, n_classes: int, loss: str) -> None:
        samples = ROWS * 10.0
        auxiliary = AuxiliarySet.scaled(AUXILIARY.samples * 10.0, tuple(range(n_classes)), 0.5, standardise=True)
        task, labels = Task.of(auxiliary), LABELS % n_classes
        weights = np.stack([train(samples[name == NAMES], labels[name == NAMES], task, 1e-3, loss) for name in np.unique(NAMES)])
        parties = Parties.group(task.features(samples), labels, NAMES)
        tally = tally_linear_parties(parties, auxiliary, 1e-3, loss, n_jobs=1)
        assert isinstance(tally, Tally)
        assert tally.n_parties == N_PARTIES
        assert (tally.counts == tally_linear(weights, auxiliary).counts).all()
        parameters = list(linear_parameters(parties, n_classes, 1e-3, loss, n_jobs=1))
        assert (np.stack(parameters) == weights).all()

    def test_no_rows_are_no_parties(self) -> None:
        for names in (None, []):
            parties = grouped(ROWS[:0], LABELS[:0], names)
            assert len(parties) == 0
            assert tally_parties(parties, MIXED, AUXILIARY, n_jobs=1).n_parties == 0


def test_streams_hidden_from_get_params_are_separate_too() -> None:
    """A shuffling cross-validator draws from numpy's global stream; more rows of one party must not move another's ballot."""
    from sklearn.model_selection import GridSearchCV, KFold
    from sklearn.tree import DecisionTreeClassifier

    template = GridSearchCV(DecisionTreeClassifier(max_features=1), {"max_depth": [1, 3]}, cv=KFold(3, shuffle=True))
    rng = np.random.default_rng(0)
    features = rng.standard_normal((50, 4))
    rows, labels = rng.standard_normal((30, 4)), rng.integers(0, 2, 30)
    before = module.local_votes(module.Maker(template), rows, labels, features, 7)
    np.random.random(1000)  # noqa: NPY002
    assert (module.local_votes(module.Maker(template), rows, labels, features, 7) == before).all()


def test_a_classifier_that_fails_or_warns_on_somebodys_rows_tells_nothing(recwarn: pytest.WarningsRecorder) -> None:
    from sklearn.neighbors import KNeighborsClassifier

    rng = np.random.default_rng(0)
    auxiliary = AuxiliarySet.scaled(rng.standard_normal((20, 3)), (0, 1))
    rows, labels = rng.standard_normal((11, 3)), np.array([0, 1] * 4 + [1, 1, 0])
    grouped = Parties.group(rows, labels, np.array([0] * 8 + [1] * 3))
    tally = tally_parties(grouped, [KNeighborsClassifier(5)], auxiliary, n_jobs=1)  # three rows are too few for five neighbours
    assert tally.n_parties == 2
    assert tally.counts[:, 1].min() >= 1, "the party with three rows votes for its commonest class"
    assert not recwarn.list


def test_a_template_that_cannot_work_fails_before_anything_private_is_seen() -> None:
    auxiliary = AuxiliarySet.scaled(np.eye(3), (0, 1))
    seen = []

    def broken(rows: np.ndarray, labels: np.ndarray) -> None:
        seen.append(len(rows))

    with pytest.raises(InputError, match="NoneType has neither predict"):
        tally_parties(Parties.group(np.eye(3), np.array([0, 1, 0]), None), [broken], auxiliary)
    assert seen == [100]


def test_one_partys_number_of_rows_does_not_move_anothers_features() -> None:
    """A product of matrices may round a row otherwise when there are more rows beside it; here every party meets the matrix on its own."""
    generator = np.random.default_rng(0)
    preprocessing = Preprocessing(components=generator.standard_normal((50, 34)))
    others = generator.standard_normal((200, 50))
    names = np.repeat(np.arange(1, 41), 5)

    def features(n_rows: int) -> np.ndarray:
        rows = np.vstack([generator.standard_normal((n_rows, 50)), others])
        parties = Parties.group(rows, np.zeros(len(rows), dtype=np.int64), np.concatenate([np.zeros(n_rows, dtype=int), names]))
        return np.asarray(parties.mapped(preprocessing).features[n_rows:])

    for n_rows in range(1, 40):  # of all rows at once, OpenBLAS 0.3.31 fails this for two numbers of rows in three
        assert np.array_equal(features(n_rows), features(1))
