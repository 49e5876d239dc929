"""The ℓ2 noise: its law, its exactness against an oracle, its privacy by counting, and mutants.

Unless a docstring says otherwise the bits are seeded, so that a test gives the same answer every
time: "false alarm" is then the probability that a correct sampler had been given a seed that fails.
"""

from __future__ import annotations

import math
import random
import threading
from fractions import Fraction
from functools import cache

import flint
import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ostraka.errors import ParameterError
from ostraka.errors.words import one_line
from ostraka.mechanism import Entropy, L2Noise, Rehearsal, l2

DIMENSIONS = [1, 2, 3, 10, 121]
N_EXACT = {1: 4000, 2: 4000, 3: 4000, 10: 2000, 121: 600}
N_FAST = 20_000
SCALE, SPACING = 3.0, 2.0**-20
ALARM = 1e-6  # p-values below this fail


class SeededBits:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def bits(self, n: int) -> int:
        return self._random.getrandbits(n)


class PrescribedBits:
    """Gives every uniform, in turn, the next digits of its own expansion; keeps a record.

    An expansion is an integer over 2^LENGTH.
    """

    LENGTH = 4096

    def __init__(self, expansions: list[int]) -> None:
        self.expansions = expansions
        self.known = [0] * len(expansions)
        self.calls: list[int] = []

    def bits(self, n: int) -> int:
        i = len(self.calls) % len(self.expansions)
        self.calls.append(n)
        self.known[i] += n
        assert self.known[i] <= self.LENGTH
        return self.expansions[i] >> (self.LENGTH - self.known[i]) & (2**n - 1)

    @property
    def n_passes(self) -> int:
        return len(self.calls) // len(self.expansions)


def law_of(dimension: int, *, scale: float = SCALE, spacing: float = SPACING) -> L2Noise:
    return L2Noise(scale=scale, spacing=spacing, dimension=dimension)


def n_uniforms(dimension: int) -> int:
    return dimension + dimension % 2 + dimension


def n_uniforms_of_direction(dimension: int) -> int:
    return dimension + dimension % 2


def draw_rows(law: L2Noise, n_draws: int, seed: int) -> np.ndarray:
    """The exact path on seeded bits, in multiples of the scale."""
    source = SeededBits(seed)
    units = [l2.draw_units(law, source) for _ in range(n_draws)]
    return np.array(units, dtype=float) * (law.spacing / law.scale)


@cache
def exact_rows(dimension: int) -> np.ndarray:
    return draw_rows(law_of(dimension), N_EXACT[dimension], seed=dimension)


@cache
def fast_rows(dimension: int) -> np.ndarray:
    return law_of(dimension).rehearse(Rehearsal(dimension).generator, N_FAST) / SCALE


SAMPLES = pytest.mark.parametrize("rows_of", [exact_rows, fast_rows], ids=["exact", "fast"])


# ---- the law -------------------------------------------------------------------------------------


def radius_p_value(rows: np.ndarray) -> float:
    """Kolmogorov–Smirnov: are the lengths Gamma(D)?

    Rounding to 2^-20 moves a length by less than 1e-5.
    """
    return stats.kstest(np.linalg.norm(rows, axis=1), stats.gamma(rows.shape[1]).cdf).pvalue


def directions_to_try(dimension: int) -> list[np.ndarray]:
    first, last = np.eye(dimension)[0], np.eye(dimension)[-1]
    ramp, signs = np.arange(1.0, dimension + 1), (-1.0) ** np.arange(dimension)
    return [a / np.linalg.norm(a) for a in (first, last, np.ones(dimension), ramp, signs)]


@pytest.mark.slow
@SAMPLES
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_radius_is_gamma(dimension, rows_of):
    """False alarm: 1e-6 each."""
    assert radius_p_value(rows_of(dimension)) > ALARM


