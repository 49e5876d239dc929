"""`consensus`: parties vote as in `soft`, but the noise goes on the moments of the votes.

These are moments in whitened public coordinates; `soft` puts its noise on the minimiser.

    letter  name here    meaning
    B_j     –            party j's ballot: a one-hot row for each auxiliary sample
    Φ̂       white        the whitened auxiliary samples in units of a lattice: whole numbers, N×k
    Q̂       contrasts    class contrasts in units: whole numbers, K×(K−1)
    Y       –            Φ̂ᵀ(Σ_j B_j)Q̂, exact
    t       coarse       where nobody can check a ballot, a party sends Φ̂ᵀB_jQ̂/2ᵗ, rounded

Guarantee (consensus.proof.md): one party moves Σ_j B_j by a matrix whose N rows are differences of
one-hot rows, at most √2 long; so Y moves by at most ‖Φ̂‖₂·√(2N)·‖Q̂‖₂, and that bound is computed
from the public tables themselves. Rounded moments of two ballots are at most √D units further
apart. With exactly whitened samples it is √2 for the votes' moments
Y/N: no λ, no feature norm, no N. In regularised risk it is never worse than `soft` at the same
noise (there is a test).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import ParameterError, count
from ostraka.mechanism.geometry import class_basis
from ostraka.mechanism.laws import Exact, l2_variance
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.after_noise.denoise import best_k, feasible_labels, ridge, self_train
from ostraka.methods.base import (
    Block,
    Options,
    Work,
    check_positive,
    check_shapes,
    labels_again,
    public_features,
    whole,
)
from ostraka.methods.noisy_sum import differences, hidden_sum, numbers_sent
from ostraka.methods.votes import count_ballots
from ostraka.party.rows import Parties
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.public.task import Task
from ostraka.public.whitening import Whitening
from ostraka.solve.losses import UNIT_ROUNDOFF, Array, loss_for
from ostraka.solve.risk import gamma
from ostraka.tally.domain import Ball, Ballots, Domain, Units, longest

__all__ = ["Consensus", "vote_sensitivity"]

WHITE_BITS, CONTRAST_BITS = 20, 20
MOST_COARSE = 62
CONTRAST = 0.5
"""Differences of votes are assumed to be this much of differences of labels.

