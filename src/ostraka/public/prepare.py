"""From a public table to an auxiliary set: the map to features that suits a method."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ostraka.errors import InputError
from ostraka.public.auxiliary import WHAT, AuxiliarySet
from ostraka.public.catalogue import entry
from ostraka.public.classes import ClassName, check_classes
from ostraka.public.columns import Columns, as_numbers, check_samples, is_table
from ostraka.public.describe import Description, describe_columns
from ostraka.public.numbers import Samples, is_sparse
from ostraka.public.preprocessing import Preprocessing
from ostraka.public.promise import plural
from ostraka.public.task import Task
from ostraka.public.whitening import half_whiten

__all__ = ["INTERCEPT", "numeric", "prepare"]

INTERCEPT = 0.5
QUANTILE = 0.95
LEAST_ROWS = 2


def prepare(
    samples: Samples,
    classes: Iterable[ClassName],
    method: str,
    *,
    columns: Columns | Description | None = None,
    radius: float | None = None,
    intercept: float = INTERCEPT,
    like: Task | None = None,
) -> AuxiliarySet:
    """The auxiliary set of PUBLIC samples, for a method.

    Args:
        samples: public rows.
        classes: the public list of classes.
        method: its name. Ours see half-whitened features; the paper's see standardised ones.
        columns: what the columns of a table are, or of some of them; None: as the table says.
        radius: for the paper's methods, a public bound on the length of samples instead of a scale.
        intercept: for the paper's methods, the value of a constant feature.
        like: the task of an earlier round; a second round must share its columns and its map.

    """
    check_samples(samples, WHAT)
    names = check_classes(classes)
    if like is not None:
        return AuxiliarySet(samples, names, preprocessing=like.preprocessing, columns=like.columns)
    if not isinstance(columns, Columns):
        described = columns is not None or is_table(samples)
        columns = describe_columns(samples, columns) if described else None
    encoded = numeric(samples) if columns is None else columns.encode(samples, WHAT)
    check_public(encoded)
    if entry(method).needs_auxiliary:
        fitted = half_whiten(encoded, len(names))
    elif radius is not None:
        fitted = Preprocessing(radius=radius, constant=intercept)
    else:
        fitted = Preprocessing.fit(encoded, intercept, standardise=True, quantile=QUANTILE)
    return AuxiliarySet(samples, names, preprocessing=fitted, columns=columns)


def numeric(samples: Any) -> Any:
    """Samples without a description as an array of numbers; sparse matrices as they are."""
    if is_sparse(samples):
        return samples
    return np.asarray(as_numbers(samples, WHAT), dtype=np.float64)


def check_public(encoded: Any) -> None:
    """Refuse public samples from which nothing can be learnt: too few, or all alike."""
    n = int(encoded.shape[0])
    if n < LEAST_ROWS:
        raise InputError(
            f"The auxiliary set has {plural('row', n)}: "
            "that says nothing about how samples differ.",
            "Give public samples like the private ones, some hundreds if you can; without any, "
            'method "avg" needs none.',
        )
    if not is_sparse(encoded) and (encoded == encoded[0]).all():
        raise InputError(
            "All rows of the auxiliary set are alike: that says nothing about how samples differ.",
            "Give public samples like the private ones.",
        )
