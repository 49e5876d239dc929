"""A service's word that a contribution has arrived, with which a party can find its own later.

A party keeps it together with the salt. If the list that the service publishes after closing does
not have the commitment, the receipt shows that the service has left something out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Self, final

from ostraka.errors import FormatError
from ostraka.exchange.upload import MOST_REVISIONS
from ostraka.signing import PublicKey, SecretKey
from ostraka.signing.statement import statement
from ostraka.tensors import canonical_json, parse_json

__all__ = ["Receipt"]

FORMAT: Final = "receipt 1"
WHAT: Final = "receipt"
LENGTHS: Final = {"commitment": 32, "signature": 64, "salt": 32}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """Which contribution of whom has arrived for what."""

    poll: str
    party: str
    revision: int
    commitment: bytes
    signature: bytes = field(repr=False)
    salt: bytes | None = field(default=None, repr=False)
    """Of whoever has it: it opens the commitment."""

    @classmethod
    def sign(
        cls, key: SecretKey, *, poll: str, party: str, revision: int, commitment: bytes
    ) -> Self:
        """The service's receipt."""
        signature = key.sign(_arrived(poll, party, revision, commitment))
        return cls(
            poll=poll, party=party, revision=revision, commitment=commitment, signature=signature
        )

    def check(self, service: PublicKey) -> None:
        """Refuse a receipt that this service has not given."""
        arrived = _arrived(self.poll, self.party, self.revision, self.commitment)
        service.check(self.signature, arrived, what=WHAT)

    def to_bytes(self) -> bytes:
        """JSON."""
        held = {
            "ostraka": FORMAT,
            "poll": self.poll,
            "party": self.party,
            "revision": self.revision,
            "commitment": self.commitment.hex(),
            "signature": self.signature.hex(),
        }
        if self.salt is not None:
            held["salt"] = self.salt.hex()
        return canonical_json(held).encode("ascii")

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The same from anyone."""
        held = parse_json(data.decode("utf-8", "replace"), WHAT)
        known = {"ostraka", "poll", "party", "revision", "commitment", "signature"}
        if held.pop("ostraka", None) != FORMAT or not known - {"ostraka"} <= set(held) <= known | {
            "salt"
        }:
            raise FormatError(WHAT, f"it is not of the form {FORMAT!r}")
        revision, texts = held.pop("revision"), held
        if type(revision) is not int or not all(type(text) is str for text in texts.values()):
            raise FormatError(WHAT, "its entries are of other types")
        named = texts["poll"].isprintable() and texts["party"].isprintable()
        if not (named and 0 <= revision <= MOST_REVISIONS):
            raise FormatError(WHAT, "its poll, its party or its revision is damaged")
        try:
            raw = {name: bytes.fromhex(texts[name]) for name in LENGTHS if name in texts}
        except ValueError:
            raise FormatError(WHAT, "its commitment or signature is not hexadecimal") from None
        if any(len(each) != LENGTHS[name] for name, each in raw.items()):
            raise FormatError(WHAT, "its commitment or signature has another length")
        return cls(poll=texts["poll"], party=texts["party"], revision=revision, **raw)


def _arrived(poll: str, party: str, revision: int, commitment: bytes) -> bytes:
    named = poll.encode("utf-8"), party.encode("utf-8")
    return statement("receipt 1", *named, revision.to_bytes(4, "little"), commitment)
