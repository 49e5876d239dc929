"""What people give to the estimator (arrays, tables, labels) in the form that the rest works with.

Nothing here keeps anything, and nothing is released: what is refused is refused before a poll begins.
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import LabelError
from ostraka.public.classes import ClassIndex, ClassName

__all__ = ["NUMBERS", "labelled", "length", "plain", "same_samples", "validate"]

NUMBERS: dict[str, Any] = {"accept_sparse": "csr", "dtype": np.float64}


def validate(estimator: Any, *arrays: Any, **options: Any) -> Any:
    """scikit-learn's own checks: a function since 1.6, a method before."""
    arrays = (_readable(arrays[0]), *arrays[1:])
    try:
        from sklearn.utils.validation import validate_data
    except ImportError:
        return estimator._validate_data(*arrays, **options)
    return validate_data(estimator, *arrays, **options)


def labelled(
    y: NDArray[Any], public: Iterable[ClassName] | None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The classes, from the public list or else from the labels, and the index of each label."""
    classes, labels = np.unique(y, return_inverse=True)
    if public is not None:
        classes = np.asarray(list(public))
        labels = ClassIndex(plain(classes)).of(y)
    if len(classes) < 2:
        raise LabelError(
            f"y holds {f'one class only, {classes[0]!r}' if len(classes) else 'no class'}.",
            "A classifier needs at least two; give classes=[...] if there are more.",
        )
    return classes, labels


def same_samples(auxiliary: Any, X: Any) -> bool:
    """Whether somebody gave the private samples as the public ones."""
    if auxiliary is X:
        return True
    both = isinstance(auxiliary, np.ndarray) and isinstance(X, np.ndarray)
    return both and auxiliary.shape == X.shape and bool(np.array_equal(auxiliary, X))


def plain(classes: NDArray[Any]) -> tuple[ClassName, ...]:
    """Class names as Python values; truth values and whole floats become integers."""
    names = classes.tolist()
    if classes.dtype.kind in "bf":
        names = [int(name) for name in names]
    return tuple(names)


def length(items: Iterable[Any]) -> int | None:
    """How many, where that is known beforehand."""
    return len(items) if isinstance(items, Sized) else None


def _readable(X: Any) -> Any:
    """Tables whose column names scikit-learn cannot read (polars 2 with scikit-learn up to 1.8) as pandas, where that is installed."""
    named = hasattr(X, "columns") and hasattr(X, "to_numpy") and not hasattr(X, "iloc")
    if named and find_spec("pandas") is not None:
        import pandas as pd

        return pd.DataFrame(X.to_numpy(), columns=list(X.columns))
    return X
