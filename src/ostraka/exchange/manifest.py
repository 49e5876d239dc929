"""The frozen list of what a release counts: made and signed when a poll is closed.

It holds commitments, in their own order, and no names: a party finds its own by its receipt, and
nobody learns from it who took part. Everything that follows, the charge, the noise and the model,
is for exactly these contributions.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, field
from typing import Final, Self, final

from ostraka.errors import FormatError
from ostraka.signing import PublicKey, SecretKey
from ostraka.signing.statement import statement
from ostraka.tensors import canonical_json, parse_json

__all__ = ["Manifest"]

FORMAT: Final = "manifest 1"
WHAT: Final = "list of what counts"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What is counted."""

    poll: str
    commitments: tuple[bytes, ...] = field(repr=False)
    persons: int | None
    signature: bytes = field(repr=False)

    @classmethod
    def sign(
        cls, key: SecretKey, *, poll: str, commitments: list[bytes], persons: int | None
    ) -> Self:
        """The service's list."""
        listed = tuple(sorted(commitments))
        signature = key.sign(_counted(poll, listed, persons))
        return cls(poll=poll, commitments=listed, persons=persons, signature=signature)

    @property
    def parties(self) -> int:
        """How many are counted."""
        return len(self.commitments)

    def check(self, service: PublicKey) -> None:
        """Refuse a list that this service has not signed."""
        counted = _counted(self.poll, self.commitments, self.persons)
        service.check(self.signature, counted, what=WHAT)

    def counts(self, commitment: bytes) -> bool:
        """Whether a contribution is on the list."""
        return commitment in self.commitments

    def to_bytes(self) -> bytes:
        """JSON, one form for one list."""
        held = {
            "ostraka": FORMAT,
            "poll": self.poll,
            "persons": self.persons,
            "commitments": [each.hex() for each in self.commitments],
            "signature": self.signature.hex(),
        }
        return canonical_json(held).encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The same from anyone."""
        held = parse_json(data.decode("utf-8", "replace"), WHAT)
        if held.pop("ostraka", None) != FORMAT or set(held) != {
            "poll",
            "persons",
            "commitments",
            "signature",
        }:
            raise FormatError(WHAT, f"it is not of the form {FORMAT!r}")
        poll, persons, listed = held["poll"], held["persons"], held["commitments"]
        try:
            if not (isinstance(poll, str) and poll.isprintable() and _is_count(persons)):
                raise ValueError
            commitments = tuple(bytes.fromhex(each) for each in listed)
            signature = bytes.fromhex(held["signature"])
        except (TypeError, ValueError):
            raise FormatError(WHAT, "its entries are of other types") from None
        in_order = all(a < b for a, b in itertools.pairwise(commitments))
        if not in_order or any(len(each) != 32 for each in commitments):
            raise FormatError(WHAT, "its commitments are not in order, or not 32 bytes long")
        made = cls(poll=poll, commitments=commitments, persons=persons, signature=signature)
        if made.to_bytes() != data:
            raise FormatError(WHAT, "it is written in another form")
        return made


def _is_count(persons: object) -> bool:
    return persons is None or (type(persons) is int and 0 <= persons < 2**63)


def _counted(poll: str, listed: tuple[bytes, ...], persons: int | None) -> bytes:
    of_all = hashlib.sha256(b"".join(listed)).digest()
    numbers = len(listed), 0 if persons is None else persons + 1
    written = (each.to_bytes(8, "little") for each in numbers)
    return statement("manifest 1", poll.encode("utf-8"), *written, of_all)
