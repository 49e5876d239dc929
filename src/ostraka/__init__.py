"""Ostraka: one differentially private classifier from the data of many parties, without anyone
showing their data.

The public names are loaded when they are first used, so that a published model needs numpy alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ostraka.errors import OstrakaError
    from ostraka.estimators import PrivateClassifier
    from ostraka.ledger import Budget, Ledger
    from ostraka.mechanism import Entropy, Rehearsal
    from ostraka.party.contribution import Contribution
    from ostraka.poll import Poll
    from ostraka.public.auxiliary import AuxiliarySet
    from ostraka.public.columns import Columns
    from ostraka.public.describe import describe_columns
    from ostraka.public.preprocessing import Preprocessing
    from ostraka.public.task import Task
    from ostraka.publishing import publish
    from ostraka.release import Rehearsed, Release
    from ostraka.release.certificate import Certificate
    from ostraka.release.evaluation import Evaluation
    from ostraka.release.kernel_model import KernelModel
    from ostraka.release.model import LinearModel
    from ostraka.tally import Tally

__version__ = "0.1.0"

_HOMES = {
    "AuxiliarySet": "public.auxiliary",
    "Budget": "ledger",
    "Certificate": "release.certificate",
    "Columns": "public.columns",
    "Contribution": "party.contribution",
    "Entropy": "mechanism",
    "Evaluation": "release.evaluation",
    "KernelModel": "release.kernel_model",
    "Ledger": "ledger",
    "LinearModel": "release.model",
    "OstrakaError": "errors",
    "Poll": "poll",
    "Preprocessing": "public.preprocessing",
    "PrivateClassifier": "estimators",
    "Rehearsal": "mechanism",
    "Rehearsed": "release",
    "Release": "release",
    "Tally": "tally",
    "Task": "public.task",
    "describe_columns": "public.describe",
    "publish": "publishing",
}

__all__ = [
    "AuxiliarySet",
    "Budget",
    "Certificate",
    "Columns",
    "Contribution",
    "Entropy",
    "Evaluation",
    "KernelModel",
    "Ledger",
    "LinearModel",
    "OstrakaError",
    "Poll",
    "Preprocessing",
    "PrivateClassifier",
    "Rehearsal",
    "Rehearsed",
    "Release",
    "Tally",
    "Task",
    "describe_columns",
    "publish",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ostraka' has no attribute {name!r}")
    return getattr(import_module(f"ostraka.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
