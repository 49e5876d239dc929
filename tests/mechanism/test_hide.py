"""Noise on residues: as private as on whole numbers, also where these wrap around; two of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from ostraka.errors import ParameterError, ShapeError
from ostraka.mechanism import DiscreteLaplace, Entropy, Rehearsal, laplace
from ostraka.mechanism.gaussian import RoundedGaussian
from ostraka.mechanism.laplace import VALUE_BOUND, settle_far
from ostraka.mechanism.laws import Law, UnitL2
from ostraka.mechanism.mechanism import Mechanism
from ostraka.release.certificate import NoisySum
from ostraka.sealing.shares import centre, wrap

ALARM = 1e-6  # how often a correct mechanism fails, each time
EPSILON, MOVE = 1.0, 8
END = 2**63 - MOVE // 2
"""Between this and this plus MOVE the residues' signs change."""


def mechanism(law: Law, n_noises: int = 2) -> Mechanism:
    return Mechanism(
        law=law,
        grid=1.0,
        sensitivity=float(MOVE),
        delta=0.0,
        divisor=1,
        coordinates="test",
        particular=NoisySum(radius=MOVE / 2),
        n_noises=n_noises,
    )


LAWS: dict[str, Callable[[float], Law]] = {
    "laplace": lambda share: DiscreteLaplace(scale=share * MOVE / EPSILON, dimension=1),
    "l2": lambda share: UnitL2(scale=share * MOVE / EPSILON, dimension=1),
}


def positions(made: Mechanism, start: int, n_draws: int) -> np.ndarray:
    """Where noisy residues of `start` lie, seen from END."""
    shares = [made.hide(wrap([start]), Entropy()) for _ in range(n_draws)]
    return np.array([centre(share - wrap([END]))[0] for share in shares])


def loss_is_within(made: Mechanism, n_draws: int = 4000) -> bool:
    """Whether an event is at most e^ε times as likely in the neighbouring world.

    A correct mechanism fails with probability below ALARM (Clopper and Pearson, both sides).
    """
    near, far = (positions(made, END + move, n_draws) for move in (MOVE, 0))
    hits = [int((found >= MOVE).sum()) for found in (near, far)]
    least = stats.beta.ppf(ALARM / 2, hits[0], n_draws - hits[0] + 1)
    most = stats.beta.ppf(1 - ALARM / 2, hits[1] + 1, n_draws - hits[1])
    return bool(least <= math.exp(EPSILON) * most)


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_one_servers_noise_is_enough_wherever_residues_wrap(law: Callable[[float], Law]) -> None:
    assert loss_is_within(mechanism(law(1.0)))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_half_of_the_noise_each_is_caught(law: Callable[[float], Law]) -> None:
    """The mutant lets two servers share the noise. Missed with a probability below 1e-6."""
    assert not loss_is_within(mechanism(law(0.5)))


@pytest.mark.parametrize(
    "law",
    [
        DiscreteLaplace(scale=30.0, dimension=3),
        UnitL2(scale=10.0, dimension=3),
        RoundedGaussian(scale=20.0, dimension=3),
    ],
    ids=lambda law: type(law).__name__,
)
def test_two_halves_are_a_noisy_sum(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly: the whole numbers, and both noises."""
    drawn: list[list[int]] = []
    real = type(law).noise

    def noting(self: Law, source: Entropy) -> list[int]:
        drawn.append(real(self, source))
        return drawn[-1]

    monkeypatch.setattr(type(law), "noise", noting)
    made, ours, theirs = mechanism(law), wrap([2**63 + 5, 7, 2**64 - 1]), wrap([2**63, 3, 2])
    total = centre(made.hide(ours, Entropy()) + made.hide(theirs, Entropy()))
    assert total == [5 + a + b for a, b in zip([0, 5, -4], map(sum, zip(*drawn)))]


def test_both_noises_are_told() -> None:
    one, two = (mechanism(UnitL2(scale=3.0, dimension=4), n) for n in (1, 2))
    assert two.deviation == pytest.approx(math.sqrt(2.0) * one.deviation)
    drawn = two.rehearse(np.random.default_rng(0), 40_000)
    assert drawn.std() == pytest.approx(two.deviation, rel=0.02)
    seeded = [two.draw([0] * 4, Rehearsal(seed)) for seed in range(4000)]
    assert np.std(seeded) == pytest.approx(two.deviation, rel=0.05)


def test_what_is_refused() -> None:
    made = mechanism(UnitL2(scale=3.0, dimension=2))
    with pytest.raises(ParameterError, match="each adds noise of its own"):
        made.draw([0, 0], Entropy())
    with pytest.raises(ParameterError):
        made.hide(wrap([0, 0]), Rehearsal(0))  # type: ignore[arg-type]
    with pytest.raises(ShapeError):
        made.hide(wrap([0]), Entropy())
    assert replace(made, n_noises=1).draw([0, 0], Entropy()) is not None


# ---- discrete Laplace noise without ends ---------------------------------------------------------


def clamped(bound: int, scale: float) -> Callable[[], int]:
    """Draws that are saturated at a bound that tests can reach."""
    law = DiscreteLaplace(scale=scale, dimension=1)
    return lambda: max(-bound, min(bound, law.publish([0], Entropy())[0]))


def p_value(units: list[int], scale: float) -> float:
    """Chi-square against the law, everything beyond 4s in two cells."""
    edge = math.ceil(4 * scale)
    k = np.arange(-edge, edge + 1)
    expected = math.tanh(1 / (2 * scale)) * np.exp(-np.abs(k) / scale)
    expected[[0, -1]] = math.exp(-edge / scale) / (1 + math.exp(-1 / scale))
    counts = np.bincount(np.clip(units, -edge, edge) + edge, minlength=len(k))
    return float(stats.chisquare(counts, expected * len(units)).pvalue)


@pytest.mark.parametrize("bound", [1, 2, 5])
def test_saturated_draws_are_made_whole(bound: int) -> None:
    """False alarm: 1e-6 each."""
    draw = clamped(bound, 2.0)
    assert p_value([settle_far(draw(), bound, draw) for _ in range(6000)], 2.0) > ALARM


def test_draws_that_stay_saturated_are_caught() -> None:
    """Missed with a probability far below 1e-6."""
    draw = clamped(5, 2.0)
    assert p_value([draw() for _ in range(6000)], 2.0) < ALARM


def test_noise_alone_goes_beyond_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a scale at which many draws are saturated."""
    law = DiscreteLaplace(scale=2.0**63, dimension=40)
    assert max(map(abs, law.noise(Entropy()))) > 2**63
    monkeypatch.setattr(laplace, "settle_far", lambda z, bound, draw: z)
    assert max(map(abs, law.noise(Entropy()))) <= 2**63
    assert VALUE_BOUND < 2**63


def test_only_the_operating_system_draws_alone() -> None:
    with pytest.raises(ParameterError):
        DiscreteLaplace(scale=1.0, dimension=1).noise(Rehearsal(0))
