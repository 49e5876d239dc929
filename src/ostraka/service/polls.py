"""The states of a poll, and who sees it.

    draft       uploaded; only admins see it
    open        signed by the service; whoever is asked may contribute, and change it
    closed      the list of what is counted is frozen and signed; nothing may change any more
    released    there is one release
    abandoned   there is none, and there will be none

A poll is its file, so it cannot change: another file is another poll.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Final, final

from sqlalchemy import Connection, Select, and_, exists, func, insert, or_, select, update

from ostraka.errors import AbsentError, InputError, ParameterError, StateError, nothing_spent
from ostraka.exchange.states import STATES
from ostraka.expect.describe import facts as facts_of
from ostraka.poll import Poll
from ostraka.service import audit
from ostraka.service.access import Who
from ostraka.service.service import Service, no_poll
from ostraka.service.storage import contributions, tables
from ostraka.signing import Signature
from ostraka.trustee import check_coordinator

__all__ = [
    "Shown",
    "abandon",
    "add",
    "find",
    "listed",
    "lock",
    "look",
    "open_poll",
    "show",
    "signed",
]

FACTS: Final = (
    "classes",
    "columns",
    "method",
    "epsilon",
    "delta",
    "protects",
    "least_parties",
    "expected",
    "numbers",
    "bytes",
    "evaluates",
    "servers",
)
ENDED: Final = ("released", "abandoned")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What people see of a poll beside its file."""

    digest: str
    title: str
    state: str
    contributions: int
    persons: int | None
    release: str | None
    facts: dict[str, Any]
    trouble: str | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A poll's row."""

    id: int
    digest: str
    state: str
    charge: int | None
    release: str | None


def add(service: Service, by: Who, content: bytes) -> Poll:
    """Take a poll in, as a draft; the same file once more changes nothing."""
    poll = Poll.from_bytes(content)
    _check_collectable(poll)
    if poll.is_sealed:
        check_coordinator(poll, service.key)
    service.blobs.put(content)
    told = facts_of(poll)
    with service.write_as(by) as connection:
        if _row(connection, poll.digest) is not None:
            return poll
        service.check_may_charge(connection)
        added = connection.execute(
            insert(tables.poll).values(
                digest=poll.digest,
                title=poll.title,
                facts=json.dumps({name: told[name] for name in FACTS}),
                has_roll=poll.roll is not None,
                state="draft",
            )
        )
        (id_,) = added.inserted_primary_key or (0,)
        if poll.roll is not None:
            rows = [{"poll": id_, "name": name} for name in poll.roll]
            connection.execute(insert(tables.asked), rows)
        audit.note(connection, by, "drafted a poll", _call(poll))
    return poll


def check_digest(content: bytes, digest: str) -> None:
    """Refuse a file that is not the one whose address it comes to."""
    if hashlib.sha256(content).hexdigest() != digest:
        raise InputError(
            "The file that came is not the poll of this address.", "Send it to its own sha256."
        )


def nothing_sent() -> AbsentError:
    """Of a poll to which somebody has not contributed."""
    return AbsentError("Nothing of yours has arrived for this poll.", "Contribute first.")


def _check_collectable(poll: Poll) -> None:
    if poll.private_auxiliary:
        raise InputError(
            "This poll has private auxiliary samples, which a service would have to see.",
            "Collect it by files: ostraka contribute, then ostraka release --auxiliary.",
        )
    if poll.promise.protects == "row":
        raise InputError(
            "This poll protects single rows, and a service counts parties by name.",
            "Make it with --protects party, or person.",
        )


def open_poll(service: Service, by: Who, digest: str) -> None:
    """Let parties contribute. A poll that no account could pay is not opened."""
    poll = service.poll(digest)
    _check_payable(service, poll)
    signature = Signature.of(service.blobs.get(digest), service.key)
    with service.write_as(by) as connection:
        found = lock(connection, digest)
        if found.state == "open":
            return
        service.check_key(connection)
        service.check_may_charge(connection)
        _move(connection, found, "draft", "open", signature=signature.to_bytes())
        audit.note(connection, by, "opened a poll", _call(poll))


def _check_payable(service: Service, poll: Poll) -> None:
    """Whether somebody who has spent nothing yet could take part."""
    n, of_persons = poll.expected_units, poll.promise.protects == "person"
    certificate = poll.certificate(n, n if of_persons else None)
    with nothing_spent():
        service.ledger().check(["nobody so far"], certificate)


