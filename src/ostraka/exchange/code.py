"""A single-use code that lets somebody join a service.

It also names the service's key, so that whoever joins knows that it speaks with the service that
made the code, and no other in between:

    16 random bytes, then the first 10 of the key's sha256, in base 32: seven groups of six letters

To find another key with the same 10 bytes takes 2⁸⁰ tries.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from dataclasses import dataclass, field
from typing import Final, Self, final

from ostraka.errors import FormatError, SignatureError
from ostraka.signing import PublicKey, SecretKey
from ostraka.signing.statement import statement

__all__ = ["JoinCode"]

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

    def check_service(self, service: PublicKey) -> None:
        """Refuse a service that did not make this code."""
        if _fingerprint(service) != self.fingerprint:
            raise SignatureError(
                "The service that answers is not the one that made this code.",
                "Compare the address with the one in your invitation. If it is right, somebody "
                "stands between you and the service: tell the coordinator.",
            )

    @property
    def digest(self) -> bytes:
        """What the service keeps in place of the code."""
        return hashlib.sha256(statement("join code 1", self.secret)).digest()

    def prove(self, key: SecretKey) -> bytes:
        """A signature that shows that whoever joins holds this key."""
        return key.sign(self._joining(key.public))

    def check_proof(self, key: PublicKey, proof: bytes) -> None:
        """Refuse a key whose holder has not joined with this code."""
        key.check(proof, self._joining(key), what="request to join")

    def _joining(self, key: PublicKey) -> bytes:
        return statement("joins 1", self.secret, self.fingerprint, key.raw)

    def __str__(self) -> str:
        text = base64.b32encode(self.secret + self.fingerprint).decode("ascii").rstrip("=").lower()
        return "-".join(text[start : start + GROUP] for start in range(0, len(text), GROUP))


def _fingerprint(key: PublicKey) -> bytes:
    return hashlib.sha256(key.raw).digest()[:FINGERPRINT_BYTES]
