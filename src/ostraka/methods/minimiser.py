"""`soft` and `vote`: one global risk over the auxiliary set, minimised and perturbed.

Source: Hamm, Cao, Belkin, ICML 2016.

`soft` (section 4.2, Theorem 3): the share of votes for each class is a soft label; one party moves
it by at most 1/M. `vote` (section 4.1): the majority's class is a hard label; one party may turn
every majority, so its noise does not shrink with M.

    letter  name here        meaning
    λ       lambda_          strength of the regulariser
    μ       gradient_factor  what the public auxiliary features leave of a move of the labels
    U       span             orthonormal basis of the span of the auxiliary samples, if smaller
    ρ       –                no minimiser leaves the ball of this radius, whatever the labels
    g       –                the grid on which the minimiser is put before the noise

Guarantee (minimiser.proof.md): the release is ε-private for one party; with a private auxiliary
set, for one party and one auxiliary sample together. Of a private set only the size is used or
shown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, final

import numpy as np

from ostraka.errors import ParameterError, ShapeError, WrongTypeError
from ostraka.mechanism.bounds import (
    minimiser_radius,
    paper_label_gap,
    stability,
    stability_private_auxiliary,
)
from ostraka.mechanism.coordinates import Coordinates
from ostraka.mechanism.geometry import gradient_factor, span_basis
from ostraka.mechanism.laws import Exact, UnitL2, scale_up
from ostraka.mechanism.mechanism import Mechanism
from ostraka.mechanism.projection import ball_rounding, onto_ball
from ostraka.methods.base import Block, Options, Work
from ostraka.methods.votes import count_ballots
from ostraka.party.rows import Parties
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.numbers import is_sparse
from ostraka.public.promise import Promise
from ostraka.public.task import Task
from ostraka.release.certificate import PerturbedMinimiser
from ostraka.solve import Risk, RiskShape, default_tolerance, minimise
from ostraka.solve.losses import Array, Loss, loss_for
from ostraka.tally.domain import Ballots, Units

__all__ = ["Soft", "Vote"]

GRID_BITS = 20
"""The grid costs at most 2⁻²⁰ of the sensitivity."""
_UP = 1.0 + 2.0**-40


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Minimiser:
    """The public parts of both."""

    name: ClassVar[str]
    soft: ClassVar[bool]
    start: ClassVar[None] = None

    features: Any = field(repr=False)
    """None if they are private: the coordinator attaches them (`with_features`)."""
    n_samples: int
    n_features: int
    n_classes: int
    row_terms: int
    """Products per score: the most entries that a row stores."""
    lambda_: float = 1e-4
    calibration: str = "tight"
    loss: str = "logistic"
    gradient_factor: float = 1.0
    span: Array | None = None
    private: bool = False

    def __post_init__(self) -> None:
        if self.features is not None and self.features.shape != (self.n_samples, self.n_features):
            allowed = f"({self.n_samples}, {self.n_features})"
            raise ShapeError("features", got=tuple(self.features.shape), allowed=allowed)
        if self.span is not None and not (
            len(self.span) == self.n_features and self.span.shape[1] <= self.n_features
        ):
            allowed = f"{self.n_features} rows, no more columns"
            raise ShapeError("span", got=self.span.shape, allowed=allowed)
        # A poll comes from a file, so what enters the noise is checked. (A wrong span is harmless,
        # because its own norm enters.)
        least, terms = 1.0, self.n_features
        if self.features is not None and not self.private:
            terms = _row_terms(self.features)
            least = gradient_factor(self.features) if self.gradient_factor < 1.0 else 0.0
        if not (least * (1.0 - 1e-9) <= self.gradient_factor <= 1.0 and self.row_terms == terms):
            got = (self.gradient_factor, self.row_terms)
            allowed = f"at least {least:.9g}, and {terms}, as the auxiliary set has"
            raise ParameterError("gradient_factor, row_terms", got=got, allowed=allowed)
        Options(lambda_=self.lambda_, calibration=self.calibration)
        loss_for(self.n_classes, self.loss)

    @classmethod
    def create(
        cls,
        public: AuxiliarySet | Task,
        n_units: int,  # noqa: ARG003
        promise: Promise,  # noqa: ARG003
        options: Options,
    ) -> Self:
        """Take what may be known of the auxiliary set: only the size of a private one."""
        if not isinstance(public, AuxiliarySet):
            raise WrongTypeError("The auxiliary set", public, f"an AuxiliarySet, for {cls.name!r}")
        loss_for(public.n_classes, options.loss)
        made = cls(
            features=public.features,
            n_samples=public.n_samples,
            n_features=public.n_features,
            n_classes=public.n_classes,
            row_terms=public.n_features if public.private else _row_terms(public.features),
            lambda_=options.lambda_,
            calibration=options.calibration,
            loss=options.loss,
            private=public.private,
        )
        return made if public.private else made._with_geometry()

    def _with_geometry(self) -> Self:
        if self.calibration == "paper":
            return self
        factor, span = gradient_factor(self.features), span_basis(self.features)
        return replace(self, gradient_factor=factor, span=span)

    def with_features(self, features: Any) -> Self:
        """The same with the private auxiliary features, which no file carries."""
        if not self.private or tuple(features.shape) != (self.n_samples, self.n_features):
            allowed = f"a private set of {self.n_samples} samples with {self.n_features} features"
            raise ParameterError("auxiliary", got=tuple(features.shape), allowed=allowed)
        return replace(self, features=features)

    @property
    def domain(self) -> Ballots:
        """One vote for each auxiliary sample."""
        return Ballots(n_samples=self.n_samples, n_classes=self.n_classes)

    def contribute(self, parties: Parties, work: Work) -> Iterator[Block]:
        """Every party's votes, counted."""
        return count_ballots(
            parties,
            self._need_features(),
            self.domain,
            self.lambda_,
            self.loss,
            work,
            private=self.private,
        )

    def mechanism(self, promise: Promise, n_units: int) -> Mechanism:
        """ℓ2 noise for the smallest of the bounds that hold, on a grid of its own."""
        n_units = promise.check_units(n_units)
        coordinates, tolerance = self.coordinates, self.tolerance
        entries = self._entries(n_units, tolerance, coordinates)
        best = min(entries, key=lambda own: own.bound + own.solver + own.rounding)
        before_grid = best.bound + best.solver + best.rounding
        grid = _grid_spacing(before_grid, coordinates.dimension)
        # Two worlds' vectors each move by at most g√D/2 when they are put on the grid.
        on_grid = grid * math.sqrt(coordinates.dimension) * _UP * _UP
        sensitivity = (before_grid + on_grid) * _UP
        scale = scale_up(sensitivity, promise.epsilon)
        return Mechanism(
            law=UnitL2(scale=scale / grid, dimension=coordinates.dimension),
            grid=grid,
            sensitivity=sensitivity,
            delta=0.0,
            divisor=1,
            coordinates=coordinates.description,
            particular=replace(best, on_grid=on_grid),
        )

    def statistic(self, total: Units, mechanism: Mechanism) -> Exact:
        """The minimiser for these votes, projected onto the ball and put on the grid."""
        # Nothing about the votes may show, not even as an underflow that numpy was told to report.
        with np.errstate(all="ignore"):
            labels = self._labels(total)
            risk = Risk(self._need_features(), labels, self._loss, self.lambda_)
            point = minimise(risk, self.tolerance).within(self.tolerance / self.lambda_)
            radius = self._radius
            if radius is not None:
                point = onto_ball(point, radius)
            units = np.rint(self.coordinates.of(point) / mechanism.grid)
        return [int(unit) for unit in units]

    def weights(self, mean: Array, mechanism: Mechanism) -> Array:  # noqa: ARG002
        """What was released, as weights."""
        return self.coordinates.weights(mean)

    def surprise(self, mean: Array, mechanism: Mechanism) -> float | None:  # noqa: ARG002
        """None: votes are cast on the auxiliary rows, and private features do not enter them."""
        return None

    @property
    def tolerance(self) -> float:
        """τ: the solver always reaches it, for every input of this shape."""
        shape = RiskShape(
            n_samples=self.n_samples,
            n_features=self.n_features,
            row_terms=self.row_terms,
            loss=self._loss,
            lambda_=self.lambda_,
        )
        return default_tolerance(shape)

    @property
    def coordinates(self) -> Coordinates:
        """Which numbers get noise."""
        d, outputs = self.n_features, self._loss.n_outputs
        if self.calibration == "paper":
            return Coordinates.all_weights(d, outputs)
        return Coordinates.reduce(d, outputs, self.span)

    @property
    def _loss(self) -> Loss:
        return loss_for(self.n_classes, self.loss)

    @property
    def _radius(self) -> float | None:
        return None if self.calibration == "paper" else minimiser_radius(self._loss, self.lambda_)

    def _need_features(self) -> Any:
        if self.features is None:
            allowed = "the private samples: only the coordinator has them (Poll.with_auxiliary)"
            raise ParameterError("auxiliary", got=None, allowed=allowed)
        return self.features

    def _stability(self, gap: float, n_units: int) -> float:
        """How far one party (with a private set, also one sample) moves the exact minimiser."""
        shares = n_units if self.soft else 1  # a majority may turn however many parties there are
        if self.private:
            return stability_private_auxiliary(
                gap, self._loss, self.lambda_, shares, self.n_samples
            )
        return stability(gap, self.gradient_factor, self.lambda_, shares)

    def _labels(self, total: Units) -> Array:
        """Shares of votes, or majorities.

        The lowest of equal counts wins; with two classes the second, the paper's v(x) = +1.
        """
        if self.soft:
            shares = total / float(total[0].sum())
            return np.ascontiguousarray(shares[:, 1]) if self.n_classes == 2 else shares
        if self.n_classes == 2:
            return (total[:, 1] >= total[:, 0]).astype(np.float64)
        majority: Array = np.eye(self.n_classes)[total.argmax(axis=1)]
        return majority

    def _entries(
        self, n_units: int, tolerance: float, coordinates: Coordinates
    ) -> Sequence[PerturbedMinimiser]:
        """The bounds to choose from: the paper's alone, or stability and ball."""
        radius, solver = self._radius, 2.0 * tolerance / self.lambda_

        def entry(rule: str, bound: float, solver: float, rounding: float) -> PerturbedMinimiser:
            return PerturbedMinimiser(
                calibration=self.calibration,
                loss=self._loss.name,
                lambda_=self.lambda_,
                rule=rule,
                bound=bound,
                solver=solver,
                rounding=rounding,
                on_grid=0.0,
                radius=radius,
                solver_tolerance=tolerance,
                gradient_factor=self.gradient_factor,
            )

        if radius is None:
            bound = self._stability(paper_label_gap(self._loss), n_units)
            return [entry("paper", bound, solver, 0.0)]
        slack = ball_rounding(self.n_features * self._loss.n_outputs)
        projecting = 2.0 * radius * slack
        mapping = 2.0 * coordinates.rounding(radius * (1.0 + slack))

        def stretch(rule: str, bound: float, solver: float) -> PerturbedMinimiser:
            stretching = (coordinates.stretch - 1.0) * (bound + solver + projecting)
            return entry(rule, bound, solver, projecting + mapping + stretching)

        bound = self._stability(self._loss.label_gap, n_units)
        return [stretch("stability", bound, solver), stretch("ball", 2.0 * radius, 0.0)]


@final
class Soft(_Minimiser):
    """The shares of votes are soft labels: one party moves them by at most 1/M."""

    __slots__ = ()
    name: ClassVar[str] = "soft"
    soft: ClassVar[bool] = True


@final
class Vote(_Minimiser):
    """The majority's class is a hard label: one party may turn it."""

    __slots__ = ()
    name: ClassVar[str] = "vote"
    soft: ClassVar[bool] = False


def _grid_spacing(sensitivity: float, dimension: int) -> float:
    """The largest power of two for which g√D ≤ 2⁻²⁰·S."""
    exponent = math.floor(math.log2(sensitivity / math.sqrt(dimension)))
    return math.ldexp(1.0, exponent - GRID_BITS)


def _row_terms(features: Any) -> int:
    """The most entries that a row stores."""
    if not is_sparse(features):
        return int(features.shape[1])
    return max(1, int((features.indptr[1:] - features.indptr[:-1]).max()))
