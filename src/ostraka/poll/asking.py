"""What a poll asks for: a party's contribution on its own machine, or those of many in one process.

    what is sent              where                                     by
    numbers, from rows        on the party's machine                    `contribute`
    votes, from rows          on the party's machine                    `contribute`
    votes of a classifier     where the classifier is                   `cast`
    a classifier file         the coordinator's, on private samples     `enclose`, then `open_file`
    what many parties send    where all their rows are                  `stream`, `send`

Whatever is computed for a party is computed from its own rows and the poll alone, to the last bit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import (
    InputError,
    NonFiniteError,
    NotOnRollError,
    ParameterError,
    WrongTypeError,
)
from ostraka.files import read_regular
from ostraka.methods.base import Work
from ostraka.party.asking import ask_votes
from ostraka.party.contribution import Contribution, Kind
from ostraka.party.keeping import leave_kept_back, take_kept_back
from ostraka.party.names import canonical
from ostraka.party.products import row_products
from ostraka.party.quiet import quietly, restart_streams, streams_kept
from ostraka.party.rows import Arranged, Parties, arrange, cut_parties
from ostraka.party.sealed import seal
from ostraka.party.training.files import load_classifier_bytes
from ostraka.party.training.limits import DEFAULT_LIMITS
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.catalogue import CATALOGUE
from ostraka.public.classes import ClassIndex, ClassName
from ostraka.public.numbers import Samples, is_sparse
from ostraka.tally.domain import Ball, Ballots, BallSum

if TYPE_CHECKING:
    from ostraka.poll.poll import Poll

__all__ = [
    "cast",
    "contribute",
    "enclose",
    "group_rows",
    "open_file",
    "read_parties",
    "send",
    "stream",
]

ROWS_AT_ONCE = 2**15
"""Of parties in one process, whose features exist at a time."""


def contribute(
    poll: Poll,
    samples: Samples,
    labels: Any,
    party: Any,
    *,
    persons: Any,
    local: Any,
    n_jobs: int | None,
) -> Contribution:
    """One party's contribution: see `Poll.contribute`."""
    if (persons is not None) is not (poll.promise.protects == "person"):
        allowed = f"names of persons, or none: this poll protects one {poll.promise.protects}"
        raise ParameterError("persons", got=type(persons).__name__, allowed=allowed)
    if poll.private_auxiliary:
        allowed = "a classifier: Poll.enclose(path, party), the auxiliary samples are private"
        raise ParameterError("contribution", got="rows", allowed=allowed)
    name, work = canonical(party), _work(poll, local, n_jobs)
    if persons is None:
        grouped = poll.parties(samples, labels, None, single=name)
        ((_, units),) = poll.blocks(grouped, work)
        values = units[0] if isinstance(poll.domain, Ball) else units.argmax(axis=1)
        return _contribution(poll, name, Kind.VECTOR, Kind.BALLOT, values, None)
    grouped = poll.parties(samples, labels, persons)
    summed = poll.domain.new_sum()
    for names, block in poll.blocks(grouped, work):
        if isinstance(summed, BallSum):
            summed.add_rows(block, names)
        else:
            summed.add_sum(block, len(names))
    return _contribution(poll, name, Kind.VECTORS, Kind.BALLOTS, summed.total, len(grouped))


def enclose(
    poll: Poll, path: str | os.PathLike[str], party: Any, trusted: Iterable[str]
) -> Contribution:
    """A classifier file as a contribution: see `Poll.enclose`."""
    if not poll.private_auxiliary:
        allowed = "votes: Poll.cast(classifier, party), the auxiliary samples are public"
        raise ParameterError("contribution", got="a classifier file", allowed=allowed)
    content = read_regular(path, "classifier file", DEFAULT_LIMITS.file_bytes)
    name = canonical(party)
    _check_roll(poll, name)
    load_classifier_bytes(content, _file_name(name, content), trusted=trusted).close()
    values = np.frombuffer(content, dtype=np.uint8)
    return Contribution(poll=poll.digest, party=name, kind=Kind.CLASSIFIER, values=values)


