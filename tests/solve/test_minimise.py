"""The certified minimiser: every answer is where it says it is, for every shape of problem."""

from __future__ import annotations

import math
import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression

import ostraka.solve as solve
from ostraka.errors import ParameterError
from ostraka.solve import Risk, RiskShape, Solution, default_tolerance, minimise, tightest_tolerance
from ostraka.solve.losses import Array, HuberHinge, Logistic, Loss, Softmax

LOSSES: list[Loss] = [Logistic(), HuberHinge(), HuberHinge(0.05), Softmax(2), Softmax(3)]
LAMBDAS = [1e-8, 1e-6, 1e-4, 1e-2, 1.0, 10.0]


def sphere(rng: np.random.Generator, n: int, d: int) -> Array:
    x = rng.standard_normal((n, d))
    return x / (np.linalg.norm(x, axis=1, keepdims=True) * (1.0 + 1e-14))


def shares(rng: np.random.Generator, n: int, loss: Loss, n_votes: int = 7) -> Array:
    counts = rng.multinomial(n_votes, rng.dirichlet(np.full(loss.n_classes, 0.3), size=n))
    return counts / n_votes if loss.n_outputs > 1 else counts[:, 0] / n_votes


def hard(rng: np.random.Generator, x: Array, loss: Loss, *, separable: bool) -> Array:
    answer = (x @ rng.standard_normal((x.shape[1], loss.n_classes))).argmax(axis=1)
    rows = np.eye(loss.n_classes)[
        answer if separable else rng.integers(loss.n_classes, size=len(x))
    ]
    return rows if loss.n_outputs > 1 else rows[:, 0]


def problem(kind: str, loss: Loss, lambda_: float, seed: int = 0) -> Risk:
    rng = np.random.default_rng(seed)
    x = sphere(rng, 1 if kind == "one row" else 24, 2)
    if kind == "duplicated":
        x = np.repeat(x[:4], 6, axis=0)
    if kind == "zero rows":
        x[::2] = 0.0
    if kind == "all zero":
        x[:] = 0.0
    if kind == "short":
        x *= 1e-6
    labels = (
        shares(rng, len(x), loss)
        if kind == "soft"
        else hard(rng, x, loss, separable=kind != "random")
    )
    return Risk(x, labels, loss, lambda_)


KINDS = ["separable", "random", "soft", "duplicated", "zero rows", "all zero", "short", "one row"]


# --- the exact minimiser, by Newton's method in 60 digits -----------------------------------------


def exact_minimiser(risk: Risk, start: Array) -> tuple[mpmath.matrix, mpmath.mpf]:
    """A point and its gradient norm, in high precision; at most norm/λ from the minimiser."""
    x = [[mpmath.mpf(float(t)) for t in row] for row in risk.features]
    label = [[mpmath.mpf(float(t)) for t in np.atleast_1d(row)] for row in risk.labels]
    k, lam = risk.loss.n_outputs, mpmath.mpf(risk.lambda_)
    w = mpmath.matrix([float(t) for t in start.ravel()])
    gradient, hessian = _exact_derivatives(risk.loss, x, label, w, k, lam)
    for _ in range(60):
        norm = mpmath.norm(gradient)
        if norm <= mpmath.mpf(10) ** -45:
            break
        step = mpmath.lu_solve(hessian, gradient)
        for _halving in range(100):  # the hinge: one step may leap over its corner
            gradient, hessian = _exact_derivatives(risk.loss, x, label, w - step, k, lam)
            if mpmath.norm(gradient) < norm:
                break
            step = step / 2
        w = w - step
    return w, norm


def _exact_derivatives(
    loss: Loss,
    x: list[list[mpmath.mpf]],
    label: list[list[mpmath.mpf]],
    w: mpmath.matrix,
    k: int,
    lam: mpmath.mpf,
) -> tuple[mpmath.matrix, mpmath.matrix]:
    d, n = len(x[0]), len(x)
    gradient, hessian = lam * w, lam * mpmath.eye(d * k)
    for row, share in zip(x, label):
        z = [mpmath.fsum(row[j] * w[j * k + c] for j in range(d)) for c in range(k)]
        slope, curvature = _exact_slope(loss, z, share)
        for j in range(d):
            for c in range(k):
                gradient[j * k + c] += row[j] * slope[c] / n
                for i in range(d):
                    for b in range(k):
                        hessian[j * k + c, i * k + b] += row[j] * row[i] * curvature[c][b] / n
    return gradient, hessian