@pytest.mark.slow
@SAMPLES
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_direction_is_uniform(dimension, rows_of):
    """A projection t on an axis is symmetric, t² is Beta(1/2, (D−1)/2).

    False alarm: 1e-6 for each of 10 p-values.
    """
    rows = rows_of(dimension)
    directions = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for axis in directions_to_try(dimension):
        t = directions @ axis
        assert stats.binomtest(int((t > 0).sum()), len(t)).pvalue > ALARM
        if dimension > 1:
            assert stats.kstest(t**2, stats.beta(0.5, (dimension - 1) / 2).cdf).pvalue > ALARM


@pytest.mark.slow
@SAMPLES
@pytest.mark.parametrize("dimension", [2, 3, 10])
def test_direction_has_the_moments_of_the_sphere(dimension, rows_of):
    """E d_i = 0, E d_i d_j = [i=j]/D. False alarm: 1e-8 for each of up to 65 means.

    What is averaged lies in [−1, 1]: by Hoeffding its mean is off by
    √(2 ln(2e8)/n) with probability ≤ 1e-8.
    """
    rows = rows_of(dimension)
    directions = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    moments = directions.T @ directions / len(rows)
    slack = math.sqrt(2 * math.log(2e8) / len(rows))
    assert np.abs(moments - np.eye(dimension) / dimension).max() < slack
    assert np.abs(directions.mean(axis=0)).max() < slack


@pytest.mark.slow
@SAMPLES
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_radius_and_direction_are_independent(dimension, rows_of):
    """Rank correlation of the length with projections and their sizes.

    False alarm: 1e-6 for each of 10 p-values.
    """
    rows = rows_of(dimension)
    radius = np.linalg.norm(rows, axis=1)
    for axis in directions_to_try(dimension):
        t = (rows / radius[:, None]) @ axis
        assert stats.spearmanr(radius, t).pvalue > ALARM
        if dimension > 1:
            assert stats.spearmanr(radius, np.abs(t)).pvalue > ALARM


@pytest.mark.slow
@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_exact_and_fast_path_agree(dimension):
    """Two-sample Kolmogorov–Smirnov of length, first and last coordinate.

    False alarm: 1e-6 each.
    """
    exact, fast = exact_rows(dimension), fast_rows(dimension)
    for statistic in (
        lambda rows: np.linalg.norm(rows, axis=1),
        lambda rows: rows[:, 0],
        lambda rows: rows[:, -1],
    ):
        assert stats.ks_2samp(statistic(exact), statistic(fast)).pvalue > ALARM


@pytest.mark.slow
def test_radius_is_gamma_with_the_systems_randomness():
    """Not seeded. False alarm: 1e-6."""
    law = law_of(3)
    rows = np.array([law.draw(Entropy()) for _ in range(1000)], dtype=float) * SPACING / SCALE
    assert radius_p_value(rows) > ALARM


# ---- mutants: what the law tests must catch ------------------------------------------------------


def exponential_radius(v):
    return l2_enclose_radius(v[:1])


def radius_one_short(v):
    return l2_enclose_radius(v[:-1])


l2_enclose_radius = l2.enclose_radius


@pytest.mark.slow
@pytest.mark.parametrize("mutant", [exponential_radius, radius_one_short])
@pytest.mark.parametrize("dimension", [2, 3, 10])
def test_a_wrong_radius_is_caught(dimension, mutant, monkeypatch):
    monkeypatch.setattr(l2, "enclose_radius", mutant)
    rows = draw_rows(law_of(dimension), N_EXACT[dimension], seed=dimension)
    assert radius_p_value(rows) < ALARM


class OneShortGenerator:
    """A generator whose Gamma variables lose one from their shape, or all but one."""

    def __init__(self, seed: int, shape_of) -> None:
        self._generator, self._shape_of = Rehearsal(seed).generator, shape_of

    def standard_normal(self, size):
        return self._generator.standard_normal(size)

    def standard_gamma(self, shape, size):
        return self._generator.standard_gamma(self._shape_of(shape), size)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape_of", [lambda D: 1, lambda D: D - 1], ids=["exponential", "one short"]
)
@pytest.mark.parametrize("dimension", [2, 3, 10, 121])
def test_a_wrong_radius_is_caught_on_the_fast_path(dimension, shape_of):
    rows = law_of(dimension).rehearse(OneShortGenerator(dimension, shape_of), N_FAST) / SCALE
    assert radius_p_value(rows) < ALARM


