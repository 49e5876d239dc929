"""What `soft` and `vote` share: one global risk over the auxiliary set, minimised, perturbed.

They differ in the labels alone, hence in how far one party moves them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from ostraka.auxiliary import AuxiliarySet
from ostraka.certificate import ONE_PARTY, ONE_PARTY_AND_SAMPLE, Certificate, SensitivityParts
from ostraka.errors import ParameterError, WrongTypeError
from ostraka.losses import Array, Loss
from ostraka.methods.output_perturbation import Exact, Plan, calibrate, on_grid
from ostraka.methods.terms import Terms
from ostraka.model import Task
from ostraka.preprocessing import is_sparse
from ostraka.sensitivity.ball import ball_rounding, onto_ball
from ostraka.sensitivity.bounds import minimiser_radius, paper_label_gap
from ostraka.sensitivity.coordinates import Coordinates
from ostraka.sensitivity.geometry import gradient_factor, span_basis
from ostraka.solve import Risk, RiskShape, default_tolerance, minimise
from ostraka.tally import Tally

__all__ = ["PublicFacts", "Stability", "make_plan", "check_belongs", "check_types", "grid_minimiser"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PublicFacts:
    """What a plan may know of an auxiliary set. Of a private set that is its size alone."""

    task: Task
    n_samples: int
    row_terms: int
    """Products per score: what a row stores, at most."""
    gradient_factor: float = 1.0
    span: Array | None = None
    digest: str | None = None
    private: bool = False

    @classmethod
    def of(cls, auxiliary: AuxiliarySet, *, geometry: bool) -> PublicFacts:
        """The facts of an auxiliary set; `geometry` asks for what only the tight calibration uses."""
        task, n = Task.of(auxiliary), auxiliary.n_samples
        if auxiliary.private:
            return cls(task=task, n_samples=n, row_terms=task.n_features, private=True)
        features = auxiliary.features
        terms = int((features.indptr[1:] - features.indptr[:-1]).max()) if is_sparse(features) else task.n_features
        facts = cls(task=task, n_samples=n, row_terms=terms, digest=auxiliary.digest)
        return replace(facts, gradient_factor=gradient_factor(features), span=span_basis(features)) if geometry else facts

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.task.classes)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """A method's own bounds on how far one party moves the exact minimiser."""

    name: str
    public: Callable[[float, float], float]
    """(κ, μ) ↦ S for a public auxiliary set."""
    private: Callable[[float], float]
    """κ ↦ S when one auxiliary sample changes too."""


def make_plan(facts: PublicFacts, n_parties: int, terms: Terms, stability: Stability) -> Plan:
    """Everything that is known before the votes are."""
    n_parties = terms.checked_parties(n_parties)
    loss = terms.loss_for(facts.n_classes)
    d, tight = facts.task.n_features, terms.calibration == "tight"
    shape = RiskShape(n_samples=facts.n_samples, n_features=d, row_terms=facts.row_terms, loss=loss, lambda_=terms.lambda_)
    tolerance = default_tolerance(shape)
    coordinates = Coordinates.reduced(d, loss.n_outputs, facts.span) if tight else Coordinates.all_weights(d, loss.n_outputs)
    radius = minimiser_radius(loss, terms.lambda_) if tight else None
    entries = _entries(facts, terms, loss, stability, tolerance, coordinates, radius)
    calibrated = calibrate(entries, coordinates.dimension, terms.epsilon)
    certificate = Certificate(
        method=stability.name,
        calibration=terms.calibration,
        loss=loss.name,
        epsilon=float(terms.epsilon),
        delta=0.0,
        neighbours=ONE_PARTY_AND_SAMPLE if facts.private else ONE_PARTY,
        parties=n_parties,
        auxiliary_samples=facts.n_samples,
        auxiliary_digest=facts.digest,
        lambda_=float(terms.lambda_),
        sensitivity=calibrated.sensitivity,
        sensitivity_parts=calibrated.parts,
        noise="l2",
        noise_scale=calibrated.noise_scale,
        grid=calibrated.spacing,
        dimension=coordinates.dimension,
        coordinates=coordinates.description,
        radius=radius,
        solver_tolerance=tolerance,
        assumed_public=terms.assumed_public,
    )
    return Plan(certificate=certificate, coordinates=coordinates, task=facts.task, terms=terms)


