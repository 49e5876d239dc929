"""What a coordinator does of a sealed poll: before it asks the trustee, and with the answer.

    Asking    looks through everything that came, and makes the request
    Joining   adds up its own half of the very parties that the trustee has counted, and then the
              answer: what comes of it is published like any tally

Both take contributions one by one, so memory does not grow with them.
"""

from __future__ import annotations

from typing import final

from ostraka.errors import InputError, KeyMismatchError, StateError
from ostraka.party.contribution import Contribution
from ostraka.party.sealed import open_share
from ostraka.poll import Poll
from ostraka.sealing import Opener
from ostraka.signing import SecretKey
from ostraka.tally import Tally
from ostraka.trustee.answer import Answer
from ostraka.trustee.request import Entry, Request, servers_of

__all__ = ["Asking", "Joining", "check_coordinator"]


@final
class Asking:
    """Everybody whose half opens here."""

    def __init__(self, poll: Poll, secret: SecretKey) -> None:
        self._poll, self._secret = poll, secret
        self._opener, self._empty = check_coordinator(poll, secret), Tally(poll)
        self._entries: dict[str, Entry] = {}

    @property
    def names(self) -> list[str]:
        """Who is in."""
        return list(self._entries)

    @property
    def missing(self) -> list[str]:
        """Who is on the roll and has not come."""
        return [name for name in self._poll.roll or () if name not in self._entries]

    def add(self, given: Contribution) -> None:
        """Take a party in, or refuse it."""
        self._empty.check(given)
        if given.party in self._entries:
            raise InputError(f"Party {given.party} is in already.", "A party contributes once.")
        open_share(given, self._opener, self._poll.domain.dimension)
        self._entries[given.party] = Entry.of(given)

    def request(self) -> Request:
        """The request for all of them; too few are refused."""
        entries = list(self._entries.values())
        n_units = sum(1 if each.persons is None else each.persons for each in entries)
        self._poll.promise.check_units(n_units)
        return Request.sign(self._poll, entries, self._secret)


@final
class Joining:
    """Both halves of the same parties."""

    def __init__(self, poll: Poll, request: Request, answer: Answer, secret: SecretKey) -> None:
        self._opener, self._answer = check_coordinator(poll, secret), answer
        if request.poll.digest != poll.digest:
            raise InputError("This request is for another poll.", "Give the one that was answered.")
        answer.check(poll, request)
        left_out = set(answer.left_out)
        self._left_out, self._tally, self._poll = left_out, Tally(poll), poll
        entries = (each for each in request.entries if each.party not in left_out)
        self._expected = {each.party: each for each in entries}

    @property
    def left_out(self) -> frozenset[str]:
        """Whose half the trustee could not open."""
        return frozenset(self._left_out)

    @property
    def names(self) -> list[str]:
        """Who was counted by now."""
        return self._tally.names

    @property
    def missing(self) -> list[str]:
        """Who is on the roll and was not counted."""
        return self._tally.missing

    def add(self, given: Contribution) -> None:
        """Count a party that the trustee has counted; others are refused."""
        if given.party in self._left_out:
            raise InputError(
                f"What party {given.party} has sealed to the trustee does not open: it was left "
                "out on both sides.",
                "It can take part in the next poll.",
            )
        asked = self._expected.get(given.party)
        if asked is None or not given.is_sealed or Entry.of(given) != asked:
            raise InputError(
                f"This contribution of party {given.party} was not in the request to the trustee.",
                "The request is frozen: what came later, or was changed, does not count.",
            )
        share = open_share(given, self._opener, self._poll.domain.dimension)
        self._tally.add_share(given.party, share, given.n_persons)
        del self._expected[given.party]

    def tally(self) -> Tally:
        """The tally that is published; refused while somebody's half is missing."""
        if self._expected:
            first, more = sorted(self._expected)[0], len(self._expected) - 1
            others = f" and {more} more" if more else ""
            raise StateError(
                f"The trustee has counted party {first}, and what {first}{others} sent is not here "
                "as it was when the request was made.",
                "Put it back: both halves must be of the same parties.",
            )
        shares = self._tally.shares
        assert shares is not None
        shares.complete(self._answer.share)
        return self._tally


def check_coordinator(poll: Poll, secret: SecretKey) -> Opener:
    """What opens the coordinator's half; another key than the coordinator's is refused."""
    card, opener = servers_of(poll).coordinator, Opener.of(secret)
    if (secret.public, opener.public) != (card.key, card.sealing):
        raise KeyMismatchError(str(secret.public), str(card))
    return opener
