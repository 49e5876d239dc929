"""What to expect of our own methods, from an auxiliary set alone, before anything is collected.

    name here         meaning
    agreement         how often a model learnt from made-up parties, with noise, agrees with the
                      labels that were made up (`methods.choose`)
    noise_to_signal   in each direction that is released: noise over the signal that it is taken to
                      hold; below 1 it can be read
    by_parties        the better method's agreement for other numbers of parties

Everything is public: the auxiliary set, M, ε, δ, the declared number of samples per party. Made-up
labels are not yours: the agreement ranks settings, it is no promise of accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from ostraka.mechanism.laws import variance
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.after_noise.denoise import signal_shares
from ostraka.methods.base import Method, Options, Watch
from ostraka.methods.cells import Cells
from ostraka.methods.choose import Case, agreements
from ostraka.methods.moments import Moments
from ostraka.methods.registry import METHODS
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.public.whitening import Whitening
from ostraka.solve.losses import Array

__all__ = ["Forecast", "Outlook", "forecast", "outlook"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """One method at one ε."""

    method: str
    epsilon: float
    directions: int
    """Directions, or cells."""
    dimension: int
    noise: str
    agreement: float
    noise_to_signal: tuple[float, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What other ε and other numbers of parties would bring."""

    by_epsilon: list[list[Forecast]]
    """For each ε both methods, the better one first."""
    by_parties: dict[int, float]
    """The better method's agreement for each number of parties, in order."""


def forecast(
    auxiliary: AuxiliarySet, n_units: int, promise: Promise, options: Options
) -> list[Forecast]:
    """`moments` and `cells`, the better one first."""
    case = Case(n_units, promise)
    return _forecasts_of(auxiliary, case, options, agreements(auxiliary, [case], options)[case])


def outlook(
    auxiliary: AuxiliarySet,
    n_units: int,
    promise: Promise,
    options: Options,
    *,
    epsilons: Sequence[float],
    numbers: Sequence[int],
    watch: Watch | None = None,
) -> Outlook:
    """Forecasts for other ε, and for other numbers of parties.

    Together, because they share most of the work.
    """
    across = [Case(n_units, replace(promise, epsilon=epsilon)) for epsilon in epsilons]
    along = [Case(number, promise) for number in sorted(numbers)]
    found = agreements(auxiliary, [*across, *along], options, watch)
    return Outlook(
        by_epsilon=[_forecasts_of(auxiliary, case, options, found[case]) for case in across],
        by_parties={case.n_units: max(found[case].values()) for case in along},
    )


def _forecasts_of(
    auxiliary: AuxiliarySet, case: Case, options: Options, found: dict[str, float]
) -> list[Forecast]:
    """One for each method, the better one first."""
    forecasts = [_forecast(name, auxiliary, case, options, found[name]) for name in found]
    return sorted(forecasts, key=lambda each: -each.agreement)


def _forecast(
    name: str, auxiliary: AuxiliarySet, case: Case, options: Options, agreement: float
) -> Forecast:
    method: Method = METHODS[name].create(auxiliary, case.n_units, case.promise, options)
    mechanism = method.mechanism(case.promise, case.n_units)
    ratios = _noise_to_signal(method, mechanism, auxiliary)
    return Forecast(
        method=name,
        epsilon=case.promise.epsilon,
        directions=len(ratios),
        dimension=mechanism.dimension,
        noise=mechanism.noise,
        agreement=agreement,
        noise_to_signal=tuple(ratios.tolist()),
    )


def _noise_to_signal(method: Method, mechanism: Mechanism, auxiliary: AuxiliarySet) -> Array:
    """Noise over signal per direction, if the signal is spread as the choice of k takes it to be.

    Per cell, noise over mass.
    """
    n_classes = auxiliary.n_classes
    if isinstance(method, Moments):
        shares = signal_shares(Whitening.of(auxiliary.features).values)
        shares = shares[: method.whitening.shape[1]]
        noise = mechanism.deviation / method.clip_factor
        signal = np.sqrt(shares * (1.0 - 1.0 / n_classes))
        ratios: Array = noise * math.sqrt(n_classes - 1) / signal
        return ratios
    assert isinstance(method, Cells)
    masses = np.bincount(method.assigned, minlength=len(method.centres)) / auxiliary.n_samples
    deviation = math.sqrt(variance(mechanism.law)) * mechanism.grid / mechanism.divisor
    return np.sort(deviation / np.maximum(masses, 1.0 / auxiliary.n_samples))
