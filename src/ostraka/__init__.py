"""Ostraka: one differentially private classifier from the data of many parties, without anyone showing their data.

The public names are loaded when they are first used, so that a published model needs numpy alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ostraka.auxiliary import AuxiliarySet
    from ostraka.ballot import Ballot
    from ostraka.certificate import Certificate
    from ostraka.errors import OstrakaError
    from ostraka.estimators import PrivateClassifier
    from ostraka.methods.terms import Terms
    from ostraka.model import LinearModel, Task
    from ostraka.noise import Entropy, Rehearsal
    from ostraka.preprocessing import Preprocessing
    from ostraka.release import Rehearsed, Release
    from ostraka.tally import Tally

__version__ = "0.1.0"

_HOMES = {
    "AuxiliarySet": "auxiliary",
    "Ballot": "ballot",
    "Certificate": "certificate",
    "Entropy": "noise",
    "LinearModel": "model",
    "OstrakaError": "errors",
    "Preprocessing": "preprocessing",
    "PrivateClassifier": "estimators",
    "Rehearsal": "noise",
    "Rehearsed": "release",
    "Release": "release",
    "Tally": "tally",
    "Task": "model",
    "Terms": "methods.terms",
}

__all__ = [
    "AuxiliarySet",
    "Ballot",
    "Certificate",
    "Entropy",
    "LinearModel",
    "OstrakaError",
    "Preprocessing",
    "PrivateClassifier",
    "Rehearsal",
    "Rehearsed",
    "Release",
    "Tally",
    "Task",
    "Terms",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ostraka' has no attribute {name!r}")
    return getattr(import_module(f"ostraka.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
