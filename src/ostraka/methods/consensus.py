"""`consensus`: parties vote as in `soft`, but the noise goes on the votes' moments in whitened public coordinates, not on the minimiser.

    letter  name here    meaning
    B_j     –            party j's ballot: a one-hot row for each auxiliary sample
    Φ̂       white        the whitened auxiliary samples in units of a lattice: whole numbers, N×k
    Q̂       contrasts    class contrasts in units: whole numbers, K×(K−1)
    Y       –            Φ̂ᵀ(Σ_j B_j)Q̂, exact

Guarantee (consensus.proof.md): one party moves Σ_j B_j by a matrix whose N rows are differences of one-hot rows, at most √2 long; so Y
moves by at most ‖Φ̂‖₂·√(2N)·‖Q̂‖₂, and that bound is computed from the public tables themselves. With exactly whitened samples it is √2 for
the votes' moments Y/N: no λ, no feature norm, no N. Never worse than `soft` in regularised risk at the same noise (a test says so).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from ostraka.auxiliary import AuxiliarySet
from ostraka.errors import ParameterError, WrongTypeError, count
from ostraka.losses import UNIT_ROUNDOFF, Array
from ostraka.methods.denoise import best_k, feasible_labels, ridge, self_trained
from ostraka.methods.laws import l2_law, l2_variance, variance
from ostraka.methods.output_perturbation import Exact
from ostraka.methods.statistic import StatisticPlan, StatisticTerms, check_public, make_certificate
from ostraka.model import Task
from ostraka.noise import Entropy, Rehearsal
from ostraka.release import ChargeFirst, Rehearsed, Release
from ostraka.sensitivity.geometry import class_basis
from ostraka.solve.risk import gamma
from ostraka.tally import Tally
from ostraka.whitening import Whitening

__all__ = ["ConsensusRecipe", "plan", "statistic", "release"]

WHITE_BITS, CONTRAST_BITS = 20, 20
CONTRAST = 0.5
"""Votes of weak classifiers are spread over the classes: their differences are taken to be this much of what labels' would be."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ConsensusRecipe:
    """The public parts of a `consensus` poll."""

    features: Array
    white: Array
    """Φ̂ as float64: whole numbers, exactly."""
    contrasts: Array
    noise: float
    penalty: float | None = None
    """Of the fits after the noise, if it was set."""

    def weights(self, mean: Array) -> Array:
        """Labels with these moments, fitted."""
        n, n_classes = len(self.features), len(self.contrasts)
        white, contrasts = self.white * 2.0**-WHITE_BITS, self.contrasts * 2.0**-CONTRAST_BITS
        labels = feasible_labels(white, contrasts, mean.reshape(white.shape[1], -1) / n)
        weights = ridge(self.features, labels, n_classes * (self.noise**2 + 1.0 / n) if self.penalty is None else self.penalty)
        return weights if self.noise**2 < 1.0 / (8.0 * n) else self_trained(self.features, weights, penalty=self.penalty)

    def surprise(self, mean: Array) -> float | None:  # noqa: ARG002
        """Votes are cast on the auxiliary rows themselves: nothing of private features is in them."""
        return None


def plan(auxiliary: AuxiliarySet, n_parties: int, terms: StatisticTerms, k: int | None = None) -> StatisticPlan:
    """What a release by this many parties will promise, and how: known before anyone votes."""
    features, n_parties = check_public(auxiliary, terms), terms.checked_parties(n_parties)
    n, n_classes = len(features), auxiliary.n_classes
    whitening = Whitening.of(features)
    if k is None:
        ks = np.arange(1.0, whitening.rank + 1.0)
        spread = l2_variance(terms.epsilon, terms.delta, np.full_like(ks, math.sqrt(2.0) / n_parties), ks * (n_classes - 1))
        k = best_k(whitening.values, spread / CONTRAST**2, n_classes, n)
    k = count("k", k, 1, whitening.rank)
    white = np.rint(features @ whitening.map(k) * 2.0**WHITE_BITS)
    contrasts = np.rint(class_basis(n_classes) * 2.0**CONTRAST_BITS)
    _check_size(white, n_parties)
    dimension = k * (n_classes - 1)
    sensitivity = vote_sensitivity(white, contrasts)
    law = l2_law(terms.epsilon, terms.delta, sensitivity, dimension, terms.noise)
    grid = 2.0 ** -(WHITE_BITS + CONTRAST_BITS)
    noise = math.sqrt(variance(law)) * grid / (n_parties * n)
    recipe = ConsensusRecipe(features=features, white=white, contrasts=contrasts, noise=noise, penalty=terms.penalty)
    certificate = make_certificate(
        "consensus", auxiliary, n_parties, terms, law, sensitivity=sensitivity, grid=grid, radius=None,
        coordinates=f"{k} whitened directions, {n_classes - 1} differences of classes",
    )  # fmt: skip
    return StatisticPlan(certificate=certificate, task=Task.of(auxiliary), ball=None, law=law, recipe=recipe)