@pytest.mark.slow
def test_a_norm_taken_before_the_odd_gaussian_is_dropped_is_caught(monkeypatch):
    def mutant(law, u, v):
        even = L2Noise(scale=law.scale, spacing=law.spacing, dimension=law.dimension + 1)
        return correct(even, u, v)[: law.dimension]

    correct = l2.enclose_coordinates
    monkeypatch.setattr(l2, "enclose_coordinates", mutant)
    assert radius_p_value(draw_rows(law_of(3), N_EXACT[3], seed=3)) < ALARM


@pytest.mark.slow
def test_an_angle_of_half_a_turn_is_caught(monkeypatch):
    class HalfTurn:
        def __init__(self, uniform):
            self._uniform = uniform

        def enclosure(self):
            return self._uniform.enclosure() / 2

    correct = l2.enclose_gaussians

    def mutant(u):
        return correct([HalfTurn(u_i) if i % 2 else u_i for i, u_i in enumerate(u)])

    monkeypatch.setattr(l2, "enclose_gaussians", mutant)
    rows = draw_rows(law_of(2), 1000, seed=2)
    assert stats.binomtest(int((rows[:, 1] > 0).sum()), len(rows)).pvalue < ALARM


# ---- exactness: the same integers as an oracle ---------------------------------------------------


def oracle_coordinates(
    law: L2Noise, expansions: list[Fraction], precision: int
) -> list[mpmath.mpf]:
    """The formula once more, in mpmath: η/spacing from the numbers themselves, no intervals."""
    with mpmath.workprec(precision):
        u = [mpmath.mpf(x.numerator) / x.denominator for x in expansions]
        n_directional = n_uniforms_of_direction(law.dimension)
        g = []
        for u_1, u_2 in zip(u[0:n_directional:2], u[1:n_directional:2]):
            length, angle = mpmath.sqrt(-2 * mpmath.log(u_1)), 2 * mpmath.pi * u_2
            g += [length * mpmath.cos(angle), length * mpmath.sin(angle)]
        g = g[: law.dimension]
        r = -mpmath.fsum(mpmath.log(v) for v in u[n_directional:])
        factor = (
            mpmath.mpf(law.scale)
            / mpmath.mpf(law.spacing)
            * r
            / mpmath.sqrt(mpmath.fsum(x * x for x in g))
        )
        return [factor * x for x in g]


def oracle_units(law: L2Noise, expansions: list[Fraction], precision: int = 400) -> list[int]:
    with mpmath.workprec(precision):
        return [int(mpmath.floor(x + 0.5)) for x in oracle_coordinates(law, expansions, precision)]


def as_fractions(expansions: list[int]) -> list[Fraction]:
    return [Fraction(k, 2**PrescribedBits.LENGTH) for k in expansions]


def random_expansions(dimension: int, seed: int, length: int = PrescribedBits.LENGTH) -> list[int]:
    """Random digits, then zeros from position `length` on."""
    generator = random.Random(seed)
    return [
        generator.getrandbits(length) << (PrescribedBits.LENGTH - length)
        for _ in range(n_uniforms(dimension))
    ]


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 7, 10, 121])
def test_integers_are_those_of_the_oracle(dimension):
    law = law_of(dimension)
    for seed in range(3 if dimension > 100 else 30):
        expansions = random_expansions(dimension, seed)
        assert l2.draw_units(law, PrescribedBits(expansions)) == oracle_units(
            law, as_fractions(expansions)
        )


