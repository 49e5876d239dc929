"""DP-GD and DP-FedAvg at the level of parties: softmax regression in many noisy rounds.

The noise goes on the sum of clipped updates.

    letter  name here     meaning
    R       rounds        every party sends one update in each of them
    C       clip          the longest update that is let through, in L2
    L       travel        R·C·(server's step): how far the model can go in total
    V       –             weights in class contrasts, k×(K−1); scores are X·V·Qᵀ
    F_j     factor        F_jᵀF_j = X_jX_jᵀ: gives a party's own steps and the length of its update
    A_j     coefficients  n_j×(K−1): the party's update is −X_jᵀA_j

Guarantee: (ε, δ), neighbours differ in one party's whole data set. Replacing a party moves one
round's sum by up to 2C (not C: one update goes, another comes), so R rounds move by up to 2C√R
together, and each gets Gaussian noise of σ = 2C√R·σ(ε, δ), exact for the composition (data.py).
Every party takes part in every round: no amplification by sampling, and none is claimed.

Trust: a coordinator (or secure aggregation) that adds the noise, and parties that answer R times.

DP-GD: an update is the clipped gradient of the party's mean loss. DP-FedAvg: the party first makes
a few steps of its own, and the difference of models is clipped. The coordinator applies the ridge,
which costs no budget. `public` is DP-GD with what our own methods do with the auxiliary set after a
release: the model labels it and is fitted to its own answers, and with more than two classes it may
have a kernel student; published DP-GD does not do so.

Tuning: for free. How many public directions to keep, R, C and L are chosen by test accuracy, which
nobody could do in practice and which favours this peer: first all settings with three draws, then a
shortlist with as many as are asked for, then the best one with fresh noise. Of the winner, the
kernel student is taken if it did better on the test set, and measured with fresh noise again.

Source: McMahan, Ramage, Talwar, Zhang, "Learning Differentially Private Recurrent Language Models",
ICLR 2018 (clipped updates of whole users); Abadi et al. 2016 (noisy gradients). Directions from
public data: Zhou, Wu, Banerjee, ICLR 2021.

How: a party's steps stay in the span of its rows, so per-party models are never formed; many
settings and draws share one pass over the rows. It runs in single precision: this is an experiment.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import groupby, product
from typing import TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from ostraka.experiments.noise_trials import Quality, accuracies, judge_scores, qualities
from ostraka.experiments.peers.data import (
    DIRECTIONS,
    PeerData,
    best,
    finish,
    gaussian_scale,
    narrow_data,
    widen_models,
)
from ostraka.experiments.tasks import Test
from ostraka.mechanism.geometry import class_basis
from ostraka.methods.after_noise.kernel import learn_kernel
from ostraka.public.task import Task
from ostraka.release.model import LinearModel
from ostraka.solve.losses import Array

__all__ = [
    "DESCENT_GRID",
    "AVERAGING_GRID",
    "PUBLIC_GRID",
    "Schedule",
    "descent",
    "averaging",
    "descent_public",
]

RIDGE = 1e-4
TUNING_DRAWS = 3
SHORTLIST = 12
NUMBERS_AT_ONCE = 2**22
"""Scores that exist at one time."""
MODELS_AT_ONCE = 64

Single: TypeAlias = NDArray[np.float32]
Judge: TypeAlias = Callable[[Array, Test], Sequence[float]]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One setting."""

    rounds: int
    clip: float
    travel: float
    directions: int | None = None
    """See `data.DIRECTIONS`."""
    local_steps: int = 1
    local_step: float = 1.0
    public: bool = False

    @property
    def sensitivity(self) -> float:
        """How far replacing one party moves all sums together: 2C in each round."""
        return 2.0 * self.clip * math.sqrt(self.rounds)

    @property
    def step(self) -> float:
        """The server's step."""
        return self.travel / (self.rounds * self.clip)


DESCENT_GRID = tuple(
    Schedule(directions=directions, rounds=rounds, clip=clip, travel=travel)
    for directions, rounds, clip, travel in product(
        DIRECTIONS, (10, 30, 100), (0.1, 0.3), (10.0, 30.0, 100.0, 300.0)
    )
)
AVERAGING_GRID = tuple(
    replace(schedule, clip=5.0 * schedule.clip, local_steps=5, local_step=3.0)
    for schedule in DESCENT_GRID
    if schedule.rounds <= 30
)
"""A party's own steps are there to save rounds."""
PUBLIC_GRID = tuple(
    replace(schedule, public=public) for public in (False, True) for schedule in DESCENT_GRID
)


def descent(
    data: PeerData, epsilon: float, delta: float, generator: np.random.Generator, n_draws: int
) -> list[float]:
    """DP-GD."""
    return tune(DESCENT_GRID, data, epsilon, delta, generator, n_draws)


