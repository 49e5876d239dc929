"""Neighbouring worlds, searched for those that move the minimiser most.

A world is an auxiliary matrix, how the other parties voted, and how one party votes in world A and
in world B. `soft_distance` and the others return how far apart the two exact minimisers are *at
least* (computed distance less both certified errors), so that exceeding a bound is a proof of a
violation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ostraka.solve import Risk, minimise
from ostraka.solve.losses import Array, HuberHinge, Logistic, Loss, Softmax

LOSSES: list[Loss] = [
    Logistic(),
    HuberHinge(0.3),
    HuberHinge(0.05),
    Softmax(2),
    Softmax(3),
    Softmax(7),
]
LAMBDAS = [1e-6, 1e-4, 1e-2, 1.0, 10.0]


@dataclass(frozen=True)
class World:
    features: Array
    others: Array  # counts (N, K) of the other M−1 parties
    before: Array  # class indices (N,)
    after: Array

    @property
    def n_parties(self) -> int:
        return int(self.others[0].sum()) + 1


def one_hot(votes: Array, n_classes: int) -> Array:
    return np.eye(n_classes)[votes]


def labels_of(shares: Array, loss: Loss) -> Array:
    return shares[:, 1] if loss.n_outputs == 1 else shares


def minimiser(features: Array, shares: Array, loss: Loss, lambda_: float) -> tuple[Array, float]:
    solution = minimise(Risk(features, labels_of(shares, loss), loss, lambda_))
    return solution.point, solution.distance_bound


def distance(one: tuple[Array, float], other: tuple[Array, float]) -> float:
    """A lower bound on the distance of the exact minimisers."""
    return float(np.linalg.norm(one[0] - other[0])) - one[1] - other[1]


def soft_shares(world: World, votes: Array, loss: Loss) -> Array:
    return (world.others + one_hot(votes, loss.n_classes)) / world.n_parties


def majority(world: World, votes: Array, loss: Loss) -> Array:
    counts = world.others + one_hot(votes, loss.n_classes)
    winners = (
        (counts[:, 1] >= counts[:, 0]).astype(int) if loss.n_classes == 2 else counts.argmax(axis=1)
    )
    return one_hot(winners, loss.n_classes)


def soft_distance(world: World, loss: Loss, lambda_: float) -> float:
    return distance(
        *(
            minimiser(world.features, soft_shares(world, v, loss), loss, lambda_)
            for v in (world.before, world.after)
        )
    )


def vote_distance(world: World, loss: Loss, lambda_: float) -> float:
    return distance(
        *(
            minimiser(world.features, majority(world, v, loss), loss, lambda_)
            for v in (world.before, world.after)
        )
    )


def unit_rows(rng: np.random.Generator, n: int, d: int) -> Array:
    rows = rng.standard_normal((n, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * (1 - 1e-12)


def feature_sets(
    rng: np.random.Generator, n: int, d: int, lambda_: float, loss: Loss
) -> Iterator[Array]:
    """All alike, anywhere on the sphere, short, one long among zeros, and the worst length.

    That is the length at which a minimiser is longest.
    """
    same = np.zeros((n, d))
    same[:, 0] = 1 - 1e-12
    yield same
    yield unit_rows(rng, n, d)
    yield unit_rows(rng, n, d) * rng.random((n, 1))
    lonely = np.zeros((n, d))
    lonely[0] = same[0]
    yield lonely
    yield same * min(1.0, (1.0 + loss.ball) / np.sqrt(loss.ball / lambda_))


def worlds(rng: np.random.Generator, loss: Loss, lambda_: float) -> Iterator[World]:
    """Ties, unanimity of either class, and random counts.

    The party flips everything, in the direction that pays most.
    """
    k = loss.n_classes
    for n, d, n_parties in [(1, 1, 2), (1, 3, 5), (4, 2, 2), (30, 3, 3), (25, 6, 11)]:
        for features in feature_sets(rng, n, d, lambda_, loss):
            tied = np.zeros((n, k))
            tied[:, : min(k, 2)] = (
                (n_parties - 1) / 2 if n_parties % 2 else [(n_parties - 2) / 2, n_parties / 2]
            )
            first, last = np.zeros((n, k)), np.zeros((n, k))
            first[:, 0] = last[:, -1] = n_parties - 1
            mixed = rng.multinomial(n_parties - 1, np.ones(k) / k, size=n).astype(float)
            for others in (tied, first, last, mixed):
                zeros, ones = np.zeros(n, dtype=int), np.ones(n, dtype=int)
                yield World(features, others, zeros, ones)
                side = (features @ rng.standard_normal(d) > 0).astype(int)
                yield World(features, others, side, 1 - side)


def best_reply(world: World, loss: Loss, lambda_: float, rounds: int = 3) -> World:
    """Let the party vote along the direction in which it moved the minimiser: power iteration."""
    for _ in range(rounds):
        points = [
            minimiser(world.features, soft_shares(world, v, loss), loss, lambda_)[0]
            for v in (world.before, world.after)
        ]
        moved = points[1] - points[0]
        scores = world.features @ moved
        if loss.n_outputs == 1:
            after = (scores >= 0).astype(int)
            world = World(world.features, world.others, 1 - after, after)
        else:
            world = World(
                world.features, world.others, scores.argmin(axis=1), scores.argmax(axis=1)
            )
    return world