def vote_sensitivity(white: Array, contrasts: Array) -> float:
    """‖Φ̂‖₂·√(2N)·‖Q̂‖₂, rounded up: how far one ballot moves Y, in units; at least one, where the set has no extent."""
    product = _spectral_bound(white) * _spectral_bound(contrasts) * math.sqrt(2.0 * len(white)) * (1.0 + 8.0 * UNIT_ROUNDOFF)
    return max(1.0, product)


def statistic(tally: Tally, planned: StatisticPlan) -> Exact:
    """Y, in whole numbers from the counts on: no rounding, so no term for it."""
    recipe = planned.recipe
    if not isinstance(recipe, ConsensusRecipe):
        raise WrongTypeError("The plan", recipe, "a plan of consensus")
    _check_belongs(tally, planned)
    moments = _whole_product(recipe.white.astype(np.int64), tally.counts, tally.n_parties)
    # Python integers: counts times 20 bits times 20 bits may not fit into 64.
    return [int(unit) for unit in (moments @ recipe.contrasts.astype(np.int64).astype(object)).ravel()]


def release(
    tally: Tally, terms: StatisticTerms, source: Entropy | Rehearsal | None = None, charge: ChargeFirst = None
) -> Release | Rehearsed:
    """One classifier from everybody's votes. A seeded `source` makes a rehearsal of it."""
    if not isinstance(tally, Tally):
        raise WrongTypeError("The tally", tally, "a Tally to which the parties' ballots were added")
    planned = plan(tally.auxiliary, tally.n_parties, terms)
    return planned.publish_total(statistic(tally, planned), source or Entropy(), charge)


def _whole_product(white: NDArray[np.int64], counts: NDArray[np.int64], n_parties: int) -> NDArray[np.object_]:
    """Φ̂ᵀ·counts, exact: in 64 bits for as many rows as cannot overflow them, in Python integers from block to block."""
    largest = max(1, int(np.abs(white).max(initial=1)))
    rows = max(1, 2**62 // (largest * max(1, n_parties)))
    total = np.zeros((white.shape[1], counts.shape[1]), dtype=object)
    for start in range(0, len(white), rows):
        block = slice(start, start + rows)
        total += (white[block].T @ counts[block]).astype(object)
    return total


def _check_size(white: Array, n_parties: int) -> None:
    """So many votes must fit into 64 bits; decided before there are any."""
    most = 2**62 // (int(np.abs(white).max(initial=1.0)) + 1)
    if n_parties > most:
        raise ParameterError("n_parties", got=n_parties, allowed=f"up to {most} for this auxiliary set")


def _spectral_bound(table: Array) -> float:
    """‖table‖₂, rounded up: the root of the largest eigenvalue of its Gram matrix, and of what rounding may have hidden of it."""
    n, k = table.shape
    gram = table.T @ table
    trace = float(np.trace(gram)) * (1.0 + gamma(n + k + 4))
    largest = max(float(np.linalg.eigvalsh(gram)[-1]), 0.0)
    return math.sqrt(largest + (gamma(n + 4) + 16.0 * k * UNIT_ROUNDOFF) * trace) * (1.0 + 4.0 * UNIT_ROUNDOFF)


def _check_belongs(tally: Tally, planned: StatisticPlan) -> None:
    """Refuse a tally for which the plan was not made; compares public things only."""
    promised = planned.certificate
    if (tally.n_parties, tally.auxiliary.digest) != (promised.parties, promised.auxiliary_digest):
        got = f"for {promised.parties} parties and the auxiliary set {str(promised.auxiliary_digest)[:12]}..."
        raise ParameterError("plan", got=got, allowed=f"one for {tally.n_parties} parties and {tally.auxiliary.digest[:12]}...")
