"""`moments`: every party sends how its labels and its features vary together, and its class shares.

There is no local training, and one upload.

    letter  name here    meaning
    z_i     –            W_kᵀx_i − centre: a sample in the k widest directions of the auxiliary set,
                         whitened
    Q       contrasts    K×(K−1), orthonormal columns orthogonal to 1
    p_j     –            the class shares of party j
    w       within       how much of its own mean label a party subtracts, from ½ to 1
    Y_j     –            (p_jᵀQ; (1/n_j) Σ_i z_i (e_{y_i} − s_j p_j)ᵀQ) with s_j = w(1 − 1/n_j):
                         what party j sends, k+1 rows, shortened to length b, rounded; with
                         `shift` the mean of z_i/√K in a last column
    c_j     –            what shortening has left of Y_j, from 0 to 1: sent as tb(c_j − ½), one
                         more number
    t       TOLD         its range beside b
    B       length       the ball of both, in units: its radius is b√(1 + t²/4)
    cf      clip_factor  the mean of c_j for typical parties, simulated in public
    ν       –            standard deviation of one coordinate of the released mean over that of c_j

Guarantee (noisy_sum.proof.md): two vectors of the ball are at most 2B units apart,
whatever the data and whatever W_k; ε-private or (ε, δ).

Accuracy: with w = 1 only what varies within parties is left, and a party that lives in a corner of
the population, with classes of its own, does not bend the model. But where parties are clusters of
the rows, each with one class, nothing varies within them, and all that can be learnt lies between
them. With w = 0 that is there; and the product of the mean label and the mean feature of all
parties, too, which is 0 only if parties and public rows are alike on average. So w = 1 − m/2, where
m is the share of the table that is measured numbers (`public.measured`): of categories, parties are
groups, and w = 1; of measured numbers, they may be clusters, and half of what lies between them is
taken. (Dealt samples do not care, but for noise.) Of K > 2 classes w = ½ always: what is taken too
much points along the class shares, one direction of K − 1 between classes, and leaves the others as
they are; of two classes there is no other. A party of n rows shows 1 − s/n of the covariance
on average: with one row nothing is subtracted, and all is shown. From the class shares and this
covariance one can solve for the classifier that all data would give (`after_noise.posterior`). b, k
and cf come from simulated parties: auxiliary rows with labels of random softmax models. Real
parties may be shortened far more than these, natural ones most: dividing by the released mean of
c_j makes up for it. (Parties that send less count less in that quotient, on both sides.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import ShapeError, number
from ostraka.mechanism.geometry import class_basis
from ostraka.mechanism.laws import Exact
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.after_noise.denoise import signal_shares, uniform
from ostraka.methods.after_noise.posterior import Evidence, fit_softmax, likely_shares, spread
from ostraka.methods.after_noise.shift import ALARM, shrink, surprise, tilt
from ostraka.methods.after_noise.student import (
    Fitted,
    add_bias,
    covary,
    even_out,
    soften,
    softmax,
    sureness,
    teach,
)
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
from ostraka.methods.noisy_sum import hidden_ball, numbers_sent
from ostraka.methods.party_means import party_covariances
from ostraka.methods.party_vectors import choose_directions, lengthen, round_blocks
from ostraka.methods.simulated import SimulatedParties
from ostraka.party.products import own_products
from ostraka.party.rows import Parties
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.measured import encoded_rows, share_measured
from ostraka.public.promise import Promise
from ostraka.public.task import Task
from ostraka.public.whitening import Whitening
from ostraka.solve.losses import Array
from ostraka.tally.domain import Ball, Units

__all__ = ["Moments"]

TOLD = 0.6
"""Costs 4 % more noise. A party without rows sends 0 throughout and counts as half shortened."""
LEAST_KEPT = 0.1
KEPT_SPREAD = 0.2
"""How far the mean of c_j typically is from what was simulated."""
LEAST_DOUBT = 1.0 / 3.0
"""A student keeps at least this share of its teacher's doubt."""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Moments:
    """The public parts of a `moments` poll."""

    name: ClassVar[str] = "moments"
    start: ClassVar[None] = None

    features: Array = field(repr=False)
    whitening: Array
    centre: Array
    """The mean of the auxiliary set in these directions."""
    signal: Array
    """The share of all signal that each direction is assumed to hold."""
    contrasts: Array
    length: int
    grid: float
    clip_factor: float
    samples_each: int
    with_mean: bool = False
    """Whether the mean feature is released, too (`shift`)."""
    penalty: float | None = None
    """How little to trust the released covariance, if it was set."""
    student: str = "auto"
    """What learns the fitted model's answers; by default something if classes hardly overlap."""
    objective: str = "accuracy"
    """ "balanced": classes are told apart as if all were equally common."""
    within: float = 1.0
    """w."""

    def __post_init__(self) -> None:
        check_positive(self)
        found = check_shapes(
            features=(self.features, "Np"),
            whitening=(self.whitening, "pk"),
            centre=(self.centre, "k"),
            signal=(self.signal, "k"),
            contrasts=(self.contrasts, "Kc"),
        )
        if found["c"] != found["K"] - 1:
            raise ShapeError("contrasts", got=self.contrasts.shape, allowed="K rows, K−1 columns")
        if not (self.signal > 0.0).all():
            raise ShapeError("signal", got="0 or less", allowed="positive numbers")
        # As one double: a poll has one form, whoever made it.
        object.__setattr__(self, "within", number("within", self.within, 0.0, 1.0) + 0.0)

    @classmethod
    def create(
        cls,
        public: AuxiliarySet | Task,
        n_units: int,
        promise: Promise,
        options: Options,
        *,
        measured: float | None = None,
    ) -> Moments:
        """Choose the directions and the ball, for this many units.

        `measured`: m, if it is known already.
        """
        auxiliary, features = public_features(public, cls.name)
        if measured is None:
            measured = share_measured(encoded_rows(auxiliary)[1])
        within = 0.5 if auxiliary.n_classes > 2 else 1.0 - measured / 2.0
        whitening, centre, signal, contrasts, simulated = _simulate(
            auxiliary, options.samples_each, within, options.shift
        )
        n_classes = auxiliary.n_classes
        chosen = choose_directions(
            simulated,
            whitening,
            len(features),
            n_classes,
            n_units,
            promise,
            first_rows=1,
            told=TOLD,
        )
        return cls(
            features=features,
            whitening=whitening.map(chosen.k),
            centre=centre[: chosen.k],
            signal=signal[: chosen.k],
            contrasts=contrasts,
            length=chosen.ball.length,
            grid=chosen.grid,
            clip_factor=chosen.clip_factor,
            samples_each=options.samples_each,
            with_mean=options.shift,
            penalty=options.penalty,
            student=options.student,
            objective=options.objective,
            within=within,
        )

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.contrasts)

    @property
    def domain(self) -> Ball:
        """(k+1)·(K−1) numbers and one more in an L2 ball; with the mean feature (k+1)·K and one."""
        n_columns = self.contrasts.shape[1] + self.with_mean
        dimension = (self.whitening.shape[1] + 1) * n_columns + 1
        return Ball(norm="l2", length=self.length, dimension=dimension)

    def contribute(self, parties: Parties, work: Work) -> Iterator[Block]:  # noqa: ARG002
        """Every party's vector; each row depends on its own party alone."""

        def vectors(part: Parties) -> Array:
            white = own_products(part.features, self.whitening) - self.centre
            found = party_covariances(
                white,
                self.contrasts[part.labels],
                part.starts,
                within=self.within,
                with_mean=self.with_mean,
            )
            return self.shorten(found, np.diff(part.starts) > 0)

        return round_blocks(parties, self.domain, self.grid, vectors)

    def shorten(self, vectors: Array, filled: NDArray[np.bool_]) -> Array:
        """Y_j, a row each, shortened to b, and what that left; 0 of a party without rows."""
        peaks = np.maximum(np.abs(vectors).max(axis=1), np.finfo(np.float64).tiny)
        # The largest entry is 1: no square overflows.
        lengths = np.linalg.norm(vectors / peaks[:, np.newaxis], axis=1)
        kept = np.minimum(1.0, self._radius / peaks / np.maximum(lengths, 1.0))
        told = TOLD * self._radius * np.where(filled, kept - 0.5, 0.0)
        return np.column_stack([vectors * kept[:, np.newaxis], told])

    def mechanism(self, promise: Promise, n_units: int) -> Mechanism:
        """ℓ2 noise (or a Gaussian) for two vectors of the ball."""
        mean = " and their mean" if self.with_mean else ""
        sent = numbers_sent(self.whitening.shape[1], self.n_classes)
        return hidden_ball(
            self.domain,
            self.grid,
            promise,
            n_units,
            f"{sent}{mean}, class shares, and how much was kept of them",
        )

    def statistic(self, total: Units, mechanism: Mechanism) -> Exact:  # noqa: ARG002
        """The sum itself."""
        return whole(total)

    def weights(self, mean: Array, mechanism: Mechanism) -> Array:
        """Those of the model, aimed at the objective."""
        return self.fit(mean, mechanism).aim(self.objective, self.features)

    def fit(self, mean: Array, mechanism: Mechanism) -> Fitted:
        """The most probable model; where classes hardly overlap, a student of it."""
        found = self._evidence(mean, mechanism)
        white = self.features @ self.whitening - self.centre
        rows, penalties = self._rows(white, mean, mechanism), found.penalties(self.penalty)
        slopes, bias = fit_softmax(white, found.target, found.shares, penalties, rows)
        scores = white @ slopes + bias
        if labels_again(self.student, found.separated):
            shares = even_out(found.shares) if found.separated else found.shares
            weights, apart = teach(self.features, scores, shares, self.penalty, rows)
            factor = self._surer(found, slopes, penalties, scores, apart, rows)
            weights, apart = factor * weights, factor * apart
        else:
            bias = bias - self.centre @ slopes
            weights, apart = add_bias(self.features, self.whitening @ slopes, bias), scores
        return Fitted(weights=weights, apart=apart, shares=found.shares, rows=rows)

    def _surer(
        self,
        found: Evidence,
        slopes: Array,
        penalties: Array,
        scores: Array,
        answers: Array,
        rows: Array | None,
    ) -> float:
        """How sure a student may be.

        Its probabilities shall vary with the teacher's scores more than the teacher's own, which is
        too cautious, and less than the labels do as far as F tells: no line is as sure as separated
        classes are. And it keeps some of the teacher's doubt, whatever F tells.
        """
        centred = scores - (uniform(scores) if rows is None else rows) @ scores
        own = covary(centred, softmax(scores), rows)
        told, variance = found.covariance(slopes, penalties)
        # Not own**2, which raises where it overflows.
        trust = 0.5 * own * own / max(own * own + 4.0 * variance, np.finfo(np.float64).tiny)
        aim = own + trust * max(0.0, told - own)
        doubt = 1.0 - sureness(softmax(scores), rows)
        return min(
            soften(answers, partial(covary, centred, rows=rows), aim),
            soften(answers, partial(sureness, rows=rows), 1.0 - LEAST_DOUBT * doubt),
        )

    def class_shares(self, mean: Array, mechanism: Mechanism) -> tuple[Array, float]:
        """How common each class is, and the deviation of that."""
        released = self._released(mean, mechanism)[0, : self.n_classes - 1]
        return 1.0 / self.n_classes + self.contrasts @ released, self._noise(mean, mechanism)

    def separates(self, mean: Array, mechanism: Mechanism) -> bool:
        """Whether classes hardly overlap, as far as what was released tells."""
        return self._evidence(mean, mechanism).separated

    def surprise(self, mean: Array, mechanism: Mechanism) -> float | None:
        """The surprise of the private mean feature, if it was released.

        Otherwise of labels that vary with the features more than labels can vary.
        """
        if self.with_mean:
            return surprise(*self._gaps(mean, mechanism))
        return self._evidence(mean, mechanism).surplus

    @property
    def _radius(self) -> float:
        """b."""
        return self.length * self.grid / lengthen(TOLD)

    def _kept(self, mean: Array, mechanism: Mechanism) -> float:
        """The mean of c_j: what was released of it and what was simulated, by their precision."""
        unit = TOLD * self._radius
        measured, known = mechanism.deviation / unit, KEPT_SPREAD
        weight = known**2 / (known**2 + measured**2)
        kept = self.clip_factor + weight * (0.5 + float(mean[-1]) / unit - self.clip_factor)
        return float(np.clip(kept, LEAST_KEPT, 1.0))

    def _released(self, mean: Array, mechanism: Mechanism) -> Array:
        """The mean of the parties' vectors, k+1 rows, as if nobody had been shortened."""
        rows = mean[:-1].reshape(self.whitening.shape[1] + 1, -1)
        return np.asarray(rows / self._kept(mean, mechanism))

    def _noise(self, mean: Array, mechanism: Mechanism) -> float:
        """ν."""
        return mechanism.deviation / self._kept(mean, mechanism)

    def _private(self, mechanism: Mechanism) -> float:
        """One over the number of private samples, as far as it was declared."""
        return 1.0 / (float(mechanism.divisor) * self.samples_each)

    def _evidence(self, mean: Array, mechanism: Mechanism) -> Evidence:
        """π and F, and what is known of their errors."""
        n_contrasts, each = self.n_classes - 1, float(self.samples_each)
        found, noise = self.class_shares(mean, mechanism)
        shares = likely_shares(found, noise**2)
        shown = 1.0 - self.within * (1.0 - 1.0 / each) / each
        target = self._released(mean, mechanism)[1:, :n_contrasts] @ self.contrasts.T / shown
        sampling = spread(shares) * self._private(mechanism) / n_contrasts
        return Evidence(
            shares=shares,
            target=target,
            variance=(noise / shown) ** 2 + sampling,
            signal=self.signal,
            n_rows=len(self.features),
        )

    def _gaps(self, mean: Array, mechanism: Mechanism) -> tuple[Array, Array]:
        """Private minus public mean feature, and the variance of the difference.

        In whitened coordinates the public one is 0.
        """
        n_classes = self.n_classes
        gaps = math.sqrt(n_classes) * self._released(mean, mechanism)[1:, -1]
        noise = n_classes * self._noise(mean, mechanism) ** 2
        sampling = self._private(mechanism) + 1.0 / len(self.features)
        return gaps, np.full(len(gaps), noise + sampling)

    def _rows(self, white: Array, mean: Array, mechanism: Mechanism) -> Array | None:
        """A weight for each auxiliary row, where the private mean feature asks for it."""
        if not self.with_mean or not surprise(*self._gaps(mean, mechanism)) > ALARM:
            return None
        gaps, variances = self._gaps(mean, mechanism)
        moved = shrink(gaps, variances)
        aim = np.clip(moved, white.min(axis=0), white.max(axis=0))
        return tilt(white, aim, float(variances[0]))


@lru_cache(maxsize=2)
def _simulate(
    auxiliary: AuxiliarySet, samples_each: int, within: float, with_mean: bool
) -> tuple[Whitening, Array, Array, Array, SimulatedParties]:
    """What depends neither on ε nor on the number of units, kept for the next of them."""
    features: Array = auxiliary.features
    whitening = Whitening.of(features, centred=True)
    contrasts, signal = class_basis(auxiliary.n_classes), signal_shares(whitening.values)
    white = features @ whitening.map(whitening.rank)
    centre: Array = white.mean(axis=0)
    white -= centre
    simulated = SimulatedParties.labelled(
        white, signal, contrasts, samples_each, within=within, with_mean=with_mean
    )
    for array in (whitening.values, whitening.basis, centre, signal, contrasts, simulated.sums):
        array.flags.writeable = False  # the next poll on this set has the same ones
    return whitening, centre, signal, contrasts, simulated
