"""The alarm rings only with shift; weights reach what they aim at; wild numbers break nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.methods.after_noise.shift import ALARM, chance, remark, shrink, surprise, tilt
from ostraka.methods.base import Options
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.solve.losses import Array
from tests.methods.planned import Planned, planned

N_TRIES = 40


def blobs(rng: np.random.Generator, shares: Array, n: int) -> tuple[Array, Array]:
    """Rows of the unit ball around one centre per class, and the classes."""
    centres = np.random.default_rng(0).standard_normal((len(shares), 6))
    labels = rng.choice(len(shares), n, p=shares / shares.sum())
    rows = centres[labels] + 0.6 * rng.standard_normal((n, 6))
    return 0.99 * rows / np.linalg.norm(rows, axis=1, keepdims=True), labels


def rehearsed(
    name: str, n_classes: int, *, shifted: bool, shift: bool, epsilon: float, seed: int
) -> tuple[Planned, list[int]]:
    rng = np.random.default_rng(seed)
    even = np.ones(n_classes)
    public = blobs(rng, np.where(np.arange(n_classes) % 2, 0.05, 1.0) if shifted else even, 600)[0]
    auxiliary = AuxiliarySet(public, tuple(range(n_classes)))
    made = planned(name, auxiliary, 500, epsilon=epsilon, samples_each=10, shift=shift)
    rows, labels = blobs(rng, even, 5000)
    total = made.total([(rows[i : i + 10], labels[i : i + 10]) for i in range(0, 5000, 10)])
    noise = made.mechanism.law.rehearse(rng, 1)[0]
    return made, [q + int(z) for q, z in zip(total, noise)]


WAYS = [
    ("cells", 2, False),
    ("cells", 2, True),
    ("cells", 4, False),
    ("moments", 2, False),
    ("moments", 2, True),
    ("moments", 4, True),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_classes", "shift"), WAYS)
def test_without_a_shift_the_alarm_is_quiet(name: str, n_classes: int, shift: bool) -> None:
    """40 worlds at each of three ε: one false alarm in 120 would be too many."""
    for epsilon in (0.1, 1.0, 10.0):
        found = [
            made.surprise(noisy)
            for made, noisy in (
                rehearsed(name, n_classes, shifted=False, shift=shift, epsilon=epsilon, seed=seed)
                for seed in range(N_TRIES)
            )
        ]
        assert max(value for value in found if value is not None) < ALARM


@pytest.mark.parametrize(
    ("name", "n_classes", "shift"), [way for way in WAYS if way != ("moments", 2, False)]
)
def test_with_a_shift_it_rings(name: str, n_classes: int, shift: bool) -> None:
    for seed in range(5):
        made, noisy = rehearsed(name, n_classes, shifted=True, shift=shift, epsilon=10.0, seed=seed)
        found = made.surprise(noisy)
        assert found is not None
        assert found > ALARM


@pytest.mark.parametrize(("name", "n_classes"), [("cells", 4), ("moments", 4)])
def test_weights_bring_the_rare_classes_back(name: str, n_classes: int) -> None:
    """Accuracy on rows like the private ones, with and without the remedy.

    Both use the same released numbers where these are the same.
    """
    test, truth = blobs(np.random.default_rng(99), np.ones(n_classes), 2000)
    right: dict[bool, list[float]] = {False: [], True: []}
    for shift in (False, True):
        for seed in range(8):
            made, noisy = rehearsed(
                name, n_classes, shifted=True, shift=shift, epsilon=10.0, seed=seed
            )
            right[shift].append(
                float(np.mean((test @ made.weights(noisy)).argmax(axis=1) == truth))
            )
    assert np.mean(right[True]) > np.mean(right[False]) + 0.005


@pytest.mark.parametrize("n", [1, 2, 4, 10, 40])
def test_of_few_numbers_too_noise_alone_rings_no_alarm(n: int) -> None:
    """Once in 5,000 times at most: 25 expected of 125,000 and more than 80 found, once in 10^16."""
    noise = np.random.default_rng(n).laplace(size=(125_000, n)) ** 2 / 2.0
    found = (noise.sum(axis=1) - n) / np.sqrt(chance(n))
    assert np.sum(found > ALARM) <= 80
    assert surprise(np.sqrt(2.0 * noise[0]), np.full(n, 2.0)) == pytest.approx(found[0])


def test_surprise_is_about_zero_for_the_noise_that_was_declared() -> None:
    rng = np.random.default_rng(1)
    variances = rng.uniform(0.5, 2.0, 100)
    laplace = [
        surprise(rng.laplace(size=100) * np.sqrt(variances / 2.0), variances) for _ in range(2000)
    ]
    assert abs(np.mean(laplace)) < 0.1
    assert np.mean(np.array(laplace) > ALARM) < 0.001
    assert surprise(np.full(100, 5.0) * np.sqrt(variances), variances) > ALARM


def test_too_little_declared_noise_is_noticed() -> None:
    """The mutant counts half of the noise."""
    rng = np.random.default_rng(2)
    assert surprise(rng.standard_normal(400), np.full(400, 0.25)) > ALARM


def test_shrinking_takes_away_what_is_noise() -> None:
    rng = np.random.default_rng(3)
    noise = rng.standard_normal(400)
    assert np.linalg.norm(shrink(noise, np.ones(400))) < 0.3 * np.linalg.norm(noise)
    assert np.linalg.norm(
        shrink(50.0 * noise, np.ones(400)) - 50.0 * noise
    ) < 0.01 * np.linalg.norm(50.0 * noise)
    assert not shrink(np.zeros(5), np.ones(5)).any()


def test_tilted_shares_reach_a_mean_that_can_be_reached() -> None:
    rng = np.random.default_rng(4)
    white = rng.standard_normal((2000, 5))
    target = np.array([0.5, -0.3, 0.0, 0.2, -0.1])
    shares = tilt(white, target, 1e-6)
    assert abs(shares.sum() - 1.0) <= 1e-12
    assert (shares >= 0.0).all()
    assert np.abs(shares @ white - target).max() <= 1e-4
    # Exponential in the rows: of all weights with this mean, those
    # are the ones with the largest entropy.
    design = np.column_stack([np.ones(2000), white])
    fitted = design @ np.linalg.lstsq(design, np.log(shares), rcond=None)[0]
    assert np.abs(fitted - np.log(shares)).max() <= 1e-9


@settings(max_examples=50, deadline=None)
@given(
    st.integers(0, 1000), st.sampled_from([1e-12, 1e-3, 1.0]), st.sampled_from([0.0, 1.0, 1e3, 1e8])
)
def test_tilting_ends_with_shares_wherever_it_aims(seed: int, penalty: float, size: float) -> None:
    rng = np.random.default_rng(seed)
    white = rng.standard_normal((50, 3))
    with np.errstate(all="ignore"):
        shares = tilt(white, size * rng.standard_normal(3), penalty)
    assert np.isfinite(shares).all()
    assert abs(shares.sum() - 1.0) <= 1e-9


def test_what_is_said() -> None:
    assert remark(None, False) is None
    assert remark(ALARM, False) is None
    assert remark(float("nan"), False) is None
    assert "37 standard deviations" in str(remark(37.2, False))
    assert "shift=True" in str(remark(37.2, False))
    assert "weighted to fit" in str(remark(37.2, True))


def test_options_take_a_truth_value() -> None:
    assert Options(shift=1).shift is True  # type: ignore[arg-type]
