"""Discrete Laplace noise: integers, independent from coordinate to coordinate, drawn exactly.

| letter | code name        | meaning                                                              |
|--------|------------------|----------------------------------------------------------------------|
| q      | `values`         | the private integers, in units of a public lattice                   |
| s      | `scale`          | P(z) ∝ exp(−|z|/s) for every integer z; the double, taken exactly    |
| D      | `dimension`      | number of coordinates                                                |
| Δ₁     | `l1_sensitivity` | neighbours' q differ by at most this in L1, counted in lattice units |
| ε      | `epsilon`        | Δ₁/s, rounded up                                                     |

Guarantee: `publish` with `Entropy` is ε-differentially private with δ = 0. `noise` has exactly this
law on all integers. Proof: `laplace.proof.md`.

Source: Ghosh, Roughgarden, Sundararajan 2012 (the law); Canonne, Kamath, Steinke 2020,
section 5.2 (the exact sampler), in OpenDP's implementation.

Why not draw the noise first and add q here: OpenDP saturates its results at the ends of 64 bits.
Applied to q + Z that is post-processing; applied to Z alone it would not be. So q goes in, but
where sums are made modulo 2⁶⁴: there `noise` draws anew what lies beyond a bound, which is as far
beyond it as the law is from 0.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import ParameterError, ShapeError, WrongTypeError, count
from ostraka.mechanism.entropy import Entropy, Rehearsal, Source
from ostraka.mechanism.l2 import positive_double

__all__ = ["DiscreteLaplace", "VALUE_BOUND", "round_up", "whole_numbers"]

# Larger values are refused. The bound is far below the end of 64 bits, so that only the noise can
# cause saturation.
VALUE_BOUND = 2**62


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DiscreteLaplace:
    """Z in Z^D with P(z) ∝ exp(−‖z‖₁/scale)."""

    scale: float
    dimension: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_double("scale", self.scale))
        object.__setattr__(self, "dimension", count("dimension", self.dimension, 1))

    @classmethod
    def for_epsilon(cls, epsilon: float, l1_sensitivity: int, dimension: int) -> Self:
        """The law with the smallest scale that costs at most ε.

        Both our calculation and OpenDP's, which may round up once more, must stay within ε.
        """
        epsilon, sensitivity = positive_double("epsilon", epsilon), _sensitivity(l1_sensitivity)
        law = cls(scale=round_up(Fraction(sensitivity) / Fraction(epsilon)), dimension=dimension)
        while not _measurement(law).map(sensitivity) <= epsilon:
            law = cls(scale=math.nextafter(law.scale, math.inf), dimension=dimension)
        return law

    def epsilon(self, l1_sensitivity: int) -> float:
        """ε = Δ₁/s, rounded up: what one publication costs."""
        return round_up(Fraction(_sensitivity(l1_sensitivity)) / Fraction(self.scale))

    def publish(self, values: Sequence[int], source: Source) -> list[int]:
        """The values with noise.

        Exact and kept within 64 bits with `Entropy`, computed in doubles with a `Rehearsal`.
        """
        whole = _within_bound(whole_numbers(values, self.dimension))
        if isinstance(source, Rehearsal):
            (noise,) = self.rehearse(source.generator, 1)
            return [q + int(z) for q, z in zip(whole, noise.tolist(), strict=True)]
        # Any other object with a method `bits` would pass for the operating system's generator.
        if type(source) is not Entropy:
            raise ParameterError("source", got=source, allowed="Entropy() or Rehearsal(seed)")
        return [int(noisy) for noisy in _measurement(self)(whole)]

    def noise(self, source: Source) -> list[int]:
        """Z alone, of any size."""
        if type(source) is not Entropy:
            raise ParameterError("source", got=source, allowed="Entropy()")
        found = _measurement(self)([0] * self.dimension)
        alone = DiscreteLaplace(scale=self.scale, dimension=1)
        return [settle_far(int(z), VALUE_BOUND, alone._draw_one) for z in found]

    def _draw_one(self) -> int:
        return int(_measurement(self)([0])[0])

    def rehearse(self, generator: np.random.Generator, n_draws: int) -> NDArray[np.float64]:
        """Draw `n_draws` noise vectors in doubles, as rows: for experiments, without a promise.

        Their entries are whole numbers.
        """
        # ⌊s·E⌋ is geometric for an exponential E; a difference of
        # two geometrics is discrete Laplace.
        exponentials = generator.standard_exponential(
            (2, count("n_draws", n_draws, 1), self.dimension)
        )
        first, second = np.floor(self.scale * exponentials)
        noise: NDArray[np.float64] = first - second
        return noise


def settle_far(z: int, bound: int, draw: Callable[[], int]) -> int:
    """z, if it is nearer to 0 than `bound`.

    Otherwise only its sign is taken, since it may be saturated; how far it lies beyond the bound is
    drawn anew, and has the law of a draw that is not negative.
    """
    beyond = 0
    while abs(z) >= bound:
        sign = 1 if z > 0 else -1
        beyond += sign * bound
        z = draw()
        while z * sign < 0:
            z = draw()
    return beyond + z


def round_up(exact: Fraction) -> float:
    """The smallest double that is at least `exact`; infinity if there is none."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    return (
        nearest
        if math.isinf(nearest) or Fraction(nearest) >= exact
        else math.nextafter(nearest, math.inf)
    )


def whole_numbers(values: Sequence[int], dimension: int) -> list[int]:
    """`values` as Python integers, one for each coordinate."""
    try:
        whole = [operator.index(value) for value in values]
    except TypeError:
        raise WrongTypeError("values", values, "whole numbers, in units of the lattice") from None
    if len(whole) != dimension:
        raise ShapeError(
            "values", got=(len(whole),), allowed=f"({dimension},), one whole number per coordinate"
        )
    return whole


def _within_bound(values: list[int]) -> list[int]:
    """Refuse values beyond the bound.

    A refusal here would reveal something about the values, so the caller must make sure of the
    bound beforehand and in public.
    """
    if any(abs(value) > VALUE_BOUND for value in values):
        allowed = (
            "whole numbers from -2**62 to 2**62; "
            "choose the lattice so that no data can exceed that, because a refusal is visible"
        )
        raise ParameterError("values", got="a value of more than 62 bits", allowed=allowed)
    return values


def _sensitivity(given: int) -> int:
    return count("l1_sensitivity", given, 1, VALUE_BOUND)


def _measurement(law: DiscreteLaplace) -> Any:
    """OpenDP's mechanism: maps D integers of 64 bits to noisy ones, and distances to losses."""
    # Imported here: a tenth of a second, and only publications need it.
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_laplace
    from opendp.metrics import l1_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_laplace(
        vector_domain(atom_domain(T="i64"), size=law.dimension), l1_distance(T="i64"), law.scale
    )
