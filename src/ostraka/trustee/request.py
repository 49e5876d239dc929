"""What a coordinator asks of a trustee: who is in, frozen and signed.

    tensor      meaning
    poll        the poll's file
    names       the parties' names in UTF-8, one after the other, in order
    ends        where each of them ends
    persons     how many persons each has, where persons are protected
    envelopes   what each has sealed to the trustee, a row each
    digests     sha256 of each contribution as it was when this was made, a row each

    metadata    `ostraka-request`: 1; `signature`: by the coordinator that the poll names

Nothing in it can be read by the coordinator, but who took part.
"""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass, field
from typing import Any, Final, Self, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import FormatError, InputError
from ostraka.party.contribution import Contribution
from ostraka.party.names import read_canonical
from ostraka.party.sealed import FOR_TRUSTEE, seed_of
from ostraka.poll import Poll
from ostraka.public.promise import MOST_PARTIES
from ostraka.sealing import Servers
from ostraka.signing import SecretKey
from ostraka.signing.statement import statement
from ostraka.tensors import read_tensors, write_tensors

__all__ = ["Entry", "Request", "servers_of"]

FORMAT: Final = "1"
WHAT: Final = "request"
NAMED: Final = ("poll", "names", "envelopes", "digests")
DIGEST_BYTES: Final = 32


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """One party."""

    party: str
    persons: int | None
    envelope: bytes = field(repr=False)
    digest: bytes = field(repr=False)
    """Of the whole contribution: both halves of what is counted were sent together."""

    @classmethod
    def of(cls, given: Contribution) -> Self:
        """What is asked about a contribution."""
        digest = hashlib.sha256(given.to_bytes()).digest()
        return cls(given.party, given.n_persons, seed_of(given), digest)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Signed by the coordinator. `Request.sign` makes one."""

    poll: Poll
    entries: tuple[Entry, ...] = field(repr=False)
    signature: bytes = field(repr=False)

    def __post_init__(self) -> None:
        names = [entry.party for entry in self.entries]
        if not all(one < other for one, other in itertools.pairwise(names)):
            raise FormatError(WHAT, "its parties are not in order, each once")
        for entry in self.entries:
            _check(entry, self.poll)
        servers_of(self.poll).coordinator.key.check(self.signature, self._stated, what=WHAT)

    @classmethod
    def sign(cls, poll: Poll, entries: list[Entry], secret: SecretKey) -> Self:
        """The coordinator's request for these parties."""
        listed = tuple(sorted(entries, key=lambda entry: entry.party))
        return cls(poll=poll, entries=listed, signature=secret.sign(_state(poll, listed)))

    @property
    def digest(self) -> str:
        """By which an answer names it: of everything but the signature."""
        return hashlib.sha256(self._stated).hexdigest()

    @property
    def _stated(self) -> bytes:
        return _state(self.poll, self.entries)

    def to_bytes(self) -> bytes:
        """The file."""
        names = [entry.party.encode("utf-8") for entry in self.entries]
        sizes = np.array([len(name) for name in names], dtype=np.int64)
        tensors: dict[str, NDArray[Any]] = {
            "poll": _bytes(self.poll.to_bytes()),
            "names": _bytes(b"".join(names)),
            "ends": np.cumsum(sizes, dtype=np.int64),
            "envelopes": _bytes(b"".join(entry.envelope for entry in self.entries)),
            "digests": _bytes(b"".join(entry.digest for entry in self.entries)),
        }
        if self.poll.promise.protects == "person":
            persons = [entry.persons or 0 for entry in self.entries]
            tensors["persons"] = np.array(persons, dtype=np.int64)
        metadata = {"ostraka-request": FORMAT, "signature": self.signature.hex()}
        return write_tensors(tensors, metadata)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The same from anyone."""
        tensors, metadata = read_tensors(data, WHAT)
        if set(metadata) != {"ostraka-request", "signature"} or (
            metadata["ostraka-request"] != FORMAT
        ):
            raise FormatError(WHAT, f"its metadata is not that of a request of format {FORMAT}")
        try:
            signature = bytes.fromhex(metadata["signature"])
            raw = {name: tensors[name].tobytes() for name in NAMED}
            ends = tensors["ends"]
        except (KeyError, ValueError):
            raise FormatError(WHAT, "a part of it is missing") from None
        poll = Poll.from_bytes(raw["poll"])
        entries = _entries(raw, ends, tensors.get("persons"))
        made = cls(poll=poll, entries=entries, signature=signature)
        if made.to_bytes() != data:
            raise FormatError(WHAT, "it holds more than a request, or in another form")
        return made


def servers_of(poll: Poll) -> Servers:
    """The two servers of a sealed poll."""
    servers = poll.promise.servers
    if servers is None:
        raise InputError(
            "This poll has no trustee: parties trust its coordinator alone.",
            "Make one with a trustee: ostraka poll create ... --trustee CARD.",
        )
    return servers


def _state(poll: Poll, entries: tuple[Entry, ...]) -> bytes:
    """What is signed: a digest of everything, framed so that it can be read in one way only."""
    found = hashlib.sha256()
    for entry in entries:
        persons = 0 if entry.persons is None else entry.persons + 1
        framed = entry.party.encode("utf-8"), persons.to_bytes(8, "little")
        found.update(statement("entry 1", *framed, entry.envelope, entry.digest))
    size = len(entries).to_bytes(8, "little")
    return statement("request 1", bytes.fromhex(poll.digest), size, found.digest())


def _check(entry: Entry, poll: Poll) -> None:
    of_persons = poll.promise.protects == "person"
    sizes = len(entry.envelope), len(entry.digest)
    if sizes != (FOR_TRUSTEE, DIGEST_BYTES) or of_persons is not (entry.persons is not None):
        raise FormatError(WHAT, f"its entry of party {entry.party} is damaged")
    if poll.roll is not None and entry.party not in poll.roll:
        raise FormatError(WHAT, f"party {entry.party} is not on the poll's roll")


def _entries(
    raw: dict[str, bytes], ends: NDArray[Any], persons: NDArray[Any] | None
) -> tuple[Entry, ...]:
    flat = [each for each in (ends, persons) if each is not None]
    if not all(each.ndim == 1 and each.dtype == np.int64 for each in flat):
        raise FormatError(WHAT, "its numbers are of another type")
    counts = [None] * len(ends) if persons is None else persons.tolist()
    in_order = bool((np.diff(ends, prepend=0) > 0).all())
    whole = len(ends) == 0 or int(ends[-1]) == len(raw["names"])
    if not (in_order and whole and len(counts) == len(ends)):
        raise FormatError(WHAT, "its parts do not fit together")
    sizes = {"envelopes": FOR_TRUSTEE, "digests": DIGEST_BYTES}
    if any(len(raw[name]) != size * len(ends) for name, size in sizes.items()):
        raise FormatError(WHAT, "it has not one envelope and one digest for each party")
    if not all(n is None or 0 <= n <= MOST_PARTIES for n in counts):
        raise FormatError(WHAT, "a number of persons is impossible")
    entries, start = [], 0
    for place, (end, n) in enumerate(zip(ends.tolist(), counts, strict=True)):
        envelope, digest = (
            raw[name][size * place : size * (place + 1)] for name, size in sizes.items()
        )
        entries.append(Entry(read_canonical(raw["names"][start:end], WHAT), n, envelope, digest))
        start = end
    return tuple(entries)


def _bytes(data: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(data, dtype=np.uint8)
