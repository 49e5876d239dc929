"""`evaluation`: every party says how often a released model is right on its own rows.

    letter  name here   meaning
    K       n_classes   the model's classes
    h_j     –           party j's histogram over (true class, predicted class), divided by its
                        number of rows: not negative, total 1; 0 for a party without rows
    L       UNITS       what 1 is worth in units; entries are rounded down, towards 0

Two classes: a party sends h_j, four numbers. More: K² cells would put K² noises on the accuracy, so
it sends one half of (share right, share wrong) and one half of h_j: K² + 2 numbers. `Evaluation`
puts them together again.

Guarantee (evaluation.proof.md): a party's vector has an L1 norm of at most L units, so replacing it
moves the sum by at most 2L, whatever K and the model; discrete Laplace noise of scale 2L/ε on each
number makes it ε-private with δ = 0. The model is a release of its own and has cost its own ε.

No model comes of it: what is published is the release as it was, with the evaluation beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import WrongTypeError
from ostraka.mechanism.laws import Exact
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.base import Block, Options, Work, whole
from ostraka.methods.noisy_sum import hidden_ball
from ostraka.methods.shares import round_shares
from ostraka.party.products import own_nearness, own_products
from ostraka.party.quiet import quietly
from ostraka.party.rows import Parties
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.public.task import Task
from ostraka.release import Rehearsed, Release
from ostraka.release.certificate import FROM_THE_SYSTEM
from ostraka.release.evaluation import count_cells
from ostraka.release.kernel_model import KernelModel
from ostraka.release.release import read_outcome
from ostraka.solve.losses import Array
from ostraka.tally.domain import Ball, Units

__all__ = ["Judging"]

UNITS = 2**20
NUMBERS_AT_ONCE = 2**21


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Judging:
    """The public parts of a poll that evaluates a release."""

    name: ClassVar[str] = "evaluation"
    start: ClassVar[None] = None

    file: NDArray[np.uint8] = field(repr=False)
    """The release that is evaluated, earlier evaluations included: the bytes of its file."""
    release: Release | Rehearsed = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "release", read_outcome(self.file.tobytes()))

    @classmethod
    def create(
        cls,
        public: AuxiliarySet | Task,  # noqa: ARG003
        n_units: int,  # noqa: ARG003
        promise: Promise,  # noqa: ARG003
        options: Options,
    ) -> Judging:
        """The method that evaluates the release `options.start`, whatever the rest is."""
        if not isinstance(options.start, Release | Rehearsed):
            raise WrongTypeError("The release", options.start, "a Release: Release.load(path)")
        return cls(file=np.frombuffer(options.start.original(), dtype=np.uint8))

    @property
    def task(self) -> Task:
        """That of the model."""
        return self.release.model.task

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.task.classes)

    @property
    def n_features(self) -> int:
        """Those that the model takes."""
        return self.task.n_features

    @property
    def rehearsed(self) -> bool:
        """Whether the model was drawn with a seed: nothing that rests on it can be released."""
        known = (self.release, *self.release.evaluations)
        return any(each.certificate.randomness != FROM_THE_SYSTEM for each in known)

    @property
    def domain(self) -> Ball:
        """Shares in an L1 ball."""
        return Ball(norm="l1", length=UNITS, dimension=count_cells(self.n_classes))

    def contribute(self, parties: Parties, work: Work) -> Iterator[Block]:  # noqa: ARG002
        """Every party's shares, in whole numbers throughout."""
        step = max(1, NUMBERS_AT_ONCE // self.domain.dimension)
        for first in range(0, len(parties), step):
            part = parties.part(first, min(first + step, len(parties)))
            with quietly():
                units = self._shares(part)
            yield list(part.names), units

    def choices(self, features: Any) -> NDArray[np.int64]:
        """The class that the model gives to each row, from that row alone to the last bit.

        As the model's own choices, but for scores that agree to seven digits, or, of a kernel
        model, to about five.
        """
        model = self.release.model
        if isinstance(model, KernelModel):
            return _choose_by_kernel(model, features)
        return _choose(own_products(features, _table(model.linear.weights)))

    def mechanism(self, promise: Promise, n_units: int) -> Mechanism:
        """Discrete Laplace noise for two such vectors."""
        also = "" if self.n_classes == 2 else ", and right or wrong"
        coordinates = f"{self.n_classes} true and {self.n_classes} predicted classes{also}"
        return hidden_ball(self.domain, 1.0 / UNITS, promise, n_units, coordinates)

    def statistic(self, total: Units, mechanism: Mechanism) -> Exact:  # noqa: ARG002
        """The sum itself."""
        return whole(total)

    def weights(self, mean: Array, mechanism: Mechanism) -> Array:  # noqa: ARG002
        """Those of the model that is evaluated."""
        return self.release.model.linear.weights

    def surprise(self, mean: Array, mechanism: Mechanism) -> float | None:  # noqa: ARG002
        """None: public samples play no part."""
        return None

    def _shares(self, part: Parties) -> Units:
        K, given = self.n_classes, self.choices(part.features)
        cells = np.asarray(part.labels, dtype=np.int64) * K + given
        if K == 2:
            return round_shares(cells, part.starts, K * K, UNITS)
        wrong = (part.labels != given).astype(np.int64)
        two = round_shares(wrong, part.starts, 2, UNITS // 2)
        return np.concatenate([two, round_shares(cells, part.starts, K * K, UNITS // 2)], axis=1)


def _choose_by_kernel(model: KernelModel, features: Any) -> NDArray[np.int64]:
    """In blocks, which change nothing: each row's nearness and its products are its own."""
    # A power of two brings rows of m numbers from 0 to 1 into the unit ball, where products are.
    shrink = 2.0 ** -math.ceil(math.log2(len(model.landmarks)) / 2.0)
    table = _table(model.weights[:-1] / shrink)
    step = max(1, NUMBERS_AT_ONCE // len(model.landmarks))
    chosen = [np.zeros(0, dtype=np.int64)]
    for start in range(0, features.shape[0], step):
        near = own_nearness(features[start : start + step], model.landmarks)
        chosen.append(_choose(own_products(shrink * near, table) + model.weights[-1]))
    return np.concatenate(chosen)


def _table(weights: Array) -> Array:
    return weights.reshape(len(weights), -1)


def _choose(scores: Array) -> NDArray[np.int64]:
    chosen = scores[:, 0] >= 0.0 if scores.shape[1] == 1 else scores.argmax(axis=1)
    return np.asarray(chosen, dtype=np.int64)
