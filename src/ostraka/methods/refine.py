"""`refine`: a second round, which sends what the first release leaves unexplained.

The first release is public, so parties need only send the part of their labels that it does not
explain.

    letter  name here    meaning
    W₀      –            the model of an earlier release, p×K
    s(x)    guesses      the start's soft labels: its own probabilities where classes overlap
                         (`soft`), and else the nearest point of the simplex to t·W₀ᵀx
                         [Martins and Astudillo 2016, sparsemax]
    t       –            a public factor that makes W₀ as sure of the auxiliary samples as `SURE`
    Y_j     –            (1/n_j) Σ_i z_i (e_{y_i} − s(x_i))ᵀQ: what party j sends,
                         shortened and rounded

Guarantee (noisy_sum.proof.md): as for `moments`, two vectors of the ball are at most 2B units
apart, whatever the data and the start. The start is a release of its own, with its own ε: whoever
took part in both has spent the sum, and the certificate says so. Only a rehearsal can come from a
rehearsal.

Why it helps: where the start is right, a party sends next to nothing, so the ball is small, and so
is the noise. The correction is the slope of the loss on private rows, so it does not matter how far
auxiliary rows are from them, or how few there are. Where classes overlap, it is taken to the most
probable softmax model, as in `moments`. Where they hardly do, it is one step of Newton's method,
with the curvature from the auxiliary set, then one step of self-training as in the other methods;
with `shift` a whole step and no self-training, which would give unlike auxiliary rows the last
word. It pays where the first round is already accurate: at large ε, with many parties. One such
round is enough: a third would find less than it costs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import ParameterError
from ostraka.mechanism.geometry import class_basis
from ostraka.mechanism.laws import Exact
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.after_noise.apart import ridge_apart
from ostraka.methods.after_noise.denoise import onto_simplex, self_train, signal_shares
from ostraka.methods.after_noise.posterior import (
    RAREST,
    Evidence,
    correct_softmax,
    spread,
)
from ostraka.methods.after_noise.student import Fitted, soften, softmax, sureness, teach
from ostraka.methods.base import (
    Block,
    Options,
    Start,
    Work,
    check_positive,
    check_shapes,
    labels_again,
    public_features,
    whole,
)
from ostraka.methods.noisy_sum import hidden_ball, numbers_sent
from ostraka.methods.party_means import party_means
from ostraka.methods.party_vectors import choose_directions, round_blocks
from ostraka.methods.simulated import SimulatedParties
from ostraka.party.products import own_products, own_softmax
from ostraka.party.rows import Parties
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.public.task import Task
from ostraka.public.whitening import Whitening
from ostraka.release import Rehearsed, Release
from ostraka.release.certificate import Certificate
from ostraka.release.kernel_model import KernelModel
from ostraka.release.outlook import Outlook
from ostraka.solve.losses import Array
from ostraka.tally.domain import Ball, Units

__all__ = ["Refine"]

SURE = 0.9
"""The mean of the largest entry of s(x) over the auxiliary set."""
DOUBT = 0.05
"""With this probability a simulated label is random; otherwise it is drawn from s(x).

Nobody is sure of everything.
"""
CONTRAST = 0.5
"""What is left of the labels is assumed to be this share of them, to choose directions."""
STEP, STEP_ALONE = 0.5, 0.75
"""Lengths of Newton's step, with self-training after it and without.

