"""Rounded Gaussian noise: its law, its curve against oracles, its calibration, and mutants.

Where bits are seeded a test gives the same answer every time: "false alarm" is then the
probability that a correct sampler had been given a seed that fails.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ostraka.errors import ParameterError, ShapeError, WrongTypeError
from ostraka.mechanism import Entropy, Rehearsal, RoundedGaussian, gaussian
from tests.mechanism.test_l2 import PrescribedBits, SeededBits

ALARM = 1e-6  # p-values below this fail
PAIRS = [
    (1.0, 1e-6),
    (0.1, 1e-6),
    (1e-3, 1e-12),
    (50.0, 1e-12),
    (50.0, 0.1),
    (1e-3, 0.1),
    (3.0, 1e-9),
    (1.0, 1e-300),
]

losses = st.floats(min_value=1e-3, max_value=50)
sizes = st.floats(min_value=1e-3, max_value=1e3)


def law_of(scale: float, dimension: int = 1) -> RoundedGaussian:
    return RoundedGaussian(scale=scale, dimension=dimension)


@cache
def exact_rows(scale: float, dimension: int, n_draws: int) -> np.ndarray:
    source = SeededBits(dimension)
    return np.array([gaussian.draw_units(law_of(scale, dimension), source) for _ in range(n_draws)])


# ---- the law -------------------------------------------------------------------------------------


def law_p_value(units: np.ndarray, scale: float) -> float:
    """Chi-square against P(k) = Φ((k+½)/σ) − Φ((k−½)/σ), everything beyond 3σ in two cells."""
    edge = math.ceil(3 * scale)
    k = np.arange(-edge, edge + 1)
    below, above = np.where(k > -edge, k - 0.5, -np.inf), np.where(k < edge, k + 0.5, np.inf)
    expected = stats.norm.cdf(above / scale) - stats.norm.cdf(below / scale)
    counts = np.bincount(np.clip(units.ravel(), -edge, edge).astype(int) + edge, minlength=len(k))
    return float(stats.chisquare(counts, expected * units.size).pvalue)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.4, 1.3, 5.0])
@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_counts_are_those_of_the_rounded_gaussian(scale, dimension):
    """Exact and fast path. False alarm: 1e-6 each."""
    assert law_p_value(exact_rows(scale, dimension, 3000), scale) > ALARM
    assert (
        law_p_value(law_of(scale, dimension).rehearse(Rehearsal(1).generator, 10_000), scale)
        > ALARM
    )


@pytest.mark.slow
def test_a_wrong_scale_and_a_floor_instead_of_rounding_are_caught():
    rows = exact_rows(1.3, 5, 3000)
    assert law_p_value(rows, 1.3 * 1.1) < ALARM
    assert (
        law_p_value(np.floor(1.3 * Rehearsal(1).generator.standard_normal((3000, 5))), 1.3) < ALARM
    )


@pytest.mark.slow
def test_coordinates_are_independent():
    """Rank correlations of values and of sizes, of coordinates in a pair and of different pairs.

    False alarm: 1e-6 each.
    """
    rows = exact_rows(100.0, 4, 5000)
    for other in (1, 2, 3):
        assert stats.spearmanr(rows[:, 0], rows[:, other]).pvalue > ALARM
        assert stats.spearmanr(np.abs(rows[:, 0]), np.abs(rows[:, other])).pvalue > ALARM


def oracle_units(law: RoundedGaussian, expansions: list[int]) -> list[int]:
    """The formula once more, in mpmath: no intervals."""
    with mpmath.workprec(1000):
        u = [mpmath.mpf(k) / mpmath.mpf(2) ** PrescribedBits.LENGTH for k in expansions]
        g = []
        for u_1, u_2 in zip(u[0::2], u[1::2]):
            length, angle = mpmath.sqrt(-2 * mpmath.log(u_1)), 2 * mpmath.pi * u_2
            g += [length * mpmath.cos(angle), length * mpmath.sin(angle)]
        return [int(mpmath.floor(mpmath.mpf(law.scale) * g_i + 0.5)) for g_i in g[: law.dimension]]


@pytest.mark.parametrize("scale", [1e-3, 0.7, 2.0**20, 1e30])
@pytest.mark.parametrize("dimension", [1, 2, 3, 8])
def test_integers_are_those_of_the_oracle(dimension, scale):
    law = law_of(scale, dimension)
    for seed in range(10):
        bits = SeededBits(seed)
        expansions = [bits.bits(PrescribedBits.LENGTH) for _ in range(dimension + dimension % 2)]
        source = PrescribedBits(expansions)
        assert gaussian.draw_units(law, source) == oracle_units(law, expansions)
        assert source.n_passes == 1


# ---- the curve -----------------------------------------------------------------------------------


def oracle_delta(epsilon: float, scale: float) -> mpmath.mpf:
    """∫(p(x) − e^ε·p(x + m))₊ dx with 60 digits: from the definition, not from the closed form."""
    with mpmath.workdps(60):
        e, m = mpmath.mpf(epsilon), 1 / mpmath.mpf(scale)
        start = e / m - m / 2
        excess = lambda x: mpmath.npdf(x) - mpmath.exp(e) * mpmath.npdf(x + m)  # noqa: E731
        # In steps of the width on which a Gaussian's tail falls.
        width = 1 / max(mpmath.mpf(1), abs(start))
        ends = [start + width * i for i in (0, 1, 2, 4, 8, 16, 32, 64, 128)]
        return mpmath.quad(
            excess,
            ends if start > 0 else [start, *(start + i for i in range(2, int(-start) + 18, 2))],
        )


def closed_delta(epsilon: float, scale: float, sensitivity: float) -> mpmath.mpf:
    with mpmath.workdps(400):
        e, m = mpmath.mpf(epsilon), mpmath.mpf(sensitivity) / mpmath.mpf(scale)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


CURVE = [
    (1.0, 4.2247),
    (1.0, 1.0),
    (0.1, 30.0),
    (5.0, 0.3),
    (50.0, 0.15),
    (1e-3, 100.0),
    (20.0, 0.2),
]


@pytest.mark.parametrize(("epsilon", "scale"), CURVE)
def test_the_curve_is_the_integral_that_defines_it(epsilon, scale):
    """The oracle is good to 1e-20; the bound lies above it, by a double's width at most."""
    ours, oracle = law_of(scale).delta(epsilon, 1.0), oracle_delta(epsilon, scale)
    assert ours >= oracle * (1 - mpmath.mpf(10) ** -20)
    assert ours <= oracle * (1 + mpmath.mpf(10) ** -15)


