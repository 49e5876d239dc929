"""What can be chosen on the command line, as types that typer lists and checks."""

from __future__ import annotations

from enum import StrEnum
from typing import get_args

from ostraka.public.catalogue import PRIVATE, Student
from ostraka.public.promise import NoiseName as Noises
from ostraka.public.promise import Unit

__all__ = [
    "AUTO",
    "ANY_NOISE",
    "PARTY",
    "PARTY_ROLE",
    "CalibrationName",
    "MethodName",
    "NoiseName",
    "ObjectiveName",
    "RoleName",
    "StudentName",
    "UnitName",
]

MethodName = StrEnum("MethodName", {name: name for name in PRIVATE})  # type: ignore[misc]
NoiseName = StrEnum("NoiseName", {name: name for name in get_args(Noises)})  # type: ignore[misc]
StudentName = StrEnum("StudentName", {name: name for name in get_args(Student)})  # type: ignore[misc]
UnitName = StrEnum("UnitName", {name: name for name in get_args(Unit) if name != "row"})  # type: ignore[misc]

AUTO, ANY_NOISE, PARTY = MethodName("auto"), NoiseName("auto"), UnitName("party")


class CalibrationName(StrEnum):
    """Whose sensitivities."""

    paper = "paper"
    tight = "tight"


class ObjectiveName(StrEnum):
    """What a model shall be good at."""

    accuracy = "accuracy"
    balanced = "balanced"


class RoleName(StrEnum):
    """What somebody may do at a service."""

    party = "party"
    reader = "reader"
    admin = "admin"


PARTY_ROLE = RoleName.party
