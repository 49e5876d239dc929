"""Ed25519 keys, and the files that hold them.

    key      as text or file
    public   one line, `ed25519:` and 44 characters: short enough to read out and compare
    secret   PKCS #8 in PEM, as other programs write it; only its owner may read the file

The arithmetic is that of the package cryptography.
"""

from __future__ import annotations

import base64
import binascii
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

from ostraka.errors import FormatError, InputError, SignatureError
from ostraka.files import check_new, read_regular, write_once

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = ["PublicKey", "SecretKey"]

PREFIX: Final = "ed25519:"
SECRET_OPENING: Final = "-----BEGIN "
KEY_BYTES: Final = 32
LARGEST_KEY_FILE: Final = 10_000
PRIME: Final = 2**255 - 19
SMALL_ORDER: Final = (
    0,
    1,
    PRIME - 1,
    int.from_bytes(
        bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
    ),
    int.from_bytes(
        bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "little"
    ),
)
"""y of the points P with 8P = 0: as keys, they fit signatures that nobody made. On the curve
−x² + y² = 1 + d·x²y² they are 0 and ±1 and, where doubling gives y = 0, the roots of
d·y⁴ + 2y² = 1.
"""
MISSING: Final = "Keys need one more package. Install it with: pip install 'ostraka[signing]'"


@final
@dataclass(frozen=True, slots=True)
class PublicKey:
    """What checks signatures; anybody may have it."""

    raw: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.raw, bytes) or len(self.raw) != KEY_BYTES:
            raise FormatError("public key", f"it needs {KEY_BYTES} bytes")
        y = int.from_bytes(self.raw, "little") & (2**255 - 1)
        if y >= PRIME or y in SMALL_ORDER:
            raise FormatError("public key", "anybody could sign for it: no program makes such keys")

    @classmethod
    def parse(cls, text: str) -> PublicKey:
        """A key from its line."""
        written = text.strip()
        if written.startswith(SECRET_OPENING):
            problem = "it is a SECRET key; its public part: ostraka key show FILE"
            raise FormatError("public key", problem)
        try:
            if not written.startswith(PREFIX):
                raise ValueError
            raw = base64.b64decode(written.removeprefix(PREFIX), validate=True)
        except (ValueError, binascii.Error):
            problem = f"it is no line of {PREFIX!r} and 44 characters"
            raise FormatError("public key", problem) from None
        return cls(raw)

    @staticmethod
    def is_written(text: str) -> bool:
        """Whether a text is meant as a key."""
        return text.strip().startswith(PREFIX)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> PublicKey:
        """A key from a file with its line."""
        content = read_regular(path, "public key", LARGEST_KEY_FILE)
        return cls.parse(content.decode("ascii", "replace"))

    def check(self, signed: bytes, message: bytes, *, what: str = "file") -> None:
        """Refuse what the holder of the secret key has not signed."""
        from cryptography.exceptions import InvalidSignature

        try:
            _ed25519().Ed25519PublicKey.from_public_bytes(self.raw).verify(signed, message)
        except (InvalidSignature, ValueError):
            raise SignatureError(
                f"The signature does not belong to this {what}: one of them was changed.",
                f"Get both anew from whoever signed, and do not use this {what}.",
            ) from None

    def __str__(self) -> str:
        return PREFIX + base64.b64encode(self.raw).decode("ascii")


@final
@dataclass(frozen=True, slots=True)
class SecretKey:
    """What signs; it stays with its owner."""

    _key: Ed25519PrivateKey = field(repr=False)

    @classmethod
    def create(cls) -> SecretKey:
        """A new key, from the operating system's generator."""
        return cls(_ed25519().Ed25519PrivateKey.generate())

    @classmethod
    def from_seed(cls, seed: bytes) -> SecretKey:
        """The key of 32 bytes that nobody can guess."""
        return cls(_ed25519().Ed25519PrivateKey.from_private_bytes(seed))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> SecretKey:
        """A key from its file; a file that others may read is refused."""
        content, file = read_regular(path, "secret key", LARGEST_KEY_FILE), Path(path)
        if content.lstrip().startswith(PREFIX.encode("ascii")):
            problem = f"{file.name} is the public part of one, which checks and cannot sign"
            raise FormatError("secret key", problem)
        if os.name == "posix" and stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise InputError(
                f"Others than you may read the secret key {file.name}.",
                f"Take it from them: chmod 600 {file}. If somebody may have read it, make another.",
            )
        kinds = _ed25519()
        from cryptography.hazmat.primitives.serialization import load_pem_private_key

        try:
            key = load_pem_private_key(content, password=None)
        except Exception:  # cryptography has errors of its own for damage, passwords and kinds
            key = None
        if not isinstance(key, kinds.Ed25519PrivateKey):
            problem = f"{file.name} holds no Ed25519 key in PEM without a password"
            raise FormatError("secret key", problem)
        return cls(key)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the key where nothing is yet, for its owner alone."""
        from cryptography.hazmat.primitives import serialization

        check_new(Path(path), False, "a key is never replaced; choose another name")
        content = self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        write_once(path, content)

    @property
    def public(self) -> PublicKey:
        """What others check signatures with."""
        return PublicKey(self._key.public_key().public_bytes_raw())

    @property
    def seed(self) -> bytes:
        """The 32 bytes of `from_seed`: whoever has them has the key."""
        return self._key.private_bytes_raw()

    def sign(self, message: bytes) -> bytes:
        """The signature, 64 bytes."""
        return self._key.sign(message)


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise ImportError(MISSING) from None
    return ed25519
