"""The exact sum of contributions to one poll, each party once.

Guarantee: sums are exact whole numbers, so order, blocks and workers leave no trace. A contribution
is refused by name and changes nothing if it does not belong to this poll, or comes from somebody
who was not asked or was already counted. Where persons are protected, a holder's contribution is
the sum of its persons', and their number is added up too.

Where two servers add up what neither of them can read, each has a tally of its own shares. The
coordinator's is complete when the trustee's noisy sum, of the very same parties, was added to it.

The total is private until noise has been added: this is the coordinator's own sheet, not something
to publish.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, final

from ostraka.errors import (
    InputError,
    NotOnRollError,
    OtherPollError,
    ParameterError,
    WrongTypeError,
    count,
)
from ostraka.party.contribution import Contribution, Kind
from ostraka.party.names import canonical, distinct
from ostraka.party.sealed import sealed_bytes
from ostraka.public.promise import MOST_PARTIES, Promise
from ostraka.sealing.shares import Share
from ostraka.tally.domain import Ball, BallotSum, BallSum, Domain, Units
from ostraka.tally.share_sum import ShareSum

__all__ = ["Tally"]


class Asked(Protocol):
    """What a tally needs to know about a poll."""

    @property
    def digest(self) -> str: ...
    @property
    def domain(self) -> Domain: ...
    @property
    def roll(self) -> tuple[str, ...] | None: ...
    @property
    def promise(self) -> Promise: ...


@final
class Tally:
    """Adds contributions up. `Tally(poll)` is empty.

    `rehearsal`: of a sealed poll, in the clear, where nothing can be released of it.
    """

    __slots__ = ("_n_units", "_names", "_roll", "_sum", "poll")

    def __init__(self, poll: Asked, *, rehearsal: bool = False) -> None:
        if not hasattr(poll, "domain") or not hasattr(poll, "promise"):
            raise WrongTypeError("The poll", poll, "a Poll: Poll.create(...) or Poll.load(path)")
        self.poll = poll
        in_clear = poll.promise.servers is None or rehearsal
        self._sum: BallSum | BallotSum | ShareSum = (
            poll.domain.new_sum() if in_clear else ShareSum(poll.domain.dimension)
        )
        self._names: dict[str, None] = {}
        self._roll = None if poll.roll is None else frozenset(poll.roll)
        self._n_units = 0

    @property
    def names(self) -> list[str]:
        """Who was counted, in the order of arrival."""
        return list(self._names)

    @property
    def n_parties(self) -> int:
        """How many contributed."""
        return len(self._names)

    @property
    def n_units(self) -> int:
        """M, how many units are protected: the parties, or all of their persons."""
        return self._n_units

    @property
    def total(self) -> Units:
        """The sum: a vector for a ball, counts (N, K) for ballots."""
        return self._clear.total

    @property
    def shares(self) -> ShareSum | None:
        """Where a server adds up its shares; None where everything is in the clear."""
        return self._sum if isinstance(self._sum, ShareSum) else None

    @property
    def missing(self) -> list[str]:
        """Who is on the roll and has not been counted yet."""
        return [name for name in self.poll.roll or () if name not in self._names]

    def add(self, contribution: Contribution) -> None:
        """Count one party's contribution, or refuse it."""
        names = self._check(contribution)
        if contribution.n_persons is None:
            self._clear.add_rows(contribution.values[None], names)
            self._note(names, 1)
        else:
            self._check_room(contribution.n_persons)
            self._clear.add_sum(contribution.values, contribution.n_persons)
            self._note(names, contribution.n_persons)

    def add_share(self, party: str, share: Share, n_persons: int | None) -> None:
        """Count one server's share of a party's contribution. What is in it nobody can check."""
        if self.shares is None:
            raise InputError("This poll is not sealed.", "Add contributions as they are: `add`.")
        names = self._find_domain([canonical(party)])
        n_units = 1 if n_persons is None else count("n_persons", n_persons, 0, MOST_PARTIES)
        self._check_room(n_units)
        self.shares.add(share)
        self._note(names, n_units)

    def check(self, contribution: Contribution) -> None:
        """Refuse what `add` would refuse, and count nothing."""
        names, domain = self._check(contribution), self.poll.domain
        if contribution.is_sealed:
            return
        if contribution.n_persons is None:
            domain.check_rows(contribution.values[None], names)
        else:
            domain.check_sum(contribution.values, contribution.n_persons)

    @property
    def _clear(self) -> BallSum | BallotSum:
        if isinstance(self._sum, ShareSum):
            raise InputError(
                "This poll is sealed: no server has what parties send in the clear.",
                "Open each contribution with the server's key, and add its share.",
            )
        return self._sum

    def _check(self, contribution: Contribution) -> list[str]:
        if not isinstance(contribution, Contribution):
            raise WrongTypeError(
                "The contribution",
                contribution,
                "a Contribution; for bytes, Contribution.from_bytes",
            )
        if contribution.poll != self.poll.digest:
            raise OtherPollError(contribution.party, contribution.poll, self.poll.digest)
        self._check_kind(contribution)
        return self._find_domain([contribution.party])

    def add_block(self, names: Sequence[Any], block: Any) -> None:
        """Count many parties that were computed together, or none of them.

        `values`: vectors as rows, or the counts (N, K) of their ballots.
        """
        self._check_unit("party", "row")
        forms = self._find_domain(distinct([canonical(name) for name in names]))
        self._check_room(len(forms))
        if isinstance(self.poll.domain, Ball):
            self._clear.add_rows(block, forms)
        else:
            self._clear.add_sum(block, len(forms))
        self._note(forms, len(forms))

    def add_sum(self, holder: Any, total: Any, n_persons: int) -> None:
        """Count a holder's persons, whose vectors (or ballots) sum to `total`."""
        self._check_unit("person")
        n = count("n_persons", n_persons, 0, MOST_PARTIES)
        names = self._find_domain([canonical(holder)])
        self._check_room(n)
        self._clear.add_sum(total, n)
        self._note(names, n)

    def _find_domain(self, names: list[str]) -> list[str]:
        """Refuse strangers and parties that were already counted."""
        for name in names:
            if self._roll is not None and name not in self._roll:
                raise NotOnRollError(name)
            if name in self._names:
                raise InputError(f"Party {name} was counted already.", "A party contributes once.")
        return names

    def _check_kind(self, given: Contribution) -> None:
        if given.kind is Kind.CLASSIFIER:
            raise InputError(
                f"Party {given.party} sent a classifier, which has not voted yet.",
                "Let it vote first: `Poll.open(contribution)`, with the auxiliary set.",
            )
        if given.is_sealed is not (self.shares is not None):
            sent = "a sealed contribution" if given.is_sealed else "a contribution in the clear"
            raise InputError(
                f"Party {given.party} sent {sent}, which this poll does not ask for.",
                "Contribute to this poll again.",
            )
        of_persons = given.n_persons is not None
        if of_persons is not (self.poll.promise.protects == "person"):
            raise InputError(
                f"Party {given.party} sent "
                f"{'a sum over persons' if of_persons else 'its own vector'}, "
                f"but this poll protects one {self.poll.promise.protects}.",
                "Contribute to this poll again.",
            )
        if given.is_sealed:
            fits = given.values.size == sealed_bytes(self.poll.domain.dimension)
        else:
            fits = given.of_votes is not isinstance(self.poll.domain, Ball)
        if not fits:
            raise InputError(
                f"Party {given.party} did not send {self.poll.domain}.",
                "Contribute to this poll again.",
            )

    def _check_unit(self, *units: str) -> None:
        if self.poll.promise.protects not in units:
            allowed = f"another way to add: the poll protects one {self.poll.promise.protects}"
            raise ParameterError("tally", got="this kind of sum", allowed=allowed)

    def _check_room(self, more: int) -> None:
        if self._n_units + more > MOST_PARTIES:
            raise ParameterError(
                "parties", got=self._n_units + more, allowed=f"up to {MOST_PARTIES}"
            )

    def _note(self, names: list[str], n_units: int) -> None:
        self._names.update(dict.fromkeys(names))
        self._n_units += n_units

    def __repr__(self) -> str:
        return f"Tally(n_parties={self.n_parties}, n_units={self.n_units})"
