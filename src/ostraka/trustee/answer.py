"""What a trustee answers: the sum of its shares with its own noise, and whom it left out.

    tensor     meaning
    share      D numbers modulo 2⁶⁴

    metadata   `ostraka-answer`: JSON with the digests of poll and request, and the names of those
               whose envelopes do not open; `signature`: by the trustee that the poll names

Without the coordinator's half it looks like chance; with it, like the sum with noise.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Final, Self, final

import numpy as np

from ostraka.errors import FormatError, InputError
from ostraka.poll import Poll
from ostraka.sealing.shares import Share
from ostraka.signing import SecretKey
from ostraka.signing.statement import statement
from ostraka.tensors import canonical_json, parse_json, read_tensors, write_tensors
from ostraka.trustee.request import Request, servers_of

__all__ = ["Answer"]

FORMAT: Final = "answer 1"
WHAT: Final = "answer"


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Answer:
    """Signed by the trustee."""

    poll: str
    request: str
    left_out: tuple[str, ...]
    share: Share = field(repr=False)
    signature: bytes = field(repr=False)

    @classmethod
    def sign(
        cls, request: Request, left_out: tuple[str, ...], share: Share, secret: SecretKey
    ) -> Self:
        """The trustee's answer to a request."""
        asked = request.poll.digest, request.digest
        signature = secret.sign(_state(*asked, left_out, share))
        return cls(
            poll=asked[0], request=asked[1], left_out=left_out, share=share, signature=signature
        )

    @property
    def digest(self) -> str:
        """Of the file."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def check(self, poll: Poll, request: Request) -> None:
        """Refuse what is not this poll's trustee's answer to this very request."""
        stated = _state(self.poll, self.request, self.left_out, self.share)
        servers_of(poll).trustee.key.check(self.signature, stated, what=WHAT)
        if (self.poll, self.request) != (poll.digest, request.digest):
            raise InputError(
                "This is the answer to another request.",
                f"Give the one to the request {request.digest[:12]}..., or the request that was "
                "answered: a trustee answers once for each poll.",
            )
        strangers = set(self.left_out) - {entry.party for entry in request.entries}
        if strangers or self.share.shape != (poll.domain.dimension,):
            raise FormatError(WHAT, "it does not fit the request")

    def to_bytes(self) -> bytes:
        """The file."""
        held = {
            "ostraka": FORMAT,
            "poll": self.poll,
            "request": self.request,
            "left_out": list(self.left_out),
        }
        metadata = {"ostraka-answer": canonical_json(held), "signature": self.signature.hex()}
        return write_tensors({"share": self.share}, metadata)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The same from anyone."""
        tensors, metadata = read_tensors(data, WHAT)
        if set(metadata) != {"ostraka-answer", "signature"} or set(tensors) != {"share"}:
            raise FormatError(WHAT, "it is not of the form of an answer")
        held, share = parse_json(metadata["ostraka-answer"], WHAT), tensors["share"]
        if held.pop("ostraka", None) != FORMAT or set(held) != {"poll", "request", "left_out"}:
            raise FormatError(WHAT, f"it is not of the form {FORMAT!r}")
        names = held["left_out"]
        texts = [held["poll"], held["request"], *names] if isinstance(names, list) else [None]
        if not all(isinstance(text, str) and text.isprintable() for text in texts):
            raise FormatError(WHAT, "its entries are no texts that can be shown")
        if share.dtype != np.uint64 or share.ndim != 1:
            raise FormatError(WHAT, "its numbers are of another type")
        try:
            signature = bytes.fromhex(metadata["signature"])
        except ValueError:
            raise FormatError(WHAT, "its signature is not hexadecimal") from None
        made = cls(
            poll=held["poll"],
            request=held["request"],
            left_out=tuple(names),
            share=share,
            signature=signature,
        )
        if made.to_bytes() != data:
            raise FormatError(WHAT, "it is written in another form")
        return made


def _state(poll: str, request: str, left_out: tuple[str, ...], share: Share) -> bytes:
    names = canonical_json(list(left_out)).encode("ascii")
    of_share = hashlib.sha256(share.astype("<u8").tobytes()).digest()
    texts = poll.encode("utf-8"), request.encode("utf-8"), names
    return statement("answer 1", *texts, of_share)
