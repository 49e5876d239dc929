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

import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from ostraka.errors import (
    CloneError,
    InputWarning,
    OstrakaError,
    ParameterError,
    PrivacyWarning,
    ShapeError,
    SharedRowsError,
    UnusedOptionError,
    nothing_spent,
    warn_caller,
)
from ostraka.expect.advice import advise
from ostraka.given import (
    NUMBERS,
    check_labels,
    check_numbers,
    index_labels,
    length,
    plain,
    validate,
    validate_labels,
)
from ostraka.mechanism import Entropy, Rehearsal
from ostraka.methods.base import Work
from ostraka.party.names import canonical_each, canonical_list
from ostraka.poll import Poll
from ostraka.progress import watch
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.catalogue import check_options, entry, taking
from ostraka.public.classes import ClassName
from ostraka.public.columns import Columns
from ostraka.public.prepare import INTERCEPT
from ostraka.public.preprocessing import is_sparse
from ostraka.public.remarks import remark_label
from ostraka.public_side import PublicSide
from ostraka.publishing import publish, warn_afterwards, warn_of_shift
from ostraka.release import Rehearsed, Release
from ostraka.release.certificate import Certificate
from ostraka.release.evaluation import Evaluation
from ostraka.release.model import LinearModel
from ostraka.rows_seen import are_shared, mark_released, mark_used, was_used
from ostraka.tally import Tally

__all__ = ["PrivateClassifier"]

