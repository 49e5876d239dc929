"""Projection onto a ball, with its rounding error."""

from __future__ import annotations

import numpy as np

from ostraka.solve.losses import Array
from ostraka.solve.risk import gamma

__all__ = ["onto_ball", "ball_rounding"]


def onto_ball(w: Array, radius: float) -> Array:
    """The point of the ball nearest to w, up to `ball_rounding` times the radius."""
    peak = float(np.abs(w).max(initial=0.0))
    if not peak > 0.0:
        return w
    unit = w / peak  # squares of the entries of w itself might overflow or vanish
    norm = float(np.linalg.norm(unit))
    return w if peak * norm <= radius else unit * (radius / norm)


def ball_rounding(size: int) -> float:
    """The relative error of a projection.

    The projected vector is at most radius·(1 + this) long, and within radius·this of the exact
    projection. The computed norm of n numbers has a relative error of γ_{n+2}; the factor and the
    product add three roundings.
    """
    return gamma(size + 8)