Votes of weak classifiers are spread over the classes.
"""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Consensus:
    """The public parts of a `consensus` poll."""

    name: ClassVar[str] = "consensus"
    start: ClassVar[None] = None

    features: Array = field(repr=False)
    white: Array
    """Φ̂ as float64: whole numbers, exactly."""
    contrasts: Array
    lambda_: float = 1e-4
    loss: str = "logistic"
    penalty: float | None = None
    """The penalty of the fits after the noise, if it was set."""
    student: str = "auto"
    """What learns the fitted model's answers; by default a line, if the noise is large enough."""
    coarse: int | None = None
    """t, where parties send moments; None: they send ballots."""
    _length: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        check_positive(self)
        check_shapes(
            features=(self.features, "Np"),
            white=(self.white, "Nk"),
            contrasts=(self.contrasts, "Kc"),
            differences=(self.contrasts[1:], "cc"),
        )
        for table in (self.white, self.contrasts):
            # The bound and the sum both come from the tables: they must be the same numbers.
            if not ((np.abs(table) < 2.0**52).all() and (table == np.rint(table)).all()):
                raise ParameterError("white, contrasts", got="others", allowed="whole numbers")
        if self.coarse is not None:
            count("coarse", self.coarse, 0, MOST_COARSE)
            length = math.ceil(self._reach * 2.0**-self.coarse + math.sqrt(self._dimension))
            object.__setattr__(self, "_length", length)

    @classmethod
    def create(
        cls,
        public: AuxiliarySet | Task,
        n_units: int,
        promise: Promise,
        options: Options,
        k: int | None = None,
    ) -> Consensus:
        """Choose directions, for this many units."""
        auxiliary, features = public_features(public, cls.name)
        n, n_classes = len(features), auxiliary.n_classes
        loss_for(n_classes, options.loss)
        whitening = Whitening.of(features)
        if k is None:
            ks = np.arange(1.0, whitening.rank + 1.0)
            moves = np.full_like(ks, math.sqrt(2.0) / n_units)
            one = l2_variance(promise.epsilon, promise.delta, moves, ks * (n_classes - 1))
            spread = promise.n_noises * one
            k = best_k(whitening.values, spread / CONTRAST**2, n_classes, n)
        k = count("k", k, 1, whitening.rank)
        made = cls(
            features=features,
            white=np.rint(features @ whitening.map(k) * 2.0**WHITE_BITS),
            contrasts=np.rint(class_basis(n_classes) * 2.0**CONTRAST_BITS),
            lambda_=options.lambda_,
            loss=options.loss,
            penalty=options.penalty,
            student=options.student,
        )
        return made if promise.servers is None else made.coarsen()

    def coarsen(self) -> Consensus:
        """The same poll where parties send the moments of their votes, on the finest lattice."""
        room = longest(self._dimension) - math.sqrt(self._dimension) - 2.0
        return replace(self, coarse=max(0, math.ceil(math.log2(self._reach / room))))

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.contrasts)

    @property
    def domain(self) -> Domain:
        """One vote for each auxiliary sample, or the moments of such votes."""
        if self.coarse is None:
            return self._ballots
        return Ball(norm="l2", length=self._length, dimension=self._dimension)

    def contribute(self, parties: Parties, work: Work) -> Iterator[Block]:
        """Every party's votes, counted; or their moments, a row each."""
        if self.coarse is None:
            yield from self._count(parties, work)
            return
        for place in range(len(parties)):
            for names, counts in self._count(parties.part(place, place + 1), work):
                yield names, self.moments_of(counts)[np.newaxis]

    def moments_of(self, counts: Units) -> Units:
        """What a party sends of its votes, one-hot in rows: Φ̂ᵀB_jQ̂/2ᵗ, halves rounded up."""
        assert self.coarse is not None
        half = (1 << self.coarse) >> 1
        exact = self._moments(counts, 1)
        return np.array([(unit + half) >> self.coarse for unit in exact], dtype=np.int64)

    def _count(self, parties: Parties, work: Work) -> Iterator[Block]:
        return count_ballots(parties, self.features, self._ballots, self.lambda_, self.loss, work)

    def mechanism(self, promise: Promise, n_units: int) -> Mechanism:
        """ℓ2 noise (or a Gaussian) for one ballot's move of Y."""
        coordinates = numbers_sent(self.white.shape[1], self.n_classes)
        sensitivity = vote_sensitivity(self.white, self.contrasts)
        grid = 2.0 ** -(WHITE_BITS + CONTRAST_BITS)
        if self.coarse is None:
            self._check_size(n_units)
        else:
            sensitivity = _add_rounding(sensitivity * 2.0**-self.coarse, self._dimension)
            grid *= 2.0**self.coarse
        return hidden_sum(sensitivity, self._dimension, grid, promise, n_units, coordinates)

    def statistic(self, total: Units, mechanism: Mechanism) -> Exact:
        """Y, in whole numbers from the counts on: no rounding, so no term for it."""
        if self.coarse is not None:
            return whole(total)
        return self._moments(total, mechanism.divisor)

    def _moments(self, counts: Units, n_units: int) -> Exact:
        """Φ̂ᵀ·counts·Q̂, exact."""
        moments = _whole_product(self.white.astype(np.int64), counts, n_units)
        # Python integers: counts times 20 bits times 20 bits may not fit into 64.
        contrasts = self.contrasts.astype(np.int64).astype(object)
        return [int(unit) for unit in (moments @ contrasts).ravel()]

    def weights(self, mean: Array, mechanism: Mechanism) -> Array:
        """Labels with these moments, fitted."""
        n, n_classes = len(self.features), len(self.contrasts)
        white, contrasts = self.white * 2.0**-WHITE_BITS, self.contrasts * 2.0**-CONTRAST_BITS
        labels = feasible_labels(white, contrasts, mean.reshape(white.shape[1], -1) / n)
        noise = mechanism.deviation / n
        penalty = n_classes * (noise**2 + 1.0 / n) if self.penalty is None else self.penalty
        weights = ridge(self.features, labels, penalty)
        if labels_again(self.student, noise**2 >= 1.0 / (8.0 * n)):
            weights = self_train(self.features, weights, penalty=self.penalty)
        return differences(weights)

    def surprise(self, mean: Array, mechanism: Mechanism) -> float | None:  # noqa: ARG002
        """None: votes are cast on the auxiliary rows, and private features do not enter them."""
        return None

    @property
    def _ballots(self) -> Ballots:
        return Ballots(n_samples=len(self.features), n_classes=len(self.contrasts))

    @property
    def _dimension(self) -> int:
        """D."""
        return int(self.white.shape[1] * self.contrasts.shape[1])

    @property
    def _reach(self) -> float:
        """How long the moments of a ballot can be: a row of B_jQ̂ is one of Q̂'s."""
        row = math.sqrt(float((self.contrasts**2).sum(axis=1).max()))
        product = _spectral_bound(self.white) * math.sqrt(len(self.white)) * row
        return max(1.0, product * (1.0 + 8.0 * UNIT_ROUNDOFF))

    def _check_size(self, n_units: int) -> None:
        """Refuse more votes than fit into 64 bits, before there are any."""
        most = 2**62 // (int(np.abs(self.white).max(initial=1.0)) + 1)
        if n_units > most:
            allowed = f"up to {most} for this auxiliary set"
            raise ParameterError("parties", got=n_units, allowed=allowed)


