"""`refine`: a second round. The first release is public, so parties need only send what it leaves unexplained of their labels.

    letter  name here    meaning
    W₀      start        the model of an earlier release, p×K
    t       sharpness    a public factor that makes W₀ as sure of the auxiliary samples as `SURE`
    s(x)    guesses      the nearest point of the simplex to t·W₀ᵀx: the start's soft labels   [Martins and Astudillo 2016, sparsemax]
    Y_j     –            (1/n_j) Σ_i z_i (e_{y_i} − s(x_i))ᵀQ: what party j sends, shortened to length b and rounded to the lattice

Guarantee (statistic.proof.md): as for `moments`, two vectors of the ball are at most 2B units apart, whatever the data and the start. The
start is a release of its own, with its own ε: whoever took part in both has spent the sum, and the certificate says so. From a rehearsal
comes only a rehearsal.

Why it helps: where the start is right, a party sends next to nothing, so the ball is small and the noise too; and the correction is the
slope of the loss on private rows, so that it does not matter how far auxiliary rows are from them. One step of Newton's method, with the
curvature from the auxiliary set, then one step of self-training as in the other methods; with `shift` a shorter step and no self-training,
which would give unlike auxiliary rows the last word. It pays where the first round is accurate already: at large ε, with many parties. At
most one such round: a third has less to find than it costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.auxiliary import AuxiliarySet
from ostraka.contributions import own_products
from ostraka.errors import ParameterError, WrongTypeError
from ostraka.local.parties import Parties
from ostraka.losses import Array
from ostraka.methods.denoise import onto_simplex, self_trained
from ostraka.methods.party_vectors import Units, choose_directions, party_means, rounded_blocks
from ostraka.methods.simulated import SimulatedParties
from ostraka.methods.statistic import StatisticPlan, StatisticTerms, check_public, make_certificate
from ostraka.model import Task
from ostraka.noise import Entropy, Rehearsal
from ostraka.release import ChargeFirst, Rehearsed, Release
from ostraka.sensitivity.geometry import class_basis
from ostraka.whitening import Whitening

__all__ = ["RefineRecipe", "plan", "contributions", "release"]

SURE = 0.9
"""The mean of the largest entry of s(x) over the auxiliary set."""
DOUBT = 0.05
"""Simulated labels are drawn from s(x), and with this probability at random: nobody is sure of everything."""
CONTRAST = 0.5
"""What is left of the labels is taken to be this much of them, for the choice of directions."""
STEP, STEP_ALONE = 0.5, 0.25
"""Of Newton's method, with self-training after it and without."""
LEAST_CURVATURE = 0.02


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RefineRecipe:
    """The public parts of a second round."""

    features: Array
    start: Array
    """t·W₀."""
    whitening: Array
    damped: Array
    """U_k diag(√c/(c + τ)), with the mean of c for τ: from whitened coordinates to weights, cautious where the set is narrow."""
    contrasts: Array
    clip_factor: float
    self_training: bool
    penalty: float | None = None
    """Of the last fit, if it was set."""

    def residuals(self, features: Any, labels: NDArray[Any]) -> Array:
        """(e_y − s(x))ᵀQ for each row, from that row alone: no product of matrices, see `own_products`."""
        missing = np.eye(len(self.contrasts))[labels] - self.guesses(features)
        found = np.zeros((len(missing), self.contrasts.shape[1]))
        for k, row in enumerate(self.contrasts):
            found += missing[:, [k]] * row
        return found

    def guesses(self, features: Any) -> Array:
        """s(x), a row for each sample."""
        return onto_simplex(own_products(features, self.start))

    def weights(self, mean: Array) -> Array:
        """A step of Newton's method from the start; then the model labels X once more, if X is like the private rows."""
        missing = mean.reshape(self.whitening.shape[1], -1) / self.clip_factor
        n_others = np.count_nonzero(self.guesses(self.features), axis=1) - 1.0
        curvature = max(float(n_others.mean()) / (len(self.contrasts) - 1), LEAST_CURVATURE)
        step = STEP if self.self_training else STEP_ALONE
        moved: Array = self.start + step / curvature * self.damped @ missing @ self.contrasts.T
        return self_trained(self.features, moved, penalty=self.penalty) if self.self_training else moved

    def surprise(self, mean: Array) -> float | None:  # noqa: ARG002
        """The correction is right on private rows, however they are distributed: there is nothing to be warned of."""
        return None


