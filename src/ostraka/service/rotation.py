"""Another key for a service, in place of its own.

    step     what                                                          after a crash before it
    make     the new key, in a file beside the old one                     the old key counts
    commit   the old key's word for it; everything that the service has    the old key counts
             signed and still shows is signed by the new one
    move     the new key's file takes the old one's place                  the next start does it

A key that was stolen gives no word: parties join again, and polls, lists and releases count as
before, since they are signed anew.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, insert, select, update

from ostraka.errors import OstrakaError, ServiceError, StateError
from ostraka.exchange import Manifest
from ostraka.exchange.succession import Succession
from ostraka.service import audit
from ostraka.service.running import alone
from ostraka.service.service import Service
from ostraka.service.storage import tables
from ostraka.service.storage.database import take_turns
from ostraka.signing import PublicKey, SecretKey, Signature

__all__ = ["earlier", "finish_rotation", "rotate"]


def rotate(service: Service, path: Path, *, stolen: bool) -> PublicKey:
    """Give the service another key; refused while a process of it runs."""
    with alone(service.database):
        return _rotate(service, path, stolen)


def _rotate(service: Service, path: Path, stolen: bool) -> PublicKey:
    made = SecretKey.create()
    fresh = _fresh(path, made.public)
    made.save(fresh)
    with _removed_on_error(fresh), service.database.write() as connection:
        take_turns(connection)
        service.check_key(connection)
        _refuse_at_work(connection)
        link = None if stolen else Succession.sign(service.key, made.public).signature
        row = {"old": service.key.public.raw, "new": made.public.raw, "signature": link}
        connection.execute(insert(tables.succession).values(**row))
        connection.execute(update(tables.service).values(public_key=made.public.raw))
        _sign_anew(service, connection, made)
        audit.note(
            connection,
            "this machine",
            "replaced a stolen key" if stolen else "changed the key",
            str(made.public),
        )
    fresh.replace(path)
    return made.public


def finish_rotation(path: Path, expected: PublicKey) -> None:
    """Move the new key's file, if a rotation was cut off between its commit and that."""
    fresh = _fresh(path, expected)
    if fresh.exists() and SecretKey.load(fresh).public == expected:
        fresh.replace(path)


def earlier(connection: Connection) -> list[Succession]:
    """The service's words for its later keys, oldest first."""
    known = tables.succession
    query = select(known.c.old, known.c.new, known.c.signature)
    rows = connection.execute(query.where(known.c.signature.is_not(None)).order_by(known.c.id))
    return [
        Succession(PublicKey(bytes(old)), PublicKey(bytes(new)), bytes(signature))
        for old, new, signature in rows
    ]


def _fresh(path: Path, key: PublicKey) -> Path:
    """Of this key alone: two who rotate at once do not meet."""
    return path.with_name(f"{path.name}.{key.raw[:8].hex()}.new")


@contextlib.contextmanager
def _removed_on_error(fresh: Path) -> Iterator[None]:
    """Of a key that was not committed nothing stays; of one that may have been, everything."""
    try:
        yield
    except OstrakaError as error:
        if not isinstance(error, ServiceError) or not error.__cause__:
            fresh.unlink(missing_ok=True)
        raise


def _refuse_at_work(connection: Connection) -> None:
    poll = tables.poll
    query = select(poll.c.digest).where(poll.c.state == "closed").limit(1)
    found = connection.execute(query).scalar_one_or_none()
    if found is not None:
        raise StateError(
            f"The poll {found[:12]}... is closed, and its release is not made.",
            "Finish it (ostraka close) or end it (ostraka poll abandon) first.",
        )
    begun = select(poll.c.digest, poll.c.facts).where(poll.c.state.in_(("draft", "open")))
    for digest, facts in connection.execute(begun).all():
        if json.loads(facts).get("servers"):
            raise StateError(
                f"Parties seal what they send to the poll {digest[:12]}... to the present key.",
                "Finish it (ostraka close) or end it (ostraka poll abandon) first.",
            )


def _sign_anew(service: Service, connection: Connection, key: SecretKey) -> None:
    """What the service shows is signed by one key: nobody needs the old one to check it."""
    poll = tables.poll
    columns = (poll.c.id, poll.c.digest, poll.c.signature, poll.c.release)
    for row in connection.execute(select(*columns)).all():
        changes: dict[str, Any] = {}
        if row.signature is not None:
            changes["signature"] = Signature.of(service.blobs.get(row.digest), key).to_bytes()
        if row.release is not None:
            content = service.blobs.get(row.release)
            changes["release_signature"] = Signature.of(content, key).to_bytes()
        if changes:
            connection.execute(update(poll).where(poll.c.id == row.id).values(**changes))
    listed = tables.manifest
    for poll_id, content in connection.execute(select(listed.c.poll, listed.c.content)).all():
        old = Manifest.from_bytes(bytes(content))
        new = Manifest.sign(
            key, poll=old.poll, commitments=list(old.commitments), persons=old.persons
        )
        kept = replace(old, signature=new.signature).to_bytes()
        connection.execute(update(listed).where(listed.c.poll == poll_id).values(content=kept))
