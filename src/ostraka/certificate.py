"""What a release promises, as a value that people and programs can read.

A certificate is made from public things alone, before private data is touched: the function that makes one is never given a ballot. It
therefore holds no achieved gradient norm, no timing, no accuracy.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any, final

from ostraka.errors import FormatError, ParameterError

__all__ = ["Certificate", "SensitivityParts", "ONE_PARTY", "ONE_PARTY_AND_SAMPLE", "FROM_THE_SYSTEM", "FROM_A_SEED"]

ONE_PARTY = "replace one party"
ONE_PARTY_AND_SAMPLE = "replace one party and one auxiliary sample"

FROM_THE_SYSTEM = "operating system"
FROM_A_SEED = "seed"

_KNOWN: dict[str, tuple[str, ...]] = {
    "method": ("soft", "vote", "avg", "consensus", "moments", "cells", "refine"),
    "calibration": ("paper", "tight"),
    "loss": ("logistic", "huber", "softmax", "none"),
    "noise": ("l2", "discrete laplace", "gaussian"),
    "norm": ("l2", "l1"),
    "neighbours": (ONE_PARTY, ONE_PARTY_AND_SAMPLE),
    "randomness": (FROM_THE_SYSTEM, FROM_A_SEED),
}
_RULES = ("paper", "stability", "ball", "contribution")
_STATISTIC = ("consensus", "moments", "cells", "refine")
"""Methods that release a statistic: no minimiser, no regulariser, and the model is made from what is public by then."""

# Raise this number with every change of the fields or of their meaning; readers of old numbers stay, each with a file in the tests.
FORMAT = 3
_SINCE: dict[int, dict[str, Any]] = {
    2: {"norm": "l2", "rho": None},
    3: {"start": None, "start_epsilon": 0.0, "start_delta": 0.0},
}
"""What a field of a later format means for files of earlier ones."""
_IN_A_BALL = ("moments", "cells", "refine")
LARGEST_STATISTIC = 2**22
"""No statistic has more numbers: what a file says beyond is no release of ours."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SensitivityParts:
    """Where the sensitivity comes from; the total is at least their sum."""

    rule: str
    """`paper`, `stability` (labels move the gradient), `ball` (no minimiser leaves it), `contribution` (what a party sends is bounded)."""
    bound: float
    """Of the exact minimiser, or of the mean of the parties' parameters."""
    solver: float
    """Twice the distance of the computed from the exact minimiser."""
    rounding: float
    """Floating-point error of everything between the solver and the grid."""
    grid: float
    """Of putting the vector on the grid, before the noise."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The promise: replacing one party changes the probability of any outcome by a factor of at most e^ε."""

    method: str
    calibration: str
    loss: str
    epsilon: float
    delta: float
    neighbours: str
    parties: int
    auxiliary_samples: int | None
    auxiliary_digest: str | None
    lambda_: float | None
    sensitivity: float
    sensitivity_parts: SensitivityParts
    noise: str
    noise_scale: float
    grid: float
    dimension: int
    coordinates: str
    radius: float | None
    solver_tolerance: float | None
    randomness: str = FROM_THE_SYSTEM
    """Where the noise came from; a seed means a rehearsal, which protects nobody."""
    norm: str = "l2"
    """In which the sensitivity is measured."""
    rho: float | None = None
    """The loss in zero-concentrated terms, for Gaussian noise."""
    start: str | None = None
    """For a second round: the digest of the release that it started from."""
    start_epsilon: float = 0.0
    """What that release, and those before it, had cost: the model depends on the data through them, too."""
    start_delta: float = 0.0
    assumed_public: tuple[str, ...] = ()
    """What was read from private data because it is taken to be public. The promise does not cover it."""

    def __post_init__(self) -> None:
        for name, known in _KNOWN.items():
            if getattr(self, name) not in known:
                raise ParameterError(name, got=getattr(self, name), allowed=" or ".join(map(repr, known)))
        statistic = self.method in _STATISTIC
        if (self.lambda_ is None) is not statistic:
            raise ParameterError("lambda", got=self.lambda_, allowed="a positive number, and none for methods that release a statistic")
        for name in ("epsilon", "sensitivity", "noise_scale", "grid", *(() if statistic else ("lambda_",))):
            if not 0.0 < getattr(self, name) < math.inf:
                raise ParameterError(name.rstrip("_"), got=getattr(self, name), allowed="a positive finite number")
        if math.frexp(self.grid)[0] != 0.5:
            raise ParameterError("grid", got=self.grid, allowed="a power of two")
        self._check_noise(statistic)
        self._check_start()
        if not (self.parties >= 1 and self.dimension >= 1):
            raise ParameterError("parties, dimension", got=(self.parties, self.dimension), allowed="1 or more each")
        parts = self.sensitivity_parts
        self._check_parts(parts)
        summed = sum(map(Fraction, (parts.bound, parts.solver, parts.rounding, parts.grid)))
        if not Fraction(self.sensitivity) >= summed:
            raise ParameterError("sensitivity", got=self.sensitivity, allowed=f"at least the sum of its parts, {float(summed)}")
        if self.delta == 0.0 and not Fraction(self.noise_scale) * Fraction(self.epsilon) >= Fraction(self.sensitivity):
            raise ParameterError("noise_scale", got=self.noise_scale, allowed="at least sensitivity/epsilon")

    @property
    def total_epsilon(self) -> float:
        """For whoever took part in all rounds: this one's ε and those before it, rounded up."""
        return _sum_up(self.epsilon, self.start_epsilon)

    @property
    def total_delta(self) -> float:
        """The same for δ."""
        return _sum_up(self.delta, self.start_delta)

    def _check_start(self) -> None:
        if (self.method == "refine") is not (self.start is not None):
            raise ParameterError("start", got=self.start, allowed="the digest of a release for the method refine, none for others")
        if self.start is not None and not (len(self.start) == 64 and set(self.start) <= set("0123456789abcdef")):
            raise ParameterError("start", got=self.start, allowed="64 hexadecimal digits")
        costs = (self.start_epsilon, self.start_delta)
        if not (0.0 <= costs[0] < math.inf and 0.0 <= costs[1] <= 1.0 and (costs[0] > 0.0) is (self.start is not None)):
            raise ParameterError("start_epsilon, start_delta", got=costs, allowed="what the start cost; 0 without one")

    def _check_noise(self, statistic: bool) -> None:
        """Which law goes with which δ and norm. That a scale is enough for a δ above 0 takes ball arithmetic: `methods.laws.verify`."""
        if self.delta != 0.0 and not (statistic and self.noise != "discrete laplace" and 0.0 < self.delta < 1.0):
            raise ParameterError("delta", got=self.delta, allowed="0 for this noise")
        if self.noise == "gaussian" and not (self.delta > 0.0 and self.rho is not None and 0.0 < self.rho < math.inf):
            raise ParameterError("delta, rho", got=(self.delta, self.rho), allowed="positive numbers for Gaussian noise")
        if (self.noise == "gaussian") is not (self.rho is not None):
            raise ParameterError("rho", got=self.rho, allowed="a number for Gaussian noise, none for others")
        if self.rho is not None and 2 * Fraction(self.rho) * Fraction(self.noise_scale) ** 2 < Fraction(self.sensitivity) ** 2:
            raise ParameterError("rho", got=self.rho, allowed="at least sensitivity²/(2·noise_scale²)")
        if (self.loss == "none") is not statistic or (statistic and self.neighbours != ONE_PARTY):
            raise ParameterError("loss, neighbours", got=(self.loss, self.neighbours), allowed=f"those of the method {self.method}")
        if (self.norm == "l1") is not (self.noise == "discrete laplace"):
            raise ParameterError("norm", got=self.norm, allowed='"l1" for discrete Laplace noise, "l2" for the others')
        if not statistic and (self.noise != "l2" or self.rho is not None):
            raise ParameterError("noise", got=self.noise, allowed=f'"l2" for the method {self.method}')

    def _check_parts(self, parts: SensitivityParts) -> None:
        """What can be checked of the parts from the certificate alone; μ and the span would need the auxiliary set."""
        for name in ("bound", "solver", "rounding", "grid"):
            if not 0.0 <= getattr(parts, name) < math.inf:
                raise ParameterError(f"sensitivity_parts.{name}", got=getattr(parts, name), allowed="a finite number, 0 or more")
        if parts.rule not in _RULES:
            raise ParameterError("sensitivity_parts.rule", got=parts.rule, allowed=" or ".join(map(repr, _RULES)))
        if (parts.rule == "contribution") is not (self.method in _STATISTIC):
            raise ParameterError("sensitivity_parts.rule", got=parts.rule, allowed=f"another rule for the method {self.method}")
        if parts.rule != "contribution" and not parts.grid >= self.grid * math.sqrt(self.dimension):
            raise ParameterError("sensitivity_parts.grid", got=parts.grid, allowed="at least grid·√dimension")
        if self.auxiliary_samples is not None and not self.auxiliary_samples >= 1:
            raise ParameterError("auxiliary_samples", got=self.auxiliary_samples, allowed="1 or more")
        if self.neighbours == ONE_PARTY_AND_SAMPLE and self.auxiliary_digest is not None:
            raise ParameterError("auxiliary_digest", got=self.auxiliary_digest, allowed="none for a private auxiliary set")
        if not all(text.isprintable() for text in (self.coordinates, *self.assumed_public)):
            raise ParameterError("coordinates, assumed_public", got="control characters", allowed="printable text")
        if parts.rule == "contribution":
            self._check_statistic(parts)
            return
        assert self.lambda_ is not None
        if parts.rule == "ball" or self.method == "avg":
            diameter = 2.0 * (self.radius or math.inf) / (self.parties if self.method == "avg" else 1)
            if not parts.bound >= diameter:
                raise ParameterError("sensitivity_parts.bound", got=parts.bound, allowed="the diameter of the ball, or more")
        elif not parts.solver >= 2.0 * (self.solver_tolerance or math.inf) / self.lambda_:
            raise ParameterError("sensitivity_parts.solver", got=parts.solver, allowed="at least 2·solver_tolerance/lambda")

    def _check_statistic(self, parts: SensitivityParts) -> None:
        """What methods that release a statistic have in common."""
        if self.method in _IN_A_BALL and not (self.radius is not None and self.radius > 0.0 and 2.0 * self.radius <= parts.bound):
            raise ParameterError("radius, bound", got=(self.radius, parts.bound), allowed="a positive radius, and at least twice that")
        if self.auxiliary_digest is None or self.auxiliary_samples is None:
            raise ParameterError(
                "auxiliary_digest", got=self.auxiliary_digest, allowed=f"that of a public set, for the method {self.method}"
            )
        if self.solver_tolerance is not None or self.calibration != "tight":
            got = (self.solver_tolerance, self.calibration)
            raise ParameterError(
                "solver_tolerance, calibration", got=got, allowed='none and "tight": nothing is minimised before the noise'
            )
        if (self.noise == "discrete laplace") is not (self.method == "cells"):
            raise ParameterError("noise", got=self.noise, allowed=f"that of the method {self.method}")
        if not self.dimension <= LARGEST_STATISTIC:
            raise ParameterError("dimension", got=self.dimension, allowed=f"up to {LARGEST_STATISTIC}")

    def to_dict(self) -> dict[str, Any]:
        """The certificate as plain values, `lambda` by its own name."""
        content = {name.rstrip("_"): value for name, value in asdict(self).items()}
        return {"format": FORMAT, **content}

    def to_json(self) -> str:
        """Canonical JSON: sorted names, no spaces, every number as its shortest exact decimal."""
        return json.dumps(self.to_dict(), sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Parse, check every field, then build; anything unexpected is refused."""
        content = _parse_object(text)
        written = content.pop("format", None)
        if written not in range(1, FORMAT + 1) or not isinstance(written, int) or isinstance(written, bool):
            raise FormatError("certificate", f"its format is not one of 1 to {FORMAT}")
        for added in (later for since, later in _SINCE.items() if since > written):
            if set(content) & set(added):
                raise FormatError("certificate", f"it says format {written}, but has fields of a later one")
            content |= added
        parts = content.pop("sensitivity_parts", None)
        if not isinstance(parts, dict):
            raise FormatError("certificate", "sensitivity_parts is missing")
        if "lambda" in content:
            content["lambda_"] = content.pop("lambda")
        assumed = content.get("assumed_public")
        if not isinstance(assumed, list) or not all(isinstance(name, str) for name in assumed):
            raise FormatError("certificate", "assumed_public is not a list of texts")
        content["assumed_public"] = tuple(assumed)
        built_parts = SensitivityParts(**_checked(SensitivityParts, parts))
        try:
            return cls(sensitivity_parts=built_parts, **_checked(cls, {**content, "sensitivity_parts": built_parts}, skip=True))
        except ParameterError as error:
            raise FormatError("certificate", error.problem) from None
        except OverflowError:
            raise FormatError("certificate", "a number is too large") from None

    def __str__(self) -> str:
        """The promise in plain words."""
        who = "one party's whole data set" if self.neighbours == ONE_PARTY else "one party's whole data set and one auxiliary sample"
        assumed = f"\nTaken to be public: {', '.join(self.assumed_public)}." if self.assumed_public else ""
        rehearsed = "A REHEARSAL with seeded noise, which protects nobody. A release would promise:\n"
        return (
            f"{rehearsed if self.randomness == FROM_A_SEED else ''}"
            f"ε = {self.epsilon:g} differential privacy (δ = {self.delta:g}) for {who}, among {self.parties} parties.\n{self._rounds}"
            f"{self._method}\n"
            f"Replacing {who} moves the {'sum' if self.lambda_ is None else 'result'} by at most {self.sensitivity:.4g}"
            f"{' in L1' if self.norm == 'l1' else ''},\n"
            f"hidden by {self.noise.replace('l2', 'ℓ2')} noise of scale {self.noise_scale:.4g} in {self.dimension} coordinates "
            f"on a grid of {self.grid:.3g}.{assumed}"
        )

    @property
    def _rounds(self) -> str:
        if self.start is None:
            return ""
        return (
            f"That is this round alone. It started from the release {self.start[:12]}, which had cost ε = {self.start_epsilon:g} "
            f"(δ = {self.start_delta:g}): together ε = {self.total_epsilon:g} (δ = {self.total_delta:g}) for whoever took part in both.\n"
        )

    @property
    def _method(self) -> str:
        if self.lambda_ is None:
            return f"Method {self.method}: a statistic over {self.coordinates}; the model is made from it without further cost."
        return f"Method {self.method} ({self.calibration} calibration, {self.loss} loss, λ = {self.lambda_:g})."


def _sum_up(one: float, other: float) -> float:
    """Their sum, rounded up."""
    total = one + other
    return total if Fraction(total) >= Fraction(one) + Fraction(other) else math.nextafter(total, math.inf)


def _parse_object(text: str) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        content = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError):
        raise FormatError("certificate", "it is not JSON") from None
    if not isinstance(content, dict):
        raise FormatError("certificate", "it is not a JSON object")
    return content


_KINDS: dict[str, tuple[type, ...]] = {
    "str": (str,),
    "float": (float, int),
    "int": (int,),
    "int | None": (int, type(None)),
    "str | None": (str, type(None)),
    "float | None": (float, int, type(None)),
    "SensitivityParts": (SensitivityParts,),
    "tuple[str, ...]": (tuple,),
}


def _checked(cls: type, content: dict[str, Any], *, skip: bool = False) -> dict[str, Any]:
    """The content, if it has exactly the fields of `cls`, each of its declared type; `skip` leaves nested values out."""
    declared = {field.name: str(field.type) for field in fields(cls)}
    unknown, missing = set(content) - set(declared), set(declared) - set(content)
    if unknown or missing:
        raise FormatError("certificate", f"unknown fields {sorted(unknown)}, missing fields {sorted(missing)}")
    for name, value in content.items():
        if isinstance(value, bool) or not isinstance(value, _KINDS[declared[name]]):
            raise FormatError("certificate", f"{name} is {value!r}, not {declared[name]}")
    try:
        numbers = {name: float(value) for name, value in content.items() if declared[name].startswith("float") and value is not None}
    except OverflowError:
        raise FormatError("certificate", "a number is too large") from None
    return {name: value for name, value in (content | numbers).items() if not (skip and isinstance(value, SensitivityParts))}
