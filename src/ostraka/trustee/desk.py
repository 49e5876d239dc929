"""What a trustee does: it opens its half of every contribution, and answers once for each poll.

    step       what                                         after a crash before it is on the disk
    open       each envelope; who does not open is left     nothing has happened
               out on both sides
    check      numbers and budgets                          nothing has happened
    freeze     the digest of the request, for this poll     nothing has happened
    charge     the ledger charges, and the shares' sum      the same request goes on here; no other
               with noise is kept, in one transaction       one is answered
    answer     signed and kept                              it is made of what was kept
    show       the answer                                   it is shown again, the same one

Guarantee (desk.proof.md): for each poll there is one set of parties and one draw of noise, whatever
is asked, how often, and whatever crashes. What is shown has all the noise that the poll promises.

    file          in the trustee's folder
    trustee.key   the secret key; without it, polls that wait for this trustee are lost, safely. It
                  is of use with the rest of this very folder alone: whoever has a key and has
                  forgotten what was answered could answer twice
    trustee.card  for coordinators
    ledger.db     accounts of its own
    answers.db    what was asked and answered
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from ostraka.errors import (
    InputError,
    LedgerError,
    ParameterError,
    RehearsalError,
    SealError,
    StateError,
    nothing_spent,
)
from ostraka.ledger import Budget, Charge, Ledger
from ostraka.mechanism import Entropy
from ostraka.party.sealed import open_seed
from ostraka.poll import Poll
from ostraka.release.certificate import FROM_THE_SYSTEM, Certificate
from ostraka.sealing import Card, Opener
from ostraka.sealing.shares import Share
from ostraka.signing import SecretKey
from ostraka.tally import Tally
from ostraka.trustee.answer import Answer
from ostraka.trustee.memory import Memory
from ostraka.trustee.request import Request, servers_of

__all__ = ["Desk", "Opened"]

KEY, CARD, LEDGER, MEMORY = "trustee.key", "trustee.card", "ledger.db", "answers.db"
Watch = Callable[[Iterable[Any], int], Iterable[Any]]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A request whose envelopes were opened."""

    tally: Tally
    left_out: tuple[str, ...]
    certificate: Certificate


