"""The scikit-learn face: the contract, the three ways in, what is refused."""

from __future__ import annotations

import contextlib
import hashlib
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from ostraka import (
    AuxiliarySet,
    Contribution,
    Poll,
    PrivateClassifier,
    Rehearsed,
    Release,
    Tally,
    publish,
)
from ostraka.errors import (
    BudgetError,
    CloneError,
    InputError,
    InputWarning,
    LedgerError,
    LedgerWarning,
    MissingColumnsError,
    ParameterError,
    RehearsalError,
    ShapeError,
    ShiftWarning,
    TooFewPartiesError,
)
from ostraka.ledger import Budget, Ledger, digest_of
from ostraka.mechanism import Rehearsal
from ostraka.poll import after_noise
from ostraka.release.kernel_model import KernelModel
from ostraka.release.taught_model import TaughtModel
from tests.blobs import INDEX, NAMES, PARTIES, PUBLIC, X, Y, almost_noiseless

# Promises that protect nobody make a test's answer sure; what is said of them has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore::ostraka.errors.PrivacyWarning")

MIXED = [
    LogisticRegression(),
    GaussianNB(),
    KNeighborsClassifier(1),
    DecisionTreeClassifier(),
    RandomForestClassifier(3),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        PrivateClassifier(
            method,
            1e9,
            radius=1.0,
            intercept=0.0,
            random_state=0,
            n_jobs=1,
            rows_are_parties=True,
        )
        for method in ("soft", "vote", "avg")
    ]
)
def test_scikit_learns_contract(estimator: PrivateClassifier, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("method", ["soft", "vote", "avg"])
@pytest.mark.parametrize("calibration", ["paper", "tight"])
def test_without_noise_every_method_learns(method: str, calibration: str) -> None:
    model = almost_noiseless(method=method, calibration=calibration).fit(
        X, Y, parties=PARTIES, auxiliary=PUBLIC
    )
    assert model.score(X, Y) > 0.9
    assert isinstance(model.release_, Release)
    assert model.certificate_.parties == 100
    assert model.certificate_.assumed_public == ("classes",)
    assert (model.predict(X) == model.release_.predict(X)).all()
    assert model.predict_proba(X).shape == (len(X), 3)


@pytest.mark.parametrize(
    "local",
    [*MIXED, MIXED],
    ids=lambda local: "mixed" if isinstance(local, list) else type(local).__name__,
)
def test_any_local_classifier(local: Any) -> None:
    model = almost_noiseless(local=local).fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
    assert model.score(X, Y) > 0.9


def test_a_local_function_makes_classifiers() -> None:
    def nearest_mean(rows: np.ndarray, labels: np.ndarray) -> Any:
        means = np.stack([rows[labels == k].mean(axis=0) for k in range(labels.max() + 1)])
        return lambda samples: ((samples[:, None] - means) ** 2).sum(axis=2).argmin(axis=1)

    assert (
        almost_noiseless(local=nearest_mean)
        .fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
        .score(X, Y)
        > 0.9
    )


@pytest.mark.parametrize("booster", ["xgboost", "lightgbm"])
def test_boosters_that_insist_on_labels_from_zero(booster: str) -> None:
    module = pytest.importorskip(booster, reason=f"{booster} is not installed")
    local = (
        module.XGBClassifier(n_estimators=3)
        if booster == "xgboost"
        else module.LGBMClassifier(n_estimators=3, min_child_samples=1, verbose=-1)
    )
    parties = np.repeat(np.arange(10), 70)
    order = np.argsort(Y, kind="stable")  # most parties see one or two classes
    model = almost_noiseless(local=local).fit(X[order], Y[order], parties=parties, auxiliary=PUBLIC)
    assert model.score(X, Y) > 0.3


def test_classifiers_are_another_way_in() -> None:
    forest = RandomForestClassifier(5, random_state=0)
    classifiers = [clone(forest).fit(X[j == PARTIES], Y[j == PARTIES]) for j in range(30)]
    auxiliary = AuxiliarySet.scaled(PUBLIC, NAMES, 0.5, standardise=True)
    by_classifiers = almost_noiseless().fit_classifiers(
        [*classifiers, lambda rows: np.full(len(rows), "ash")], auxiliary
    )
    by_samples = almost_noiseless(classes=list(NAMES)).fit_classifiers(iter(classifiers), PUBLIC)
    for model in (by_classifiers, by_samples):
        assert model.score(X, Y) > 0.9
        assert model.n_features_in_ == 4
        assert model.certificate_.assumed_public == ()


@pytest.mark.parametrize("method", ["auto", "consensus", "soft", "avg"])
def test_the_estimator_is_the_same_path_in_one_process(method: str) -> None:
    """Its poll, filled from contributions that came as bytes, gives the same total, and from the
    same seed the same model.
    """
    model = PrivateClassifier(method, 2.0, random_state=0, n_jobs=1).fit(
        X, Y, parties=PARTIES[::-1], auxiliary=PUBLIC
    )
    poll = Poll.from_bytes(model.poll_.to_bytes())
    tally = Tally(poll)
    for j in range(100):
        own = PARTIES[::-1] == j
        tally.add(Contribution.from_bytes(poll.contribute(X[own], Y[own], float(j)).to_bytes()))
    seed = int(np.random.RandomState(0).randint(2**31))
    again = publish(poll, tally, Rehearsal(seed))
    # Many parties are trained together: to the same certified tolerance, not to the same last bit.
    gap = np.abs(again.model.weights - model.release_.model.weights).max()
    assert gap <= (0.0 if method == "auto" else 1e-5 * np.abs(again.model.weights).max())


def test_workers_do_not_change_the_result() -> None:
    parties = np.repeat(np.arange(350), 2)
    settings = {"local": [GaussianNB(), LogisticRegression()], "random_state": 0}
    alone, together = (
        almost_noiseless(**settings, **{"n_jobs": n})
        .fit(X, Y, parties=parties, auxiliary=PUBLIC)
        .release_.model.weights
        for n in (1, 2)
    )
    assert (alone == together).all()


def test_tables_in_and_names_checked() -> None:
    columns = ["age", "dose", "height", "weight"]
    for frame in (pd.DataFrame, lambda rows, columns: pl.DataFrame(rows, schema=columns)):
        model = almost_noiseless().fit(
            frame(X, columns=columns), Y, parties=PARTIES, auxiliary=frame(PUBLIC, columns=columns)
        )
        assert model.feature_names_in_.tolist() == columns
        assert model.release_.model.task.feature_names == tuple(columns)
        assert model.score(frame(X, columns=columns), Y) > 0.9
    swapped = pd.DataFrame(X, columns=columns).assign(more="text")[[*columns[::-1], "more"]]
    assert (model.predict(swapped) == model.predict(X)).all()
    with pytest.raises(MissingColumnsError, match="The samples: a column is missing, 'age'"):
        model.predict(swapped.drop(columns="age"))


def test_sparse_samples() -> None:
    model = almost_noiseless().fit(
        sp.csr_matrix(X), Y, parties=PARTIES, auxiliary=sp.csr_matrix(PUBLIC)
    )
    assert model.score(sp.csr_matrix(X), Y) > 0.9


def test_string_and_unsorted_party_names() -> None:
    names = np.array([f"ward-{j}" for j in PARTIES])
    order = np.random.default_rng(0).permutation(len(X))
    one = almost_noiseless(random_state=0).fit(X, Y, parties=names, auxiliary=PUBLIC)
    other = almost_noiseless(random_state=0).fit(
        X[order], Y[order], parties=pd.Series(names[order]), auxiliary=PUBLIC
    )
    assert np.abs(one.release_.model.weights - other.release_.model.weights).max() < 1e-4


def test_it_works_at_the_end_of_a_pipeline() -> None:
    pipeline = make_pipeline(
        StandardScaler().fit(PUBLIC), almost_noiseless(method="avg", radius=3.0)
    )
    assert pipeline.fit(X, Y, privateclassifier__parties=PARTIES).score(X, Y) > 0.8


def test_model_selection_cannot_spend_budget() -> None:
    with pytest.raises(CloneError, match=r"each fit would be a release.*Nothing was drawn"):
        clone(PrivateClassifier()).fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
    search = GridSearchCV(
        PrivateClassifier("avg", rows_are_parties=True),
        {"lambda_": [1e-3, 1e-2]},
        error_score="raise",
        cv=2,
    )
    with pytest.raises(CloneError):
        search.fit(X, Y)
    rehearsed = GridSearchCV(
        PrivateClassifier("avg", radius=20.0, random_state=0, rows_are_parties=True),
        {"lambda_": [1e-3, 1e-2]},
        cv=2,
    ).fit(X, Y)
    assert isinstance(rehearsed.best_estimator_.release_, Rehearsed)


def test_a_progress_bar_is_drawn_on_request(capfd: pytest.CaptureFixture[str]) -> None:
    almost_noiseless(progress=True).fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
    captured = capfd.readouterr()
    assert "Training and voting" in captured.err
    assert captured.out == ""


def test_a_fit_that_fails_leaves_the_earlier_one() -> None:
    model = almost_noiseless().fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
    with pytest.raises(TooFewPartiesError):
        model.fit(X, np.char.upper(Y), parties=np.zeros(len(X)), auxiliary=PUBLIC)
    assert model.classes_.tolist() == list(NAMES)
    assert model.score(X, Y) > 0.9


class TestStatistics:
    """`auto`, `moments`, `cells` and `consensus` through the same estimator."""

    @pytest.mark.parametrize("method", ["auto", "moments", "cells", "consensus"])
    @pytest.mark.parametrize("delta", [0.0, 1e-6])
    def test_every_method_learns_at_an_epsilon_that_means_something(
        self, method: str, delta: float
    ) -> None:
        each = {} if method == "consensus" else {"samples_each": 7}
        model = PrivateClassifier(method, 2.0, delta=delta, n_jobs=1, random_state=0, **each)
        model.fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
        assert model.score(X, Y) > 0.8
        assert model.certificate_.epsilon == 2.0
        assert model.certificate_.delta in (0.0, delta)

    def test_a_release_survives_the_disk(self, tmp_path: Any) -> None:
        model = PrivateClassifier("auto", 5.0, samples_each=7).fit(
            X, Y, parties=PARTIES, auxiliary=PUBLIC
        )
        model.release_.save(tmp_path / "m.ostraka")
        loaded = Release.load(tmp_path / "m.ostraka")
        assert np.array_equal(loaded.predict(X), model.predict(X))
        assert loaded.certificate == model.certificate_
        assert loaded.digest == hashlib.sha256((tmp_path / "m.ostraka").read_bytes()).hexdigest()

    def test_frames_and_sparse_samples(self) -> None:
        columns = ["a", "b", "c", "d"]
        model = PrivateClassifier("cells", 5.0, samples_each=7, random_state=0)
        model.fit(
            pd.DataFrame(X, columns=columns),
            Y,
            parties=PARTIES,
            auxiliary=pd.DataFrame(PUBLIC, columns=columns),
        )
        assert list(model.feature_names_in_) == columns
        model.fit(sp.csr_matrix(X), Y, parties=PARTIES, auxiliary=sp.csr_matrix(PUBLIC))
        assert model.score(sp.csr_matrix(X), Y) > 0.7

    def test_consensus_takes_ballots(self) -> None:
        from ostraka.public.whitening import half_whiten

        auxiliary = AuxiliarySet(PUBLIC, tuple(NAMES), preprocessing=half_whiten(PUBLIC, 3))
        locals_ = [LogisticRegression().fit(X[i::20], Y[i::20]) for i in range(20)]
        model = PrivateClassifier("consensus", 20.0, random_state=0).fit_classifiers(
            locals_, auxiliary
        )
        assert model.score(X, Y) > 0.8

    @pytest.mark.parametrize(
        ("changes", "arguments", "text"),
        [
            ({}, {"auxiliary": None}, "public samples with the columns of X"),
            (
                {"local": GaussianNB()},
                {},
                "local.*not for method 'auto'.*it is for consensus, soft, vote",
            ),
            ({"lambda_": 0.1}, {}, "lambda.*not for method 'auto'"),
            ({"radius": 3.0}, {}, "not for method 'auto'.*it is for soft, vote, avg"),
            ({"delta": 1.0}, {}, "a probability up to 0.1"),
            ({"delta": -1e-9}, {}, "a probability up to 0.1"),
            ({"samples_each": 0}, {}, "samples_each"),
            ({"noise": "loud"}, {}, "auto, l2, gaussian"),
            ({"method": "moments", "noise": "gaussian"}, {}, "above 0 for Gaussian"),
            ({"method": "soft", "delta": 1e-6}, {}, "delta.*not for method 'soft'"),
            ({"method": "avg", "noise": "l2"}, {}, "noise.*not for method 'avg'"),
            ({"method": "soft", "penalty": 0.1}, {}, "penalty.*not for method 'soft'"),
            ({"penalty": 0.0}, {}, "penalty"),
            ({"penalty": float("nan")}, {}, "penalty"),
            ({"method": "consensus", "shift": True}, {}, "shift.*not for method 'consensus'"),
            ({"method": "cells", "start": "first.ostraka"}, {}, "start.*it is for refine"),
            (
                {"method": "cells", "delta": 1e-6, "noise": "gaussian"},
                {},
                "discrete Laplace; or moments",
            ),
        ],
    )
    def test_what_is_refused(
        self, changes: dict[str, Any], arguments: dict[str, Any], text: str
    ) -> None:
        model = PrivateClassifier(**{"method": "auto", "epsilon": 1.0, "n_jobs": 1, **changes})
        with pytest.raises(ParameterError, match=text):
            model.fit(X, Y, **{"parties": PARTIES, "auxiliary": PUBLIC, **arguments})
        assert not hasattr(model, "release_")

    def test_a_shift_is_told_and_mended(self) -> None:
        """The public samples lack most of one class."""
        labels = INDEX[:200]
        poor = PUBLIC[(labels != 2) | (np.arange(200) % 15 == 0)]
        options: dict[str, Any] = {
            "epsilon": 20.0,
            "samples_each": 7,
            "n_jobs": 1,
            "random_state": 0,
        }
        with pytest.warns(ShiftWarning, match="weighted to fit") as caught:
            told = PrivateClassifier("cells", shift=True, **options).fit(
                X, Y, parties=PARTIES, auxiliary=poor
            )
        assert {each.filename for each in caught} == {__file__}
        assert told.release_.shift > 5.0
        assert told.score(X, Y) > 0.8
        quiet = PrivateClassifier("cells", shift=True, **options).fit(
            X, Y, parties=PARTIES, auxiliary=PUBLIC
        )
        assert quiet.release_.shift < 5.0

    def test_a_warning_that_is_an_error_does_not_lose_the_release(self, tmp_path: Any) -> None:
        poor = PUBLIC[(INDEX[:200] != 2) | (np.arange(200) % 15 == 0)]
        ledger = Ledger.create(tmp_path / "ledger.db", Budget(epsilon=50.0))
        model = PrivateClassifier("cells", 9.0, samples_each=7, ledger=ledger)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert model.fit(X, Y, parties=PARTIES, auxiliary=poor).release_.shift > 5.0
        assert ledger.open_charges() == []
        assert ledger.history()[0].digest == model.release_.digest

    def test_a_second_round(self, tmp_path: Any) -> None:
        ledger = Ledger.create(tmp_path / "ledger.db", Budget(epsilon=30.0))
        first = PrivateClassifier("cells", 5.0, samples_each=7, ledger=ledger).fit(
            X, Y, parties=PARTIES, auxiliary=PUBLIC
        )
        first.release_.save(tmp_path / "first.ostraka")
        for start in (first.release_, str(tmp_path / "first.ostraka"), tmp_path / "first.ostraka"):
            second = PrivateClassifier("refine", 5.0, samples_each=7, start=start, ledger=ledger)
            second.fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
            assert second.score(X, Y) > 0.8
            assert second.certificate_.assumed_public == ("classes",), (
                "the start had read them from the labels"
            )
            assert second.certificate_.start == first.release_.digest
            assert (second.certificate_.epsilon, second.certificate_.round_epsilon) == (10.0, 5.0)
        assert float(ledger.spent("0").to_dict()["epsilon"]) == 20.0

    def test_a_second_round_reads_its_start_once(
        self, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file that changed between two readings would be two starts."""
        first = PrivateClassifier("cells", 5.0, samples_each=7)
        first.fit(X, Y, parties=PARTIES, auxiliary=PUBLIC).release_.save(tmp_path / "first")
        read, load = [], Release.load
        monkeypatch.setattr(Release, "load", lambda path: read.append(path) or load(path))
        second = PrivateClassifier("refine", 5.0, samples_each=7, start=tmp_path / "first")
        second.fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
        assert read == [tmp_path / "first"]

    def test_a_second_round_takes_the_columns_of_the_first(self) -> None:
        columns = ["a", "b", "c", "d"]
        frame, public = pd.DataFrame(X, columns=columns), pd.DataFrame(PUBLIC, columns=columns)
        first = PrivateClassifier("cells", 5.0, samples_each=7, random_state=0).fit(
            frame, Y, parties=PARTIES, auxiliary=public
        )
        second = PrivateClassifier(
            "refine", 5.0, samples_each=7, start=first.release_, random_state=0
        )
        assert second.fit(frame, Y, parties=PARTIES, auxiliary=public).score(frame, Y) > 0.8
        one = second.release_.model.weights
        second.fit(frame[columns[::-1]], Y, parties=PARTIES, auxiliary=public[columns[::-1]])
        assert (second.release_.model.weights == one).all(), "columns go by name"
        other = ["a", "b", "c", "e"]
        with pytest.raises(MissingColumnsError, match=r"missing, 'd'.*Others are there: 'e'"):
            second.fit(frame.set_axis(other, axis=1), Y, parties=PARTIES, auxiliary=public)

    def test_a_second_round_needs_its_first_in_the_ledger(self, tmp_path: Any) -> None:
        first = PrivateClassifier("cells", 3.0, samples_each=7).fit(
            X, Y, parties=PARTIES, auxiliary=PUBLIC
        )
        ledger = Ledger.create(tmp_path / "ledger.db", Budget(epsilon=1.0))
        with pytest.raises(
            ParameterError, match=r"start.*one that this ledger has charged.*Nothing was drawn"
        ):
            PrivateClassifier("refine", 1.0, start=first.release_, ledger=ledger).fit(
                X, Y, parties=PARTIES, auxiliary=PUBLIC
            )
        assert ledger.history() == []

    def test_a_release_that_cannot_be_recorded_is_not_lost(
        self, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ledger = Ledger.create(tmp_path / "ledger.db", Budget(epsilon=5.0))

        def locked(*_: Any) -> None:
            raise LedgerError(
                tmp_path, "has been in use by another process for too long", "Try again."
            )

        monkeypatch.setattr(Ledger, "settle", locked)
        model = PrivateClassifier("cells", 1.0, samples_each=7, ledger=ledger)
        charged = r"was made and charged.*too long.*stays open"
        with pytest.warns(LedgerWarning, match=charged) as caught:
            model.fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
        assert {each.filename for each in caught} == {__file__}
        assert isinstance(model.release_, Release)
        assert len(ledger.open_charges()) == 1

    def test_a_second_round_needs_a_release_to_start_from(self) -> None:
        rehearsed = PrivateClassifier("cells", 5.0, samples_each=7, random_state=0).fit(
            X, Y, parties=PARTIES, auxiliary=PUBLIC
        )
        with pytest.raises(RehearsalError):
            PrivateClassifier("refine", 5.0, start=rehearsed.release_).fit(
                X, Y, parties=PARTIES, auxiliary=PUBLIC
            )
        again = PrivateClassifier("refine", 5.0, start=rehearsed.release_, random_state=0)
        assert again.fit(X, Y, parties=PARTIES, auxiliary=PUBLIC).score(X, Y) > 0.8
        for start in (None, 5, rehearsed.release_.model):
            with pytest.raises(ParameterError, match=r"start.*an earlier Release"):
                PrivateClassifier("refine", 5.0, start=start).fit(
                    X, Y, parties=PARTIES, auxiliary=PUBLIC
                )

    def test_labels_do_not_vote(self) -> None:
        with pytest.raises(ParameterError, match="for classifiers that vote"):
            PrivateClassifier("cells").fit_classifiers([], AuxiliarySet.scaled(PUBLIC, NAMES))

    def test_the_penalty_can_be_chosen_afterwards_free_of_budget(self, tmp_path: Any) -> None:
        ledger = Ledger.create(tmp_path / "ledger.db", Budget(epsilon=5.0))
        model = PrivateClassifier("moments", 5.0, samples_each=7, ledger=ledger).fit(
            X, Y, parties=PARTIES, auxiliary=PUBLIC
        )
        model.release_.save(tmp_path / "m.ostraka")
        model.poll_.save(tmp_path / "m.poll")
        refitted = [
            model.release_.refit(penalty=penalty, student="linear") for penalty in (1e-6, 1e-3, 1.0)
        ]
        assert len({each.digest for each in refitted}) == 3
        assert all(each.certificate == model.certificate_ for each in refitted)
        later = Release.load(tmp_path / "m.ostraka").refit(
            penalty=1e-3, student="linear", poll=Poll.load(tmp_path / "m.poll")
        )
        assert (later.model.weights == refitted[1].model.weights).all()
        assert len(ledger.history()) == 1


class TestStudents:
    """What learns the fitted model's answers: words, any classifier, and never a failed fit."""

    def fitted(self, **changes: Any) -> PrivateClassifier:
        given = {"method": "cells", "epsilon": 50.0, "samples_each": 7, **changes}
        return PrivateClassifier(**given).fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)

    def test_by_default_separated_classes_have_a_kernel_student(self, tmp_path: Any) -> None:
        model = self.fitted()
        assert isinstance(model.release_.model, KernelModel)
        assert model.score(PUBLIC, model.predict(PUBLIC)) == 1.0
        assert model.decision_function(PUBLIC).shape == (200, 3)
        assert model.predict_proba(PUBLIC).shape == (200, 3)
        for name in ("coef_", "intercept_"):
            with pytest.raises(AttributeError, match=r'KernelModel has no weights.*"linear"'):
                getattr(model, name)
        model.release_.save(tmp_path / "m")
        again = Release.load(tmp_path / "m")
        assert (again.predict(PUBLIC) == model.predict(PUBLIC)).all()
        straight = self.fitted(student="linear")
        assert straight.coef_.shape == (3, straight.poll_.task.n_features - 1)

    @pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError])
    def test_a_student_that_is_interrupted_loses_no_release(
        self, tmp_path: Any, raised: type[BaseException], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fit(*_: Any, **__: Any) -> None:
            raise raised

        ledger = Ledger.create(tmp_path / "ledger.db", Budget(epsilon=60.0))
        given = {"method": "cells", "epsilon": 50.0, "samples_each": 7, "ledger": ledger}
        model = PrivateClassifier(**given, student=RandomForestClassifier(2))
        monkeypatch.setattr(RandomForestClassifier, "fit", fit)
        with contextlib.suppress(KeyboardInterrupt), warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)
            model.fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
        assert model.release_.digest == ledger.history()[0].digest

    def test_a_ctrl_c_while_a_kernel_student_learns_stops_a_loop_and_loses_nothing(
        self, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ledger = Ledger.create(tmp_path / "ledger.db", Budget(epsilon=60.0))

        def interrupt(*_: Any) -> Any:
            if ledger.history():
                raise KeyboardInterrupt

        monkeypatch.setattr(after_noise, "take_student", interrupt)
        model = PrivateClassifier("cells", 50.0, samples_each=7, ledger=ledger, student="kernel")
        with pytest.raises(KeyboardInterrupt, match="made all the same"):
            model.fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
        assert [entry.digest for entry in ledger.history()] == [model.release_.digest]
        assert np.mean(model.predict(X) == Y) > 0.9

    def test_a_rehearsed_evaluation_takes_no_releases_place(self, tmp_path: Any) -> None:
        model = self.fitted(student="linear")
        released = model.release_
        told = model.set_params(random_state=0).evaluate(X, Y, parties=PARTIES, epsilon=20.0)
        assert told.accuracy is not None
        assert model.release_ is released
        model.release_.save(tmp_path / "m")

    def test_any_classifier(self, tmp_path: Any) -> None:
        forest = RandomForestClassifier(10, random_state=0)
        ledger = Ledger.create(tmp_path / "ledger.db", Budget(epsilon=60.0))
        model = self.fitted(student=forest, ledger=ledger)
        assert isinstance(model.release_.model, TaughtModel)
        assert np.mean(model.predict(X) == Y) > 0.9
        assert model.predict_proba(X).shape == (len(X), 3)
        with pytest.raises(ParameterError, match="never code"):
            model.release_.save(tmp_path / "m")
        kept = model.release_.refit(student="auto")
        assert kept.digest == ledger.history()[0].digest
        with pytest.raises(ParameterError, match="never code"):
            model.evaluate(X, Y, parties=PARTIES)
        assert len(ledger.history()) == 1
        seeded = self.fitted(student=clone(forest), random_state=0)
        assert isinstance(seeded.release_.model, TaughtModel)

    def test_a_classifier_that_cannot_learn_costs_nothing_but_itself(self, tmp_path: Any) -> None:
        stubborn = KNeighborsClassifier(n_neighbors=-1)
        with pytest.warns(InputWarning, match="the model without a student"):
            model = self.fitted(student=stubborn)
        model.release_.save(tmp_path / "m")

    @pytest.mark.parametrize("student", ["forest", 3, RandomForestClassifier])
    def test_what_is_no_student_is_refused_beforehand(self, student: Any) -> None:
        with pytest.raises(ParameterError, match="student"):
            self.fitted(student=student)

    def test_methods_that_fit_nothing_take_none(self) -> None:
        for student in ("kernel", RandomForestClassifier()):
            with pytest.raises(ParameterError, match="student"):
                almost_noiseless(student=student).fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)


