"""What a release promises, as a value that people and programs can read.

A certificate is made from the poll and from how many took part, never from what they sent: the
function that makes one is not given a contribution. It therefore holds no achieved gradient norm,
no timing, no accuracy.

It has a common part, and one that depends on what got the noise:

    NoisySum            a sum of bounded whole numbers; the model was made afterwards, for free
    PerturbedMinimiser  the minimiser of a regularised risk itself

`epsilon` and `delta` are what the *file* costs whoever took part in all rounds that it rests on;
`round_epsilon` and `round_delta` are this round's own.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, final

from ostraka.errors import ParameterError, say_number
from ostraka.public.catalogue import CATALOGUE, LABEL_GAPS, SLOPE_BOUNDS
from ostraka.public.promise import Unit, explain, plural

__all__ = [
    "Certificate",
    "NoisySum",
    "PerturbedMinimiser",
    "FROM_THE_SYSTEM",
    "FROM_A_SEED",
    "neighbours_of",
    "sum_up",
]

FROM_THE_SYSTEM = "operating system"
FROM_A_SEED = "seed"

AND_ONE_SAMPLE = " and one auxiliary sample"
_NEIGHBOURS = {
    "replace one party": "party",
    "replace one person": "person",
    "replace one row": "row",
    f"replace one party{AND_ONE_SAMPLE}": "party",
}
_KNOWN: dict[str, tuple[str, ...]] = {
    "method": tuple(name for name in CATALOGUE if name != "auto"),
    "noise": ("l2", "discrete laplace", "gaussian"),
    "norm": ("l2", "l1"),
    "neighbours": tuple(_NEIGHBOURS),
    "randomness": (FROM_THE_SYSTEM, FROM_A_SEED),
}
EACH = " Each of the two servers has added such noise."
LARGEST_STATISTIC = 2**22
"""No sum has more numbers: what a file says beyond is no release of ours."""
_WHOSE = {
    "party": "one party's whole data set",
    "person": "one person's whole data",
    "row": "one row",
}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class NoisySum:
    """A sum of what the parties sent. `radius`: no contribution is longer; None for votes."""

    radius: float | None


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbedMinimiser:
    """The minimiser of a risk, and where its sensitivity comes from.

    The total is at least the sum.
    """

    calibration: str
    loss: str
    lambda_: float
    rule: str
    """`paper`, `stability` (labels move the gradient), `ball` (no minimiser leaves it)."""
    bound: float
    """Of the exact minimiser."""
    solver: float
    """Twice the distance of the computed from the exact minimiser."""
    rounding: float
    """Floating-point error of everything between the solver and the grid."""
    on_grid: float
    """Of putting the vector on the grid, before the noise."""
    radius: float | None
    solver_tolerance: float | None
    gradient_factor: float | None
    """μ ≤ 1, by which public samples shorten what labels do to the gradient; None if unknown."""


Particular = NoisySum | PerturbedMinimiser


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The promise: replacing one unit changes no probability by more than a factor of e^ε."""

    method: str
    epsilon: float
    delta: float
    round_epsilon: float
    round_delta: float
    neighbours: str
    parties: int
    """Who contributed; where persons are protected, the holders."""
    persons: int | None = None
    """How many persons they have, where persons are protected."""
    auxiliary_samples: int | None
    auxiliary_digest: str | None
    sensitivity: float
    norm: str = "l2"
    """In which the sensitivity is measured."""
    noise: str
    noise_scale: float
    rho: float | None = None
    """The loss in zero-concentrated terms, for Gaussian noise."""
    grid: float
    dimension: int
    coordinates: str
    particular: Particular
    poll: str | None = None
    """The digest of the poll."""
    start: str | None = None
    """For a second round: the digest of the release that it started from."""
    start_epsilon: float = 0.0
    """What that release, and those before it, had cost."""
    start_delta: float = 0.0
    randomness: str = FROM_THE_SYSTEM
    """Where the noise came from; a seed means a rehearsal, which protects nobody."""
    assumed_public: tuple[str, ...] = ()
    """What was read from private data because it is taken to be public; not covered."""
    servers: tuple[str, ...] = ()
    """Coordinator and trustee, of whom one must be honest, by name and key. Each has added noise of
    this scale. None: the coordinator must be.
    """

    def __post_init__(self) -> None:
        for name, known in _KNOWN.items():
            if getattr(self, name) not in known:
                raise ParameterError(
                    name, got=getattr(self, name), allowed=" or ".join(map(repr, known))
                )
        _check_numbers(self)
        _check_rounds(self)
        _check_noise(self)
        if isinstance(self.particular, NoisySum):
            _check_sum(self, self.particular)
        else:
            _check_minimiser(self, self.particular)

    @property
    def protects(self) -> Unit:
        """Whose data may be replaced as a whole."""
        return _NEIGHBOURS[self.neighbours]  # type: ignore[return-value]

    @property
    def n_units(self) -> int:
        """M: how many are protected, and what the sum is divided by."""
        return self.parties if self.persons is None else self.persons

    @property
    def n_noises(self) -> int:
        """How many independent noises of this scale are in what was released."""
        return max(1, len(self.servers))

    @property
    def digest(self) -> str:
        """By which a ledger knows what a charge was for."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    def to_json(self) -> str:
        """Canonical JSON: sorted names, no spaces, every number as its shortest exact decimal."""
        from ostraka.release.certificate_format import write

        return write(self)

    @classmethod
    def from_json(cls, text: str) -> Certificate:
        """Parse, check every field, then build; anything unexpected is refused."""
        from ostraka.release.certificate_format import parse

        return parse(text)

    def __str__(self) -> str:
        """The promise in plain words; what mathematicians ask for stands below."""
        return f"{self.plainly}\nIn technical terms: {self.technical}"

    @property
    def plainly(self) -> str:
        """The promise in plain words."""
        rehearsed = (
            "A REHEARSAL with seeded noise, which protects nobody. A release would promise:\n"
        )
        assumed = f" Taken to be public: {self.assumed}."
        delta = f" (δ = {say_number(self.delta)})" if self.delta else ""
        return (
            f"{rehearsed if self.randomness == FROM_A_SEED else ''}"
            f"ε = {self.epsilon:g} differential privacy{delta} for {self._who}, among "
            f"{self.crowd}. "
            f"{explain(self.epsilon, self.delta, self.protects, self._seen)}"
            f"{self._rounds}{self._trust}{assumed if self.assumed_public else ''}"
        )

    @property
    def assumed(self) -> str:
        """What was taken to be public, as somebody reads it who was not there."""
        told = {"classes": "the list of classes, which was read from the parties' labels"}
        return "; ".join(told.get(what, what) for what in self.assumed_public)

    @property
    def _who(self) -> str:
        also = AND_ONE_SAMPLE if self.neighbours.endswith(AND_ONE_SAMPLE) else ""
        return _WHOSE[self.protects] + also

    @property
    def _seen(self) -> str:
        return "the evaluation" if self.method == "evaluation" else "the model"

    @property
    def technical(self) -> str:
        """What got noise, how much of it, and how far one unit can move it."""
        moved = "sum" if isinstance(self.particular, NoisySum) else "result"
        norm = " in L1" if self.norm == "l1" else ""
        return (
            f"{self._method} Replacing {self._who} moves the {moved} by at most "
            f"{self.sensitivity:.4g}{norm}; {self.noise.replace('l2', 'ℓ2')} noise of scale "
            f"{self.noise_scale:.4g} hides that, in {self.dimension} coordinates on a grid of "
            f"{self.grid:.3g}.{EACH if self.servers else ''}"
        )

    @property
    def crowd(self) -> str:
        """Among how many somebody is hidden."""
        if self.persons is None:
            return plural(self.protects, self.parties)
        return f"{plural('person', self.persons)} at {plural('holder', self.parties)}"

    @property
    def _rounds(self) -> str:
        if self.start is None:
            return ""
        return (
            f" This round alone costs ε = {self.round_epsilon:g} "
            f"(δ = {say_number(self.round_delta)}). It started from the release "
            f"{self.start[:12]}, which had cost "
            f"ε = {self.start_epsilon:g} (δ = {say_number(self.start_delta)})."
        )

    @property
    def _trust(self) -> str:
        told = ""
        if self.servers:
            one, other = self.servers
            told = (
                f" This holds if the coordinator, {one}, or the trustee, {other}, is honest: "
                "neither alone could read what a party has sent."
            )
        if self.persons is None:
            return told
        return (
            f"{told} Every holder is trusted to have bounded what each of its persons adds. "
            "Whoever has data at two holders is protected for 2ε."
        )

    @property
    def _method(self) -> str:
        own = self.particular
        if self.method == "evaluation":
            return f"an evaluation, a sum over {self.coordinates}."
        if isinstance(own, NoisySum):
            return (
                f"method {self.method}, a statistic over {self.coordinates}, from which the model "
                "is made at no further cost."
            )
        return (
            f"method {self.method} ({own.calibration} calibration, {own.loss} loss, "
            f"λ = {own.lambda_:g})."
        )


def neighbours_of(protects: Unit, *, private_auxiliary: bool = False) -> str:
    """What may be replaced, in the certificate's words."""
    if private_auxiliary and protects != "party":
        allowed = "party, where the auxiliary set is private too"
        raise ParameterError("protects", got=protects, allowed=allowed)
    return f"replace one {protects}{AND_ONE_SAMPLE if private_auxiliary else ''}"


