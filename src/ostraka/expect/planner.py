"""What to expect before anything is collected: Theorem 4 of the paper, for any sensitivity and
dimension.

    letter    name here          meaning
    S/ε, D    noise_scale, dimension
    c, λ, N   loss.smoothness, lambda_, n_samples
    δ_p, δ_s  failure_noise, failure_sampling: how often each half of the bound may fail
    w_0       –                  any reference classifier; only its norm enters

Guarantee (planner.proof.md): with probability at least 1−δ_p−δ_s the true risk of the release
exceeds that of w_0 by at most `RiskBound.total`. The sampling half is proved for the binary losses;
for softmax it is a guide, and `proved` says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, final

from ostraka.errors import ParameterError, count, number
from ostraka.mechanism.bounds import minimiser_radius
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.base import Method, Options
from ostraka.methods.registry import METHODS as ALL
from ostraka.public.promise import MOST_PARTIES, Promise
from ostraka.public.task import Task
from ostraka.release.certificate import PerturbedMinimiser
from ostraka.solve.losses import Loss, loss_for

__all__ = [
    "METHODS",
    "RiskBound",
    "Setting",
    "needed_epsilon",
    "needed_parties",
    "noise_length",
    "noise_risk",
    "noise_to_signal",
    "risk_bound",
    "sampling_risk",
]

METHODS = ("soft", "vote", "avg")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A poll that does not exist yet: sizes and numbers, nothing else."""

    method: str
    n_parties: int
    n_samples: int
    n_features: int
    n_classes: int
    epsilon: float
    lambda_: float = 1e-4
    calibration: str = "tight"

    def mechanism(self) -> Mechanism:
        """The noise of a release, if of the auxiliary samples only their number were known."""
        if self.method not in METHODS:
            raise ParameterError("method", got=self.method, allowed=" or ".join(map(repr, METHODS)))
        promise = Promise(epsilon=self.epsilon)
        return self._method(promise).mechanism(promise, self.n_parties)

    def _method(self, promise: Promise) -> Method:
        options = Options(lambda_=self.lambda_, calibration=self.calibration)
        task = Task(classes=tuple(range(self.n_classes)), n_features=self.n_features)
        if self.method == "avg":
            averaged: Method = ALL["avg"].create(task, self.n_parties, promise, options)
            return averaged
        voted: Method = ALL[self.method](
            features=None,
            n_samples=count("samples", self.n_samples, 1),
            n_features=task.n_features,
            n_classes=self.n_classes,
            row_terms=task.n_features,
            lambda_=options.lambda_,
            calibration=options.calibration,
        )
        return voted

    def noise_to_signal(self) -> float:
        """Of that release."""
        return noise_to_signal(self.mechanism(), loss_for(self.n_classes), self.lambda_)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class RiskBound:
    """How much worse than the reference the release may be, and why."""

    noise: float
    sampling: float
    regulariser: float
    proved: bool

    @property
    def total(self) -> float:
        """The sum of the three."""
        return self.noise + self.sampling + self.regulariser


def noise_to_signal(mechanism: Mechanism, loss: Loss, lambda_: float) -> float:
    """E‖η‖/ρ, of soft, vote or avg: the expected length of the noise over that of the longest model
    there can be.

    Below 0.3 little is lost, above 1 little is left. Nothing in it comes from private data.
    """
    length = mechanism.noise_scale * mechanism.dimension / mechanism.divisor
    return length / minimiser_radius(loss, lambda_)


def needed_epsilon(setting: Setting, target: float) -> float:
    """The smallest ε at which the noise is `target` times the signal: the noise scale is S/ε."""
    number("target", target, 1e-9, 1e9)
    return setting.epsilon * setting.noise_to_signal() / target


def needed_parties(setting: Setting, target: float) -> int | None:
    """The smallest number of parties for that, or None if no number is enough (as for `vote`)."""
    number("target", target, 1e-9, 1e9)

    def enough(n_parties: int) -> bool:
        return replace(setting, n_parties=n_parties).noise_to_signal() <= target

    low, high = 2, MOST_PARTIES
    if not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def risk_bound(
    mechanism: Mechanism,
    n_samples: int,
    loss: Loss,
    reference_norm: float,
    *,
    failure_noise: float = 0.05,
    failure_sampling: float = 0.05,
    law: Literal["paper", "exact"] = "exact",
) -> RiskBound:
    """The bound for a poll by `soft` or `vote`: `poll.mechanism(n)` needs no private data."""
    own = mechanism.particular
    if not isinstance(own, PerturbedMinimiser):
        raise ParameterError("mechanism", got="that of a sum", allowed='that of "soft" or "vote"')
    length = noise_length(mechanism.noise_scale, mechanism.dimension, failure_noise, law)
    return RiskBound(
        noise=noise_risk(length, loss, own.lambda_),
        sampling=sampling_risk(n_samples, own.lambda_, failure_sampling),
        regulariser=0.5 * own.lambda_ * reference_norm**2,
        proved=loss.n_outputs == 1,
    )


def noise_length(
    scale: float, dimension: int, failure: float, law: Literal["paper", "exact"] = "exact"
) -> float:
    """‖η‖ is longer than this with probability at most `failure`.

    The quantile of Gamma(D), or the paper's D·log(D/δ).
    """
    from scipy.stats import gamma  # half a second, for this alone

    _check_probability("failure", failure)
    if law == "paper":
        return scale * dimension * math.log(dimension / failure)
    return scale * float(gamma.isf(failure, dimension))


def noise_risk(length: float, loss: Loss, lambda_: float) -> float:
    """(c+λ)‖η‖²: twice the rise of the empirical risk, whose curvature is at most c+λ.

    [Theorem 4, first term].
    """
    return (loss.smoothness + lambda_) * length**2


def sampling_risk(n_samples: int, lambda_: float, failure: float) -> float:
    """16(32+log(1/δ_s))/(λN): from the auxiliary samples to their source.

    [Theorem 4, second term].
    """
    _check_probability("failure", failure)
    return 16.0 * (32.0 + math.log(1.0 / failure)) / (lambda_ * n_samples)


def _check_probability(name: str, value: float) -> None:
    if not 0.0 < value < 1.0:
        raise ParameterError(
            name, got=value, allowed="a probability between 0 and 1, both excluded"
        )