Self-training would make more of a whole step than there is in it. Alone, a step follows the noise
in R as far as there is any: it is shortened by the share of R that is no noise [James, Stein 1961].
How long it is before that is no theorem: chosen on test rows of two splits of HAR and one of the
digits, and by a made-up world with a strong shift (docs/how-to/shift.md).
"""
LEAST_CURVATURE = 0.02
CLEAR = 0.75
"""A start that explains more than this of how labels vary has found classes that hardly overlap.
"""
MISSED = 0.1
"""Of how labels vary, a start may have missed this share, whatever is known: what it has missed
does not lie where it looked first.
"""


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Refine:
    """The public parts of a second round."""

    name: ClassVar[str] = "refine"

    features: Array = field(repr=False)
    guess: Array
    """t·W₀, or W₀ itself where it is soft."""
    whitening: Array
    damped: Array
    """U_k diag(√c/(c + τ)), with the mean of c for τ: from whitened coordinates to weights.

    It is cautious where the set is narrow.
    """
    contrasts: Array
    length: int
    grid: float
    clip_factor: float
    start_digest: str
    start_certificate: str
    """What the release that this round rests on cost and whom it protects, as JSON."""
    student: str = "auto"
    """What learns the fitted model's answers; by default a line."""
    penalty: float | None = None
    """The penalty of the last fit, if it was set."""
    sure: float | None = None
    """How often the start takes itself to be right, where it says so,"""
    off: float | None = None
    """and how far from the truth that is, four times out of five."""
    soft: bool = False
    """Whether classes overlap, by what the start says of the auxiliary set."""

    def __post_init__(self) -> None:
        _ = self.start
        _ = Outlook(accuracy=self.sure, off=self.off)  # or else it would only fail after the noise
        check_positive(self)
        check_shapes(
            features=(self.features, "Np"),
            guess=(self.guess, "pK"),
            whitening=(self.whitening, "pk"),
            damped=(self.damped, "pk"),
            contrasts=(self.contrasts, "Kc"),
            differences=(self.contrasts[1:], "cc"),
        )

    @classmethod
    def create(
        cls, public: AuxiliarySet | Task, n_units: int, promise: Promise, options: Options
    ) -> Refine:
        """Choose the directions and the ball for what the start leaves unexplained."""
        auxiliary, features = public_features(public, cls.name)
        start = _check_start(options.start, auxiliary, promise)
        n_classes, whitening = auxiliary.n_classes, Whitening.of(features)
        guess, contrasts = _columns(start.model.linear.weights), class_basis(n_classes)
        soft = _is_soft(start, features, guess)
        if not soft:
            guess = _sharpen(guess, features)
        simulated = SimulatedParties.of(
            features @ whitening.map(whitening.rank),
            options.samples_each,
            _residuals(_guess(features, guess, soft=soft), contrasts),
        )
        chosen = choose_directions(
            simulated, whitening, len(features), n_classes, n_units, promise, signal=CONTRAST
        )
        extents = np.sqrt(whitening.values[: chosen.k])
        damping = extents / (extents**2 + whitening.values.mean())
        return cls(
            features=features,
            guess=guess,
            whitening=whitening.map(chosen.k),
            damped=whitening.basis[:, : chosen.k] * damping,
            contrasts=contrasts,
            length=chosen.ball.length,
            grid=chosen.grid,
            clip_factor=chosen.clip_factor,
            start_digest=start.digest,
            start_certificate=start.certificate.to_json(),
            student=_choose_student(options, start),
            penalty=options.penalty,
            sure=start.outlook.accuracy,
            off=start.outlook.off,
            soft=soft,
        )

    @property
    def start(self) -> Start:
        """The release that this round rests on."""
        certificate = Certificate.from_json(self.start_certificate)
        return Start(digest=self.start_digest, certificate=certificate)

    @property
    def n_classes(self) -> int:
        """K."""
        return len(self.contrasts)

    @property
    def domain(self) -> Ball:
        """k·(K−1) numbers in an L2 ball."""
        dimension = self.whitening.shape[1] * self.contrasts.shape[1]
        return Ball(norm="l2", length=self.length, dimension=dimension)

    def contribute(self, parties: Parties, work: Work) -> Iterator[Block]:  # noqa: ARG002
        """Every party's vector; each row depends on its own party alone."""

        def means(part: Parties) -> Array:
            white = own_products(part.features, self.whitening)
            return party_means(white, self.residuals(part.features, part.labels), part.starts)

        return round_blocks(parties, self.domain, self.grid, means)

    def residuals(self, features: Any, labels: NDArray[Any]) -> Array:
        """(e_y − s(x))ᵀQ for each row, from that row alone: no matrix product (`own_products`)."""
        missing = np.eye(len(self.contrasts))[labels] - self.guesses(features)
        found = np.zeros((len(missing), self.contrasts.shape[1]))
        for k, row in enumerate(self.contrasts):
            found += missing[:, [k]] * row
        return found

    def guesses(self, features: Any) -> Array:
        """s(x), a row for each sample, from that row alone."""
        return _guess(features, self.guess, soft=self.soft)

    def mechanism(self, promise: Promise, n_units: int) -> Mechanism:
        """ℓ2 noise (or a Gaussian) for two vectors of the ball."""
        sent = numbers_sent(self.whitening.shape[1], self.n_classes)
        coordinates = f"{sent}, less what the start explains"
        return hidden_ball(self.domain, self.grid, promise, n_units, coordinates)

    def statistic(self, total: Units, mechanism: Mechanism) -> Exact:  # noqa: ARG002
        """The sum itself."""
        return whole(total)

    def weights(self, mean: Array, mechanism: Mechanism) -> Array:
        """Those of the model."""
        return self.fit(mean, mechanism).aim("accuracy", self.features)

    def fit(self, mean: Array, mechanism: Mechanism) -> Fitted:
        """The start, corrected; then, if `student` allows, the model labels X once more."""
        left = mean.reshape(self.whitening.shape[1], -1) / self.clip_factor @ self.contrasts.T
        return self._correct(left, mechanism) if self.soft else self._step(left, mechanism)

    def _correct(self, left: Array, mechanism: Mechanism) -> Fitted:
        """Where classes overlap: the most probable softmax model around the start."""
        white, scores = self.features @ self.whitening, self.features @ self.guess
        shares = np.maximum(softmax(scores).mean(axis=0), RAREST)
        found = Evidence(
            shares=shares / shares.sum(),
            target=left,
            variance=self._variance(mechanism),
            signal=signal_shares(1.0 / np.square(self.whitening).sum(axis=0)),
            n_rows=len(self.features),
            weakest=MISSED,
            explained=1.0,
        )
        moved = correct_softmax(white, scores, left, found.penalties(self.penalty))
        weights, apart = self.guess + self.whitening @ moved, scores + white @ moved
        shares = softmax(apart).mean(axis=0)
        if labels_again(self.student, False):
            sure = sureness(softmax(apart))
            weights, apart = teach(self.features, apart, shares, self.penalty)
            factor = soften(apart, sureness, sure)
            weights, apart = factor * weights, factor * apart
        return Fitted(weights=weights, apart=apart, shares=shares)

    def _step(self, left: Array, mechanism: Mechanism) -> Fitted:
        """Where they hardly do: one step, and a line through its answers.

        It is as sure as the start is, as far as that is known, though it is often better.
        """
        n_others = np.count_nonzero(self.guesses(self.features), axis=1) - 1.0
        curvature = max(float(n_others.mean()) / (len(self.contrasts) - 1), LEAST_CURVATURE)
        trained = labels_again(self.student, True)
        noise = left.shape[0] * (len(self.contrasts) - 1) * self._variance(mechanism)
        squares = max(float(np.sum(left**2)), np.finfo(np.float64).tiny)
        alone = STEP_ALONE * max(0.0, 1.0 - noise / squares)
        step = (STEP if trained else alone) / curvature
        weights: Array = self.guess + step * self.damped @ left
        apart = self.features @ weights
        if trained:
            n, n_classes = apart.shape
            penalty = n_classes / n if self.penalty is None else self.penalty
            answers = np.eye(n_classes)[apart.argmax(axis=1)]
            weights = self_train(self.features, weights, penalty=penalty)
            apart = ridge_apart(self.features, answers, weights, penalty)
        factor = 1.0 if self.sure is None else soften(apart, sureness, self.sure)
        shares = softmax(factor * apart).mean(axis=0)
        return Fitted(weights=factor * weights, apart=factor * apart, shares=shares)

    def _variance(self, mechanism: Mechanism) -> float:
        """Of the noise in a coordinate of R."""
        return (mechanism.deviation / self.clip_factor) ** 2

    def surprise(self, mean: Array, mechanism: Mechanism) -> float | None:  # noqa: ARG002
        """None: the correction is right on private rows, however they are distributed."""
        return None


