"""A public table as arrays, the way a poll carries it.

Numbers stay as they are; texts are given by their place in a list.

Parties' own classifiers see it as a pandas table, because that is what they were trained on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import ShapeError
from ostraka.public.entries import GAP, read_numbers, read_texts, values_of

__all__ = ["StoredTable"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class StoredTable:
    """Columns by name: numbers with NaN for gaps, or places in a list of texts, −1 for gaps."""

    held: dict[str, NDArray[Any]]
    texts: dict[str, list[str]]

    def __post_init__(self) -> None:
        lengths = {len(array) for array in self.held.values()}
        if len(lengths) != 1:
            allowed = "one number for every row in each column"
            raise ShapeError("The columns of the table", got=sorted(lengths), allowed=allowed)
        for name, listing in self.texts.items():
            places = self.held[name]
            if places.ndim != 1 or not isinstance(listing, list):
                raise ValueError(f"the texts of its column {name!r} are damaged")
            inside = places.dtype == np.int64 and ((places >= -1) & (places < len(listing))).all()
            if not inside or not all(isinstance(text, str) for text in listing):
                raise ValueError(f"the texts of its column {name!r} are damaged")
        for name in set(self.held) - set(self.texts):
            if self.held[name].dtype != np.float64 or self.held[name].ndim != 1:
                raise ValueError(f"the numbers of its column {name!r} are damaged")

    @classmethod
    def of(cls, table: Any, names: Iterable[str]) -> StoredTable:
        """These columns of any table."""
        if isinstance(table, StoredTable):
            return table
        held: dict[str, NDArray[Any]] = {}
        texts: dict[str, list[str]] = {}
        for place, name in enumerate(names):
            column = table[:, place] if isinstance(table, np.ndarray) else table[name]
            values = values_of(column)
            if values.dtype.kind in "biuf":
                held[name] = read_numbers(values, "number")
                continue
            found = read_texts(values)
            texts[name] = sorted(set(found.tolist()) - {GAP})
            places = {text: place for place, text in enumerate(texts[name])}
            held[name] = np.array([places.get(text, -1) for text in found.tolist()], dtype=np.int64)
        return cls(held, texts)

    @property
    def columns(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.held)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(next(iter(self.held.values()))), len(self.held)

    @property
    def has_gaps(self) -> bool:
        """Whether a number is missing."""
        return any(
            np.isnan(array).any() for name, array in self.held.items() if name not in self.texts
        )

    def __getitem__(self, name: str) -> NDArray[Any]:
        array = self.held[name]
        if name not in self.texts:
            return array
        listing = np.array([*self.texts[name], None], dtype=object)
        found: NDArray[Any] = listing[array]
        return found

    def slice(self, start: int, length: int) -> Any:
        """Rows start:start+length as a pandas table."""
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "A classifier that votes on a table with texts or gaps sees it through pandas: "
                "pip install 'ostraka[cli]'"
            ) from None
        return pd.DataFrame({name: self[name][start : start + length] for name in self.columns})
