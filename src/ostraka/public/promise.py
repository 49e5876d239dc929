"""What a poll promises: how much, and to whom.

    letter  name here   meaning
    ε       epsilon     no probability of a release changes by more than a factor e^ε
    δ       delta       what may be added to that; 0 for pure ε
    –       protects    whose data may be replaced as a whole: a party's, a person's, or one row

`party` is the default: everything that a holder has, at once. `person`: each holder bounds the
vector of each of its persons as a party's would be, and sends their exact sum; then a person is
hidden, and the holder is trusted to have bounded them. `row`: every row stands for itself, in one
process.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, final, get_args

from ostraka.errors import ParameterError, TooFewPartiesError, count, number

__all__ = [
    "MOST_PARTIES",
    "WEAK",
    "NoiseName",
    "Promise",
    "Unit",
    "check_parties",
    "explain",
    "plural",
    "surest",
]

NoiseName = Literal["auto", "l2", "gaussian"]
Unit = Literal["party", "person", "row"]

# Far beyond what anybody needs, and far within what doubles can hold: no bound overflows.
EPSILONS = (1e-12, 1e18)
MOST_PARTIES = 2**38
WEAK = 10.0
"""From here on ε is a formality: e¹⁰ is 22 026."""
_WHOSE = {"party": "one party's data", "person": "one person's data", "row": "one row"}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """The promise of a poll.

    Args:
        epsilon: the privacy loss of one release, for one protected unit.
        delta: 0, or a probability far below one over the number of units.
        noise: "auto" takes the law with the least noise, "l2" the paper's, "gaussian" one that
            composes in ρ (needs δ > 0).
        protects: "party", "person" or "row".
        least_parties: refuse to release for fewer protected units than this.

    """

    epsilon: float
    delta: float = 0.0
    noise: NoiseName = "auto"
    protects: Unit = "party"
    least_parties: int = 2

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", number("epsilon", self.epsilon, *EPSILONS))
        probability = number("delta", self.delta, 0.0, 0.1, "0, or a probability up to 0.1")
        object.__setattr__(self, "delta", probability)
        object.__setattr__(self, "least_parties", count("least_parties", self.least_parties, 2))
        if self.noise not in get_args(NoiseName):
            raise ParameterError("noise", got=self.noise, allowed=", ".join(get_args(NoiseName)))
        if self.protects not in get_args(Unit):
            raise ParameterError("protects", got=self.protects, allowed=", ".join(get_args(Unit)))

    def checked_units(self, n_units: int) -> int:
        """How many protected units there are, as a Python integer; too few are refused."""
        given = check_parties(n_units)
        if given < self.least_parties:
            raise TooFewPartiesError(given, self.least_parties, self.protects)
        return given


def check_parties(n_parties: int) -> int:
    """A number of parties (persons, rows) as a Python integer."""
    return count("n_parties", n_parties, 0, MOST_PARTIES)


def explain(epsilon: float, delta: float, protects: Unit) -> str:
    """What a promise means, for somebody who has never heard of ε.

    Two worlds that differ in one unit's data give every model probabilities within a factor e^ε.
    Whoever holds both worlds for equally likely therefore holds either for at most e^ε/(1+e^ε)
    after seeing
    the model, whatever else he knows   [Bayes].
    """
    chance = f", but for a chance of about {delta:g}" if delta else ""
    text = (
        f"Somebody who knows everything about all the others, and wavers half and half between two "
        f"versions of {_WHOSE[protects]}, is at most {surest(epsilon)} sure of either after "
        "seeing the model"
        f"{chance}. (50% would be perfect, 100% no protection at all.)"
    )
    weak = f" ε = {epsilon:g} protects against little; around 1 is a real promise."
    return text + (weak if epsilon > WEAK else "")


def surest(epsilon: float) -> str:
    """How sure of one of two equally likely worlds somebody can become, as a percentage."""
    sure = 100.0 / (1.0 + math.exp(-min(epsilon, 700.0)))
    if sure >= 99.995:
        return "99.99% or more"
    return f"{sure:.4g}%" if sure >= 99.95 else f"{sure:.3g}%"


def plural(unit: str, n: int) -> str:
    """1 party, 2 parties, 3 persons, 4 rows."""
    if n == 1:
        return f"1 {unit}"
    return f"{n:,} {unit[:-1]}ies" if unit.endswith("y") else f"{n:,} {unit}s"
