"""How any classifier is asked for the class of every auxiliary sample.

    what it is                              how it is asked
    it has `predict`                        for names of classes, one for each sample
    it has `predict_proba` alone            for the likeliest class, and the lowest index among
                                            equals. Its columns belong to `classes_`, if it has that
    a function                              like `predict`

Guarantee: one class index below K for every sample. With a `fallback` that holds whatever the
classifier does: if it raises or answers nonsense, it votes for the fallback class, on the samples
of that chunk alone, and nothing of the failure is seen. Each chunk is asked as if it were the
first, so with one sample to a chunk a private sample changes its own vote and no other.

Trusted to the caller: the classifier itself remembers nothing from one question to the next.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import InputError, NonFiniteError, ShapeError, count
from ostraka.party.quiet import quietly, restart_streams
from ostraka.public.classes import ClassIndex, Indices
from ostraka.public.numbers import Samples

__all__ = ["CHUNK_ROWS", "Votes", "ask_votes"]

CHUNK_ROWS = 8192

Votes: TypeAlias = NDArray[np.unsignedinteger[Any]]
"""Class indices in the smallest type that holds them."""

Rows: TypeAlias = Callable[[int, int], Samples]
"""From start and stop to the samples start:stop; a copy, because classifiers may write to it."""

Asked: TypeAlias = Callable[[Samples, int, int], Indices]
"""From samples start:stop, start and stop, to the indices of the classes that were answered."""


def ask_votes(
    classifier: Any,
    classes: ClassIndex,
    rows: Rows,
    n_samples: int,
    chunk_rows: int = CHUNK_ROWS,
    fallback: int | None = None,
) -> Votes:
    """Ask a classifier for the class index of every sample.

    Args:
        classifier: see above; anything else is refused, even if there is a fallback.
        classes: the names that it answers with.
        rows: where the samples are.
        n_samples: how many there are.
        chunk_rows: how many to ask about at a time; 1 where the samples are private.
        fallback: the class index for a chunk on which it fails. None: its error is raised, for the
            party to see on its own machine.

    """
    count("chunk_rows", chunk_rows, 1)
    if fallback is None:
        ask = _choose_question(classifier, classes)
        return _answers(ask, classes, rows, n_samples, chunk_rows)
    count("fallback", fallback, 0, len(classes.classes) - 1)
    with quietly():
        ask = _without_failing(_choose_carefully(classifier, classes), fallback)
        return _answers(ask, classes, rows, n_samples, chunk_rows)


def _answers(ask: Asked, classes: ClassIndex, rows: Rows, n_samples: int, chunk_rows: int) -> Votes:
    votes: Votes = np.empty(n_samples, dtype=np.min_scalar_type(len(classes.classes) - 1))
    for start in range(0, n_samples, chunk_rows):
        stop = min(start + chunk_rows, n_samples)
        votes[start:stop] = ask(rows(start, stop), start, stop)
    return votes


def _without_failing(ask: Asked, fallback: int) -> Asked:
    def carefully(samples: Samples, start: int, stop: int) -> Indices:
        with quietly():  # once more: a classifier may change filters and traps
            restart_streams()  # draws for other samples must not shift the draws for this one
            try:
                return ask(samples, start, stop)
            except KeyboardInterrupt:
                raise
            except BaseException:  # compiled libraries have failures of their own
                return np.full(stop - start, fallback)

    return carefully


def _choose_carefully(classifier: Any, classes: ClassIndex) -> Asked:
    """The same where a failure must not be seen: one that fails even to be looked at always fails.

    What is no classifier at all is refused, whatever its data.
    """
    try:
        return _choose_question(classifier, classes)
    except (KeyboardInterrupt, NotAskableError):
        raise
    except BaseException:  # as below

        def fail(*_: Any) -> Indices:
            raise RuntimeError

        return fail


class NotAskableError(InputError):
    """Something that is no classifier."""


def _choose_question(classifier: Any, classes: ClassIndex) -> Asked:
    """Find out how this classifier is asked."""
    predict = getattr(classifier, "predict", None)
    if callable(predict):
        return _ask_for_labels(predict, classes)
    predict_proba = getattr(classifier, "predict_proba", None)
    if callable(predict_proba):
        names = getattr(classifier, "classes_", None)
        return _ask_for_probabilities(predict_proba, names, classes)
    if callable(classifier):
        return _ask_for_labels(classifier, classes)
    kind = type(classifier).__name__
    raise NotAskableError(
        f"A classifier of type {kind} has neither predict nor predict_proba and is not a function.",
        "Give something that answers a class for every row.",
    )


def _ask_for_labels(predict: Callable[[Samples], Any], classes: ClassIndex) -> Asked:
    def ask(samples: Samples, start: int, stop: int) -> Indices:
        answers = predict(samples)
        # A list of texts and a NaN would become the text 'nan' if numpy chose the type.
        labels = np.asarray(answers, dtype=None if hasattr(answers, "dtype") else object)
        if labels.shape not in ((stop - start,), (stop - start, 1)):
            raise ShapeError(
                f"The classifier's answer for samples {start} to {stop - 1}",
                got=labels.shape,
                allowed=f"one class for each of the {stop - start} samples",
            )
        return classes.of(labels.ravel())

    return ask


def _ask_for_probabilities(
    predict_proba: Callable[[Samples], Any],
    names: Any,
    classes: ClassIndex,
) -> Asked:
    def ask(samples: Samples, start: int, stop: int) -> Indices:
        # In here: a class that there is not is a failure like any other.
        given = np.arange(len(classes.classes)) if names is None else np.asarray(names)
        columns: Indices = given if names is None else classes.of(given)
        # argmax takes the first of equals: in the order of the classes, the lowest class index.
        order = np.argsort(columns)
        probabilities = np.asarray(predict_proba(samples), dtype=np.float64)
        if probabilities.shape != (stop - start, columns.size):
            raise ShapeError(
                f"The classifier's probabilities for samples {start} to {stop - 1}",
                got=probabilities.shape,
                allowed=f"({stop - start}, {columns.size}), one column per class",
            )
        bad = np.flatnonzero(~np.isfinite(probabilities).all(axis=1))
        if bad.size:
            raise NonFiniteError("The classifier's probabilities", row=start + int(bad[0]))
        likeliest: Indices = columns[order][np.argmax(probabilities[:, order], axis=1)]
        return likeliest

    return ask
