"""Train one classifier per party, on that party's rows alone, and count their votes.

Parties are spread over the cores in batches; each batch comes back as counts, so memory does not grow with the number of parties, and the
sum is the same for any number of workers. Which template a party takes, and the seed of a random one, follow from its name alone: one
party's data moves one ballot. Each party trains and votes on copies, so that a classifier that writes into what it is given spoils nothing
for the next one.

Trusted to the caller: a template that is a function, or keeps its randomness where scikit-learn's `random_state` is not, must not carry
anything from one party to the next, such as numpy's global stream of random numbers.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import random
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from ostraka.auxiliary import AuxiliarySet
from ostraka.ballot import CHUNK_ROWS, cast_votes
from ostraka.classes import ClassIndex, Indices
from ostraka.errors import InputError, ParameterError, ShapeError, WrongTypeError
from ostraka.local.batched import can_batch, train_batched
from ostraka.local.ensemble import tally_linear
from ostraka.local.linear import train_features
from ostraka.losses import Array, loss_for
from ostraka.solve import RiskShape, default_tolerance
from ostraka.tally import Tally

__all__ = ["Parties", "Watch", "tally_parties", "tally_linear_parties", "linear_parameters", "trained_linear"]

PARALLEL_FROM = 256
"""Fewer parties are not worth starting workers for."""
BATCHED_FROM = 64
"""Fewer parties are not worth loading compiled code for."""
BATCHES_PER_WORKER = 16
PARTIES_AT_ONCE = 2048

START_OF_PYTHONS_STREAM = random.Random(0).getstate()
START_OF_NUMPYS_STREAM = np.random.RandomState(0).get_state()

Template: TypeAlias = Any
"""An unfitted classifier with `fit` and `predict`, or a function (rows, labels) ↦ classifier."""
Watch: TypeAlias = Callable[[Iterable[Any], int], Iterable[Any]]
"""(batches as they arrive, how many) ↦ the same batches: a place for a progress bar."""


@final
@dataclass(frozen=True, slots=True, eq=False)
class Parties:
    """Everybody's rows, sorted by party. Features, because all parties share the public preprocessing."""

    features: Any
    labels: Indices
    starts: NDArray[np.intp]
    names: NDArray[Any]

    @classmethod
    def group(cls, features: Any, labels: Indices, parties: Any) -> Parties:
        """Sort rows by party; without `parties` every row is a party of its own."""
        n = features.shape[0]
        if parties is None:
            return cls(features, labels, np.arange(n + 1), np.arange(n))
        distinct, inverse, sizes = np.unique(_checked_names(parties, n), return_inverse=True, return_counts=True)
        order = np.argsort(inverse, kind="stable")
        return cls(features[order], labels[order], np.concatenate([[0], np.cumsum(sizes)]), distinct)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def each(self, work: Callable[[Any], NDArray[Any]], empty: NDArray[Any]) -> NDArray[Any]:
        """What `work` makes of every party's rows, on their own, one after another; `empty` if there are no rows at all.

        Not of all rows at once: a product of matrices may round a row otherwise when more rows stand beside it, and carry one
        party's number of samples into another's result.
        """
        ends = zip(self.starts[:-1].tolist(), self.starts[1:].tolist())
        found = [work(self.features[start:end]) for start, end in ends if end > start]
        return np.concatenate(found) if found else empty

    def mapped(self, work: Callable[[Any], Any]) -> Parties:
        """The same parties with other features, made of each party's rows on their own."""
        return Parties(self.each(work, np.zeros((0, 1))), self.labels, self.starts, self.names)

    def part(self, first: int, stop: int) -> Parties:
        """The parties first:stop."""
        start, end = self.starts[first], self.starts[stop]
        return Parties(self.features[start:end], self.labels[start:end], self.starts[first : stop + 1] - start, self.names[first:stop])

    def __iter__(self) -> Iterator[tuple[Any, Indices, int]]:
        """Rows, labels and a number that depends on the party's name alone."""
        for start, end, name in zip(self.starts[:-1], self.starts[1:], self.names.tolist()):
            yield (
                self.features[start:end],
                self.labels[start:end],
                int.from_bytes(hashlib.sha256(repr(name).encode()).digest()[:4], "little"),
            )


