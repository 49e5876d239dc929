"""The losses: every constant is attacked and met; every derivative has an exact oracle.

Mutants of the constants fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.errors import LabelError, ParameterError, ShapeError
from ostraka.solve.losses import UNIT_ROUNDOFF, Array, HuberHinge, Logistic, Loss, Softmax, loss_for

LOSSES: list[Loss] = [
    Logistic(),
    HuberHinge(),
    HuberHinge(0.01),
    HuberHinge(0.2),
    HuberHinge(1.0 / 3.0),
    HuberHinge(0.9),
    Softmax(2),
    Softmax(3),
    Softmax(10),
]
VOTES = 7
"""Soft labels are shares of this many votes: only 0 and 1 are doubles."""


def votes(loss: Loss, rng: np.random.Generator, n: int) -> NDArray[np.int64]:
    """How many votes each class has, with a third of the rows unanimous.

    For a binary loss only the votes of class +1.
    """
    counts = rng.multinomial(VOTES, rng.dirichlet(np.full(loss.n_classes, 0.5), size=n))
    counts[::3] = (
        VOTES
        * np.eye(loss.n_classes, dtype=np.int64)[
            rng.integers(loss.n_classes, size=len(counts[::3]))
        ]
    )
    return counts if loss.n_outputs > 1 else counts[:, :1]


def as_labels(loss: Loss, counts: NDArray[np.int64]) -> Array:
    """The shares, each rounded once."""
    return counts / VOTES if loss.n_outputs > 1 else counts[:, 0] / VOTES


def exact_shares(counts: NDArray[np.int64]) -> list[mpmath.mpf]:
    return [mpmath.mpf(int(count)) / VOTES for count in counts]


def scores(loss: Loss, rng: np.random.Generator, n: int, largest: float = 1e4) -> Array:
    """Scores of every size, some on the corners of the Huber hinge, some with a class far away."""
    shape = (n,) if loss.n_outputs == 1 else (n, loss.n_outputs)
    sizes = 10.0 ** rng.uniform(-4, math.log10(largest), n)
    z = rng.standard_normal(shape) * (sizes if loss.n_outputs == 1 else sizes[:, None])
    z = np.clip(z, -largest, largest)
    h = getattr(loss, "h", 0.5)
    special = np.array(
        [0.0, 1.0, -1.0, 1 - h, 1 + h, h - 1, -1 - h, largest, -largest, 700.0, -745.0, 37.0]
    )
    z[: len(special)] = (
        special if loss.n_outputs == 1 else special[:, None] * np.eye(loss.n_outputs)[0]
    )
    return z


# --- the exact losses, in high precision ----------------------------------------------------------


def hinge(t: mpmath.mpf, h: mpmath.mpf) -> mpmath.mpf:
    if t > 1 + h:
        return mpmath.mpf(0)
    return (1 + h - t) ** 2 / (4 * h) if t >= 1 - h else 1 - t


def hinge_slope(t: mpmath.mpf, h: mpmath.mpf) -> mpmath.mpf:
    if t > 1 + h:
        return mpmath.mpf(0)
    return -(1 + h - t) / (2 * h) if t >= 1 - h else mpmath.mpf(-1)


def exact_value(loss: Loss, z: list[mpmath.mpf], label: list[mpmath.mpf]) -> mpmath.mpf:
    if isinstance(loss, Softmax):
        top = max(z)
        return top + mpmath.log(mpmath.fsum(mpmath.exp(t - top) for t in z)) - mpmath.fdot(label, z)
    t, a = z[0], label[0]
    if isinstance(loss, HuberHinge):
        return a * hinge(t, mpmath.mpf(loss.h)) + (1 - a) * hinge(-t, mpmath.mpf(loss.h))
    return a * mpmath.log1p(mpmath.exp(-t)) + (1 - a) * mpmath.log1p(mpmath.exp(t))


def exact_slope(loss: Loss, z: list[mpmath.mpf], label: list[mpmath.mpf]) -> list[mpmath.mpf]:
    if isinstance(loss, Softmax):
        powers = [mpmath.exp(t - max(z)) for t in z]
        return [power / mpmath.fsum(powers) - a for power, a in zip(powers, label)]
    t, a = z[0], label[0]
    if isinstance(loss, HuberHinge):
        h = mpmath.mpf(loss.h)
        return [a * hinge_slope(t, h) - (1 - a) * hinge_slope(-t, h)]
    return [1 / (1 + mpmath.exp(-t)) - a]


def exactly(numbers: Array) -> list[mpmath.mpf]:
    return [mpmath.mpf(float(x)) for x in np.atleast_1d(numbers)]


# --- the attack -----------------------------------------------------------------------------------

Quantity = Callable[[Loss, Array, Array, Array, Array], Array]
"""(loss, scores, directions, labels, other labels) to numbers that a constant must bound."""


def _length(x: Array) -> Array:
    return np.abs(x) if x.ndim == 1 else np.linalg.norm(x, axis=1)


def _inner(x: Array, y: Array) -> Array:
    return x * y if x.ndim == 1 else (x * y).sum(axis=1)


def steepness(loss: Loss, z: Array, v: Array, a: Array, b: Array) -> Array:
    """How fast the slope moves over a distance of 1/1000, less what rounding can fake."""
    length = np.maximum(_length(v), 1e-300)
    far = z + 1e-3 * (v / length if z.ndim == 1 else v / length[:, None])
    moved = _length(loss.slope(far, a) - loss.slope(z, a)) - 2.0 * loss.rounding
    return moved / np.maximum(_length(far - z), 1e-4)


def longest_slope(loss: Loss, z: Array, v: Array, a: Array, b: Array) -> Array:
    return _length(loss.slope(z, a)) - loss.rounding


def longest_slope_at_zero(loss: Loss, z: Array, v: Array, a: Array, b: Array) -> Array:
    return _length(loss.slope(np.zeros_like(z), a)) - loss.rounding


def gap(loss: Loss, z: Array, v: Array, a: Array, b: Array) -> Array:
    return _length(loss.slope(z, a) - loss.slope(z, b)) - 2.0 * loss.rounding


def inward_pull(loss: Loss, z: Array, v: Array, a: Array, b: Array) -> Array:
    return _inner(-loss.slope(z, a), z) - loss.rounding * _length(z)


def value_at_zero(loss: Loss, z: Array, v: Array, a: Array, b: Array) -> Array:
    return loss.value(np.zeros_like(z), a)


ATTACKS: dict[str, Quantity] = {
    "smoothness": steepness,
    "slope_bound": longest_slope,
    "slope_at_zero": longest_slope_at_zero,
    "label_gap": gap,
    "ball": inward_pull,
    "value_at_zero": value_at_zero,
}


@cache
def attack(loss: Loss, constant: str) -> float:
    """The largest value found: a wide throw, then hill climbing from the ten best places."""
    quantity = ATTACKS[constant]
    rng = np.random.default_rng(0)
    n = 20_000
    z, v = scores(loss, rng, n), scores(loss, rng, n, 1.0)
    a, b = (as_labels(loss, votes(loss, rng, n)) for _ in range(2))
    best = -math.inf
    for scale in np.concatenate(([0.0], 2.0 ** -np.arange(-1.0, 12.0, 0.5))):
        tried_z = z + scale * rng.standard_normal(z.shape)
        tried_v = v + scale * rng.standard_normal(v.shape)
        found = quantity(loss, tried_z, tried_v, a, b)
        best = max(best, float(found.max()))
        leaders = np.repeat(np.argsort(found)[-10:], 40)
        z, v, a, b = tried_z[leaders], tried_v[leaders], a[leaders], b[leaders]
    return best


@pytest.mark.parametrize("loss", LOSSES, ids=str)
class TestEveryLoss:
    """What every loss obeys; a new one is added to LOSSES."""

    @pytest.mark.parametrize("constant", ATTACKS)
    def test_a_constant_bounds_what_it_says(self, loss: Loss, constant: str) -> None:
        assert attack(loss, constant) <= getattr(loss, constant)

    @pytest.mark.parametrize("constant", ATTACKS)
    def test_a_constant_is_met_so_a_mutant_is_caught(self, loss: Loss, constant: str) -> None:
        found = attack(loss, constant)
        assert found >= 0.99 * getattr(loss, constant)
        mutant = 0.98 * getattr(loss, constant)
        assert not found <= mutant

    def test_constants_are_rounded_up(self, loss: Loss) -> None:
        with mpmath.workdps(50):
            k = mpmath.mpf(loss.n_classes)
            ball, at_zero, smoothness = (
                mpmath.lambertw((k - 1) / mpmath.e).real,
                mpmath.log(k),
                mpmath.mpf(1) / 4,
            )
            slope_at_zero, label_gap = mpmath.mpf(1) / 2, mpmath.mpf(1)
            if isinstance(loss, HuberHinge):
                h = mpmath.mpf(loss.h)
                inside = (1 + h) ** 2 / (8 * h) if (1 + h) / 2 >= 1 - h else mpmath.mpf(0)
                ball, at_zero, smoothness = max(1 - h, inside), mpmath.mpf(1), 1 / (2 * h)
                slope_at_zero, label_gap = mpmath.mpf(1), mpmath.mpf(2)
            if isinstance(loss, Softmax):
                smoothness, slope_at_zero, label_gap = (
                    mpmath.mpf(1) / 2,
                    mpmath.sqrt(1 - 1 / k),
                    mpmath.sqrt(2),
                )
            assert loss.ball >= ball
            assert loss.value_at_zero >= at_zero
            assert loss.smoothness >= smoothness
            assert loss.slope_at_zero >= slope_at_zero
            assert loss.label_gap >= label_gap

    def test_slope_is_within_its_rounding_of_the_exact_slope_with_exact_shares(
        self, loss: Loss
    ) -> None:
        worst = self._worst_slope_error(loss)
        assert worst <= loss.rounding
        # The oracle does see rounding: a bound 1000 times smaller would fail.
        assert worst > loss.rounding / 1000.0

    @staticmethod
    def _worst_slope_error(loss: Loss) -> mpmath.mpf:
        rng = np.random.default_rng(7)
        n = 400
        z, exact = scores(loss, rng, n), votes(loss, rng, n)
        computed = loss.slope(z, as_labels(loss, exact))
        with mpmath.workdps(40):
            return max(
                mpmath.norm(
                    [
                        c - e
                        for c, e in zip(
                            exactly(computed[i]),
                            exact_slope(loss, exactly(z[i]), exact_shares(exact[i])),
                        )
                    ]
                )
                for i in range(n)
            )

    def test_the_exact_slope_is_the_derivative_of_the_exact_value(self, loss: Loss) -> None:
        rng = np.random.default_rng(3)
        z, exact = scores(loss, rng, 60, 50.0)[12:], votes(loss, rng, 60)[12:]
        with mpmath.workdps(40):
            for zi, share in zip(z, exact):
                point, label = exactly(zi), exact_shares(share)
                for k in range(len(point)):
                    slope = mpmath.diff(
                        lambda t, k=k, p=point, a=label: exact_value(
                            loss, [*p[:k], t, *p[k + 1 :]], a
                        ),
                        point[k],
                    )
                    assert abs(slope - exact_slope(loss, point, label)[k]) <= mpmath.mpf(10) ** -15

    def test_value_agrees_with_the_exact_value(self, loss: Loss) -> None:
        rng = np.random.default_rng(4)
        z, exact = scores(loss, rng, 200), votes(loss, rng, 200)
        value = loss.value(z, as_labels(loss, exact))
        with mpmath.workdps(40):
            for i in range(200):
                true = exact_value(loss, exactly(z[i]), exact_shares(exact[i]))
                size = 1.0 + float(np.abs(z[i]).max()) + getattr(loss, "h", 1.0) ** -1
                assert abs(mpmath.mpf(float(value[i])) - true) <= 100 * UNIT_ROUNDOFF * size

    def test_curvature_is_the_derivative_of_the_slope(self, loss: Loss) -> None:
        rng = np.random.default_rng(5)
        z, v = scores(loss, rng, 300, 30.0)[12:], scores(loss, rng, 300, 1.0)[12:]
        labels = as_labels(loss, votes(loss, rng, 288))
        if isinstance(loss, HuberHinge):  # away from the kinks
            smooth = np.abs(np.abs(np.abs(z) - 1.0) - loss.h) > 1e-4
            z, v, labels = z[smooth], v[smooth], labels[smooth]
        step = 1e-5
        difference = (loss.slope(z + step * v, labels) - loss.slope(z - step * v, labels)) / (
            2 * step
        )
        product = loss.apply_curvature(loss.curvature(z, labels), v)
        assert np.all(_length(product - difference) <= loss.rounding / step + 1e-8)

    def test_huge_scores_overflow_nowhere(self, loss: Loss) -> None:
        shape = (4,) if loss.n_outputs == 1 else (4, loss.n_outputs)
        z = np.zeros(shape)
        z.reshape(4, -1)[:, 0] = [1e300, -1e300, 800.0, -800.0]
        labels = as_labels(loss, votes(loss, np.random.default_rng(1), 4))
        slope, curvature = loss.slope(z, labels), loss.curvature(z, labels)
        assert np.all(np.isfinite(loss.value(z, labels)))
        assert np.all(_length(slope) <= loss.slope_bound)
        assert np.all(np.isfinite(loss.apply_curvature(curvature, np.ones(shape))))

    @settings(max_examples=50, deadline=None)
    @given(data=st.data())
    def test_loss_is_convex_and_never_negative(self, loss: Loss, data: st.DataObject) -> None:
        numbers = st.floats(-50.0, 50.0)
        near, far = (
            np.array([data.draw(numbers) for _ in range(loss.n_outputs)]).reshape(
                (1,) if loss.n_outputs == 1 else (1, -1)
            )
            for _ in range(2)
        )
        seed = data.draw(st.integers(0, 2**32 - 1))
        labels = as_labels(loss, votes(loss, np.random.default_rng(seed), 1))
        blur = 1e-13 * (200.0 + 1.0 / getattr(loss, "h", 1.0))
        rise = (
            loss.value(far, labels)
            - loss.value(near, labels)
            - _inner(loss.slope(near, labels), far - near)
        )
        assert rise[0] >= -blur
        assert loss.value(near, labels)[0] >= -blur

    def test_labels_come_back_read_only_and_the_callers_array_stays_writable(
        self, loss: Loss
    ) -> None:
        given_labels = as_labels(loss, votes(loss, np.random.default_rng(1), 5))
        labels = loss.check_labels(given_labels)
        assert np.array_equal(labels, given_labels)
        with pytest.raises(ValueError, match="read-only"):
            labels[0] = 0.5
        given_labels[0] = given_labels[1]

    @pytest.mark.parametrize("wrong", [-0.1, 1.5, math.nan, math.inf])
    def test_labels_that_are_no_shares_are_refused(self, loss: Loss, wrong: float) -> None:
        labels = as_labels(loss, votes(loss, np.random.default_rng(1), 5))
        labels.flat[-1] = wrong
        text = "outside \\[0, 1\\]" if loss.n_outputs == 1 else "not shares.*sum to 1"
        with pytest.raises(LabelError, match=text):
            loss.check_labels(labels)

    def test_labels_of_another_shape_are_refused(self, loss: Loss) -> None:
        labels = np.ones((3, loss.n_classes + 1))
        with pytest.raises(ShapeError, match=r"labels.*: the shape is \(3, .*Allowed: \(n_samples"):
            loss.check_labels(labels)


def test_rows_of_shares_must_sum_to_one() -> None:
    with pytest.raises(LabelError, match="Some rows of labels are not shares"):
        Softmax(3).check_labels(np.full((2, 3), 0.3))


def test_softmax_of_two_classes_is_the_logistic_loss() -> None:
    rng = np.random.default_rng(8)
    z, a = rng.standard_normal(100) * 5, rng.random(100)
    two = Softmax(2).value(np.stack([z, np.zeros(100)], axis=1), np.stack([a, 1.0 - a], axis=1))
    assert np.all(np.abs(two - Logistic().value(z, a)) <= 1e-14)


@pytest.mark.parametrize("h", [0.0, 1.0, -0.5, math.nan, math.inf])
def test_corner_outside_its_range_is_refused(h: float) -> None:
    with pytest.raises(ParameterError, match=r"h = .* is not allowed.*between 0 and 1"):
        HuberHinge(h)


@pytest.mark.parametrize("n_classes", [1, 0, -3])
def test_fewer_than_two_classes_are_refused(n_classes: int) -> None:
    with pytest.raises(ParameterError, match=r"n_classes = .* Allowed: 2 or more"):
        Softmax(n_classes)
    with pytest.raises(ParameterError, match=r"n_classes = .* Allowed: 2 or more"):
        loss_for(n_classes)


def test_losses_are_found_by_name() -> None:
    assert loss_for(2) == Logistic()
    assert loss_for(5) == Softmax(5)
    assert loss_for(2, "huber") == HuberHinge()


@pytest.mark.parametrize(("n_classes", "name"), [(3, "huber"), (2, "hinge"), (3, "")])
def test_unknown_loss_is_refused(n_classes: int, name: str) -> None:
    with pytest.raises(ParameterError, match=r'loss = .* "logistic" for any number of classes'):
        loss_for(n_classes, name)
