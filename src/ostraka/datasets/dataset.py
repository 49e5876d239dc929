"""What a data set is: samples and classes to learn from, and others to measure on.

    code name   meaning
    samples     rows as published, not scaled: scaling is fitted on auxiliary samples, elsewhere
    labels      the class of each row, as an index into the data set's `classes`
    sources     who or what a row came from, where that is known: the natural parties
    repeats     how often a distinct row occurs in the file, where only distinct rows are kept

Everything is checked when it is made, and arrays are read-only: many trials share a data set, and
none may change it for the next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import InputError, LabelError, ShapeError
from ostraka.public.numbers import Samples, is_sparse

__all__ = ["Dataset", "Labelled"]

Vector = NDArray[Any]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """Samples with their classes.

    Args:
        samples: a dense array of float32 or float64, or a scipy csr matrix of them.
        labels: class indices, one per row.
        sources: the natural party of each row.
        repeats: how often each row occurs in the file. None: once each.

    """

    samples: Samples
    labels: NDArray[np.int64]
    sources: NDArray[Any] | None = None
    repeats: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples", _check_samples(self.samples))
        for name in ("labels", "sources", "repeats"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, self._one_per_row(name, given))
        self._check_whole("labels", self.labels, least=0)
        if self.repeats is not None:
            self._check_whole("repeats", self.repeats, least=1)

    def __len__(self) -> int:
        return int(self.samples.shape[0])

    @property
    def n_rows(self) -> int:
        """Rows of the file, repetitions included."""
        return len(self) if self.repeats is None else int(self.repeats.sum())

    def _one_per_row(self, name: str, given: Any) -> Vector:
        array = np.asarray(given)
        if array.shape != (len(self),):
            raise ShapeError(
                name, got=array.shape, allowed=f"({len(self)},), one entry per row of the samples"
            )
        return _read_only(array)

    @staticmethod
    def _check_whole(name: str, array: Vector, least: int) -> None:
        if array.dtype != np.int64:
            raise LabelError(
                f"The {name} are of type {array.dtype}.", "Give whole numbers, as int64."
            )
        low = int(array.min(initial=least))
        if low < least:
            raise LabelError(f"The {name} go down to {low}.", f"The least allowed is {least}.")


@final
@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Dataset:
    """A task: what to learn from, and what to measure on."""

    name: str
    classes: tuple[str, ...]
    train: Labelled
    test: Labelled

    def __post_init__(self) -> None:
        if len(self.classes) < 2 or len(set(self.classes)) < len(self.classes):
            raise InputError(
                f"{self.name} has the classes {', '.join(self.classes) or '(none)'}.",
                "Give a table with at least two different classes.",
            )
        columns = (self.train.samples.shape[1], self.test.samples.shape[1])
        if columns[0] != columns[1]:
            raise ShapeError(
                f"The training and test samples of {self.name}",
                got=f"{columns} columns",
                allowed="the same columns",
            )
        for part, labelled in (("training", self.train), ("test", self.test)):
            high = int(labelled.labels.max(initial=0))
            if high >= len(self.classes):
                raise LabelError(
                    f"The {part} labels of {self.name} go up to {high}.",
                    f"With {len(self.classes)} classes, {len(self.classes) - 1} is the last.",
                )


def _check_samples(samples: Samples) -> Samples:
    kind = getattr(samples, "dtype", None)
    if kind not in (np.float32, np.float64):
        raise InputError(
            f"The samples are of type {kind or type(samples).__name__}.",
            "Give an array or csr matrix of float32 or float64.",
        )
    if len(samples.shape) != 2 or samples.shape[1] < 1:
        raise ShapeError(
            "The samples",
            got=tuple(samples.shape),
            allowed="two dimensions (rows, columns) with at least one column",
        )
    if not is_sparse(samples):
        return _read_only(samples)
    if samples.format != "csr":
        raise InputError(
            f"The samples are a sparse matrix in {samples.format} format.",
            "Give csr, which can be cut into rows: samples.tocsr().",
        )
    return samples


def _read_only(array: Vector) -> Vector:
    """A view, so that the caller's own array stays as it was."""
    view = array.view()
    view.flags.writeable = False
    return view
