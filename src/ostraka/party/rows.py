"""Everybody's rows, sorted by party.

    name here   meaning
    features    the rows of all parties, one party after another: an array or a csr matrix
    labels      the class index of each row
    starts      rows starts[j]:starts[j+1] are those of party j; M+1 numbers
    names       the canonical name of each party (see `names`)
    roll        the public list of who is asked; with it, a party without rows is included too

Guarantee (rows.proof.md): what a party's rows are, and how many, changes no other party's rows,
place or number.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import InputError, ShapeError
from ostraka.party.names import canonical_each
from ostraka.party.quiet import quietly
from ostraka.public.classes import Indices
from ostraka.public.numbers import is_sparse

__all__ = ["Arranged", "Parties", "arrange", "cut_parties", "number_of"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Arranged:
    """Whose rows are which: those of party j are order[starts[j]:starts[j+1]], as they came."""

    order: NDArray[np.intp]
    starts: NDArray[np.intp]
    names: list[str]


def arrange(names: list[str], roll: list[str] | None = None) -> Arranged:
    """Sort rows by party, from the canonical name of each row.

    `roll`: the parties, in this order, canonical and distinct. A party without rows is there with
    none; a name that is not on it is refused. None: whoever has rows, by name.
    """
    listed = sorted(set(names)) if roll is None else roll
    place = {name: index for index, name in enumerate(listed)}
    _refuse_strangers(names, place)
    owners = np.fromiter((place[name] for name in names), np.intp, len(names))
    order = np.argsort(owners, kind="stable")
    sizes = np.bincount(owners, minlength=len(listed))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    return Arranged(order, starts, list(listed))


def cut_parties(sizes: NDArray[np.intp], rows: int) -> Iterator[tuple[int, int]]:
    """Consecutive parties with about this many rows together."""
    first, held = 0, 0
    for party, size in enumerate(sizes.tolist()):
        if held and held + size > rows:
            yield first, party
            first, held = party, 0
        held += max(size, 1)
    if len(sizes):
        yield first, len(sizes)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Parties:
    """Everybody's rows, sorted by party. Features, because all share the public preprocessing."""

    features: Any
    labels: Indices
    starts: NDArray[np.intp]
    names: list[str]

    def __post_init__(self) -> None:
        n = int(self.features.shape[0])
        _check_labels(self.labels, n)
        if len(self.names) != len(self.starts) - 1 or self.starts[0] != 0 or self.starts[-1] != n:
            shape = (len(self.names), len(self.starts))
            raise ShapeError("names and starts", got=shape, allowed="M names, M+1 starts")

    @classmethod
    def group(
        cls,
        features: Any,
        labels: Indices,
        parties: Any,
        roll: list[str] | None = None,
    ) -> Parties:
        """Sort rows by party.

        Args:
            features: a row for each sample.
            labels: its class index.
            parties: its party's name; any container, in any form that folds to the canonical one.
            roll: the parties, in this order, canonical and distinct. A party without rows is there
                with none; a name that is not on it is refused. None: whoever has rows, by name.

        """
        _check_labels(labels, features.shape[0])
        found = arrange(canonical_each(parties, features.shape[0]), roll)
        return cls(features[found.order], labels[found.order], found.starts, found.names)

    @classmethod
    def rows(cls, features: Any, labels: Indices) -> Parties:
        """Every row as a party of its own, named 0, 1, 2, ..."""
        n = features.shape[0]
        return cls(features, labels, np.arange(n + 1), [str(row) for row in range(n)])

    @classmethod
    def single(cls, features: Any, labels: Indices, name: str) -> Parties:
        """One party, with all the rows; there may be none."""
        return cls(features, labels, np.array([0, features.shape[0]]), [name])

    def __len__(self) -> int:
        return len(self.names)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """How many rows each party has; private where there is a roll."""
        return np.diff(self.starts)

    def each(self, work: Callable[[Any], NDArray[Any]], empty: NDArray[Any]) -> NDArray[Any]:
        """What `work` makes of each party's rows on their own; `empty` if there are no rows.

        Not of all rows at once: a product of matrices may round a row differently when more rows
        stand beside it, and carry one party's number of samples into another's result.
        """
        ends = zip(self.starts[:-1].tolist(), self.starts[1:].tolist())
        with quietly():
            made = [work(self.features[start:end]) for start, end in ends if end > start]
        return _stack(made) if made else empty

    def map(self, work: Callable[[Any], Any]) -> Parties:
        """The same parties with other features, made of each party's rows on their own."""
        # Maybe nobody has rows: a row of zeros then says how many columns there would be.
        empty = self.features[:0] if self.starts[-1] else work(self._row_of_zeros())[:0]
        return Parties(self.each(work, empty), self.labels, self.starts, self.names)

    def part(self, first: int, stop: int) -> Parties:
        """The parties first:stop."""
        start, end = self.starts[first], self.starts[stop]
        starts, names = self.starts[first : stop + 1] - start, self.names[first:stop]
        return Parties(self.features[start:end], self.labels[start:end], starts, names)

    def __iter__(self) -> Iterator[tuple[Any, Indices, int]]:
        """Rows, labels and a number that depends on the party's name alone."""
        for start, end, name in zip(self.starts[:-1], self.starts[1:], self.names):
            yield self.features[start:end], self.labels[start:end], number_of(name)

    def _row_of_zeros(self) -> Any:
        shape = (1, self.features.shape[1])
        return type(self.features)(shape) if is_sparse(self.features) else np.zeros(shape)


def number_of(name: str) -> int:
    """A number that depends only on a party's name: for seeds, and to break ties."""
    return int.from_bytes(hashlib.sha256(repr(name).encode()).digest()[:4], "little")


def _check_labels(labels: Any, n: int) -> None:
    if np.shape(labels) != (n,):
        allowed = f"({n},), one for each sample"
        raise ShapeError("The labels", got=np.shape(labels), allowed=allowed)


def _refuse_strangers(names: list[str], place: dict[str, int]) -> None:
    strangers = sorted({name for name in names if name not in place})
    if strangers:
        others = f" (nor are {len(strangers) - 1} more)" if len(strangers) > 1 else ""
        raise InputError(
            f"Party {strangers[0]} has rows, but is not on the roll{others}.",
            "Put every party on the roll, or leave its rows out.",
        )


def _stack(parts: list[Any]) -> Any:
    if not is_sparse(parts[0]):
        return np.concatenate(parts)
    from scipy.sparse import vstack

    return vstack(parts, format="csr")
