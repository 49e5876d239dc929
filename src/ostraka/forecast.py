"""What to expect of our own methods, from an auxiliary set alone, before anything is collected.

    name here         meaning
    agreement         how often a model learnt from made-up parties, with noise, agrees with the labels that were made up (`methods.auto`)
    noise_to_signal   in each direction that is released: noise over the signal that it is taken to hold; below 1 it can be read
    by_parties        the better method's agreement for other numbers of parties: how many are needed

Everything is public: the auxiliary set, M, ε, δ, the declared number of samples per party. Made-up labels are not yours: the agreement
ranks settings, it is no promise of accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from ostraka.auxiliary import AuxiliarySet
from ostraka.losses import Array
from ostraka.methods import auto
from ostraka.methods.cells import CellsRecipe
from ostraka.methods.denoise import signal_shares
from ostraka.methods.laws import variance
from ostraka.methods.moments import MomentsRecipe
from ostraka.methods.statistic import StatisticPlan, StatisticTerms
from ostraka.whitening import Whitening

__all__ = ["Forecast", "at_epsilons", "by_parties", "forecast"]


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


def forecast(auxiliary: AuxiliarySet, n_parties: int, terms: StatisticTerms) -> list[Forecast]:
    """`moments` and `cells`, the better one first."""
    found = []
    for name in auto.candidates(terms):
        planned = auto.METHODS[name].plan(auxiliary, n_parties, terms)
        ratios = _noise_to_signal(planned, auxiliary)
        found.append(
            Forecast(
                method=name,
                epsilon=terms.epsilon,
                directions=len(ratios),
                dimension=planned.certificate.dimension,
                noise=planned.certificate.noise,
                agreement=auto.agreement(name, auxiliary, n_parties, terms),
                noise_to_signal=tuple(ratios.tolist()),
            )
        )
    return sorted(found, key=lambda each: -each.agreement)


def by_parties(auxiliary: AuxiliarySet, terms: StatisticTerms, candidates: Iterable[int]) -> dict[int, float]:
    """The better method's agreement for each number of parties."""
    found = {m: max(auto.agreement(name, auxiliary, m, terms) for name in auto.candidates(terms)) for m in candidates}
    return dict(sorted(found.items()))


def _noise_to_signal(planned: StatisticPlan, auxiliary: AuxiliarySet) -> Array:
    """Noise over signal per direction, if the signal is spread as the choice of k takes it to be; per cell, noise over mass."""
    recipe, n_classes = planned.recipe, auxiliary.n_classes
    if isinstance(recipe, MomentsRecipe):
        shares = signal_shares(Whitening.of(auxiliary.features).values)[: recipe.whitening.shape[1]]
        ratios: Array = recipe.noise * math.sqrt(n_classes - 1) / np.sqrt(shares * (1.0 - 1.0 / n_classes))
        return ratios
    assert isinstance(recipe, CellsRecipe)
    masses = np.bincount(recipe.assigned, minlength=len(recipe.centres)) / auxiliary.n_samples
    deviation = math.sqrt(variance(planned.law)) * planned.certificate.grid / planned.certificate.parties
    return np.sort(deviation / np.maximum(masses, 1.0 / auxiliary.n_samples))


def at_epsilons(auxiliary: AuxiliarySet, n_parties: int, terms: StatisticTerms, epsilons: Iterable[float]) -> list[list[Forecast]]:
    """Forecasts for several ε."""
    return [forecast(auxiliary, n_parties, replace(terms, epsilon=epsilon)) for epsilon in epsilons]
