"""What a party sends where neither of two servers may read it.

    offset   bytes   meaning
    0        80      an envelope to the trustee: the seed of its share
    80       rest    an envelope to the coordinator: its share, D numbers of 8 bytes, little-endian

These are the values of a contribution of kind SEALED (or SEALED_SUM, of a holder's persons), whose
header names poll, party and persons in the clear; all of that is bound into both envelopes.

Guarantee (sealed.proof.md): whoever has one server's key alone learns nothing of the vector. That
it lies in its ball nobody can check; a party that is not bounded can spoil a model, and cannot
touch what is promised to others.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ostraka.errors import FormatError, SealError
from ostraka.party.contribution import Contribution, Kind
from ostraka.sealing import Opener, Sealed, Servers
from ostraka.sealing.envelope import OVERHEAD, Purpose
from ostraka.sealing.shares import SEED_BYTES, Share, expand, split

__all__ = ["FOR_TRUSTEE", "open_seed", "open_share", "seal", "sealed_bytes", "seed_of"]

COORDINATOR, TRUSTEE = "coordinator", "trustee"
FOR_TRUSTEE: Final = OVERHEAD + SEED_BYTES


def seal(plain: Contribution, servers: Servers) -> Contribution:
    """The same contribution in two halves, one for each server."""
    kind = {Kind.VECTOR: Kind.SEALED, Kind.VECTORS: Kind.SEALED_SUM}.get(plain.kind)
    if kind is None:
        raise FormatError("contribution", "only vectors of whole numbers can be sealed")
    seed, share = split(plain.values)
    envelopes = (
        Sealed.to(servers.trustee.sealing, seed, _purpose(plain, TRUSTEE)),
        Sealed.to(servers.coordinator.sealing, _to_bytes(share), _purpose(plain, COORDINATOR)),
    )
    return Contribution(
        poll=plain.poll,
        party=plain.party,
        kind=kind,
        values=np.frombuffer(b"".join(envelopes), dtype=np.uint8),
        n_persons=plain.n_persons,
    )


def sealed_bytes(dimension: int) -> int:
    """How many bytes both envelopes have."""
    return FOR_TRUSTEE + OVERHEAD + 8 * dimension


def seed_of(given: Contribution) -> bytes:
    """The envelope to the trustee."""
    return given.values[:FOR_TRUSTEE].tobytes()


def open_share(given: Contribution, opener: Opener, dimension: int) -> Share:
    """The coordinator's share."""
    if given.values.size != sealed_bytes(dimension):
        raise SealError(given.party, COORDINATOR)
    message = opener.open(given.values[FOR_TRUSTEE:].tobytes(), _purpose(given, COORDINATOR))
    return np.frombuffer(message, dtype="<u8").astype(np.uint64)


def open_seed(
    envelope: bytes, opener: Opener, dimension: int, *, poll: str, party: str, persons: int | None
) -> Share:
    """The trustee's share."""
    purpose = Purpose(role=TRUSTEE, poll=poll, party=party, persons=persons)
    seed = opener.open(envelope, purpose)
    if len(seed) != SEED_BYTES:
        raise SealError(party, TRUSTEE)
    return expand(seed, dimension)


def _purpose(given: Contribution, role: str) -> Purpose:
    return Purpose(role=role, poll=given.poll, party=given.party, persons=given.n_persons)


def _to_bytes(share: Share) -> bytes:
    return share.astype("<u8").tobytes()