def _exact_slope(
    loss: Loss, z: list[mpmath.mpf], share: list[mpmath.mpf]
) -> tuple[list[mpmath.mpf], list[list[mpmath.mpf]]]:
    if isinstance(loss, Softmax):
        powers = [mpmath.exp(t - max(z)) for t in z]
        p = [power / mpmath.fsum(powers) for power in powers]
        curvature = [
            [(p[c] if c == b else 0) - p[c] * p[b] for b in range(len(p))] for c in range(len(p))
        ]
        return [pc - a for pc, a in zip(p, share)], curvature
    t, a = z[0], share[0]
    if isinstance(loss, HuberHinge):
        h = mpmath.mpf(loss.h)
        fall = [min(max((1 + h - s) / (2 * h), mpmath.mpf(0)), mpmath.mpf(1)) for s in (t, -t)]
        inside = [int(0 < f < 1) / (2 * h) for f in fall]
        return [(1 - a) * fall[1] - a * fall[0]], [[a * inside[0] + (1 - a) * inside[1]]]
    p = 1 / (1 + mpmath.exp(-t))
    return [p - a], [[p * (1 - p)]]


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lambda_", LAMBDAS)
def test_minimiser_is_where_the_certificate_says(kind: str, loss: Loss, lambda_: float) -> None:
    risk = problem(kind, loss, lambda_)
    solution = minimise(risk)
    assert solution.gradient_bound <= default_tolerance(risk.shape)
    with mpmath.workdps(60):
        exact, norm = exact_minimiser(risk, solution.point)
        assert norm <= 1e-30  # the oracle arrived
        apart = mpmath.norm(mpmath.matrix([float(t) for t in solution.point.ravel()]) - exact)
        assert apart <= mpmath.mpf(solution.distance_bound) + norm / mpmath.mpf(lambda_)
        # and every minimiser lies in the ball of the loss
        assert (
            mpmath.norm(exact) ** 2 * mpmath.mpf(lambda_)
            <= mpmath.mpf(loss.ball) + mpmath.mpf(10) ** -25
        )


def test_a_certificate_a_million_times_too_small_would_be_caught() -> None:
    shares_of_bound = []
    for lambda_ in LAMBDAS:
        risk = problem("random", Logistic(), lambda_)
        solution = minimise(risk)
        with mpmath.workdps(60):
            exact, _ = exact_minimiser(risk, solution.point)
            apart = mpmath.norm(mpmath.matrix(solution.point.tolist()) - exact)
            shares_of_bound.append(float(apart / solution.distance_bound))
    assert max(shares_of_bound) > 1e-6


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 40),
    d=st.integers(1, 6),
    loss=st.sampled_from(LOSSES),
    power=st.floats(-7.0, 1.0),
    seed=st.integers(0, 2**32 - 1),
    scale=st.sampled_from([1.0, 1e-3, 1e-12]),
)
def test_any_small_problem_is_certified(
    n: int, d: int, loss: Loss, power: float, seed: int, scale: float
) -> None:
    rng = np.random.default_rng(seed)
    x = sphere(rng, n, d) * scale ** rng.random((1, d))
    risk = Risk(x, shares(rng, n, loss), loss, 10.0**power)
    solution = minimise(risk)
    assert solution.gradient_bound <= default_tolerance(risk.shape)
    # the certificate is honest: the gradient, computed in another way,
    # is within the bound and its own rounding
    w = solution.point
    slopes = loss.slope(x @ w, risk.labels)
    gradient = np.tensordot(x, slopes, axes=(0, 0)) / n + risk.lambda_ * w
    rounding = risk.shape.gradient_rounding(float(np.linalg.norm(w)) * (1.0 + 1e-12))
    assert np.linalg.norm(gradient) <= solution.gradient_bound + rounding


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("lambda_", [1e-4, 1e-2, 1.0])
def test_well_scaled_data_reach_1e_10(loss: Loss, lambda_: float) -> None:
    rng = np.random.default_rng(3)
    x = sphere(rng, 500, 10)
    solution = minimise(Risk(x, shares(rng, 500, loss), loss, lambda_))
    assert solution.gradient_bound <= 1e-10


