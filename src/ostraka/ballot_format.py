"""The ballot on the wire: a small fixed header, then the votes packed into as few bits as the number of classes needs.

    offset   bytes   meaning (numbers are little-endian)
    0        8       the letters OSTRAKON
    8        1       version
    9        4       K, the number of classes, at least 2
    13       8       N, the number of votes, at least 1
    21       32      digest of the auxiliary set
    53       rest    N votes of ⌈log₂K⌉ bits each, lowest bit first, without gaps; unused bits at the end are 0

Guarantee: reading never runs anything, never allocates more than a small multiple of the bytes at hand, and gives votes
below K or raises `FormatError`. Every ballot has exactly one form, so bytes that were read are written again unchanged.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import FormatError
from ostraka.foreign import foreign_kind

__all__ = ["BallotHeader", "Votes", "parse_header", "parse_votes", "vote_dtype", "write", "VERSION", "N_SAMPLES_BOUND"]

Votes: TypeAlias = NDArray[np.unsignedinteger[Any]]

# Rules for changing the format: any change in the meaning of a byte takes the next number. The reader of every
# published version stays, with a file of that version in the tests. The eight letters and the place of the version
# never change. Nothing that must be executed, looked up or decompressed to be understood is ever added.
VERSION = 1

MAGIC = b"OSTRAKON"
HEADER = struct.Struct("<8sBIQ32s")
N_SAMPLES_BOUND = 2**26
"""The longest ballot that is read unless the caller, who knows the poll, says otherwise."""

# A multiple of 8, so that every block of votes but the last ends on a whole byte, whatever the number of bits.
VOTES_PER_BLOCK = 2**16


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class BallotHeader:
    """What is known of a ballot before its votes are touched."""

    n_classes: int
    n_samples: int
    auxiliary_digest: str

    @property
    def bits_per_vote(self) -> int:
        """⌈log₂K⌉."""
        return (self.n_classes - 1).bit_length()

    @property
    def n_vote_bytes(self) -> int:
        """The exact length of what follows the header."""
        return -(-self.n_samples * self.bits_per_vote // 8)


def vote_dtype(n_classes: int) -> np.dtype[np.unsignedinteger[Any]]:
    """Give the smallest unsigned type that holds the indices of so many classes."""
    if n_classes <= 2**8:
        return np.dtype(np.uint8)
    return np.dtype(np.uint16) if n_classes <= 2**16 else np.dtype(np.uint32)


def write(header: BallotHeader, votes: Votes) -> bytes:
    """Give the bytes of a ballot whose header and votes were checked when it was made."""
    blocks = (votes[start : start + VOTES_PER_BLOCK] for start in range(0, votes.size, VOTES_PER_BLOCK))
    return opening(header) + b"".join(_packed(block, header.bits_per_vote) for block in blocks)


def opening(header: BallotHeader) -> bytes:
    """The bytes before the votes: the same for all ballots of a poll."""
    return HEADER.pack(MAGIC, VERSION, header.n_classes, header.n_samples, bytes.fromhex(header.auxiliary_digest))


def parse_header(data: bytes, *, n_samples_bound: int) -> BallotHeader:
    """Read and audit everything but the votes: after this, the length of the data is known to be right."""
    if not data.startswith(MAGIC):
        raise FormatError("ballot", _opening_problem(data))
    if len(data) < HEADER.size:
        raise FormatError("ballot", f"it has {len(data)} bytes, but the header alone has {HEADER.size}; it was cut off")
    _, version, n_classes, n_samples, digest = HEADER.unpack_from(data)
    if version != VERSION:
        raise FormatError("ballot", f"it has version {version}, but only version {VERSION} is known here")
    if n_classes < 2:
        raise FormatError("ballot", f"it has {n_classes} classes, but at least 2 are needed")
    if not 1 <= n_samples <= n_samples_bound:
        raise FormatError("ballot", f"it claims {n_samples} votes, but 1 to {n_samples_bound} are allowed")
    header = BallotHeader(n_classes=n_classes, n_samples=n_samples, auxiliary_digest=digest.hex())
    expected = HEADER.size + header.n_vote_bytes
    if len(data) != expected:
        problem = "cut off" if len(data) < expected else "followed by something else"
        raise FormatError("ballot", f"it has {len(data)} bytes, but its header promises {expected}; it is {problem}")
    return header


def parse_votes(header: BallotHeader, data: bytes) -> Votes:
    """Unpack and audit the votes of data whose header was parsed."""
    packed = np.frombuffer(data, dtype=np.uint8, offset=HEADER.size)
    n_unused = 8 * header.n_vote_bytes - header.n_samples * header.bits_per_vote
    if int(packed[-1]) >> (8 - n_unused):
        raise FormatError("ballot", "the unused bits of its last byte are not 0")
    bits = header.bits_per_vote
    if bits == 1:  # of one bit nothing can be wrong
        return np.unpackbits(packed, count=header.n_samples, bitorder="little")
    votes = np.empty(header.n_samples, dtype=vote_dtype(header.n_classes))
    for start in range(0, header.n_samples, VOTES_PER_BLOCK):
        block = votes[start : start + VOTES_PER_BLOCK]
        _unpack(packed[start * bits // 8 :], bits, block)
    highest = int(votes.max())
    if highest >= header.n_classes:
        raise FormatError("ballot", f"it holds class index {highest}, but there are only {header.n_classes} classes")
    return votes


def _opening_problem(data: bytes) -> str:
    if len(data) < len(MAGIC):
        return f"it has only {len(data)} bytes"
    kind = foreign_kind(data)
    if kind:
        return f"it begins like {kind}"
    return f"it does not begin with the letters {MAGIC.decode('ascii')}"


def _packed(votes: Votes, bits_per_vote: int) -> bytes:
    bits = np.empty((votes.size, bits_per_vote), dtype=np.uint8)
    for place in range(bits_per_vote):
        bits[:, place] = (votes >> place) & 1
    return np.packbits(bits, bitorder="little").tobytes()


def _unpack(packed: NDArray[np.uint8], bits_per_vote: int, votes: Votes) -> None:
    """Fill `votes` from the bytes that start with the first of them."""
    n_bits = votes.size * bits_per_vote
    bits = np.unpackbits(packed[: -(-n_bits // 8)], count=n_bits, bitorder="little").reshape(votes.size, bits_per_vote)
    votes[:] = bits[:, 0]
    for place in range(1, bits_per_vote):
        votes |= bits[:, place].astype(votes.dtype) << place
