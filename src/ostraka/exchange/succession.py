"""A service's word that another key takes the place of its own, for those who know it by the old.

Guarantee: whoever follows from a key that they know ends at a key for which each one on the way has
signed the next. A key that was stolen vouches for nobody: it has no such word, so nobody follows
from it, and people join anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self, final

from ostraka.errors import SignatureError
from ostraka.signing import PublicKey, SecretKey
from ostraka.signing.statement import statement

__all__ = ["Succession", "follow"]


@final
@dataclass(frozen=True, slots=True)
class Succession:
    """One key, and the one after it."""

    old: PublicKey
    new: PublicKey
    signature: bytes = field(repr=False)

    @classmethod
    def sign(cls, old: SecretKey, new: PublicKey) -> Self:
        """The old key's word for the new one."""
        return cls(old.public, new, old.sign(_succeeds(old.public, new)))

    def check(self) -> None:
        """Refuse a word that the old key has not given."""
        self.old.check(self.signature, _succeeds(self.old, self.new), what="change of keys")


def follow(known: PublicKey, current: PublicKey, links: Sequence[Succession]) -> list[PublicKey]:
    """The keys from one that is known to the one that a service has now, both included."""
    way, after = [known], {link.old: link for link in links}
    while way[-1] != current:
        link = after.get(way[-1])
        if link is None or link.new in way:
            raise SignatureError(
                "The service has another key than when you joined, and the old one does not vouch "
                "for it.",
                "Ask the coordinator whether the key was replaced, by a way that you trust. If it "
                "was, join again with a new code: ostraka join ADDRESS CODE --again. If not, "
                "somebody stands between you and the service.",
            )
        link.check()
        way.append(link.new)
    return way


def _succeeds(old: PublicKey, new: PublicKey) -> bytes:
    return statement("succession 1", old.raw, new.raw)
