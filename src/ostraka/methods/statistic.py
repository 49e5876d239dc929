"""What our own methods share: a sum of bounded whole numbers, noise on it, and a model made of the rest for free.

    letter  name here   meaning
    M       n_parties   public, and only a divisor: the promise is about the sum, so a wrong M cannot break it
    g       grid        what one unit of the lattice is worth, a power of two
    S       diameter    how far one party moves the sum, in units, exactly

Guarantee (statistic.proof.md): the release is (ε, δ)-differentially private for a whole party. The plan is made from public things alone;
only `publish` sees the sum, and all it does with it is to add noise. Everything after that is post-processing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, final, get_args

import numpy as np

from ostraka.auxiliary import AuxiliarySet
from ostraka.certificate import FROM_A_SEED, FROM_THE_SYSTEM, ONE_PARTY, Certificate, SensitivityParts
from ostraka.contributions import Ball, ContributionSum
from ostraka.errors import ParameterError, RehearsalError, ShapeError, TooFewPartiesError, WrongTypeError, count, number
from ostraka.losses import Array
from ostraka.methods.laws import Law, NoiseName, UnitL2
from ostraka.methods.output_perturbation import Exact
from ostraka.methods.terms import EPSILONS, N_PARTIES_BOUND
from ostraka.model import LinearModel, Task
from ostraka.noise import DiscreteLaplace, Entropy, Rehearsal, RoundedGaussian
from ostraka.preprocessing import is_sparse
from ostraka.release import ChargeFirst, Rehearsed, Release

__all__ = ["StatisticTerms", "StatisticPlan", "Recipe", "check_public", "make_certificate"]

LARGEST_MEAN = Fraction(2**500)
"""Beyond it a released number is taken for this one. No mean of contributions is above 2^24; this keeps doubles from overflowing."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticTerms:
    """The terms of a poll that releases a statistic.

    Args:
        epsilon: the privacy loss, for a whole party.
        delta: 0 for pure ε; otherwise a probability far below one over the number of parties.
        samples_each: how many samples a party typically has, from public knowledge. Only accuracy depends on it.
        shift: whether private samples may be distributed otherwise than the auxiliary ones; then what tells is released too (a little more
            noise), and the auxiliary rows are weighted where they differ; `refine` takes the model as its step leaves it.
        penalty: of the ridge fits to the auxiliary samples, after the noise; None: from the noise and the number of samples. Choosing it
            is free of budget: nothing after the noise sees private data.
        noise: "auto" takes the law with the least noise, "l2" the paper's, "gaussian" one that composes in ρ (needs δ > 0).
        least_parties: refuse to release for fewer parties than this.
        assumed_public: what was read from private data because it is taken to be public; stated in the certificate.

    """

    epsilon: float
    delta: float = 0.0
    samples_each: int = 10
    shift: bool = False
    penalty: float | None = None
    noise: NoiseName = "auto"
    least_parties: int = 2
    assumed_public: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", number("epsilon", self.epsilon, *EPSILONS))
        object.__setattr__(self, "delta", number("delta", self.delta, 0.0, 0.1, "0, or a probability up to 0.1"))
        object.__setattr__(self, "samples_each", count("samples_each", self.samples_each, 1, N_PARTIES_BOUND))
        object.__setattr__(self, "shift", bool(self.shift))
        if self.penalty is not None:
            object.__setattr__(self, "penalty", number("penalty", self.penalty, 1e-12, 1e12))
        object.__setattr__(self, "least_parties", count("least_parties", self.least_parties, 2))
        if self.noise not in get_args(NoiseName):
            raise ParameterError("noise", got=self.noise, allowed=", ".join(get_args(NoiseName)))

    def checked_parties(self, n_parties: int) -> int:
        """The number of parties as a Python integer; too few are refused."""
        given = count("n_parties", n_parties, 0, N_PARTIES_BOUND)
        if given < self.least_parties:
            raise TooFewPartiesError(given, self.least_parties)
        return given


