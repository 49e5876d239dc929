"""What the solver returns: a point, and a proof of how close it is to the minimiser.

R is λ-strongly convex, so ‖ŵ − w*‖ ≤ ‖∇R(ŵ)‖/λ. The gradient norm is bounded from above: what was
computed, plus the rounding error of computing it (risk.proof.md). The point is taken through its
certificate: `solution.within(radius)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ostraka.errors import PrecisionError
from ostraka.solve.losses import Array

__all__ = ["Solution"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Solution:
    """A point and an upper bound on the gradient norm there."""

    point: Array
    gradient_bound: float
    lambda_: float
    route: str
    """The solver that was used: `newton`, `newton-cg` or `accelerated`.

    It depends on the labels, so it is never published.
    """

    def __post_init__(self) -> None:
        self.point.setflags(write=False)

    @property
    def distance_bound(self) -> float:
        """How far the point may be from the exact minimiser."""
        return self.gradient_bound / self.lambda_

    def within(self, radius: float) -> Array:
        """The point, if it is proved to lie within `radius` of the minimiser."""
        if not self.distance_bound <= radius:
            raise PrecisionError(known=self.distance_bound, asked=radius)
        return self.point
