"""Discrete Laplace noise: its law, its exact loss, OpenDP's account, 64 bits, and mutants.

OpenDP has no seed: a test of its draws gives a new answer every time, and
"false alarm" is how often a correct one fails.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ostraka.errors import ParameterError, ShapeError, WrongTypeError
from ostraka.mechanism import DiscreteLaplace, Entropy, Rehearsal, laplace
from tests.mechanism.test_l2 import certified_loss

ALARM = 1e-6  # p-values below this fail
LEAST, MOST = -(2**63), 2**63 - 1

doubles = st.floats(min_value=1e-9, max_value=1e9)
sensitivities = st.one_of(st.integers(1, 1000), st.integers(1, 2**62))


def exact_draws(scale: float, n_draws: int) -> np.ndarray:
    return np.array(
        DiscreteLaplace(scale=scale, dimension=n_draws).publish([0] * n_draws, Entropy())
    )


def fast_draws(scale: float, n_draws: int) -> np.ndarray:
    return (
        DiscreteLaplace(scale=scale, dimension=n_draws)
        .rehearse(Rehearsal(3).generator, 1)[0]
        .astype(int)
    )


# ---- the law -------------------------------------------------------------------------------------


def law_p_value(units: np.ndarray, scale: float) -> float:
    """Chi-square against P(z) = tanh(1/2s)·e^{−|z|/s}, everything beyond 4s in two cells."""
    edge = math.ceil(4 * scale)
    k = np.arange(-edge, edge + 1)
    expected = math.tanh(1 / (2 * scale)) * np.exp(-np.abs(k) / scale)
    expected[[0, -1]] = math.exp(-edge / scale) / (1 + math.exp(-1 / scale))
    assert expected.sum() == pytest.approx(1, abs=1e-12)
    counts = np.bincount(np.clip(units, -edge, edge) + edge, minlength=len(k))
    return float(stats.chisquare(counts, expected * len(units)).pvalue)


@pytest.mark.parametrize("draws", [exact_draws, fast_draws])
@pytest.mark.parametrize("scale", [0.4, 1.3, 5.0])
def test_counts_are_those_of_the_law(scale, draws):
    """False alarm: 1e-6 each."""
    assert law_p_value(draws(scale, 20_000), scale) > ALARM


@pytest.mark.parametrize("draws", [exact_draws, fast_draws])
def test_a_wrong_scale_is_caught(draws):
    """A tenth less noise. Missed with a probability far below 1e-6."""
    assert law_p_value(draws(1.3 * 0.9, 20_000), 1.3) < ALARM


def test_coordinates_are_independent():
    """Rank correlation of neighbouring coordinates. False alarm: 1e-6."""
    units = exact_draws(20.0, 20_000)
    assert stats.spearmanr(units[0::2], units[1::2]).pvalue > ALARM


# ---- the loss ------------------------------------------------------------------------------------


@given(scale=doubles, sensitivity=sensitivities)
def test_the_loss_is_the_smallest_double_above_the_exact_one(scale, sensitivity):
    loss = DiscreteLaplace(scale=scale, dimension=2).epsilon(sensitivity)
    exact = Fraction(sensitivity) / Fraction(scale)
    assert Fraction(loss) >= exact > Fraction(math.nextafter(loss, 0))


def test_a_loss_rounded_to_the_nearest_double_is_caught():
    law = DiscreteLaplace(scale=3.0, dimension=2)
    mutants = [(d, d / law.scale) for d in range(1, 100)]
    assert any(Fraction(loss) < Fraction(d) / Fraction(law.scale) for d, loss in mutants)


@settings(deadline=None)
@given(scale=doubles, sensitivity=sensitivities)
def test_opendp_counts_the_same_loss(scale, sensitivity):
    """Never less than ours; it rounds up too, once more at most."""
    law = DiscreteLaplace(scale=scale, dimension=2)
    theirs, ours = laplace._measurement(law).map(sensitivity), law.epsilon(sensitivity)
    assert ours <= theirs <= math.nextafter(ours, math.inf)


@settings(deadline=None)
@given(epsilon=doubles, sensitivity=sensitivities)
def test_the_calibrated_scale_costs_no_more_than_epsilon_and_a_smaller_one_does(
    epsilon, sensitivity
):
    law = DiscreteLaplace.for_epsilon(epsilon, sensitivity, 2)
    assert Fraction(law.scale) * Fraction(epsilon) >= sensitivity
    assert law.epsilon(sensitivity) <= epsilon
    assert laplace._measurement(law).map(sensitivity) <= epsilon
    smaller = DiscreteLaplace(scale=math.nextafter(law.scale, 0), dimension=2)
    assert (
        smaller.epsilon(sensitivity) > epsilon
        or laplace._measurement(smaller).map(sensitivity) > epsilon
    )


def test_a_scale_rounded_to_the_nearest_double_is_caught():
    mutants = [(d, d / 0.3) for d in range(1, 100)]
    assert any(Fraction(scale) * Fraction(0.3) < d for d, scale in mutants)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_no_event_tells_neighbours_apart_by_more_than_epsilon(epsilon):
    """One-sided, with a false alarm of 1e-6.

    The same count with half the noise must fail, or the test would prove nothing.
    """
    law = DiscreteLaplace.for_epsilon(epsilon, 8, 1)
    assert certified_loss(exact_draws(law.scale, 40_000)[:, None], 8) <= epsilon
    assert certified_loss(exact_draws(law.scale / 2, 40_000)[:, None], 8) > epsilon


# ---- the ends of 64 bits -------------------------------------------------------------------------


def reachable_ends(publish) -> set[int]:
    """What enormous noise leaves of an input: the same two numbers, or the input shows."""
    return {noisy for q in (-5, 0, 5, 2**62, -(2**62)) for noisy in publish([q] * 40)}


def test_saturation_hides_the_value():
    """False alarm: |Z| < 2^64 at scale 2^300, or 200 equal signs: below 2^-190."""
    law = DiscreteLaplace(scale=2.0**300, dimension=40)
    assert reachable_ends(lambda values: law.publish(values, Entropy())) == {LEAST, MOST}


def test_noise_that_is_saturated_before_the_value_is_added_is_caught():
    law = DiscreteLaplace(scale=2.0**300, dimension=40)

    def mutant(values):
        return [
            min(max(q + z, LEAST), MOST) for q, z in zip(values, law.publish([0] * 40, Entropy()))
        ]

    assert reachable_ends(mutant) > {LEAST, MOST}


def test_values_up_to_the_bound_are_taken():
    law = DiscreteLaplace(scale=0.01, dimension=2)  # no noise but with probability 1e-43
    assert law.publish([2**62, -(2**62)], Entropy()) == [2**62, -(2**62)]


@pytest.mark.parametrize("value", [2**62 + 1, -(2**62) - 1, 10**30])
@pytest.mark.parametrize("source", [Entropy(), Rehearsal(1)])
def test_values_beyond_the_bound_are_refused(value, source):
    with pytest.raises(ParameterError) as error:
        DiscreteLaplace(scale=1.0, dimension=2).publish([0, value], source)
    assert str(error.value) == (
        "values = 'a value of more than 62 bits' is not allowed. "
        "Allowed: whole numbers from -2**62 to 2**62; "
        "choose the lattice so that no data can exceed that, because a refusal is visible."
    )


# ---- sources and types ---------------------------------------------------------------------------


@pytest.mark.parametrize("source", [Entropy(), Rehearsal(4)])
@pytest.mark.parametrize(
    "values", [[1, -2, 3], np.array([1, -2, 3]), np.array([1, -2, 3], dtype=object)]
)
def test_publications_are_python_integers(values, source):
    noisy = DiscreteLaplace(scale=2.0, dimension=3).publish(values, source)
    assert type(noisy) is list
    assert [type(unit) for unit in noisy] == [int, int, int]


def test_a_seeded_publication_is_one_row_of_the_fast_path():
    law = DiscreteLaplace(scale=7.5, dimension=4)
    (row,) = law.rehearse(Rehearsal(9).generator, 1)
    rehearsal = Rehearsal(9)
    first, second = (
        law.publish([10, 20, 30, 40], rehearsal),
        law.publish([10, 20, 30, 40], rehearsal),
    )
    assert first == [10 + row[0], 20 + row[1], 30 + row[2], 40 + row[3]]
    assert first != second


def test_the_fast_path_gives_rows_of_whole_doubles():
    rows = DiscreteLaplace(scale=1e3, dimension=5).rehearse(Rehearsal(1).generator, 100)
    assert rows.shape == (100, 5)
    assert rows.dtype == np.float64
    assert np.array_equal(rows, np.rint(rows))


@pytest.mark.parametrize("values", [[1], [1, 2, 3], []])
def test_another_number_of_values_is_refused(values):
    with pytest.raises(ShapeError, match=r"Allowed: \(2,\), one whole number per coordinate\."):
        DiscreteLaplace(scale=1.0, dimension=2).publish(values, Entropy())


@pytest.mark.parametrize("values", [[1.0, 2.0], ["1", "2"], [None, 1], 7, np.array([0.5, 1.0])])
def test_values_that_are_no_whole_numbers_are_refused(values):
    with pytest.raises(WrongTypeError, match=r"Give whole numbers, in units of the lattice\."):
        DiscreteLaplace(scale=1.0, dimension=2).publish(values, Entropy())


def test_a_source_of_another_type_is_refused():
    with pytest.raises(
        ParameterError,
        match=r"source = .* is not allowed\. Allowed: Entropy\(\) or Rehearsal\(seed\)\.",
    ):
        DiscreteLaplace(scale=1.0, dimension=1).publish([0], np.random.default_rng(1))


@pytest.mark.parametrize(
    "scale", [0.0, -1.0, math.nan, math.inf, 2**53 + 1, Fraction(1, 3), "1", None]
)
def test_a_scale_that_is_no_positive_double_is_refused(scale):
    with pytest.raises(
        ParameterError,
        match=r"scale (= .* is not allowed|is missing)\. \w+: a positive, finite double\.",
    ):
        DiscreteLaplace(scale=scale, dimension=1)


@pytest.mark.parametrize("sensitivity", [0, -1, 1.5, 2**62 + 1, None, True])
def test_a_sensitivity_that_is_no_count_is_refused(sensitivity):
    with pytest.raises(
        ParameterError,
        match=r"l1_sensitivity (= .* is not allowed|is missing)\. \w+: a whole number, 1 or more,",
    ):
        DiscreteLaplace(scale=1.0, dimension=1).epsilon(sensitivity)
    with pytest.raises(ParameterError, match=r"l1_sensitivity"):
        DiscreteLaplace.for_epsilon(1.0, sensitivity, 1)


@pytest.mark.parametrize("dimension", [0, -3, 2.0, None])
def test_a_dimension_that_is_no_count_is_refused(dimension):
    with pytest.raises(
        ParameterError,
        match=r"dimension (= .* is not allowed|is missing)\. \w+: a whole number, 1 or more\.",
    ):
        DiscreteLaplace(scale=1.0, dimension=dimension)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, Fraction(1, 3)])
def test_a_loss_that_is_no_positive_double_is_refused(epsilon):
    with pytest.raises(ParameterError, match=r"epsilon = .* is not allowed"):
        DiscreteLaplace.for_epsilon(epsilon, 1, 1)


@pytest.mark.parametrize(
    ("exact", "double"),
    [
        (Fraction(1, 3), math.nextafter(1 / 3, 1)),
        (Fraction(1, 2), 0.5),
        (Fraction(10) ** 400, math.inf),
        (Fraction(1, 10**400), 5e-324),
    ],
)
def test_rounding_up(exact, double):
    assert laplace.round_up(exact) == double
