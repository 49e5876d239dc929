"""`avg`: the mean of the parties' own parameter vectors.

Every vector is projected onto a public ball and put on the grid as it arrives, then summed in whole numbers: the bound holds whatever a
party sends, and the order of arrival leaves no trace. `radius` may be set to anything smaller than the default.

Source: Pathak, Rane, Raj, NIPS 2010, as used by Hamm, Cao, Belkin, ICML 2016, section 5; the ball is ours.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ostraka.certificate import ONE_PARTY, Certificate, SensitivityParts
from ostraka.errors import ParameterError, ShapeError, WrongTypeError, number
from ostraka.losses import Array, Loss
from ostraka.methods.output_perturbation import Exact, Plan, calibrate, on_grid
from ostraka.methods.terms import Terms
from ostraka.model import LinearModel, Task
from ostraka.noise import Entropy, Rehearsal
from ostraka.release import ChargeFirst, Rehearsed, Release
from ostraka.sensitivity.ball import ball_rounding, onto_ball
from ostraka.sensitivity.bounds import minimiser_radius, paper_average
from ostraka.sensitivity.coordinates import Coordinates

__all__ = ["plan", "statistic", "contribution", "release"]

RADII = (1e-12, 1e12)


def plan(task: Task, n_parties: int, terms: Terms, radius: float | None = None) -> Plan:
    """What a release by this many parties will promise: known before anyone sends parameters."""
    if not isinstance(task, Task):
        raise WrongTypeError("The task", task, "a Task; of an auxiliary set, Task.of(auxiliary)")
    n_parties = terms.checked_parties(n_parties)
    loss = terms.loss_for(len(task.classes))
    ball = _radius(loss, terms, radius)
    tight = terms.calibration == "tight"
    coordinates = (Coordinates.reduced if tight else Coordinates.all_weights)(task.n_features, loss.n_outputs)
    parts = _ball_parts(ball, coordinates, n_parties, "ball" if tight else "paper")
    # Each contribution is put on the grid once, and their mean once more.
    calibrated = calibrate([parts], coordinates.dimension, terms.epsilon, n_roundings=1.0 + 1.0 / n_parties)
    certificate = Certificate(
        method="avg",
        calibration=terms.calibration,
        loss=loss.name,
        epsilon=float(terms.epsilon),
        delta=0.0,
        neighbours=ONE_PARTY,
        parties=n_parties,
        auxiliary_samples=None,
        auxiliary_digest=None,
        lambda_=float(terms.lambda_),
        sensitivity=calibrated.sensitivity,
        sensitivity_parts=calibrated.parts,
        noise="l2",
        noise_scale=calibrated.noise_scale,
        grid=calibrated.spacing,
        dimension=coordinates.dimension,
        coordinates=coordinates.description,
        radius=ball,
        solver_tolerance=None,
        assumed_public=terms.assumed_public,
    )
    return Plan(certificate=certificate, coordinates=coordinates, task=task, terms=terms)


def statistic(parameters: Iterable[Array | LinearModel], planned: Plan) -> Exact:
    """The private vector: the mean of the contributions, summed in whole numbers, on the grid."""
    n_parties = planned.certificate.parties
    total = np.zeros(planned.certificate.dimension, dtype=object)
    arrived = 0
    for party, weights in enumerate(parameters):
        total += np.array(contribution(weights, planned, party), dtype=object)
        arrived += 1
    if arrived != n_parties:
        raise ParameterError("n_parties", got=n_parties, allowed=f"{arrived}, as many as sent parameters")
    return [(2 * unit + n_parties) // (2 * n_parties) for unit in total]


def release(
    parameters: Iterable[Array | LinearModel],
    task: Task,
    n_parties: int,
    terms: Terms,
    *,
    radius: float | None = None,
    source: Entropy | Rehearsal | None = None,
    charge: ChargeFirst = None,
) -> Release | Rehearsed:
    """The mean of the parameters of `n_parties` parties, which may come from a stream.

    Parameters are `LinearModel`s, or arrays of shape (d,) for two classes and (d, K) for more (scikit-learn's `coef_` transposed), over the
    features of the task: `local.linear.train(samples, labels, task)` makes them.
    """
    planned = plan(task, n_parties, terms, radius)
    return planned.publish(statistic(parameters, planned), source or Entropy(), charge)


def contribution(weights: Array | LinearModel, planned: Plan, party: object) -> Exact:
    """One party's vector: projected onto the ball, put on the grid."""
    try:
        weights = np.asarray(weights.weights if isinstance(weights, LinearModel) else weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise WrongTypeError(f"What party {party!r} sent", weights, "a LinearModel or an array of parameters") from None
    if weights.shape != planned.task.weight_shape:
        raise ShapeError(f"The parameters of party {party!r}", got=weights.shape, allowed=str(planned.task.weight_shape))
    radius = planned.certificate.radius
    assert radius is not None
    with np.errstate(all="ignore"):
        # Numbers that are none count as zero: refusing them here would tell that somebody sent some.
        weights = weights if np.isfinite(weights).all() else np.zeros_like(weights)
        return on_grid(planned.coordinates.of(onto_ball(weights, radius)), planned.certificate.grid)


def _radius(loss: Loss, terms: Terms, chosen: float | None) -> float:
    """The public ball: the paper's 1/λ (√2/λ), ours, or a smaller one that was agreed on."""
    if terms.calibration == "paper":
        if chosen is not None:
            raise ParameterError("radius", got=chosen, allowed='None for calibration "paper"')
        return paper_average(loss, terms.lambda_, 1) / 2.0
    largest = minimiser_radius(loss, terms.lambda_)
    if chosen is None:
        return largest
    return min(number("radius", chosen, *RADII), largest)


def _ball_parts(ball: float, coordinates: Coordinates, n_parties: int, rule: str) -> SensitivityParts:
    """2b/M, and the rounding of projecting and mapping two vectors."""
    bound = 2.0 * ball / n_parties
    slack = ball_rounding(coordinates.n_features * coordinates.n_outputs)
    stretching = (coordinates.stretch - 1.0) * (1.0 + slack) * bound
    mapping = 2.0 * coordinates.rounding(ball * (1.0 + slack)) / n_parties
    return SensitivityParts(rule=rule, bound=bound, solver=0.0, rounding=slack * bound + stretching + mapping, grid=0.0)
