"""What is sent: polls, parties, and their signed uploads, all made before any clock runs.

    work            what a party sends                                        bytes in all
    contributions   611 whole numbers, to a `moments` poll of 6 classes       about 2 600
    ballots         43 000 votes for one of two classes, to a `consensus`     about 5 600

Numbers and votes are random: a service does not look at what they say. Sums are numpy's own, of
whole numbers, so they check those of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import NDArray

from ostraka.exchange import Upload
from ostraka.party.contribution import Contribution, Kind
from ostraka.poll import Poll
from ostraka.service.access import PREFIX
from ostraka.signing import SecretKey
from ostraka.tally.domain import Ball

__all__ = ["N_COLUMNS", "N_VOTES", "People", "Work", "prepare_ballots", "prepare_contributions"]

N_COLUMNS: Final = 121
N_VOTES: Final = 43_000
N_PUBLIC, N_CLASSES, N_VOTERS_COLUMNS = 1_000, 6, 8
EPSILON: Final = 1.0
TOKEN_LETTERS: Final = 43

Draw = Callable[[np.random.Generator], NDArray[Any]]


@final
@dataclass(frozen=True, slots=True)
class People:
    """Parties that have joined: their names, keys and tokens."""

    names: list[str]
    keys: list[SecretKey] = field(repr=False)
    tokens: list[str] = field(repr=False)

    @classmethod
    def create(cls, n: int) -> Self:
        """So many."""
        letters = np.random.default_rng(0).integers(0, 26, (n, TOKEN_LETTERS)) + ord("a")
        tokens = [PREFIX + bytes(row.astype(np.uint8)).decode("ascii") for row in letters]
        return cls(
            [f"party {i:06d}" for i in range(n)], [SecretKey.create() for _ in tokens], tokens
        )


@final
@dataclass(frozen=True, slots=True)
class Work:
    """One poll, an upload of each party, and the sum of what is in them."""

    title: str
    poll: Poll
    uploads: list[bytes] = field(repr=False)
    total: NDArray[np.int64] = field(repr=False)

    def take(self, n: int) -> Self:
        """The first n parties' part of it."""
        some = self.uploads[:n]
        made = (Contribution.from_bytes(Upload.from_bytes(each).contribution) for each in some)
        return replace(
            self,
            uploads=some,
            total=_add_up((each.values for each in made), of_votes=self.poll.votes),
        )


def prepare_contributions(
    people: People, n: int, tick: Callable[[], None], n_columns: int = N_COLUMNS
) -> Work:
    """Vectors, of the first n parties; `tick` is called after each."""
    rows = np.random.default_rng(1).standard_normal((N_PUBLIC, n_columns))
    classes = [f"class {k}" for k in range(N_CLASSES)]
    poll = Poll.create(rows, classes=classes, method="moments", epsilon=EPSILON, parties=n)
    ball = poll.domain
    assert isinstance(ball, Ball)

    def draw(generator: np.random.Generator) -> NDArray[Any]:
        scale = ball.length / np.sqrt(ball.dimension)
        drawn = generator.standard_normal((1, ball.dimension)) * scale
        rounded: NDArray[Any] = ball.round_entries(drawn)[0]
        return rounded

    return _prepare("contributions", people, n, tick, poll, draw)


def prepare_ballots(
    people: People, n: int, tick: Callable[[], None], n_votes: int = N_VOTES
) -> Work:
    """Ballots for one of two classes, of the first n parties."""
    rows = np.random.default_rng(2).standard_normal((n_votes, N_VOTERS_COLUMNS))
    poll = Poll.create(rows, classes=["a", "b"], method="consensus", epsilon=EPSILON, parties=n)

    def draw(generator: np.random.Generator) -> NDArray[Any]:
        return np.unpackbits(generator.integers(0, 256, -(-n_votes // 8), np.uint8))[:n_votes]

    return _prepare("ballots", people, n, tick, poll, draw)


def _prepare(
    title: str, people: People, n: int, tick: Callable[[], None], poll: Poll, draw: Draw
) -> Work:
    uploads: list[bytes] = []

    def make() -> Iterator[NDArray[Any]]:
        generator = np.random.default_rng(3)
        for name, key in zip(people.names[:n], people.keys):
            values = draw(generator)
            made = _contribution(poll, name, values)
            uploads.append(Upload.create(made.to_bytes(), 1, key).to_bytes())
            tick()
            yield values

    total = _add_up(make(), of_votes=poll.votes)
    return Work(title, poll, uploads, total)


def _contribution(poll: Poll, party: str, values: NDArray[Any]) -> Contribution:
    if isinstance(poll.domain, Ball):
        return Contribution(poll=poll.digest, party=party, kind=Kind.VECTOR, values=values)
    return Contribution(poll=poll.digest, party=party, kind=Kind.BALLOT, values=values, n_classes=2)


def _add_up(rows: Iterable[NDArray[Any]], *, of_votes: bool) -> NDArray[np.int64]:
    """The sum of vectors; of votes for one of two classes, how many each class has."""
    n, total = 0, np.zeros((), dtype=np.int64)
    for row in rows:
        n, total = n + 1, total + row
    return np.column_stack([n - total, total]) if of_votes else total