def sum_up(one: float, other: float) -> float:
    """Their sum, rounded up."""
    total = one + other
    exact = Fraction(one) + Fraction(other)
    return total if Fraction(total) >= exact else math.nextafter(total, math.inf)


def _check_numbers(promised: Certificate) -> None:
    for name in ("round_epsilon", "sensitivity", "noise_scale", "grid"):
        _positive(name, getattr(promised, name))
    if math.frexp(promised.grid)[0] != 0.5:
        raise ParameterError("grid", got=promised.grid, allowed="a power of two")
    sizes = (
        promised.parties,
        promised.dimension,
        1 if promised.auxiliary_samples is None else promised.auxiliary_samples,
        promised.n_units,
    )
    if not all(size >= 1 for size in sizes):
        raise ParameterError("parties, dimension, samples", got=sizes, allowed="1 or more each")
    if (promised.persons is not None) is not (promised.protects == "person"):
        got = (promised.persons, promised.neighbours)
        allowed = "a number of persons where persons are protected, none elsewhere"
        raise ParameterError("persons, neighbours", got=got, allowed=allowed)
    if len(promised.servers) not in (0, 2) or len(set(promised.servers)) != len(promised.servers):
        allowed = "none, or a coordinator and a trustee"
        raise ParameterError("servers", got=promised.servers, allowed=allowed)
    texts = (promised.coordinates, *promised.assumed_public, *promised.servers)
    if not all(text.isprintable() for text in texts):
        names = "coordinates, assumed_public, servers"
        raise ParameterError(names, got="control characters", allowed="printable text")
    for name in ("auxiliary_digest", "poll", "start"):
        digest = getattr(promised, name)
        if digest is not None and not (
            len(digest) == 64 and set(digest) <= set("0123456789abcdef")
        ):
            raise ParameterError(name, got=digest, allowed="64 hexadecimal digits")


