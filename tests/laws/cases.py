"""Every private method, two and more classes, every kind of promise: what the laws run on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from ostraka.mechanism import Rehearsal
from ostraka.mechanism.laws import Exact
from ostraka.methods.base import Work
from ostraka.party.contribution import Contribution
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.catalogue import CATALOGUE
from ostraka.publishing import publish
from ostraka.release import Rehearsed, Release
from ostraka.release.certificate import Certificate
from ostraka.release.evaluation import Evaluation
from ostraka.release.model import LinearModel
from ostraka.release.outlook import Outlook
from ostraka.sealing import Servers
from ostraka.solve.losses import Array
from ostraka.tally import Tally
from tests.mechanism.worlds import unit_rows

N, D, M = 60, 5, 8
EXTENTS = np.array([1, 0.8, 0.6, 0.4, 0.2])
World = list[tuple[Array, Array]]
"""Each party's rows and class indices."""


@dataclass(frozen=True)
class Case:
    method: str
    n_classes: int
    delta: float = 0.0
    shift: bool = False
    calibration: str | None = None
    keep_back: int | None = None

    @property
    def ours(self) -> bool:
        return self.calibration is None

    @property
    def learns(self) -> bool:
        return CATALOGUE[self.method].learns

    def auxiliary(self, seed: int = 0) -> AuxiliarySet:
        features = unit_rows(np.random.default_rng(seed), N, D) * EXTENTS
        return AuxiliarySet(features, tuple(range(self.n_classes)))

    def options(
        self, auxiliary: AuxiliarySet, protects: str = "party", servers: Servers | None = None
    ) -> dict[str, Any]:
        heeded = CATALOGUE[self.method].options
        known: dict[str, Any] = {
            "samples_each": 4,
            "shift": self.shift or None,
            "calibration": self.calibration,
            "lambda_": None if self.ours else 0.01,
            "start": self.start(auxiliary, protects, servers) if self.method == "refine" else None,
        }
        return {name: value for name, value in known.items() if name in heeded}

    def start(
        self, auxiliary: AuxiliarySet, protects: str, servers: Servers | None = None
    ) -> Release:
        """Of more than two classes it says how good it is, and that they overlap."""
        plain = _start(auxiliary, protects, servers=servers)
        if self.n_classes == 2:
            return plain
        return replace(plain, outlook=Outlook(accuracy=0.6, off=0.05))

    def poll(self, auxiliary: AuxiliarySet | None = None, **changes: Any) -> Poll:
        """A poll of M parties."""
        public = self.auxiliary() if auxiliary is None else auxiliary
        if not self.learns:
            unit = changes.pop("protects", "party")
            judged = _start(public, protects=unit, keep_back=self.keep_back)
            return Poll.evaluate(judged, **{"epsilon": 1.0, "parties": M, **changes})
        given = {
            "epsilon": 1.0,
            "delta": self.delta,
            "parties": M,
            "keep_back": self.keep_back,
            **self.options(public, changes.get("protects", "party"), changes.get("servers")),
            **changes,
        }
        return Poll.create(public, method=self.method, **given)

    def world(self, seed: int = 1, sizes: tuple[int, ...] = (4, 1, 2, 0, 30, 4, 4, 7)) -> World:
        rng = np.random.default_rng(seed)
        return [(rows(rng, n), rng.integers(0, self.n_classes, n)) for n in sizes]


def rows(rng: np.random.Generator, n: int) -> Array:
    return unit_rows(rng, n, D) if n else np.zeros((0, D))


@cache
def _first(n_classes: int) -> Poll:
    return Case("moments", n_classes).poll()


def _start(
    auxiliary: AuxiliarySet,
    protects: str = "party",
    keep_back: int | None = None,
    servers: Servers | None = None,
) -> Release:
    """A release whose model is about half right."""
    of_persons = protects == "person"
    poll = Poll.create(
        auxiliary,
        method="moments",
        epsilon=1.0,
        parties=None if of_persons else M,
        persons=M if of_persons else None,
        protects=protects,
        servers=servers,
    )
    K = auxiliary.n_classes
    drawn = np.random.default_rng(5).standard_normal((auxiliary.n_features, K))
    guess = np.eye(auxiliary.n_features, K) + 0.5 * drawn
    guess = np.zeros_like(guess) if auxiliary.n_features == 1 else guess
    weights = guess if K > 2 else guess[:, 1] - guess[:, 0]
    return Release(
        model=LinearModel(task=poll.task, weights=weights),
        certificate=poll.certificate(M, M if of_persons else None),
        keep_back=keep_back,
    )