def plan(start: Release | Rehearsed, auxiliary: AuxiliarySet, n_parties: int, terms: StatisticTerms) -> StatisticPlan:
    """What a second round by this many parties will promise, and how: known before anyone contributes."""
    features, n_parties = check_public(auxiliary, terms), terms.checked_parties(n_parties)
    _check_start(start, auxiliary)
    sharp, whitening, contrasts = _sharpened(start.model.weights, features), Whitening.of(features), class_basis(auxiliary.n_classes)
    guesses = onto_simplex(own_products(features, sharp))

    def values(rows: NDArray[Any], generator: np.random.Generator) -> Array:
        answers = (guesses[rows].cumsum(axis=2) < generator.random((*rows.shape, 1))).sum(axis=2).clip(0, auxiliary.n_classes - 1)
        answers = np.where(generator.random(rows.shape) < DOUBT, generator.integers(0, auxiliary.n_classes, rows.shape), answers)
        missing: Array = (np.eye(auxiliary.n_classes)[answers] - guesses[rows]) @ contrasts
        return missing

    simulated = SimulatedParties.of(features @ whitening.map(whitening.rank), terms.samples_each, values)
    chosen = choose_directions(simulated, whitening, len(features), auxiliary.n_classes, n_parties, terms, signal=CONTRAST)
    extents = np.sqrt(whitening.values[: chosen.k])
    recipe = RefineRecipe(
        features=features,
        start=sharp,
        whitening=whitening.map(chosen.k),
        damped=whitening.basis[:, : chosen.k] * (extents / (extents**2 + whitening.values.mean())),
        contrasts=contrasts,
        clip_factor=chosen.clip_factor,
        self_training=not terms.shift,
        penalty=terms.penalty,
    )
    certificate = make_certificate(
        "refine", auxiliary, n_parties, _with_assumptions(terms, start), chosen.law,
        sensitivity=float(chosen.ball.diameter), grid=chosen.grid, radius=chosen.ball.length * chosen.grid,
        coordinates=f"{chosen.k} whitened directions, {contrasts.shape[1]} differences of classes, less what the start explains",
        start=start,
    )  # fmt: skip
    return StatisticPlan(certificate=certificate, task=Task.of(auxiliary), ball=chosen.ball, law=chosen.law, recipe=recipe)


def contributions(parties: Parties, planned: StatisticPlan) -> Iterator[Units]:
    """What every party sends, many parties to a block; each row depends on its own party alone."""
    recipe = planned.recipe
    if not isinstance(recipe, RefineRecipe):
        raise WrongTypeError("The plan", recipe, "a plan of refine")

    def means(part: Parties) -> Array:
        return party_means(own_products(part.features, recipe.whitening), recipe.residuals(part.features, part.labels), part.starts)

    return rounded_blocks(parties, planned, means)


def release(
    start: Release | Rehearsed,
    parties: Parties,
    auxiliary: AuxiliarySet,
    terms: StatisticTerms,
    source: Entropy | Rehearsal | None = None,
    charge: ChargeFirst = None,
) -> Release | Rehearsed:
    """A better classifier from what the start leaves unexplained. A seeded `source` makes a rehearsal of it."""
    planned = plan(start, auxiliary, len(parties), terms)
    return planned.publish(planned.added(contributions(parties, planned)), source or Entropy(), charge)


def _check_start(start: object, auxiliary: AuxiliarySet) -> None:
    """Refuse what is no release, or one that speaks of other features or classes."""
    if not isinstance(start, Release | Rehearsed):
        raise WrongTypeError("The start", start, "an earlier Release")
    task, own = start.model.task, Task.of(auxiliary)
    if (task.classes, task.n_features, task.preprocessing) != (own.classes, own.n_features, own.preprocessing):
        raise ParameterError(
            "start",
            got=f"a model of the classes {task.classes} on {task.n_features} features",
            allowed=f"one of {own.classes} on the {own.n_features} features of the auxiliary set, by the same preprocessing",
        )


def _with_assumptions(terms: StatisticTerms, start: Release | Rehearsed) -> StatisticTerms:
    """What the start took to be public is so here, too."""
    return replace(terms, assumed_public=tuple(dict.fromkeys((*start.certificate.assumed_public, *terms.assumed_public))))


def _sharpened(start: Array, features: Array) -> Array:
    """t·W₀, p×K: t by bisection on the auxiliary set."""
    weights = np.array(start if start.ndim == 2 else np.stack([-start, start], axis=1) / 2.0)
    weights /= max(float(np.abs(weights).max()), np.finfo(np.float64).tiny)
    scores = own_products(features, weights)
    low, high = -20.0, 40.0
    for _ in range(50):
        middle = (low + high) / 2.0
        sure = float(onto_simplex(math.exp(middle) * scores).max(axis=1).mean()) >= SURE
        low, high = (low, middle) if sure else (middle, high)
    sharpened: Array = math.exp(high) * weights
    return sharpened