def _check_start(start: Any, auxiliary: AuxiliarySet, promise: Promise) -> Release | Rehearsed:
    """Refuse anything but a release for the same features and classes."""
    if not isinstance(start, Release | Rehearsed):
        given = None if start is None else f"an object of type {type(start).__name__}"
        allowed = 'an earlier Release, or the path of one, for method "refine"'
        raise ParameterError("start", got=given, allowed=allowed)
    if start.certificate.protects != promise.protects:
        allowed = f"one that protects one {promise.protects}, as this poll does"
        got = f"a release that protects one {start.certificate.protects}"
        raise ParameterError("start", got=got, allowed=allowed)
    task, own = start.model.task, Task.of(auxiliary)
    of_start = (task.classes, task.n_features, task.preprocessing)
    if of_start != (own.classes, own.n_features, own.preprocessing):
        raise ParameterError(
            "start",
            got=f"a model of the classes {task.classes} on {task.n_features} features",
            allowed=f"one of {own.classes} on the {own.n_features} features of the auxiliary set, "
            "by the same preprocessing",
        )
    if None not in (task.columns, own.columns) and task.columns != own.columns:
        raise ParameterError(
            "start",
            got=f"a model of the columns {list(task.feature_names or ())[:8]}",
            allowed=f"{list(own.feature_names or ())[:8]}, described in the same way",
        )
    return start


