"""The sum of one server's shares, modulo 2⁶⁴.

Guarantee: exact, in any order. It tells nothing of what parties have sent, until the other server's
sum is added to it, which has noise by then.
"""

from __future__ import annotations

from typing import final

import numpy as np

from ostraka.errors import InputError, ShapeError
from ostraka.sealing.shares import Share

__all__ = ["ShareSum"]


@final
class ShareSum:
    """Adds shares up."""

    __slots__ = ("_total", "is_complete")

    def __init__(self, dimension: int) -> None:
        self._total = np.zeros(dimension, dtype=np.uint64)
        self.is_complete = False
        """Whether the other server's noisy sum is in it."""

    @property
    def total(self) -> Share:
        """The sum."""
        return self._total.copy()

    def add(self, share: Share) -> None:
        """Add one more share."""
        self._check(share)
        self._total += share

    def complete(self, noisy: Share) -> None:
        """Add the noisy sum of the other server's shares."""
        if self.is_complete:
            raise InputError("The trustee's answer was added already.", "It counts once.")
        self.add(noisy)
        self.is_complete = True

    def _check(self, share: Share) -> None:
        if share.dtype != np.uint64 or share.shape != self._total.shape:
            allowed = f"{self._total.shape}, numbers of 64 bits without a sign"
            raise ShapeError("The share", got=share.shape, allowed=allowed)