NO_AUXILIARY = (
    "public samples with the columns of X, a few hundred or more, labels not needed: they say what "
    'is far and what is near. If there are none, method="avg" with radius=, a public bound for the '
    "length of samples, needs none"
)
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
            poll, tally, classes, rows = self._add_up(X, y, parties, auxiliary)
        self._publish(poll, tally, classes)
        self._remember(rows)
        return self

    def _add_up(
        self, X: Any, y: Any, parties: Any, auxiliary: Any
    ) -> tuple[Poll, Tally, NDArray[Any], Any]:
        """The poll, what all parties send, the classes, and the rows as numbers."""
        self._check_parameters()
        self._check_parties(parties)
        if auxiliary is None and (entry(self.method).needs_auxiliary or self.radius is None):
            raise ParameterError("auxiliary", got=None, allowed=NO_AUXILIARY)
        if auxiliary is not None and auxiliary is X:
            raise SharedRowsError("auxiliary")
        side = PublicSide.of(self)
        public, columns = side.list_classes(auxiliary), side.describe(auxiliary)
        rows, y = self._validate(X, y, columns)
        classes, labels = index_labels(y, public)
        seen = getattr(self, "feature_names_in_", None)
        ready = side.prepare(auxiliary, plain(classes), columns, rows.shape[1], seen)
        if ready.samples is not None and are_shared(ready.encoded, rows):
            raise SharedRowsError("auxiliary")
        names = None if self.rows_are_parties else canonical_each(parties, rows.shape[0])
        n_names = rows.shape[0] if names is None else len(set(names))
        poll = self._poll(ready, n_names, public is None, side.start)
        if poll.task.n_encoded != rows.shape[1]:
            allowed = f"{rows.shape[1]} columns, as X has"
            got = (ready.n_samples, poll.task.n_columns)
            raise ShapeError("The auxiliary samples", got=got, allowed=allowed)
        tally = Tally(poll)
        show = watch("Training and voting" if self._trains else "Adding up", self.progress)
        work = Work(local=self.local, n_jobs=self.n_jobs, watch=show if self._trains else None)
        for party_names, block in poll.stream(rows, labels, names, work):
            tally.add_block(party_names, block)
        return poll, tally, classes, rows

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
            poll, tally = self._vote(classifiers, auxiliary, parties)
        return self._publish(poll, tally, np.asarray(poll.task.classes))

    def _vote(
        self, classifiers: Iterable[Any], auxiliary: Any, parties: Iterable[Any] | None
    ) -> tuple[Poll, Tally]:
        self._check_parameters()
        if entry(self.method).sends != "votes":
            voting = '"consensus", "soft" or "vote" for classifiers that vote'
            raise ParameterError("method", got=self.method, allowed=voting)
        if parties is None and self.ledger is not None:
            allowed = "their names, because the ledger charges each of them"
            raise ParameterError("parties", got=None, allowed=allowed)
        held = list(classifiers)
        names = [str(j) for j in range(len(held))] if parties is None else canonical_list(parties)
        if len(names) != len(held):
            allowed = f"({len(held)},), one name for each"
            raise ShapeError("parties", got=(len(names),), allowed=allowed)
        ready = PublicSide.of(self).prepare_for_votes(auxiliary)
        poll = self._poll(ready, len(held), False, None)
        tally = Tally(poll)
        shown = watch("Voting", self.progress)(zip(held, names), length(held))
        for classifier, name in shown:
            # One party's classifier must not tell on its data, nor move what others vote.
            tally.add(poll.cast(classifier, name, fallback=poll.task.classes[0]))
        return poll, tally

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
            poll, tally = self._ask(X, y, parties, epsilon)
        evaluated = publish(poll, tally, self._source(), self.ledger)
        # A rehearsal says something of a release, but must not take its place.
        if isinstance(evaluated, Release) or isinstance(self.release_, Rehearsed):
            self.release_ = evaluated
        return evaluated.evaluations[-1]

    def _ask(self, X: Any, y: Any, parties: Any, epsilon: float) -> tuple[Poll, Tally]:
        """The poll that evaluates the model, and what all parties send."""
        rows = self.release_.model.task.rows(self._readable(X), "X")
        check_labels(y)
        _, labels = index_labels(np.asarray(y), self.classes_)
        names = None if parties is None else canonical_each(parties, rows.shape[0])
        n_names = rows.shape[0] if names is None else len(set(names))
        poll = Poll.evaluate(
            self.release_,
            epsilon=epsilon,
            parties=None if self.roll is not None else n_names,
            roll=self.roll,
            least_parties=self.least_parties,
            came=True,
        )
        tally = Tally(poll)
        for party_names, block in poll.stream(rows, labels, names, Work()):
            tally.add_block(party_names, block)
        return poll, tally

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores: one number per sample for two classes, one per class for more."""
        check_is_fitted(self)
        return self.release_.model.scores(self._readable(X))

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
        return self.release_.model.predict_proba(self._readable(X))

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

    @property
    def _student_later(self) -> bool:
        """Whether the student is a classifier: it learns when everything is paid and recorded."""
        return hasattr(self.student, "fit") and not isinstance(self.student, type)

    def _weights(self) -> NDArray[np.float64]:
        check_is_fitted(self)
        if not isinstance(self.release_.model, LinearModel):
            kind = type(self.release_.model).__name__
            raise AttributeError(
                f"A {kind} has no weights of features; those of the linear model that it learnt "
                'from are release_.model.linear.weights, or use student="linear"'
            )
        return np.atleast_2d(self.release_.model.weights.T)

    @property
    def _trains(self) -> bool:
        return entry(self.method).sends != "labels"

    def _check_parameters(self) -> None:
        """What can be refused before anything is looked at."""
        check_options(self.method, {**self._options(), "local": self.local})
        if self._student_later:
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

    def _options(self) -> dict[str, Any]:
        """What was set besides ε, by the names that a poll knows; None where nothing was."""
        return {
            "delta": self.delta or None,
            "noise": self.noise if self.noise != "auto" else None,
            "samples_each": self.samples_each,
            "natural": self.natural,
            "samples_largest": self.samples_largest,
            "shift": self.shift or None,
            "penalty": self.penalty,
            "objective": self.objective,
            "student": None if self._student_later or self.student == "auto" else self.student,
            "start": self.start,
            "lambda_": self.lambda_,
            "calibration": self.calibration,
            "loss": self.loss,
        }

    def _poll(
        self, public: AuxiliarySet, n_parties: int, assumed: bool, start: Release | Rehearsed | None
    ) -> Poll:
        options = {**self._options(), "start": start}
        if start is None and self.method == "refine":
            options["start"] = self.start  # refused there, in words
        poll = Poll.create(
            public,
            epsilon=self.epsilon,
            delta=options.pop("delta") or 0.0,
            noise=options.pop("noise") or "auto",
            method=self.method,
            parties=None if self.roll is not None else n_parties,
            roll=self.roll,
            protects="row" if self.rows_are_parties else "party",
            least_parties=self.least_parties,
            keep_back=self.keep_back,
            assumed_public=("classes",) if assumed else (),
            came=True,
            **options,
        )
        described = isinstance(self.columns, Columns) or start is not None
        of_labels = None if described else remark_label(poll.task.columns, poll.task.classes)
        if of_labels is not None:
            warn_caller(of_labels, InputWarning)
        for told in advise(poll) if self.random_state is None else ():
            warn_caller(told, PrivacyWarning)  # before anything is drawn
        return poll

    def _publish(self, poll: Poll, tally: Tally, classes: NDArray[Any]) -> Self:
        """Everything that was learnt, set together.

        A fit that fails leaves an earlier one as it was.
        """
        outcome = publish(poll, tally, self._source(), self.ledger)
        self.classes_ = classes
        self.n_features_in_ = poll.task.n_columns
        if poll.task.feature_names is not None:
            self.feature_names_in_ = np.asarray(poll.task.feature_names, dtype=object)
        self.poll_ = poll.detach()
        self.release_ = outcome
        self.certificate_: Certificate = outcome.certificate
        # From here on nothing is lost, whatever a student does, or whoever interrupts it.
        self.release_ = self._teach(outcome)
        warn_of_shift(outcome, bool(self.shift))
        return self

    def _teach(self, outcome: Release | Rehearsed) -> Release | Rehearsed:
        """With a classifier as student, if there is one and it can learn: the release is paid."""
        if not self._student_later:
            return outcome
        try:
            return outcome.refit(student=self.student)
        except Exception as error:
            told = str(error) if isinstance(error, OstrakaError) else type(error).__name__
            warn_afterwards(f"The release has the model without a student. {told}", InputWarning)
            return outcome

    def _remember(self, rows: Any) -> None:
        """Warn, once everything is done, of what nobody may have meant; rehearsals cost nothing."""
        if self.random_state is not None:
            return
        mark_used(self, rows)
        if mark_released(rows) and self.ledger is None and self.start is None:
            warn_afterwards(RELEASED_BEFORE, PrivacyWarning)

    def _source(self) -> Entropy | Rehearsal:
        if self.random_state is None:
            return Entropy()
        return Rehearsal(int(check_random_state(self.random_state).randint(2**31)))

    def _validate(self, X: Any, y: Any, columns: Columns | None) -> tuple[Any, NDArray[Any]]:
        """Rows as numbers, and labels.

        What one party's rows hold must not show, not even as a warning.
        """
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            check_labels(y)
            if columns is not None and columns.are_known and not is_sparse(X):
                rows = columns.encode(X, "X")
                y = validate_labels(self, y, len(rows))
            else:
                # Who is on a roll may have no rows; so may all of them.
                least = 0 if self.roll is not None else 1
                check_numbers(X, "X")
                rows, y = validate(self, X, y, ensure_min_samples=least, **NUMBERS)
            warnings.simplefilter("ignore", UserWarning)
            if len(y):
                check_classification_targets(y)
        return rows, y

    def _readable(self, X: Any) -> Any:
        """Samples to predict for.

        Tables by the model's own columns, others as scikit-learn checks them.
        """
        columns = self.release_.model.task.columns
        if columns is not None and columns.are_known:
            return X
        check_numbers(X, "X")
        return validate(self, X, reset=False, **NUMBERS)
