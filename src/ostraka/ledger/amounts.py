"""Budgets, costs, and the exact numbers they are counted in.

    ε  epsilon  differential privacy: no probability changes by more than a factor e^ε
    δ  delta    what may be added to that; 0 for pure ε
    ρ  rho      zero-concentrated differential privacy (zCDP): Rényi divergence ≤ αρ, α > 1

A cost is a set of true statements about one release. A ledger's kind says which of them it counts:

    PURE         ε, if δ = 0
    ZCDP         ρ; or ε²/2 if δ = 0 [Bun and Steinke 2016, Prop. 1.4]; the smaller of both
    APPROXIMATE  (ε, δ)

Sums are sums of Fractions made from the doubles: nothing is rounded, so ten costs of 0.1 are a
little more than 1.

Why not more for (ε, δ): numerical accounting (`beforehand.py`) is tighter, but it is a theorem
about costs that were fixed before the first release. Here a poll may depend on earlier releases.
Sums stay valid then, and `Budget.concentrated` gives the sum that suits many small releases.
"""

from __future__ import annotations

import enum
import math
import re
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self, final

from ostraka.errors import FormatError, InputError, ParameterError, RehearsalError, say_number

if TYPE_CHECKING:
    from ostraka.release.certificate import Certificate

__all__ = ["Amount", "Budget", "Cost", "Kind"]

_EXACT = re.compile(r"(\d{1,4000})/([1-9]\d{0,3999})", re.ASCII)
LARGEST = Fraction(sys.float_info.max)
"""Budgets are doubles, and nobody spends more than a budget."""


@final
class Kind(enum.Enum):
    """What a ledger counts."""

    PURE = "pure"
    ZCDP = "zcdp"
    APPROXIMATE = "approximate"

    @property
    def names(self) -> tuple[str, ...]:
        """The numbers that make an amount of this kind."""
        known = {"pure": ("epsilon",), "zcdp": ("rho",), "approximate": ("epsilon", "delta")}
        return known[self.value]


_LETTERS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


