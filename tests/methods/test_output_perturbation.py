from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ostraka.certificate import SensitivityParts
from ostraka.methods.output_perturbation import GRID_BITS, calibrate, grid_spacing, grid_term, on_grid, scale_up

positive = st.floats(1e-12, 1e12)


@given(positive, positive)
def test_the_scale_covers_the_sensitivity_exactly_and_no_smaller_double_does(s: float, epsilon: float) -> None:
    scale = scale_up(s, epsilon)
    assert Fraction(scale) * Fraction(epsilon) >= Fraction(s)
    assert Fraction(math.nextafter(scale, 0)) * Fraction(epsilon) < Fraction(s) * (1 + Fraction(1, 2**50))


@given(positive, st.integers(1, 10**6))
def test_the_grid_is_a_power_of_two_that_costs_a_millionth(s: float, dimension: int) -> None:
    spacing = grid_spacing(s, dimension)
    assert math.frexp(spacing)[0] == 0.5
    assert Fraction(grid_term(spacing, dimension)) ** 2 >= Fraction(spacing) ** 2 * dimension
    assert grid_term(spacing, dimension) <= 2.0**-GRID_BITS * s * (1 + 1e-9)


@given(arrays(np.float64, 4, elements=st.floats(-1e9, 1e9)), st.integers(-40, 10))
def test_the_grid_moves_no_coordinate_by_more_than_half_a_step(vector: np.ndarray, power: int) -> None:
    spacing = Fraction(2) ** power
    for unit, value in zip(on_grid(vector, float(spacing)), vector):
        assert abs(unit * spacing - Fraction(float(value))) <= spacing / 2


def test_what_lies_below_the_grid_does_not_reach_the_noise() -> None:
    """Two inputs that differ in low-order bits alone give the same vector, so no release can tell them apart by them."""
    base = np.array([0.1, -3.7, 12.25])
    spacing = 2.0**-10
    nearby = (np.rint(base / spacing) + np.array([0.3, -0.2, 0.49])) * spacing
    assert on_grid(base, spacing) == on_grid(nearby, spacing)


@given(st.lists(st.tuples(positive, positive, positive), min_size=1, max_size=3), st.integers(1, 1000), positive)
def test_calibration_covers_the_sum_of_the_cheapest_entry(
    entries: list[tuple[float, float, float]], dimension: int, epsilon: float
) -> None:
    parts = [SensitivityParts(rule="r", bound=b, solver=s, rounding=r, grid=0.0) for b, s, r in entries]
    out = calibrate(parts, dimension, epsilon)
    exact = sum(map(Fraction, (out.parts.bound, out.parts.solver, out.parts.rounding, out.parts.grid)))
    assert Fraction(out.sensitivity) >= exact
    assert Fraction(out.parts.grid) ** 2 >= Fraction(out.spacing) ** 2 * dimension
    assert out.sensitivity <= min(map(sum, entries)) * (1 + 2e-6)


def test_a_smaller_grid_term_would_be_caught() -> None:
    """Half a step per coordinate in both worlds is g√D exactly, so g√D/2 would be too little."""
    spacing, d = 2.0**-3, 9
    low, high = np.full(d, 0.499 * spacing), np.full(d, 0.501 * spacing)
    gap = math.dist(on_grid(high, spacing), on_grid(low, spacing)) * spacing
    assert gap - math.dist(high, low) <= grid_term(spacing, d)
    assert gap - math.dist(high, low) > grid_term(spacing, d) / 2


def test_scale_of_extreme_numbers() -> None:
    assert scale_up(1.0, 1e-300) >= 1e300
    with pytest.raises(OverflowError):
        scale_up(1e10, 1e-300)
