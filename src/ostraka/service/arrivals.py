"""Contributions as they arrive: parsed, audited, and written many at once.

    reading     a route takes the bytes, no more than the poll can need, and waits
    checking    signature, poll, party, ball: the same checks as `Tally.add`, outside of any
                transaction
    writing     one thread writes what has arrived together in one transaction
    answering   after the commit: what was acknowledged is on the disk

Guarantee: an acknowledged contribution is in the database, of an open poll, signed by its party; a
poll that is being closed waits for the transaction that is writing, and none begins after it. A
request that is repeated has the same answer. Nobody's contribution takes another's place.

Why one thread: one commit per request costs a write to the disk each; requests that wait for the
same commit share it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, final

from sqlalchemy import select

from ostraka.errors import InputError, StateError
from ostraka.exchange import Receipt, Upload
from ostraka.exchange.states import check_open
from ostraka.exchange.upload import HEADER as UPLOAD_HEADER
from ostraka.expect.describe import most_bytes
from ostraka.party.contribution import Contribution
from ostraka.party.sealed import open_share
from ostraka.poll import Poll
from ostraka.sealing import Opener
from ostraka.service import access
from ostraka.service.access import Who
from ostraka.service.service import Service
from ostraka.service.storage import contributions, tables
from ostraka.service.storage.contributions import Row
from ostraka.signing import SecretKey
from ostraka.tally import Tally

__all__ = ["Arrival", "Writer", "largest", "read_contribution"]

MOST_TOGETHER: Final = 256
Answer: TypeAlias = Receipt | Exception


@final
@dataclass(slots=True, kw_only=True)
class Arrival:
    """A request that waits for its answer, which is given from another thread."""

    token: bytes
    poll: str
    body: bytes = field(repr=False)
    answer: Callable[[Answer], None] = field(repr=False)


@final
@dataclass(frozen=True, slots=True)
class _Checked:
    arrival: Arrival
    who: Who
    upload: Upload
    commitment: bytes
    persons: int | None


def largest(poll: Poll) -> int:
    """How many bytes an upload to a poll can have."""
    return UPLOAD_HEADER.size + most_bytes(poll)


def read_contribution(empty: Tally, party: str, content: bytes, secret: SecretKey) -> Contribution:
    """A party's contribution to the poll of an empty tally, or the error that `add` has for it.

    Of a sealed one, the service's half must open.
    """
    given = Contribution.from_bytes(content)
    if given.party != party:
        raise InputError(
            f"This contribution is of party {given.party}, and you are {party}.",
            f"Contribute under your own name: --party {party}.",
        )
    empty.check(given)
    if given.is_sealed:
        open_share(given, Opener.of(secret), empty.poll.domain.dimension)
    return given


@final
class Writer:
    """Checks and writes arrivals, in a thread of its own, until it is closed."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._waiting: queue.SimpleQueue[Arrival | None] = queue.SimpleQueue()
        self._put_off: list[Arrival] = []
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self.n_commits = 0
        self.n_written = 0

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Write what has arrived, then end."""
        self._waiting.put(None)
        self._thread.join()

    def add(self, arrival: Arrival) -> None:
        """Take an arrival; its answer comes later."""
        self._waiting.put(arrival)

    def _work(self) -> None:
        going = True
        while going or self._put_off:
            together, going = self._take(going)
            if together:
                self._settle(together)

    def _take(self, going: bool) -> tuple[list[Arrival], bool]:
        """What has arrived by now; waits if that is nothing."""
        together, self._put_off = self._put_off, []
        while going and len(together) < MOST_TOGETHER:
            try:
                arrival = self._waiting.get(block=not together)
            except queue.Empty:
                break
            if arrival is None:
                return together, False
            together.append(arrival)
        return together, going

    def _settle(self, together: list[Arrival]) -> None:
        waiting = together
        try:  # whatever goes wrong, nobody waits for ever
            checked = self._check(together)
            waiting = [each.arrival for each in checked]
            if checked:
                self._write(checked)
        except Exception as error:
            for arrival in waiting:
                arrival.answer(error)

    def _check(self, together: list[Arrival]) -> list[_Checked]:
        with self._service.database.read() as connection:
            known = access.find(connection, {arrival.token for arrival in together})
        checked: list[_Checked] = []
        taken: set[tuple[str, str]] = set()
        for arrival in together:
            who = known.get(arrival.token)
            try:
                if who is None:
                    raise access.unknown_token()
                if (arrival.poll, who.name) in taken:
                    self._put_off.append(arrival)  # one after the other
                    continue
                checked.append(_check_one(self._service, arrival, who))
                taken.add((arrival.poll, who.name))
            except Exception as error:
                arrival.answer(error)
        return checked

    def _write(self, checked: list[_Checked]) -> None:
        with self._service.database.write() as connection:
            self._service.check_may_take(connection)
            now = access.find(connection, {each.arrival.token for each in checked})
            digests = {each.arrival.poll for each in checked}
            poll = tables.poll
            states = {
                row.digest: row
                for row in connection.execute(
                    select(poll.c.id, poll.c.digest, poll.c.state)
                    .where(poll.c.digest.in_(digests))
                    .with_for_update(read=True)
                )
            }
            rows = {
                index: _row(each, states[each.arrival.poll].id)
                for index, each in enumerate(checked)
                if each.arrival.poll in states
                and states[each.arrival.poll].state == "open"
                and now.get(each.arrival.token) == each.who
            }
            there = contributions.put(connection, list(rows.values())) if rows else set()
        self.n_commits += 1
        self.n_written += len(there)
        for index, each in enumerate(checked):
            row = rows.get(index)
            if now.get(each.arrival.token) != each.who:  # revoked, or with another key, meanwhile
                each.arrival.answer(access.unknown_token())
            elif row is None:
                each.arrival.answer(_late(states.get(each.arrival.poll)))
            elif (row.poll, row.party) not in there:
                each.arrival.answer(_OUTDATED)
            else:
                each.arrival.answer(_receipt(self._service, each))


_OUTDATED: Final = StateError(
    "A later contribution of yours has arrived before.",
    "Look at it with ostraka status; to change it, contribute again.",
)


def _late(poll: Any) -> StateError:
    """The poll was not open when its turn came."""
    try:
        check_open("gone" if poll is None else poll.state)
    except StateError as error:
        return error
    raise AssertionError("it was open")


def _check_one(service: Service, arrival: Arrival, who: Who) -> _Checked:
    who.check("party")
    if who.key is None or who.party is None:
        raise access.unknown_token()
    upload = Upload.from_bytes(arrival.body)
    commitment = upload.commitment
    upload.check(who.key, commitment)
    empty = service.empty_tally(arrival.poll)
    given = read_contribution(empty, who.name, upload.contribution, service.key)
    return _Checked(arrival, who, upload, commitment, given.n_persons)


def _row(checked: _Checked, poll: int) -> Row:
    upload = checked.upload
    return Row(
        poll=poll,
        party=checked.who.party or 0,
        generation=checked.who.generation,
        revision=upload.revision,
        commitment=checked.commitment,
        persons=checked.persons,
        salt=upload.salt,
        signature=upload.signature,
        content=upload.contribution,
    )


def _receipt(service: Service, checked: _Checked) -> Receipt:
    return Receipt.sign(
        service.key,
        poll=checked.arrival.poll,
        party=checked.who.name,
        revision=checked.upload.revision,
        commitment=checked.commitment,
    )