def averaging(
    data: PeerData, epsilon: float, delta: float, generator: np.random.Generator, n_draws: int
) -> list[float]:
    """DP-FedAvg."""
    return tune(AVERAGING_GRID, data, epsilon, delta, generator, n_draws)


def descent_public(
    data: PeerData, epsilon: float, delta: float, generator: np.random.Generator, n_draws: int
) -> list[float]:
    """DP-GD, finished on the auxiliary set; with more than two classes, our student if it helps."""
    measure = partial(
        measure_settings, data=data, epsilon=epsilon, delta=delta, generator=generator
    )
    winner = _choose_setting(PUBLIC_GRID, measure, n_draws)
    judge = partial(judge_students, data=data, directions=winner.directions)
    judges: list[Judge] = [qualities, judge] if data.n_classes > 2 else [qualities]
    found = [measure([winner], n_draws=n_draws, judge=each)[0] for each in judges]
    return measure([winner], n_draws=n_draws, judge=judges[best(found)])[0]


def judge_students(
    models: Array,
    test: Test,  # noqa: ARG001
    *,
    data: PeerData,
    directions: int | None,
) -> list[Quality]:
    """Of the kernel students of models in some directions, by the function that ours have."""
    task = Task(classes=tuple(range(data.n_classes)), n_features=data.auxiliary.shape[1])
    found = []
    for weights in widen_models(data, directions, models):
        student = learn_kernel(data.auxiliary, LinearModel(task=task, weights=weights))
        found.append(judge_scores(student.score_features(data.test.features), data.test))
    return found


def tune(
    grid: Sequence[Schedule],
    data: PeerData,
    epsilon: float,
    delta: float,
    generator: np.random.Generator,
    n_draws: int,
) -> list[float]:
    """The accuracies of the best setting of a shortlist, with fresh noise (see `best`)."""
    measure = partial(
        measure_settings, data=data, epsilon=epsilon, delta=delta, generator=generator
    )
    winner = _choose_setting(grid, measure, n_draws)
    return measure([winner], n_draws=n_draws, judge=qualities)[0]


def _choose_setting(
    grid: Sequence[Schedule], measure: Callable[..., list[list[float]]], n_draws: int
) -> Schedule:
    first = measure(grid, n_draws=min(TUNING_DRAWS, n_draws))
    order = sorted(range(len(grid)), key=lambda position: -float(np.mean(first[position])))
    shortlist = [grid[position] for position in order[:SHORTLIST]]
    return shortlist[best(measure(shortlist, n_draws=n_draws))]


def measure_settings(
    grid: Sequence[Schedule],
    *,
    data: PeerData,
    epsilon: float,
    delta: float,
    generator: np.random.Generator,
    n_draws: int,
    judge: Judge = accuracies,
) -> list[list[float]]:
    """Accuracies of every setting, in the order given.

    Settings that differ only in what comes after the rounds share the rounds.
    """
    results: dict[Schedule, list[float]] = {}
    trainings = list(dict.fromkeys(replace(schedule, public=False) for schedule in grid))
    finishes = {
        public: {replace(schedule, public=False) for schedule in grid if schedule.public == public}
        for public in (False, True)
    }
    for batch in _batches(trainings, n_draws):
        narrow = narrow_data(data, batch[0].directions)
        models = train(narrow, batch, epsilon, delta, generator, n_draws)
        for schedule, weights in zip(batch, models):
            for public in (False, True):
                if schedule in finishes[public]:
                    ends = finish(narrow, weights) if public else weights
                    results[replace(schedule, public=public)] = list(judge(ends, narrow.test))
    return [results[schedule] for schedule in grid]


def train(
    data: PeerData,
    batch: Sequence[Schedule],
    epsilon: float,
    delta: float,
    generator: np.random.Generator,
    n_draws: int,
) -> list[Array]:
    """Weights (draws, p, K) for every setting of a batch, which share all but C and L."""
    first, contrasts, blocks = (
        batch[0],
        class_basis(data.n_classes).astype(np.float32),
        blocks_of(data),
    )
    clips = _per_model([schedule.clip for schedule in batch], n_draws)
    steps = _per_model([schedule.step for schedule in batch], n_draws)[:, np.newaxis]
    sigmas = _per_model(
        [gaussian_scale(epsilon, delta, schedule.sensitivity) for schedule in batch], n_draws
    )[:, np.newaxis]
    models = np.zeros((data.auxiliary.shape[1], len(clips), contrasts.shape[1]), dtype=np.float32)
    for _ in range(first.rounds):
        noise = sigmas * generator.standard_normal(models.shape, dtype=np.float32)
        update = (sum_clipped(blocks, models, contrasts, clips, first) + noise) / np.float32(
            len(data.parties)
        )
        models -= steps * (update + np.float32(RIDGE) * models)
    weights = models.astype(np.float64).transpose(1, 0, 2) @ class_basis(data.n_classes).T
    return list(weights.reshape(len(batch), n_draws, *weights.shape[1:]))