def _check_rounds(promised: Certificate) -> None:
    if (promised.method == "refine") is not (promised.start is not None):
        allowed = "the digest of a release for the method refine, none for others"
        raise ParameterError("start", got=promised.start, allowed=allowed)
    costs = (promised.start_epsilon, promised.start_delta)
    possible = 0.0 <= costs[0] < math.inf and 0.0 <= costs[1] <= 1.0
    if not (possible and (costs[0] > 0.0) is (promised.start is not None)):
        allowed = "what the start cost; 0 without one"
        raise ParameterError("start_epsilon, start_delta", got=costs, allowed=allowed)
    totals = (
        sum_up(promised.round_epsilon, costs[0]),
        sum_up(promised.round_delta, costs[1]),
    )
    if (promised.epsilon, promised.delta) != totals:
        got = (promised.epsilon, promised.delta)
        raise ParameterError("epsilon, delta", got=got, allowed=f"what all rounds cost, {totals}")


def _check_noise(promised: Certificate) -> None:
    """Which law goes with which δ and norm.

    That a scale is enough for a δ above 0 takes ball arithmetic: `mechanism.laws.verify`.
    """
    pure = promised.noise == "discrete laplace" or isinstance(
        promised.particular, PerturbedMinimiser
    )
    if not (promised.round_delta == 0.0 or (not pure and 0.0 < promised.round_delta < 1.0)):
        raise ParameterError("delta", got=promised.round_delta, allowed="0 for this noise")
    if (promised.noise == "gaussian") is not (promised.rho is not None):
        allowed = "a number for Gaussian noise, none for others"
        raise ParameterError("rho", got=promised.rho, allowed=allowed)
    if promised.rho is not None:
        _positive("rho", promised.rho)
        if promised.round_delta == 0.0:
            raise ParameterError("delta", got=0.0, allowed="above 0 for Gaussian noise")
        enough = 2 * Fraction(promised.rho) * Fraction(promised.noise_scale) ** 2
        if enough < Fraction(promised.sensitivity) ** 2:
            allowed = "at least sensitivity²/(2·noise_scale²)"
            raise ParameterError("rho", got=promised.rho, allowed=allowed)
    if (promised.norm == "l1") is not (promised.noise == "discrete laplace"):
        allowed = '"l1" for discrete Laplace noise, "l2" for the others'
        raise ParameterError("norm", got=promised.norm, allowed=allowed)
    scaled = Fraction(promised.noise_scale) * Fraction(promised.round_epsilon)
    if promised.round_delta == 0.0 and not scaled >= Fraction(promised.sensitivity):
        allowed = "at least sensitivity/epsilon"
        raise ParameterError("noise_scale", got=promised.noise_scale, allowed=allowed)