@settings(max_examples=60, deadline=None)
@given(
    scale=st.floats(min_value=5e-324, max_value=1.7e308),
    exponent=st.integers(min_value=-1074, max_value=1023),
    dimension=st.integers(min_value=1, max_value=6),
    seed=st.integers(min_value=0, max_value=2**32),
)
def test_integers_are_those_of_the_oracle_for_any_parameters(scale, exponent, dimension, seed):
    law = law_of(dimension, scale=scale, spacing=math.ldexp(1.0, exponent))
    expansions = random_expansions(dimension, seed)
    assert l2.draw_units(law, PrescribedBits(expansions)) == oracle_units(
        law, as_fractions(expansions), precision=3000
    )


@pytest.mark.parametrize("dimension", [1, 2, 3, 10])
def test_the_bits_that_were_not_drawn_do_not_matter(dimension):
    """Whatever follows the bits that were read, the ideal vector rounds to the same integers."""
    law = law_of(dimension)
    for seed in range(10):
        source = PrescribedBits(random_expansions(dimension, seed))
        units = l2.draw_units(law, source)
        unread = [PrescribedBits.LENGTH - known for known in source.known]
        floors = [k >> n << n for k, n in zip(source.expansions, unread)]
        zeros, ones = (
            as_fractions(floors),
            as_fractions([k + 2**n - 1 for k, n in zip(floors, unread)]),
        )
        generator = random.Random(seed)
        mixed = [generator.choice(ends) for ends in zip(zeros, ones)]
        assert (
            units == oracle_units(law, zeros) == oracle_units(law, ones) == oracle_units(law, mixed)
        )


def force_first_digits(expansions: list[int], which: range, digit: int, n_bits: int) -> list[int]:
    mask = (2**n_bits - 1) << (PrescribedBits.LENGTH - n_bits)
    return [
        (k | mask if digit else k & ~mask) if i in which else k for i, k in enumerate(expansions)
    ]


@pytest.mark.parametrize("part", ["direction", "radius", "all"])
@pytest.mark.parametrize("digit", [0, 1])
@pytest.mark.parametrize("dimension", [1, 2, 3, 6])
def test_uniforms_at_the_ends_of_their_range(dimension, digit, part):
    """The whole first pass sees zeros or ones; random digits follow.

    Zeros mean ln 0; ones mean ln 1 = 0, under a root and in a norm.
    """
    law = law_of(dimension)
    split, end = n_uniforms_of_direction(dimension), n_uniforms(dimension)
    which = {"direction": range(split), "radius": range(split, end), "all": range(end)}[part]
    expansions = force_first_digits(
        random_expansions(dimension, 8), which, digit, l2.first_n_bits(law)
    )
    source = PrescribedBits(expansions)
    assert l2.draw_units(law, source) == oracle_units(law, as_fractions(expansions), precision=2000)
    # A radius of all ones is tiny: it rounds to zero at once. All else must have asked for more.
    assert source.n_passes >= 2 or (digit, part) == (1, "radius")


def expansions_close_to_a_tie(law: L2Noise, seed: int, n_close: int, digit: int) -> list[int]:
    """Choose the last uniform so that the first coordinate is a half-integer to `n_close` digits.

    Copies of `digit` follow.
    """
    length = PrescribedBits.LENGTH
    expansions = random_expansions(law.dimension, seed, length=64)
    with mpmath.workprec(length + 200):
        x = oracle_coordinates(law, as_fractions(expansions), length + 200)[0]
        tie = mpmath.floor(x) + 0.5
        v = [
            mpmath.mpf(k) / mpmath.mpf(2) ** length
            for k in expansions[n_uniforms_of_direction(law.dimension) :]
        ]
        r = -mpmath.fsum(mpmath.log(v_i) for v_i in v)
        # The coordinate is proportional to r = −Σ ln v_i: take r·tie/x
        # instead, all of it through the last v_i.
        last = v[-1] * mpmath.exp(r - r * tie / x)
        assert 0 < last < 1
        first_digits = int(mpmath.floor(last * mpmath.mpf(2) ** n_close))
    rest = length - n_close
    expansions[-1] = first_digits << rest | (2**rest - 1 if digit else 0)
    return expansions


