"""What to expect of our own methods, from an auxiliary set alone, before anything is collected.

    name here         meaning
    kept              how much of what can be learnt without privacy, beyond naming the commonest
                      class, models of a rehearsal learnt: on labels that anybody may see, from
                      made-up parties, with noise (`methods.choose`)
    noise_to_signal   in each direction that is released: noise over the signal that it is taken to
                      hold; below 1 it can be read
    by_parties        the same of the best candidate, for other numbers of parties

Everything is public: the auxiliary set, M, ε, δ, the declared number of samples per party. How much
can be learnt of your own labels nobody knows before; a release says how often it is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.base import Method, Options, Watch
from ostraka.methods.cells import Cells
from ostraka.methods.choose import Case, Rehearsed, create, rehearse
from ostraka.methods.moments import Moments
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.solve.losses import Array

__all__ = ["Forecast", "Outlook", "forecast", "outlook"]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """One candidate at one ε."""

    method: str
    """Its name among the candidates: a method, or a single cell."""
    epsilon: float
    directions: int
    """Directions, or cells."""
    dimension: int
    noise: str
    right: float
    kept: float
    noise_to_signal: tuple[float, ...]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """What other ε and other numbers of parties would bring."""

    by_epsilon: list[list[Forecast]]
    """For each ε all candidates, the best one first."""
    by_parties: dict[int, float]
    """What the best candidate keeps, for each number of parties, in order."""


def forecast(
    auxiliary: AuxiliarySet, n_units: int, promise: Promise, options: Options
) -> list[Forecast]:
    """All candidates, the best one first."""
    case = Case(n_units, promise)
    return _forecasts_of(auxiliary, case, options, rehearse(auxiliary, [case], options)[case])


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
    found = rehearse(auxiliary, [*across, *along], options, watch)
    return Outlook(
        by_epsilon=[_forecasts_of(auxiliary, case, options, found[case]) for case in across],
        by_parties={case.n_units: _best(found[case]).kept for case in along},
    )


def _forecasts_of(
    auxiliary: AuxiliarySet, case: Case, options: Options, found: dict[str, Rehearsed]
) -> list[Forecast]:
    """One for each candidate, the best one first."""
    forecasts = [_forecast(name, auxiliary, case, options, found[name]) for name in found]
    return sorted(forecasts, key=lambda each: -each.right)


def _forecast(
    name: str, auxiliary: AuxiliarySet, case: Case, options: Options, found: Rehearsed
) -> Forecast:
    method = create(name, auxiliary, case.n_units, case.promise, options)
    mechanism = method.mechanism(case.promise, case.n_units)
    ratios = _noise_to_signal(method, mechanism, auxiliary)
    return Forecast(
        method=name,
        epsilon=case.promise.epsilon,
        directions=len(ratios),
        dimension=mechanism.dimension,
        noise=mechanism.noise,
        right=found.right,
        kept=found.kept,
        noise_to_signal=tuple(ratios.tolist()),
    )


def _best(found: dict[str, Rehearsed]) -> Rehearsed:
    return max(found.values(), key=lambda each: each.right)


def _noise_to_signal(method: Method, mechanism: Mechanism, auxiliary: AuxiliarySet) -> Array:
    """Noise over signal per direction, if the signal is spread as the choice of k takes it to be.

    Per cell, noise over mass.
    """
    n_classes = auxiliary.n_classes
    if isinstance(method, Moments):
        noise = mechanism.deviation / method.clip_factor
        signal = np.sqrt(method.signal * (1.0 - 1.0 / n_classes))
        ratios: Array = noise * math.sqrt(n_classes - 1) / signal
        return ratios
    assert isinstance(method, Cells)
    masses = np.bincount(method.assigned, minlength=len(method.centres)) / auxiliary.n_samples
    return np.sort(mechanism.deviation / np.maximum(masses, 1.0 / auxiliary.n_samples))
