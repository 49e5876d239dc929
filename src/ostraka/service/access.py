"""Who may do what.

    role      may
    admin     everything but contribute in a party's place (a file that a party hands over aside)
    party     read the polls that ask it, contribute to them, and read its own account
    reader    read polls and releases

Whoever asks shows a token: 32 random bytes, of which the service keeps the digest alone. Digests
are looked up, and then compared in constant time; as nobody can choose a digest, how long a look-up
takes tells nothing of a token.

Everything is denied that no role allows: a route names its roles, or has no answer.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, final

from sqlalchemy import Connection, and_, insert, select, update

from ostraka.errors import AccessError
from ostraka.service.storage import tables
from ostraka.signing import PublicKey

__all__ = [
    "PREFIX",
    "Role",
    "Who",
    "digest_of",
    "find",
    "issue",
    "still",
    "unknown_token",
    "withdraw",
]

Role: TypeAlias = Literal["admin", "party", "reader"]
PREFIX: Final = "ostraka_"
TOKEN_DAYS: Final = 400
DAY: Final = 86400


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Who:
    """Somebody whom the service knows."""

    role: Role
    name: str
    party: int | None = None
    key: PublicKey | None = None
    vouched: bool = False
    """Somebody else has vouched for this person, who has no token of ours."""
    generation: int = 0
    """Which of a party's keys it is, counted from 1."""
    token: bytes | None = field(default=None, repr=False, compare=False)
    """The digest of what was shown."""

    def check(self, *roles: Role) -> None:
        """Refuse whoever has none of these roles."""
        if self.role not in roles:
            raise AccessError(
                f"This is for {' and '.join(roles)} alone, and you are here as {self.role}.",
                "Ask the coordinator for an invitation to this role.",
                known=True,
            )

    def __str__(self) -> str:
        return f"{self.role} {self.name}"


def unknown_token() -> AccessError:
    """Of a token that lets nobody in, for whatever reason."""
    return AccessError(
        "The token is unknown, too old or withdrawn.",
        "Join again with a code of the coordinator: ostraka join ADDRESS CODE.",
    )


def digest_of(token: str) -> bytes:
    """What is kept of a token. Its bytes are random, so no salt and no slow hash is needed."""
    return hashlib.sha256(b"ostraka token 1\n" + token.encode("utf-8", "replace")).digest()


def issue(
    connection: Connection,
    *,
    role: Role,
    name: str,
    party: int | None,
    key: PublicKey,
    grace: int = 0,
) -> str:
    """A new token, in place of all earlier ones of this name in this role; `key` can renew it.

    `grace`: for so many seconds the earlier ones still count, for whoever does not get the answer;
    and are renewed by the new key alone.
    """
    if grace:
        known, until = tables.token, int(time.time()) + grace
        of_these = and_(known.c.role == role, known.c.name == name, known.c.expires > until)
        connection.execute(update(known).where(of_these).values(expires=until))
        of_name = and_(known.c.role == role, known.c.name == name)
        connection.execute(update(known).where(of_name).values(public_key=key.raw))
    else:
        withdraw(connection, role=role, name=name)
    made = PREFIX + secrets.token_urlsafe(32)
    connection.execute(
        insert(tables.token).values(
            digest=digest_of(made),
            role=role,
            name=name,
            party=party,
            public_key=key.raw,
            expires=int(time.time()) + TOKEN_DAYS * DAY,
        )
    )
    return made


def withdraw(connection: Connection, *, role: Role, name: str) -> None:
    """Let nobody in any more by a token of this name in this role."""
    known = tables.token
    of_these = and_(known.c.role == role, known.c.name == name, known.c.withdrawn.is_(False))
    connection.execute(update(known).where(of_these).values(withdrawn=True))


def find(connection: Connection, digests: Iterable[bytes]) -> dict[bytes, Who]:
    """Who shows these tokens: those of whom we know nothing, or nothing any more, are missing."""
    asked = list(digests)
    known, party = tables.token, tables.party
    held = (known.c.digest, known.c.role, known.c.name, known.c.party, known.c.public_key)
    query = (
        select(*held, party.c.public_key, party.c.generation)
        .select_from(known.outerjoin(party, party.c.id == known.c.party))
        .where(known.c.digest.in_(asked), known.c.withdrawn.is_(False))
        .where(known.c.expires > int(time.time()))
    )
    found: dict[bytes, Who] = {}
    for digest, role, name, party_id, own, of_party, generation in connection.execute(query):
        raw, key = bytes(digest), own if party_id is None else of_party
        if any(hmac.compare_digest(raw, each) for each in asked):
            public = None if key is None else PublicKey(bytes(key))
            found[raw] = Who(
                role=role,
                name=name,
                party=party_id,
                key=public,
                generation=generation or 0,
                token=raw,
            )
    return found


def still(connection: Connection, who: Who) -> Who:
    """The same person as this transaction sees them; refused if they were revoked meanwhile."""
    if who.token is None:
        return who
    now = find(connection, [who.token]).get(who.token)
    if now is None or now.role != who.role:
        raise unknown_token()
    return now