@pytest.mark.parametrize("n_passes", [2, 3, 4])
@pytest.mark.parametrize("dimension", [1, 2, 3, 10])
def test_a_value_close_to_a_tie_is_refined_by_appended_bits(dimension, n_passes):
    """Two numbers on both sides of a half-integer that agree in every bit until the last pass."""
    law = law_of(dimension)
    first = l2.first_n_bits(law)
    n_close = first * 2 ** (n_passes - 2) + 16
    first_coordinates = []
    for digit in (0, 1):
        expansions = expansions_close_to_a_tie(law, dimension, n_close, digit)
        source = PrescribedBits(expansions)
        units = l2.draw_units(law, source)
        assert units == oracle_units(law, as_fractions(expansions), precision=PrescribedBits.LENGTH)
        # Appended, not drawn again: each pass asks every uniform for just the
        # digits that are missing to twice as many.
        sizes = [first] + [first * 2**i for i in range(n_passes - 1)]
        assert source.calls == [size for size in sizes for _ in expansions]
        first_coordinates.append(units[0])
    assert abs(first_coordinates[0] - first_coordinates[1]) == 1


def test_a_lazy_uniform_keeps_its_bits():
    source = SeededBits(3)
    uniform = l2.LazyUniform()
    uniform.extend(source, 50)
    known = uniform.k
    outer = uniform.enclosure()
    for n_bits in (51, 100, 1000):
        uniform.extend(source, n_bits)
        assert uniform.k >> (n_bits - 50) == known
        assert outer.contains(uniform.enclosure().mid())