def vote_sensitivity(white: Array, contrasts: Array) -> float:
    """‖Φ̂‖₂·√(2N)·‖Q̂‖₂, rounded up: how far one ballot moves Y, in units.

    At least one unit, for a set without extent.
    """
    product = _spectral_bound(white) * _spectral_bound(contrasts) * math.sqrt(2.0 * len(white))
    return max(1.0, product * (1.0 + 8.0 * UNIT_ROUNDOFF))


def _add_rounding(sensitivity: float, dimension: int) -> float:
    """Each of two vectors is rounded by at most ½ in each coordinate: √D more, rounded up."""
    return (sensitivity + math.sqrt(dimension)) * (1.0 + 4.0 * UNIT_ROUNDOFF)


def _whole_product(
    white: NDArray[np.int64], counts: NDArray[np.int64], n_units: int
) -> NDArray[np.object_]:
    """Φ̂ᵀ·counts, exact.

    Computed in 64 bits for as many rows as cannot overflow them, and added up block by block in
    Python integers.
    """
    largest = max(1, int(np.abs(white).max(initial=1)))
    rows = max(1, 2**62 // (largest * max(1, n_units)))
    total = np.zeros((white.shape[1], counts.shape[1]), dtype=object)
    for start in range(0, len(white), rows):
        block = slice(start, start + rows)
        total += (white[block].T @ counts[block]).astype(object)
    return total


def _spectral_bound(table: Array) -> float:
    """‖table‖₂, rounded up.

    The root of the largest eigenvalue of its Gram matrix plus what rounding may have hidden of it.
    """
    n, k = table.shape
    gram = table.T @ table
    trace = float(np.trace(gram)) * (1.0 + gamma(n + k + 4))
    largest = max(float(np.linalg.eigvalsh(gram)[-1]), 0.0)
    hidden = (gamma(n + 4) + 16.0 * k * UNIT_ROUNDOFF) * trace
    return math.sqrt(largest + hidden) * (1.0 + 4.0 * UNIT_ROUNDOFF)
