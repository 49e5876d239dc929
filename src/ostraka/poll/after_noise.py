"""What comes after the noise: a model, and what can be said about it, of what was released alone.

    mean         what was released, as a mean over the protected units
    mechanism    how it was released: the noise, its coordinates, how many units came

All of it is post-processing, and costs no budget. Where noise makes arithmetic fail, weights are 0,
and there is no student, no surprise and no outlook: a failure would lose what was paid for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ostraka.errors import ParameterError
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.after_noise.kernel import take_student
from ostraka.methods.after_noise.student import Fitted
from ostraka.methods.base import Method, Options
from ostraka.release.certificate import Certificate
from ostraka.release.model import LinearModel
from ostraka.release.outlook import Outlook
from ostraka.release.scoring import Model
from ostraka.release.taught_model import teach_classifier
from ostraka.solve.losses import Array

if TYPE_CHECKING:
    from ostraka.poll.poll import Poll

__all__ = ["ENOUGH", "conclude", "find_surprise", "remake"]

Out = TypeVar("Out")

ENOUGH = 0.8
"""If at least this share of the expected units came, what was rehearsed for all of them holds."""


def conclude(
    poll: Poll, mean: Array, mechanism: Mechanism, *, taught: bool, strict: bool = False
) -> tuple[Model, Outlook]:
    """The model, whatever the noise has made of it, and how good it is: see `Poll.conclude`."""
    method: Any = poll.method
    fitted: Fitted | None = None
    if hasattr(method, "fit"):
        fitted = _attempt(lambda: method.fit(mean, mechanism), strict=strict)
    weights = _attempt(lambda: _weigh(method, mean, mechanism, fitted), strict=strict)
    weights = np.zeros(poll.task.weight_shape) if weights is None else weights
    weights = np.nan_to_num(weights, nan=0.0, posinf=0.0, neginf=0.0)
    linear: Model = LinearModel(task=poll.task, weights=weights)
    model = None
    if taught:
        model = _attempt(lambda: take_student(method, mean, mechanism, linear.linear, fitted))
    outlook = _attempt(lambda: _look_out(poll, mean, mechanism, fitted), strict=strict)
    return model or linear, outlook or Outlook(kept=_rehearsed(poll, mechanism))


def find_surprise(poll: Poll, mean: Array, mechanism: Mechanism) -> float | None:
    """How unlike private and auxiliary samples are: see `Poll.surprise`."""
    return _attempt(lambda: poll.method.surprise(mean, mechanism))


def _attempt(work: Callable[[], Out], *, strict: bool = False) -> Out | None:
    """None where it fails: too little memory, too, must not cost a release.

    `strict`: only where noise has made arithmetic fail.
    """
    try:
        with np.errstate(all="ignore"):
            return work()
    except (ArithmeticError, np.linalg.LinAlgError):
        return None
    except Exception:
        if strict:
            raise
        return None


def _weigh(method: Any, mean: Array, mechanism: Mechanism, fitted: Fitted | None) -> Array | None:
    if not hasattr(method, "fit"):
        return np.asarray(method.weights(mean, mechanism))
    objective = getattr(method, "objective", "accuracy")
    return None if fitted is None else fitted.aim(objective, method.features)


def _rehearsed(poll: Poll, mechanism: Mechanism) -> float | None:
    """What was rehearsed for as many units as came; of many fewer it says nothing."""
    return poll.forecast if mechanism.divisor >= ENOUGH * poll.expected_units else None


def _look_out(
    poll: Poll, mean: Array, mechanism: Mechanism, fitted: Fitted | None
) -> Outlook | None:
    """How good the model is, as far as anybody knows."""
    method: Any = poll.method
    kept = _rehearsed(poll, mechanism)
    if fitted is None:
        return None
    accuracy = fitted.expect(getattr(method, "objective", "accuracy"))
    if not math.isfinite(accuracy):
        return None
    if not hasattr(method, "class_shares"):
        if method.off is None:
            return None
        # A second round is about as far from the truth as its start.
        return Outlook(kept=kept, accuracy=min(max(accuracy, 0.0), 1.0), off=method.off)
    shares, deviation = method.class_shares(mean, mechanism)
    if not (np.isfinite(shares).all() and math.isfinite(deviation)):
        return None
    return Outlook.of(kept, accuracy, shares, deviation)


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
