"""A method made for a number of parties, with its noise, for the tests of single methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ostraka.mechanism.laws import Exact
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.base import Options, Work
from ostraka.methods.registry import METHODS
from ostraka.party.rows import Parties
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.promise import Promise
from ostraka.solve.losses import Array

World = list[tuple[Any, Any]]
"""Each party's features and class indices."""
OF_PROMISE = ("epsilon", "delta", "noise")


@dataclass(frozen=True)
class Planned:
    method: Any
    mechanism: Mechanism
    n_units: int

    @property
    def ball(self) -> Any:
        return self.method.domain

    def sent(self, world: World | Parties) -> Array:
        """What every party sends, as rows."""
        parties = world if isinstance(world, Parties) else grouped(world)
        return np.concatenate([block for _, block in self.method.contribute(parties, Work())])

    def total(self, world: World) -> Exact:
        return [int(unit) for unit in self.sent(world).sum(axis=0)]

    def weights(self, noisy: Exact) -> Array:
        with np.errstate(all="ignore"):
            return self.method.weights(self.mechanism.mean(noisy), self.mechanism)

    def surprise(self, noisy: Exact) -> float | None:
        return self.method.surprise(self.mechanism.mean(noisy), self.mechanism)


def planned(
    name: str, auxiliary: AuxiliarySet, n_units: int, *, create: Any = None, **given: Any
) -> Planned:
    """`given`: ε, δ, noise and the method's options; `create`: further arguments of `create`."""
    settings = {"epsilon": 1.0, **given}
    promise = Promise(**{key: value for key, value in settings.items() if key in OF_PROMISE})
    options = Options(**{key: value for key, value in settings.items() if key not in OF_PROMISE})
    method = METHODS[name].create(auxiliary, n_units, promise, options, **(create or {}))
    return Planned(method, method.mechanism(promise, n_units), n_units)


def grouped(world: World) -> Parties:
    sizes = [len(labels) for _, labels in world]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
    features, labels = (np.concatenate(part) for part in zip(*world))
    return Parties(features, labels, starts, [str(party) for party in range(len(world))])
