"""`auto`: which of our methods a poll should take, rehearsed on labels that anybody may see.

    name here   meaning
    CANDIDATES  `moments`; `cells`; and a single cell, which asks for the commonest class alone and
                is the best where little can be said
    right       how often the models of a rehearsal agreed with the labels of their world
    kept        how much of what can be learnt there without privacy, beyond naming the commonest
                class, was learnt

In each of a dozen worlds (`made_up`) the candidates are rehearsed with the same parties and seeded
noise, and the one that is right more often wins. Everything comes from the auxiliary set and public
numbers: the choice is free, and anybody can repeat it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, TypeAlias, final

import numpy as np

from ostraka.mechanism import Rehearsal
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.base import Options, Watch, public_features
from ostraka.methods.cells import Cells
from ostraka.methods.made_up import N_WORLDS, World, adder, worlds
from ostraka.methods.moments import Moments
from ostraka.methods.registry import METHODS
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.measured import encoded_rows, share_measured
from ostraka.public.promise import Promise
from ostraka.public.task import Task
from ostraka.release.scoring import choose_classes
from ostraka.tally.domain import Units

__all__ = ["CANDIDATES", "Case", "Rehearsed", "candidates", "choose", "create", "rehearse"]

CANDIDATES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "moments": ("moments", {}),
    "cells": ("cells", {}),
    "one cell": ("cells", {"n_cells": 1}),
}
"""The method behind each name, and what it is made with."""
MOST_PARTIES = 1000
"""So many are made up; with more, their mean would be the same to within what matters here."""
MOST_SAMPLES = 200
"""The most rows that a made-up party has, as in the simulation that its ball comes from."""
N_DRAWS = 3
"""Of noise, in every world, the same for all candidates."""
MOST_ROWS = 60_000
"""The most rows that all of them have: so many have little sampling error."""


@final
@dataclass(frozen=True, slots=True)
class Case:
    """A number of units, and what they are promised."""

    n_units: int
    promise: Promise

    def made_up(self, samples_each: int) -> int:
        """How many parties are made up for it."""
        return min(self.n_units, MOST_PARTIES, MOST_ROWS // min(samples_each, MOST_SAMPLES))


@final
@dataclass(frozen=True, slots=True)
class Rehearsed:
    """How one candidate did, on average over worlds."""

    right: float
    kept: float


Shares: TypeAlias = list[float]
"""For each draw of noise: how often a model is right."""
Group: TypeAlias = tuple[str, list[Case]]
"""A candidate, and cases with as many made-up parties each."""


def choose(
    public: AuxiliarySet | Task, n_units: int, promise: Promise, options: Options
) -> tuple[str, Rehearsed]:
    """The best candidate, and how it did."""
    auxiliary, _ = public_features(public, "auto")
    case = Case(n_units, promise)
    found = rehearse(auxiliary, [case], options)[case]
    best = max(found, key=lambda name: found[name].right)
    return best, found[best]


def create(
    candidate: str,
    public: AuxiliarySet | Task,
    n_units: int,
    promise: Promise,
    options: Options,
    measured: float | None = None,
) -> Cells | Moments:
    """The method of a candidate; `measured` as in `Moments.create`."""
    name, more = CANDIDATES[candidate]
    if name == "moments":
        more = {**more, "measured": measured}
    made: Cells | Moments = METHODS[name].create(public, n_units, promise, options, **more)
    return made


def candidates(promise: Promise) -> tuple[str, ...]:
    """Which of them can keep the promise: `cells` has only discrete Laplace noise."""
    return tuple(CANDIDATES) if promise.noise == "auto" else ("moments",)


def rehearse(
    auxiliary: AuxiliarySet, cases: Sequence[Case], options: Options, watch: Watch | None = None
) -> dict[Case, dict[str, Rehearsed]]:
    """How each candidate does in each case; never of an auxiliary set that is somebody's secret."""
    public_features(auxiliary, "auto")
    groups = _groups(cases, options.samples_each)
    rehearsed = _run(auxiliary, groups, options)
    shown = rehearsed if watch is None else watch(rehearsed, len(groups) * N_WORLDS)
    found: dict[Case, dict[str, list[tuple[Shares, World]]]] = {case: {} for case in cases}
    with _one_thread():
        for (name, members), world, shares in shown:
            for case, share in zip(members, shares):
                found[case].setdefault(name, []).append((share, world))
        return {
            case: {name: _average(seen, options.objective) for name, seen in by_name.items()}
            for case, by_name in found.items()
        }


def _average(seen: Sequence[tuple[Shares, World]], objective: str) -> Rehearsed:
    right = float(np.mean([shares for shares, _ in seen]))
    guessed = float(np.mean([world.guess(objective) for _, world in seen]))
    possible = float(np.mean([_without_privacy(world, objective) for _, world in seen]))
    kept = (right - guessed) / max(possible - guessed, np.finfo(np.float64).tiny)
    return Rehearsed(right, float(np.clip(kept, 0.0, 1.0)))


@lru_cache(maxsize=8 * N_WORLDS)
def _without_privacy(world: World, objective: str) -> float:
    return world.without_privacy(objective)


@contextmanager
def _one_thread() -> Iterator[None]:
    """For many small products: more threads would wait for each other most of the time."""
    from threadpoolctl import threadpool_limits

    import_module("sklearn.cluster")  # brings threads of its own, which must be there to be limited
    with threadpool_limits(limits=1):
        yield


def _groups(cases: Sequence[Case], each: int) -> list[Group]:
    """Cases that can share their worlds, and what does not depend on ε: one after another."""
    distinct = list(dict.fromkeys(cases))
    found = [
        (
            name,
            [
                case
                for case in distinct
                if case.made_up(each) == n and name in candidates(case.promise)
            ],
        )
        for n in sorted({case.made_up(each) for case in distinct})
        for name in CANDIDATES
    ]
    return [(name, members) for name, members in found if members]


def _run(
    auxiliary: AuxiliarySet, groups: Sequence[Group], options: Options
) -> Iterator[tuple[Group, World, list[Shares]]]:
    """The share of labels that each case of a group gets right, world by world."""
    each = min(options.samples_each, MOST_SAMPLES)
    # Of the table itself: a world need not know its columns.
    measured = share_measured(encoded_rows(auxiliary)[1])
    for group in groups:
        name, members = group
        made_up = members[0].made_up(options.samples_each)
        largest = options.samples_largest
        largest = None if largest is None else min(max(largest, each), MOST_SAMPLES)
        for world in worlds(auxiliary, made_up, each, options.natural, largest):
            made = [
                create(name, world.auxiliary, case.n_units, case.promise, options, measured)
                for case in members
            ]
            totals = adder(made)(world)
            yield (
                group,
                world,
                [
                    _share(
                        method, method.mechanism(case.promise, case.n_units), total, made_up, world
                    )
                    for method, case, total in zip(made, members, totals)
                ],
            )


def _share(
    method: Cells | Moments, mechanism: Mechanism, summed: Units, made_up: int, world: World
) -> Shares:
    """Models learnt from the sum of made-up parties, with noise."""
    n_units = mechanism.divisor
    total = [unit * n_units // made_up for unit in summed.tolist()]
    found = []
    for draw in range(N_DRAWS):
        mean = mechanism.mean(mechanism.draw(total, Rehearsal(world.seed + draw)))
        with np.errstate(all="ignore"):
            scores = method.features @ method.weights(mean, mechanism)
        found.append(world.judge(choose_classes(scores), method.objective))
    return found
