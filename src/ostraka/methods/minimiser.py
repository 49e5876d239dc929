"""What `soft` and `vote` share: one global risk over the auxiliary set, minimised, perturbed.

They differ in the labels alone, hence in how far one party moves them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from ostraka.auxiliary import AuxiliarySet
from ostraka.certificate import ONE_PARTY, ONE_PARTY_AND_SAMPLE, Certificate, SensitivityParts
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

__all__ = ["Stability", "make_plan", "grid_minimiser"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Stability:
    """A method's own bounds on how far one party moves the exact minimiser."""

    name: str
    public: Callable[[float, float], float]
    """(κ, μ) ↦ S for a public auxiliary set."""
    private: Callable[[float], float]
    """κ ↦ S when one auxiliary sample changes too."""


def make_plan(auxiliary: AuxiliarySet, n_parties: int, terms: Terms, stability: Stability) -> Plan:
    """Everything that is known before the votes are."""
    terms.check_parties(n_parties)
    loss = terms.loss_for(auxiliary.n_classes)
    tolerance = default_tolerance(_shape(auxiliary, loss, terms.lambda_))
    tight = terms.calibration == "tight"
    coordinates = _coordinates(auxiliary, loss, tight)
    radius = minimiser_radius(loss, terms.lambda_) if tight else None
    entries = _entries(auxiliary, terms, loss, stability, tolerance, coordinates, radius)
    calibrated = calibrate(entries, coordinates.dimension, terms.epsilon)
    certificate = Certificate(
        method=stability.name,
        calibration=terms.calibration,
        loss=loss.name,
        epsilon=float(terms.epsilon),
        delta=0.0,
        neighbours=ONE_PARTY_AND_SAMPLE if auxiliary.private else ONE_PARTY,
        parties=n_parties,
        auxiliary_samples=auxiliary.n_samples,
        auxiliary_digest=auxiliary.public_digest,
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
    )
    return Plan(certificate=certificate, coordinates=coordinates, task=Task.of(auxiliary))


def grid_minimiser(auxiliary: AuxiliarySet, labels: Array, terms: Terms, plan: Plan) -> Exact:
    """Minimise, project onto the ball, put on the grid: the private vector, ready for its noise."""
    promised = plan.certificate
    tolerance = promised.solver_tolerance
    assert tolerance is not None
    risk = Risk(auxiliary.features, labels, terms.loss_for(auxiliary.n_classes), terms.lambda_)
    point = minimise(risk, tolerance).within(tolerance / terms.lambda_)
    if promised.radius is not None:
        point = onto_ball(point, promised.radius)
    return on_grid(plan.coordinates.of(point), promised.grid)


def _shape(auxiliary: AuxiliarySet, loss: Loss, lambda_: float) -> RiskShape:
    """The shape for which the tolerance is promised: of a private set, nothing but its size is used."""
    n, d = auxiliary.n_samples, auxiliary.n_features
    terms = d
    if is_sparse(auxiliary.features) and not auxiliary.private:
        terms = int((auxiliary.features.indptr[1:] - auxiliary.features.indptr[:-1]).max())
    return RiskShape(n_samples=n, n_features=d, row_terms=terms, loss=loss, lambda_=lambda_)


def _coordinates(auxiliary: AuxiliarySet, loss: Loss, tight: bool) -> Coordinates:
    if not tight:
        return Coordinates.all_weights(auxiliary.n_features, loss.n_outputs)
    span = None if auxiliary.private else span_basis(auxiliary.features)
    return Coordinates.reduced(auxiliary.n_features, loss.n_outputs, span)


def _entries(
    auxiliary: AuxiliarySet,
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
        bound = stability.private(kappa) if auxiliary.private else stability.public(kappa, 1.0)
        return [SensitivityParts(rule="paper", bound=bound, solver=solver, rounding=0.0, grid=0.0)]
    kappa = loss.label_gap
    bound = stability.private(kappa) if auxiliary.private else stability.public(kappa, gradient_factor(auxiliary.features))
    size = auxiliary.n_features * loss.n_outputs
    projecting = 2.0 * radius * ball_rounding(size)
    mapping = 2.0 * coordinates.rounding(radius * (1.0 + ball_rounding(size)))

    def entry(rule: str, bound: float, solver: float) -> SensitivityParts:
        stretching = (coordinates.stretch - 1.0) * (bound + solver + projecting)
        return SensitivityParts(rule=rule, bound=bound, solver=solver, rounding=projecting + mapping + stretching, grid=0.0)

    return [entry("stability", bound, solver), entry("ball", 2.0 * radius, 0.0)]
