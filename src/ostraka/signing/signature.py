"""A signature of one file, as a small file beside it: model.ostraka.sig for model.ostraka.

Beside it, not in it: the file keeps its digest, by which ledgers and second rounds name it, and any
file can be signed in the same way.

What is signed is a line that says what it is, and the file's sha256. A signature that was made for
something else, by the same key, can never pass for one of a file.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from ostraka.errors import FormatError, naming_file
from ostraka.files import read_regular, write_atomically
from ostraka.signing.keys import PublicKey, SecretKey
from ostraka.tensors import canonical_json, parse_json

__all__ = ["Signature", "path_of"]

FORMAT: Final = "signature 1"
SIGNATURE_BYTES: Final = 64
LARGEST: Final = 10_000
WHAT: Final = "signature"


@final
@dataclass(frozen=True, slots=True)
class Signature:
    """Who signed, and the proof of it."""

    key: PublicKey
    signed: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.signed, bytes) or len(self.signed) != SIGNATURE_BYTES:
            raise FormatError(WHAT, f"it needs {SIGNATURE_BYTES} bytes")

    @classmethod
    def of(cls, content: bytes, key: SecretKey) -> Signature:
        """Sign the content of a file."""
        return cls(key.public, key.sign(_message(content)))

    def check(self, content: bytes) -> None:
        """Refuse any other content."""
        self.key.check(self.signed, _message(content))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it; an older one of the same file is replaced."""
        write_atomically(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Signature:
        """Read a signature; anything that is not one is refused."""
        with naming_file(path):
            return cls.from_bytes(read_regular(path, WHAT, LARGEST))

    def to_bytes(self) -> bytes:
        """What `save` writes: JSON."""
        written = {
            "ostraka": FORMAT,
            "key": str(self.key),
            "signature": base64.b64encode(self.signed).decode("ascii"),
        }
        return canonical_json(written).encode("ascii") + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes) -> Signature:
        """The same from what came from anyone."""
        content = parse_json(data.decode("utf-8", "replace"), WHAT)
        if content.keys() != {"ostraka", "key", "signature"} or content["ostraka"] != FORMAT:
            raise FormatError(WHAT, f"it is not of the form {FORMAT!r}")
        try:
            signed = base64.b64decode(content["signature"], validate=True)
            return cls(PublicKey.parse(content["key"]), signed)
        except (TypeError, ValueError, AttributeError, binascii.Error):
            raise FormatError(WHAT, "its key or its signature is damaged") from None


def path_of(file: Path) -> Path:
    """Where the signature of a file stands."""
    return file.with_name(file.name + ".sig")


def _message(content: bytes) -> bytes:
    return b"ostraka file 1\n" + hashlib.sha256(content).hexdigest().encode("ascii")
