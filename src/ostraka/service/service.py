"""What every part of a service works with: its database, its files and its key."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, final

from sqlalchemy import Connection, select

from ostraka.errors import AbsentError, ServiceError, StateError
from ostraka.exchange.states import check_takes_in
from ostraka.ledger import Ledger
from ostraka.poll import Poll
from ostraka.service import access
from ostraka.service.access import Who
from ostraka.service.storage import tables
from ostraka.service.storage.blobs import Blobs
from ostraka.service.storage.database import Database, take_turns
from ostraka.service.storage.ledger import Accounts
from ostraka.signing import SecretKey
from ostraka.tally import Tally

__all__ = ["Service"]

POLLS_IN_MEMORY: Final = 16


@final
@dataclass(slots=True)
class Service:
    """One process of a service. Many may work on the same database and files."""

    database: Database
    blobs: Blobs
    key: SecretKey = field(repr=False)
    _polls: OrderedDict[str, Tally] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _reading: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def poll(self, digest: str) -> Poll:
        """A poll that the service has."""
        poll = self.empty_tally(digest).poll
        assert isinstance(poll, Poll)
        return poll

    def empty_tally(self, digest: str) -> Tally:
        """One to check contributions with; polls never change, so the last few are kept."""
        found = self._kept(digest)
        if found is not None:
            return found
        with self._reading:  # once, however many ask for a new poll at the same moment
            return self._kept(digest) or self._read(digest)

    def _kept(self, digest: str) -> Tally | None:
        with self._lock:
            if digest in self._polls:
                self._polls.move_to_end(digest)
            return self._polls.get(digest)

    def _read(self, digest: str) -> Tally:
        with self.database.read() as connection:
            known = connection.execute(
                select(tables.poll.c.id).where(tables.poll.c.digest == digest)
            ).scalar_one_or_none()
        if known is None:
            raise no_poll(digest)
        read = Tally(Poll.from_bytes(self.blobs.get(digest)))
        with self._lock:
            self._polls[digest] = read
            while len(self._polls) > POLLS_IN_MEMORY:
                self._polls.popitem(last=False)
        return read

    @contextlib.contextmanager
    def write_as(self, who: Who) -> Iterator[Connection]:
        """A transaction for somebody who may still do what they asked for when it begins.

        Between a request's first line and its last one, whoever sent it may have been revoked.
        Whoever lets people in, or takes that back, has a turn of their own.
        """
        with self.database.write() as connection:
            take_turns(connection)
            access.still(connection, who)
            yield connection

    def check_may_take(self, connection: Connection) -> None:
        """Refuse what the service could not confirm, or never count."""
        self.check_key(connection)
        check_takes_in(is_archive=self.is_archive(connection))

    def check_may_invite(self, connection: Connection) -> None:
        """Refuse to invite parties to where they could do nothing."""
        if self.is_archive(connection):
            raise StateError(
                "This service was restored from a backup as an archive, which takes nothing in: "
                "parties could do nothing here.",
                "Invite them where the polls go on. Readers and admins can be invited (--role). "
                "Nobody was invited.",
            )

    def is_archive(self, connection: Connection) -> bool:
        """Whether it was restored from a backup since which polls may have been closed."""
        return bool(connection.execute(select(tables.service.c.is_archive)).scalar_one())

    def check_key(self, connection: Connection) -> None:
        """Refuse to sign with a key that is not the service's any more."""
        known = connection.execute(select(tables.service.c.public_key)).scalar_one()
        if bytes(known) != self.key.public.raw:
            raise ServiceError(
                self.database.place,
                "is being given another key",
                "Try again in a few minutes.",
                operator="The service has another key than this process: stop it, and start it "
                "with the new one.",
            )

    def check_may_charge(self, connection: Connection) -> None:
        """Refuse what leads to a charge, if earlier ones may have been forgotten."""
        if self.is_archive(connection):
            raise StateError(
                "This service was restored from a backup as an archive: what was closed since "
                "the backup was made is not in its accounts, so it opens and closes nothing.",
                "If nothing was closed since, restore it with --nothing-closed-since.",
            )

    def ledger(self, poll: int | None = None) -> Ledger:
        """The accounts of all parties; with the id of a poll, to charge for it."""
        return Ledger(Accounts(self.database, poll))


def no_poll(digest: str) -> AbsentError:
    """There is none, or none that may be seen."""
    return AbsentError(
        f"There is no poll {digest[:12]}... here, or none that is open and asks you.",
        "Compare the address with the one that you were given, or ask the coordinator; ostraka "
        "status lists what there is for you.",
    )