def abandon(service: Service, by: Who, digest: str) -> None:
    """End a poll without a release, and forget what was sent. Too late once it was charged."""
    with service.write_as(by) as connection:
        found = lock(connection, digest)
        if found.state == "abandoned":
            return
        if found.state == "released" or found.charge is not None:
            raise StateError(
                "This poll has been charged, and what it paid for was drawn.",
                "It ends with its release: ostraka close makes it, and costs nothing more.",
            )
        connection.execute(
            update(tables.poll).where(tables.poll.c.id == found.id).values(state="abandoned")
        )
        contributions.erase(connection, found.id)
        audit.note(connection, by, "abandoned a poll", digest)
    service.database.forget("contribution")


def lock(connection: Connection, digest: str) -> Found:
    """The row of a poll, until the end of the transaction for whoever writes here alone."""
    found = _row(connection, digest, lock=True)
    if found is None:
        raise no_poll(digest)
    return found


def look(connection: Connection, digest: str) -> Found:
    """The row of a poll as it is at this moment."""
    found = _row(connection, digest)
    if found is None:
        raise no_poll(digest)
    return found


def find(connection: Connection, digest: str, who: Who) -> Found:
    """The row of a poll that somebody may see."""
    found = _row(connection, digest, who=who)
    if found is None:
        raise no_poll(digest)
    return found


def listed(
    connection: Connection, who: Who, *, state: str | None, after: int, limit: int
) -> list[tuple[int, Shown]]:
    """Polls that somebody may see, newest first, each with the number to go on after."""
    query = _visible(who).order_by(tables.poll.c.id.desc()).limit(limit)
    if state is not None:
        query = query.where(tables.poll.c.state == _check_state(state))
    if after:
        query = query.where(tables.poll.c.id < after)
    return [(row.id, _shown(row)) for row in connection.execute(query)]


def show(connection: Connection, digest: str, who: Who) -> Shown:
    """One poll."""
    row = connection.execute(_visible(who).where(tables.poll.c.digest == digest)).one_or_none()
    if row is None:
        raise no_poll(digest)
    return _shown(row)


def signed(connection: Connection, digest: str, who: Who) -> bytes:
    """The service's signature of an open poll's file."""
    find(connection, digest, who)
    query = select(tables.poll.c.signature).where(tables.poll.c.digest == digest)
    found = connection.execute(query).scalar_one()
    if found is None:
        raise StateError("This poll is a draft, and not signed yet.", "Open it first.")
    return bytes(found)


def _visible(who: Who) -> Select[Any]:
    poll, kept = tables.poll, tables.contribution
    of_poll = kept.c.poll == poll.c.id
    n = select(func.count()).where(of_poll).scalar_subquery().label("n")
    persons = select(func.sum(kept.c.persons)).where(of_poll).scalar_subquery().label("persons")
    query = select(poll, n, persons)
    if who.role == "admin":
        return query
    query = query.where(poll.c.signature.is_not(None))  # was never opened: also once abandoned
    if who.role == "reader":
        return query
    on_roll = exists().where(
        and_(tables.asked.c.poll == poll.c.id, tables.asked.c.name == who.name)
    )
    return query.where(or_(poll.c.has_roll.is_(False), on_roll))


def _row(
    connection: Connection, digest: str, *, who: Who | None = None, lock: bool = False
) -> Found | None:
    poll = tables.poll
    if who is not None:
        visible = _visible(who).where(poll.c.digest == digest)
        if connection.execute(visible).one_or_none() is None:
            return None
    query = select(poll.c.id, poll.c.digest, poll.c.state, poll.c.charge, poll.c.release)
    query = query.where(poll.c.digest == digest)
    row = connection.execute(query.with_for_update() if lock else query).one_or_none()
    return None if row is None else Found(**row._asdict())


def _move(connection: Connection, found: Found, before: str, after: str, **changes: Any) -> None:
    if found.state != before:
        raise StateError(
            f"This poll is {found.state}, not {before}.", "Look at it with ostraka status."
        )
    connection.execute(
        update(tables.poll).where(tables.poll.c.id == found.id).values(state=after, **changes)
    )


def _shown(row: Any) -> Shown:
    return Shown(
        digest=row.digest,
        title=row.title,
        state=row.state,
        contributions=int(row.n),
        persons=None if row.persons is None else int(row.persons),
        release=row.release,
        facts=json.loads(row.facts),
        trouble=row.trouble,
    )


def _check_state(state: str) -> str:
    if state not in STATES:
        raise ParameterError("state", got=state, allowed=f"one of {', '.join(STATES)}")
    return state


def _call(poll: Poll) -> str:
    return f"{poll.digest} {poll.title}".strip()