def in_process(poll: Poll, world: World, n_jobs: int = 1) -> Tally:
    """Everybody's rows in one process."""
    tally = Tally(poll)
    samples, labels = (np.concatenate(part) for part in zip(*world))
    names = np.repeat(np.arange(len(world)), [len(own) for _, own in world])
    asked = poll.group(samples, labels, names) if len(samples) else None
    here = set() if asked is None else set(asked.names)
    empty = [str(j) for j in range(len(world)) if str(j) not in here]
    for block in () if asked is None else poll.blocks(asked, Work(n_jobs=n_jobs)):
        tally.add_block(*block)
    for name in empty:  # who has no rows is not in a table: on a roll it would be
        tally.add(poll.contribute(np.zeros((0, D)), [], name))
    return tally


def by_files(poll: Poll, world: World) -> Tally:
    """Every party from its own machine: bytes of a poll in, bytes of a contribution out."""
    sent = poll.to_bytes()
    tally = Tally(Poll.from_bytes(sent))
    for party, (samples, labels) in enumerate(world):
        mailed = Poll.from_bytes(sent).contribute(samples, labels, party).to_bytes()
        tally.add(Contribution.from_bytes(mailed))
    return tally


def stated(outcome: Release | Rehearsed, case: Case) -> Release | Rehearsed | Evaluation:
    """What came of the poll: the model, or the last statement on one."""
    return outcome if case.learns else outcome.evaluations[-1]


def vector(poll: Poll, tally: Tally) -> Exact:
    """What gets the noise, for as many as were counted."""
    return poll.method.statistic(tally.total, poll.mechanism(tally.n_units))


def rehearsed(poll: Poll, tally: Tally, seed: int = 0) -> Rehearsed:
    outcome = publish(poll, tally, Rehearsal(seed))
    assert isinstance(outcome, Rehearsed)
    return outcome


def distance(one: Exact, other: Exact, certificate: Certificate) -> Fraction:
    """How far apart two vectors are, in the certificate's norm (squared for L2), exactly."""
    gaps = [(a - b) * Fraction(certificate.grid) for a, b in zip(one, other, strict=True)]
    return sum(map(abs, gaps)) if certificate.norm == "l1" else sum(gap**2 for gap in gaps)


def allowed(certificate: Certificate, share: float = 1.0) -> Fraction:
    bound = Fraction(certificate.sensitivity) * Fraction(share)
    return bound if certificate.norm == "l1" else bound**2


def replacements(case: Case) -> Iterator[tuple[Array, Array]]:
    """What a party may have instead: nothing, one sample, many, one class, extreme numbers."""
    rng = np.random.default_rng(7)
    for n in (0, 1, 2, 7, 300):
        yield rows(rng, n), rng.integers(0, case.n_classes, n)
    for k in range(case.n_classes):
        yield unit_rows(rng, 6, D), np.full(6, k)
        yield np.repeat(unit_rows(rng, 1, D), 3, axis=0), np.full(3, k)
    for wild in (1e300, 1e-310, -1e300, 1e-200):
        yield wild * unit_rows(rng, 4, D), rng.integers(0, case.n_classes, 4)


OURS = [
    Case(*each)
    for each in itertools.product(("moments", "cells", "consensus", "refine"), (2, 3), (0.0, 1e-6))
]
OURS += [Case(method, K, shift=True) for method in ("moments", "cells", "refine") for K in (2, 3)]
PAPERS = [
    Case(method, K, calibration=calibration)
    for method, K, calibration in itertools.product(
        ("soft", "vote", "avg"), (2, 3), ("paper", "tight")
    )
]
EVALUATIONS = [
    Case("evaluation", K, keep_back=keep_back)
    for K, keep_back in itertools.product((2, 3), (None, 3))
]
CASES = OURS + PAPERS + EVALUATIONS
PURE = [case for case in CASES if case.delta == 0.0]
