"""Invitations, and who has joined.

A code is good for one key, and for an hour after it was first used: whoever lost the answer may
send the same request again, and nobody else can join with it. A name that has joined keeps its
contributions and its account when it is invited again, with a new key; its earlier key and tokens
end then. A key is one name's.

Whatever lets somebody in, or takes that back, happens one after the other (`take_turns`): so nobody
comes in by a request that began before they were revoked.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, final

from sqlalchemy import Connection, Select, and_, insert, select, update

from ostraka.errors import AbsentError, AccessError, InputError, StateError, count
from ostraka.exchange import JoinCode, JoinRequest
from ostraka.party.names import canonical, canonical_list
from ostraka.service import access, audit
from ostraka.service.access import DAY, Role, Who
from ostraka.service.storage import tables
from ostraka.service.storage.database import take_turns
from ostraka.signing import PublicKey
from ostraka.signing.statement import statement

__all__ = ["Joined", "check_known", "invite", "join", "renew", "revoke", "waiting"]

MOST_INVITED: Final = 100_000
MOST_DAYS: Final = 365
GRACE_SECONDS: Final = 600
AGAIN_SECONDS: Final = 3600


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """What somebody gets who has joined. The token is not shown again."""

    role: Role
    name: str
    token: str


def invite(
    connection: Connection,
    by: Who | str,
    service: PublicKey,
    names: Iterable[Any],
    *,
    role: Role = "party",
    days: int = 30,
    again: bool = False,
) -> list[tuple[str, JoinCode]]:
    """A code for each name; codes that were sent to it before, and not used, are void."""
    asked = canonical_list(names)
    count("days", days, 1, MOST_DAYS)
    count("names", len(asked), 1, MOST_INVITED)
    if role == "party" and not again:
        _refuse_joined(connection, asked)
    take_turns(connection)
    made, expires = [], int(time.time()) + days * DAY
    for name in asked:
        _void(connection, role, name)
        code = JoinCode.create(service)
        connection.execute(
            insert(tables.code).values(digest=code.digest, role=role, name=name, expires=expires)
        )
        made.append((name, code))
    audit.note_names(connection, by, f"invited as {role}", asked)
    return made


def waiting(role: Role) -> Select[Any]:
    """Codes that are good and not used, by whoever they are for: a name has one at most."""
    known = tables.code
    good = and_(known.c.used_by.is_(None), known.c.withdrawn.is_(False))
    return (
        select(known.c.name, known.c.expires)
        .where(known.c.role == role, good)
        .where(known.c.expires > int(time.time()))
    )


def check_known(connection: Connection, digest: bytes) -> None:
    """Refuse a code that was never made."""
    known = tables.code
    query = select(known.c.digest).where(known.c.digest == digest)
    found = connection.execute(query).scalar_one_or_none()
    if found is None or not hmac.compare_digest(bytes(found), digest):
        raise AccessError(
            "Nobody has this code.", "Compare it with your invitation, or ask for another."
        )


def join(connection: Connection, asked: JoinRequest, service: PublicKey) -> Joined:
    """Let somebody in who has a code, and a key of their own."""
    asked.check(service)
    take_turns(connection)
    check_known(connection, asked.digest)
    known, key = tables.code, asked.key
    found = connection.execute(select(known).where(known.c.digest == asked.digest)).one()
    if found.used_by is not None and bytes(found.used_by) != key.raw:
        raise StateError(
            "This code was used already, with another key.",
            "If that was not you, tell the coordinator at once. Else ask for another code.",
        )
    if found.withdrawn or found.expires < time.time():
        raise StateError("This code is void or too old.", "Ask the coordinator for another.")
    until = min(found.expires, int(time.time()) + AGAIN_SECONDS)
    if found.used_by is None:
        used = update(known).where(known.c.digest == asked.digest)
        connection.execute(used.values(used_by=key.raw, expires=until))
    party = _enrol(connection, found.name, key) if found.role == "party" else None
    token = access.issue(connection, role=found.role, name=found.name, party=party, key=key)
    return Joined(role=found.role, name=found.name, token=token)


def renew(
    connection: Connection,
    who: Who,
    service: PublicKey,
    key: PublicKey,
    proofs: tuple[bytes, bytes],
) -> Joined:
    """Another key and another token, by somebody who has joined; signed by both keys."""
    take_turns(connection)
    who = access.still(connection, who)
    if who.vouched:
        raise AccessError(
            "You come with a token of your organisation, which has nothing to renew here.",
            "Ask there for another.",
            known=True,
        )
    message = renewal(service, key)
    by_old, by_new = proofs
    key.check(by_new, message, what="request")
    if who.key is None:
        raise StateError("You have no key here yet.", "Join with a code first.")
    if who.key != key:  # else this is the same request once more
        who.key.check(by_old, message, what="request")
    if who.role == "party":
        _enrol(connection, who.name, key)
    _void(connection, who.role, who.name)  # with the old key it would let in whoever has both
    token = access.issue(
        connection,
        role=who.role,
        name=who.name,
        party=who.party,
        key=key,
        grace=GRACE_SECONDS,
    )
    return Joined(role=who.role, name=who.name, token=token)


def renewal(service: PublicKey, key: PublicKey) -> bytes:
    """What both keys sign."""
    return statement("renewal 1", service.raw, key.raw)


def revoke(connection: Connection, by: Who, name: Any, role: Role = "party") -> None:
    """Let somebody do nothing more here. What a party has sent stays until it is left out."""
    take_turns(connection)
    form = canonical(name)
    _void(connection, role, form)
    access.withdraw(connection, role=role, name=form)
    if role == "party":
        known = tables.party
        changed = connection.execute(
            update(known).where(known.c.name == form).values(revoked=True, public_key=None)
        )
        if not changed.rowcount:
            raise AbsentError(
                f"No party {form} has joined.", "ostraka status --parties lists who has."
            )
    audit.note(connection, by, f"revoked {role}", form)


def find_party(connection: Connection, name: Any, *, make: bool = False) -> int:
    """The row of a party; `make`: also of one that has never joined: it may have no network."""
    form, known = canonical(name), tables.party
    found = connection.execute(select(known.c.id).where(known.c.name == form)).scalar_one_or_none()
    if found is not None:
        return int(found)
    if not make:
        raise AbsentError(f"No party {form} has joined.", "ostraka status --parties lists who has.")
    added = connection.execute(insert(known).values(name=form, joined=_today()))
    return int((added.inserted_primary_key or (0,))[0])


def _enrol(connection: Connection, name: str, key: PublicKey) -> int:
    id_ = find_party(connection, name, make=True)
    known = tables.party
    holder = connection.execute(
        select(known.c.id).where(known.c.public_key == key.raw)
    ).scalar_one_or_none()
    if holder not in (None, id_):
        raise InputError(
            "Somebody else has joined with this key.",
            "Every party has a key of its own: join from a folder of its own (--site).",
        )
    if holder is None:
        of_party = update(known).where(known.c.id == id_)
        changed = of_party.values(
            public_key=key.raw, generation=known.c.generation + 1, revoked=False
        )
        connection.execute(changed)
    return id_


def _refuse_joined(connection: Connection, names: list[str]) -> None:
    known = tables.party
    listed = set(
        connection.execute(select(known.c.name).where(known.c.public_key.is_not(None))).scalars()
    )
    there = [name for name in names if name in listed]
    if there:
        more = f" (and {len(there) - 1} more)" if len(there) > 1 else ""
        raise InputError(
            f"Party {there[0]}{more} has joined already.",
            "Invite it again only if it has lost its key: --again ends the earlier one.",
        )


def _void(connection: Connection, role: Role, name: str) -> None:
    known = tables.code
    unused = and_(known.c.role == role, known.c.name == name, known.c.withdrawn.is_(False))
    connection.execute(update(known).where(unused).values(withdrawn=True))


def _today() -> str:
    return datetime.now(UTC).date().isoformat()
