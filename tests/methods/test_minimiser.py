"""`soft` and `vote`: the grid, the choice of a bound, private auxiliary sets.

What all methods obey is in tests/laws.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.errors import ParameterError
from ostraka.mechanism.laws import scale_up
from ostraka.methods.minimiser import GRID_BITS, Soft, Vote, _grid_spacing
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.preprocessing import Preprocessing
from ostraka.public.promise import Promise
from ostraka.tally import Tally
from tests.laws.cases import allowed, distance
from tests.mechanism.worlds import unit_rows

positive = st.floats(1e-12, 1e12)
M, N, D = 7, 40, 5


@given(positive, positive)
def test_the_scale_covers_the_sensitivity_exactly_and_no_smaller_double_does(
    s: float, epsilon: float
) -> None:
    scale = scale_up(s, epsilon)
    assert Fraction(scale) * Fraction(epsilon) >= Fraction(s)
    assert Fraction(math.nextafter(scale, 0)) * Fraction(epsilon) < Fraction(s) * (
        1 + Fraction(1, 2**50)
    )


def test_scale_of_extreme_numbers() -> None:
    assert scale_up(1.0, 1e-300) >= 1e300
    with pytest.raises(OverflowError):
        scale_up(1e10, 1e-300)


@given(positive, st.integers(1, 10**6))
def test_the_grid_is_a_power_of_two_that_costs_a_millionth(s: float, dimension: int) -> None:
    spacing = _grid_spacing(s, dimension)
    assert math.frexp(spacing)[0] == 0.5
    assert spacing * math.sqrt(dimension) <= 2.0**-GRID_BITS * s * (1 + 1e-9)


@given(
    st.sampled_from([Soft, Vote]),
    st.sampled_from(["paper", "tight"]),
    st.integers(2, 6),
    st.integers(1, 50),
    st.floats(1e-8, 1e3),
    st.integers(2, 10**6),
    st.booleans(),
)
def test_the_total_covers_its_parts_and_the_cheaper_bound_is_taken(
    kind: Any,
    calibration: str,
    n_classes: int,
    d: int,
    lambda_: float,
    n_parties: int,
    private: bool,
) -> None:
    method = kind(
        features=None, n_samples=100, n_features=d, n_classes=n_classes, row_terms=d,
        lambda_=lambda_, calibration=calibration, private=private,
    )  # fmt: skip
    made = method.mechanism(Promise(epsilon=0.7), n_parties)
    own = made.particular
    exact = sum(map(Fraction, (own.bound, own.solver, own.rounding, own.on_grid)))
    assert Fraction(made.sensitivity) >= exact
    assert Fraction(own.on_grid) ** 2 >= Fraction(made.grid) ** 2 * made.dimension
    assert Fraction(made.noise_scale) * Fraction(0.7) >= Fraction(made.sensitivity)
    if calibration == "tight" and own.rule == "stability":
        assert own.bound + own.solver <= 2.0 * own.radius * (1 + 1e-6)


def test_a_smaller_grid_term_would_be_caught() -> None:
    """Half a step per coordinate in both worlds is g√D exactly, so g√D/2 would be too little."""
    spacing, d = 2.0**-3, 9
    low, high = np.full(d, 0.499 * spacing), np.full(d, 0.501 * spacing)
    gap = math.dist(np.rint(high / spacing), np.rint(low / spacing)) * spacing
    assert gap - math.dist(high, low) <= spacing * math.sqrt(d)
    assert gap - math.dist(high, low) > spacing * math.sqrt(d) / 2


# ---- private auxiliary sets ----------------------------------------------------------------------


def private_set(seed: int, n_classes: int, rows: Any = None) -> AuxiliarySet:
    samples = unit_rows(np.random.default_rng(seed), N, D) if rows is None else rows
    return AuxiliarySet(
        samples, tuple(range(n_classes)), preprocessing=Preprocessing(), private=True
    )


def polled(auxiliary: AuxiliarySet, method: str, lambda_: float = 0.01) -> Poll:
    return Poll.create(auxiliary, method=method, epsilon=1.0, parties=M, lambda_=lambda_)


WAYS = [(method, n_classes) for method in ("soft", "vote") for n_classes in (2, 3)]


@pytest.mark.parametrize(("method", "n_classes"), WAYS)
def test_a_private_auxiliary_set_shows_in_nothing_but_its_size(method: str, n_classes: int) -> None:
    one, other = (polled(private_set(seed, n_classes), method) for seed in (0, 9))
    assert one.to_bytes() == other.to_bytes()
    assert one.certificate(M) == other.certificate(M)
    promised = one.certificate(M)
    assert promised.neighbours == "replace one party and one auxiliary sample"
    assert promised.auxiliary_digest is None
    assert "and one auxiliary sample" in str(promised)


@pytest.mark.parametrize(("method", "n_classes"), WAYS)
def test_replacing_a_private_auxiliary_sample_too_stays_within_the_certificate(
    method: str, n_classes: int
) -> None:
    rng = np.random.default_rng(6)
    for lambda_ in (1e-3, 1.0, 20.0):
        auxiliary = private_set(0, n_classes)
        poll = polled(auxiliary, method, lambda_)
        certificate = poll.certificate(M)
        ensemble = [rng.standard_normal((D, n_classes)) for _ in range(M)]
        here = voted(poll, auxiliary, ensemble)
        for _ in range(10):
            samples = np.array(auxiliary.samples)
            samples[rng.integers(N)] = unit_rows(rng, 1, D)[0]
            neighbour = [*ensemble]
            neighbour[rng.integers(M)] = rng.standard_normal((D, n_classes))
            there = voted(poll, private_set(0, n_classes, samples), neighbour)
            assert distance(here, there, certificate) <= allowed(certificate)


def voted(poll: Poll, auxiliary: AuxiliarySet, ensemble: list[Any]) -> list[int]:
    """The vector of a coordinator who has this private set, from linear classifiers."""
    attached = Poll.from_bytes(poll.to_bytes()).with_auxiliary(auxiliary)
    tally = Tally(attached)
    for party, weights in enumerate(ensemble):
        votes = (auxiliary.features @ weights).argmax(axis=1)
        tally.add_block([str(party)], np.eye(weights.shape[1], dtype=int)[votes])
    return attached.method.statistic(tally.total, attached.mechanism(M))


def test_only_the_coordinator_has_the_private_samples() -> None:
    poll = Poll.from_bytes(polled(private_set(0, 2), "soft").to_bytes())
    assert poll.auxiliary is None
    with pytest.raises(ParameterError, match=r"a classifier: Poll.enclose"):
        poll.contribute(np.zeros((3, D)), [0, 1, 0], "a")
    with pytest.raises(ParameterError, match="the samples are private"):
        poll.cast(lambda rows: np.zeros(len(rows)), "a")
    with pytest.raises(ParameterError, match=r"40 samples with 5 features"):
        poll.with_auxiliary(private_set(0, 2, unit_rows(np.random.default_rng(0), N + 1, D)))
    with pytest.raises(ValueError, match="private=True"):
        poll.with_auxiliary(AuxiliarySet(np.zeros((N, D)), (0, 1)))
    assert poll.with_auxiliary(private_set(3, 2)).digest == poll.digest
