"""What to expect before anything is collected: Theorem 4 of the paper, for any sensitivity and dimension.

    letter    name here          meaning
    S/ε, D    noise_scale, dimension
    c, λ, N   loss.smoothness, lambda_, n_samples
    δ_p, δ_s  failure_noise, failure_sampling: how often each half of the bound may fail
    w_0       –                  any reference classifier; only its norm enters

Guarantee (planner.proof.md): with probability at least 1−δ_p−δ_s the true risk of the release exceeds that of w_0 by at most
`RiskBound.total`. The sampling half is proved for the binary losses; for softmax it is a guide, and `proved` says so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, final

from scipy.stats import gamma

from ostraka.certificate import Certificate
from ostraka.errors import ParameterError
from ostraka.losses import Loss

__all__ = ["RiskBound", "risk_bound", "noise_length", "noise_risk", "sampling_risk"]


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


def risk_bound(
    certificate: Certificate,
    loss: Loss,
    reference_norm: float,
    *,
    failure_noise: float = 0.05,
    failure_sampling: float = 0.05,
    law: Literal["paper", "exact"] = "exact",
) -> RiskBound:
    """The bound for what a plan promises: `soft.plan(...).certificate` needs no private data."""
    if certificate.auxiliary_samples is None:
        raise ParameterError("certificate.method", got=certificate.method, allowed='"soft" or "vote"')
    lambda_ = certificate.lambda_
    length = noise_length(certificate.noise_scale, certificate.dimension, failure_noise, law)
    return RiskBound(
        noise=noise_risk(length, loss, lambda_),
        sampling=sampling_risk(certificate.auxiliary_samples, lambda_, failure_sampling),
        regulariser=0.5 * lambda_ * reference_norm**2,
        proved=loss.n_outputs == 1,
    )


def noise_length(scale: float, dimension: int, failure: float, law: Literal["paper", "exact"] = "exact") -> float:
    """‖η‖ is longer than this with probability at most `failure`: the quantile of Gamma(D), or the paper's D·log(D/δ)."""
    _check_probability("failure", failure)
    if law == "paper":
        return scale * dimension * math.log(dimension / failure)
    return scale * float(gamma.isf(failure, dimension))


def noise_risk(length: float, loss: Loss, lambda_: float) -> float:
    """(c+λ)‖η‖²: twice the rise of the empirical risk, whose curvature is at most c+λ.   [Theorem 4, first term]."""
    return (loss.smoothness + lambda_) * length**2


def sampling_risk(n_samples: int, lambda_: float, failure: float) -> float:
    """16(32+log(1/δ_s))/(λN): from the auxiliary samples to their source.   [Theorem 4, second term]."""
    _check_probability("failure", failure)
    return 16.0 * (32.0 + math.log(1.0 / failure)) / (lambda_ * n_samples)


def _check_probability(name: str, value: float) -> None:
    if not 0.0 < value < 1.0:
        raise ParameterError(name, got=value, allowed="a probability between 0 and 1, both excluded")