def _choose_student(options: Options, start: Release | Rehearsed) -> str:
    """By default one like that of the start, and none where the auxiliary set is another world."""
    if options.student != "auto":
        return options.student
    if options.shift:
        return "none"
    return "kernel" if isinstance(start.model, KernelModel) else "auto"


def _columns(weights: Array) -> Array:
    """The weights of a model, p×K."""
    return np.array(weights if weights.ndim == 2 else np.stack([-weights, weights], axis=1) / 2.0)


def _is_soft(start: Release | Rehearsed, features: Array, weights: Array) -> bool:
    """Whether classes overlap, by the start's own probabilities, if these mean anything."""
    known = start.outlook.accuracy is not None or start.outlook.shares is not None
    if not known or isinstance(start.model, KernelModel):
        return False
    said = softmax(features @ weights)
    gaps = said - said.mean(axis=0)
    explained = float(np.einsum("ij,ij->i", gaps, gaps).mean()) / spread(said.mean(axis=0))
    return explained <= CLEAR


def _guess(features: Any, weights: Array, *, soft: bool) -> Array:
    scores = own_products(features, weights)
    return own_softmax(scores) if soft else onto_simplex(scores)


def _residuals(guesses: Array, contrasts: Array) -> Any:
    """What simulated parties would send: labels drawn from the start's guesses, with some doubt."""
    n_classes = len(contrasts)

    def values(rows: NDArray[Any], generator: np.random.Generator) -> Array:
        drawn = generator.random((*rows.shape, 1))
        answers = (guesses[rows].cumsum(axis=2) < drawn).sum(axis=2).clip(0, n_classes - 1)
        doubted = generator.random(rows.shape) < DOUBT
        answers = np.where(doubted, generator.integers(0, n_classes, rows.shape), answers)
        missing: Array = (np.eye(n_classes)[answers] - guesses[rows]) @ contrasts
        return missing

    return values


def _sharpen(start: Array, features: Array) -> Array:
    """t·W₀: t by bisection on the auxiliary set."""
    weights = start / max(float(np.abs(start).max()), np.finfo(np.float64).tiny)
    scores = own_products(features, weights)
    low, high = -20.0, 40.0
    for _ in range(50):
        middle = (low + high) / 2.0
        sure = float(onto_simplex(math.exp(middle) * scores).max(axis=1).mean()) >= SURE
        low, high = (low, middle) if sure else (middle, high)
    sharpened: Array = math.exp(high) * weights
    return sharpened
