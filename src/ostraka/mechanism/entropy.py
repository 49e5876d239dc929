"""Where randomness comes from: the operating system, or a seed.

| code name   | meaning                                                                          |
|-------------|----------------------------------------------------------------------------------|
| `Entropy`   | bits of the operating system's generator; what it draws may be published         |
| `Rehearsal` | a seeded generator; what it draws can be looked at and repeated, never published |
| `Source`    | one of the two: the typed argument of everything that draws                      |

Guarantee: the two are different types with different methods, so a seed cannot reach the exact path
of a mechanism by mistake. A rehearsal is meant for public or synthetic data: anybody who knows the
seed can compute its noise again and subtract it.

Why not one class with an optional seed: a publication that protects nobody would be one
forgotten argument away, and no type checker would see it.
"""

from __future__ import annotations

import operator
import secrets
from dataclasses import dataclass, field
from typing import TypeAlias, final

import numpy as np

from ostraka.errors import ParameterError

__all__ = ["Entropy", "Rehearsal", "Source"]


@final
@dataclass(frozen=True, slots=True)
class Entropy:
    """The operating system's generator."""

    def bits(self, n: int) -> int:
        """Draw `n` independent fair bits, as a number from 0 to 2ⁿ − 1."""
        if not n >= 0:
            raise ParameterError("n", got=n, allowed="a number of bits, 0 or more")
        return secrets.randbits(n)


@final
@dataclass(frozen=True, slots=True, eq=False)
class Rehearsal:
    """A seeded generator. Whatever is drawn with it is a rehearsal and can never be published."""

    seed: int
    generator: np.random.Generator = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # numpy reads None as "unseeded", which would be neither repeatable nor fit to publish.
        try:
            seed = operator.index(self.seed)
        except TypeError:
            seed = -1
        if seed < 0:
            raise ParameterError("seed", got=self.seed, allowed="a whole number, 0 or more")
        object.__setattr__(self, "generator", np.random.default_rng(seed))


Source: TypeAlias = Entropy | Rehearsal
