"""One vector of whole numbers as two, modulo 2⁶⁴, each of which looks like chance.

    letter  name here   meaning
    q       vector      what a party would send to a coordinator that everybody trusts
    s       seed        32 random bytes
    t       expand(s)   the trustee's share: SHAKE256 of the seed, as numbers below 2⁶⁴
    c       –           q − t modulo 2⁶⁴: the coordinator's share

Guarantee (shares.proof.md): each share alone is uniformly distributed, whatever q is, as long as
SHAKE256 cannot be told from a random function. Sums of shares, and noise that is added to them,
come out modulo 2⁶⁴ exactly, in any order; a noisy sum that fits into 64 bits comes out as itself.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostraka.signing.statement import statement

__all__ = ["SEED_BYTES", "Share", "centre", "expand", "split", "wrap"]

SEED_BYTES: Final = 32
MODULUS: Final = 2**64

Share: TypeAlias = NDArray[np.uint64]


def split(vector: NDArray[Any]) -> tuple[bytes, Share]:
    """The seed of the trustee's share, and the coordinator's share."""
    seed = secrets.token_bytes(SEED_BYTES)
    return seed, wrap(vector) - expand(seed, len(vector))


def expand(seed: bytes, dimension: int) -> Share:
    """The share that a seed stands for."""
    stream = hashlib.shake_256(statement("share 1", seed)).digest(8 * dimension)
    return np.frombuffer(stream, dtype="<u8").astype(np.uint64)


def wrap(vector: Sequence[int] | NDArray[Any]) -> Share:
    """Whole numbers modulo 2⁶⁴."""
    if isinstance(vector, np.ndarray) and vector.dtype == np.int64:
        return vector.astype(np.uint64)
    return np.array([int(number) % MODULUS for number in vector], dtype=np.uint64)


def centre(share: Share) -> list[int]:
    """Numbers modulo 2⁶⁴ as those from −2⁶³ to 2⁶³ − 1."""
    return [int(number) for number in share.astype(np.uint64).view(np.int64)]