def _check_sum(promised: Certificate, own: NoisySum) -> None:
    """What all noisy sums have in common, from the certificate alone."""
    if CATALOGUE[promised.method].perturbs != "sum":
        raise ParameterError("particular", got="a noisy sum", allowed=f"what {promised.method} is")
    if (promised.noise == "discrete laplace") is not (promised.method in ("cells", "evaluation")):
        allowed = f"that of the method {promised.method}"
        raise ParameterError("noise", got=promised.noise, allowed=allowed)
    if (own.radius is None) is not (CATALOGUE[promised.method].sends == "votes"):
        raise ParameterError("radius", got=own.radius, allowed="a number, and none for votes")
    if own.radius is not None:
        _positive("radius", own.radius)
        if not 2.0 * own.radius <= promised.sensitivity:
            got = (own.radius, promised.sensitivity)
            raise ParameterError(
                "radius, sensitivity", got=got, allowed="at least twice the radius"
            )
    if CATALOGUE[promised.method].needs_auxiliary and (
        promised.auxiliary_digest is None or promised.auxiliary_samples is None
    ):
        allowed = f"that of a public set, for the method {promised.method}"
        raise ParameterError("auxiliary_digest", got=promised.auxiliary_digest, allowed=allowed)
    if not promised.dimension <= LARGEST_STATISTIC:
        raise ParameterError(
            "dimension", got=promised.dimension, allowed=f"up to {LARGEST_STATISTIC}"
        )
    if promised.neighbours.endswith(AND_ONE_SAMPLE):
        raise ParameterError("neighbours", got=promised.neighbours, allowed="without a sample")


