"""`auto`: which of our methods a poll should take, tested on synthetic labels.

The auxiliary set is labelled in eighteen ways that have nothing to do with the truth (`made_up`).
For each labelling, parties are made up from auxiliary rows, both methods are rehearsed with seeded
noise, and the one that agrees more often with the labels wins. Everything comes from the auxiliary
set and public numbers: the choice is free, and anybody can repeat it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TypeAlias, final

import numpy as np

from ostraka.mechanism import Rehearsal
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.base import Options, Watch, public_features
from ostraka.methods.cells import Cells
from ostraka.methods.made_up import N_WORLDS, World, adder, sample, worlds
from ostraka.methods.moments import Moments
from ostraka.methods.registry import METHODS
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.public.task import Task
from ostraka.tally.domain import Units

__all__ = ["CANDIDATES", "Case", "agreements", "candidates", "choose"]

CANDIDATES = ("moments", "cells")
MOST_PARTIES = 2000
"""So many are made up; with more, their mean would be the same to within what matters here."""
MOST_SAMPLES = 50
"""The most rows that a made-up party has: two thousand such parties have little sampling error."""


@final
@dataclass(frozen=True, slots=True)
class Case:
    """A number of units, and what they are promised."""

    n_units: int
    promise: Promise

    @property
    def made_up(self) -> int:
        """How many parties are made up for it."""
        return min(self.n_units, MOST_PARTIES)


Group: TypeAlias = tuple[str, list[Case]]
"""A method, and cases with as many made-up parties each."""


def choose(
    public: AuxiliarySet | Task, n_units: int, promise: Promise, options: Options
) -> tuple[str, float]:
    """The better method, and how often it agreed with made-up labels."""
    auxiliary, _ = public_features(public, "auto")
    case = Case(n_units, promise)
    found = agreements(auxiliary, [case], options)[case]
    best = max(found, key=lambda name: found[name])
    return best, found[best]


def candidates(promise: Promise) -> tuple[str, ...]:
    """Which methods can keep the promise: `cells` has only discrete Laplace noise."""
    return CANDIDATES if promise.noise == "auto" else ("moments",)


def agreements(
    auxiliary: AuxiliarySet, cases: Sequence[Case], options: Options, watch: Watch | None = None
) -> dict[Case, dict[str, float]]:
    """How often models learnt from made-up parties agree with the made-up labels, on average over
    worlds, by method.
    """
    groups = _groups(cases)
    rehearsed = _rehearse(sample(auxiliary), groups, options)
    shown = rehearsed if watch is None else watch(rehearsed, len(groups) * N_WORLDS)
    found: dict[Case, dict[str, list[float]]] = {case: {} for case in cases}
    with _one_thread():
        for (name, members), shares in shown:
            for case, share in zip(members, shares):
                found[case].setdefault(name, []).append(share)
    return {
        case: {name: float(np.mean(shares)) for name, shares in by_name.items()}
        for case, by_name in found.items()
    }


@contextmanager
def _one_thread() -> Iterator[None]:
    """For many small products: more threads would wait for each other most of the time."""
    from threadpoolctl import threadpool_limits

    import_module("sklearn.cluster")  # brings threads of its own, which must be there to be limited
    with threadpool_limits(limits=1):
        yield


def _groups(cases: Sequence[Case]) -> list[Group]:
    """Cases that can share their worlds, and what does not depend on ε: one after another."""
    distinct = list(dict.fromkeys(cases))
    found = [
        (
            name,
            [case for case in distinct if case.made_up == n and name in candidates(case.promise)],
        )
        for n in sorted({case.made_up for case in distinct})
        for name in CANDIDATES
    ]
    return [(name, members) for name, members in found if members]


def _rehearse(
    auxiliary: AuxiliarySet, groups: Sequence[Group], options: Options
) -> Iterator[tuple[Group, list[float]]]:
    """The share of labels that each case of a group gets right, world by world."""
    each = min(options.samples_each, MOST_SAMPLES)
    for group in groups:
        name, members = group
        made = [
            METHODS[name].create(auxiliary, case.n_units, case.promise, options) for case in members
        ]
        mechanisms = [
            method.mechanism(case.promise, case.n_units) for method, case in zip(made, members)
        ]
        add, made_up = adder(made), members[0].made_up
        for world in worlds(auxiliary, made_up, each):
            totals = add(world)
            rehearsed = zip(made, mechanisms, totals)
            yield group, [_share(*parts, made_up, world) for parts in rehearsed]


def _share(
    method: Cells | Moments, mechanism: Mechanism, summed: Units, made_up: int, world: World
) -> float:
    """How many labels a model gets right that was learnt from the sum of made-up parties, with
    noise.
    """
    n_units = mechanism.divisor
    total = [unit * n_units // made_up for unit in summed.tolist()]
    mean = mechanism.mean(mechanism.draw(total, Rehearsal(world.seed)))
    with np.errstate(all="ignore"):
        scores = method.features @ method.weights(mean, mechanism)
    chosen = scores >= 0.0 if scores.ndim == 1 else scores.argmax(axis=1)
    return float(np.mean(chosen == world.labels))