def close(one: Solution, other: Solution) -> bool:
    apart = float(np.linalg.norm(one.point - other.point))
    return apart <= one.distance_bound + other.distance_bound


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("n", [1, 50, 3000])
def test_sparse_and_dense_agree(loss: Loss, n: int) -> None:
    rng = np.random.default_rng(5)
    x = sphere(rng, n, 8)
    x[rng.random(x.shape) < 0.7] = 0.0
    labels = shares(rng, n, loss)
    for lambda_ in (1e-6, 1e-2):
        dense, thin = (minimise(Risk(f, labels, loss, lambda_)) for f in (x, sparse.csr_matrix(x)))
        assert close(dense, thin)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("lambda_", [1e-6, 1e-3, 0.1])
def test_soft_labels_are_repeated_rows(loss: Loss, lambda_: float) -> None:
    """A share of k/M is k rows with one answer and M−k with others."""
    rng = np.random.default_rng(6)
    n_votes, x = 4, sphere(rng, 30, 3)
    counts = rng.multinomial(n_votes, rng.dirichlet(np.ones(loss.n_classes), size=30))
    soft = counts / n_votes if loss.n_outputs > 1 else counts[:, 0] / n_votes
    answers = np.concatenate([np.repeat(np.arange(loss.n_classes), row) for row in counts])
    corners = np.eye(loss.n_classes)[answers]
    many = minimise(
        Risk(
            np.repeat(x, n_votes, axis=0),
            corners if loss.n_outputs > 1 else corners[:, 0],
            loss,
            lambda_,
        )
    )
    assert close(minimise(Risk(x, soft, loss, lambda_)), many)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_order_of_rows_does_not_matter(loss: Loss) -> None:
    rng = np.random.default_rng(7)
    x, labels, order = sphere(rng, 200, 4), shares(rng, 200, loss), rng.permutation(200)
    assert close(
        minimise(Risk(x, labels, loss, 1e-4)), minimise(Risk(x[order], labels[order], loss, 1e-4))
    )


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("lambda_", [1e-4, 1e-2, 1.0])
def test_no_worse_than_scikit_learn(n_classes: int, lambda_: float) -> None:
    rng = np.random.default_rng(8)
    n, loss = 300, Logistic() if n_classes == 2 else Softmax(n_classes)
    x = sphere(rng, n, 6)
    answer = (
        x @ rng.standard_normal((6, n_classes)) + 0.5 * rng.standard_normal((n, n_classes))
    ).argmax(axis=1)
    peer = LogisticRegression(
        C=1.0 / (lambda_ * n), fit_intercept=False, tol=1e-10, max_iter=10_000
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what it says of its own convergence is no matter here
        peer.fit(x, answer)
    theirs = peer.coef_[0] if n_classes == 2 else peer.coef_.T
    risk = Risk(
        x, answer.astype(np.float64) if n_classes == 2 else np.eye(n_classes)[answer], loss, lambda_
    )
    ours = minimise(risk).point
    lowest, found = (risk.value(w, risk.scores(w)) for w in (ours, theirs))
    assert lowest <= found + 1e-14
    assert found <= lowest + 1e-8


# --- sizes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), Softmax(3)], ids=str)
@pytest.mark.parametrize("separable", [False, True])
def test_a_hundred_thousand_rows(loss: Loss, separable: bool) -> None:
    rng = np.random.default_rng(9)
    x = sphere(rng, 100_000, 5)
    risk = Risk(x, hard(rng, x, loss, separable=separable), loss, 1e-4)
    assert minimise(risk).gradient_bound <= default_tolerance(risk.shape)


@pytest.mark.slow
@pytest.mark.parametrize("as_sparse", [False, True], ids=["dense", "csr"])
def test_a_million_rows(as_sparse: bool) -> None:
    rng = np.random.default_rng(10)
    x = sphere(rng, 1_000_000, 3)
    labels = hard(rng, x, Logistic(), separable=False)
    risk = Risk(sparse.csr_matrix(x) if as_sparse else x, labels, Logistic(), 1e-4)
    assert minimise(risk).gradient_bound <= default_tolerance(risk.shape)


def test_rows_sorted_by_answer_do_not_mislead_the_warm_start() -> None:
    """Every s-th row is a fair picture only by luck; the end is certified all the same."""
    n = 4 * solve.WARM_START_ROWS
    stride = n // solve.WARM_START_ROWS
    rng = np.random.default_rng(11)
    x = sphere(rng, n, 3)
    labels = (x[:, 0] > 0).astype(np.float64)
    labels[::stride] = 1.0 - labels[::stride]
    for lambda_ in (1e-6, 1e-2):
        risk = Risk(x, labels, Logistic(), lambda_)
        assert minimise(risk).gradient_bound <= default_tolerance(risk.shape)


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), Softmax(4)], ids=str)
@pytest.mark.parametrize("lambda_", [1e-6, 1e-3])
def test_many_weights_go_without_the_matrix(loss: Loss, lambda_: float) -> None:
    rng = np.random.default_rng(12)
    d = solve.MAX_DENSE_WEIGHTS // loss.n_outputs + 1
    x = sparse.random(400, d, 0.01, format="csr", random_state=1, data_rvs=rng.standard_normal)
    x = x / (math.sqrt(x.multiply(x).sum(axis=1).max()) * (1.0 + 1e-14))
    risk = Risk(x.tocsr(), shares(rng, 400, loss), loss, lambda_)
    solution = minimise(risk)
    assert solution.route == "newton-cg"
    assert solution.gradient_bound <= default_tolerance(risk.shape)


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.05), Softmax(3)], ids=str)
def test_both_newton_routes_find_the_same_point(
    loss: Loss, monkeypatch: pytest.MonkeyPatch
) -> None:
    risk = problem("soft", loss, 1e-4)
    with_matrix = minimise(risk)
    monkeypatch.setattr(solve, "MAX_DENSE_WEIGHTS", 0)
    without = minimise(risk)
    assert (with_matrix.route, without.route) == ("newton", "newton-cg")
    assert close(with_matrix, without)


