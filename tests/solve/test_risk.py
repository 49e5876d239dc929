"""The risk: its derivatives agree, and its gradient's error is smaller than promised."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import sparse

from ostraka.errors import ParameterError, ShapeError
from ostraka.solve import Risk, RiskShape
from ostraka.solve.losses import UNIT_ROUNDOFF, Array, HuberHinge, Logistic, Loss, Softmax
from ostraka.solve.newton import evaluate
from ostraka.solve.risk import BLOCK_ROWS, gamma

LOSSES: list[Loss] = [Logistic(), HuberHinge(), HuberHinge(0.01), Softmax(2), Softmax(4)]
VOTES = 7


def unit_rows(rng: np.random.Generator, n: int, d: int) -> Array:
    x = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-3, 0, (n, 1))
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True) * (1.0 + 1e-14), 1.0)


def votes(rng: np.random.Generator, n: int, loss: Loss) -> Any:
    return rng.multinomial(VOTES, rng.dirichlet(np.full(loss.n_classes, 0.5), size=n))


def as_labels(counts: Any, loss: Loss) -> Array:
    return counts / VOTES if loss.n_outputs > 1 else counts[:, 0] / VOTES


def weights(rng: np.random.Generator, d: int, loss: Loss, size: float) -> Array:
    w = rng.standard_normal(d if loss.n_outputs == 1 else (d, loss.n_outputs))
    return size * w / np.linalg.norm(w)


# --- the exact gradient ---------------------------------------------------------------------------


def exact_slope(loss: Loss, z: list[mpmath.mpf], label: list[mpmath.mpf]) -> list[mpmath.mpf]:
    if isinstance(loss, Softmax):
        powers = [mpmath.exp(t - max(z)) for t in z]
        total = mpmath.fsum(powers)
        return [power / total - a for power, a in zip(powers, label)]
    t, a = z[0], label[0]
    if isinstance(loss, HuberHinge):
        h = mpmath.mpf(loss.h)

        def fall(s: mpmath.mpf) -> mpmath.mpf:
            return min(max((1 + h - s) / (2 * h), mpmath.mpf(0)), mpmath.mpf(1))

        return [(1 - a) * fall(-t) - a * fall(t)]
    return [1 / (1 + mpmath.exp(-t)) - a]


def exact_gradient(x: Array, counts: Any, loss: Loss, lambda_: float, w: Array) -> list[mpmath.mpf]:
    """∇R with exact shares, at this very w, in the order of w.ravel()."""
    n, d = x.shape
    k = loss.n_outputs
    columns = [[mpmath.mpf(float(t)) for t in column] for column in w.reshape(d, k).T]
    total = [[mpmath.mpf(0)] * k for _ in range(d)]
    for row, count in zip(x, counts):
        features = [mpmath.mpf(float(t)) for t in row]
        z = [mpmath.fdot(features, column) for column in columns]
        slope = exact_slope(loss, z, [mpmath.mpf(int(c)) / VOTES for c in count])
        for j in range(d):
            for c in range(k):
                total[j][c] += features[j] * slope[c]
    return [
        total[j][c] / n + mpmath.mpf(lambda_) * columns[c][j] for j in range(d) for c in range(k)
    ]


def cancelling(rng: np.random.Generator, loss: Loss) -> tuple[Array, Any, float, Array]:
    """Scores are small differences of large products, and slopes cancel in the sum."""
    a = rng.uniform(0.5, 0.7, 60)
    x = np.stack([a, -a * (1.0 + 1e-9 * rng.standard_normal(60))], axis=1)
    w = weights(rng, 2, loss, 1.0)
    w[1] = w[0]
    counts = votes(rng, 60, loss)
    counts[1::2] = counts[::2, ::-1]
    return x, counts, 1e-4, 1e7 * w


def long_weights(rng: np.random.Generator, loss: Loss) -> tuple[Array, Any, float, Array]:
    return unit_rows(rng, 50, 5), votes(rng, 50, loss), 1e-6, weights(rng, 5, loss, 1e9)


def on_the_corner(rng: np.random.Generator, loss: Loss) -> tuple[Array, Any, float, Array]:
    """Scores near ±1, where the slope of a narrow Huber hinge is steepest."""
    x = np.full((40, 4), 0.5) * rng.choice([-1.0, 1.0], size=(40, 1))
    w = np.full(4 if loss.n_outputs == 1 else (4, loss.n_outputs), 0.5) + 1e-3 * weights(
        rng, 4, loss, 1.0
    )
    return x, votes(rng, 40, loss), 1e-2, w


def many_rows(rng: np.random.Generator, loss: Loss) -> tuple[Array, Any, float, Array]:
    """More than two blocks of the same sign, so that errors of summing add up."""
    n = 2 * BLOCK_ROWS + 77
    x = np.abs(unit_rows(rng, n, 2))
    counts = np.zeros((n, loss.n_classes), dtype=np.int64)
    counts[:, 0] = VOTES
    return x, counts, 1e-3, -np.abs(weights(rng, 2, loss, 2.0))


def one_row(rng: np.random.Generator, loss: Loss) -> tuple[Array, Any, float, Array]:
    return unit_rows(rng, 1, 3), votes(rng, 1, loss), 10.0, weights(rng, 3, loss, 3.0)


def zero_rows(rng: np.random.Generator, loss: Loss) -> tuple[Array, Any, float, Array]:
    return np.zeros((5, 3)), votes(rng, 5, loss), 1.0, weights(rng, 3, loss, 1e3)


def duplicated_rows(rng: np.random.Generator, loss: Loss) -> tuple[Array, Any, float, Array]:
    return (
        np.repeat(unit_rows(rng, 3, 3), 100, axis=0),
        votes(rng, 300, loss),
        1e-3,
        weights(rng, 3, loss, 30.0),
    )


def large_lambda(rng: np.random.Generator, loss: Loss) -> tuple[Array, Any, float, Array]:
    return unit_rows(rng, 10, 3), votes(rng, 10, loss), 1e3, weights(rng, 3, loss, 1e4)


CASES = [
    cancelling, long_weights, on_the_corner, many_rows,
    one_row, zero_rows, duplicated_rows, large_lambda,
]  # fmt: skip


@cache
def share_of_bound(case: Any, loss: Loss) -> float:
    """The largest error of the computed gradient (dense and sparse), as a share of the bound."""
    shares = []
    for seed in range(1 if case is many_rows else 4):
        x, counts, lambda_, w = case(np.random.default_rng(seed), loss)
        labels = as_labels(counts, loss)
        with mpmath.workdps(60):
            exact = exact_gradient(x, counts, loss, lambda_, w)
            for features in (x, sparse.csr_matrix(x)):
                risk = Risk(features, labels, loss, lambda_)
                computed = risk.gradient(w, risk.scores(w)).ravel()
                error = mpmath.norm([mpmath.mpf(float(c)) - e for c, e in zip(computed, exact)])
                norm = float(np.linalg.norm(w)) * (1.0 + 1e-12)
                shares.append(float(error / risk.shape.gradient_rounding(norm)))
    return max(shares)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("case", CASES)
def test_gradient_errs_by_no_more_than_promised(case: Any, loss: Loss) -> None:
    assert share_of_bound(case, loss) <= 1.0


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_bound_a_hundred_times_smaller_would_be_broken(loss: Loss) -> None:
    """So the test above can fail: the promise is not empty."""
    assert max(share_of_bound(case, loss) for case in CASES) > 0.01


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("case", CASES)
def test_certified_gradient_bound_covers_the_exact_gradient(case: Any, loss: Loss) -> None:
    x, counts, lambda_, w = case(np.random.default_rng(1), loss)
    risk = Risk(x, as_labels(counts, loss), loss, lambda_)
    with mpmath.workdps(60):
        assert (
            mpmath.norm(exact_gradient(x, counts, loss, lambda_, w))
            <= evaluate(risk, w).gradient_bound
        )


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_sums_in_blocks_are_counted(loss: Loss) -> None:
    """A million rows cost twice the error of a thousand, not a thousand times it."""
    small, large = (
        RiskShape(
            n_samples=n, n_features=3, row_terms=3, loss=loss, lambda_=1e-3
        ).gradient_rounding(1.0)
        for n in (BLOCK_ROWS, BLOCK_ROWS**2)
    )
    assert small < large <= 2.0 * small


def test_gamma_is_above_the_sum_of_its_roundings() -> None:
    for n in (1, 10, 10**6):
        with mpmath.workdps(40):
            grown = (1 + mpmath.mpf(UNIT_ROUNDOFF)) ** n - 1
            shrunk = 1 - (1 - mpmath.mpf(UNIT_ROUNDOFF)) ** n
            assert gamma(n) >= max(grown, shrunk) * (1 - mpmath.mpf(2) ** -50)


# --- derivatives agree with each other ------------------------------------------------------------

SIZES = [(1, 1), (7, 3), (BLOCK_ROWS, 2), (BLOCK_ROWS + 1, 2), (3 * BLOCK_ROWS - 5, 4)]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "csr"])
class TestDerivatives:
    @staticmethod
    def problem(loss: Loss, size: tuple[int, int], as_sparse: bool) -> tuple[Risk, Array, Array]:
        rng = np.random.default_rng(11)
        x = unit_rows(rng, *size)
        x[rng.random(size) < 0.3] = 0.0
        labels = as_labels(votes(rng, size[0], loss), loss)
        risk = Risk(sparse.csr_matrix(x) if as_sparse else x, labels, loss, 0.01)
        return risk, weights(rng, size[1], loss, 1.5), weights(rng, size[1], loss, 1.0)

    def test_gradient_is_the_derivative_of_the_value(
        self, loss: Loss, size: tuple[int, int], as_sparse: bool
    ) -> None:
        risk, w, v = self.problem(loss, size, as_sparse)
        step = 1e-5
        up, down = (
            risk.value(w + s * step * v, risk.scores(w + s * step * v)) for s in (1.0, -1.0)
        )
        along = float(np.vdot(risk.gradient(w, risk.scores(w)), v))
        assert abs((up - down) / (2 * step) - along) <= 1e-9 + 2 * step * risk.shape.smoothness * (
            loss.name == "huber"
        )

    def test_hessian_and_its_product_are_the_same(
        self, loss: Loss, size: tuple[int, int], as_sparse: bool
    ) -> None:
        risk, w, v = self.problem(loss, size, as_sparse)
        curvature = risk.curvature(risk.scores(w))
        hessian = risk.hessian(curvature)
        product = risk.hessian_product(curvature)(v)
        assert np.all(
            np.abs(hessian @ v.ravel() - product.ravel()) <= 1e-13 * risk.shape.smoothness
        )
        assert np.array_equal(hessian, hessian.T)
        eigenvalues = np.linalg.eigvalsh(hessian)
        blur = 1e-12 * risk.shape.smoothness
        assert eigenvalues[0] >= risk.lambda_ - blur
        assert eigenvalues[-1] <= risk.shape.smoothness + blur

    def test_hessian_product_is_the_derivative_of_the_gradient(
        self, loss: Loss, size: tuple[int, int], as_sparse: bool
    ) -> None:
        risk, w, v = self.problem(loss, size, as_sparse)
        z, along = risk.scores(w), risk.scores(v)
        step = 1e-6
        if isinstance(loss, HuberHinge):  # no row may cross a kink on the way
            kinks = np.abs(np.abs(np.abs(z) - 1.0) - loss.h)
            step = min(step, 0.5 * float(kinks.min()) / max(float(np.abs(along).max()), 1e-9))
        up, down = (
            risk.gradient(w + s * step * v, risk.scores(w + s * step * v)) for s in (1.0, -1.0)
        )
        product = risk.hessian_product(risk.curvature(z))(v)
        rounding = 2.0 * risk.shape.gradient_rounding(2.0) / step
        assert np.linalg.norm((up - down) / (2 * step) - product) <= rounding + 1e-9


def test_dense_and_sparse_agree() -> None:
    rng = np.random.default_rng(4)
    x = unit_rows(rng, 2000, 6)
    labels = as_labels(votes(rng, 2000, Logistic()), Logistic())
    w = weights(rng, 6, Logistic(), 5.0)
    dense = Risk(x, labels, Logistic(), 1e-3)
    bound = 2.0 * dense.shape.gradient_rounding(5.1)
    for features in (
        sparse.csr_matrix(x),
        sparse.csr_array(x),
        sparse.coo_matrix(x),
        sparse.csc_matrix(x),
    ):
        other = Risk(features, labels, Logistic(), 1e-3)
        assert (
            np.linalg.norm(other.gradient(w, other.scores(w)) - dense.gradient(w, dense.scores(w)))
            <= bound
        )
        assert other.shape == dense.shape


def test_entries_stored_twice_are_added_and_the_callers_matrix_stays() -> None:
    twice = sparse.csr_matrix(
        (np.array([1e8, -1e8, 0.5]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 2)
    )
    risk = Risk(twice, np.array([1.0]), Logistic(), 0.1)
    assert risk.shape.row_terms == 2
    assert risk.features.toarray().tolist() == [[0.0, 0.5]]
    assert twice.nnz == 3


def test_single_precision_features_are_used_as_doubles() -> None:
    x = np.array([[0.1, 0.2]], dtype=np.float32)
    for features in (x, sparse.csr_matrix(x)):
        assert Risk(features, np.array([1.0]), Logistic(), 0.1).features.dtype == np.float64


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("lambda_", [0.0, -1.0, math.nan, math.inf, -math.inf])
def test_lambda_out_of_range_is_refused(lambda_: float) -> None:
    with pytest.raises(ParameterError, match=r"lambda = .* is not allowed.*positive finite number"):
        Risk(np.ones((1, 1)), np.ones(1), Logistic(), lambda_)


def test_labels_of_another_length_are_refused() -> None:
    with pytest.raises(
        ShapeError, match=r"labels: the shape is \(3,\).*2 rows, as the features have"
    ):
        Risk(np.ones((2, 1)), np.ones(3), Logistic(), 1.0)


@pytest.mark.parametrize("size", [(0, 3), (3, 0)])
def test_nothing_to_learn_from_is_refused(size: tuple[int, int]) -> None:
    with pytest.raises(ShapeError, match="at least one sample and one feature"):
        Risk(np.ones(size), np.ones(size[0]), Logistic(), 1.0)
