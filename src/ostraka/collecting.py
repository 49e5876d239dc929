"""Everything that an estimator does before anything is spent: it makes a poll, and adds up.

    what is given             what parties send             by
    rows and labels           what the method asks for      `collect_rows`
    existing classifiers      their votes                   `collect_votes`
    rows, for an evaluation   how the model does on them    `collect_answers`

Nothing is drawn here, so whatever is refused has cost nobody anything. What one party's rows hold
must not show: neither in an error that others see, nor in what others send.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import (
    InputWarning,
    ParameterError,
    PrivacyWarning,
    ShapeError,
    SharedRowsError,
    warn_caller,
)
from ostraka.expect.advice import advise
from ostraka.given import index_labels, length, plain, read_answers, read_rows
from ostraka.methods.base import Work
from ostraka.party.names import canonical_each, canonical_list
from ostraka.poll import Poll
from ostraka.progress import watch
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.catalogue import entry
from ostraka.public.columns import Columns
from ostraka.public.remarks import remark_label
from ostraka.public_side import PublicSide
from ostraka.release import Rehearsed, Release
from ostraka.rows_seen import are_shared
from ostraka.tally import Tally

if TYPE_CHECKING:
    from ostraka.estimators import PrivateClassifier

__all__ = [
    "Collected",
    "collect_answers",
    "collect_rows",
    "collect_votes",
    "learns_afterwards",
    "options_of",
]

NO_AUXILIARY = (
    "public samples with the columns of X, a few hundred or more, labels not needed: they say what "
    'is far and what is near. If there are none, method="avg" with radius=, a public bound for the '
    "length of samples, needs none"
)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Collected:
    """A poll, and what all parties sent."""

    poll: Poll
    tally: Tally
    classes: NDArray[Any]
    """In the order of the poll, as people named them."""
    rows: Any = field(default=None, repr=False)
    """Everybody's as numbers, where they were learnt from."""


def collect_rows(
    estimator: PrivateClassifier, X: Any, y: Any, parties: Any, auxiliary: Any
) -> Collected:
    """What all parties send, from everybody's rows: see `PrivateClassifier.fit`."""
    if auxiliary is None and (entry(estimator.method).needs_auxiliary or estimator.radius is None):
        raise ParameterError("auxiliary", got=None, allowed=NO_AUXILIARY)
    if auxiliary is not None and auxiliary is X:
        raise SharedRowsError("auxiliary")
    side = PublicSide.of(estimator)
    public, columns = side.list_classes(auxiliary), side.describe(auxiliary)
    rows, y = read_rows(estimator, X, y, columns)
    classes, labels = index_labels(y, public)
    seen = getattr(estimator, "feature_names_in_", None)
    ready = side.prepare(auxiliary, plain(classes), columns, rows.shape[1], seen)
    if ready.samples is not None and are_shared(ready.encoded, rows):
        raise SharedRowsError("auxiliary")
    names = None if estimator.rows_are_parties else canonical_each(parties, rows.shape[0])
    n_names = rows.shape[0] if names is None else len(set(names))
    poll = _create_poll(estimator, ready, n_names, public is None, side.start)
    if poll.task.n_encoded != rows.shape[1]:
        allowed = f"{rows.shape[1]} columns, as X has"
        got = (ready.n_samples, poll.task.n_columns)
        raise ShapeError("The auxiliary samples", got=got, allowed=allowed)
    tally, trains = Tally(poll), entry(estimator.method).sends != "labels"
    show = watch("Training and voting" if trains else "Adding up", estimator.progress)
    work = Work(local=estimator.local, n_jobs=estimator.n_jobs, watch=show if trains else None)
    for party_names, block in poll.stream(rows, labels, names, work):
        tally.add_block(party_names, block)
    return Collected(poll, tally, classes, rows)


