"""A message that one server alone can open: HPKE (RFC 9180), as the package cryptography has it.

What it is for, of whom, and for which server, is bound into the message: an envelope that is moved
to another poll, party or server does not open.

A server's key for this is derived from the key that it signs with, so that it has one secret to
keep; each is of no use for finding the other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, final

from ostraka.errors import FormatError, SealError
from ostraka.signing import SecretKey
from ostraka.signing.statement import statement

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

__all__ = ["OVERHEAD", "PUBLIC_BYTES", "Opener", "Purpose", "Sealed"]

PUBLIC_BYTES: Final = 32
OVERHEAD: Final = 48
"""Bytes of an envelope beside the message: an ephemeral key, and a tag."""
MISSING: Final = (
    "Sealed polls need the package cryptography, version 47 or later. Install it with: "
    "pip install 'ostraka[signing]'"
)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """What an envelope is for. Whoever opens it must say the same."""

    role: str
    """Whose share is in it."""
    poll: str
    party: str
    persons: int | None

    def to_bytes(self) -> bytes:
        """What is bound into the envelope."""
        persons = 0 if self.persons is None else self.persons + 1
        return statement(
            "envelope 1",
            self.role.encode("ascii"),
            bytes.fromhex(self.poll),
            self.party.encode("utf-8"),
            persons.to_bytes(8, "little"),
        )


@final
class Sealed:
    """Makes envelopes."""

    @staticmethod
    def to(public: bytes, message: bytes, purpose: Purpose) -> bytes:
        """An envelope for the server with this key."""
        try:
            sealed: bytes = _suite().encrypt(message, _read_public(public), info=purpose.to_bytes())
        except ValueError:  # a key of small order, that no program makes
            raise FormatError(
                "card", f"nothing can be sealed to the {purpose.role}'s key"
            ) from None
        return sealed


@final
@dataclass(frozen=True, slots=True)
class Opener:
    """What opens the envelopes to one server."""

    _key: X25519PrivateKey = field(repr=False)

    @classmethod
    def of(cls, secret: SecretKey) -> Opener:
        """The key that belongs to a server's signing key."""
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        derived = HKDF(hashes.SHA256(), PUBLIC_BYTES, salt=None, info=statement("sealing key 1"))
        return cls(X25519PrivateKey.from_private_bytes(derived.derive(secret.seed)))

    @property
    def public(self) -> bytes:
        """What others seal to."""
        return self._key.public_key().public_bytes_raw()

    def open(self, envelope: bytes, purpose: Purpose) -> bytes:
        """The message; `SealError` if it is not for this server and this purpose."""
        from cryptography.exceptions import InvalidTag

        try:
            message: bytes = _suite().decrypt(envelope, self._key, info=purpose.to_bytes())
        except (InvalidTag, ValueError):
            raise SealError(purpose.party, purpose.role) from None
        return message


@lru_cache(maxsize=1)
def _suite() -> Any:
    try:
        from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite
    except ImportError:
        raise ImportError(MISSING) from None
    return Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)


@lru_cache(maxsize=16)
def _read_public(raw: bytes) -> Any:
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey

    return X25519PublicKey.from_public_bytes(raw)