def open_file(poll: Poll, given: Contribution, trusted: Iterable[str]) -> Contribution:
    """The ballot of a classifier that was sent as a file: see `Poll.open`."""
    if given.kind is not Kind.CLASSIFIER:
        return given
    if poll.auxiliary is None or not poll.private_auxiliary:
        allowed = "a poll with its private auxiliary set: Poll.with_auxiliary(...)"
        raise ParameterError("contribution", got="a classifier file", allowed=allowed)
    content = given.values.tobytes()
    classes = ClassIndex(poll.task.classes)
    file = _file_name(given.party, content)
    with quietly(), load_classifier_bytes(content, file, trusted=trusted) as classifier:
        votes = ask_votes(
            classifier,
            classes,
            poll.auxiliary.rows,
            poll.auxiliary.n_samples,
            chunk_rows=1,
            fallback=0,
        )
    return _contribution(poll, given.party, Kind.VECTOR, Kind.BALLOT, votes, None)


def cast(poll: Poll, classifier: Any, party: Any, *, fallback: ClassName | None) -> Contribution:
    """The ballot of an existing classifier: see `Poll.cast`."""
    auxiliary = _find_ballot_samples(poll)
    if isinstance(classifier, type):
        needed = f"a fitted {classifier.__name__}(...), not the class itself"
        raise WrongTypeError("The classifier", classifier, needed)
    index = ClassIndex(poll.task.classes)
    chosen = None if fallback is None else poll.task.classes.index(fallback)
    with streams_kept():  # nobody feels what others drew before
        restart_streams()
        votes = ask_votes(classifier, index, auxiliary.rows, auxiliary.n_samples, fallback=chosen)
    if isinstance(poll.domain, Ball):  # what a party sends of its votes, where they are no ballot
        one_hot = np.eye(len(poll.task.classes), dtype=np.int64)[votes]
        votes = poll.method.moments_of(one_hot)  # type: ignore[attr-defined]
    return _contribution(poll, canonical(party), Kind.VECTOR, Kind.BALLOT, votes, None)


def read_parties(
    poll: Poll, samples: Samples, labels: Any, names: Any, *, single: str | None
) -> Parties:
    """Rows by party, as features: see `Poll.parties`."""
    rows, indices = poll.task.rows(samples), poll.task.indices(labels)
    if rows.shape[0] != len(indices):
        raise InputError(
            f"There are {rows.shape[0]} samples and {len(indices)} labels.",
            "Give one label for each sample.",
        )
    return poll.group(rows, indices, names, single=single)


def group_rows(
    poll: Poll, rows: Any, indices: NDArray[np.int64], names: Any, *, single: str | None
) -> Parties:
    """The same from an array and class indices that were checked before: see `Poll.group`."""

    if single is None:
        _check_named(poll, names)

    def group(features: Any) -> Parties:
        if single is not None:
            return Parties.single(features, indices, single)
        if names is None:
            return Parties.rows(features, indices)
        return Parties.group(features, indices, names, _asked(poll))

    with quietly():
        # Products of sparse rows meet each party's rows on their own: see `Parties.each`.
        if poll.task.preprocessing.components is not None and is_sparse(rows):
            return group(rows).map(poll.task.preprocessing)
        return group(_map_alone(poll, rows))


def stream(
    poll: Poll, rows: Any, indices: NDArray[np.int64], names: list[str] | None, work: Work
) -> Iterator[tuple[list[str], NDArray[Any]]]:
    """What many parties send, with some parties' features at a time: see `Poll.stream`."""
    _check_named(poll, names)
    together = CATALOGUE[poll.method.name].sends != "labels"  # all of them train
    # Products of sparse rows meet each party's rows on their own: see `group_rows`.
    if together or (is_sparse(rows) and poll.task.preprocessing.components is not None):
        yield from poll.blocks(poll.group(rows, indices, names), work)
        return
    every = np.arange(rows.shape[0] + 1)
    found = (
        Arranged(every[:-1], every, list(map(str, every[:-1].tolist())))
        if names is None
        else arrange(names, _asked(poll))
    )
    starts = found.starts
    for first, stop in cut_parties(np.diff(starts), ROWS_AT_ONCE):
        own = found.order[starts[first] : starts[stop]]
        features = poll.group(rows[own], indices[own], None, single="these").features
        part = Parties(
            features,
            indices[own],
            starts[first : stop + 1] - starts[first],
            found.names[first:stop],
        )
        yield from poll.blocks(part, work)


