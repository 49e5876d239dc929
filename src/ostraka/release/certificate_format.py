"""Certificates as JSON: formats 4 and 5, and how formats 1 to 3 are read.

format   what changed
1        flat, ℓ2 noise only
2        `norm` and `rho`
3        second rounds: `start`, `start_epsilon`, `start_delta`; `epsilon` was the round's own
4        `epsilon` and `delta` are those of all rounds, the round's own beside them; what is
         particular to a noisy sum or to a perturbed minimiser stands in `particular`
5        `servers`; without them a certificate has format 4, and its digest stays what it was
"""

from __future__ import annotations

from dataclasses import fields
from types import NoneType
from typing import Any, TypeVar

from ostraka.errors import FormatError, ParameterError
from ostraka.public.catalogue import CATALOGUE
from ostraka.release.certificate import (
    Certificate,
    NoisySum,
    PerturbedMinimiser,
    plain,
    sum_up,
)
from ostraka.tensors import canonical_json, parse_json

__all__ = ["FORMAT", "parse", "write"]

# Raise this number with every change of the fields or of their meaning; readers of old numbers
# stay, each with a file in the tests.
ALONE, FORMAT = 4, 5

_KINDS = {"noisy sum": NoisySum, "perturbed minimiser": PerturbedMinimiser}
_SINCE: dict[int, dict[str, Any]] = {
    2: {"norm": "l2", "rho": None},
    3: {"start": None, "start_epsilon": 0.0, "start_delta": 0.0},
}
"""What a field of a later flat format means for files of earlier ones."""
_LATER = {"round_epsilon", "round_delta", "persons", "poll", "particular"}
"""What no flat format has."""
_TYPES: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "float": (float, int),
    "int": (int,),
    "int | None": (int, NoneType),
    "str | None": (str, NoneType),
    "float | None": (float, int, NoneType),
    "tuple[str, ...]": (tuple,),
    "Particular": (NoisySum, PerturbedMinimiser),
}
T = TypeVar("T")


def write(promised: Certificate) -> str:
    """Canonical JSON."""
    content = plain(promised)
    kind = next(name for name, kind in _KINDS.items() if isinstance(promised.particular, kind))
    own = {name.rstrip("_"): value for name, value in content["particular"].items()}
    content |= {"format": FORMAT, "particular": {"kind": kind, **own}}
    if not promised.servers:
        del content["servers"]
        content["format"] = ALONE
    return canonical_json(content)


def parse(text: str) -> Certificate:
    """Parse, check every field, then build; anything unexpected is refused."""
    content = parse_json(text, "certificate")
    number = content.pop("format", None)
    if type(number) is not int or number not in range(1, FORMAT + 1):
        raise FormatError("certificate", f"its format is not one of 1 to {FORMAT}")
    if number < FORMAT and "servers" in content:
        raise FormatError("certificate", f"it says format {number}, but has later fields")
    content = {"servers": [], **content}
    for name in ("assumed_public", "servers"):
        told = content.get(name)
        if not isinstance(told, list) or not all(isinstance(each, str) for each in told):
            raise FormatError("certificate", f"{name} is not a list of texts")
        content[name] = tuple(told)
    if (number == FORMAT) is not bool(content["servers"]):
        raise FormatError("certificate", f"format {FORMAT} is that of two servers")
    if number < ALONE:
        content = _from_flat(content, number)
    own = content.pop("particular", None)
    if not isinstance(own, dict) or own.get("kind") not in tuple(_KINDS):
        raise FormatError("certificate", f"particular is not one of {', '.join(_KINDS)}")
    kind = _KINDS[own.pop("kind")]
    return _built(Certificate, {**content, "particular": _built(kind, own)})


def _from_flat(content: dict[str, Any], number: int) -> dict[str, Any]:
    """Formats 1 to 3 in the words of format 4."""
    for added in (later for since, later in _SINCE.items() if since > number):
        if set(content) & set(added):
            raise FormatError("certificate", f"it says format {number}, but has later fields")
        content = content | added
    parts = content.pop("sensitivity_parts", None)
    names = {"rule", "bound", "solver", "rounding", "grid"}
    if not isinstance(parts, dict) or set(parts) != names:
        raise FormatError("certificate", "sensitivity_parts is missing or damaged")
    taken = ("calibration", "loss", "lambda", "radius", "solver_tolerance")
    if not set(taken) <= set(content):
        raise FormatError("certificate", f"missing fields {sorted(set(taken) - set(content))}")
    own = {name: content.pop(name) for name in taken}
    if set(content) & _LATER:
        raise FormatError("certificate", f"it says format {number}, but has later fields")
    method = CATALOGUE.get(str(content.get("method")))
    if method is not None and method.needs_auxiliary:
        _check_flat_sum(own, parts, content.get("sensitivity"))
        particular: dict[str, Any] = {"kind": "noisy sum", "radius": own["radius"]}
    else:
        parts["on_grid"] = parts.pop("grid")
        particular = {"kind": "perturbed minimiser", "gradient_factor": None, **own, **parts}
    return {
        **content,
        **_flat_totals(content),
        "persons": None,
        "poll": None,
        "particular": particular,
    }


def _check_flat_sum(own: dict[str, Any], parts: dict[str, Any], sensitivity: Any) -> None:
    expected = {"calibration": "tight", "loss": "none", "lambda": None, "solver_tolerance": None}
    if any(own[name] != value for name, value in expected.items()):
        raise FormatError("certificate", "it releases a statistic, but speaks of a minimiser")
    nothing = {"solver": 0.0, "rounding": 0.0, "grid": 0.0}
    if parts != {"rule": "contribution", "bound": sensitivity, **nothing}:
        raise FormatError("certificate", "its sensitivity_parts are not those of a statistic")


def _flat_totals(content: dict[str, Any]) -> dict[str, Any]:
    """`epsilon` used to be the round's own."""
    found: dict[str, Any] = {}
    for name in ("epsilon", "delta"):
        for each in (name, f"start_{name}"):
            value = content.get(each)
            if isinstance(value, bool) or not isinstance(value, float | int):
                raise FormatError("certificate", f"{each} is {value!r}, not float")
        try:
            total = sum_up(float(content[name]), float(content[f"start_{name}"]))
        except OverflowError:
            raise FormatError("certificate", "a number is too large") from None
        found |= {name: total, f"round_{name}": content[name]}
    return found


def _built(kind: type[T], content: dict[str, Any]) -> T:
    """A value of exactly the declared fields, of their declared types.

    `lambda_` is written `lambda`.
    """
    declared = {field.name.rstrip("_"): field for field in fields(kind)}  # type: ignore[arg-type]
    unknown, missing = set(content) - set(declared), set(declared) - set(content)
    if unknown or missing:
        problem = f"unknown fields {sorted(unknown)}, missing fields {sorted(missing)}"
        raise FormatError("certificate", problem)
    values: dict[str, Any] = {}
    try:
        for name, field in declared.items():
            value, wanted = content[name], str(field.type)
            if isinstance(value, bool) or not isinstance(value, _TYPES[wanted]):
                raise FormatError("certificate", f"{name} is {value!r}, not {wanted}")
            number = wanted.startswith("float") and value is not None
            values[field.name] = float(content[name]) if number else value
        return kind(**values)
    except ParameterError as error:
        problem = f"{error.problem.removesuffix('.')}; allowed: {error.allowed}"
        raise FormatError("certificate", problem) from None
    except OverflowError:
        raise FormatError("certificate", "a number is too large") from None
