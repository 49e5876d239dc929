"""Templates: unfitted classifiers from which every party's own is made."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, TypeAlias, final

from ostraka.errors import ParameterError, WrongTypeError
from ostraka.public.classes import Indices

__all__ = ["Maker", "Template", "check_templates"]

Template: TypeAlias = Any
"""An unfitted classifier with `fit` and `predict`, or a function (rows, labels) ↦ classifier."""


def check_templates(templates: Sequence[Template]) -> None:
    """Refuse what cannot be a classifier, before anything is trained."""
    if len(templates) == 0:
        raise ParameterError("local", got=templates, allowed="at least one classifier")
    for template in templates:
        if isinstance(template, type):
            needed = f"an unfitted {template.__name__}(...), not the class itself"
            raise WrongTypeError("The local classifier", template, needed)
        if not hasattr(template, "fit") and not callable(template):
            needed = "an unfitted classifier with fit and predict, or a function that makes one"
            raise WrongTypeError("The local classifier", template, needed)


@final
class Maker:
    """Makes trained classifiers from one template; what no party changes is looked up once."""

    def __init__(self, template: Template) -> None:
        self._template = template
        self._unseeded: list[str] = []
        if hasattr(template, "fit") and hasattr(template, "get_params"):
            from sklearn.base import clone

            self._template = clone(template)
            # Of the classifier itself, or of a part of a pipeline: a shared stream would carry one
            # party's data to the next.
            own = self._template.get_params()
            self._unseeded = [name for name in own if _is_seed(name) and own[name] is None]

    def train_one(self, rows: Any, labels: Indices, seed: int) -> Any:
        """A classifier for these rows."""
        if not hasattr(self._template, "fit"):
            return self._template(rows, labels)
        own = copy.deepcopy(self._template)
        if self._unseeded:
            own.set_params(**dict.fromkeys(self._unseeded, seed))
        fitted = own.fit(rows, labels)
        return own if fitted is None else fitted


def _is_seed(parameter: str) -> bool:
    return parameter.endswith("random_state")