@pytest.mark.parametrize("k", [0, 1, 2**200 // 3, 2**200 - 1])
def test_the_enclosure_of_a_uniform_holds_both_ends_at_any_precision(k):
    uniform = l2.LazyUniform()
    uniform.k, uniform.n_bits = k, 200
    for precision in (2, 53, 500):
        with flint.ctx.workprec(precision):
            ball = uniform.enclosure()
            assert ball.contains(flint.arb((k, -200)))
            assert ball.contains(flint.arb((k + 1, -200)))


@pytest.mark.parametrize("scale", [5e-324, 0.1, 1 / 3, 1.7976931348623157e308])
def test_flint_takes_doubles_exactly_at_any_precision(scale):
    """What the proof trusts about constants."""
    with flint.ctx.workprec(2):
        ball = flint.arb(scale)
        mantissa, exponent = (int(part) for part in ball.man_exp())
    assert ball.is_exact()
    assert Fraction(mantissa) * Fraction(2) ** exponent == Fraction(scale)


def ball(lower: float, upper: float) -> flint.arb:
    return flint.arb((lower + upper) / 2, (upper - lower) / 2)


@pytest.mark.parametrize(
    ("enclosure", "unit"),
    [
        (ball(2.51, 3.49), 3),
        (ball(-0.49, 0.49), 0),
        (ball(-3.49, -2.51), -3),
        (ball(2.5, 2.5), 3),
        (ball(2.51, 3.5), None),
        (ball(2.49, 2.51), None),
        (ball(2.51, 4.49), None),
        (ball(-0.51, 0.0), None),
        (flint.arb(2**200, 0.25), 2**200),
        (flint.arb.nan(), None),
        (flint.arb.pos_inf(), None),
        (flint.arb(0, flint.arb.pos_inf()), None),
    ],
)
def test_rounding_answers_only_what_the_enclosure_determines(enclosure, unit):
    with flint.ctx.workprec(300):
        assert l2.round_to_grid([enclosure]) == (None if unit is None else [unit])
        # One open coordinate leaves the whole vector open.
        assert l2.round_to_grid([flint.arb(7), enclosure]) == (None if unit is None else [7, unit])


# ---- the grid ------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", [Entropy(), Rehearsal(4)])
@pytest.mark.parametrize("spacing", [2.0**-30, 1.0, 2.0**5])
def test_draws_are_python_integers(spacing, source):
    units = law_of(7, spacing=spacing).draw(source)
    assert units.shape == (7,)
    assert units.dtype == object
    assert all(type(unit) is int for unit in units)


def test_an_input_of_any_size_leaves_no_trace_below_the_grid():
    """The integers are added without rounding, and every output is possible for every input."""
    noise = [l2.draw_units(law_of(3, spacing=1.0), SeededBits(seed)) for seed in range(300)]
    small, large = (
        np.array([0, 1, -1], dtype=object),
        np.array([10**30, 10**30 + 1, -(2**70)], dtype=object),
    )
    for units in noise:
        assert all((large + units) - units == large)
        assert all((large + units) - (small + units) == large - small)
    for q in (small, large):
        residues = np.array([[int(x) % 4 for x in q + units] for units in noise])
        assert all(set(column) == {0, 1, 2, 3} for column in residues.T)


def test_the_fast_path_lies_on_the_grid():
    for spacing in (2.0**-10, 1.0, 2.0**4):
        rows = law_of(5, spacing=spacing).rehearse(Rehearsal(1).generator, 100)
        assert rows.shape == (100, 5)
        assert rows.dtype == np.float64
        assert np.array_equal(rows / spacing, np.rint(rows / spacing))


def test_a_grid_far_finer_than_doubles_leaves_the_fast_path_as_it_is():
    coarse, fine = (law_of(4, scale=1e200, spacing=spacing) for spacing in (1.0, 5e-324))
    rows = fine.rehearse(Rehearsal(1).generator, 10)
    assert np.isfinite(rows).all()
    assert np.array_equal(rows, coarse.rehearse(Rehearsal(1).generator, 10))
    units = fine.draw(Rehearsal(1))
    assert [Fraction(int(unit)) * Fraction(5e-324) for unit in units] == [
        Fraction(x) for x in fine.rehearse(Rehearsal(1).generator, 1)[0]
    ]


def test_a_seeded_draw_is_one_row_of_the_fast_path():
    law = law_of(6)
    (row,) = law.rehearse(Rehearsal(9).generator, 1)
    rehearsal = Rehearsal(9)
    first, second = law.draw(rehearsal), law.draw(rehearsal)
    assert [unit * SPACING for unit in first] == row.tolist()
    assert list(first) != list(second)


# ---- privacy, by counting ------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("scale", [0.4, 1.3, 5.0])
def test_in_one_dimension_counts_are_those_of_the_rounded_laplace(scale):
    """P(0) = 1 − e^{−a/2}, P(k) = sinh(a/2)·e^{−a|k|}, a = spacing/scale.

    Chi-square. False alarm: 1e-6 or so.
    """
    n_draws, a, edge = 10_000, 1 / scale, math.ceil(4 * scale)
    law = law_of(1, scale=scale, spacing=1.0)
    source = SeededBits(11)
    units = np.clip([l2.draw_units(law, source)[0] for _ in range(n_draws)], -edge, edge)
    k = np.arange(-edge, edge + 1)
    expected = np.where(k == 0, -math.expm1(-a / 2), math.sinh(a / 2) * np.exp(-a * np.abs(k)))
    expected[[0, -1]] = 0.5 * math.exp(-a * (edge - 0.5))  # everything beyond
    assert expected.sum() == pytest.approx(1, abs=1e-12)
    counts = np.bincount(units + edge, minlength=len(k))
    assert stats.chisquare(counts, expected * n_draws).pvalue > ALARM


def certified_loss(units: np.ndarray, shift: int, alarm: float = ALARM) -> float:
    """A lower bound on the loss between inputs 0 and (shift, 0, …, 0), wrong with prob. < `alarm`.

    Events: half-spaces and slices across the shift, balls around either input. Clopper–Pearson
    bounds on both sides of each ratio, with a union bound over events.
    """
    here, there = units, units + shift * np.eye(1, units.shape[1], dtype=int)
    thresholds = range(-2 * shift, 3 * shift + 1)
    events = [lambda z, t=t: z[:, 0] >= t for t in thresholds]
    events += [lambda z, t=t: z[:, 0] < t for t in thresholds]
    events += [lambda z, t=t: z[:, 0] == t for t in thresholds]
    events += [
        lambda z, c=c, t=t: ((z - c) ** 2).sum(axis=1) <= t * t
        for c in (here * 0, there - here)
        for t in range(1, shift)
    ]
    level, n = alarm / (4 * len(events)), len(units)
    losses = []
    for event in events:
        for a, b in ((here, there), (there, here)):
            n_a, n_b = int(event(a).sum()), int(event(b).sum())
            lower = stats.beta.ppf(level, n_a, n - n_a + 1) if n_a else 0.0
            upper = stats.beta.ppf(1 - level, n_b + 1, n - n_b) if n_b < n else 1.0
            losses.append(math.log(lower / upper) if lower else -math.inf)
    return max(losses)


def privacy_sample(dimension: int, *, scale: float, n_draws: int = 15_000) -> np.ndarray:
    law, source = law_of(dimension, scale=scale, spacing=1.0), SeededBits(21)
    return np.array([l2.draw_units(law, source) for _ in range(n_draws)])


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("dimension", [1, 3])
def test_no_event_tells_neighbours_apart_by_more_than_epsilon(dimension, epsilon):
    """One-sided, with a false alarm of 1e-6.

    The same count with half the noise must fail, or the test would prove nothing.
    """
    S = 8
    assert certified_loss(privacy_sample(dimension, scale=S / epsilon), S) <= epsilon
    assert certified_loss(privacy_sample(dimension, scale=S / epsilon / 2), S) > epsilon


@pytest.mark.slow
def test_the_exponential_radius_is_not_private(monkeypatch):
    """Losing the factor D matters: the density is unbounded at the input, and counting shows it."""
    monkeypatch.setattr(l2, "enclose_radius", exponential_radius)
    assert certified_loss(privacy_sample(3, scale=8.0, n_draws=8000), 8) > 2.0


# ---- size, precision, threads --------------------------------------------------------------------


def test_a_thousand_dimensions_have_the_right_length():
    """Not seeded, with a false alarm below 1e-6.

    It takes a length outside the central 1 − 3e-7 of Gamma(1000), in one of three draws.
    """
    law, gamma = law_of(1000), stats.gamma(1000)
    precision = flint.ctx.prec
    for _ in range(3):
        units = law.draw(Entropy())
        length = math.sqrt(sum(int(unit) ** 2 for unit in units)) * SPACING / SCALE
        assert gamma.ppf(1.5e-7) < length < gamma.isf(1.5e-7)
        assert flint.ctx.prec == precision


@pytest.mark.parametrize("precision", [10, 53, 333])
def test_the_precision_of_flint_is_left_as_found(precision):
    expected = l2.draw_units(law_of(3), SeededBits(1))
    with flint.ctx.workprec(precision):
        assert l2.draw_units(law_of(3), SeededBits(1)) == expected
        assert flint.ctx.prec == precision


def test_the_precision_of_flint_is_left_as_found_after_an_error(monkeypatch):
    def fail(coordinates):
        assert flint.ctx.prec != precision
        raise KeyboardInterrupt

    precision = flint.ctx.prec
    with monkeypatch.context() as patch:
        patch.setattr(l2, "round_to_grid", fail)
        with pytest.raises(KeyboardInterrupt):
            law_of(3).draw(Entropy())
    assert flint.ctx.prec == precision
    assert law_of(3).draw(Entropy()).shape == (3,)


def test_a_wrong_precision_costs_passes_and_not_correctness(monkeypatch):
    """As if another thread had lowered flint's precision in the middle of the draw."""
    law, correct = law_of(3), l2.enclose_coordinates
    n_passes = []

    def at_low_precision_once(*arguments):
        n_passes.append(1)
        with flint.ctx.workprec(8 if len(n_passes) == 1 else flint.ctx.prec):
            return correct(*arguments)

    monkeypatch.setattr(l2, "enclose_coordinates", at_low_precision_once)
    expansions = random_expansions(3, 5)
    assert l2.draw_units(law, PrescribedBits(expansions)) == oracle_units(
        law, as_fractions(expansions)
    )
    assert len(n_passes) == 2


def test_draws_in_threads_do_not_disturb_each_other():
    law, precision = law_of(20), flint.ctx.prec
    results: dict[int, list[list[int]]] = {}

    def work(seed: int) -> None:
        source = SeededBits(seed)
        results[seed] = [l2.draw_units(law, source) for _ in range(50)]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert flint.ctx.prec == precision
    for seed in range(4):
        source = SeededBits(seed)
        assert results[seed] == [l2.draw_units(law, source) for _ in range(50)]


def test_a_second_pass_is_rare():
    for dimension, spacing in ((1, SPACING), (10, 1.0), (10, 2.0**-60), (101, 2.0**40)):
        law = law_of(dimension, spacing=spacing)
        for seed in range(20):
            source = PrescribedBits(random_expansions(dimension, seed))
            l2.draw_units(law, source)
            assert source.n_passes == 1


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "scale",
    [0.0, -1.0, math.nan, math.inf, -math.inf, 2**53 + 1, 10**400, Fraction(1, 3), "1", None],
)
def test_a_scale_that_is_no_positive_double_is_refused(scale):
    with pytest.raises(ParameterError) as error:
        L2Noise(scale=scale, spacing=1.0, dimension=1)
    told = (
        "is missing. Needed"
        if scale is None
        else f"= {one_line(repr(scale))} is not allowed. Allowed"
    )
    assert str(error.value) == f"scale {told}: a positive, finite double."


@pytest.mark.parametrize("spacing", [3.0, 0.1, 1.5, 1e-3])
def test_a_spacing_that_is_no_power_of_two_is_refused(spacing):
    with pytest.raises(ParameterError) as error:
        L2Noise(scale=1.0, spacing=spacing, dimension=1)
    assert str(error.value) == (
        f"spacing = {spacing!r} is not allowed. Allowed: a power of two, such as 2.0**-20."
    )


@pytest.mark.parametrize("spacing", [0.0, -2.0, math.nan, math.inf])
def test_a_spacing_that_is_no_positive_double_is_refused(spacing):
    with pytest.raises(
        ParameterError, match=r"spacing = .* is not allowed\. Allowed: a positive, finite double\."
    ):
        L2Noise(scale=1.0, spacing=spacing, dimension=1)


@pytest.mark.parametrize("dimension", [0, -3, 2.0, math.nan, None, "3"])
def test_a_dimension_that_is_no_count_is_refused(dimension):
    with pytest.raises(
        ParameterError,
        match=r"dimension (= .* is not allowed|is missing)\. \w+: a whole number, 1 or more\.",
    ):
        L2Noise(scale=1.0, spacing=1.0, dimension=dimension)


def test_no_draws_are_refused():
    with pytest.raises(
        ParameterError, match=r"n_draws = 0 is not allowed\. Allowed: a whole number, 1 or more\."
    ):
        law_of(2).rehearse(Rehearsal(1).generator, 0)


def test_a_source_of_another_type_is_refused():
    with pytest.raises(
        ParameterError,
        match=r"source = .* is not allowed\. Allowed: Entropy\(\) or Rehearsal\(seed\)\.",
    ):
        law_of(2).draw(SeededBits(1))


def test_numbers_that_are_doubles_are_taken_as_such():
    law = L2Noise(scale=2, spacing=np.float32(0.5), dimension=np.int64(3))
    assert (law.scale, law.spacing, law.dimension) == (2.0, 0.5, 3)
    assert (type(law.scale), type(law.spacing), type(law.dimension)) == (float, float, int)
