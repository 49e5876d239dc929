"""Train one classifier per party, on that party's rows alone, and count their votes.

    name here   meaning
    features    the auxiliary set's features: N rows, dense or csr
    counts      (N, K): how many of a batch of parties vote for each class on each sample
    blank       what a party without rows casts: sample i gets class i mod K

Each batch of parties comes back as names and counts, so memory does not grow with the number of
parties, and the sum is the same for any number of workers. Which template a party takes, and the
seed of a random one, follow from its name alone. Each party trains and votes on copies, so that a
classifier that writes into what it is given spoils nothing for the next one.

Guarantee (votes.proof.md): one party's data changes one ballot. If the auxiliary set is private and
asked about one by one, one auxiliary sample changes the votes on itself alone.

Why a blank ballot and not none? Whether somebody on the roll has rows is private, so the number of
ballots must not reveal it. It is a fixed ballot like any other, and favours no class.

Trusted to the caller: a template carries nothing from one party to the next by other means, such as
a cache or a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import ShapeError
from ostraka.party.asking import CHUNK_ROWS, ask_votes
from ostraka.party.quiet import quietly, restart_streams, streams_kept
from ostraka.party.rows import Parties, number_of
from ostraka.party.training.ensemble import linear_counts
from ostraka.party.training.parameters import linear_parameters
from ostraka.party.training.templates import Maker, Template, check_templates
from ostraka.party.training.workers import Watch, in_batches
from ostraka.public.classes import ClassIndex, Indices
from ostraka.public.numbers import Features, is_sparse
from ostraka.solve.losses import Array

__all__ = [
    "Watch",
    "blank_votes",
    "count_linear_votes",
    "count_votes",
    "linear_parameters",
    "local_votes",
]

Counts = NDArray[np.int64]


class Question(NamedTuple):
    """What all parties are asked: public, unless the auxiliary set is private."""

    features: Features
    n_classes: int
    templates: Sequence[Template]
    chunk_rows: int


def count_votes(
    parties: Parties,
    features: Features,
    n_classes: int,
    templates: Sequence[Template],
    *,
    one_by_one: bool = False,
    n_jobs: int | None = -1,
    watch: Watch | None = None,
) -> Iterator[tuple[list[str], Counts]]:
    """Names and counted ballots of batches of parties.

    Args:
        parties: whose rows; each party trains on its own.
        features: what is voted on.
        n_classes: K.
        templates: one for each party, by its name. Each is tried on synthetic rows first: what
            cannot work is refused before a private row is seen.
        one_by_one: ask about each sample alone, for a private auxiliary set.
        n_jobs: how many processes, as joblib counts.
        watch: sees the batches go by.

    """
    check_templates(templates)
    _check_columns(parties, features)
    _try_templates(templates, parties, features, n_classes)
    question = Question(features, n_classes, templates, 1 if one_by_one else CHUNK_ROWS)
    return in_batches(_vote_batch, parties, question, n_jobs, watch)


def count_linear_votes(
    parties: Parties,
    features: Features,
    n_classes: int,
    lambda_: float,
    loss: str,
    *,
    n_jobs: int | None = -1,
    watch: Watch | None = None,
) -> Iterator[tuple[list[str], Counts]]:
    """The same with the paper's own local classifier, certified, with votes by matrix products."""
    _check_columns(parties, features)
    trained = linear_parameters(parties, n_classes, lambda_, loss, n_jobs=n_jobs, watch=watch)
    return _count_batches(trained, parties.sizes, features, n_classes)


def blank_votes(n_samples: int, n_classes: int) -> Indices:
    """What a party without rows casts: a public rule, a valid ballot, no favour to any class."""
    return np.arange(n_samples) % n_classes


