"""A law on the lattice with what it is worth: exact, refusing, and as long as it says."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.errors import ParameterError, ShapeError
from ostraka.mechanism import DiscreteLaplace, Entropy, Rehearsal, RoundedGaussian
from ostraka.mechanism.laws import Exact, Law, UnitL2, variance
from ostraka.mechanism.mechanism import LARGEST_MEAN, NAMES, Mechanism
from ostraka.release.certificate import NoisySum
from tests.laws.cases import CASES, Case, M

GRID = 2.0**-10
LAWS: dict[str, Law] = {
    "l2": UnitL2(scale=1234.5678, dimension=3),
    "discrete laplace": DiscreteLaplace(scale=1234.5678, dimension=3),
    "gaussian": RoundedGaussian(scale=1234.5678, dimension=3),
}


def made(law: Law, grid: float = GRID, divisor: int = 7) -> Mechanism:
    return Mechanism(
        law=law,
        grid=grid,
        sensitivity=300.0 * grid,
        delta=1e-6 if isinstance(law, RoundedGaussian) else 0.0,
        divisor=divisor,
        coordinates="some",
        particular=NoisySum(radius=150.0 * grid),
    )


every_law = pytest.mark.parametrize("name", LAWS)


# ---- what it says of itself ----------------------------------------------------------------------


@every_law
def test_names_norms_and_sizes(name: str) -> None:
    mechanism = made(LAWS[name])
    assert mechanism.noise == name
    assert mechanism.norm == ("l1" if name == "discrete laplace" else "l2")
    assert mechanism.dimension == 3
    assert set(NAMES.values()) == set(LAWS)


@pytest.mark.parametrize("exponent", [-300, -20, 0, 7, 300])
@every_law
def test_the_scale_is_exact(name: str, exponent: int) -> None:
    law = LAWS[name]
    mechanism = made(law, grid=math.ldexp(1.0, exponent))
    assert Fraction(mechanism.noise_scale) == Fraction(law.scale) * Fraction(2) ** exponent


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_scale_of_every_method_is_exact_and_covers_its_sensitivity(case: Case) -> None:
    mechanism = case.poll().mechanism(M)
    assert math.frexp(mechanism.grid)[0] == 0.5
    exact = Fraction(mechanism.law.scale) * Fraction(mechanism.grid)
    assert Fraction(mechanism.noise_scale) == exact
    if mechanism.delta == 0.0:
        assert exact >= Fraction(mechanism.sensitivity)  # at ε = 1


def test_rho_is_that_of_the_gaussian_and_nobody_elses() -> None:
    for name, law in LAWS.items():
        found = made(law).rho
        if name != "gaussian":
            assert found is None
            continue
        exact = (Fraction(300) / Fraction(law.scale)) ** 2 / 2
        assert found is not None
        assert exact <= Fraction(found) <= exact * (1 + Fraction(1, 2**50))


@every_law
def test_the_deviation_is_that_of_one_coordinate_of_what_is_released(name: str) -> None:
    """40 000 rehearsed vectors: within 5 % unless an event of less than 1e-6 happened."""
    mechanism = made(LAWS[name])
    expected = math.sqrt(variance(LAWS[name])) * GRID / 7
    assert mechanism.deviation == pytest.approx(expected, rel=1e-12)
    drawn = mechanism.rehearse(np.random.default_rng(0), 40_000)
    assert drawn.shape == (40_000, 3)
    assert abs(drawn.std() / mechanism.deviation - 1.0) <= 0.05
    twice = replace(mechanism, divisor=14)
    assert twice.deviation == mechanism.deviation / 2.0


# ---- drawing -------------------------------------------------------------------------------------


class Bits:
    """It has what `Entropy` has, and draws nothing but zeros."""

    def bits(self, n: int) -> int:
        return 0


class Loud(Exception):
    pass


@every_law
@pytest.mark.parametrize(
    "source",
    [Bits(), None, 3, "system", np.random.default_rng(0), Entropy, object()],
    ids=lambda source: type(source).__name__,
)
def test_other_sources_are_refused_before_anything_is_drawn(
    name: str, source: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(LAWS[name]), "publish", _drawn)
    mechanism = made(LAWS[name])
    for call in (lambda: mechanism.draw([0, 0, 0], source), lambda: Mechanism.check(source)):
        with pytest.raises(
            ParameterError, match=r"source (=|is) .*Entropy\(\) or Rehearsal\(seed\)"
        ):
            call()


@every_law
@pytest.mark.parametrize("vector", [[], [0], [0, 0], [0] * 4], ids=len)
def test_other_lengths_are_refused_before_anything_is_drawn(
    name: str, vector: Exact, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(LAWS[name]), "publish", _drawn)
    with pytest.raises(ShapeError, match=r"The vector: the shape is .*\(3,\), as promised"):
        made(LAWS[name]).draw(vector, Entropy())


def _drawn(*_: Any) -> Any:
    raise Loud


@every_law
def test_the_refusals_above_could_have_drawn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(LAWS[name]), "publish", _drawn)
    with pytest.raises(Loud):
        made(LAWS[name]).draw([0, 0, 0], Entropy())


@every_law
def test_a_draw_is_whole_numbers_of_the_laws_own(name: str) -> None:
    law, vector = LAWS[name], [2**40, -(2**40), 0]
    mechanism = made(law)
    drawn = mechanism.draw(vector, Entropy())
    assert all(type(unit) is int for unit in drawn)
    assert mechanism.draw(vector, Rehearsal(4)) == law.publish(vector, Rehearsal(4))
    # Equal with a probability below 1e-6: each coordinate has a deviation of over a thousand units.
    assert mechanism.draw(vector, Entropy()) != mechanism.draw(vector, Entropy())
    assert vector == [2**40, -(2**40), 0]


# ---- what was released, as doubles ---------------------------------------------------------------

units = st.integers(-(2**200), 2**200) | st.integers(-(2**1200), 2**1200)


@given(
    st.lists(units, min_size=3, max_size=3),
    st.integers(-60, 60),
    st.integers(1, 2**38),
)
def test_the_mean_is_the_double_nearest_to_the_exact_one(
    noisy: Exact, exponent: int, divisor: int
) -> None:
    mechanism = made(LAWS["l2"], math.ldexp(1.0, exponent), divisor)
    for found, unit in zip(mechanism.mean(noisy), noisy, strict=True):
        exact = Fraction(unit) * Fraction(2) ** exponent / divisor
        clipped = min(max(exact, -LARGEST_MEAN), LARGEST_MEAN)
        assert found == float(clipped)
        assert abs(Fraction(float(found))) <= 2**500


def test_a_quotient_in_doubles_would_round_twice() -> None:
    """A wrong mean: the unit as a double times the value as a double."""
    mechanism = made(LAWS["l2"], 2.0**-20, 49)
    noisy = list(range(200))
    exact = [float(Fraction(unit) / 2**20 / 49) for unit in noisy]
    twice = [float(unit) * (2.0**-20 / 49) for unit in noisy]
    assert mechanism.mean(noisy).tolist() == exact != twice


def test_the_mean_stays_where_doubles_can_hold_it() -> None:
    mechanism = made(LAWS["l2"], 1.0, 1)
    top = float(2**500)
    found = mechanism.mean([2**1100, -(2**1100), 2**500]).tolist()
    assert found == [top, -top, top]
    assert mechanism.mean([2**499, 0, -1]).tolist() == [float(2**499), 0.0, -1.0]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_no_true_sum_is_near_the_largest_mean(case: Case) -> None:
    poll = case.poll()
    mechanism = poll.mechanism(M)
    reach = Fraction(mechanism.sensitivity) * 2**38
    assert reach < LARGEST_MEAN


def test_divisors_are_the_units_for_sums_and_one_for_minimisers() -> None:
    for case in CASES:
        mechanism = case.poll().mechanism(M)
        assert mechanism.divisor == (1 if case.method in ("soft", "vote") else M)