def collect_votes(
    estimator: PrivateClassifier,
    classifiers: Iterable[Any],
    auxiliary: Any,
    parties: Iterable[Any] | None,
) -> Collected:
    """What existing classifiers vote: see `PrivateClassifier.fit_classifiers`."""
    if entry(estimator.method).sends != "votes":
        voting = '"consensus", "soft" or "vote" for classifiers that vote'
        raise ParameterError("method", got=estimator.method, allowed=voting)
    if parties is None and estimator.ledger is not None:
        allowed = "their names, because the ledger charges each of them"
        raise ParameterError("parties", got=None, allowed=allowed)
    held = list(classifiers)
    names = [str(j) for j in range(len(held))] if parties is None else canonical_list(parties)
    if len(names) != len(held):
        allowed = f"({len(held)},), one name for each"
        raise ShapeError("parties", got=(len(names),), allowed=allowed)
    ready = PublicSide.of(estimator).prepare_for_votes(auxiliary)
    poll = _create_poll(estimator, ready, len(held), False, None)
    tally = Tally(poll)
    shown = watch("Voting", estimator.progress)(zip(held, names), length(held))
    for classifier, name in shown:
        # One party's classifier must not tell on its data, nor move what others vote.
        tally.add(poll.cast(classifier, name, fallback=poll.task.classes[0]))
    return Collected(poll, tally, np.asarray(poll.task.classes))


def collect_answers(
    estimator: PrivateClassifier, X: Any, y: Any, parties: Any, epsilon: float
) -> Collected:
    """What all parties send for an evaluation of the model: see `PrivateClassifier.evaluate`."""
    rows, labels = read_answers(estimator, X, y)
    names = None if parties is None else canonical_each(parties, rows.shape[0])
    n_names = rows.shape[0] if names is None else len(set(names))
    poll = Poll.evaluate(
        estimator.release_,
        epsilon=epsilon,
        parties=None if estimator.roll is not None else n_names,
        roll=estimator.roll,
        least_parties=estimator.least_parties,
        came=True,
    )
    tally = Tally(poll)
    for party_names, block in poll.stream(rows, labels, names, Work()):
        tally.add_block(party_names, block)
    return Collected(poll, tally, estimator.classes_)


def learns_afterwards(student: Any) -> bool:
    """Whether the student is a classifier: it learns when everything is paid and recorded."""
    return hasattr(student, "fit") and not isinstance(student, type)


def options_of(estimator: PrivateClassifier) -> dict[str, Any]:
    """What was set besides ε, by the names that a poll knows; None where nothing was."""
    unset = learns_afterwards(estimator.student) or estimator.student == "auto"
    return {
        "delta": estimator.delta or None,
        "noise": estimator.noise if estimator.noise != "auto" else None,
        "samples_each": estimator.samples_each,
        "natural": estimator.natural,
        "samples_largest": estimator.samples_largest,
        "shift": estimator.shift or None,
        "penalty": estimator.penalty,
        "objective": estimator.objective,
        "student": None if unset else estimator.student,
        "start": estimator.start,
        "lambda_": estimator.lambda_,
        "calibration": estimator.calibration,
        "loss": estimator.loss,
    }


def _create_poll(
    estimator: PrivateClassifier,
    public: AuxiliarySet,
    n_parties: int,
    assumed: bool,
    start: Release | Rehearsed | None,
) -> Poll:
    options = {**options_of(estimator), "start": start}
    if start is None and estimator.method == "refine":
        options["start"] = estimator.start  # refused there, in words
    poll = Poll.create(
        public,
        epsilon=estimator.epsilon,
        delta=options.pop("delta") or 0.0,
        noise=options.pop("noise") or "auto",
        method=estimator.method,
        parties=None if estimator.roll is not None else n_parties,
        roll=estimator.roll,
        protects="row" if estimator.rows_are_parties else "party",
        least_parties=estimator.least_parties,
        keep_back=estimator.keep_back,
        assumed_public=("classes",) if assumed else (),
        came=True,
        **options,
    )
    described = isinstance(estimator.columns, Columns) or start is not None
    of_labels = None if described else remark_label(poll.task.columns, poll.task.classes)
    if of_labels is not None:
        warn_caller(of_labels, InputWarning)
    for told in advise(poll) if estimator.random_state is None else ():
        warn_caller(told, PrivacyWarning)  # before anything is drawn
    return poll
