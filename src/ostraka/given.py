"""What people give to the estimator (arrays, tables, labels) in the form that the rest works with.

Nothing here keeps anything, and nothing is released: what is refused is refused before a poll
begins.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Iterable, Iterator, Sized
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from ostraka.errors import (
    EntryError,
    InputError,
    InputWarning,
    LabelError,
    ShapeError,
    WrongTypeError,
    list_names,
    place_of,
    warn_caller,
)
from ostraka.public.classes import ClassIndex, ClassName
from ostraka.public.columns import Columns, as_numbers, check_samples
from ostraka.public.numbers import is_sparse

__all__ = [
    "check_labels",
    "check_numbers",
    "index_labels",
    "length",
    "plain",
    "read_answers",
    "read_rows",
    "read_samples",
]

COMPLEX = (complex, np.complexfloating)
NUMBERS: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}


def read_rows(estimator: Any, X: Any, y: Any, columns: Columns | None) -> tuple[Any, NDArray[Any]]:
    """Rows to learn from as numbers, and labels.

    What one party's rows hold must not show, not even as a warning.
    """
    with _shows_nothing():
        check_labels(y)
        if estimator.classes is not None or estimator.start is not None:
            y = as_given(y)
        if columns is not None and columns.are_known and not is_sparse(X):
            rows = columns.encode(X, "X")
            y = _validate_labels(estimator, y, len(rows))
        else:
            # Who is on a roll may have no rows; so may all of them.
            least = 0 if estimator.roll is not None else 1
            check_numbers(X, "X")
            rows, y = _validate(estimator, X, y, ensure_min_samples=least, **NUMBERS)
    return rows, y


def read_answers(estimator: Any, X: Any, y: Any) -> tuple[Any, NDArray[np.int64]]:
    """Rows to evaluate the model on, as numbers, and the index of each class.

    As little may show of them as of rows to learn from.
    """
    with _shows_nothing():
        check_labels(y)
        least = 0 if estimator.roll is not None else 1
        samples = read_samples(estimator, X, ensure_min_samples=least)
        rows = estimator.release_.model.task.rows(samples, "X")
        return rows, index_labels(as_given(y), estimator.classes_)[1]


def read_samples(estimator: Any, X: Any, **options: Any) -> Any:
    """Samples to predict for.

    Tables by the model's own columns, others as scikit-learn checks them.
    """
    columns = estimator.release_.model.task.columns
    if columns is not None and columns.are_known:
        return X
    check_numbers(X, "X")
    return _validate(estimator, X, reset=False, **NUMBERS, **options)


def check_numbers(X: Any, what: str) -> None:
    """Refuse gaps and texts where nothing says what they mean, and paths, in words of our own.

    Scikit-learn refuses the rest.
    """
    if is_sparse(X):
        return
    check_samples(X, what)
    complex_ = False
    try:
        complex_ = as_numbers(X, what).dtype.kind == "c"
    except EntryError as error:
        complex_ = isinstance(error.entry, complex)
        if not (complex_ or isinstance(error.entry, dict | list | tuple)):
            raise
    except (TypeError, ValueError):
        complex_ = any(isinstance(entry, COMPLEX) for entry in np.asarray(X, dtype=object).flat)
    if complex_:  # scikit-learn's own words would show everybody's rows
        raise InputError(f"{what}: Complex data not supported.", "Give real numbers.")


def check_labels(y: Any) -> None:
    """Refuse gaps among the labels, or what only leads to them, in words of our own."""
    if isinstance(y, str | os.PathLike):
        raise WrongTypeError("y", y, "the classes themselves, one for each row of X: table[column]")
    labels = as_given(y)
    if np.asarray(y).dtype.kind == "c":  # scikit-learn's own words would show everybody's labels
        raise LabelError("y: Complex data not supported.", "Give whole numbers or texts.")
    if labels.ndim != 1 or labels.dtype.kind not in "fO":
        return
    gaps = np.flatnonzero([_is_gap(label) for label in labels.tolist()])
    if gaps.size:
        raise LabelError(
            f"y has gaps (NaN, or nothing), first in {place_of(gaps[0])}.",
            "Leave out rows whose class nobody knows.",
        )


def as_given(y: Any) -> NDArray[Any]:
    """Labels as an array. Those of a list stay what each is: numpy would give all of them one type,
    and beside a text somebody else's 1 would be "1".
    """
    if not isinstance(y, list | tuple) or len({type(label) for label in y}) < 2:
        return np.asarray(y)
    held = np.empty(len(y), dtype=object)
    held[:] = y
    return held


def _is_gap(label: Any) -> bool:
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas.NA will not say
        return True


def index_labels(
    y: NDArray[Any], public: Iterable[ClassName] | None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes, from the public list or else from the labels, and the index of each label."""
    if public is not None:
        classes = np.asarray(list(public))
        labels = ClassIndex(plain(classes)).of(y)
    else:
        with _shows_nothing():
            warnings.simplefilter("ignore", UserWarning)
            if len(y):
                check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        _warn_of_alike(classes.tolist())
    if len(classes) < 2:
        raise LabelError(
            f"The labels hold {_say_classes(classes)}.",
            "A classifier needs at least two. If there are more elsewhere, name them all: "
            "classes=[...] in Python, --classes on the command line.",
        )
    return classes, labels


