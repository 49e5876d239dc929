"""What a poll promises: how much, and to whom.

    letter  name here   meaning
    ε       epsilon     no probability of a release changes by more than a factor e^ε
    δ       delta       what may be added to that; 0 for pure ε
    –       protects    whose data may be replaced as a whole: a party's, a person's, or one row
    –       servers     of whom one must be honest; None: the coordinator must

`party` is the default: everything that a holder has, at once. `person`: each holder bounds the
vector of each of its persons as a party's would be, and sends their exact sum; then a person is
hidden, and the holder is trusted to have bounded them. `row`: every row stands for itself, in one
process.

With two servers, each of them adds noise that is enough by itself: so there is twice its variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, final, get_args

from ostraka.errors import ParameterError, TooFewPartiesError, WrongTypeError, count, number
from ostraka.sealing.card import Servers

__all__ = [
    "MOST_PARTIES",
    "WEAK",
    "NoiseName",
    "Promise",
    "Unit",
    "check_keep_back",
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
KEPT_BACK = (2, 1000)
"""If every single row were kept back, none would be left to learn from."""
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
        servers: the coordinator and the trustee, where one of the two must be honest and neither
            can read what a party sends.

    """

    epsilon: float
    delta: float = 0.0
    noise: NoiseName = "auto"
    protects: Unit = "party"
    least_parties: int = 2
    servers: Servers | None = None

    def __post_init__(self) -> None:
        allowed = f"a number above 0; 0.1 to 2 is usual, {EPSILONS[1]:g} the most"
        object.__setattr__(self, "epsilon", number("epsilon", self.epsilon, *EPSILONS, allowed))
        probability = number("delta", self.delta, 0.0, 0.1, "0, or a probability up to 0.1")
        object.__setattr__(self, "delta", probability)
        object.__setattr__(self, "least_parties", count("least_parties", self.least_parties, 2))
        if self.noise not in get_args(NoiseName):
            raise ParameterError("noise", got=self.noise, allowed=", ".join(get_args(NoiseName)))
        if self.protects not in get_args(Unit):
            raise ParameterError("protects", got=self.protects, allowed=", ".join(get_args(Unit)))
        if self.servers is not None and not isinstance(self.servers, Servers):
            raise WrongTypeError("The servers", self.servers, "Servers(coordinator=, trustee=)")
        if self.servers is not None and self.protects == "row":
            allowed = "none where single rows are protected: these are all in one process"
            raise ParameterError("servers", got=str(self.servers.trustee), allowed=allowed)

    @property
    def n_noises(self) -> int:
        """How many independent noises there are in what is released, each enough by itself."""
        return 1 if self.servers is None else 2

    @property
    def felt_epsilon(self) -> float:
        """At which one noise would be as large as all of them: for accuracy, not for promises."""
        return self.epsilon / math.sqrt(self.n_noises)

    def check_units(self, n_units: int, *, expected: bool = False) -> int:
        """How many protected units there are (or are expected), as a Python integer; or too few."""
        given = check_parties(n_units)
        if given < self.least_parties:
            raise TooFewPartiesError(given, self.least_parties, self.protects, expected=expected)
        return given


def check_parties(n_parties: int) -> int:
    """A number of parties (persons, rows) as a Python integer."""
    return count("parties", n_parties, 0, MOST_PARTIES)


def check_keep_back(every: int | None) -> int | None:
    """Which rows are kept back, as a Python integer: 5 means every fifth; None means none."""
    return None if every is None else count("keep_back", every, *KEPT_BACK)


def explain(epsilon: float, delta: float, protects: Unit, seen: str = "the model") -> str:
    """What a promise means, for somebody who has never heard of ε."""
    text = (
        "Imagine somebody who knows everything about all the others, and is undecided, 50:50, "
        f"between two versions of {_WHOSE[protects]}. Having seen {seen}, they guess which "
        f"version it was made of, and are right {surest(epsilon, delta)} of the time. (50% is "
        "blind guessing.)"
    )
    weak = f" ε = {epsilon:g} protects against little; around 1 is a real promise."
    return text + (weak if epsilon > WEAK else "")


def surest(epsilon: float, delta: float = 0.0) -> str:
    """How often the best guess of two equally likely worlds can be right, rounded up.

    Let α and β be how often a guess is wrong in either world. By (ε, δ)-differential privacy
    α + e^ε·β ≥ 1−δ and e^ε·α + β ≥ 1−δ, so (α+β)/2 ≥ (1−δ)/(1+e^ε)   [Wasserman, Zhou 2010].
    """
    wrong = (1.0 - delta) / (1.0 + math.exp(min(epsilon, 700.0)))
    right = 100.0 * (1.0 - wrong)
    if right > 99.9:
        return "nearly 100%"
    # The slack covers rounding: what is said must not be too little.
    return f"at most {math.ceil(10.0 * right * (1.0 + 1e-12)) / 10.0:g}%"


def plural(unit: str, n: int) -> str:
    """1 party, 2 parties, 3 persons, 4 rows."""
    if n == 1:
        return f"1 {unit}"
    return f"{n:,} {unit[:-1]}ies" if unit.endswith("y") else f"{n:,} {unit}s"