# --- tolerances and refusals ----------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_tightest_tolerance_is_kept(loss: Loss) -> None:
    for lambda_ in (1e-6, 1e-2, 10.0):
        risk = problem("separable", loss, lambda_)
        tightest = tightest_tolerance(risk.shape)
        assert minimise(risk, tightest).gradient_bound <= tightest


@pytest.mark.parametrize("factor", [0.999, 0.0, -1.0, math.nan])
def test_tighter_than_tightest_is_refused(factor: float) -> None:
    risk = problem("random", Logistic(), 1e-3)
    tightest = tightest_tolerance(risk.shape)
    with pytest.raises(
        ParameterError, match=r"tolerance = .* is not allowed.*or more for this risk"
    ) as caught:
        minimise(risk, factor * tightest)
    assert str(tightest) in caught.value.allowed  # what is said to be allowed is allowed


def test_default_tolerance_is_1e_10_or_what_doubles_allow() -> None:
    def shape(lambda_: float) -> RiskShape:
        return RiskShape(
            n_samples=100, n_features=10, row_terms=10, loss=Logistic(), lambda_=lambda_
        )

    assert default_tolerance(shape(1e-2)) == 1e-10
    assert default_tolerance(shape(1e-8)) == tightest_tolerance(shape(1e-8)) > 1e-10


def test_loose_tolerance_is_allowed() -> None:
    risk = problem("random", Logistic(), 1e-3)
    assert minimise(risk, 0.1).gradient_bound <= 0.1
    assert minimise(risk, math.inf).gradient_bound < math.inf


@pytest.mark.parametrize("lambda_", [1e-13, 1e-200, 1e-300, 5e-324])
def test_lambda_too_small_for_doubles_is_refused(lambda_: float) -> None:
    with pytest.raises(ParameterError, match=r"lambda = .* is not allowed.*too flat for doubles"):
        minimise(problem("random", HuberHinge(), lambda_))


@pytest.mark.parametrize("h", [1e-12, 1e-200, 5e-324])
def test_corner_too_narrow_for_doubles_is_refused(h: float) -> None:
    with pytest.raises(ParameterError, match="too flat for doubles"):
        minimise(problem("random", HuberHinge(h), 1e-4))


def test_point_is_read_only() -> None:
    point = minimise(problem("random", Softmax(3), 1e-2)).point
    with pytest.raises(ValueError, match="read-only"):
        point[0, 0] = 1.0


def test_softmax_weights_of_a_feature_sum_to_zero() -> None:
    """W·1 = 0 at the minimiser, whatever the labels: the noise may leave that direction out."""
    rng = np.random.default_rng(13)
    solution = minimise(Risk(sphere(rng, 60, 4), shares(rng, 60, Softmax(5)), Softmax(5), 1e-3))
    assert np.linalg.norm(solution.point.sum(axis=1)) <= math.sqrt(5.0) * solution.distance_bound
