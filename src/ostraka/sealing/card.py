"""Who a server is: its name, the key that it signs with, and the key that others seal to.

The first key signs the second one and the name: nobody can put a key of their own beside somebody
else's. A card is public; whoever makes a poll writes the cards of both servers into it.

    file   JSON, one form for one card
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Final, Self, final

from ostraka.errors import FormatError, ParameterError, naming_file, printable
from ostraka.files import read_regular, write_new
from ostraka.sealing.envelope import PUBLIC_BYTES, Opener
from ostraka.signing import PublicKey, SecretKey
from ostraka.signing.keys import PREFIX
from ostraka.signing.statement import statement
from ostraka.tensors import canonical_json, parse_json

__all__ = ["Card", "Servers"]

FORMAT: Final = "card 1"
WHAT: Final = "card"
LONGEST_NAME: Final = 100
LARGEST: Final = 10_000


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One server."""

    name: str
    key: PublicKey
    sealing: bytes
    signature: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not printable("name", self.name, LONGEST_NAME):
            raise ParameterError("name", got="", allowed="how people call the server")
        if PREFIX in self.name.casefold() or set(self.name) & set("()"):
            allowed = "one that cannot pass for a key: people compare the key behind it"
            raise ParameterError("name", got=self.name, allowed=allowed)
        if len(self.sealing) != PUBLIC_BYTES:
            raise FormatError(WHAT, f"its sealing key has not {PUBLIC_BYTES} bytes")
        self.key.check(self.signature, _stated(self.name, self.sealing), what=WHAT)

    @classmethod
    def of(cls, name: str, secret: SecretKey) -> Self:
        """The card of whoever holds a secret key."""
        sealing = Opener.of(secret).public
        signature = secret.sign(_stated(name, sealing))
        return cls(name=name, key=secret.public, sealing=sealing, signature=signature)

    def __str__(self) -> str:
        return f"{self.name} ({self.key})"

    def to_json(self) -> dict[str, str]:
        """Plain values."""
        return {
            "name": self.name,
            "key": str(self.key),
            "sealing": self.sealing.hex(),
            "signature": self.signature.hex(),
        }

    @classmethod
    def from_json(cls, held: Any) -> Self:
        """The same from anyone."""
        known = {"name", "key", "sealing", "signature"}
        if not (isinstance(held, dict) and set(held) == known):
            raise FormatError(WHAT, "its entries are not those of a card")
        if not all(isinstance(text, str) for text in held.values()):
            raise FormatError(WHAT, "its entries are not texts")
        try:
            raw = {each: bytes.fromhex(held[each]) for each in ("sealing", "signature")}
        except ValueError:
            raise FormatError(WHAT, "its sealing key or signature is not hexadecimal") from None
        return cls(name=held["name"], key=PublicKey.parse(held["key"]), **raw)

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        return canonical_json({"ostraka": FORMAT, **self.to_json()}).encode("ascii") + b"\n"

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The same from anyone."""
        held = parse_json(data.decode("utf-8", "replace"), WHAT)
        if held.pop("ostraka", None) != FORMAT:
            raise FormatError(WHAT, f"it is not of the form {FORMAT!r}")
        made = cls.from_json(held)
        if made.to_bytes() != data:
            raise FormatError(WHAT, "it is written in another form")
        return made

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write it, for everybody."""
        write_new(path, self.to_bytes(), overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a card; anything that is not one is refused."""
        with naming_file(path):
            return cls.from_bytes(read_regular(path, WHAT, LARGEST))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """The two of whom one must be honest."""

    coordinator: Card
    trustee: Card

    def __post_init__(self) -> None:
        one, other = self.coordinator, self.trustee
        if one.key == other.key or one.sealing == other.sealing:
            allowed = "another server than the coordinator: one that holds both keys reads all"
            raise ParameterError("trustee", got=str(other), allowed=allowed)

    @property
    def names(self) -> tuple[str, str]:
        """Name and key of both, coordinator first."""
        return str(self.coordinator), str(self.trustee)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {"coordinator": self.coordinator.to_json(), "trustee": self.trustee.to_json()}

    @classmethod
    def from_json(cls, held: Any) -> Self:
        """The same from anyone."""
        if not (isinstance(held, dict) and set(held) == {"coordinator", "trustee"}):
            raise FormatError("servers", "they are not a coordinator and a trustee")
        return cls(**{role: Card.from_json(card) for role, card in held.items()})


def _stated(name: str, sealing: bytes) -> bytes:
    return statement("card 1", name.encode("utf-8"), sealing)