@given(epsilon=losses, scale=sizes, sensitivity=sizes)
@settings(deadline=None, max_examples=200)
def test_delta_is_an_upper_bound(epsilon, scale, sensitivity):
    assert law_of(scale).delta(epsilon, sensitivity) >= min(
        1, closed_delta(epsilon, scale, sensitivity)
    )


def mutated_curves():
    cdf = gaussian._normal_cdf
    return {
        "the second term twice": lambda e, m: (
            cdf(m / 2 - e / m) - 2 * e.exp() * cdf(-m / 2 - e / m)
        ),
        "half the shift": lambda e, m: cdf(m / 4 - e / m) - e.exp() * cdf(-m / 4 - e / m),
        "signs of ε/m": lambda e, m: cdf(m / 2 - e / m) - e.exp() * cdf(-m / 2 + e / m),
    }


@pytest.mark.parametrize("name", list(mutated_curves()))
def test_a_wrong_curve_is_caught(name, monkeypatch):
    monkeypatch.setattr(gaussian, "enclose_curve", mutated_curves()[name])
    assert any(
        law_of(scale).delta(epsilon, 1.0) < oracle_delta(epsilon, scale) * (1 - 1e-9)
        for epsilon, scale in CURVE
    )


def test_rounding_to_the_nearest_double_is_caught(monkeypatch):
    monkeypatch.setattr(gaussian, "round_up", float)
    assert any(
        law_of(scale).delta(epsilon, 1.0) < closed_delta(epsilon, scale, 1.0)
        for epsilon, scale in CURVE
    )


@pytest.mark.parametrize(("epsilon", "scale"), CURVE)
def test_smaller_shifts_lose_less(epsilon, scale):
    deltas = [law_of(scale).delta(epsilon, t) for t in np.linspace(0.05, 1, 20)]
    assert deltas == sorted(deltas)