class TestLedger:
    """Every party is charged before noise is drawn, or nothing happens."""

    @pytest.fixture
    def ledger(self, tmp_path: Any) -> Ledger:
        return Ledger.create(tmp_path / "ledger.db", Budget(epsilon=2.0))

    @pytest.mark.parametrize("method", ["soft", "avg", "cells", "consensus"])
    def test_a_fit_charges_everybody_and_records_the_release(
        self, method: str, ledger: Ledger, tmp_path: Any
    ) -> None:
        model = PrivateClassifier(method, 1.5, ledger=ledger, n_jobs=1).fit(
            X, Y, parties=PARTIES, auxiliary=PUBLIC
        )
        assert float(ledger.spent("0").to_dict()["epsilon"]) == 1.5
        assert len(ledger.accounts()) == 100
        assert ledger.open_charges() == []
        model.release_.save(tmp_path / "m.ostraka")
        assert ledger.history()[0].digest == digest_of(tmp_path / "m.ostraka")

    def test_a_fit_that_nobody_can_pay_for_changes_nothing(
        self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        PrivateClassifier("cells", 1.5, ledger=ledger).fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
        drawn: list[object] = []
        monkeypatch.setattr(
            "ostraka.mechanism.laplace.DiscreteLaplace.publish", lambda *_: drawn.append(1)
        )
        poor = PrivateClassifier("cells", 1.0, ledger=ledger.path)
        with pytest.raises(BudgetError, match="Nothing was drawn and nothing was spent"):
            poor.fit(X, Y, parties=PARTIES, auxiliary=PUBLIC)
        assert drawn == []
        assert not hasattr(poor, "release_")
        assert len(ledger.history()) == 1

    def test_a_rehearsal_costs_nothing(self, ledger: Ledger) -> None:
        PrivateClassifier("cells", 1.5, ledger=ledger, random_state=0).fit(
            X, Y, parties=PARTIES, auxiliary=PUBLIC
        )
        assert ledger.history() == []

    @pytest.mark.parametrize(
        ("place", "n_charged"),
        [
            ("ostraka.mechanism.laplace.DiscreteLaplace.publish", 0),
            ("ostraka.publishing._settle", 1),
        ],
        ids=["in the draw", "after the charge"],
    )
    def test_a_crash_costs_nothing_or_leaves_the_charge_standing(
        self, place: str, n_charged: int, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def crash(*_: object) -> None:
            raise SystemExit

        monkeypatch.setattr(place, crash)
        with pytest.raises(SystemExit):
            PrivateClassifier("cells", 1.5, ledger=ledger).fit(
                X, Y, parties=PARTIES, auxiliary=PUBLIC
            )
        assert len(ledger.open_charges()) == n_charged
        assert float(ledger.spent("0").to_dict()["epsilon"]) == 1.5 * n_charged

    def test_classifiers_need_names(self, ledger: Ledger) -> None:
        auxiliary = AuxiliarySet.scaled(PUBLIC, tuple(NAMES))
        classifiers = [lambda rows: np.repeat("ash", len(rows))] * 3
        model = PrivateClassifier("soft", 1.0, ledger=ledger)
        with pytest.raises(ParameterError, match="their names"):
            model.fit_classifiers(classifiers, auxiliary)
        with pytest.raises(ShapeError, match="one name for each"):
            model.fit_classifiers(classifiers, auxiliary, parties=["a"])
        with pytest.raises(InputError, match="Party a is named more than once"):
            model.fit_classifiers(classifiers, auxiliary, parties=["a", "A ", "b"])
        model.fit_classifiers(classifiers, auxiliary, parties=["a", "b", "c"])
        assert float(ledger.spent("b").to_dict()["epsilon"]) == 1.0

    def test_one_partys_numbers_do_not_show_as_warnings(self) -> None:
        wild = X.copy()
        wild[0] = [1.7e308, 1.7e308, -1.7e308, 1e-320]
        with np.errstate(all="raise"):
            PrivateClassifier("cells", 1.0, random_state=0).fit(
                wild, Y, parties=PARTIES, auxiliary=PUBLIC
            )
