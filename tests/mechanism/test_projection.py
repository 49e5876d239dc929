from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ostraka.mechanism.projection import ball_rounding, onto_ball

vectors = arrays(np.float64, st.integers(1, 12), elements=st.floats(-1e6, 1e6))


@given(vectors, st.floats(1e-6, 1e6))
def test_no_projected_vector_is_longer_than_promised(w: np.ndarray, radius: float) -> None:
    squared = sum(Fraction(float(v)) ** 2 for v in onto_ball(w, radius))
    limit = Fraction(radius) * (1 + Fraction(ball_rounding(w.size)))
    assert squared <= limit**2


@given(vectors, st.floats(1e-6, 1e6))
def test_the_projection_keeps_the_direction_and_what_is_inside(
    w: np.ndarray, radius: float
) -> None:
    out = onto_ball(w, radius)
    if np.linalg.norm(w) <= radius:
        assert (out == w).all()
    else:
        assert np.vdot(out, w) >= (1 - 1e-12) * np.linalg.norm(out) * np.linalg.norm(w)


def test_infinite_norms_end_in_the_ball() -> None:
    assert np.linalg.norm(onto_ball(np.full(3, 1e300), 2.0)) <= 2.0 * (1 + 1e-15)


def test_tiny_radii_are_radii() -> None:
    for radius in (1e-100, 1e-160, 1e-200):
        assert np.abs(onto_ball(np.full(3, radius), radius)).max() <= radius * 0.58