@final
@dataclass(frozen=True, slots=True)
class Desk:
    """A trustee's folder. `Desk.create` makes one, `Desk.at` opens one."""

    folder: Path
    secret: SecretKey
    card: Card
    ledger: Ledger
    memory: Memory

    @classmethod
    def create(cls, folder: Path, name: str, budget: Budget, protects: str = "party") -> Self:
        """A new trustee, with a key, a card and a ledger of its own."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            allowed = "a folder that is not there yet, or empty: nothing in it is replaced"
            raise ParameterError("folder", got=str(folder), allowed=allowed)
        folder.chmod(0o700)  # also one that was there, and empty
        secret = SecretKey.create()
        card = Card.of(name, secret)
        Ledger.create(folder / LEDGER, budget, protects)
        Memory.create(folder / MEMORY, secret.public)
        card.save(folder / CARD)
        secret.save(folder / KEY)
        return cls.at(folder)

    @classmethod
    def at(cls, folder: Path) -> Self:
        """The trustee whose folder this is."""
        if not (folder / KEY).is_file():
            raise InputError(
                f"There is no trustee in {folder}.",
                "Name its folder by --at, or make one: ostraka trustee init FOLDER --name NAME.",
            )
        secret, card = SecretKey.load(folder / KEY), Card.load(folder / CARD)
        if card.key != secret.public:
            raise InputError(
                f"The card in {folder} is not that of its key.", "Put back the one that was there."
            )
        memory = Memory(folder / MEMORY, secret.public)
        made = cls(folder, secret, card, Ledger(folder / LEDGER), memory)
        made._check_accounts()
        return made

    def open(self, request: Request, watch: Watch | None = None) -> Opened:
        """Open everybody's envelope, and check what can be checked before anything is drawn."""
        poll = request.poll
        self._check_mine(poll)
        opener, tally, left_out = Opener.of(self.secret), Tally(poll), []
        entries = request.entries if watch is None else watch(request.entries, len(request.entries))
        for entry in entries:
            try:
                share = open_seed(
                    entry.envelope,
                    opener,
                    poll.domain.dimension,
                    poll=poll.digest,
                    party=entry.party,
                    persons=entry.persons,
                )
            except SealError:
                left_out.append(entry.party)
                continue
            tally.add_share(entry.party, share, entry.persons)
        with nothing_spent():
            poll.promise.check_units(tally.n_units)
            certificate = poll.certificate(tally.n_parties, tally.n_units)
        if certificate.randomness != FROM_THE_SYSTEM:
            raise RehearsalError
        return Opened(tally=tally, left_out=tuple(left_out), certificate=certificate)

    def answer(self, request: Request, opened: Opened | None = None) -> Answer:
        """The answer to a request: the same one, however often it is asked for.

        `opened`: of this very request, if it was opened already.
        """
        poll, digest = request.poll, request.digest
        self._check_mine(poll)
        self._check_unasked(poll, digest)
        opened = opened or self.open(request)
        if not self.memory.knows(poll.digest):
            self.price(opened)
        with self.memory.turn(poll.digest, digest) as kept:
            if kept.frozen != digest:
                raise _answered(poll)
            if kept.answer is None:
                kept.keep(self._make(request, opened).to_bytes())
            assert kept.answer is not None
            return Answer.from_bytes(kept.answer)

    def price(self, opened: Opened) -> None:
        """Refuse what `answer` would refuse to charge; nobody is charged."""
        self.ledger.check(opened.tally.names, opened.certificate)

    def _make(self, request: Request, opened: Opened) -> Answer:
        """The answer of what was drawn for this request, now or before a crash."""
        charge = self._charged(request.poll, request.digest)
        drawn = None if charge is None else self.ledger.drawn(charge)
        if charge is None or drawn is None:
            note = _note(request.poll.digest, request.digest)
            charge, drawn = self._charge(request.poll, opened, note)
        share = np.array(drawn, dtype=np.uint64)
        answer = Answer.sign(request, opened.left_out, share, self.secret)
        if charge.is_open:
            self.ledger.settle(charge, _Answered(answer.digest, opened.certificate))
        return answer

    def _charge(self, poll: Poll, opened: Opened, note: str) -> tuple[Charge, list[int]]:
        mechanism, tally = poll.mechanism(opened.tally.n_units), opened.tally
        assert tally.shares is not None
        shares, drawn = tally.shares.total, list[Share]()

        def draw() -> list[int]:
            drawn.append(mechanism.hide(shares, Entropy()))
            return [int(number) for number in drawn[-1]]

        charge = self.ledger.charge(tally.names, opened.certificate, note, draw=draw)
        return charge, [int(number) for number in drawn[-1]]

    def _check_mine(self, poll: Poll) -> None:
        named = servers_of(poll).trustee
        if (named.key, named.sealing) != (self.card.key, self.card.sealing):
            raise InputError(
                f"This poll names another trustee: {named}.",
                f"You are {self.card}. Nothing was opened.",
            )

    def _check_unasked(self, poll: Poll, digest: str) -> None:
        if self.memory.frozen(poll.digest) not in (None, digest):
            raise _answered(poll)
        self._charged(poll, digest)

    def _charged(self, poll: Poll, request: str) -> Charge | None:
        """The charge for a request, if there is one; refuses a poll that has one for another.

        So a trustee whose memory is an older one does not answer twice all the same.
        """
        before = [one for one in self.ledger.history() if one.note.startswith(_note(poll.digest))]
        if any(one.note != _note(poll.digest, request) for one in before):
            raise _answered(poll)
        return before[-1] if before else None

    def _check_accounts(self) -> None:
        """Refuse accounts that have forgotten what was answered."""
        notes = {one.note.partition(", ")[0] for one in self.ledger.history()}
        forgotten = [poll for poll in self.memory.answered() if f"poll {poll}" not in notes]
        if forgotten:
            raise LedgerError(
                str(self.folder / LEDGER),
                f"has forgotten the charge for the poll {forgotten[0][:12]}..., which was answered",
                "Put back the one that belongs to this folder.",
            )


@final
@dataclass(frozen=True, slots=True)
class _Answered:
    """What a charge was made for, as a ledger records it."""

    digest: str
    certificate: Certificate


def _note(poll: str, request: str = "") -> str:
    return f"poll {poll}, request {request}"


def _answered(poll: Poll) -> StateError:
    return StateError(
        f"The poll {poll.digest[:12]}... was frozen for another request. A trustee answers once "
        "for each poll, and never for another set of parties.",
        "Send the first request again. If it is lost, make another poll.",
    )