def check_types(tally: Tally, terms: Terms) -> None:
    """Refuse anything but a tally and terms, in words."""
    if not isinstance(tally, Tally):
        raise WrongTypeError("The tally", tally, "a Tally to which the parties' ballots were added")
    if not isinstance(terms, Terms):
        raise WrongTypeError("The terms", terms, "Terms(epsilon=...)")


def check_belongs(tally: Tally, plan: Plan, method: str) -> None:
    """Refuse a tally for which the plan was not made; compares public things only."""
    promised, auxiliary = plan.certificate, tally.auxiliary
    pairs = {
        "method": (promised.method, method),
        "number of parties": (promised.parties, tally.n_parties),
        "number of auxiliary samples": (promised.auxiliary_samples, auxiliary.n_samples),
        "auxiliary set": (promised.auxiliary_digest, auxiliary.public_digest),
        "kind of neighbours": (promised.neighbours, ONE_PARTY_AND_SAMPLE if auxiliary.private else ONE_PARTY),
        "task": (plan.task, Task.of(auxiliary)),
    }
    for what, (planned, given) in pairs.items():
        if planned != given:
            raise ParameterError("plan", got=f"another {what}: {planned!r}", allowed=f"a plan made for this tally: {given!r}")


def grid_minimiser(auxiliary: AuxiliarySet, labels: Array, plan: Plan) -> Exact:
    """Minimise, project onto the ball, put on the grid: the private vector, ready for its noise."""
    with np.errstate(all="ignore"):  # nothing about the votes may show, not even as an underflow that someone asked to be told of
        return _grid_minimiser(auxiliary, labels, plan)


def _grid_minimiser(auxiliary: AuxiliarySet, labels: Array, plan: Plan) -> Exact:
    promised, terms = plan.certificate, plan.terms
    tolerance = promised.solver_tolerance
    assert tolerance is not None
    risk = Risk(auxiliary.features, labels, terms.loss_for(auxiliary.n_classes), terms.lambda_)
    point = minimise(risk, tolerance).within(tolerance / terms.lambda_)
    if promised.radius is not None:
        point = onto_ball(point, promised.radius)
    return on_grid(plan.coordinates.of(point), promised.grid)


def _entries(
    facts: PublicFacts,
    terms: Terms,
    loss: Loss,
    stability: Stability,
    tolerance: float,
    coordinates: Coordinates,
    radius: float | None,
) -> list[SensitivityParts]:
    """The bounds to choose from: the paper's alone, or stability and ball."""
    solver = 2.0 * tolerance / terms.lambda_
    if radius is None:
        kappa = paper_label_gap(loss)
        bound = stability.private(kappa) if facts.private else stability.public(kappa, 1.0)
        return [SensitivityParts(rule="paper", bound=bound, solver=solver, rounding=0.0, grid=0.0)]
    kappa = loss.label_gap
    bound = stability.private(kappa) if facts.private else stability.public(kappa, facts.gradient_factor)
    size = facts.task.n_features * loss.n_outputs
    projecting = 2.0 * radius * ball_rounding(size)
    mapping = 2.0 * coordinates.rounding(radius * (1.0 + ball_rounding(size)))

    def entry(rule: str, bound: float, solver: float) -> SensitivityParts:
        stretching = (coordinates.stretch - 1.0) * (bound + solver + projecting)
        return SensitivityParts(rule=rule, bound=bound, solver=solver, rounding=projecting + mapping + stretching, grid=0.0)

    return [entry("stability", bound, solver), entry("ball", 2.0 * radius, 0.0)]