def discrete_delta(epsilon: float, scale: float) -> float:
    """The discrete Gaussian's δ for a shift of one unit."""
    p = lambda z: math.exp(-z * z / (2 * scale**2))  # noqa: E731
    return sum(max(0.0, p(z) - math.exp(epsilon) * p(z + 1)) for z in range(-80, 80)) / sum(
        map(p, range(-80, 81))
    )


def test_the_curve_does_not_hold_for_the_discrete_gaussian():
    """Why the noise is rounded."""
    assert discrete_delta(1.0, 2.0) > 0.0072 > 0.0069 > law_of(2.0).delta(1.0, 1.0)


def hockey_stick(units: np.ndarray, shift: np.ndarray, epsilon: float) -> float:
    """A lower bound on δ at ε between the inputs 0 and −shift, wrong with probability < 1e-6.

    It counts in half-spaces across the shift.
    """
    here, there = units @ shift, (units - shift) @ shift
    thresholds = np.quantile(here, np.linspace(0.02, 0.98, 25))
    n, level = len(units), ALARM / 50
    gains = []
    for t in thresholds:
        n_here, n_there = int((here > t).sum()), int((there > t).sum())
        lower = stats.beta.ppf(level, n_here, n - n_here + 1) if n_here else 0.0
        upper = stats.beta.ppf(1 - level, n_there + 1, n - n_there) if n_there < n else 1.0
        gains.append(lower - math.exp(epsilon) * upper)
    return max(gains)


@pytest.mark.slow
@pytest.mark.parametrize("shift", [(5, 0, 0), (3, 4, 0), (-2, 1, 2)])
@pytest.mark.parametrize("epsilon", [0.3, 1.0])
def test_no_event_tells_neighbours_apart_by_more_than_epsilon_and_delta(epsilon, shift):
    """One-sided, with a false alarm of 1e-6.

    The same count with half the noise must fail, or the test would prove nothing.
    """
    law = RoundedGaussian.for_epsilon_delta(epsilon, 0.05, math.hypot(*shift), 3)
    assert hockey_stick(exact_rows(law.scale, 3, 20_000), np.array(shift), epsilon) <= 0.05
    assert hockey_stick(exact_rows(law.scale / 2, 3, 20_000), np.array(shift), epsilon) > 0.05


# ---- calibration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("sensitivity", [1.0, math.sqrt(2), 2.0**30, 1e-3])
@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_the_calibrated_scale_is_certified_and_the_double_before_it_is_not(
    epsilon, delta, sensitivity
):
    law = RoundedGaussian.for_epsilon_delta(epsilon, delta, sensitivity, 7)
    assert law.dimension == 7
    assert law.delta(epsilon, sensitivity) <= delta
    assert closed_delta(epsilon, law.scale, sensitivity) <= delta
    assert closed_delta(epsilon, math.nextafter(law.scale, 0), sensitivity) > delta * (
        1 - mpmath.mpf(2) ** -50
    )


def test_known_values():
    """dp-accounting's and OpenDP's (through ρ) at ε = 1, δ = 1e-6."""
    assert 4.2246 < RoundedGaussian.for_epsilon_delta(1.0, 1e-6, 1.0, 1).scale < 4.2247
    assert RoundedGaussian.for_epsilon_delta(1.0, 1e-6, 1.0, 1).scale < 4.53


def test_a_scale_that_is_too_small_by_a_billionth_is_caught():
    for epsilon, delta in PAIRS:
        scale = RoundedGaussian.for_epsilon_delta(epsilon, delta, 1.0, 1).scale
        assert closed_delta(epsilon, scale * (1 - 1e-9), 1.0) > delta


@given(scale=sizes, sensitivity=sizes)
def test_rho_is_the_smallest_double_above_the_exact_one(scale, sensitivity):
    rho = law_of(scale).rho(sensitivity)
    exact = Fraction(sensitivity) ** 2 / (2 * Fraction(scale) ** 2)
    assert Fraction(rho) >= exact > Fraction(math.nextafter(rho, 0))


