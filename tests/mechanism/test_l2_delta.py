"""Calibration of ℓ2 noise for (ε, δ): oracles, draws, the case of one dimension, and mutants.

The oracle integrates over the length r of the noise and its angle with the shift, in
mpmath: no elliptic coordinates, no Bessel functions.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

import mpmath
import numpy as np
import pytest
from flint import acb, arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ostraka.errors import ParameterError
from ostraka.mechanism import L2Noise, Rehearsal, RoundedGaussian, gaussian, l2_delta, l2_scale
from ostraka.mechanism.l2_delta import delta_bound
from ostraka.mechanism.laplace import round_up
from tests.mechanism.test_l2 import SeededBits, l2

DIMENSIONS = [1, 2, 5, 50, 300]
PAIRS = [
    (1.0, 1e-6),
    (0.1, 1e-6),
    (1e-3, 1e-12),
    (50.0, 1e-12),
    (50.0, 0.1),
    (1e-3, 0.1),
    (5.0, 1e-3),
]
ORACLE = mpmath.mpf(10) ** -12  # far above the oracle's relative error


@cache
def oracle_delta(epsilon: float, scale: float, dimension: int) -> mpmath.mpf:
    """∫ Gamma_D(r)·[P(c > τ − b) − e^ε·P(c > τ + b)] dr, τ = ε/a, b = (1 − τ²)/2r.

    c is the cosine of a uniform direction with the shift.
    """
    with mpmath.workdps(25):
        e, a, D = mpmath.mpf(epsilon), 1 / mpmath.mpf(scale), dimension
        tau = e / a
        if tau >= 1:
            return mpmath.mpf(0)
        half = mpmath.mpf(D - 1) / 2

        def tail(c: mpmath.mpf) -> mpmath.mpf:
            if abs(c) >= 1:
                return mpmath.mpf(c < 0)
            if D == 1:
                return mpmath.mpf(0.5)
            return mpmath.betainc(half, half, 0, (1 - c) / 2, regularized=True)

        def integrand(r: mpmath.mpf) -> mpmath.mpf:
            b = (1 - tau * tau) / (2 * r)
            density = mpmath.exp(
                D * mpmath.log(a) + (D - 1) * mpmath.log(r) - a * r - mpmath.loggamma(D)
            )
            return density * (tail(tau - b) - mpmath.exp(e) * tail(tau + b))

        # Kinks, and steps of a standard deviation over all that matters.
        kinks = [(1 - tau) / 2, (1 + tau) / 2]
        grid = [
            max(mpmath.mpf(0), (D + k * mpmath.sqrt(D)) / a)
            for k in (*range(-16, 17, 2), 24, 40, 90)
        ]
        ends = sorted({mpmath.mpf(0), *kinks, *grid})
        return mpmath.quad(integrand, ends, maxdegree=5)


# ---- the bound -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("dimension", DIMENSIONS)
@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_the_scale_is_private_and_half_a_percent_less_is_not(epsilon, delta, dimension):
    """One-sided, by the oracle.

    Within 0.5 % of 1/ε there is nothing to gain, so less is not private either.
    """
    scale = l2_scale(epsilon, delta, 1.0, dimension)
    assert oracle_delta(epsilon, scale, dimension) <= delta * (1 + ORACLE)
    assert oracle_delta(epsilon, scale * 0.995, dimension) > delta
    assert delta_bound(epsilon, scale, 1.0, dimension) <= delta


BOUNDS = [
    (1.0, 0.5, 1),
    (1.0, 0.7, 2),
    (0.1, 3.0, 2),
    (1.0, 0.5, 3),
    (1.0, 0.3, 5),
    (5.0, 0.05, 5),
    (1.0, 0.4, 50),
    (0.1, 1.0, 50),
    (1.0, 0.2, 300),
]


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "scale", "dimension"), BOUNDS)
def test_the_bound_is_above_the_oracle_and_close_to_it(epsilon, scale, dimension):
    bound, oracle = (
        delta_bound(epsilon, scale, 1.0, dimension),
        oracle_delta(epsilon, scale, dimension),
    )
    assert bound >= oracle * (1 - ORACLE)
    assert bound <= oracle * (1 + mpmath.mpf(10) ** -8)


@given(epsilon=st.floats(1e-3, 50), excess=st.floats(1e-12, 20))
@settings(deadline=None)
def test_one_dimension_has_a_closed_form(epsilon, excess):
    """δ = 1 − e^{(ε−a)/2}, with 60 digits."""
    scale = 1 / (epsilon + excess)
    with mpmath.workdps(60):
        closed = -mpmath.expm1((mpmath.mpf(epsilon) - 1 / mpmath.mpf(scale)) / 2)
        assert delta_bound(epsilon, scale, 1.0, 1) >= closed
        assert (
            delta_bound(epsilon, scale, 1.0, 1)
            <= max(closed, 0) * (1 + mpmath.mpf(10) ** -9) + mpmath.mpf(10) ** -300
        )


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 0.1, 0.9])
def test_the_scale_in_one_dimension(delta):
    """s ≥ 1/(ε − 2 ln(1 − δ)), one-sided and within 1e-7."""
    with mpmath.workdps(60):
        smallest = 1 / (1 - 2 * mpmath.log1p(-mpmath.mpf(delta)))
        assert smallest <= l2_scale(1.0, delta, 1.0, 1) <= smallest * (1 + mpmath.mpf(10) ** -7)


def drawn_excess(epsilon: float, scale: float, dimension: int, n_draws: int) -> np.ndarray:
    """(1 − e^{ε − ℓ})₊ of draws of the noise: its length, and its cosine with the shift."""
    generator = Rehearsal(dimension).generator
    r = scale * generator.standard_gamma(dimension, n_draws)
    g, rest = (
        generator.standard_normal(n_draws),
        2 * generator.standard_gamma((dimension - 1) / 2, n_draws),
    )
    cosine = g / np.sqrt(g * g + rest)
    # ‖η + u‖ − ‖η‖ = (2rc + 1)/(‖η + u‖ + ‖η‖), without cancellation
    loss = (2 * r * cosine + 1) / (np.sqrt(np.maximum(r * r + 2 * r * cosine + 1, 0)) + r) / scale
    return np.maximum(-np.expm1(epsilon - loss), 0)


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [*DIMENSIONS, 2000])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_draws_lose_no_more(epsilon, dimension):
    """The mean of 1e6 numbers in [0, 1], by Hoeffding: false alarm 1e-6.

    With a tenth less noise it is larger than δ, and that is seen.
    """
    n_draws, delta = 1_000_000, 0.05
    slack = math.sqrt(math.log(1e6) / (2 * n_draws))
    scale = l2_scale(epsilon, delta, 1.0, dimension)
    assert drawn_excess(epsilon, scale, dimension, n_draws).mean() <= delta + slack
    assert drawn_excess(epsilon, scale * 0.9, dimension, n_draws).mean() > delta + slack


def hockey_stick(units: np.ndarray, shift: int, scale: float, epsilon: float) -> float:
    """A lower bound on δ between the inputs 0 and −shift, wrong with probability < 1e-6.

    It counts the event of a large loss, on the grid.
    """
    u = np.eye(1, units.shape[1]) * shift

    def large(y: np.ndarray) -> np.ndarray:
        return (np.linalg.norm(y + u, axis=1) - np.linalg.norm(y, axis=1)) / scale > epsilon

    n, n_here, n_there = len(units), int(large(units).sum()), int(large(units - u).sum())
    return float(
        stats.beta.ppf(5e-7, n_here, n - n_here + 1)
        - math.exp(epsilon) * stats.beta.ppf(1 - 5e-7, n_there + 1, n - n_there)
    )


@pytest.mark.slow
@pytest.mark.parametrize("dimension", [1, 3, 6])
def test_exact_draws_lose_no_more(dimension):
    """The whole chain: calibrated, drawn exactly, on the grid.

    False alarm: 1e-6. Half the noise must fail.
    """
    S, epsilon, delta = 64, 1.0, 0.1
    scale = l2_scale(epsilon, delta, S, dimension)
    for factor, private in ((1.0, True), (0.5, False)):
        law, source = L2Noise(scale=scale * factor, spacing=1.0, dimension=dimension), SeededBits(5)
        units = np.array([l2.draw_units(law, source) for _ in range(12_000)])
        assert (hockey_stick(units, S, law.scale, epsilon) <= delta) == private


# ---- the formula ---------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [2, 3, 4, 10, 301])
@pytest.mark.parametrize("z", [1e-3, 0.5, 3.0, 40.0])
def test_the_density_of_the_angle_has_mass_one(dimension, z):
    """∫₀^π e^{z cos φ}·sin^{D−2}φ·(A₀ + A₁ sin²φ) dφ = 1.

    That follows from the product formula of Bessel functions.
    """
    with ctx.workprec(300):
        a_0, a_1 = l2_delta.enclose_factors(arb(z), dimension)

        def density(x, _):
            return (z * x.cos()).exp() * x.sin() ** (dimension - 2) * (a_0 + a_1 * x.sin() ** 2)

        mass = acb.integral(density, 0, arb.pi(), abs_tol=arb(1e-30), rel_tol=arb(1e-30)).real
        assert mass.contains(1)
        assert mass.rad() < 1e-15


@pytest.mark.parametrize("n_bits", [24, 32, 64])
def test_enclosures_at_any_precision_hold_the_value(n_bits):
    for epsilon, a, D in [
        (1.0, 1.5, 2),
        (1.0, 5.0, 300),
        (0.1, 0.8, 300),
        (50.0, 60.0, 3),
        (1.0, 2.0, 1),
    ]:
        with ctx.workprec(400):
            narrow = l2_delta.enclose_delta(arb(epsilon), arb(a), D)
        with ctx.workprec(n_bits):
            wide = l2_delta.enclose_delta(arb(epsilon), arb(a), D)
        assert wide.overlaps(narrow)


def mutants() -> dict[str, tuple[object, str, object]]:
    enclose_factors, enclose_delta = l2_delta.enclose_factors, l2_delta.enclose_delta
    return {
        "A₀ and A₁ exchanged": (
            l2_delta,
            "enclose_factors",
            lambda z, D: enclose_factors(z, D)[::-1],
        ),
        "one dimension less": (l2_delta, "enclose_factors", lambda z, D: enclose_factors(z, D - 1)),
        "no A₁": (l2_delta, "enclose_factors", lambda z, D: (enclose_factors(z, D)[0], arb(0))),
        "one part in a million less": (
            l2_delta,
            "enclose_delta",
            lambda e, a, D: enclose_delta(e, a, D) * (1 - 1e-6),
        ),
        "half the shift": (
            l2_delta,
            "enclose_delta",
            lambda e, a, D: enclose_delta(e, (a + e) / 2, D),
        ),
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", list(mutants()))
def test_a_wrong_formula_is_caught(name, monkeypatch):
    """By the one-sided test of the bound against the oracle."""
    monkeypatch.setattr(*mutants()[name])
    cases = [case for case in BOUNDS if case[2] > 2]
    assert any(
        delta_bound(e, s, 1.0, D) < oracle_delta(e, s, D) * (1 - ORACLE) for e, s, D in cases
    )


# ---- calibration ---------------------------------------------------------------------------------


@pytest.fixture
def fresh():
    l2_delta._unit_scale.cache_clear()
    yield
    l2_delta._unit_scale.cache_clear()


@pytest.mark.parametrize("sensitivity", [1.0, math.sqrt(2), 1e-7, 3e10])
@pytest.mark.parametrize("dimension", [1, 2, 7, 300, 2000])
@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_the_scale_is_certified_within_1e_7_and_never_above_that_of_delta_zero(
    epsilon, delta, dimension, sensitivity
):
    scale = l2_scale(epsilon, delta, sensitivity, dimension)
    assert delta_bound(epsilon, scale, sensitivity, dimension) <= delta
    assert delta_bound(epsilon, scale * (1 - 1e-7), sensitivity, dimension) > delta
    assert scale <= round_up(Fraction(sensitivity) / Fraction(epsilon))


def test_the_scale_is_rounded_up(monkeypatch):
    """s ≥ S·s₁ exactly; the mutant that rounds to the nearest double is caught."""

    def too_small(S):
        return Fraction(l2_scale(1.0, 1e-6, S, 10)) < Fraction(S) * Fraction(
            l2_delta._unit_scale(1.0, 1e-6, 10)
        )

    sensitivities = [1 + i / 7 for i in range(50)]
    assert not any(too_small(S) for S in sensitivities)
    monkeypatch.setattr(l2_delta, "round_up", float)
    assert any(too_small(S) for S in sensitivities)


@pytest.mark.parametrize("dimension", [1, 2, 3, 50])
def test_less_noise_and_longer_shifts_lose_more(dimension):
    deltas = [delta_bound(1.0, scale, 1.0, dimension) for scale in np.linspace(1.2, 0.2, 25)]
    assert deltas == sorted(deltas)
    assert deltas[0] == 0.0
    shifts = [delta_bound(1.0, 0.5, t, dimension) for t in (0.25, 0.5, 0.75, 1.0)]
    assert shifts == sorted(shifts)


def test_no_loss_above_the_ratio():
    assert delta_bound(1.0, 1.0, 1.0, 3) == 0.0
    assert delta_bound(1.0, math.nextafter(1.0, 0), 1.0, 3) > 0.0


@pytest.mark.usefixtures("fresh")
def test_a_quadrature_that_gives_up_costs_noise_and_not_privacy(monkeypatch):
    good = l2_scale(1.0, 1e-6, 1.0, 50)
    l2_delta._unit_scale.cache_clear()
    monkeypatch.setattr(l2_delta, "EVALUATIONS", 1)
    monkeypatch.setattr(gaussian, "PRECISIONS", (24, 32))
    assert good <= l2_scale(1.0, 1e-6, 1.0, 50) <= 1.0


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("epsilon", "delta", "dimension"),
    [(1.0, 1e-6, 300), (1e-3, 1e-12, 2000), (50.0, 1e-12, 2), (0.1, 0.1, 300)],
)
def test_a_second_calibration_is_looked_up(epsilon, delta, dimension):
    """The benchmarks say how long the first one takes."""
    first = l2_scale(epsilon, delta, 1.0, dimension)
    assert l2_delta._unit_scale.cache_info().hits == 0
    assert l2_scale(epsilon, delta, 4.0, dimension) == 4.0 * first
    assert l2_delta._unit_scale.cache_info().hits == 1


@pytest.mark.parametrize("dimension", [1, 3, 10, 50, 250, 500, 2000])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-6), (1.0, 1e-9), (10.0, 1e-6)]
)
def test_it_is_shorter_than_the_gaussian(epsilon, delta, dimension):
    """E‖η‖ = s·D against σ√2·Γ((D+1)/2)/Γ(D/2)."""
    sigma = RoundedGaussian.for_epsilon_delta(epsilon, delta, 1.0, 1).scale
    length = (
        sigma
        * math.sqrt(2)
        * math.exp(math.lgamma((dimension + 1) / 2) - math.lgamma(dimension / 2))
    )
    assert l2_scale(epsilon, delta, 1.0, dimension) * dimension < length


@pytest.mark.parametrize("number", [0.0, -1.0, math.nan, math.inf, Fraction(1, 3), "1"])
def test_numbers_that_are_no_positive_doubles_are_refused(number):
    for name, call in [
        ("epsilon", lambda: l2_scale(number, 1e-6, 1.0, 3)),
        ("delta", lambda: l2_scale(1.0, number, 1.0, 3)),
        ("sensitivity", lambda: l2_scale(1.0, 1e-6, number, 3)),
        ("scale", lambda: delta_bound(1.0, number, 1.0, 3)),
    ]:
        with pytest.raises(
            ParameterError,
            match=rf"{name} = .* is not allowed\. Allowed: a positive, finite double\.",
        ):
            call()


def test_a_delta_of_one_and_a_dimension_that_is_no_count_are_refused():
    with pytest.raises(
        ParameterError, match=r"delta = 1 is not allowed\. Allowed: a number above 0 and below 1\."
    ):
        l2_scale(1.0, 1, 1.0, 3)
    with pytest.raises(
        ParameterError,
        match=r"dimension = 2\.5 is not allowed\. Allowed: a whole number, 1 or more\.",
    ):
        l2_scale(1.0, 1e-6, 1.0, 2.5)
