"""What `soft`, `vote` and `avg` share: a vector, its sensitivity, ℓ2 noise on a grid, a release.

    letter  name here     meaning
    S       sensitivity   how far one party moves the vector on the grid
    D       dimension     coordinates that get noise
    g       grid          a public power of two; the vector is put on multiples of it before the noise
    s       noise_scale   S/ε, rounded up

Guarantee (output_perturbation.proof.md): the release is ε-differentially private for the neighbours that its certificate names. A `Plan`
is made from public things alone; only `publish` sees the private vector, and what it adds to the plan is that vector with its noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

import numpy as np

from ostraka.certificate import FROM_A_SEED, Certificate, SensitivityParts
from ostraka.losses import Array
from ostraka.methods.terms import Terms
from ostraka.model import LinearModel, Task
from ostraka.noise import Entropy, L2Noise, Rehearsal
from ostraka.release import ChargeFirst, Rehearsed, Release
from ostraka.sensitivity.coordinates import Coordinates

__all__ = ["Plan", "Exact", "on_grid", "grid_spacing", "calibrate", "scale_up"]

GRID_BITS = 20
"""The grid costs at most 2⁻²⁰ of the sensitivity."""
_UP = 1.0 + 2.0**-40

Exact = list[int]
"""A vector on the grid: whole multiples of its spacing."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All of a release that is known before private data is touched."""

    certificate: Certificate
    coordinates: Coordinates
    task: Task
    terms: Terms

    @property
    def noise(self) -> L2Noise:
        """The law of the noise."""
        promised = self.certificate
        return L2Noise(scale=promised.noise_scale, spacing=promised.grid, dimension=promised.dimension)

    def publish(self, vector: Exact, source: Entropy | Rehearsal, charge: ChargeFirst = None) -> Release | Rehearsed:
        """Charge, then add noise to a vector on the grid."""
        if charge is not None and not isinstance(source, Rehearsal):
            charge(self.certificate)
        noise = self.noise.draw(source)
        noisy = np.array([float((q + z) * Fraction(self.certificate.grid)) for q, z in zip(vector, noise, strict=True)])
        model = LinearModel(task=self.task, weights=self.coordinates.weights(noisy))
        if isinstance(source, Rehearsal):
            return Rehearsed(model=model, certificate=replace(self.certificate, randomness=FROM_A_SEED))
        return Release(model=model, certificate=self.certificate)


def on_grid(vector: Array, spacing: float) -> Exact:
    """The nearest grid point, in units of the spacing: exact, because the spacing is a power of two."""
    return [int(unit) for unit in np.rint(vector / spacing)]


def grid_spacing(sensitivity: float, dimension: int) -> float:
    """The largest power of two for which g√D ≤ 2⁻²⁰·S."""
    return math.ldexp(1.0, math.floor(math.log2(sensitivity / math.sqrt(dimension))) - GRID_BITS)


def grid_term(spacing: float, dimension: int) -> float:
    """g√D: two worlds' vectors each move by at most g√D/2 when they are put on the grid."""
    return spacing * math.sqrt(dimension) * _UP


def calibrate(entries: Sequence[SensitivityParts], dimension: int, epsilon: float, n_roundings: float = 1.0) -> Calibrated:
    """The entry that costs least, with the grid's own term, and the noise scale for it.

    `n_roundings` counts how often a vector is put on the grid on the way to the release, if more than once.
    """
    best = min(entries, key=lambda parts: parts.bound + parts.solver + parts.rounding)
    before_grid = best.bound + best.solver + best.rounding
    spacing = grid_spacing(before_grid, dimension)
    grid = grid_term(spacing, dimension) * n_roundings * _UP
    parts = SensitivityParts(rule=best.rule, bound=best.bound, solver=best.solver, rounding=best.rounding, grid=grid)
    total = (before_grid + grid) * _UP
    return Calibrated(parts=parts, sensitivity=total, spacing=spacing, noise_scale=scale_up(total, epsilon))


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """A sensitivity with its parts, the grid, and the scale of the noise."""

    parts: SensitivityParts
    sensitivity: float
    spacing: float
    noise_scale: float


def scale_up(sensitivity: float, epsilon: float) -> float:
    """The smallest double that is at least S/ε."""
    scale = sensitivity / epsilon
    while Fraction(scale) * Fraction(epsilon) < Fraction(sensitivity):
        scale = math.nextafter(scale, math.inf)
    return scale
