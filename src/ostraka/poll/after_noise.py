"""What comes after the noise: a model, and what can be said about it, of what was released alone.

    mean         what was released, as a mean over the protected units
    mechanism    how it was released: the noise, its coordinates, how many units came

All of it is post-processing, and costs no budget. Where noise makes arithmetic fail, weights are 0,
and there is no student, no surprise and no outlook: a failure would lose what was paid for.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ostraka.errors import ParameterError
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.after_noise.kernel import take_student
from ostraka.methods.base import Method, Options
from ostraka.release.certificate import Certificate
from ostraka.release.model import LinearModel
from ostraka.release.outlook import Outlook
from ostraka.release.scoring import Model
from ostraka.release.taught_model import teach_classifier
from ostraka.solve.losses import Array

if TYPE_CHECKING:
    from ostraka.poll.poll import Poll

__all__ = ["ENOUGH", "find_outlook", "find_surprise", "fit_model", "remake"]

ENOUGH = 0.8
"""If at least this share of the expected units came, what was rehearsed for all of them holds."""


def fit_model(poll: Poll, mean: Array, mechanism: Mechanism, *, taught: bool) -> Model:
    """The model, whatever the noise has made of it: see `Poll.model`."""
    linear = _fit(poll, mean, mechanism)
    if not taught:
        return linear
    try:
        with np.errstate(all="ignore"):
            return take_student(poll.method, mean, mechanism, linear) or linear
    except Exception:  # of whatever kind: too little memory, too, must not cost the release
        return linear


def find_surprise(poll: Poll, mean: Array, mechanism: Mechanism) -> float | None:
    """How unlike private and auxiliary samples are: see `Poll.surprise`."""
    try:
        with np.errstate(all="ignore"):
            return poll.method.surprise(mean, mechanism)
    except (ArithmeticError, np.linalg.LinAlgError):
        return None


def find_outlook(poll: Poll, mean: Array, mechanism: Mechanism) -> Outlook:
    """How good the model is, as far as anybody knows: see `Poll.outlook`."""
    came = mechanism.divisor >= ENOUGH * poll.expected_units
    rehearsed = poll.forecast if came else None  # of so many more it says nothing
    method: Any = poll.method
    if not hasattr(method, "class_shares"):
        return Outlook(kept=rehearsed)
    try:
        with np.errstate(all="ignore"):
            shares, deviation = method.class_shares(mean, mechanism)
            accuracy = method.fit(mean, mechanism).expect(method.objective)
    except (ArithmeticError, np.linalg.LinAlgError):
        return Outlook(kept=rehearsed)
    if not (np.isfinite(shares).all() and math.isfinite(deviation) and math.isfinite(accuracy)):
        return Outlook(kept=rehearsed)
    return Outlook.of(rehearsed, accuracy, shares, deviation)


def remake(
    poll: Poll,
    statistic: Array,
    certificate: Certificate,
    penalty: float | None,
    student: Any,
    objective: str | None,
) -> Model:
    """Another model from what was released: see `Release.refit`."""
    if objective is not None and not hasattr(poll.method, "objective"):
        allowed = f"none for method {poll.method.name!r}, which does not tell class shares"
        raise ParameterError("objective", got=objective, allowed=allowed)
    is_word = student is None or isinstance(student, str)
    wished = Options(
        penalty=penalty,
        objective=objective or "accuracy",
        student=(student or "auto") if is_word else "auto",
    )
    chosen = {
        "penalty": wished.penalty,
        "student": student if is_word else None,
        "objective": None if objective is None else wished.objective,
    }
    given = {name: value for name, value in chosen.items() if value is not None}
    method: Method = replace(poll.method, **given)  # type: ignore[type-var]
    mechanism = poll.mechanism(certificate.n_units)
    model = replace(poll, method=method).model(statistic, mechanism)
    if is_word:
        return model
    return teach_classifier(method.features, model, student)  # type: ignore[attr-defined]


def _fit(poll: Poll, mean: Array, mechanism: Mechanism) -> LinearModel:
    """The linear model."""
    try:
        with np.errstate(all="ignore"):
            weights = poll.method.weights(mean, mechanism)
    except (ArithmeticError, np.linalg.LinAlgError):
        weights = np.zeros(poll.task.weight_shape)
    weights = np.nan_to_num(weights, nan=0.0, posinf=0.0, neginf=0.0)
    return LinearModel(task=poll.task, weights=weights)