def _check_minimiser(promised: Certificate, own: PerturbedMinimiser) -> None:
    """What can be checked of the parts; the span would need the auxiliary set."""
    if promised.servers:
        raise ParameterError("servers", got=promised.servers, allowed="none, for a minimiser")
    # `avg` released a mean of minimisers in formats 1 to 3.
    if promised.method not in ("soft", "vote", "avg"):
        raise ParameterError("particular", got="a minimiser", allowed=f"what {promised.method} is")
    choices = {
        "calibration": ("paper", "tight"),
        "loss": tuple(LABEL_GAPS),
        "rule": ("paper", "ball") if promised.method == "avg" else ("paper", "stability", "ball"),
        "noise": ("l2",),
    }
    for name, known in choices.items():
        got = promised.noise if name == "noise" else getattr(own, name)
        if got not in known:
            raise ParameterError(name, got=got, allowed=" or ".join(map(repr, known)))
    _positive("lambda", own.lambda_)
    for name in ("bound", "solver", "rounding", "on_grid"):
        if not 0.0 <= getattr(own, name) < math.inf:
            raise ParameterError(name, got=getattr(own, name), allowed="finite, 0 or more")
    summed = sum(map(Fraction, (own.bound, own.solver, own.rounding, own.on_grid)))
    if not Fraction(promised.sensitivity) >= summed:
        allowed = f"at least the sum of its parts, {float(summed)}"
        raise ParameterError("sensitivity", got=promised.sensitivity, allowed=allowed)
    if not own.on_grid >= promised.grid * math.sqrt(promised.dimension):
        raise ParameterError("on_grid", got=own.on_grid, allowed="at least grid·√dimension")
    if promised.neighbours.endswith(AND_ONE_SAMPLE) and promised.auxiliary_digest is not None:
        allowed = "none for a private auxiliary set"
        raise ParameterError("auxiliary_digest", got=promised.auxiliary_digest, allowed=allowed)
    least = _least_bound(promised, own)
    if not own.bound >= least:
        raise ParameterError(
            "bound", got=own.bound, allowed=f"{least:.6g} or more, for its λ, M, κ"
        )
    if own.rule in ("stability", "paper") and promised.method != "avg":
        tolerance = own.solver_tolerance
        if tolerance is None or not own.solver >= 2.0 * tolerance / own.lambda_:
            raise ParameterError("solver", got=own.solver, allowed="2·solver_tolerance/λ or more")


def _least_bound(promised: Certificate, own: PerturbedMinimiser) -> float:
    """The bound that the certificate's own λ, M, N, κ, μ and radius ask for   [bounds.proof.md]."""
    shares = promised.n_units if promised.method in ("soft", "avg") else 1
    if own.rule == "ball" or promised.method == "avg":
        if own.radius is None:
            return math.inf
        return 2.0 * own.radius / (shares if promised.method == "avg" else 1)
    gap = LABEL_GAPS[own.loss]
    if own.rule == "paper":
        gap = math.sqrt(2.0) if own.loss == "softmax" else 2.0
    if promised.neighbours.endswith(AND_ONE_SAMPLE):
        n, slope = promised.auxiliary_samples, SLOPE_BOUNDS[own.loss]
        return math.inf if n is None else ((n - 1) * gap / shares + 2.0 * slope) / (own.lambda_ * n)
    factor = 1.0 if own.rule == "paper" else own.gradient_factor
    if factor is None:  # formats 1 to 3 did not state μ, nor the poll
        return 0.0 if promised.poll is None else math.inf
    if not 0.0 <= factor <= 1.0:
        return math.inf
    return gap * factor / (own.lambda_ * shares)


def _positive(name: str, value: float) -> None:
    if not 0.0 < value < math.inf:
        raise ParameterError(name, got=value, allowed="a positive finite number")


def plain(promised: Certificate) -> dict[str, Any]:
    """All fields as plain values."""
    return asdict(promised)
