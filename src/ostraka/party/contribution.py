"""What one party sends, and its form on disk and on the wire.

    kind        what it holds
    VECTOR      whole numbers on the poll's lattice: a few hundred, which a party may look at
    BALLOT      one class index per auxiliary sample
    VECTORS     the exact sum of its persons' vectors, and how many persons there are
    BALLOTS     the counts of its persons' votes, and how many persons there are
    CLASSIFIER  a classifier file (ONNX, skops), if the auxiliary set is private
    SEALED      a VECTOR in two halves, sealed to two servers (`sealed.py`)
    SEALED_SUM  the same of VECTORS

    offset   bytes   meaning (numbers are little-endian)
    0        8       the letters OSTRAKON
    8        1       version, 2
    9        1       kind
    10       32      digest of the poll
    42       8       n, the number of entries (bytes for a classifier, and of what is sealed)
    50       4       K, the number of classes, for votes; otherwise 0
    54       8       how many persons; otherwise 0
    62       2       length of the party's name in UTF-8, then the name
    ...      rest    VECTOR: n times 4 bytes; VECTORS, BALLOTS: n times 8 bytes;
                     CLASSIFIER, SEALED, SEALED_SUM: n bytes; BALLOT: n votes of ⌈log₂K⌉ bits,
                     lowest bit first, unused bits 0

Guarantee: reading never runs anything, never allocates more than a small multiple of the bytes at
hand, and gives a contribution or raises `FormatError`. Every contribution has exactly one form.

A contribution is private data: its `repr` does not show the numbers, and its bytes belong on a
protected channel to the coordinator. A digest of them would reveal as much as they do. (What is
sealed may be seen by anybody who has not both servers' keys.)
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import FormatError, ParameterError, naming_file
from ostraka.files import foreign_kind, read_regular, write_new
from ostraka.party.names import LONGEST_NAME, canonical, read_canonical
from ostraka.public.promise import MOST_PARTIES

__all__ = ["HEADER", "Contribution", "Kind", "payload_bytes", "vote_dtype"]

# Any change in the meaning of a byte takes the next number; readers of published versions stay,
# each with a file in the tests. (Version 1 was a ballot without a party and a poll.)
VERSION = 2
MAGIC = b"OSTRAKON"
HEADER = struct.Struct("<8sBB32sQIQH")
LARGEST_FILE = 2**31
# A multiple of 8, so that every block of votes but the last ends on a whole byte.
VOTES_PER_BLOCK = 2**16


@final
class Kind(IntEnum):
    """What a contribution holds."""

    VECTOR = 1
    BALLOT = 2
    VECTORS = 3
    BALLOTS = 4
    CLASSIFIER = 5
    SEALED = 6
    SEALED_SUM = 7


OF_PERSONS = (Kind.VECTORS, Kind.BALLOTS, Kind.SEALED_SUM)
OF_BYTES = (Kind.CLASSIFIER, Kind.SEALED, Kind.SEALED_SUM)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Contribution:
    """One party's contribution to one poll.

    `values`: int64 numbers (VECTOR, VECTORS), votes in the smallest unsigned type (BALLOT), counts
    of shape (N, K) (BALLOTS), the bytes of a file (CLASSIFIER) or of envelopes (SEALED...).
    """

    poll: str
    party: str
    kind: Kind
    values: NDArray[Any] = field(repr=False)
    n_classes: int = 0
    n_persons: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "party", canonical(self.party))
        object.__setattr__(self, "kind", Kind(self.kind))
        if not (len(self.poll) == 64 and set(self.poll) <= set("0123456789abcdef")):
            raise ParameterError("poll", got=self.poll, allowed="its digest, 64 hexadecimal digits")
        if self.of_votes is not (self.n_classes >= 2):
            raise ParameterError(
                "n_classes", got=self.n_classes, allowed="2 or more, for votes alone"
            )
        if self.of_persons is not (self.n_persons is not None):
            raise ParameterError(
                "n_persons", got=self.n_persons, allowed="a number, for sums alone"
            )
        if self.n_persons is not None and not 0 <= self.n_persons <= MOST_PARTIES:
            raise ParameterError("n_persons", got=self.n_persons, allowed=f"0 to {MOST_PARTIES}")
        object.__setattr__(self, "values", _check_values(self))

    @property
    def of_votes(self) -> bool:
        """Whether it holds votes."""
        return self.kind in (Kind.BALLOT, Kind.BALLOTS)

    @property
    def of_persons(self) -> bool:
        """Whether it is a sum over persons."""
        return self.kind in OF_PERSONS

    @property
    def is_sealed(self) -> bool:
        """Whether nobody alone can read it."""
        return self.kind in (Kind.SEALED, Kind.SEALED_SUM)

    def to_bytes(self) -> bytes:
        """The contribution in the form that the module describes."""
        name = self.party.encode("utf-8")
        header = HEADER.pack(
            MAGIC,
            VERSION,
            self.kind,
            bytes.fromhex(self.poll),
            self.values.size,
            self.n_classes,
            self.n_persons or 0,
            len(name),
        )
        return header + name + _payload(self)

    @classmethod
    def from_bytes(cls, data: bytes | bytearray | memoryview) -> Contribution:
        """Read bytes from an untrusted sender; `FormatError` unless they are a contribution."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise FormatError("contribution", f"it is of type {type(data).__name__}, not bytes")
        received = bytes(data)
        fields, size = _parse_header(received)
        payload = received[
            len(received) - payload_bytes(fields["kind"], size, fields["n_classes"]) :
        ]
        values = _parse_values(fields["kind"], payload, size, fields["n_classes"])
        try:
            return cls(values=values, **fields)
        except ParameterError as error:
            problem = f"{error.problem.removesuffix('.')}, but {error.allowed}"
            raise FormatError("contribution", problem) from None

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write it to a file; an interrupted write leaves whatever was there before.

        Another file of that name is replaced only if `overwrite` says so.
        """
        write_new(path, self.to_bytes(), overwrite=overwrite)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Contribution:
        """Read a contribution; anything that is not one is refused."""
        with naming_file(path):
            return cls.from_bytes(read_regular(path, "contribution", LARGEST_FILE))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Contribution) and self.to_bytes() == other.to_bytes()

    def __repr__(self) -> str:
        return f"Contribution(party={self.party!r}, kind={self.kind.name}, poll={self.poll[:12]!r})"

    def __hash__(self) -> int:
        return hash(self.to_bytes())


def vote_dtype(n_classes: int) -> np.dtype[np.unsignedinteger[Any]]:
    """The smallest unsigned type that holds the indices of this many classes."""
    if n_classes <= 2**8:
        return np.dtype(np.uint8)
    return np.dtype(np.uint16) if n_classes <= 2**16 else np.dtype(np.uint32)


def _check_values(given: Contribution) -> NDArray[Any]:
    """A read-only copy of the values, in the type of their kind."""
    values = np.asarray(given.values)
    if values.dtype.kind not in "iu":
        raise ParameterError("values", got=values.dtype, allowed="whole numbers")
    shape = (-1, given.n_classes) if given.kind is Kind.BALLOTS else (-1,)
    if values.size < 1 or (given.kind is Kind.BALLOTS and values.size % given.n_classes):
        raise ParameterError("values", got=values.shape, allowed="at least one, the same per class")
    if given.kind is Kind.BALLOT:
        kind: np.dtype[Any] = vote_dtype(given.n_classes)
        if not (int(values.min()) >= 0 and int(values.max()) < given.n_classes):
            got = f"votes from {values.min()} to {values.max()}"
            raise ParameterError("values", got=got, allowed=f"indices below {given.n_classes}")
    else:
        kind = np.dtype(np.uint8 if given.kind in OF_BYTES else np.int64)
    copied = values.astype(kind).reshape(shape)
    if given.kind is Kind.VECTOR and not (copied.min() > -(2**31) and copied.max() < 2**31):
        raise ParameterError("values", got="a number of more than 31 bits", allowed="shorter ones")
    copied.flags.writeable = False
    return copied


def _payload(given: Contribution) -> bytes:
    if given.kind is Kind.BALLOT:
        votes, bits = given.values, (given.n_classes - 1).bit_length()
        starts = range(0, votes.size, VOTES_PER_BLOCK)
        return b"".join(_pack(votes[i : i + VOTES_PER_BLOCK], bits) for i in starts)
    return given.values.astype(_PAYLOADS[given.kind]).tobytes()


_PAYLOADS = {
    Kind.VECTOR: "<i4",
    Kind.VECTORS: "<i8",
    Kind.BALLOTS: "<i8",
    **dict.fromkeys(OF_BYTES, "u1"),
}


def payload_bytes(kind: Kind, size: int, n_classes: int) -> int:
    """How many bytes this many values take."""
    if kind is Kind.BALLOT:
        return -(-size * (n_classes - 1).bit_length() // 8)
    return size * np.dtype(_PAYLOADS[kind]).itemsize


def _parse_header(data: bytes) -> tuple[dict[str, Any], int]:
    """Everything but the values, and how many there are; checks that the length is right."""
    if not data.startswith(MAGIC):
        raise FormatError("contribution", _opening_problem(data))
    if len(data) < HEADER.size:
        problem = (
            f"it has {len(data)} bytes, but its header alone has {HEADER.size}; it was cut off"
        )
        raise FormatError("contribution", problem)
    _, version, kind, poll, size, n_classes, n_persons, n_name = HEADER.unpack_from(data)
    if version != VERSION:
        problem = f"it has version {version}, but only version {VERSION} is known here"
        raise FormatError("contribution", problem)
    if kind not in set(Kind):
        raise FormatError("contribution", f"it is of an unknown kind, {kind}")
    kind = Kind(kind)
    if (kind in (Kind.BALLOT, Kind.BALLOTS)) is not (n_classes >= 2) or n_name > 4 * LONGEST_NAME:
        raise FormatError("contribution", "its header contradicts itself")
    if n_persons and kind not in OF_PERSONS:
        raise FormatError("contribution", "its header contradicts itself")
    expected = HEADER.size + n_name + payload_bytes(kind, size, n_classes)
    if len(data) != expected:
        problem = "cut off" if len(data) < expected else "followed by something else"
        raise FormatError(
            "contribution",
            f"it has {len(data)} bytes, but its header promises {expected}; it is {problem}",
        )
    fields = {
        "poll": poll.hex(),
        "party": read_canonical(data[HEADER.size : HEADER.size + n_name], "contribution"),
        "kind": kind,
        "n_classes": n_classes,
        "n_persons": n_persons if kind in OF_PERSONS else None,
    }
    return fields, size


def _parse_values(kind: Kind, payload: bytes, size: int, n_classes: int) -> NDArray[Any]:
    if kind is not Kind.BALLOT:
        return np.frombuffer(payload, dtype=_PAYLOADS[kind])
    bits, packed = (n_classes - 1).bit_length(), np.frombuffer(payload, dtype=np.uint8)
    n_unused = 8 * packed.size - size * bits
    if packed.size and int(packed[-1]) >> (8 - n_unused):
        raise FormatError("contribution", "the unused bits of its last byte are not 0")
    votes = np.empty(size, dtype=vote_dtype(n_classes))
    for start in range(0, size, VOTES_PER_BLOCK):
        _unpack(packed[start * bits // 8 :], bits, votes[start : start + VOTES_PER_BLOCK])
    return votes


def _opening_problem(data: bytes) -> str:
    if len(data) < len(MAGIC):
        return f"it has only {len(data)} bytes"
    kind = foreign_kind(data)
    return f"it begins like {kind}" if kind else f"it does not begin with {MAGIC.decode('ascii')}"


def _pack(votes: NDArray[Any], bits_per_vote: int) -> bytes:
    bits = np.empty((votes.size, bits_per_vote), dtype=np.uint8)
    for place in range(bits_per_vote):
        bits[:, place] = (votes >> place) & 1
    return np.packbits(bits, bitorder="little").tobytes()


def _unpack(packed: NDArray[np.uint8], bits_per_vote: int, votes: NDArray[Any]) -> None:
    """Fill `votes` from the bytes that start with the first vote."""
    n_bits = votes.size * bits_per_vote
    needed = packed[: -(-n_bits // 8)]
    bits = np.unpackbits(needed, count=n_bits, bitorder="little").reshape(votes.size, bits_per_vote)
    votes[:] = bits[:, 0]
    for place in range(1, bits_per_vote):
        votes |= bits[:, place].astype(votes.dtype) << place
