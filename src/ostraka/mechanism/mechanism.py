"""How a sum is hidden: a law of noise on the lattice, and what that promises.

    letter  name here     meaning
    S       sensitivity   how far one protected unit moves the vector, in the law's norm
    g       grid          what one unit of the lattice is worth, a power of two
    M       divisor       what a sum is divided by afterwards; 1 where the vector is the result
    n       n_noises      how many servers add such noise, each of them all of it
    ν       deviation     standard deviation of one coordinate of what is released

Guarantee (mechanism.proof.md): if the vectors of two neighbouring worlds are at most S apart, what
`draw` returns has the privacy loss that the law was made for. M is public, and only a divisor. So
has what `hide` returns, of a vector modulo 2⁶⁴.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from ostraka.errors import ParameterError, ShapeError
from ostraka.mechanism.entropy import Entropy, Rehearsal
from ostraka.mechanism.gaussian import RoundedGaussian
from ostraka.mechanism.laplace import DiscreteLaplace
from ostraka.mechanism.laws import Exact, Law, UnitL2, variance
from ostraka.release.certificate import Particular
from ostraka.sealing.shares import Share, wrap
from ostraka.solve.losses import Array

__all__ = ["Mechanism"]

LARGEST_MEAN = 2**500
"""Beyond it a released number is taken for this one: doubles must not overflow.

No true one is near.
"""
NAMES = {UnitL2: "l2", DiscreteLaplace: "discrete laplace", RoundedGaussian: "gaussian"}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """A law on the lattice, and what goes with it into the certificate."""

    law: Law
    grid: float
    sensitivity: float
    """In terms of what the numbers are worth, not in lattice units."""
    delta: float
    """What the law needs besides ε; 0 for a pure promise."""
    divisor: int
    coordinates: str
    particular: Particular
    n_noises: int = 1

    @property
    def dimension(self) -> int:
        """D."""
        return self.law.dimension

    @property
    def noise(self) -> str:
        """The name of the law."""
        return NAMES[type(self.law)]

    @property
    def norm(self) -> str:
        """The norm in which the sensitivity is measured."""
        return "l1" if isinstance(self.law, DiscreteLaplace) else "l2"

    @property
    def noise_scale(self) -> float:
        """In terms of what the numbers are worth; exact, because the grid is a power of two."""
        return self.law.scale * self.grid

    @property
    def rho(self) -> float | None:
        """The zero-concentrated loss of a Gaussian; None for other laws."""
        if not isinstance(self.law, RoundedGaussian):
            return None
        return self.law.rho(self.sensitivity / self.grid)

    @property
    def deviation(self) -> float:
        """ν."""
        return math.sqrt(self.n_noises * variance(self.law)) * self.grid / self.divisor

    def draw(self, vector: Exact, source: Entropy | Rehearsal) -> Exact:
        """The vector with noise; a rehearsal plays all servers."""
        self.check(source)
        self._check_length(len(vector))
        if isinstance(source, Rehearsal):
            for _ in range(self.n_noises - 1):
                vector = self.law.publish(vector, source)
        elif self.n_noises > 1:
            allowed = "a vector of one server's shares, by `hide`: each adds noise of its own"
            raise ParameterError("vector", got="one in the clear", allowed=allowed)
        return self.law.publish(vector, source)

    def hide(self, share: Share, source: Entropy) -> Share:
        """What one server holds, modulo 2⁶⁴, with noise of its own; it never fails."""
        self.check(source)
        if type(source) is not Entropy:
            raise ParameterError("source", got=source, allowed="Entropy()")
        self._check_length(len(share))
        return share + wrap(self.law.noise(source))

    def _check_length(self, length: int) -> None:
        if length != self.dimension:
            allowed = f"({self.dimension},), as promised"
            raise ShapeError("The vector", got=(length,), allowed=allowed)

    @staticmethod
    def check(source: object) -> None:
        """Refuse any other object with a method `bits`: it would pass for the operating system."""
        if type(source) is not Entropy and type(source) is not Rehearsal:
            raise ParameterError("source", got=source, allowed="Entropy() or Rehearsal(seed)")

    def mean(self, noisy: Exact) -> Array:
        """What was released, as doubles: each value times g over M."""
        unit = Fraction(self.grid) / self.divisor
        most = LARGEST_MEAN * unit.denominator
        # A quotient of Python's integers is the nearest double; fractions give the same, slowly.
        return np.array(
            [min(max(value * unit.numerator, -most), most) / unit.denominator for value in noisy]
        )

    def rehearse(self, generator: np.random.Generator, n_draws: int) -> Array:
        """Noise alone, as rows of doubles, scaled: for experiments, without a promise."""
        drawn: Array = self.law.rehearse(generator, n_draws)
        for _ in range(self.n_noises - 1):
            drawn = drawn + self.law.rehearse(generator, n_draws)
        noise: Array = drawn * (self.grid / self.divisor)
        return noise
