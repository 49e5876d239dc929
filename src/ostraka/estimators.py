"""The scikit-learn face: `PrivateClassifier`.

Three ways in: `fit(X, y, parties=..., auxiliary=...)` trains one local classifier per party; `fit_classifiers(classifiers, auxiliary)`
takes classifiers that exist already, of any mix of types; `fit_ballots(ballots, auxiliary)` takes their ballots.

**One fit is one release.** A fitted estimator holds noise from the operating system and costs every party ε. Model selection fits many
times, so an estimator that was cloned (as `GridSearchCV`, `cross_val_score` and their kind do) refuses to fit, unless `random_state` is
set: then all noise is seeded, everything is a rehearsal, and nothing of it can be saved as a release. Choose parameters on public or
synthetic data.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ostraka.auxiliary import AuxiliarySet
from ostraka.ballot import Ballot
from ostraka.certificate import Certificate
from ostraka.classes import ClassName
from ostraka.errors import (
    CloneError,
    InputError,
    LedgerWarning,
    OstrakaError,
    ParameterError,
    ShapeError,
    ShiftWarning,
)
from ostraka.given import NUMBERS, account, labelled, length, numeric, plain, same_samples, validate
from ostraka.ledger import Charge, Cost, Ledger
from ostraka.local.parties import Parties, linear_parameters, tally_linear_parties, tally_parties
from ostraka.methods import auto, avg, cells, consensus, moments, refine, soft, vote
from ostraka.methods.shift import remark
from ostraka.methods.statistic import StatisticTerms
from ostraka.methods.terms import Terms
from ostraka.model import Task
from ostraka.noise import Entropy, Rehearsal
from ostraka.preprocessing import Preprocessing
from ostraka.progress import watch
from ostraka.release import ChargeFirst, Rehearsed, Release
from ostraka.tally import Tally
from ostraka.whitening import half_whitened

__all__ = ["PrivateClassifier"]

METHODS = ("soft", "vote", "avg", "consensus", "moments", "cells", "auto", "refine")
OF_LABELS = {"moments": moments, "cells": cells, "auto": auto, "refine": refine}
"""Methods to which parties contribute their labels themselves, without training anything."""
OF_A_STATISTIC = ("consensus", *OF_LABELS)


class PrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One ε-differentially private linear classifier from the data of many parties.

    Args:
        method: "auto" takes "moments" (of the parties' labels) or "cells" (histograms of them), whichever a rehearsal on made-up labels
            finds better; "consensus" takes votes of local classifiers. They need an auxiliary set, and far less noise than the paper's
            "soft" (shares of votes), "vote" (majorities) and "avg" (mean of parameters). "refine" is a second round after one of ours.
        epsilon: the privacy loss for a whole party. Smaller is more private, and noisier.
        delta: 0 for pure ε; "consensus" and "moments" need less noise with a small δ, such as 1e-6.
        samples_each: how many samples a party typically has, from public knowledge; for our own methods. Only accuracy depends on it.
        noise: the law of the noise, for our own methods: "auto", "l2" or "gaussian".
        shift: whether private samples may be distributed otherwise than the auxiliary ones. "auto", "moments" and "cells" then release
            what tells, and weight the auxiliary samples where they differ; "refine" relies on them less. A `ShiftWarning` comes either way.
        penalty: of the ridge fits after the noise, for our own methods; None: from the noise. Choosing it is free of budget.
        start: for "refine", the earlier release to start from, or the path of one. It has cost its own ε; this one costs another.
        lambda_: strength of the regulariser, local and global; choose it without looking at private data.
        calibration: "tight" (the smallest sensitivities we can prove) or "paper" (those of Hamm et al. 2016).
        loss: "logistic" or "huber".
        local: what a party trains: an unfitted classifier, a function (rows, labels) ↦ classifier, or a list of them from which
            parties take one by their name. None: a regularised linear classifier, as in the paper. They see features that were
            standardised by the auxiliary set.
        classes: the public list of classes. None: those in y, which are then taken to be public, and the certificate says so.
        radius: a public bound for the length of samples, which are divided by it and clipped. None: standardise by the auxiliary set.
        intercept: the value of a constant feature, between 0 and 1; 0 for none.
        least_parties: refuse to release for fewer parties than this.
        ledger: a `Ledger`, or the path of one: every party is charged before noise is drawn, or nothing is released.
        n_jobs: workers for local training; -1 means all cores, used from a few hundred parties on.
        progress: show a progress bar with the time left.
        random_state: None publishes; anything else makes a rehearsal with seeded noise.

    Attributes:
        release_: the `Release` (or `Rehearsed`), with `save`.
        certificate_: what is promised.
        classes_: the classes, in the order of columns of `predict_proba`.

    """

    def __init__(
        self,
        method: str = "soft",
        epsilon: float = 1.0,
        *,
        delta: float = 0.0,
        samples_each: int = 10,
        noise: str = "auto",
        shift: bool = False,
        penalty: float | None = None,
        start: Any = None,
        lambda_: float = 1e-4,
        calibration: str = "tight",
        loss: str = "logistic",
        local: Any = None,
        classes: Iterable[ClassName] | None = None,
        radius: float | None = None,
        intercept: float = 0.5,
        least_parties: int = 2,
        ledger: Any = None,
        n_jobs: int | None = -1,
        progress: bool = False,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.samples_each = samples_each
        self.noise = noise
        self.shift = shift
        self.penalty = penalty
        self.start = start
        self.lambda_ = lambda_
        self.calibration = calibration
        self.loss = loss
        self.local = local
        self.classes = classes
        self.radius = radius
        self.intercept = intercept
        self.least_parties = least_parties
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: Any, y: Any, parties: Any = None, auxiliary: Any = None) -> Self:
        """Train a local classifier per party, let them vote, release.

        Args:
            X: everybody's samples.
            y: their classes.
            parties: who holds each sample. None: every sample is a party of its own.
            auxiliary: public unlabelled samples with the same columns, or an `AuxiliarySet`. None: synthetic points in the ball of `radius`
                (`avg` needs none).

        """
        if auxiliary is not None and same_samples(auxiliary, X):
            raise ParameterError("auxiliary", got="X itself", allowed="other, public samples: their scale is published")
        public = self._public_classes(auxiliary)
        terms = self._terms(classes_from_data=public is None)
        X, y = self._validated(X, y)
        if self.method == "refine":
            self._check_columns_of_start()
        classes, labels = labelled(y, public)
        prepared = self._prepared(auxiliary, X.shape[1], plain(classes))
        if prepared.classes != plain(classes):
            raise ParameterError("auxiliary.classes", got=prepared.classes, allowed=str(plain(classes)))
        task = Task.of(prepared)
        if task.n_columns != X.shape[1]:
            raise ShapeError("The auxiliary samples", got=(prepared.n_samples, task.n_columns), allowed=f"{X.shape[1]} columns, as X has")
        grouped = self._grouped(task, X, labels, parties)
        terms.checked_parties(len(grouped))
        with self._charging(grouped.names.tolist()) as charge:
            if self.method in OF_LABELS:
                start = () if self.method != "refine" else (self._started(),)
                outcome = OF_LABELS[self.method].release(*start, grouped, prepared, terms, self._source(), charge)
            elif isinstance(terms, Terms) and self.method == "avg":
                outcome = self._averaged(grouped, task, terms, charge)
            else:
                outcome = self._polled(self._tallied(grouped, prepared), terms, charge)
            self._published(outcome, classes)
        return self._told()

    def fit_classifiers(self, classifiers: Iterable[Any], auxiliary: Any, parties: Iterable[Any] | None = None) -> Self:
        """Let classifiers that exist already vote: anything with `predict` or `predict_proba`, or a function; one per party.

        `parties` names them, for the ledger.
        """
        terms = self._terms()
        prepared = self._prepared_for_votes(auxiliary)
        tally = Tally(prepared)
        for classifier in watch("Voting", self.progress)(classifiers, length(classifiers)):
            tally.add(Ballot.cast(classifier, prepared))
        return self._from_votes(tally, terms, parties)

    def fit_ballots(self, ballots: Iterable[Ballot], auxiliary: AuxiliarySet, parties: Iterable[Any] | None = None) -> Self:
        """Release from ballots, one per party, that were cast on this auxiliary set. `parties` names them, for the ledger."""
        terms = self._terms()
        prepared = self._prepared_for_votes(auxiliary)
        tally = Tally(prepared)
        for ballot in watch("Counting", self.progress)(ballots, length(ballots)):
            tally.add(ballot)
        return self._from_votes(tally, terms, parties)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores: one number per sample for two classes, one per class for more."""
        check_is_fitted(self)
        return self.release_.model.scores(validate(self, X, reset=False, **NUMBERS))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each sample."""
        scores = self.decision_function(X)
        index = (scores >= 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        chosen: NDArray[Any] = self.classes_[index]
        return chosen

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The model's probabilities, a column per class. After noise they are no longer calibrated."""
        check_is_fitted(self)
        return self.release_.model.predict_proba(validate(self, X, reset=False, **NUMBERS))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "release_")

    def __sklearn_clone__(self) -> Self:
        twin: Self = super().__sklearn_clone__()
        twin._cloned = True
        return twin

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.poor_score = True
        return tags

    def _more_tags(self) -> dict[str, bool]:  # scikit-learn 1.5
        return {"non_deterministic": self.random_state is None, "poor_score": True}

    def _public_classes(self, auxiliary: Any) -> Iterable[ClassName] | None:
        """The list of classes, wherever it is public; None if it has to come from the labels."""
        if self.classes is not None:
            return self.classes
        if isinstance(auxiliary, AuxiliarySet):
            return auxiliary.classes
        return self._started().model.task.classes if self.method == "refine" else None

    def _check_columns_of_start(self) -> None:
        """The start's model speaks of columns by their place: they must be the same, in the same order."""
        expected, given = self._started().model.task.feature_names, getattr(self, "feature_names_in_", None)
        if expected is not None and given is not None and list(expected) != list(given):
            raise InputError(
                f"The columns of X, {list(given)[:8]}, are not those that the start was made for, {list(expected)[:8]}.",
                "Give the same columns in the same order.",
            )

    def _started(self) -> Release | Rehearsed:
        """The release from which `refine` starts."""
        if isinstance(self.start, Release | Rehearsed):
            return self.start
        if isinstance(self.start, str | os.PathLike):
            return Release.load(self.start)
        given = None if self.start is None else f"an object of type {type(self.start).__name__}"
        raise ParameterError("start", got=given, allowed='an earlier Release, or the path of one, for method "refine"')

    def _grouped(self, task: Task, X: Any, labels: NDArray[np.int64], parties: Any) -> Parties:
        """Features by party. Where a matrix makes them, it meets each party's rows on their own: see `Parties.each`."""
        with np.errstate(all="ignore"):
            if task.preprocessing.components is None:
                return Parties.group(task.features(X), labels, parties)
            return Parties.group(X, labels, parties).mapped(task.features)

    def _terms(self, classes_from_data: bool = False) -> Terms | StatisticTerms:
        """The public terms, checked before anything else is looked at."""
        if self.method not in METHODS:
            raise ParameterError("method", got=self.method, allowed=", ".join(repr(name) for name in METHODS))
        if self.local is not None and (self.method == "avg" or self.method in OF_LABELS):
            why = "which averages parameters of linear classifiers" if self.method == "avg" else "to which parties contribute their labels"
            raise ParameterError("local", got=self.local, allowed=f"None for method {self.method!r}, {why}")
        if self.random_state is None and getattr(self, "_cloned", False):
            raise CloneError
        self._check_fits_method()
        assumed = ("classes",) if classes_from_data else ()
        if self.method in OF_A_STATISTIC:
            return StatisticTerms(
                epsilon=self.epsilon,
                delta=self.delta,
                samples_each=self.samples_each,
                shift=self.shift,
                penalty=self.penalty,
                noise=self.noise,  # type: ignore[arg-type]
                least_parties=self.least_parties,
                assumed_public=assumed,
            )
        return Terms(
            epsilon=self.epsilon,
            lambda_=self.lambda_,
            calibration=self.calibration,  # type: ignore[arg-type]
            loss=self.loss,
            least_parties=self.least_parties,
            assumed_public=assumed,
        )

    def _check_fits_method(self) -> None:
        """Refuse what a method would have to ignore: nobody should believe it was heeded."""
        if self.method not in OF_A_STATISTIC and self.delta != 0.0:
            raise ParameterError("delta", got=self.delta, allowed=f"0 for method {self.method!r}; or method " + " or ".join(OF_A_STATISTIC))
        if self.method not in OF_A_STATISTIC and self.noise != "auto":
            raise ParameterError(
                "noise", got=self.noise, allowed=f'"auto" for method {self.method!r}; or one of ' + ", ".join(OF_A_STATISTIC)
            )
        if self.method not in OF_A_STATISTIC and self.penalty is not None:
            raise ParameterError("penalty", got=self.penalty, allowed=f"None for method {self.method!r}, which has lambda_")
        if self.method not in OF_LABELS and self.shift:
            raise ParameterError("shift", got=self.shift, allowed=f"False for method {self.method!r}; or " + ", ".join(OF_LABELS))
        if self.method != "refine" and self.start is not None:
            raise ParameterError("start", got=f"{self.start}"[:80], allowed='nothing, or method "refine"')

    def _validated(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        with warnings.catch_warnings(), np.errstate(all="ignore"):  # one party's numbers must not show, not even as a warning
            warnings.simplefilter("ignore", RuntimeWarning)
            X, y = validate(self, X, y, **NUMBERS)
            warnings.simplefilter("ignore", UserWarning)
            check_classification_targets(y)
        return X, y

    def _prepared(self, auxiliary: Any, n_columns: int, classes: tuple[ClassName, ...]) -> AuxiliarySet:
        """The auxiliary set with its public preprocessing."""
        if isinstance(auxiliary, AuxiliarySet):
            return auxiliary
        names = getattr(self, "feature_names_in_", None)
        if auxiliary is None and self.method in OF_A_STATISTIC:
            raise ParameterError("auxiliary", got=None, allowed=f'public samples for method {self.method!r}; "avg" needs none')
        if auxiliary is None:
            radius = 1.0 if self.radius is None else self.radius
            synthetic = AuxiliarySet.synthetic(n_columns, classes, radius=radius, constant=self.intercept)
            return synthetic if names is None else replace(synthetic, feature_names=tuple(names))
        columns = getattr(auxiliary, "columns", None)
        if names is not None and columns is not None and list(columns) != list(names):
            raise InputError(
                f"The auxiliary columns {list(columns)[:5]} are not those of X, {list(names)[:5]}.",
                "Give the same columns in the same order.",
            )
        return self._scaled(auxiliary, classes)

    def _prepared_for_votes(self, auxiliary: Any) -> AuxiliarySet:
        if self.method == "avg":
            raise ParameterError("method", got="avg", allowed='"consensus", "soft" or "vote" for classifiers and ballots')
        if self.method in OF_LABELS:
            raise ParameterError("method", got=self.method, allowed='"consensus", "soft" or "vote" for classifiers and ballots')
        if not isinstance(auxiliary, AuxiliarySet):
            if self.classes is None:
                raise ParameterError("classes", got=None, allowed="the list of classes, or give an AuxiliarySet")
            auxiliary = self._scaled(auxiliary, plain(np.asarray(list(self.classes))))
        prepared: AuxiliarySet = auxiliary
        return prepared

    def _scaled(self, samples: Any, classes: tuple[ClassName, ...]) -> AuxiliarySet:
        if self.method == "refine":
            return AuxiliarySet(samples, classes, preprocessing=self._started().model.task.preprocessing)
        if self.method in OF_A_STATISTIC:
            return AuxiliarySet(samples, classes, preprocessing=half_whitened(numeric(samples), len(classes)))
        if self.radius is not None:
            return AuxiliarySet(samples, classes, preprocessing=Preprocessing(radius=self.radius, constant=self.intercept))
        return AuxiliarySet.scaled(samples, classes, self.intercept, standardise=True, quantile=0.95)

    def _tallied(self, parties: Parties, auxiliary: AuxiliarySet) -> Tally:
        show = watch("Training and voting", self.progress)
        if self.local is None:
            return tally_linear_parties(parties, auxiliary, self.lambda_, self.loss, n_jobs=self.n_jobs, watch=show)
        templates = self.local if isinstance(self.local, list | tuple) else [self.local]
        return tally_parties(parties, templates, auxiliary, n_jobs=self.n_jobs, watch=show)

    def _polled(self, tally: Tally, terms: Terms | StatisticTerms, charge: ChargeFirst) -> Release | Rehearsed:
        if isinstance(terms, StatisticTerms):
            return consensus.release(tally, terms, self._source(), charge)
        return (soft.release if self.method == "soft" else vote.release)(tally, terms, self._source(), charge)

    def _from_votes(self, tally: Tally, terms: Terms | StatisticTerms, parties: Iterable[Any] | None) -> Self:
        names = None if parties is None else list(parties)
        if names is not None and len(names) != tally.n_parties:
            raise ShapeError("parties", got=(len(names),), allowed=f"({tally.n_parties},), one name for each")
        if names is not None and len({account(name) for name in names}) < len(names):
            raise ParameterError("parties", got="a name that stands there twice", allowed="one ballot for each party")
        with self._charging(names) as charge:
            self._published(self._polled(tally, terms, charge), np.asarray(tally.auxiliary.classes), tally.auxiliary)
        return self._told()

    @contextlib.contextmanager
    def _charging(self, names: list[Any] | None) -> Iterator[ChargeFirst]:
        """What charges the ledger before noise is drawn; afterwards the release is recorded there."""
        if self.ledger is None:
            yield None
            return
        if names is None:
            raise ParameterError("parties", got=None, allowed="their names, because the ledger charges each of them")
        book = self.ledger if isinstance(self.ledger, Ledger) else Ledger(self.ledger)
        charged: list[Charge] = []

        def charge(certificate: Certificate) -> None:
            charged.append(book.charge([account(name) for name in names], Cost.of(certificate), f"{certificate.method}"))

        if self.method == "refine" and self.random_state is None:
            self._check_charged(book)
        yield charge
        if charged:
            assert isinstance(self.release_, Release)
            try:
                book.settle(charged[0], self.release_.digest)
            except OstrakaError as error:  # the release is made and paid for: losing it now would help nobody
                problem = getattr(error, "problem", str(error))
                _warn(f"The release was made and charged, but not recorded: the ledger {problem}. Its charge stays open.", LedgerWarning)

    def _check_charged(self, book: Ledger) -> None:
        """Refuse a second round whose first one the ledger does not know: it could not tell what the two cost together."""
        start = self._started().digest
        if all(entry.digest != start for entry in book.history()):
            raise ParameterError(
                "start",
                got=f"the release {start[:12]}",
                allowed="one that this ledger has charged and recorded: make both with the same ledger",
            )

    def _averaged(self, parties: Parties, task: Task, terms: Terms, charge: ChargeFirst) -> Release | Rehearsed:
        show = watch("Training", self.progress)
        parameters = linear_parameters(parties, len(task.classes), self.lambda_, self.loss, n_jobs=self.n_jobs, watch=show)
        return avg.release(parameters, task, len(parties), terms, source=self._source(), charge=charge)

    def _source(self) -> Entropy | Rehearsal:
        if self.random_state is None:
            return Entropy()
        return Rehearsal(int(check_random_state(self.random_state).randint(2**31)))

    def _published(self, outcome: Release | Rehearsed, classes: NDArray[Any], auxiliary: AuxiliarySet | None = None) -> None:
        """Everything that was learnt, set together: a fit that fails leaves an earlier one as it was."""
        self.classes_ = classes
        if auxiliary is not None:  # no X was seen
            self.n_features_in_ = Task.of(auxiliary).n_columns
            if auxiliary.feature_names is not None:
                self.feature_names_in_ = np.asarray(auxiliary.feature_names, dtype=object)
        self.release_ = outcome
        self.certificate_: Certificate = outcome.certificate

    def _told(self) -> Self:
        """Warn of a shift: from what was released, when all is done."""
        told = remark(self.release_.shift, bool(self.shift))
        if told is not None:
            _warn(told, ShiftWarning)
        return self


def _warn(told: str, kind: type[Warning]) -> None:
    """Warn without failing: where warnings are errors a release that was paid for would be lost with the expression that made it."""
    with contextlib.suppress(kind):
        warnings.warn(told, kind, stacklevel=4)