def send(poll: Poll, grouped: Parties, work: Work) -> Iterator[tuple[list[str], NDArray[Any]]]:
    """What many parties send, of the rows that are asked for: see `Poll.blocks`."""
    if poll.keep_back is not None:
        choose_rows = leave_kept_back if poll.judged is None else take_kept_back
        grouped = choose_rows(grouped, poll.keep_back)
    return poll.method.contribute(grouped, work)


def _check_named(poll: Poll, names: Any) -> None:
    """Rows without names are protected one by one, so the poll must promise just that."""
    if (names is None) is not (poll.promise.protects == "row"):
        whom = poll.promise.protects
        got = "no names" if names is None else "names"
        allowed = "none, because this poll protects single rows"
        if whom != "row":
            allowed = f"the name of each row's {whom}, because this poll protects one {whom}"
        raise ParameterError("names", got=got, allowed=allowed)


def _asked(poll: Poll) -> list[str] | None:
    """Who is on the roll, where parties are protected."""
    if poll.roll is None or poll.promise.protects != "party":
        return None
    return list(poll.roll)


def _map_alone(poll: Poll, rows: Any) -> Any:
    """Features, each row's from that row alone, to the last bit; few at a time."""
    public = poll.task.preprocessing
    if is_sparse(rows) or rows.shape[0] <= ROWS_AT_ONCE:
        return public(rows, row_products)
    features = np.empty((rows.shape[0], poll.task.n_features))
    for start in range(0, rows.shape[0], ROWS_AT_ONCE):
        block = slice(start, start + ROWS_AT_ONCE)
        try:
            features[block] = public(rows[block], row_products)
        except NonFiniteError as error:
            raise NonFiniteError(error.what, row=start + error.row) from None
    return features


def _work(poll: Poll, local: Any, n_jobs: int | None) -> Work:
    if local is not None and not poll.votes:
        allowed = f"None for method {poll.method.name!r}, for which no classifier votes"
        raise ParameterError("local", got=local, allowed=allowed)
    return Work(local=local, n_jobs=n_jobs)


def _find_ballot_samples(poll: Poll) -> AuxiliarySet:
    if not poll.votes:
        allowed = f"rows and labels, for method {poll.method.name!r}"
        raise ParameterError("contribution", got="a classifier", allowed=allowed)
    if poll.auxiliary is None or poll.auxiliary.private:
        allowed = "a classifier file, Poll.enclose(path, party): the samples are private"
        raise ParameterError("contribution", got="a classifier that votes", allowed=allowed)
    if poll.keep_back is not None:
        allowed = "rows: of a classifier nobody knows whether it has seen those kept back"
        raise ParameterError("contribution", got="a classifier", allowed=allowed)
    if poll.promise.protects == "person":
        allowed = "a classifier for every person, trained by contribute"
        raise ParameterError("contribution", got="one classifier", allowed=allowed)
    return poll.auxiliary


def _check_roll(poll: Poll, party: str) -> None:
    if poll.roll is not None and party not in poll.roll:
        raise NotOnRollError(party)


def _contribution(
    poll: Poll, party: str, vector: Kind, ballot: Kind, values: Any, n_persons: int | None
) -> Contribution:
    votes = isinstance(poll.domain, Ballots)
    _check_roll(poll, party)
    made = Contribution(
        poll=poll.digest,
        party=party,
        kind=ballot if votes else vector,
        values=values,
        n_classes=len(poll.task.classes) if votes else 0,
        n_persons=n_persons,
    )
    servers = poll.promise.servers
    if servers is None:
        return made
    if n_persons is None:  # nobody can check it later; of persons each was checked
        poll.domain.check_rows(made.values[None], [party])
    return seal(made, servers)


def _file_name(party: str, content: bytes) -> str:
    """How a classifier file is called in errors; skops files are zip archives."""
    return f"{party}.{'skops' if content.startswith(b'PK') else 'onnx'}"
