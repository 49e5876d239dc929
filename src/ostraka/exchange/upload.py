"""A contribution on its way to a service: with a salt, a revision, and its party's signature.

    offset   bytes   meaning (numbers are little-endian)
    0        8       the letters OSTRASND
    8        1       version, 1
    9        4       revision: 1 for the first upload to a poll, and larger for each later one
    13       32      salt, random
    45       64      Ed25519 signature of revision and commitment
    109      rest    the contribution, as its file has it

    commitment = sha256 of a statement of salt and contribution

Guarantee: the commitment binds, since sha256 does: nobody finds another contribution for it. It
hides: without the 32 random bytes of the salt it tells nothing of the contribution, which a plain
digest of a vector that somebody can guess would. So the list of commitments may be published, and
a party finds its own there. The contribution names poll and party, so the signature binds these,
too; the revision keeps an old upload from taking the place of a newer one.
"""

from __future__ import annotations

import hashlib
import secrets
import struct
from dataclasses import dataclass, field
from typing import Final, Self, final

from ostraka.errors import FormatError, count
from ostraka.signing import PublicKey, SecretKey
from ostraka.signing.statement import statement

__all__ = ["HEADER", "MOST_REVISIONS", "SALT_BYTES", "Upload", "commit"]

MAGIC: Final = b"OSTRASND"
VERSION: Final = 1
HEADER: Final = struct.Struct("<8sBI32s64s")
SALT_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
MOST_REVISIONS: Final = 2**31 - 1
WHAT: Final = "upload"


def commit(salt: bytes, contribution: bytes) -> bytes:
    """The commitment to a contribution, 32 bytes."""
    return hashlib.sha256(statement("commitment 1", salt, contribution)).digest()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """What a party sends. Private data, like the contribution in it."""

    contribution: bytes = field(repr=False)
    salt: bytes = field(repr=False)
    revision: int
    signature: bytes = field(repr=False)

    @classmethod
    def create(cls, contribution: bytes, revision: int, key: SecretKey) -> Self:
        """Salt and sign a contribution."""
        count("revision", revision, 1, MOST_REVISIONS)
        salt = secrets.token_bytes(SALT_BYTES)
        signature = key.sign(_sent(revision, commit(salt, contribution)))
        return cls(contribution=contribution, salt=salt, revision=revision, signature=signature)

    @property
    def commitment(self) -> bytes:
        """What the service publishes in place of the contribution."""
        return commit(self.salt, self.contribution)

    def check(self, key: PublicKey, commitment: bytes | None = None) -> None:
        """Refuse what the holder of this key has not sent; `commitment` saves computing it."""
        sent = _sent(self.revision, commitment or self.commitment)
        key.check(self.signature, sent, what=WHAT)

    def to_bytes(self) -> bytes:
        """What goes over the wire."""
        opening = HEADER.pack(MAGIC, VERSION, self.revision, self.salt, self.signature)
        return opening + self.contribution

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The same from anyone. The contribution in it is not read yet."""
        if len(data) < HEADER.size or not data.startswith(MAGIC):
            problem = f"it does not begin with {MAGIC.decode('ascii')}, or was cut off"
            raise FormatError(WHAT, problem)
        _, version, revision, salt, signature = HEADER.unpack_from(data)
        if version != VERSION:
            raise FormatError(WHAT, f"it has version {version}, but only {VERSION} is known here")
        if not 1 <= revision <= MOST_REVISIONS:
            raise FormatError(WHAT, f"its revision is {revision}")
        return cls(
            contribution=data[HEADER.size :], salt=salt, revision=revision, signature=signature
        )


def _sent(revision: int, commitment: bytes) -> bytes:
    return statement("upload 1", revision.to_bytes(4, "little"), commitment)
