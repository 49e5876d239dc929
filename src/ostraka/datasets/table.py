"""Samples, with labels and parties if they were asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from numpy.typing import NDArray

__all__ = ["Table"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """What a file or a folder holds."""

    samples: Any
    """A pandas DataFrame as it was written, an array or a sparse matrix."""
    labels: NDArray[Any] | None = None
    parties: NDArray[Any] | None = None
    roll: tuple[str, ...] | None = None
    """For a folder: every party that has a file, with rows or without."""
    unused: tuple[str, ...] = ()
    """Columns that are there, but were not asked for."""

    def __len__(self) -> int:
        return int(self.samples.shape[0])
