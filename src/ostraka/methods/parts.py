"""A method as plain values and arrays, for the poll that carries it; and back, checked."""

from __future__ import annotations

from dataclasses import fields
from types import NoneType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import FormatError, InputError
from ostraka.methods.base import Method
from ostraka.methods.registry import METHODS

__all__ = ["method_from_parts", "method_parts"]

LATER = {
    "objective": "accuracy",
    "squared": False,
    "sure": None,
    "off": None,
    "soft": False,
    "within": 1.0,
    "coarse": None,
}
"""Settings that earlier polls do not have, with what they stand for; written only if they differ.
"""
STUDENTS = {"auto": None, "none": False, "linear": True}
"""As earlier polls wrote them, which knew no others; a new student is written by its word."""
APART = "features"
"""The auxiliary features have their own place in the poll."""
ARRAYS: dict[str, Any] = {
    "Array": np.float64,
    "Array | None": np.float64,
    "NDArray[np.int64]": np.int64,
    "NDArray[np.uint8]": np.uint8,
}
TYPES: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (float, int),
    "bool": (bool,),
    "str": (str,),
    "float | None": (float, int, NoneType),
    "int | None": (int, NoneType),
}


def method_parts(method: Method) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Settings and arrays; the features go elsewhere."""
    settings: dict[str, Any] = {"name": method.name}
    arrays: dict[str, NDArray[Any]] = {}
    for each in fields(method):  # type: ignore[arg-type]
        value = getattr(method, each.name)
        if each.name == APART or not each.init:
            continue
        if str(each.type) in ARRAYS:
            if value is not None:
                arrays[each.name] = np.ascontiguousarray(value, dtype=ARRAYS[str(each.type)])
        elif each.name not in LATER or value != LATER[each.name]:
            settings[each.name] = STUDENTS.get(value, value) if each.name == "student" else value
    return settings, arrays


def method_from_parts(
    settings: dict[str, Any], arrays: dict[str, NDArray[Any]], features: Any
) -> Method:
    """The method that `method_parts` took apart; anything unexpected is refused."""
    name = settings.get("name")
    if not isinstance(name, str) or name not in METHODS:
        raise FormatError("poll", f"its method is {name!r}, not one of {', '.join(METHODS)}")
    kind, left, values = METHODS[name], dict(settings), {}
    del left["name"]
    unused = set(arrays)
    for each in fields(kind):
        declared = str(each.type)
        if not each.init:
            continue
        if each.name == APART:
            values[APART] = features
        elif declared in ARRAYS:
            unused.discard(each.name)
            values[each.name] = _array(each.name, declared, arrays.get(each.name))
        elif each.name in left:
            values[each.name] = _setting(each.name, declared, left.pop(each.name))
        elif each.name in LATER:
            values[each.name] = LATER[each.name]
        else:
            raise FormatError("poll", f"its method lacks {each.name}")
    if left or unused:
        raise FormatError("poll", f"its method has unknown parts {sorted([*left, *unused])[:5]}")
    try:
        method: Method = kind(**values)
        _ = method.domain
    except InputError as error:
        raise FormatError("poll", f"in its method, {error.problem.removesuffix('.')}") from None
    return method


def _array(name: str, declared: str, given: NDArray[Any] | None) -> NDArray[Any] | None:
    if given is None:
        if "None" not in declared:
            raise FormatError("poll", f"its method lacks the array {name}")
        return None
    wrong = given.dtype != ARRAYS[declared] or given.ndim not in (1, 2) or given.size == 0
    if wrong or not np.isfinite(given).all():
        problem = f"{name} of its method has type {given.dtype} and shape {given.shape}"
        raise FormatError("poll", problem)
    given.flags.writeable = False
    return given


def _setting(name: str, declared: str, given: Any) -> Any:
    if name == "student":
        known = [word for word, written in STUDENTS.items() if given is written]
        given = known[0] if known else given
    allowed = TYPES[declared]
    if not isinstance(given, allowed) or (isinstance(given, bool) and bool not in allowed):
        raise FormatError("poll", f"{name} of its method is {given!r}, not {declared}")
    if isinstance(given, int) and declared.startswith("float"):
        return float(given)
    return given
