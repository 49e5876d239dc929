"""A sealed poll at a service: what its trustee is asked once it is closed, and what it answers.

The request is a function of what was frozen, so it is made anew whenever somebody asks for it. The
answer is kept for good; there is one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import Connection, insert, select

from ostraka.errors import StateError
from ostraka.party.contribution import Contribution
from ostraka.party.names import LONGEST_NAME
from ostraka.poll import Poll
from ostraka.service import audit, polls
from ostraka.service.access import Who
from ostraka.service.service import Service
from ostraka.service.storage import contributions, tables
from ostraka.trustee import Answer, Asking, Request
from ostraka.trustee.request import servers_of

__all__ = ["WaitingError", "find", "largest", "request", "take_answer"]

HEADER: Final = 2**20


class WaitingError(StateError):
    """A closed poll whose trustee has not answered yet: nothing is wrong with it."""


def request(service: Service, digest: str, who: Who) -> bytes:
    """What the trustee of a closed poll is asked."""
    poll = service.poll(digest)
    servers_of(poll)
    with service.database.read() as connection:
        found = polls.find(connection, digest, who)
        if found.state != "closed":
            raise StateError(
                f"This poll is {found.state}, and a trustee is asked of one that is closed.",
                "Close it first." if found.state == "open" else "There is nothing to ask.",
            )
        return _ask(service, connection, found.id, poll).to_bytes()


def largest(service: Service, digest: str) -> int:
    """How many bytes an answer can have."""
    poll = service.poll(digest)
    servers_of(poll)
    with service.database.read() as connection:
        found = polls.look(connection, digest)
        n_parties, _ = contributions.count(connection, found.id)
    return HEADER + 8 * poll.domain.dimension + 14 * LONGEST_NAME * n_parties


def take_answer(service: Service, by: Who, digest: str, content: bytes) -> None:
    """Keep the trustee's answer; the same one once more changes nothing."""
    poll, answer = service.poll(digest), Answer.from_bytes(content)
    with service.write_as(by) as connection:
        found = polls.lock(connection, digest)
        kept = _kept(connection, found.id)
        if kept == content:
            return
        if kept is not None or found.state != "closed":
            raise StateError(
                f"This poll is {'answered' if kept is not None else found.state} already."
                if kept is not None or found.state != "open"
                else "This poll is open, and a trustee answers of one that is closed.",
                "A poll has one answer.",
            )
        asked = _ask(service, connection, found.id, poll)
        answer.check(poll, asked)
        contributions.leave_unread(connection, found.id, answer.left_out)
        connection.execute(insert(tables.answer).values(poll=found.id, content=content))
        audit.note(connection, by, "handed in a trustee's answer", digest)
        audit.note_names(
            connection, by, f"left out of {digest[:12]}... by the trustee", list(answer.left_out)
        )


def find(
    service: Service, connection: Connection, poll_id: int, poll: Poll
) -> tuple[Request, Answer]:
    """What was asked and answered, or an error that says that the poll waits for it."""
    content = _kept(connection, poll_id)
    if content is None:
        raise WaitingError(
            f"This poll waits for the answer of its trustee, {servers_of(poll).trustee}.",
            "ostraka close ADDRESS --request FILE writes what it is asked; with --answer FILE it "
            "goes on.",
        )
    return _ask(service, connection, poll_id, poll), Answer.from_bytes(content)


def _ask(service: Service, connection: Connection, poll_id: int, poll: Poll) -> Request:
    asking = Asking(poll, service.key)
    for given in _contributions(connection, poll_id):
        asking.add(given)
    return asking.request()


def _contributions(connection: Connection, poll_id: int) -> Iterator[Contribution]:
    for _, _, _, content in contributions.stream(connection, poll_id):
        yield Contribution.from_bytes(content)


def _kept(connection: Connection, poll_id: int) -> bytes | None:
    query = select(tables.answer.c.content).where(tables.answer.c.poll == poll_id)
    found: Any = connection.execute(query).scalar_one_or_none()
    return None if found is None else bytes(found)
