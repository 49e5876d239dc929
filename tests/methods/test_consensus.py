"""`consensus`: searched ballots stay within the certificate, some reach it; mutants do not.

Products are exact, and it is never worse than `soft`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from ostraka.errors import ParameterError
from ostraka.mechanism.geometry import class_basis
from ostraka.methods import consensus
from ostraka.methods.consensus import _spectral_bound, _whole_product
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.public.whitening import Whitening
from ostraka.solve import Risk, minimise
from ostraka.solve.losses import Array, Softmax
from tests.mechanism.worlds import unit_rows
from tests.methods.planned import Planned, planned

ROOT2 = math.sqrt(2.0)
PROMISE = Promise(epsilon=1.0)


def auxiliary(n_classes: int, features: Array | None = None) -> AuxiliarySet:
    if features is None:
        features = unit_rows(np.random.default_rng(0), 60, 5) * [1, 0.7, 0.5, 0.3, 0.1]
    return AuxiliarySet(features, tuple(range(n_classes)))


def two_points(n: int = 50) -> Array:
    """Samples whose whitened form is ±1: the bound is attained on them."""
    return np.repeat([[0.8], [-0.8]], n // 2, axis=0)


def made_for(
    given: AuxiliarySet, k: int | None = None, n_parties: int = 7, epsilon: float = 1.0
) -> Planned:
    return planned("consensus", given, n_parties, epsilon=epsilon, create={"k": k})


def moved(made: Planned, before: Array, after: Array) -> Fraction:
    """How far a party that votes differently moves Y, squared, in exact units."""
    recipe = made.method
    one_hot = np.eye(len(recipe.contrasts), dtype=int)
    change = (
        recipe.white.astype(int).astype(object).T @ (one_hot[after] - one_hot[before])
    ) @ recipe.contrasts.astype(int).astype(object)
    return Fraction(int(np.sum(change**2)))


def searched_ballots(made: Planned) -> Iterator[tuple[Array, Array]]:
    """The signs of every singular vector, flips of everything, random ballots.

    Each is followed by best replies to itself.
    """
    recipe = made.method
    n, n_classes = len(recipe.white), len(recipe.contrasts)
    rng = np.random.default_rng(1)
    starts = [(np.zeros(n, int), np.full(n, k)) for k in range(1, n_classes)]
    for vector in np.linalg.svd(recipe.white, full_matrices=False)[0].T:
        starts.append(((vector > 0).astype(int), (vector <= 0).astype(int)))
    starts += [tuple(rng.integers(0, n_classes, (2, n))) for _ in range(5)]
    for before, after in starts:
        yield before, after
        one_hot = np.eye(n_classes)
        for _ in range(8):
            change = recipe.white.T @ (one_hot[after] - one_hot[before]) @ recipe.contrasts
            gains = recipe.white @ change @ recipe.contrasts.T
            before, after = gains.argmin(axis=1), gains.argmax(axis=1)
        yield before, after


def worst(made: Planned) -> float:
    """The largest share of the certificate's sensitivity that the search finds, exactly."""
    bound = Fraction(made.mechanism.sensitivity) / Fraction(made.mechanism.grid)
    return max(float(moved(made, *ballots) / bound**2) for ballots in searched_ballots(made)) ** 0.5


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("k", [1, 2, 5])
def test_searched_ballots_stay_within_the_certificate(n_classes: int, k: int) -> None:
    made = made_for(auxiliary(n_classes), k)
    bound = Fraction(made.mechanism.sensitivity) / Fraction(made.mechanism.grid)
    for ballots in searched_ballots(made):
        assert moved(made, *ballots) <= bound**2


@pytest.mark.parametrize("n_classes", [2, 3, 6])
def test_the_bound_is_root_two_per_sample_and_is_attained(n_classes: int) -> None:
    made = made_for(auxiliary(n_classes, two_points()))
    assert 50 * ROOT2 * (1.0 - 1e-5) <= made.mechanism.sensitivity <= 50 * ROOT2 * (1.0 + 1e-5)
    assert 1.0 - 1e-5 <= worst(made) <= 1.0
    usual = made_for(auxiliary(n_classes))
    assert usual.mechanism.sensitivity <= 60 * ROOT2 * (1.0 + 1e-4), (
        "about √2·N for every whitened set"
    )


@pytest.mark.parametrize("factor", [1.0 / ROOT2, 0.999])
def test_a_smaller_bound_is_caught(factor: float) -> None:
    """Forgetting that a changed vote moves two entries, and a promise of a thousandth less."""
    made = made_for(auxiliary(3, two_points()))
    assert worst(made) > factor


