"""A single-use code that lets somebody join a service, and what is said when it is used.

    16 random bytes, then the first 10 of the sha256 of the service's key, in base 32: seven groups
    of six letters

The code names the service's key, so that whoever joins knows for whom it is. To find another key
with the same 10 bytes takes 2⁸⁰ tries.

The code itself is never sent. The random bytes are the seed of a key; the request to join is signed
by it, for one service and one party's key, and the service knows its public part by a digest. So
whoever stands in between, even with a certificate for the service's name, learns nothing to join
with, and cannot put another key in place of the party's. The answer is signed by the service.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Self, final

from ostraka.errors import FormatError, SignatureError
from ostraka.exchange.succession import Succession, follow
from ostraka.signing import PublicKey, SecretKey
from ostraka.signing.statement import statement

__all__ = ["JoinCode", "JoinRequest", "admission"]

SECRET_BYTES: Final = 16
FINGERPRINT_BYTES: Final = 10
GROUP: Final = 6
LETTERS: Final = 42


@final
@dataclass(frozen=True, slots=True)
class JoinCode:
    """The code; whoever has it can join once."""

    secret: bytes = field(repr=False)
    fingerprint: bytes

    @classmethod
    def create(cls, service: PublicKey) -> Self:
        """A new one, from the operating system's generator."""
        return cls(secrets.token_bytes(SECRET_BYTES), _fingerprint(service))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The code as people write it: case, dashes and spaces do not matter."""
        letters = "".join(text.split()).replace("-", "").upper()
        try:
            if len(letters) != LETTERS:
                raise ValueError
            raw = base64.b32decode(letters + "=" * (-len(letters) % 8))
        except (ValueError, binascii.Error):
            problem = f"it needs {LETTERS} letters and digits, in any case, with or without dashes"
            raise FormatError("join code", problem) from None
        made = cls(raw[:SECRET_BYTES], raw[SECRET_BYTES:])
        if str(made).replace("-", "").upper() != letters:
            raise FormatError("join code", "its last letter is not as it was written")
        return made

    def check_service(self, service: PublicKey, earlier: Sequence[Succession] = ()) -> None:
        """Refuse a service that did not make this code, and whose earlier keys did not either."""
        for made_by in (service, *(link.old for link in earlier)):
            if _fingerprint(made_by) == self.fingerprint:
                follow(made_by, service, earlier)
                return
        raise SignatureError(
            "The service that answers is not the one that made this code.",
            "Compare code and address with your invitation: most likely a letter at the code's end "
            "is another one, or the address is. If both are right, somebody stands between you and "
            "the service: tell the coordinator. The code was not used.",
        )

    @property
    def digest(self) -> bytes:
        """What the service keeps in place of the code."""
        return _digest(self._own.public)

    def request(self, key: SecretKey, service: PublicKey) -> JoinRequest:
        """Ask this service to let in the holder of this key."""
        message = _joining(service, self._own.public, key.public)
        return JoinRequest(
            code=self._own.public,
            key=key.public,
            by_code=self._own.sign(message),
            by_key=key.sign(message),
        )

    @property
    def _own(self) -> SecretKey:
        seed = hashlib.sha256(statement("join code 2", self.secret, self.fingerprint)).digest()
        return SecretKey.from_seed(seed)

    def __str__(self) -> str:
        text = base64.b32encode(self.secret + self.fingerprint).decode("ascii").rstrip("=").lower()
        return "-".join(text[start : start + GROUP] for start in range(0, len(text), GROUP))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class JoinRequest:
    """What somebody sends who joins: nobody else can do anything with it."""

    code: PublicKey
    key: PublicKey
    by_code: bytes = field(repr=False)
    by_key: bytes = field(repr=False)

    @property
    def digest(self) -> bytes:
        """By which the service knows the code."""
        return _digest(self.code)

    def check(self, service: PublicKey) -> None:
        """Refuse what is for another service, or by somebody without the code or the key."""
        message = _joining(service, self.code, self.key)
        self.code.check(self.by_code, message, what="request to join")
        self.key.check(self.by_key, message, what="request to join")


def admission(key: PublicKey, role: str, name: str, token: str) -> bytes:
    """What a service signs when it lets somebody in: under this name, with this token."""
    parts = (part.encode("utf-8") for part in (role, name, token))
    return statement("admission 1", key.raw, *parts)


def _joining(service: PublicKey, code: PublicKey, key: PublicKey) -> bytes:
    return statement("joins 2", service.raw, code.raw, key.raw)


def _digest(code: PublicKey) -> bytes:
    return hashlib.sha256(statement("join code 2", code.raw)).digest()


def _fingerprint(key: PublicKey) -> bytes:
    return hashlib.sha256(key.raw).digest()[:FINGERPRINT_BYTES]
