"""The classes of a poll: a public, ordered list of names, and the way from names to indices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import ParameterError, UnknownClassError

__all__ = ["ClassName", "Indices", "ClassIndex", "check_classes"]

ClassName: TypeAlias = str | int
Indices: TypeAlias = NDArray[np.int64]

UNKNOWN = -1
ALLOWED_CLASSES = (
    "a list of at least two distinct names, either all printable texts or all integers of 64 bits"
)


def check_classes(classes: Iterable[Any]) -> tuple[ClassName, ...]:
    """Give the names as a tuple of Python values, or refuse them."""
    # A set has no order that two parties could agree on.
    if isinstance(classes, str | bytes | set | frozenset) or not isinstance(classes, Iterable):
        raise ParameterError("classes", got=classes, allowed=ALLOWED_CLASSES)
    names = tuple(name.item() if isinstance(name, np.generic) else name for name in classes)
    if (
        not (_all_texts(names) or _all_integers(names))
        or len(names) < 2
        or len(set(names)) < len(names)
    ):
        raise ParameterError("classes", got=names, allowed=ALLOWED_CLASSES)
    return names


def _all_texts(names: tuple[Any, ...]) -> bool:
    # Names are shown to people on terminals, so characters that move the cursor are refused.
    # (numpy also drops NULs at the end.)
    return all(isinstance(name, str) and name.isprintable() for name in names)


def _all_integers(names: tuple[Any, ...]) -> bool:
    # True == 1 for Python: bools among the names would collide with integers.
    return all(
        isinstance(name, int) and not isinstance(name, bool) and -(2**63) <= name < 2**63
        for name in names
    )


class ClassIndex:
    """From class names to their indices, many at a time."""

    def __init__(self, classes: tuple[ClassName, ...]) -> None:
        self.classes = classes
        self._by_name = {name: index for index, name in enumerate(classes)}
        names = np.asarray(classes)
        self._order = np.argsort(names)
        self._sorted = names[self._order]

    def of(self, labels: NDArray[Any]) -> Indices:
        """Give the index of each label, or `UnknownClassError` for the first that is no class."""
        of_texts = self._sorted.dtype.kind == "U"
        if of_texts and labels.dtype.kind == "U":
            indices = self._search(labels)
        elif not of_texts and labels.dtype.kind in "biuf":
            indices = self._search_exactly(labels)
        else:
            indices = np.fromiter(map(self._look_up, labels), np.int64, labels.size)
        unknown = np.flatnonzero(indices == UNKNOWN)
        if unknown.size:
            given = labels[unknown[0]]
            raise UnknownClassError(
                given.item() if isinstance(given, np.generic) else given, self.classes
            )
        return indices

    def _look_up(self, label: Any) -> int:
        try:
            return self._by_name.get(label, UNKNOWN)
        except TypeError:  # not hashable, so no name
            return UNKNOWN

    def _search(self, labels: NDArray[Any]) -> Indices:
        places = np.minimum(np.searchsorted(self._sorted, labels), self._sorted.size - 1)
        return np.where(self._sorted[places] == labels, self._order[places], UNKNOWN)

    def _search_exactly(self, labels: NDArray[Any]) -> Indices:
        # In 64-bit integers: as float64, two neighbouring large integers could become one.
        with np.errstate(invalid="ignore"):
            whole = labels.astype(np.int64)
        unchanged = (
            (whole == labels)
            if labels.dtype.kind == "f"
            else (whole >= 0) | (labels.dtype.kind != "u")
        )
        return np.where(unchanged, self._search(whole), UNKNOWN)