def tally_parties(
    parties: Parties, templates: Sequence[Template], auxiliary: AuxiliarySet, *, n_jobs: int | None = -1, watch: Watch | None = None
) -> Tally:
    """Train one of the templates per party, and add up their votes on the auxiliary features."""
    _check_templates(templates)
    _try_templates(templates, auxiliary)
    tally = Tally(auxiliary)
    # As in `Ballot.cast`: private auxiliary samples are asked about one by one.
    task = (auxiliary.features, auxiliary.n_classes, templates, 1 if auxiliary.private else CHUNK_ROWS)
    for counts, n_ballots in _in_batches(_vote_batch, parties, task, n_jobs, watch):
        tally.add_counts(counts, n_ballots)
    return tally


def _try_templates(templates: Sequence[Template], auxiliary: AuxiliarySet) -> None:
    """Train on synthetic rows first: a template that cannot work at all fails here, where nothing private is seen."""
    generator = np.random.default_rng(0)
    n, k = max(100, 20 * auxiliary.n_classes), auxiliary.n_classes
    rows = generator.standard_normal((n, auxiliary.n_features)) / np.sqrt(auxiliary.n_features)
    rows = type(auxiliary.features)(rows) if hasattr(auxiliary.features, "tocsr") else rows
    with _streams_kept():
        for template in templates:
            local_votes(Maker(template), rows, np.arange(n) % k, rows[:10], 0)


def tally_linear_parties(
    parties: Parties, auxiliary: AuxiliarySet, lambda_: float, loss: str, *, n_jobs: int | None = -1, watch: Watch | None = None
) -> Tally:
    """The same with the paper's own local classifier, certified, cast by matrix products."""
    tally = Tally(auxiliary)
    for weights in trained_linear(parties, auxiliary.n_classes, lambda_, loss, n_jobs, watch):
        tally.add_counts(tally_linear(weights, auxiliary).counts, len(weights))
    return tally


def linear_parameters(
    parties: Parties, n_classes: int, lambda_: float, loss: str, *, n_jobs: int | None = -1, watch: Watch | None = None
) -> Iterator[Array]:
    """The parameters of each party's own certified linear classifier, in no particular order."""
    for weights in trained_linear(parties, n_classes, lambda_, loss, n_jobs, watch):
        yield from weights


def _checked_names(parties: Any, n: int) -> NDArray[Any]:
    """One name for each of n samples: all texts or all numbers, none missing."""
    # numpy alone would turn NaN among texts into the text 'nan', and the number 1 into the text '1'.
    names = np.asarray(parties, dtype=None if hasattr(parties, "dtype") else object)
    if names.shape != (n,):
        raise ShapeError("parties", got=names.shape, allowed=f"({n},), one name for each sample")
    values = names.tolist()
    missing = next((row for row, name in enumerate(values) if _is_missing(name)), None)
    if missing is not None:
        raise InputError(
            f"Row {missing} (counting from 0) has no party: its name is {values[missing]!r}.", "Name a party for every sample, or drop it."
        )
    if names.dtype != object:
        return names
    if all(isinstance(name, str) for name in values):
        return names
    if not all(isinstance(name, int | float | np.number) for name in values):
        raise InputError("The names of the parties cannot be sorted.", "Use texts or numbers, not both.")
    numbers = [name.item() if isinstance(name, np.generic) else name for name in values]
    found = np.asarray(numbers)
    if found.dtype.kind == "f" and any(isinstance(name, int) and int(float(name)) != name for name in numbers):
        raise InputError("The numbers that name the parties are too large to tell apart.", "Use texts.")
    return found


def _is_missing(name: Any) -> bool:
    try:
        return name is None or bool(name != name)
    except TypeError:  # pandas' NA is neither equal nor unequal
        return True


def _check_templates(templates: Sequence[Template]) -> None:
    if len(templates) == 0:
        raise ParameterError("local", got=templates, allowed="at least one classifier")
    for template in templates:
        if isinstance(template, type):
            raise WrongTypeError("The local classifier", template, f"an unfitted {template.__name__}(...), not the class itself")
        if not hasattr(template, "fit") and not callable(template):
            raise WrongTypeError(
                "The local classifier", template, "an unfitted classifier with fit and predict, or a function that makes one"
            )


def trained_linear(parties: Parties, n_classes: int, lambda_: float, loss: str, n_jobs: int | None, watch: Watch | None) -> Iterable[Array]:
    """Weights in batches: many parties in one compiled loop, few (or without numba) one by one."""
    # A λ that is too small for doubles is refused for everybody, from public numbers, not when some party's rows need the general solver.
    d = parties.features.shape[1]
    default_tolerance(RiskShape(n_samples=2**20, n_features=d, row_terms=d, loss=loss_for(n_classes, loss), lambda_=lambda_))
    if len(parties) < BATCHED_FROM or not can_batch(parties.features, loss):
        return _in_batches(_train_batch, parties, (n_classes, lambda_, loss), n_jobs, watch)
    cuts = range(0, len(parties), PARTIES_AT_ONCE)
    parts = (parties.part(first, min(first + PARTIES_AT_ONCE, len(parties))) for first in cuts)
    trained = (train_batched(part.features, part.labels, part.starts, n_classes, lambda_) for part in parts)
    return watch(trained, len(cuts)) if watch else trained