def test_a_rho_rounded_to_the_nearest_double_is_caught():
    mutants = [(s / 7, 1 / (2 * (s / 7) ** 2)) for s in range(1, 100)]
    assert any(Fraction(rho) < 1 / (2 * Fraction(scale) ** 2) for scale, rho in mutants)


@given(rho=st.floats(min_value=1e-9, max_value=1e3), sensitivity=sizes)
def test_the_scale_for_rho_is_the_smallest(rho, sensitivity):
    law = RoundedGaussian.for_rho(rho, sensitivity, 1)
    assert 2 * Fraction(rho) * Fraction(law.scale) ** 2 >= Fraction(sensitivity) ** 2
    assert (
        2 * Fraction(rho) * Fraction(math.nextafter(law.scale, 0)) ** 2 < Fraction(sensitivity) ** 2
    )


# ---- publication ---------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [Entropy(), Rehearsal(4)])
@pytest.mark.parametrize(
    "values", [[1, -2, 3], np.array([1, -2, 3]), np.array([1, -2, 10**40], dtype=object)]
)
def test_publications_are_python_integers(values, source):
    noisy = law_of(2.0, 3).publish(values, source)
    assert type(noisy) is list
    assert [type(unit) for unit in noisy] == [int, int, int]


def test_an_input_of_any_size_is_added_without_rounding(monkeypatch):
    monkeypatch.setattr(gaussian, "draw_units", lambda law, source: [1, -2])
    assert law_of(2.0, 2).publish([10**40, -(2**90)], Entropy()) == [10**40 + 1, -(2**90) - 2]


def test_a_seeded_publication_is_one_row_of_the_fast_path():
    law = law_of(7.5, 3)
    (row,) = law.rehearse(Rehearsal(9).generator, 1)
    rehearsal = Rehearsal(9)
    first, second = law.publish([10, 20, 30], rehearsal), law.publish([10, 20, 30], rehearsal)
    assert first == [10 + row[0], 20 + row[1], 30 + row[2]]
    assert first != second


def test_the_fast_path_gives_rows_of_whole_doubles():
    rows = law_of(1e3, 5).rehearse(Rehearsal(1).generator, 100)
    assert rows.shape == (100, 5)
    assert rows.dtype == np.float64
    assert np.array_equal(rows, np.rint(rows))


# ---- what is refused -----------------------------------------------------------------------------


def test_another_number_of_values_is_refused():
    with pytest.raises(ShapeError, match=r"Allowed: \(2,\), one whole number per coordinate\."):
        law_of(1.0, 2).publish([1, 2, 3], Entropy())


def test_values_that_are_no_whole_numbers_are_refused():
    with pytest.raises(WrongTypeError, match=r"Give whole numbers, in units of the lattice\."):
        law_of(1.0, 2).publish([1.0, 2.0], Entropy())


def test_a_source_of_another_type_is_refused():
    with pytest.raises(
        ParameterError,
        match=r"source = .* is not allowed\. Allowed: Entropy\(\) or Rehearsal\(seed\)\.",
    ):
        law_of(1.0).publish([0], SeededBits(1))


@pytest.mark.parametrize("number", [0.0, -1.0, math.nan, math.inf, Fraction(1, 3), "1"])
def test_numbers_that_are_no_positive_doubles_are_refused(number):
    for name, call in [
        ("scale", lambda: law_of(number)),
        ("l2_sensitivity", lambda: law_of(1.0).rho(number)),
        ("l2_sensitivity", lambda: law_of(1.0).delta(1.0, number)),
        ("epsilon", lambda: law_of(1.0).delta(number, 1.0)),
        ("delta", lambda: RoundedGaussian.for_epsilon_delta(1.0, number, 1.0, 1)),
        ("rho", lambda: RoundedGaussian.for_rho(number, 1.0, 1)),
    ]:
        with pytest.raises(
            ParameterError,
            match=rf"{name} = .* is not allowed\. Allowed: a positive, finite double\.",
        ):
            call()


def test_a_delta_of_one_is_refused():
    with pytest.raises(
        ParameterError,
        match=r"delta = 1\.0 is not allowed\. Allowed: a number above 0 and below 1\.",
    ):
        RoundedGaussian.for_epsilon_delta(1.0, 1.0, 1.0, 1)
