"""The scikit-learn face: `PrivateClassifier`, the way from poll to release in one process.

There are two ways in. `fit(X, y, parties=..., auxiliary=...)` takes everybody's rows.
`fit_classifiers` takes existing classifiers, of any mix of types, and lets them vote. Where parties
may not pool their rows, each contributes from its own machine: see `Poll`, `Contribution`, `Tally`
and `publish`.

**One fit is one release.** A fitted estimator holds noise from the operating system and costs every
party ε. Model selection fits many times, so an estimator that was cloned (by `GridSearchCV`,
`cross_val_score` and the like) refuses to fit, unless `random_state` is set. With it, all noise is
seeded, everything is a rehearsal, and none of it can be saved as a release. Choose parameters on
public or synthetic data.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ostraka.collecting import (
    Collected,
    collect_answers,
    collect_rows,
    collect_votes,
    learns_afterwards,
    options_of,
)
from ostraka.errors import (
    CloneError,
    InputWarning,
    OstrakaError,
    ParameterError,
    PrivacyWarning,
    UnusedOptionError,
    nothing_spent,
    warn_caller,
)
from ostraka.given import read_samples
from ostraka.mechanism import Entropy, Rehearsal
from ostraka.public.catalogue import check_options, entry, taking
from ostraka.public.classes import ClassName
from ostraka.public.prepare import INTERCEPT
from ostraka.publishing import Stopped, publish, warn_afterwards, warn_of_shift
from ostraka.release import Rehearsed, Release
from ostraka.release.certificate import Certificate
from ostraka.release.evaluation import Evaluation
from ostraka.release.model import LinearModel, say_always
from ostraka.rows_seen import mark_released, mark_used, was_used

__all__ = ["PrivateClassifier"]

ON_PRIVATE_ROWS = (
    "This accuracy was measured on the parties' own rows. The number itself tells of them, "
    "outside the promise, so keep it to yourself; and it flatters, because the model has seen "
    "them. Measure on public rows instead."
)
RELEASED_BEFORE = (
    "A release was made of these very rows before: every fit costs every party its ε once more, "
    "and what it costs in all adds up. Rehearse with random_state=0, or keep a ledger=."
)


class PrivateClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One ε-differentially private classifier from the data of many parties.

    Args:
        method: "auto" takes "moments" (of the parties' labels) or "cells" (histograms of them),
            whichever a rehearsal on public samples finds better; "consensus" takes votes of local
            classifiers. They need an auxiliary set, and far less noise than the paper's "soft"
            (shares of votes), "vote" (majorities) and "avg" (mean of parameters). "refine" is a
            second round after one of ours.
        epsilon: the privacy loss for a whole party. Smaller is more private, but noisier.
        delta: 0 for pure ε; "consensus" and "moments" need less noise with a small δ, such as 1e-6.
        samples_each: how many samples a party typically has, from public knowledge; for our own
            methods. Only accuracy depends on it. None: 10.
        natural: for "auto", whether parties are as the world made them (hospitals, states), of
            unlike sizes and each with its own kind of rows, or the rows were dealt out at random.
            Only accuracy depends on it. None: not known.
        samples_largest: for "auto" with natural parties, how many samples the largest one has.
        noise: which kind of noise, for our own methods: "auto", "l2" or "gaussian".
        shift: whether private samples may be distributed differently from the auxiliary ones.
            "auto", "moments" and "cells" then also release numbers that show a difference, and
            weight the auxiliary samples where there is one; "refine" relies on them less. A
            `ShiftWarning` is given either way, where a difference shows.
        objective: "accuracy", or "balanced" where rare classes count as much as common ones, for
            "auto", "moments" and "cells"; None: accuracy. Costs no budget, and can be chosen later
            by `release_.refit(objective=...)`.
        penalty: the penalty of the fits after the noise, for our own methods; None: it
            depends on the noise. Another one can be tried afterwards, at no cost in budget:
            `release_.refit(penalty=...)`.
        student: what learns the fitted linear model's answers on the auxiliary set, for our own
            methods, free of budget: "auto" (what usually helps: a kernel model for more than two
            classes that hardly overlap), "none", "linear", "kernel", or an unfitted scikit-learn
            classifier, which cannot be saved as a release. Another one can be tried afterwards:
            `release_.refit(student=...)`.
        start: for "refine", the earlier release to start from, or the path of one. It has cost its
            own ε; this one costs another.
        lambda_: the strength of the regulariser, local and global, for methods that train
            classifiers; choose it without looking at private data. None: 1e-4.
        calibration: for "soft", "vote" and "avg": "tight" (the smallest sensitivities we can prove,
            the default) or "paper" (those of Hamm et al. 2016).
        loss: "logistic", the default, or "huber", for methods that train classifiers.
        local: what a party trains where it votes: an unfitted classifier, a function (rows, labels)
            ↦ classifier, or a list of these, from which each party takes one by its name. None: a
            regularised linear classifier, as in the paper. They see the features as the auxiliary
            set scales them.
        classes: the public list of classes. None: those in y, which are then assumed to be public;
            the certificate says so. Of those that look alike ("Home ", "home") you are warned.
        columns: what the columns of a table are, where the auxiliary table does not say enough: a
            `Columns`, a mapping such as {"ward": "category", "age": {"kind": "number", "unknown":
            [99]}}, or the path of a JSON or YAML file that holds one.
        radius: a public bound on the length of samples, for the paper's methods. Samples are
            divided by it and clipped. None: standardise by the auxiliary set.
        intercept: the value of a constant feature, between 0 and 1, for the paper's methods.
        roll: the public list of parties; one on it without rows still counts.
        rows_are_parties: every row is a party of its own. This protects single rows, not whole
            holders.
        least_parties: refuse to release for fewer parties than this.
        keep_back: 5 keeps every fifth row of a party back from learning, so that `evaluate` can
            say privately how good the model is. None: all rows are learnt from.
        ledger: a `Ledger`, or the path of one: every party is charged before noise is drawn, or
            nothing is released.
        n_jobs: workers for local training; -1 means all cores, used from a few hundred parties on.
        progress: show a progress bar with the time left.
        random_state: None publishes; anything else makes a rehearsal with seeded noise.

    Attributes:
        release_: the `Release` (or `Rehearsed`), with `save`.
        certificate_: what is promised.
        poll_: the public agreement that it came from.
        classes_: the classes, in the order of columns of `predict_proba`.

    """

    release_: Release | Rehearsed

    def __init__(
        self,
        method: str = "auto",
        epsilon: float = 1.0,
        *,
        delta: float = 0.0,
        samples_each: int | None = None,
        natural: bool | None = None,
        samples_largest: int | None = None,
        noise: str = "auto",
        shift: bool = False,
        penalty: float | None = None,
        objective: str | None = None,
        student: Any = "auto",
        start: Any = None,
        lambda_: float | None = None,
        calibration: str | None = None,
        loss: str | None = None,
        local: Any = None,
        classes: Iterable[ClassName] | None = None,
        columns: Any = None,
        radius: float | None = None,
        intercept: float = INTERCEPT,
        roll: Iterable[Any] | None = None,
        rows_are_parties: bool = False,
        least_parties: int = 2,
        keep_back: int | None = None,
        ledger: Any = None,
        n_jobs: int | None = -1,
        progress: bool = False,
        random_state: Any = None,
    ) -> None:
        self.method = method
        self.epsilon = epsilon
        self.delta = delta
        self.samples_each = samples_each
        self.natural = natural
        self.samples_largest = samples_largest
        self.noise = noise
        self.shift = shift
        self.penalty = penalty
        self.objective = objective
        self.student = student
        self.start = start
        self.lambda_ = lambda_
        self.calibration = calibration
        self.loss = loss
        self.local = local
        self.classes = classes
        self.columns = columns
        self.radius = radius
        self.intercept = intercept
        self.roll = roll
        self.rows_are_parties = rows_are_parties
        self.least_parties = least_parties
        self.keep_back = keep_back
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.progress = progress
        self.random_state = random_state

    def fit(self, X: Any, y: Any, parties: Any = None, auxiliary: Any = None) -> Self:
        """Compute every party's contribution, add them up, release.

        Args:
            X: everybody's samples: an array, a sparse matrix, or a pandas, polars or Arrow table
                with texts, dates and gaps as they come. The columns 0, 1, 2, ... of a table
                without names are taken by their places, as those of an array.
            y: their classes.
            parties: who holds each sample. Leave it out only with `rows_are_parties=True`.
            auxiliary: public unlabelled samples with the same columns, or an `AuxiliarySet`. A
                table says what its columns are (`describe_columns`); other columns of X are
                ignored. None: only with `radius`, for the paper's methods.

        """
        with nothing_spent():
            self._check_parameters()
            self._check_parties(parties)
            held = collect_rows(self, X, y, parties, auxiliary)
        return self._publish(held)

    def fit_classifiers(
        self, classifiers: Iterable[Any], auxiliary: Any, parties: Iterable[Any] | None = None
    ) -> Self:
        """Let existing classifiers vote, one per party: anything with `predict` or `predict_proba`,
        or a function.

        `parties` names them; a ledger needs the names. Samples on which a classifier fails get the
        first class, because an error would reveal something about its party. To see what a
        classifier raises, try it with `Poll.cast`.
        """
        with nothing_spent():
            self._check_parameters()
            held = collect_votes(self, classifiers, auxiliary, parties)
        return self._publish(held)

    def evaluate(self, X: Any, y: Any, parties: Any = None, epsilon: float = 1.0) -> Evaluation:
        """Say privately how good the model is, on the parties' own rows: a poll of its own.

        It costs every party ε once more. With `keep_back`, give the rows that `fit` was given, in
        the same order (new rows of a party may follow its others): only those kept back are used.
        Without, all are used, and where the model has learnt from them the answer flatters, as it
        says. The answer is added to `release_`.

        Args:
            X: everybody's samples.
            y: their classes.
            parties: who holds each sample, as in `fit`.
            epsilon: the privacy loss of the evaluation alone, for a whole party.

        """
        check_is_fitted(self)
        with nothing_spent():
            self._check_parties(parties)
            held = collect_answers(self, X, y, parties, epsilon)
        evaluated, stopped = self._release(held)
        # A rehearsal says something of a release, but must not take its place.
        if isinstance(evaluated, Release) or isinstance(self.release_, Rehearsed):
            self.release_ = evaluated
        if stopped is not None:
            raise stopped
        return evaluated.evaluations[-1]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores: one number per sample for two classes, one per class for more."""
        check_is_fitted(self)
        return self.release_.model.scores(read_samples(self, X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each sample."""
        scores = self.decision_function(X)
        index = (scores >= 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        chosen: NDArray[Any] = self.classes_[index]
        return chosen

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The model's probabilities, a column per class.

        Calibrated for `auto`, `moments` and `cells`; after the noise of other methods not.
        """
        check_is_fitted(self)
        return self.release_.model.predict_proba(read_samples(self, X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of samples whose class is right.

        On the parties' own rows this number reveals something about them, and is too good.
        """
        accuracy: float = super().score(X, y, sample_weight)
        if was_used(self, self.release_.model.task.rows(X)):
            warn_caller(ON_PRIVATE_ROWS, PrivacyWarning)
        return accuracy

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weights of the features, (1, d) for two classes and (K, d) for more.

        Features are what the public map makes of samples, `poll_.task.features(X)`. The constant
        feature is not among them: see `intercept_`.
        """
        weights = self._weights()
        return weights[:, :-1] if self._constant else weights

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """What is added to the scores, for each class."""
        weights = self._weights()
        return weights[:, -1] * self._constant if self._constant else np.zeros(len(weights))

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

    @property
    def _constant(self) -> float:
        return self.release_.model.task.preprocessing.constant

    def _weights(self) -> NDArray[np.float64]:
        check_is_fitted(self)
        if not isinstance(self.release_.model, LinearModel):
            kind = type(self.release_.model).__name__
            raise AttributeError(
                f"A {kind} has no weights of features; those of the linear model that it learnt "
                'from are release_.model.linear.weights, or use student="linear"'
            )
        return np.atleast_2d(self.release_.model.weights.T)

    def _check_parameters(self) -> None:
        """What can be refused before anything is looked at."""
        check_options(self.method, {**options_of(self), "local": self.local})
        if learns_afterwards(self.student):
            check_options(self.method, {"student": self.student})
        papers = {"radius": (self.radius, None), "intercept": (self.intercept, INTERCEPT)}
        for name, (given, unset) in papers.items() if entry(self.method).needs_auxiliary else ():
            if given != unset:
                others = taking("calibration")
                raise UnusedOptionError(name, got=given, method=self.method, others=others)
        if self.random_state is None and getattr(self, "_cloned", False):
            raise CloneError

    def _check_parties(self, parties: Any) -> None:
        """Who is protected must be said.

        A forgotten argument must not turn whole hospitals into single patients.
        """
        if (parties is None) is not bool(self.rows_are_parties):
            got = None if parties is None else "names, together with rows_are_parties=True"
            allowed = (
                "who holds each row; or else PrivateClassifier(rows_are_parties=True), which "
                "protects single rows"
            )
            raise ParameterError("parties", got=got, allowed=allowed)
        if self.rows_are_parties and self.ledger is not None:
            allowed = "their names, because the ledger charges each of them: rows have none"
            raise ParameterError("parties", got=None, allowed=allowed)
        if self.rows_are_parties and self.roll is not None:
            allowed = "None where every row is a party of its own"
            raise ParameterError("roll", got="a list", allowed=allowed)

    def _publish(self, held: Collected) -> Self:
        """Everything that was learnt, set together.

        A fit that fails leaves an earlier one as it was.
        """
        outcome, stopped = self._release(held)
        task = held.poll.task
        self.classes_ = held.classes
        self.n_features_in_ = task.n_columns
        if task.feature_names is not None:
            self.feature_names_in_ = np.asarray(task.feature_names, dtype=object)
        self.poll_ = held.poll.detach()
        self.release_ = outcome
        self.certificate_: Certificate = outcome.certificate
        # From here on nothing is lost, whatever a student does, or whoever interrupts it.
        self._remember(held.rows)
        if stopped is not None:
            raise stopped
        self.release_ = self._teach(outcome)
        warn_of_shift(outcome, bool(self.shift))
        alike = say_always(outcome.model)
        if alike is not None:
            warn_afterwards(alike, InputWarning)
        return self

    def _release(self, held: Collected) -> tuple[Release | Rehearsed, Stopped | None]:
        """What was paid for; and the Ctrl-C, if one came since."""
        try:
            return publish(held.poll, held.tally, self._source(), self.ledger), None
        except Stopped as stopped:
            return stopped.release, stopped

    def _teach(self, outcome: Release | Rehearsed) -> Release | Rehearsed:
        """With a classifier as student, if there is one and it can learn: the release is paid."""
        if not learns_afterwards(self.student):
            return outcome
        try:
            return outcome.refit(student=self.student)
        except Exception as error:
            told = str(error) if isinstance(error, OstrakaError) else type(error).__name__
            warn_afterwards(f"The release has the model without a student. {told}", InputWarning)
            return outcome

    def _remember(self, rows: Any) -> None:
        """Warn, once everything is done, of what nobody may have meant; rehearsals cost nothing."""
        if self.random_state is not None or rows is None:
            return
        mark_used(self, rows)
        if mark_released(rows) and self.ledger is None and self.start is None:
            warn_afterwards(RELEASED_BEFORE, PrivacyWarning)

    def _source(self) -> Entropy | Rehearsal:
        if self.random_state is None:
            return Entropy()
        return Rehearsal(int(check_random_state(self.random_state).randint(2**31)))
