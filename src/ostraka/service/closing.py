"""From an open poll to its release: once, whatever crashes, and whoever asks at the same time.

    step       what                                             after a crash before its commit
    freeze     check numbers and budgets; sign the list;        the poll is open
               closed
    answer     of a sealed poll: the trustee's, which is      it waits for the answer
               checked and kept
    charge     the library's `publish`: charge and draw, in     it is closed and uncharged: the next
               one transaction that takes the poll's place      who asks goes on here
               for a charge
    make       model and certificate, of what was drawn;        `resume` makes them of what was
               kept as a file, and written down                 drawn; nothing is drawn again
    settle     the ledger records the release                   the same
    publish    sign; released; contributions are erased         the file is signed and published

Guarantee: a poll has at most one charge, since a charge takes its place (`storage/ledger.py`), in
the state that only `freeze` makes. What is published is the file that was written down for the
release that the ledger has recorded, and that is one. All of it is for the contributions on the
signed list: each is checked against its commitment when it is added up.

Nothing about the making is shown but that it is over: no times, no sizes, no residuals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any

from sqlalchemy import Connection, and_, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite

from ostraka.errors import AbsentError, FormatError, StateError, nothing_spent
from ostraka.exchange import Manifest, commit
from ostraka.party.contribution import Contribution
from ostraka.party.names import canonical_list
from ostraka.poll import Poll
from ostraka.publishing import Stopped, publish, resume, stated
from ostraka.release import Release
from ostraka.service import audit, polls, sealed
from ostraka.service.access import Who
from ostraka.service.polls import Found
from ostraka.service.service import Service
from ostraka.service.storage import contributions, tables
from ostraka.service.storage.ledger import lock_accounts
from ostraka.signing import Signature
from ostraka.tally import Tally
from ostraka.trustee import Joining

__all__ = ["finish", "freeze", "manifest", "release", "tell_trouble", "unfinished"]


def freeze(service: Service, by: Who, digest: str, *, leave_out: Iterable[Any] = ()) -> None:
    """Close a poll, if it can be released; what was closed before stays as it is."""
    poll = service.poll(digest)
    with service.write_as(by) as connection:
        found = polls.lock(connection, digest)
        if found.state in ("closed", "released"):
            again = update(tables.poll).where(tables.poll.c.id == found.id)
            connection.execute(again.values(trouble=None))
            return
        if found.state != "open":
            remedy = "Open it first, with ostraka poll open, and let parties contribute."
            if found.state != "draft":
                remedy = "It has no release, and gets none."
            raise StateError(
                f"This poll is {found.state}, and only an open one can be closed.", remedy
            )
        service.check_key(connection)
        service.check_may_charge(connection)
        _wait_for_charges(connection)
        left_out = _leave_out(connection, found, leave_out)
        names, commitments = _list(connection, found)
        n_parties, persons = contributions.count(connection, found.id)
        _check(service, poll, names, n_parties, persons)
        signed = Manifest.sign(
            service.key,
            poll=digest,
            commitments=commitments,
            persons=persons if poll.promise.protects == "person" else None,
        )
        connection.execute(insert(tables.manifest).values(poll=found.id, content=signed.to_bytes()))
        connection.execute(
            update(tables.poll).where(tables.poll.c.id == found.id).values(state="closed")
        )
        audit.note(connection, by, "closed a poll", digest)
        audit.note_names(connection, by, f"left out of {digest[:12]}...", left_out)


def finish(
    service: Service, digest: str, before_showing: Callable[[], None] = lambda: None
) -> None:
    """Make and publish the release of a closed poll; one that is released stays as it is.

    Whoever calls it, as often as they like, on how many hosts, there is one charge and one release.
    `before_showing` is called when it is made and nobody can see that yet.
    """
    found = _find(service, digest)
    if found.state == "released":
        return
    if found.state != "closed":
        raise StateError(f"This poll is {found.state}.", "Close it first.")
    poll, tally = service.poll(digest), _add_up(service, found)
    if tally is None:  # somebody else has just finished it
        return

    def keep(made: Release) -> None:
        _write_down(service, found, poll, made)

    book = service.ledger(found.id)
    if found.charge is None:
        with service.database.read() as connection:
            service.check_may_charge(connection)
        try:
            publish(poll, tally, ledger=book, keep=keep)
        except Stopped:
            pass
        except StateError:  # somebody else has charged it in the meantime
            found = _find(service, digest)
            if found.charge is None:
                raise
    resume(poll, tally, book, keep=keep)
    before_showing()
    _publish(service, digest)


def manifest(service: Service, digest: str, who: Who) -> bytes:
    """The signed list of what is counted."""
    with service.database.read() as connection:
        found = polls.find(connection, digest, who)
        query = select(tables.manifest.c.content).where(tables.manifest.c.poll == found.id)
        content = connection.execute(query).scalar_one_or_none()
    if content is None:
        raise StateError("This poll is not closed, so there is no list yet.", "Wait for that.")
    return bytes(content)


def release(service: Service, digest: str, who: Who) -> tuple[bytes, bytes]:
    """The published file, and its signature."""
    with service.database.read() as connection:
        found = polls.find(connection, digest, who)
        query = select(tables.poll.c.release_signature).where(tables.poll.c.id == found.id)
        signature = connection.execute(query).scalar_one()
    if found.release is None:
        raise StateError(f"This poll is {found.state}: it has no release.", "Wait for that.")
    return service.blobs.get(found.release), bytes(signature)


def unfinished(service: Service) -> list[str]:
    """Polls that are closed and not released: somebody was interrupted, or is at work."""
    with service.database.read() as connection:
        query = select(tables.poll.c.digest).where(tables.poll.c.state == "closed")
        return list(connection.execute(query.order_by(tables.poll.c.id)).scalars())


def tell_trouble(service: Service, digest: str, told: str) -> None:
    """Let admins see why a release was not made."""
    of_closed = and_(tables.poll.c.digest == digest, tables.poll.c.state == "closed")
    with service.database.write() as connection:
        connection.execute(update(tables.poll).where(of_closed).values(trouble=told))


def _wait_for_charges(connection: Any) -> None:
    """Let nobody else close or charge until this poll is closed.

    Whoever was found able to pay must still be when the poll is charged: so no second poll is
    closed in between.
    """
    lock_accounts(connection)
    query = select(tables.poll.c.digest).where(
        tables.poll.c.state == "closed", tables.poll.c.charge.is_(None)
    )
    before = connection.execute(query.limit(1)).scalar_one_or_none()
    if before is not None:
        raise StateError(
            f"The poll {before[:12]}... is closed and not charged yet; this one waits for it.",
            "Try again in a minute. If that one is stuck, finish it (ostraka close) or end it "
            "(ostraka poll abandon).",
        )


def _leave_out(connection: Any, found: Found, names: Iterable[Any]) -> list[str]:
    """Take out what some have sent, who cannot pay or do not want to take part any more."""
    given = list(names)
    if not given:
        return []
    kept, party = tables.contribution, tables.party
    left_out = canonical_list(given)
    for name in left_out:
        of_name = select(party.c.id).where(party.c.name == name).scalar_subquery()
        gone = connection.execute(
            delete(kept).where(kept.c.poll == found.id, kept.c.party == of_name)
        )
        if not gone.rowcount:
            raise AbsentError(
                f"Party {name} has not contributed to this poll.", "Leave out who has."
            )
    return left_out


def _list(connection: Any, found: Found) -> tuple[list[str], list[bytes]]:
    kept, party = tables.contribution, tables.party
    rows = connection.execute(
        select(party.c.name, kept.c.commitment)
        .join(party, party.c.id == kept.c.party)
        .where(kept.c.poll == found.id)
    ).all()
    return [name for name, _ in rows], [bytes(commitment) for _, commitment in rows]


def _check(
    service: Service, poll: Poll, names: list[str], n_parties: int, persons: int | None
) -> None:
    """Refuse what the release would be refused for, while the poll is still open."""
    of_persons = poll.promise.protects == "person"
    with nothing_spent():
        poll.promise.check_units((persons or 0) if of_persons else n_parties)
        certificate = poll.certificate(n_parties, persons if of_persons else None)
        service.ledger().check(names, certificate)


def _find(service: Service, digest: str) -> Found:
    with service.database.read() as connection:
        return polls.look(connection, digest)


def _add_up(service: Service, found: Found) -> Tally | None:
    """The sum of what is on the list, and of nothing else; None once it has been erased."""
    poll = service.poll(found.digest)
    with service.database.read() as connection:
        if polls.look(connection, found.digest).state != "closed":
            return None
        if not poll.is_sealed:
            tally = Tally(poll)
            for given in _listed(service, connection, found):
                tally.add(given)
            return tally
        joining = Joining(poll, *sealed.find(service, connection, found.id, poll), service.key)
        for given in _listed(service, connection, found):
            if given.party not in joining.left_out:
                joining.add(given)
    return joining.tally()


def _listed(service: Service, connection: Connection, found: Found) -> Iterator[Contribution]:
    """What is on the signed list, each once, as it was then."""
    query = select(tables.manifest.c.content).where(tables.manifest.c.poll == found.id)
    listed = Manifest.from_bytes(bytes(connection.execute(query).scalar_one()))
    listed.check(service.key.public)
    expected = set(listed.commitments)
    with closing(contributions.stream(connection, found.id)) as rows:
        for name, commitment, salt, content in rows:
            if bytes(commitment) not in expected or commit(salt, content) != bytes(commitment):
                raise FormatError("database", f"the contribution of party {name} was changed")
            expected.remove(bytes(commitment))
            yield Contribution.from_bytes(content)
    if expected:
        raise FormatError("database", f"{len(expected)} contributions on the list are missing")


def _write_down(service: Service, found: Found, poll: Poll, made: Release) -> None:
    """Keep a release as a file, and which one it is: before the ledger records it."""
    file = service.blobs.put(made.to_bytes())
    dialect = sqlite if service.database.is_sqlite else postgresql
    with service.database.write() as connection:
        row = {"poll": found.id, "stated": stated(poll, made).digest, "file": file}
        connection.execute(dialect.insert(tables.outcome).values(**row).on_conflict_do_nothing())


def _publish(service: Service, digest: str) -> None:
    """Sign what the ledger has recorded, and forget what was sent."""
    with service.database.read() as connection:
        file = connection.execute(
            select(tables.outcome.c.file)
            .join(tables.poll, tables.poll.c.id == tables.outcome.c.poll)
            .join(tables.settlement, tables.settlement.c.charge == tables.poll.c.charge)
            .where(tables.poll.c.digest == digest)
            .where(tables.outcome.c.stated == tables.settlement.c.digest)
        ).scalar_one_or_none()
    if file is None:
        raise StateError(
            "The release is not finished yet.", "Ask for it once more: ostraka close goes on."
        )
    signature = Signature.of(service.blobs.get(file), service.key).to_bytes()
    with service.database.write() as connection:
        found = polls.lock(connection, digest)
        if found.state != "closed":
            return
        service.check_key(connection)
        connection.execute(
            update(tables.poll)
            .where(tables.poll.c.id == found.id)
            .values(state="released", release=file, release_signature=signature, trouble=None)
        )
        contributions.erase(connection, found.id)
    service.database.forget("contribution")
