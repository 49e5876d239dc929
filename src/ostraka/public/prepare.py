"""From a public table to an auxiliary set: the map to features that suits a method."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.catalogue import entry
from ostraka.public.classes import ClassName, checked_classes
from ostraka.public.preprocessing import Preprocessing, Samples
from ostraka.public.whitening import half_whitened

__all__ = ["INTERCEPT", "numeric", "prepared"]

INTERCEPT = 0.5
QUANTILE = 0.95


def prepared(
    samples: Samples,
    classes: Iterable[ClassName],
    method: str,
    *,
    radius: float | None = None,
    intercept: float = INTERCEPT,
    like: Preprocessing | None = None,
) -> AuxiliarySet:
    """The auxiliary set of PUBLIC samples, for a method.

    Args:
        samples: public rows.
        classes: the public list of classes.
        method: by name. Ours see half-whitened features; the paper's see standardised ones.
        radius: for the paper's methods, a public bound for the length of samples, instead of a scale.
        intercept: for the paper's methods, the value of a constant feature.
        like: the map of an earlier round, which a second one must share.

    """
    names = checked_classes(classes)
    if like is not None:
        return AuxiliarySet(samples, names, preprocessing=like)
    if entry(method).needs_auxiliary:
        fitted = half_whitened(numeric(samples), len(names))
        return AuxiliarySet(samples, names, preprocessing=fitted)
    if radius is not None:
        given = Preprocessing(radius=radius, constant=intercept)
        return AuxiliarySet(samples, names, preprocessing=given)
    return AuxiliarySet.scaled(samples, names, intercept, standardise=True, quantile=QUANTILE)


def numeric(samples: Any) -> Any:
    """A data frame as an array; arrays and sparse matrices as they are."""
    return samples if hasattr(samples, "tocsr") else np.asarray(samples, dtype=np.float64)