@contextlib.contextmanager
def _shows_nothing() -> Iterator[None]:
    """No warning, and no trap of numpy's: one party's rows might spring it."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def _say_classes(classes: NDArray[Any]) -> str:
    return f"one class only, {classes.tolist()[0]!r}" if len(classes) else "no class"


def plain(classes: NDArray[Any]) -> tuple[ClassName, ...]:
    """Class names as Python values; truth values and whole floats become integers."""
    names = classes.tolist()
    if classes.dtype.kind in "bf":
        names = [int(name) for name in names]
    return tuple(names)


def length(items: Iterable[Any]) -> int | None:
    """How many, where that is known beforehand."""
    return len(items) if isinstance(items, Sized) else None


def _warn_of_alike(classes: list[Any]) -> None:
    """Say that classes read from the labels differ only in case or in blanks around them."""
    spellings: dict[str, list[Any]] = {}
    for name in classes:
        spellings.setdefault(str(name).strip().casefold(), []).append(name)
    alike = [name for names in spellings.values() if len(names) > 1 for name in names]
    if alike:
        warn_caller(
            f"Classes that look alike are taken for different ones: {list_names(alike)}. Write "
            "labels in one way, or give classes=[...].",
            InputWarning,
        )


def _validate(estimator: Any, *arrays: Any, **options: Any) -> Any:
    """scikit-learn's own checks: a function since 1.6, a method before."""
    arrays = (_readable(arrays[0]), *arrays[1:])
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:
        return estimator._validate_data(*arrays, **options)
    return validate_data(estimator, *arrays, **options)


def _validate_labels(estimator: Any, y: Any, n_rows: int) -> NDArray[Any]:
    """One label for each row, as scikit-learn has it, where the rows were read before."""
    labels: NDArray[Any] = _validate(estimator, "no_validation", y)
    if len(labels) != n_rows:
        raise ShapeError(
            "y", got=(len(labels),), allowed=f"({n_rows},), one class for each row of X"
        )
    return labels


def _readable(X: Any) -> Any:
    """Tables whose column names scikit-learn cannot read (polars 2 with scikit-learn up to 1.8) as
    pandas, where that is installed.
    """
    named = hasattr(X, "columns") and hasattr(X, "to_numpy") and not hasattr(X, "iloc")
    if named and find_spec("pandas") is not None:
        import pandas as pd

        return pd.DataFrame(X.to_numpy(), columns=list(X.columns))
    return X