class Recipe(Protocol):
    """A method's own part: from the released mean to weights, by public means."""

    def weights(self, mean: Array) -> Array:
        """(p, K) weights of a linear model."""
        ...

    def surprise(self, mean: Array) -> float | None:
        """By how many standard deviations private samples differ from auxiliary ones (`shift`); None where that cannot be told."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StatisticPlan:
    """All of a release that is known before private data is touched."""

    certificate: Certificate
    task: Task
    ball: Ball | None
    """What a contribution must lie in; None where votes are added up as votes."""
    law: Law
    recipe: Recipe

    def added(self, blocks: Iterable[Any]) -> ContributionSum:
        """The sum of contributions that come in blocks, one per row."""
        if self.ball is None:
            raise ParameterError("plan", got=f"a plan of {self.certificate.method}", allowed="one to which parties contribute vectors")
        summed = ContributionSum(self.ball)
        for block in blocks:
            summed.add_many(block)
        return summed

    def publish(self, summed: ContributionSum, source: Entropy | Rehearsal, charge: ChargeFirst = None) -> Release | Rehearsed:
        """Charge, add noise to the sum, make the model of what comes out."""
        if not isinstance(summed, ContributionSum):
            raise WrongTypeError("The sum", summed, "a ContributionSum of this plan's ball")
        if self.ball is None or summed.ball != self.ball:
            raise ParameterError("sum", got=f"contributions of {summed.ball}", allowed=f"contributions to this plan: {self.ball}")
        if summed.n_parties != self.certificate.parties:
            raise ParameterError("sum", got=f"{summed.n_parties} contributions", allowed=f"{self.certificate.parties}, as planned")
        return self.publish_total(summed.total, source, charge)

    def publish_total(self, total: Exact, source: Entropy | Rehearsal, charge: ChargeFirst = None) -> Release | Rehearsed:
        """The same from the sum itself, where the plan's own code has added it up."""
        if isinstance(source, Rehearsal):
            noisy = self.law.publish(total, source)
            certificate = replace(self.certificate, randomness=FROM_A_SEED)
            return Rehearsed(model=self.model(noisy), certificate=certificate, shift=self.shift(noisy))
        if self.certificate.randomness == FROM_A_SEED:
            raise RehearsalError  # the plan rests on something that hides nobody
        if type(source) is not Entropy:
            raise ParameterError("source", got=source, allowed="Entropy() or Rehearsal(seed)")
        if len(total) != self.law.dimension:
            raise ShapeError("The sum", got=(len(total),), allowed=f"({self.law.dimension},), as planned")
        # Once without anything private: what fails for want of memory, or by a mistake of ours, fails before anybody is charged.
        zeros = [0] * self.law.dimension
        Release(model=self.model(zeros), certificate=self.certificate, shift=self.shift(zeros))
        if charge is not None:
            charge(self.certificate)
        noisy = self.law.publish(total, source)
        return Release(model=self.model(noisy), certificate=self.certificate, shift=self.shift(noisy))

    def model(self, noisy: Exact) -> LinearModel:
        """The model of a released sum, whatever the noise has made of it: a failure here would lose what was paid for."""
        with np.errstate(all="ignore"):
            weights = self.recipe.weights(self._mean(noisy))
        if len(self.task.classes) == 2:
            weights = weights[:, 1] - weights[:, 0]
        return LinearModel(task=self.task, weights=np.ascontiguousarray(weights))

    def shift(self, noisy: Exact) -> float | None:
        """How surprising a released sum is, if private samples are distributed like the auxiliary ones."""
        with np.errstate(all="ignore"):
            return self.recipe.surprise(self._mean(noisy))

    def _mean(self, noisy: Exact) -> Array:
        unit = Fraction(self.certificate.grid) / self.certificate.parties
        return np.array([float(min(max(value * unit, -LARGEST_MEAN), LARGEST_MEAN)) for value in noisy])


def check_public(auxiliary: AuxiliarySet, terms: StatisticTerms) -> Array:
    """The dense public features; a private or sparse set is refused."""
    if not isinstance(auxiliary, AuxiliarySet):
        raise WrongTypeError("The auxiliary set", auxiliary, "an AuxiliarySet")
    if not isinstance(terms, StatisticTerms):
        raise WrongTypeError("The terms", terms, "StatisticTerms(epsilon=...)")
    if auxiliary.private:
        raise ParameterError("auxiliary", got="a private set", allowed="a public one: its geometry is published; or soft, vote, avg")
    if is_sparse(auxiliary.features):
        raise ParameterError(
            "auxiliary", got="sparse features", allowed="dense ones: give it preprocessing=half_whitened(samples, n_classes)"
        )
    features: Array = auxiliary.features
    return features


def make_certificate(
    method: str,
    auxiliary: AuxiliarySet,
    n_parties: int,
    terms: StatisticTerms,
    law: Law,
    *,
    sensitivity: float,
    grid: float,
    radius: float | None,
    coordinates: str,
    start: Release | Rehearsed | None = None,
) -> Certificate:
    """What a release will promise. `sensitivity` is in units, `radius` and `grid` are not. `start`: what it is built on, if anything."""
    names = {UnitL2: "l2", DiscreteLaplace: "discrete laplace", RoundedGaussian: "gaussian"}
    bound = sensitivity * grid  # exact: the grid is a power of two
    return Certificate(
        method=method,
        calibration="tight",
        loss="none",
        epsilon=float(terms.epsilon),
        delta=float(terms.delta) if not isinstance(law, DiscreteLaplace) else 0.0,
        neighbours=ONE_PARTY,
        parties=n_parties,
        auxiliary_samples=auxiliary.n_samples,
        auxiliary_digest=auxiliary.digest,
        lambda_=None,
        sensitivity=bound,
        sensitivity_parts=SensitivityParts(rule="contribution", bound=bound, solver=0.0, rounding=0.0, grid=0.0),
        noise=names[type(law)],
        noise_scale=law.scale * grid,
        grid=grid,
        dimension=law.dimension,
        coordinates=coordinates,
        radius=radius,
        solver_tolerance=None,
        norm="l1" if isinstance(law, DiscreteLaplace) else "l2",
        rho=law.rho(sensitivity) if isinstance(law, RoundedGaussian) else None,
        assumed_public=terms.assumed_public,
        randomness=FROM_A_SEED if isinstance(start, Rehearsed) else FROM_THE_SYSTEM,
        start=None if start is None else start.digest,
        start_epsilon=0.0 if start is None else start.certificate.total_epsilon,
        start_delta=0.0 if start is None else start.certificate.total_delta,
    )