@final
@dataclass(frozen=True, slots=True)
class Amount:
    """An amount of ε, ρ or (ε, δ), exactly."""

    kind: Kind
    values: tuple[Fraction, ...]

    def __add__(self, other: Amount) -> Amount:
        pairs = zip(self.values, other.values, strict=True)
        return Amount(self.kind, tuple(a + b for a, b in pairs))

    def __sub__(self, other: Amount) -> Amount:
        pairs = zip(self.values, other.values, strict=True)
        return Amount(self.kind, tuple(a - b for a, b in pairs))

    def times(self, n: int) -> Amount:
        """`n` times as much."""
        return Amount(self.kind, tuple(n * a for a in self.values))

    def fits(self, within: Amount) -> bool:
        """Whether no number exceeds its limit; exactly."""
        pairs = zip(self.values, within.values, strict=True)
        return self.kind is within.kind and all(a <= b for a, b in pairs)

    def share_of(self, whole: Amount) -> Fraction:
        """The smallest of the ratios to `whole`."""
        pairs = zip(self.values, whole.values, strict=True)
        return min((a / b for a, b in pairs if b), default=Fraction(0))

    def __str__(self) -> str:
        named = self.to_dict().items()
        return ", ".join(f"{_LETTERS[name]}={_short(value)}" for name, value in named)

    def to_dict(self) -> dict[str, Fraction]:
        """The numbers by their names."""
        return dict(zip(self.kind.names, self.values, strict=True))

    def to_text(self) -> str:
        """The numbers as p/q, as they are kept in the file."""
        return " ".join(map(exact_text, self.values))

    @classmethod
    def from_text(cls, kind: Kind, text: object) -> Amount:
        """Read what `to_text` wrote; anything else is refused."""
        values = tuple(exact_number(part) for part in str(text).split(" "))
        if len(values) != len(kind.names):
            problem = f"an amount has {len(values)} numbers, not {len(kind.names)}"
            raise FormatError("ledger", problem)
        return cls(kind, values)

    @classmethod
    def zero(cls, kind: Kind) -> Amount:
        """Nothing spent."""
        return cls(kind, (Fraction(0),) * len(kind.names))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The most that a party may lose over all releases: pure ε, or zCDP ρ, or (ε, δ)."""

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None

    def __post_init__(self) -> None:
        _make_positive(self)
        lonely = self.delta is not None and self.epsilon is None
        if (self.rho is None) == (self.epsilon is None) or lonely:
            given = {name: getattr(self, name) for name in _LETTERS}
            given = {name: value for name, value in given.items() if value is not None}
            allowed = "epsilon alone, or rho alone, or epsilon and delta"
            raise ParameterError("budget", got=given, allowed=allowed)

    @classmethod
    def concentrated(cls, epsilon: float, delta: float) -> Budget:
        """The largest ρ that implies (ε, δ).

        It leaves more room than (ε, δ) itself if releases are many and small, or Gaussian.
        """
        from ostraka.ledger.conversion import largest_rho

        allowed = _positive("delta", delta, below=1.0)
        return cls(rho=largest_rho(_positive("epsilon", epsilon), allowed))

    @property
    def kind(self) -> Kind:
        """What is counted."""
        if self.rho is not None:
            return Kind.ZCDP
        return Kind.PURE if self.delta is None else Kind.APPROXIMATE

    @property
    def amount(self) -> Amount:
        """The limit, exactly the doubles."""
        return Amount(self.kind, tuple(Fraction(getattr(self, name)) for name in self.kind.names))

    def __str__(self) -> str:
        return str(self.amount)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one release promises: (ε, δ), or ρ, or both.

    `gaussian` says that its noise is (post-processed) Gaussian of that ρ.
    """

    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    gaussian: bool = False

    def __post_init__(self) -> None:
        if self.epsilon is not None and self.delta == 0.0:
            object.__setattr__(self, "delta", None)
        _make_positive(self)
        lonely = self.delta is not None and self.epsilon is None
        if (self.epsilon is None and self.rho is None) or lonely:
            allowed = "epsilon, or epsilon and delta, or rho, or all of them"
            raise ParameterError("cost", got=str(self), allowed=allowed)
        if self.gaussian and self.rho is None:
            raise ParameterError("gaussian", got=True, allowed="only with rho")

    @classmethod
    def pure(cls, epsilon: float) -> Self:
        """The cost of a release that is ε-differentially private."""
        return cls(epsilon=epsilon)

    @classmethod
    def zcdp(cls, rho: float) -> Self:
        """The cost of a release that is ρ-zCDP."""
        return cls(rho=rho)

    @classmethod
    def approximate(cls, epsilon: float, delta: float) -> Self:
        """The cost of a release that is (ε, δ)-differentially private."""
        return cls(epsilon=epsilon, delta=delta)

    @classmethod
    def of(cls, certificate: Certificate) -> Self:
        """The cost of the release that a certificate describes: of this round alone.

        It is known before anything private is touched. Earlier rounds were charged before.
        """
        from ostraka.release.certificate import FROM_THE_SYSTEM

        if certificate.randomness != FROM_THE_SYSTEM:
            raise RehearsalError
        return cls(
            epsilon=certificate.round_epsilon,
            delta=certificate.round_delta,
            rho=certificate.rho,
            gaussian=certificate.noise == "gaussian",
        )

    def amount(self, kind: Kind) -> Amount:
        """What it counts as in a ledger of this kind, or an error that says why it cannot."""
        if kind is Kind.ZCDP:
            return Amount(kind, (self._rho(),))
        if self.epsilon is None:
            raise self._uncountable(
                kind,
                "a bound on ρ implies (ε, δ) only together with a δ",
                "State ε and δ too: Cost(epsilon, delta, rho).",
            )
        if kind is Kind.APPROXIMATE:
            return Amount(kind, (Fraction(self.epsilon), Fraction(self.delta or 0.0)))
        if self.delta is not None:
            raise self._uncountable(
                kind,
                "no ε alone bounds it",
                "Keep it in a ledger of (ε, δ), or of ρ if it is zCDP.",
            )
        return Amount(kind, (Fraction(self.epsilon),))

    def _rho(self) -> Fraction:
        # ρ = ε²/2 for pure ε   [Bun and Steinke 2016, Prop. 1.4]
        known = [] if self.rho is None else [Fraction(self.rho)]
        if self.epsilon is not None and self.delta is None:
            known.append(Fraction(self.epsilon) ** 2 / 2)
        if not known:
            raise self._uncountable(
                Kind.ZCDP,
                "with δ above 0 no ρ bounds it",
                "Keep it in a ledger of (ε, δ), or state its ρ.",
            )
        return min(known)

    def _uncountable(self, kind: Kind, why: str, remedy: str) -> InputError:
        unit = " and ".join(_LETTERS[name] for name in kind.names)
        problem = f"This release costs {self}, but the ledger counts {unit}: {why}."
        return InputError(problem, remedy)

    def __str__(self) -> str:
        known = ((letter, getattr(self, name)) for name, letter in _LETTERS.items())
        return ", ".join(
            f"{letter}={say_number(value)}" for letter, value in known if value is not None
        )


def exact_text(value: Fraction) -> str:
    """A Fraction as p/q."""
    return f"{value.numerator}/{value.denominator}"


def exact_number(text: object) -> Fraction:
    """A Fraction from p/q, not negative and no larger than a double; anything else is refused."""
    found = _EXACT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise FormatError("ledger", f"{str(text)[:40]!r} is not a number p/q")
    value = Fraction(int(found[1]), int(found[2]))
    if value > LARGEST:
        raise FormatError("ledger", f"{str(text)[:40]!r}... is larger than any budget")
    return value


def _short(value: Fraction) -> str:
    """For people; what a charge would come to may be larger than any double."""
    return say_number(float(value)) if value <= LARGEST else f"more than {float(LARGEST):.0e}"


def _make_positive(value: Budget | Cost) -> None:
    for name in _LETTERS:
        if getattr(value, name) is not None:
            below = 1.0 if name == "delta" else math.inf
            object.__setattr__(value, name, _positive(name, getattr(value, name), below))


def _positive(name: str, given: Any, below: float = math.inf) -> float:
    """`given` as a double above 0.

    A number that no double equals is refused, because rounding it would change the promise.
    """
    other = isinstance(given, str | bytes | bool) or getattr(given, "ndim", 0) != 0
    try:
        value = math.nan if other else float(given)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not 0.0 < value < below or value != given:
        allowed = f"a positive double{' below 1' if below == 1.0 else ', finite'}"
        raise ParameterError(name, got=given, allowed=allowed)
    return value