@final
@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Parties of equal size."""

    features: Single
    """(parties, samples, features)."""
    labels: Single
    """One-hot, (K, all samples, 1)."""
    factor: Single
    """(parties, at most samples, samples)."""


@lru_cache(maxsize=len(DIRECTIONS))
def blocks_of(data: PeerData) -> tuple[Block, ...]:
    """Parties sorted by size, cut so that a pass with many models stays small.

    A party without samples adds nothing.
    """
    sizes = np.diff(data.parties.starts)
    return tuple(
        block
        for size in np.unique(sizes[sizes > 0]).tolist()
        for block in _equal_blocks(data, np.flatnonzero(sizes == size), size)
    )


def _equal_blocks(data: PeerData, members: NDArray[np.intp], size: int) -> Iterator[Block]:
    parties, eye = data.parties, np.eye(data.n_classes, dtype=np.float32)
    at_once = max(1, NUMBERS_AT_ONCE // (size * data.n_classes * MODELS_AT_ONCE))
    for start in range(0, len(members), at_once):
        rows = parties.starts[members[start : start + at_once], np.newaxis] + np.arange(size)
        own = parties.features[rows].astype(np.float32)
        columns = own.transpose(0, 2, 1)
        factor: Single = (
            columns if size > own.shape[2] else np.asarray(np.linalg.qr(columns, mode="r"))
        )
        yield Block(
            own, eye[:, parties.labels[rows.ravel()], np.newaxis], np.ascontiguousarray(factor)
        )


def sum_clipped(
    blocks: Sequence[Block], models: Single, contrasts: Single, clips: Single, schedule: Schedule
) -> Single:
    """Σ_j of the parties' updates (signed as gradients), each shortened to C, for all models."""
    total = np.zeros_like(models)
    for block in blocks:
        coefficients = _local(block, models, contrasts, schedule)
        m, n, b, c = coefficients.shape
        images = (block.factor @ coefficients.reshape(m, n, b * c)).reshape(m, -1, b, c)
        lengths = np.sqrt(np.einsum("mrbc,mrbc->mb", images, images))
        kept: Single = np.minimum(np.float32(1.0), clips / np.maximum(lengths, np.float32(1e-30)))
        coefficients *= kept[:, np.newaxis, :, np.newaxis]
        total += (block.features.reshape(m * n, -1).T @ coefficients.reshape(m * n, b * c)).reshape(
            models.shape
        )
    return total


def _local(block: Block, models: Single, contrasts: Single, schedule: Schedule) -> Single:
    """A after a party's own steps from the common model.

    A ← A + η(p − e_y)Q/n, with p at the scores X(V − XᵀA).
    """
    m, n, p = block.features.shape
    start = (block.features.reshape(m * n, p) @ models.reshape(p, -1)).reshape(
        m, n, *models.shape[1:]
    )
    rate = np.float32(schedule.local_step / n)
    coefficients: Single = rate * _residuals(start, block.labels, contrasts)
    for _ in range(schedule.local_steps - 1):
        moved = block.factor.transpose(0, 2, 1) @ (block.factor @ coefficients.reshape(m, n, -1))
        scores: Single = start - moved.reshape(start.shape)
        coefficients += rate * _residuals(scores, block.labels, contrasts)
    return coefficients


def _residuals(scores: Single, labels: Single, contrasts: Single) -> Single:
    """(softmax − one-hot)·Q.

    Classes come first meanwhile, so that all but the products runs along whole lines of memory.
    """
    full: Single = contrasts @ scores.reshape(-1, contrasts.shape[1]).T
    full -= full.max(axis=0)
    np.exp(full, out=full)
    full /= full.sum(axis=0)
    full.reshape(*labels.shape[:2], -1)[...] -= labels
    residuals: Single = (full.T @ contrasts).reshape(scores.shape)
    return residuals


def _per_model(values: Sequence[float], n_draws: int) -> Single:
    return np.repeat(np.asarray(values, dtype=np.float32), n_draws)


def _batches(grid: Sequence[Schedule], n_draws: int) -> Iterator[list[Schedule]]:
    """Settings that can share passes over the rows."""

    def share(schedule: Schedule) -> tuple[int, int, int, float]:
        return (
            schedule.directions or 0,
            schedule.rounds,
            schedule.local_steps,
            schedule.local_step,
        )

    at_once = max(1, MODELS_AT_ONCE // n_draws)
    for _, members in groupby(sorted(grid, key=share), key=share):
        alike = list(members)
        yield from (alike[start : start + at_once] for start in range(0, len(alike), at_once))