def _in_batches(work: Callable[..., Any], parties: Parties, task: Any, n_jobs: int | None, watch: Watch | None) -> Iterable[Any]:
    from joblib import Parallel, delayed, effective_n_jobs

    workers = effective_n_jobs(n_jobs) if len(parties) >= PARALLEL_FROM else 1
    size = max(1, -(-len(parties) // (workers * BATCHES_PER_WORKER)))
    cuts = range(0, len(parties), size)
    calls = (delayed(work)(parties.part(first, min(first + size, len(parties))), task) for first in cuts)
    done = Parallel(n_jobs=workers, return_as="generator_unordered" if workers > 1 else "generator")(calls)
    return watch(done, len(cuts)) if watch else done


def _vote_batch(parties: Parties, task: tuple[Any, int, Sequence[Template], int]) -> tuple[NDArray[np.int64], int]:
    from threadpoolctl import threadpool_limits

    features, n_classes, templates, chunk_rows = task
    counts = np.zeros((n_classes, features.shape[0]), dtype=np.int64)
    columns = np.arange(features.shape[0])
    makers = [Maker(template) for template in templates]
    with threadpool_limits(limits=1, user_api="blas"), _streams_kept():  # tiny problems: threads cost more than they bring
        for rows, labels, number in parties:
            votes = _votes_whatever_happens(makers[number % len(makers)], rows, labels, features, number, chunk_rows)
            counts[votes, columns] += 1
    return counts.T, len(parties)


def _votes_whatever_happens(maker: Maker, rows: Any, labels: Indices, features: Any, seed: int, chunk_rows: int) -> Indices:
    """A classifier that fails on a party's rows, or warns about them, would tell on them: such a party votes for its commonest class."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return local_votes(maker, rows, labels, features, seed, chunk_rows)
        except Exception:
            return np.full(features.shape[0], np.bincount(labels).argmax())


def local_votes(maker: Maker, rows: Any, labels: Indices, features: Any, seed: int, chunk_rows: int = CHUNK_ROWS) -> Indices:
    """One party: train on its rows, vote on the auxiliary features. A party that saw one class votes for it."""
    present, own = np.unique(labels, return_inverse=True)  # some classifiers insist on 0, 1, 2, ...
    if present.size == 1:
        return np.full(features.shape[0], present[0])
    # As if this party were the first: what others drew from the global streams must not shift what it draws. (The same start for all,
    # because making a new state takes longer than many a fit; `random_state` differs by name.)
    random.setstate(START_OF_PYTHONS_STREAM)
    np.random.set_state(START_OF_NUMPYS_STREAM)  # noqa: NPY002
    classifier = maker.trained(rows.copy(), own, seed)
    index = ClassIndex(tuple(range(present.size)))
    votes = cast_votes(classifier, index, lambda start, stop: features[start:stop].copy(), features.shape[0], chunk_rows)
    return present[votes]


@contextlib.contextmanager
def _streams_kept() -> Iterator[None]:
    """Leave Python's and numpy's global random streams as they were found."""
    ours, numpys = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(ours)
        np.random.set_state(numpys)  # noqa: NPY002


@final
class Maker:
    """Makes trained classifiers of one template; what does not depend on the party is looked up once."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._unseeded: list[str] = []
        if hasattr(template, "fit") and hasattr(template, "get_params"):
            from sklearn.base import clone

            self._template = clone(template)
            # Of the classifier itself, or of a part of a pipeline: a stream shared by all would carry one party's data on.
            parameters = self._template.get_params().items()
            self._unseeded = [name for name, value in parameters if name.endswith("random_state") and value is None]

    def trained(self, rows: Any, labels: Indices, seed: int) -> Any:
        """A classifier for these rows."""
        if not hasattr(self._template, "fit"):
            return self._template(rows, labels)
        own = copy.deepcopy(self._template)
        if self._unseeded:
            own.set_params(**dict.fromkeys(self._unseeded, seed))
        fitted = own.fit(rows, labels)
        return own if fitted is None else fitted


def _train_batch(parties: Parties, task: tuple[int, float, str]) -> Array:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        return np.stack([train_features(rows, labels, *task) for rows, labels, _ in parties])
