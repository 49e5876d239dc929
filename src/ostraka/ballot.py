"""What one party casts: the class that its classifier gives to every auxiliary sample.

    paper     code name   meaning
    h_j       classifier  anything that answers classes, trained by party j on its own data
    I[h_j(x_i)=k]         votes[i] == k
    K         n_classes   how many classes the poll has

Guarantee: one vote per auxiliary sample, each a class index below K. Whatever the classifier is, replacing one party
replaces one ballot, whose rows are corners of the simplex; that is all the sensitivity proofs ask for [Hamm 2016].

A ballot is private data: its `repr` does not show the votes, and its bytes (see `ballot_format`) belong on a protected
channel to the coordinator, never into a log. A digest of them would be as telling as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias, final

import numpy as np

from ostraka.auxiliary import AuxiliarySet
from ostraka.ballot_format import (
    N_SAMPLES_BOUND,
    BallotHeader,
    Votes,
    parse_header,
    parse_votes,
    vote_dtype,
    write,
)
from ostraka.classes import ClassIndex, Indices
from ostraka.errors import (
    FormatError,
    InputError,
    LabelError,
    NonFiniteError,
    ParameterError,
    ShapeError,
    WrongTypeError,
)
from ostraka.preprocessing import Samples

__all__ = ["Ballot", "cast_votes"]

Asked: TypeAlias = Callable[[Samples, int, int], Indices]
"""From the auxiliary samples start:stop, start and stop, to the indices of the classes that were answered."""

CHUNK_ROWS = 8192
SHA256_HEX = re.compile(r"[0-9a-f]{64}")


@final
@dataclass(frozen=True, slots=True, eq=False)
class Ballot:
    """One vote per auxiliary sample.

    Args:
        votes: class indices, one per auxiliary sample; kept as a read-only copy in the smallest unsigned type.
        n_classes: K.
        auxiliary_digest: `AuxiliarySet.digest` of the set that was voted on.

    """

    votes: Votes = field(repr=False)
    n_classes: int
    auxiliary_digest: str

    def __post_init__(self) -> None:
        if not 2 <= self.n_classes < 2**32:
            raise ParameterError("n_classes", got=self.n_classes, allowed="2 to 2^32 - 1")
        if not SHA256_HEX.fullmatch(self.auxiliary_digest):
            raise ParameterError("auxiliary_digest", got=self.auxiliary_digest, allowed="64 hexadecimal digits in lower case")
        object.__setattr__(self, "n_classes", int(self.n_classes))
        object.__setattr__(self, "votes", _checked_votes(self.votes, self.n_classes))

    @classmethod
    def cast(cls, classifier: Any, auxiliary: AuxiliarySet, *, chunk_rows: int | None = None) -> Ballot:
        """Ask a classifier for the class of every auxiliary sample.

        Args:
            classifier: has `predict`, which answers names from `auxiliary.classes`; or only `predict_proba`, whose
                columns belong to `classes_` if it has that, otherwise to `auxiliary.classes` (the likeliest class is
                voted for, of equally likely ones the one with the lowest index); or is a function that is called like
                `predict`.
            auxiliary: the auxiliary set of the poll.
            chunk_rows: how many samples to ask about at a time, which bounds the memory that the classifier needs. A private auxiliary set
                is asked about sample by sample: a classifier that looks at a whole batch would let one sample change many votes.

        """
        if not isinstance(auxiliary, AuxiliarySet):
            raise WrongTypeError("The auxiliary set", auxiliary, "an AuxiliarySet as the second argument, after the classifier")
        if isinstance(classifier, type):
            raise WrongTypeError("The classifier", classifier, f"a fitted {classifier.__name__}(...), not the class itself")
        if chunk_rows is None:
            chunk_rows = 1 if auxiliary.private else CHUNK_ROWS
        if auxiliary.private and chunk_rows != 1:
            raise ParameterError(
                "chunk_rows", got=chunk_rows, allowed="1 for a private auxiliary set, so that no sample sways votes on another"
            )
        votes = cast_votes(classifier, ClassIndex(auxiliary.classes), auxiliary.rows, auxiliary.n_samples, chunk_rows)
        return cls(votes, auxiliary.n_classes, auxiliary.digest)

    @property
    def n_samples(self) -> int:
        """N."""
        return int(self.votes.size)

    def to_bytes(self) -> bytes:
        """Give the ballot in the form that `ballot_format` describes."""
        return write(self._header(), self.votes)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview, *, n_samples_bound: int = N_SAMPLES_BOUND) -> Ballot:
        """Read a ballot that came from anyone; `FormatError` unless it is one.

        Args:
            data: what was received.
            n_samples_bound: refuse ballots with more votes than this. Give the poll's N if you know it.

        """
        if not isinstance(data, bytes | bytearray | memoryview):
            raise FormatError("ballot", f"it is of type {type(data).__name__}, not bytes")
        received = bytes(data)
        header = parse_header(received, n_samples_bound=n_samples_bound)
        return cls._audited(parse_votes(header, received), header)

    @classmethod
    def _audited(cls, votes: Votes, header: BallotHeader) -> Ballot:
        """A ballot of votes that the format has checked already: looking at each again would take as long as reading it."""
        votes.flags.writeable = False
        ballot = object.__new__(cls)
        for name, value in (("votes", votes), ("n_classes", header.n_classes), ("auxiliary_digest", header.auxiliary_digest)):
            object.__setattr__(ballot, name, value)
        return ballot

    def _header(self) -> BallotHeader:
        return BallotHeader(n_classes=self.n_classes, n_samples=self.n_samples, auxiliary_digest=self.auxiliary_digest)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ballot):
            return NotImplemented
        return self._header() == other._header() and np.array_equal(self.votes, other.votes)

    def __hash__(self) -> int:
        return hash((self._header(), self.votes.tobytes()))


def cast_votes(
    classifier: Any, classes: ClassIndex, rows: Callable[[int, int], Samples], n_samples: int, chunk_rows: int = CHUNK_ROWS
) -> Votes:
    """Ask a classifier for the class index of every sample, in chunks; `rows(start, stop)` gives the samples."""
    if not chunk_rows >= 1:
        raise ParameterError("chunk_rows", got=chunk_rows, allowed="at least 1")
    ask = _asked(classifier, classes)
    votes = np.empty(n_samples, dtype=vote_dtype(len(classes.classes)))
    for start in range(0, n_samples, chunk_rows):
        stop = min(start + chunk_rows, n_samples)
        votes[start:stop] = ask(rows(start, stop), start, stop)
    return votes


def _checked_votes(votes: Any, n_classes: int) -> Votes:
    given = np.asarray(votes)
    if given.ndim != 1 or given.size < 1:
        raise ShapeError("votes", got=given.shape, allowed="one dimension, at least one vote")
    if given.dtype.kind not in "iu":
        raise LabelError(f"votes are of type {given.dtype}.", "Give class indices as integers.")
    if not (int(given.min()) >= 0 and int(given.max()) < n_classes):
        raise LabelError(f"votes run from {given.min()} to {given.max()}.", f"Allowed: class indices from 0 to {n_classes - 1}.")
    copied = given.astype(vote_dtype(n_classes))
    copied.flags.writeable = False
    return copied


def _asked(classifier: Any, class_index: ClassIndex) -> Asked:
    """Find out how this classifier is asked."""
    predict = getattr(classifier, "predict", None)
    if callable(predict):
        return _asked_for_labels(predict, class_index)
    predict_proba = getattr(classifier, "predict_proba", None)
    if callable(predict_proba):
        return _asked_for_probabilities(predict_proba, getattr(classifier, "classes_", None), class_index)
    if callable(classifier):
        return _asked_for_labels(classifier, class_index)
    raise InputError(
        f"A classifier of type {type(classifier).__name__} has neither predict nor predict_proba and is no function.",
        "Give something that answers a class for every row.",
    )


def _asked_for_labels(predict: Callable[[Samples], Any], class_index: ClassIndex) -> Asked:
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
        return class_index.of(labels.ravel())

    return ask


def _asked_for_probabilities(predict_proba: Callable[[Samples], Any], names: Any, class_index: ClassIndex) -> Asked:
    columns = np.arange(len(class_index.classes)) if names is None else class_index.of(np.asarray(names))
    # argmax takes the first of equals: with the columns in the order of the classes that is the lowest class index.
    order = np.argsort(columns)

    def ask(samples: Samples, start: int, stop: int) -> Indices:
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
