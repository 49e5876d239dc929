"""Attacks on the bounds: no searched pair of neighbouring worlds exceeds them.

Some come close, and a wrong bound is caught.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from ostraka.mechanism.bounds import (
    minimiser_radius,
    paper_average,
    paper_label_gap,
    stability,
    stability_private_auxiliary,
)
from ostraka.mechanism.geometry import gradient_factor
from ostraka.solve.losses import HuberHinge, Logistic, Loss, Softmax
from tests.mechanism.worlds import (
    LAMBDAS,
    LOSSES,
    World,
    best_reply,
    distance,
    majority,
    minimiser,
    one_hot,
    soft_distance,
    soft_shares,
    vote_distance,
    worlds,
)

Bound = Callable[[World, Loss, float], float]


def soft_bound(world: World, loss: Loss, lambda_: float) -> float:
    mu = gradient_factor(world.features)
    by_labels = stability(loss.label_gap, mu, lambda_, world.n_parties)
    return min(by_labels, 2 * minimiser_radius(loss, lambda_))


def vote_bound(world: World, loss: Loss, lambda_: float) -> float:
    by_labels = stability(loss.label_gap, gradient_factor(world.features), lambda_, 1)
    return min(by_labels, 2 * minimiser_radius(loss, lambda_))


def attack(measure: Bound, bound: Bound, loss: Loss, lambda_: float, seed: int = 0) -> float:
    """The largest distance/bound that the search finds."""
    rng = np.random.default_rng(seed)
    return max(
        measure(world, loss, lambda_) / bound(world, loss, lambda_)
        for world in worlds(rng, loss, lambda_)
    )


@pytest.mark.parametrize("lambda_", LAMBDAS)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_no_world_moves_soft_beyond_its_bound(loss: Loss, lambda_: float) -> None:
    assert attack(soft_distance, soft_bound, loss, lambda_) <= 1.0


@pytest.mark.parametrize("lambda_", LAMBDAS)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_no_world_moves_vote_beyond_its_bound(loss: Loss, lambda_: float) -> None:
    assert attack(vote_distance, vote_bound, loss, lambda_) <= 1.0


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_party_that_answers_its_own_best_attack_stays_within_the_bound(loss: Loss) -> None:
    rng = np.random.default_rng(1)
    for lambda_ in (1e-3, 1.0):
        for world in list(worlds(rng, loss, lambda_))[3::7]:
            reply = best_reply(world, loss, lambda_)
            assert soft_distance(reply, loss, lambda_) <= soft_bound(reply, loss, lambda_)


@pytest.mark.parametrize(
    ("loss", "factor"),
    [(Logistic(), 0.97), (HuberHinge(0.3), 0.9999), (Softmax(2), 0.95), (Softmax(7), 0.95)],
    ids=str,
)
def test_the_bounds_are_nearly_attained_at_a_large_lambda(loss: Loss, factor: float) -> None:
    assert attack(soft_distance, soft_bound, loss, 10.0) >= factor
    assert attack(vote_distance, vote_bound, loss, 10.0) >= factor


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.5), Softmax(2), Softmax(6)], ids=str)
def test_the_ball_is_attained_by_one_sample(loss: Loss) -> None:
    """A single sample of the right length has a minimiser of length √(ω/λ): the bound is tight."""
    lambda_ = 1e-4
    radius = minimiser_radius(loss, lambda_)
    longest = max(
        float(
            np.linalg.norm(
                minimiser(
                    np.array([[length]]), one_hot(np.array([1]), loss.n_classes), loss, lambda_
                )[0]
            )
        )
        for length in np.geomspace(1e-3, 1.0, 400)
    )
    assert longest <= radius + 1e-5
    assert longest >= 0.999 * radius


@pytest.mark.parametrize("lambda_", LAMBDAS)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_no_minimiser_leaves_the_ball(loss: Loss, lambda_: float) -> None:
    rng = np.random.default_rng(2)
    for world in worlds(rng, loss, lambda_):
        point, error = minimiser(world.features, majority(world, world.after, loss), loss, lambda_)
        assert float(np.linalg.norm(point)) - error <= minimiser_radius(loss, lambda_)


def with_replaced_sample(world: World, rng: np.random.Generator) -> World:
    features = world.features.copy()
    features[0] = -features[0] if rng.random() < 0.5 else rng.standard_normal(features.shape[1])
    features[0] /= max(1.0, float(np.linalg.norm(features[0])) * (1 + 1e-12))
    return World(features, world.others, world.before, world.after)


def private_attack(name: str, bound: Bound, loss: Loss, lambda_: float) -> float:
    """One party flips and one auxiliary sample is replaced, with any counts on the new one."""
    rng = np.random.default_rng(3)
    label = soft_shares if name == "soft" else majority
    worst = 0.0
    for world in worlds(rng, loss, lambda_):
        other = with_replaced_sample(world, rng)
        counts = world.others.copy()
        counts[0] = np.roll(counts[0], int(rng.integers(loss.n_classes)))
        other = World(other.features, counts, other.before, other.after)
        moved = distance(
            minimiser(world.features, label(world, world.before, loss), loss, lambda_),
            minimiser(other.features, label(other, other.after, loss), loss, lambda_),
        )
        worst = max(worst, moved / bound(world, loss, lambda_))
    return worst


def private_bound(name: str) -> Bound:
    def bound(world: World, loss: Loss, lambda_: float) -> float:
        n, shares = len(world.features), world.n_parties if name == "soft" else 1
        by_labels = stability_private_auxiliary(loss.label_gap, loss, lambda_, shares, n)
        return min(by_labels, 2 * minimiser_radius(loss, lambda_))

    return bound


@pytest.mark.parametrize("name", ["soft", "vote"])
@pytest.mark.parametrize("lambda_", [1e-4, 1e-2, 10.0])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_a_replaced_auxiliary_sample_stays_within_its_bound(
    name: str, loss: Loss, lambda_: float
) -> None:
    assert private_attack(name, private_bound(name), loss, lambda_) <= 1.0


def test_the_private_auxiliary_bound_is_nearly_attained() -> None:
    assert private_attack("soft", private_bound("soft"), HuberHinge(0.3), 10.0) >= 0.99


# Mutants: each is a plausible mistake, and the same attack catches it.
MUTANTS: dict[str, tuple[Bound, Bound, Loss, float]] = {
    "κ of the logistic loss taken for the Huber hinge": (
        soft_distance,
        lambda w, loss, lam: stability(1.0, 1.0, lam, w.n_parties),
        HuberHinge(0.3),
        10.0,
    ),
    "√2 forgotten for softmax": (
        soft_distance,
        lambda w, loss, lam: stability(1.0, 1.0, lam, w.n_parties),
        Softmax(3),
        10.0,
    ),
    "one party of M+1": (
        soft_distance,
        lambda w, loss, lam: stability(loss.label_gap, 1.0, lam, w.n_parties + 1),
        HuberHinge(0.3),
        10.0,
    ),
    "vote divided by M": (
        vote_distance,
        lambda w, loss, lam: stability(loss.label_gap, 1.0, lam, w.n_parties),
        Logistic(),
        1.0,
    ),
    "mean squared norm for μ": (
        soft_distance,
        lambda w, loss, lam: stability(
            loss.label_gap, float((w.features**2).sum(axis=1).mean()), lam, w.n_parties
        ),
        HuberHinge(0.3),
        10.0,
    ),
    "one radius instead of two": (
        vote_distance,
        lambda w, loss, lam: minimiser_radius(loss, lam),
        Logistic(),
        1e-4,
    ),
    "slope at zero of the logistic loss taken for all": (
        vote_distance,
        lambda w, loss, lam: 2 * 0.5 / lam,
        HuberHinge(0.3),
        10.0,
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_bound_is_caught(name: str) -> None:
    measure, bound, loss, lambda_ = MUTANTS[name]
    assert attack(measure, bound, loss, lambda_) > 1.0


def test_forgetting_the_replaced_sample_is_caught() -> None:
    def forgotten(world: World, loss: Loss, lambda_: float) -> float:
        return stability(loss.label_gap, 1.0, lambda_, world.n_parties)

    assert private_attack("soft", forgotten, HuberHinge(0.3), 10.0) > 1.0


def test_the_papers_constants() -> None:
    """The paper's numbers, up to rounding up.

    2/(λM), √2/(λM), 2/λ, √2/λ, 2/(λM), 2√2/(λM), and (N+M−1)/N for a private auxiliary set.
    """
    lam, m, n = 1e-4, 1000, 300
    binary, multi = Logistic(), Softmax(6)
    root2 = math.sqrt(2)
    for got, paper in [
        (stability(paper_label_gap(binary), 1.0, lam, m), 2 / (lam * m)),
        (stability(paper_label_gap(multi), 1.0, lam, m), root2 / (lam * m)),
        (stability(paper_label_gap(binary), 1.0, lam, 1), 2 / lam),
        (stability(paper_label_gap(multi), 1.0, lam, 1), root2 / lam),
        (paper_average(binary, lam, m), 2 / (lam * m)),
        (paper_average(multi, lam, m), 2 * root2 / (lam * m)),
        (stability_private_auxiliary(2.0, binary, lam, m, n), 2 / (lam * m) * (n + m - 1) / n),
        (stability_private_auxiliary(2.0, binary, lam, 1, n), 2 / lam),
    ]:
        assert paper <= got <= paper * (1 + 1e-11)


def test_tight_binary_vote_with_a_private_auxiliary_set_stays_at_one_over_lambda() -> None:
    lam = 2.0
    assert 2 * minimiser_radius(Logistic(), lam) <= 1 / lam * (1 + 1e-11)