@given(st.integers(1, 40), st.integers(1, 8), st.integers(1, 2**20))
def test_the_spectral_bound_is_above_where_the_norm_is_known(n: int, k: int, entry: int) -> None:
    """Tables of one number: the norm is that number times √(nk), exactly."""
    assert Fraction(_spectral_bound(np.full((n, k), float(entry)))) ** 2 >= entry**2 * n * k


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(1, 6))
def test_no_vector_is_stretched_beyond_the_spectral_bound(seed: int, n: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    table = np.rint(rng.standard_normal((n, k)) * 2.0**20)
    bound = Fraction(_spectral_bound(table)) ** 2
    top = np.linalg.svd(table)[2][0]
    direction = [int(entry * 2**40) for entry in top]
    image = [sum(int(t) * x for t, x in zip(row, direction)) for row in table.tolist()]
    assert sum(y**2 for y in image) <= bound * sum(x**2 for x in direction)
    assert bound <= Fraction(float(np.linalg.norm(table, 2))) ** 2 * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize("n_parties", [2, 2**20, 2**40])
def test_products_are_exact_for_any_number_of_votes(n_parties: int) -> None:
    rng = np.random.default_rng(2)
    white = rng.integers(-(2**21), 2**21, (500, 4))
    first = rng.integers(0, n_parties + 1, 500)
    counts = np.stack([first, n_parties - first], axis=1)
    assert (
        _whole_product(white, counts, n_parties) == white.astype(object).T @ counts.astype(object)
    ).all()


def test_products_in_64_bits_are_caught() -> None:
    white, counts = np.full((500, 1), 2**21), np.full((500, 1), 2**40)
    with np.errstate(all="ignore"):
        wrapped = int((white.T @ counts)[0, 0])
    assert wrapped != 500 * 2**61
    assert int(_whole_product(white, counts, 2**40)[0, 0]) == 500 * 2**61


def test_more_votes_than_fit_are_refused_beforehand() -> None:
    made = made_for(auxiliary(2))
    made.method.mechanism(Promise(epsilon=1.0), 2**37)
    wide = replace(made.method, white=made.method.white * 2.0**5)
    with pytest.raises(ParameterError, match=r"parties.*for this auxiliary set"):
        wide.mechanism(Promise(epsilon=1.0), 2**38)


def test_the_statistic_is_that_of_the_votes() -> None:
    """Y/(N·M) is about ΦᵀαQ/N for the shares α."""
    given = auxiliary(3)
    rng = np.random.default_rng(3)
    counts = sum(np.eye(3, dtype=int)[rng.integers(0, 3, 60)] for _ in range(9))
    made = made_for(given, n_parties=9)
    k = made.mechanism.dimension // 2
    found = made.mechanism.mean(made.method.statistic(counts, made.mechanism))
    expected = (
        (given.features @ Whitening.of(given.features).map(k)).T @ (counts / 9) @ class_basis(3)
    )
    assert np.abs(found - expected.ravel()).max() <= 1e-3


@pytest.mark.parametrize("k", [0, -1, 6, 1.5])
def test_directions_that_are_not_there_are_refused(k: object) -> None:
    with pytest.raises(ParameterError, match=r"k = .*up to 5"):
        made_for(auxiliary(2), k)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "features",
    [np.zeros((5, 3)), np.full((5, 3), 0.3), np.array([[0.6, 0.0, 0.8]]), np.full((4, 3), 1e-160)],
)
@pytest.mark.parametrize("epsilon", [1e-12, 1.0, 1e18])
def test_sets_with_hardly_any_extent_have_a_plan(features: Array, epsilon: float) -> None:
    made = made_for(auxiliary(3, features), n_parties=5, epsilon=epsilon)
    assert np.isfinite(made.weights([5] * made.mechanism.dimension)).all()


# ---- never worse than `soft` ---------------------------------------------------------------------


class Regularised:
    """F(W) = mean lse(XW) − ⟨W, T⟩ + (λ/2)‖W‖² over W whose rows sum to 0, for any statistic T."""

    def __init__(self, features: Array, lambda_: float) -> None:
        self.features, self.lambda_ = features, lambda_

    def value(self, W: Array, T: Array) -> float:
        return float(
            logsumexp(self.features @ W, axis=1).mean()
            - np.vdot(W, T)
            + self.lambda_ / 2.0 * np.vdot(W, W)
        )

    def minimiser(self, T: Array) -> Array:
        """By scipy: labels that give a noisy T need not be shares, which our solver requires."""

        def both(flat: Array) -> tuple[float, Array]:
            W = flat.reshape(T.shape)
            slope = (
                self.features.T @ softmax(self.features @ W, axis=1) / len(self.features)
                - T
                + self.lambda_ * W
            )
            return self.value(W, T), slope.ravel()

        return minimize(
            both,
            np.zeros(T.size),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 2000, "ftol": 0.0, "gtol": 1e-9},
        ).x.reshape(T.shape)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([2, 3]),
    st.sampled_from([1e-3, 1e-2, 1.0]),
    st.sampled_from([0.03, 0.3, 3.0]),
    st.integers(0, 2**32 - 1),
)
def test_noise_in_the_statistic_costs_no_more_risk_than_in_the_minimiser(
    n_classes: int, lambda_: float, size: float, seed: int
) -> None:
    """F(w_b) − F* ≤ ‖b‖²/(2λ) ≤ F(w* + b/λ) − F*, with all directions and the same noise b."""
    rng = np.random.default_rng(seed)
    features = unit_rows(rng, 40, 4) * [1, 0.7, 0.5, 0.3]
    shares = rng.multinomial(9, np.ones(n_classes) / n_classes, 40) / 9.0
    exact = minimise(Risk(features, shares, Softmax(n_classes), lambda_))
    risk = Regularised(features, lambda_)
    T = features.T @ shares / 40
    best = risk.value(exact.point, T)

    whitening = Whitening.of(features)
    white, contrasts = features @ whitening.map(4), class_basis(n_classes)
    Y = white.T @ shares @ contrasts / 40
    noisy = Y + size * rng.standard_normal(Y.shape)
    labels = white @ noisy @ contrasts.T + 1.0 / n_classes
    T_b = features.T @ labels / 40
    assert (
        np.abs(features.T @ (white @ Y @ contrasts.T + 1.0 / n_classes) / 40 - T).max() <= 1e-9
    ), "these labels give back the statistic"

    b = T_b - T
    ours = risk.value(risk.minimiser(T_b), T) - best
    theirs = risk.value(exact.point + b / lambda_, T) - best
    between = float(np.vdot(b, b)) / (2.0 * lambda_)
    rounding = 1e-9 * (1.0 + between)
    assert ours <= between + rounding
    assert between <= theirs + rounding
    assert np.linalg.norm(b) <= np.linalg.norm(noisy - Y) * (1.0 + 1e-9), (
        "whitened noise is no longer than what it does to the risk"
    )


