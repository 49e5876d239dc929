"""Any classifier as a student: it has learnt the answers of a released model on public rows.

It is there for as long as the process is: a release file holds arrays, never code. The classifier
itself is `classifier`, and sees features, `task.features(samples)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import ParameterError
from ostraka.public.classes import Indices
from ostraka.public.numbers import Samples
from ostraka.public.task import Task
from ostraka.release.model import LinearModel
from ostraka.release.scoring import (
    Model,
    choose_classes,
    measure_accuracy,
    name_classes,
    score_samples,
)

__all__ = ["TaughtModel", "check_storable", "teach_classifier"]

SMALLEST = 1e-300
"""Probabilities of 0 have no logarithm."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaughtModel:
    """A fitted classifier whose classes are places in the task's list of classes."""

    linear: LinearModel
    """The linear model that was fitted to what was released."""
    classifier: Any

    @property
    def task(self) -> Task:
        """That of the linear model."""
        return self.linear.task

    def scores(self, samples: Samples) -> NDArray[np.float64]:
        """Logarithms of probabilities: their difference for two classes, K for more."""
        return score_samples(self.task, samples, self.score_features)

    def score_features(self, features: Any) -> NDArray[np.float64]:
        """The same of rows that are features already."""
        logarithms = np.log(np.maximum(self.probabilities(features), SMALLEST))
        two = logarithms.shape[1] == 2
        return np.asarray(logarithms[:, 1] - logarithms[:, 0] if two else logarithms)

    def choices(self, samples: Samples) -> Indices:
        """The index of the class of each sample."""
        return choose_classes(self.scores(samples))

    def predict(self, samples: Samples) -> NDArray[Any]:
        """The class of each sample."""
        return name_classes(self.task, self.choices(samples))

    def predict_proba(self, samples: Samples) -> NDArray[np.float64]:
        """The classifier's own probabilities, a column per class: nothing calibrates them."""
        return self.probabilities(self.task.features(samples))

    def probabilities(self, features: Any) -> NDArray[np.float64]:
        """The same of rows that are features already.

        Classes that its teacher never named have 0; a classifier without probabilities is sure.
        """
        full = np.zeros((features.shape[0], len(self.task.classes)))
        if not len(full):
            return full
        if hasattr(self.classifier, "predict_proba"):
            full[:, self.classifier.classes_] = self.classifier.predict_proba(features)
        else:
            full[np.arange(len(full)), self.classifier.predict(features)] = 1.0
        return full

    def score(self, samples: Samples, labels: Any) -> float:
        """The share of samples whose class is right.

        On private samples this number is itself a disclosure.
        """
        return measure_accuracy(self.task, self.choices(samples), labels)

    def __repr__(self) -> str:
        return f"TaughtModel(classifier={self.classifier!r})"


def teach_classifier(features: Any, teacher: Model, classifier: Any) -> TaughtModel:
    """A copy of the classifier, fitted to the teacher's answers on public features."""
    from sklearn.base import clone

    if isinstance(classifier, type):
        allowed = f"an object of it: {classifier.__name__}(), with its options"
        raise ParameterError("student", got=f"the class {classifier.__name__}", allowed=allowed)
    answers = choose_classes(teacher.score_features(features))
    try:
        fitted = clone(classifier).fit(features, answers)
    except Exception as error:  # whatever it raises: it is somebody else's code
        allowed = "an unfitted scikit-learn classifier that can learn the released model's answers"
        got = f"{classifier!r}, which failed ({error})"
        raise ParameterError("student", got=got, allowed=allowed) from error
    return TaughtModel(linear=teacher.linear, classifier=fitted)


def check_storable(model: Model) -> None:
    """Refuse a model that no file here can hold."""
    if isinstance(model, TaughtModel):
        kind = type(model.classifier).__name__
        allowed = (
            'refit(student="kernel"), "linear" or "none": files hold arrays, never code. To keep '
            "the classifier, save release.model.classifier with skops or skl2onnx; it sees "
            "release.model.task.features(samples)"
        )
        raise ParameterError("student", got=f"a {kind}", allowed=allowed)