def local_votes(
    maker: Maker,
    rows: Any,
    labels: Indices,
    features: Features,
    seed: int,
    chunk_rows: int = CHUNK_ROWS,
    *,
    falls_back: bool = False,
) -> Indices:
    """One party: train on its rows, vote on the features. A party that saw one class votes for it.

    If it falls back, a chunk that is not answered goes to the party's commonest class.
    """
    present, own = np.unique(labels, return_inverse=True)  # some classifiers insist on 0, 1, 2, ...
    if present.size == 1:
        return np.full(features.shape[0], present[0])
    restart_streams()  # as if this party were the first: what others drew must not shift its draws
    commonest = int(np.bincount(own).argmax())
    classifier = maker.train_one(rows.copy(), own, seed)
    votes = ask_votes(
        classifier,
        ClassIndex(tuple(range(present.size))),
        lambda start, stop: features[start:stop].copy(),
        features.shape[0],
        chunk_rows,
        commonest if falls_back else None,
    )
    return present[votes]


def _vote_batch(parties: Parties, question: Question) -> tuple[list[str], Counts]:
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    features, n_classes, templates, chunk_rows = question
    n_samples = features.shape[0]
    counts = np.zeros((n_classes, n_samples), dtype=np.int64)
    columns, blank = np.arange(n_samples), blank_votes(n_samples, n_classes)
    with (
        quietly(),
        # Tiny problems: threads cost more than they save. And a template's own workers would print
        # where nothing is swallowed, and keep random streams from one party to the next.
        threadpool_limits(limits=1, user_api="blas"),
        parallel_config(backend="sequential"),
    ):
        makers = [Maker(template) for template in templates]
        for rows, labels, number in parties:
            maker = makers[number % len(makers)]
            votes = blank
            if labels.size:
                votes = _careful_votes(maker, rows, labels, features, number, chunk_rows)
            counts[votes, columns] += 1
    return list(parties.names), counts.T


def _careful_votes(
    maker: Maker,
    rows: Any,
    labels: Indices,
    features: Features,
    seed: int,
    chunk_rows: int,
) -> Indices:
    """A failure would give away a party's rows, so it then votes for its commonest class."""
    with quietly():  # once more for each party: a classifier may move filters and traps
        try:
            return local_votes(maker, rows, labels, features, seed, chunk_rows, falls_back=True)
        except KeyboardInterrupt:
            raise
        except BaseException:  # compiled libraries have failures of their own
            return np.full(features.shape[0], np.bincount(labels).argmax())


def _count_batches(
    trained: Iterator[tuple[list[str], Array]],
    sizes: NDArray[np.intp],
    features: Features,
    n_classes: int,
) -> Iterator[tuple[list[str], Counts]]:
    """Exact scores: the way parties are cut into batches leaves no trace.

    A party without rows casts the blank ballot.
    """
    place = 0
    blank = np.eye(n_classes, dtype=np.int64)[blank_votes(features.shape[0], n_classes)]
    for names, weights in trained:
        filled = np.flatnonzero(sizes[place : place + len(names)])
        place += len(names)
        counts = (len(names) - len(filled)) * blank
        if len(filled):
            first = np.array([number_of(names[j]) % n_classes for j in filled])
            with quietly():
                counts = counts + linear_counts(weights[filled], features, n_classes, first)
        yield names, counts


def _check_columns(parties: Parties, features: Features) -> None:
    """Refuse other columns: they would fail in every classifier, and every failure is silent."""
    given, needed = parties.features.shape, features.shape
    if len(needed) != 2 or len(given) != 2 or given[1] != needed[1]:
        allowed = f"(samples, {needed[-1]}), as the auxiliary set has"
        raise ShapeError("The parties' features", got=tuple(given), allowed=allowed)


def _try_templates(
    templates: Sequence[Template],
    parties: Parties,
    features: Features,
    n_classes: int,
) -> None:
    """Train on synthetic rows: what cannot work at all fails here, where nothing private is seen.

    Errors, warnings and prints are shown, because they say nothing about anybody's rows.
    """
    from joblib import parallel_config

    n, d = max(100, 20 * n_classes), features.shape[1]
    rows = np.random.default_rng(0).standard_normal((n, d)) / np.sqrt(d)
    labels = np.arange(n) % n_classes
    theirs, asked = _in_form_of(parties.features, rows), _in_form_of(features, rows[:10])
    with streams_kept(), parallel_config(backend="sequential"):
        for template in templates:
            local_votes(Maker(template), theirs, labels, asked, 0)


def _in_form_of(container: Any, rows: Array) -> Any:
    return type(container)(rows) if is_sparse(container) else rows