# ---- moments of votes, where nobody can check a ballot -------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_rounded_moments_stay_within_the_certificate(n_classes: int) -> None:
    """Searched ballots, and the very same ones where the bound is attained but for rounding."""
    made = made_for(auxiliary(n_classes))
    sealed = made.method.coarsen()
    mechanism = sealed.mechanism(PROMISE, 7)
    bound, one_hot = (
        Fraction(mechanism.sensitivity / mechanism.grid) ** 2,
        np.eye(n_classes, dtype=int),
    )
    for before, after in searched_ballots(made):
        one, other = (sealed.moments_of(one_hot[votes]) for votes in (before, after))
        gap = (one - other).astype(object)
        assert Fraction(int(np.sum(gap**2))) <= bound
        for each in (one, other):
            assert not sealed.domain.outside(each[None]).size, "an honest party is never refused"


def test_coarse_moments_reach_most_of_the_bound() -> None:
    """So it is not far too large: 1/(1 − 1e-3) of what a ballot moves."""
    made = made_for(auxiliary(2, two_points()))
    sealed = made.method.coarsen()
    mechanism = sealed.mechanism(PROMISE, 7)
    votes = (made.method.features[:, 0] > 0).astype(int)
    one, other = (sealed.moments_of(np.eye(2, dtype=int)[each]) for each in (votes, 1 - votes))
    assert np.linalg.norm(one - other) >= 0.999 * mechanism.sensitivity / mechanism.grid


def test_moments_without_a_term_for_rounding_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant, on a lattice so coarse that rounding is most of it."""
    made = made_for(auxiliary(2))
    sealed = replace(made.method, coarse=45)
    bound = Fraction(consensus.vote_sensitivity(sealed.white, sealed.contrasts) * 2.0**-45) ** 2
    rounded = sealed.mechanism(PROMISE, 7)
    right, wrong = Fraction(rounded.sensitivity / rounded.grid) ** 2, 0
    one_hot = np.eye(2, dtype=int)
    for before, after in searched_ballots(made):
        gap = sealed.moments_of(one_hot[before]) - sealed.moments_of(one_hot[after])
        assert Fraction(int(np.sum(gap**2))) <= right
        wrong += Fraction(int(np.sum(gap**2))) > bound
    assert wrong > 0


def test_rounded_sums_are_the_moments_of_all_votes() -> None:
    """To within half a unit for each party, and the same model comes of them."""
    made = made_for(auxiliary(3))
    sealed, rng = made.method.coarsen(), np.random.default_rng(2)
    ballots = [np.eye(3, dtype=int)[rng.integers(0, 3, 60)] for _ in range(7)]
    rounded = sum(sealed.moments_of(each) for each in ballots)
    mechanism, fine = sealed.mechanism(PROMISE, 7), made.method.mechanism(PROMISE, 7)
    exact = np.array(made.method.statistic(sum(ballots), fine), dtype=float) * fine.grid
    assert np.abs(rounded * mechanism.grid - exact).max() <= 3.5 * mechanism.grid
    weights = sealed.weights(mechanism.mean(rounded.tolist()), mechanism)
    expected = made.method.weights(fine.mean(made.method.statistic(sum(ballots), fine)), fine)
    assert weights == pytest.approx(expected, abs=1e-4)


def test_a_ball_that_is_too_small_cannot_be_given() -> None:
    """It is made of the tables, and so holds every honest vector."""
    made = made_for(auxiliary(3)).method.coarsen()
    assert made.domain.length <= 2**24
    with pytest.raises(ParameterError):
        _ = replace(made, coarse=0).domain
    with pytest.raises(ParameterError):
        replace(made, coarse=-1)
