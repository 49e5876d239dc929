"""Which noise a statistic gets: the law, its scale, and what it costs.

    letter  name here     meaning
    S       sensitivity   how far one party moves the sum, in units of the lattice:
                          in L2, or in L1 for discrete Laplace
    D       dimension     how many numbers are released
    v       variance      of the noise in one coordinate, in units squared

Pure ε in L2: the paper's ℓ2 noise, of scale S/ε. Independent Laplace noise for the same promise
would need the L1 sensitivity √D·S and be √2 times as long. With δ > 0: the ℓ2 noise at a smaller
scale, or a Gaussian, whichever is shorter (`auto`); a Gaussian on request, because its loss
composes in ρ. In L1 (histograms): discrete Laplace.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias, final, get_args

import numpy as np

from ostraka.errors import ParameterError
from ostraka.mechanism.entropy import Entropy, Rehearsal
from ostraka.mechanism.gaussian import RoundedGaussian
from ostraka.mechanism.l2 import L2Noise
from ostraka.mechanism.l2_delta import delta_bound, l2_scale
from ostraka.mechanism.laplace import DiscreteLaplace
from ostraka.public.promise import NoiseName
from ostraka.release.certificate import Certificate
from ostraka.solve.losses import Array

__all__ = [
    "Exact",
    "Law",
    "UnitL2",
    "l1_law",
    "l2_law",
    "l2_variance",
    "scale_up",
    "variance",
    "verify",
]

Exact: TypeAlias = list[int]
"""A vector on the lattice: whole multiples of its unit."""

PURE_FROM = 1e7
"""From this ε on, a δ saves less than one part in ten thousand of the noise.

Its certified calibration would take minutes.
"""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class UnitL2:
    """The paper's noise on the integers."""

    scale: float
    dimension: int

    def publish(self, values: Exact, source: Entropy | Rehearsal) -> Exact:
        """The values with noise."""
        return [q + z for q, z in zip(values, self.noise(source), strict=True)]

    def noise(self, source: Entropy | Rehearsal) -> Exact:
        """Noise alone."""
        drawn = L2Noise(scale=self.scale, spacing=1.0, dimension=self.dimension).draw(source)
        return [int(z) for z in drawn]

    def rehearse(self, generator: np.random.Generator, n_draws: int) -> Array:
        """Noise vectors as rows, without a promise."""
        return L2Noise(scale=self.scale, spacing=1.0, dimension=self.dimension).rehearse(
            generator, n_draws
        )


Law: TypeAlias = UnitL2 | DiscreteLaplace | RoundedGaussian


def l2_law(
    epsilon: float, delta: float, sensitivity: float, dimension: int, noise: NoiseName = "auto"
) -> Law:
    """The law for an L2 sensitivity, in units."""
    if noise not in get_args(NoiseName):
        raise ParameterError("noise", got=noise, allowed=", ".join(get_args(NoiseName)))
    if delta == 0.0:
        if noise == "gaussian":
            raise ParameterError(
                "delta", got=0.0, allowed="a small number above 0 for Gaussian noise, such as 1e-6"
            )
        return UnitL2(scale=scale_up(sensitivity, epsilon), dimension=dimension)
    ours = UnitL2(scale=_l2_scale(epsilon, delta, sensitivity, dimension), dimension=dimension)
    if noise == "l2":
        return ours
    gaussian = RoundedGaussian.for_epsilon_delta(epsilon, delta, sensitivity, dimension)
    return gaussian if noise == "gaussian" or gaussian.scale**2 < variance(ours) else ours


def l1_law(epsilon: float, sensitivity: int, dimension: int) -> Law:
    """The law for an L1 sensitivity, in units."""
    return DiscreteLaplace.for_epsilon(epsilon, sensitivity, dimension)


def variance(law: Law) -> float:
    """v."""
    if isinstance(law, DiscreteLaplace):
        return 2.0 * law.scale**2
    return law.scale**2 * (law.dimension + 1 if isinstance(law, UnitL2) else 1)


def l2_variance(epsilon: float, delta: float, sensitivity: Array, dimensions: Array) -> Array:
    """About v for many dimensions at once, for choices that only affect accuracy.

    For δ > 0 it is interpolated between a few exact values.
    """
    if delta == 0.0 or epsilon >= PURE_FROM:
        return (sensitivity / epsilon) ** 2 * (dimensions + 1.0)
    few = np.unique(np.rint(np.geomspace(dimensions.min(), dimensions.max(), 8)).astype(int))
    scales = [l2_scale(epsilon, delta, 1.0, int(D)) for D in few]
    lengths = np.exp(
        np.interp(np.log(dimensions), np.log(few), np.log(np.array(scales) * np.sqrt(few + 1.0)))
    )
    result: Array = (sensitivity * lengths) ** 2
    return result


def _l2_scale(epsilon: float, delta: float, sensitivity: float, dimension: int) -> float:
    """What is enough for δ = 0 is enough for any δ."""
    return (
        scale_up(sensitivity, epsilon)
        if epsilon >= PURE_FROM
        else l2_scale(epsilon, delta, sensitivity, dimension)
    )


def scale_up(sensitivity: float, epsilon: float) -> float:
    """The smallest double that is at least S/ε."""
    scale = sensitivity / epsilon
    while Fraction(scale) * Fraction(epsilon) < Fraction(sensitivity):
        scale = math.nextafter(scale, math.inf)
    return scale


def verify(promised: Certificate) -> float:
    """δ at the round's ε, computed again from its noise and sensitivity; 0 if the round is pure.

    Rounded up.
    """
    if promised.round_delta == 0.0:
        scaled = Fraction(promised.noise_scale) * Fraction(promised.round_epsilon)
        return 0.0 if scaled >= Fraction(promised.sensitivity) else math.inf
    if promised.noise == "gaussian":
        law = RoundedGaussian(
            scale=promised.noise_scale / promised.grid, dimension=promised.dimension
        )
        return law.delta(promised.round_epsilon, promised.sensitivity / promised.grid)
    return delta_bound(
        promised.round_epsilon, promised.noise_scale, promised.sensitivity, promised.dimension
    )
