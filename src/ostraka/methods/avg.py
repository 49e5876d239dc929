"""`avg`: the mean of the parties' own parameter vectors.

Each party puts its vector into a public ball and on a lattice, on its own machine, and the vector
is checked again when it is added up: the bound holds whatever a party sends. `ball` may be set to
anything smaller than the default.

    letter  name here    meaning
    b       –            the ball: ρ, which no exact minimiser leaves; the paper's G/λ; or smaller
    B       length       the same in units of the lattice

Guarantee (noisy_sum.proof.md): two vectors of the ball are at most 2B units apart; ε-private.

Source: Pathak, Rane, Raj, NIPS 2010, as used by Hamm, Cao, Belkin, ICML 2016, section 5. The ball
is ours, and so is adding the noise to the sum: M is only a divisor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from ostraka.errors import ParameterError, number
from ostraka.mechanism.bounds import minimiser_radius, paper_average
from ostraka.mechanism.coordinates import Coordinates
from ostraka.mechanism.laws import Exact
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.base import Block, Options, Work, whole
from ostraka.methods.noisy_sum import hidden_ball, lattice
from ostraka.party.quiet import quietly
from ostraka.party.rows import Parties
from ostraka.party.training.votes import linear_parameters
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.public.task import Task
from ostraka.solve.losses import Array, loss_for
from ostraka.tally.domain import Ball, Units

__all__ = ["Avg"]

RADII = (1e-12, 1e12)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Avg:
    """The public parts of an `avg` poll."""

    name: ClassVar[str] = "avg"
    start: ClassVar[None] = None

    n_features: int
    n_classes: int
    length: int
    grid: float
    lambda_: float = 1e-4
    calibration: str = "tight"
    loss: str = "logistic"

    def __post_init__(self) -> None:
        Options(lambda_=self.lambda_, calibration=self.calibration)
        loss_for(self.n_classes, self.loss)

    @classmethod
    def create(
        cls,
        public: AuxiliarySet | Task,
        n_units: int,  # noqa: ARG003
        promise: Promise,  # noqa: ARG003
        options: Options,
    ) -> Avg:
        """Choose the ball and the lattice."""
        task = public if isinstance(public, Task) else Task.of(public)
        n_classes = len(task.classes)
        radius = _radius(n_classes, options)
        dimension = _coordinates(task.n_features, n_classes, options).dimension
        grid, ball = lattice(radius, dimension)
        return cls(
            n_features=task.n_features,
            n_classes=n_classes,
            length=ball.length,
            grid=grid,
            lambda_=options.lambda_,
            calibration=options.calibration,
            loss=options.loss,
        )

    @property
    def coordinates(self) -> Coordinates:
        """Which numbers are sent: all weights, or (tight) differences of classes."""
        options = Options(calibration=self.calibration, loss=self.loss)
        return _coordinates(self.n_features, self.n_classes, options)

    @property
    def domain(self) -> Ball:
        """The parameters, in an L2 ball."""
        return Ball(norm="l2", length=self.length, dimension=self.coordinates.dimension)

    def contribute(self, parties: Parties, work: Work) -> Iterator[Block]:
        """Every party's parameters, from its own rows alone."""
        trained = linear_parameters(
            parties, self.n_classes, self.lambda_, self.loss, n_jobs=work.n_jobs, watch=work.watch
        )
        for names, parameters in trained:
            yield names, self.round_parameters(parameters)

    def round_parameters(self, parameters: Array) -> Units:
        """Parameter vectors, (n, d) or (n, d, K), as they are sent: in the ball, on the lattice."""
        coordinates = self.coordinates
        with quietly():
            vectors = np.stack([coordinates.of(weights) for weights in parameters])
            return self.domain.round_entries(vectors / self.grid)

    def mechanism(self, promise: Promise, n_units: int) -> Mechanism:
        """ℓ2 noise for two vectors of the ball."""
        described = self.coordinates.description
        return hidden_ball(self.domain, self.grid, promise, n_units, described)

    def statistic(self, total: Units, mechanism: Mechanism) -> Exact:  # noqa: ARG002
        """The sum itself."""
        return whole(total)

    def weights(self, mean: Array, mechanism: Mechanism) -> Array:  # noqa: ARG002
        """What was released, as weights."""
        return self.coordinates.weights(mean)

    def surprise(self, mean: Array, mechanism: Mechanism) -> float | None:  # noqa: ARG002
        """None: there is no auxiliary set that parties could differ from."""
        return None


def _coordinates(n_features: int, n_classes: int, options: Options) -> Coordinates:
    outputs = loss_for(n_classes, options.loss).n_outputs
    if options.calibration == "paper":
        return Coordinates.all_weights(n_features, outputs)
    return Coordinates.reduce(n_features, outputs)


def _radius(n_classes: int, options: Options) -> float:
    """The public ball: the paper's 1/λ (√2/λ), ours, or a smaller one that was agreed."""
    loss = loss_for(n_classes, options.loss)
    if options.calibration == "paper":
        if options.ball is not None:
            raise ParameterError("ball", got=options.ball, allowed='None for calibration "paper"')
        return paper_average(loss, options.lambda_, 1) / 2.0
    largest = minimiser_radius(loss, options.lambda_)
    return largest if options.ball is None else min(number("ball", options.ball, *RADII), largest)
