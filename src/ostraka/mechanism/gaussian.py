"""Gaussian noise, rounded to the integers and drawn exactly, with its exact (ε, δ) curve.

| letter | code name        | meaning                                                        |
|--------|------------------|----------------------------------------------------------------|
| q      | `values`         | the private integers, in units of a public lattice             |
| σ      | `scale`          | standard deviation of the ideal noise g ~ N(0, σ²I), in units  |
| D      | `dimension`      | number of coordinates                                          |
| Z      | –                | ⌊g + 1/2⌋, coordinate by coordinate: what is drawn             |
| Δ      | `l2_sensitivity` | bound on the L2 distance of neighbours' q; any positive number |
| m      | `ratio`          | Δ/σ                                                            |
| ρ      | `rho`            | Δ²/(2σ²), the zero-concentrated loss, rounded up               |
| Φ      | –                | the standard normal distribution function                      |

Guarantee: `publish` with `Entropy` is ρ-zCDP, and (ε, δ)-differentially private for every ε with
δ = Φ(m/2 − ε/m) − e^ε·Φ(−m/2 − ε/m). Proof: `gaussian.proof.md`.

Source: Balle and Wang 2018, Theorem 8 (the curve); Bun and Steinke 2016 (ρ).
The exact draw is ours, the same as in `l2.py`.

Why not the discrete Gaussian (Canonne, Kamath, Steinke 2020; OpenDP): its ρ is the same, but the
curve above is a theorem about the continuous Gaussian. The discrete one has a different curve,
which depends on the direction of the shift and is worse in places (a shift of one unit, σ = 2,
ε = 1: 0.00725 against 0.00683), and going through ρ costs 7 % more noise at ε = 1, δ = 1e-6. The
rounded Gaussian is the continuous mechanism with post-processing: its curve needs no correction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self, final

import numpy as np
from flint import arb, fmpq
from numpy.typing import NDArray

from ostraka.errors import ParameterError, count
from ostraka.mechanism.entropy import Entropy, Rehearsal, Source
from ostraka.mechanism.l2 import (
    MARGIN_BITS,
    BitSource,
    LazyUniform,
    enclose_gaussians,
    positive_double,
    settle,
    working_precision,
)
from ostraka.mechanism.laplace import round_up, whole_numbers

__all__ = ["RoundedGaussian", "as_ball", "probability", "upper_bound"]

# An enclosure is tried at these precisions in turn until it is narrow enough. The last one is
# final: the result is an enclosure at any precision.
PRECISIONS = (64, 128, 256, 512, 1024, 2048, 4096)
ACCURACY_BITS = 60


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RoundedGaussian:
    """⌊g + 1/2⌋ for g ~ N(0, scale²·I) in R^D."""

    scale: float
    dimension: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_double("scale", self.scale))
        object.__setattr__(self, "dimension", count("dimension", self.dimension, 1))

    @classmethod
    def for_epsilon_delta(
        cls, epsilon: float, delta: float, l2_sensitivity: float, dimension: int
    ) -> Self:
        """The law with the smallest scale whose certified δ at ε is at most `delta`."""
        target, sensitivity = (
            probability("delta", delta),
            positive_double("l2_sensitivity", l2_sensitivity),
        )
        scale = _smallest_double(
            lambda s: cls(scale=s, dimension=1).delta(epsilon, sensitivity) <= target,
            start=sensitivity,
        )
        return cls(scale=scale, dimension=dimension)

    @classmethod
    def for_rho(cls, rho: float, l2_sensitivity: float, dimension: int) -> Self:
        """The law with the smallest scale that costs at most ρ."""
        target, sensitivity = (
            positive_double("rho", rho),
            positive_double("l2_sensitivity", l2_sensitivity),
        )
        scale = _smallest_double(
            lambda s: cls(scale=s, dimension=1).rho(sensitivity) <= target, start=sensitivity
        )
        return cls(scale=scale, dimension=dimension)

    def rho(self, l2_sensitivity: float) -> float:
        """ρ = Δ²/(2σ²), rounded up: what one publication costs in zero-concentrated privacy."""
        ratio = Fraction(positive_double("l2_sensitivity", l2_sensitivity)) / Fraction(self.scale)
        return round_up(ratio**2 / 2)

    def delta(self, epsilon: float, l2_sensitivity: float) -> float:
        """δ at ε, rounded up."""
        loss = Fraction(positive_double("epsilon", epsilon))
        ratio = Fraction(positive_double("l2_sensitivity", l2_sensitivity)) / Fraction(self.scale)
        return min(
            1.0, upper_bound(lambda: enclose_curve(as_ball(loss), as_ball(ratio)), ACCURACY_BITS)
        )

    def publish(self, values: Sequence[int], source: Source) -> list[int]:
        """The values with noise: exactly from `Entropy`, in doubles from a `Rehearsal`."""
        whole = whole_numbers(values, self.dimension)
        return [q + z for q, z in zip(whole, self.noise(source), strict=True)]

    def rehearse(self, generator: np.random.Generator, n_draws: int) -> NDArray[np.float64]:
        """Draw `n_draws` noise vectors in doubles, as rows: for experiments, without a promise.

        Their entries are whole numbers.
        """
        return np.rint(
            self.scale * generator.standard_normal((count("n_draws", n_draws, 1), self.dimension))
        )

    def noise(self, source: Source) -> list[int]:
        """Noise alone."""
        if isinstance(source, Rehearsal):
            return [int(z) for z in self.rehearse(source.generator, 1)[0].tolist()]
        # Any other object with a method `bits` would take the exact path without using the
        # operating system's bits.
        if type(source) is not Entropy:
            raise ParameterError("source", got=source, allowed="Entropy() or Rehearsal(seed)")
        return draw_units(self, source)


def draw_units(law: RoundedGaussian, source: BitSource) -> list[int]:
    """Draw ⌊g + 1/2⌋, a function of the bits alone: take bits until every rounding is settled."""

    def enclose(uniforms: Sequence[LazyUniform]) -> list[arb]:
        return [arb(law.scale) * g_i for g_i in enclose_gaussians(uniforms)[: law.dimension]]

    # Enough for a second pass to be rare. Any positive number of bits would be correct.
    n_bits = MARGIN_BITS + law.dimension.bit_length() + max(0, math.frexp(law.scale)[1])
    # Gaussians come in pairs, so an odd dimension takes one uniform more.
    return settle(enclose, law.dimension + law.dimension % 2, n_bits, source)


def enclose_curve(e: arb, m: arb) -> arb:
    """δ = Φ(m/2 − e/m) − exp(e)·Φ(−m/2 − e/m) at e = ε   [Balle and Wang 2018, Thm 8]."""
    return _normal_cdf(m / 2 - e / m) - e.exp() * _normal_cdf(-m / 2 - e / m)


def upper_bound(enclose: Callable[[], arb], accuracy_bits: int) -> float:
    """The smallest double above an enclosure, which is computed more precisely until narrow."""
    for n_bits in PRECISIONS:
        with working_precision(n_bits):
            ball = enclose()
            upper = _double_above(ball)
        if ball.is_finite() and ball.rel_accuracy_bits() >= accuracy_bits:
            break
    return upper


def as_ball(exact: Fraction) -> arb:
    """A ball that holds a rational number."""
    return arb(fmpq(exact.numerator, exact.denominator))


def probability(name: str, given: float) -> float:
    """`given` as a double strictly between 0 and 1."""
    value = positive_double(name, given)
    if not value < 1:
        raise ParameterError(name, got=given, allowed="a number above 0 and below 1")
    return value


def _normal_cdf(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def _double_above(ball: arb) -> float:
    """The smallest double that is at least every number in the ball, up to working precision."""
    if ball < arb((1, -1074)):
        return 5e-324  # the smallest double above 0; the number itself may have billions of digits
    if not ball < arb((1, 1024)):
        return math.inf
    mantissa, exponent = (int(part) for part in ball.upper().man_exp())
    return round_up(Fraction(mantissa) * Fraction(2) ** exponent)


def _smallest_double(suffices: Callable[[float], bool], start: float) -> float:
    """A double that suffices, directly above one that does not.

    Whenever a double suffices, every larger one must suffice too.
    """
    upper = start
    while not suffices(upper):
        upper *= 2
    lower = upper / 2
    while lower > 0 and suffices(lower):
        upper, lower = lower, lower / 2
    while lower < (middle := lower + (upper - lower) / 2) < upper:
        lower, upper = (lower, middle) if suffices(middle) else (middle, upper)
    return upper
