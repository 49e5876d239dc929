"""The paper's noise: a vector whose density falls with its Euclidean length, drawn exactly.

| letter | code name   | meaning                                                                 |
|--------|-------------|-------------------------------------------------------------------------|
| η      | –           | the ideal noise in R^D, density ∝ exp(−‖η‖₂/s)                          |
| s      | `scale`     | S/ε, the L2 sensitivity over the privacy loss, rounded up by the caller |
| γ      | `spacing`   | distance of neighbouring points of the public grid, a power of two      |
| D      | `dimension` | number of coordinates                                                   |
| Z      | `draw`      | ⌊η/γ + 1/2⌋, coordinate by coordinate: what is drawn                    |
| u, v   | `uniforms`  | independent uniforms on [0, 1]: u makes the direction, v the radius     |
| g, r   | –           | D independent Gaussians; the radius, Gamma(D):  η = s·r·g/‖g‖₂          |

Guarantee: if q and q' are integer vectors with ‖γq − γq'‖₂ ≤ S whenever they are neighbours, then
q + Z is ε-differentially private with δ = 0. Z has exactly the law of the rounded ideal η, not an
approximate one. Proof: `l2.proof.md`.

Source: Hamm, Cao, Belkin, "Learning Privately from Multiparty Data", ICML 2016 (the density).
The exact draw is ours.

How: of every uniform the first bits are known, so it is an interval. Ball arithmetic (`flint.arb`)
carries the intervals through the formula for η/γ. If an enclosure leaves a rounding open, more bits
are appended to all uniforms (those already drawn stay) and the formula is evaluated again. Fewer
than one draw in 2^30 needs that (extrapolated from draws with smaller margins).

Why not fixed precision: in doubles the set of possible values of γq + η depends on q, so the
low-order bits give q away (Mironov 2012). Even at p bits, and rounded to the grid, the law is off
by about 2^−p·D·r·s/γ in total variation, so the claim would be (ε, δ). Here the claim is ε.

Timing: how often a draw is refined depends on the noise and on public parameters alone. The noise
is drawn without the input, which is added afterwards, in integers.
"""

from __future__ import annotations

import math
import operator
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, SupportsFloat, final

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from ostraka.errors import ParameterError
from ostraka.mechanism.entropy import Entropy, Rehearsal, Source

__all__ = [
    "L2Noise",
    "BitSource",
    "LazyUniform",
    "draw_units",
    "settle",
    "working_precision",
    "positive_double",
]

# Bits beyond those that the size of the noise calls for. More of them make a second pass rarer
# and the first one slower.
MARGIN_BITS = 40
# Working precision beyond the bits of the uniforms, so that rounding errors stay far below the
# width of the intervals.
GUARD_BITS = 32

# flint's precision belongs to the process, not to the thread. A wrong one costs time, not
# correctness (an enclosure is an enclosure at any precision). The lock makes sure that two
# simultaneous draws put back the precision they found.
_precision_lock = threading.Lock()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class L2Noise:
    """η in R^D with density ∝ exp(−‖η‖₂/scale), rounded to the grid spacing·Z^D."""

    scale: float
    spacing: float
    dimension: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive_double("scale", self.scale))
        object.__setattr__(self, "spacing", _power_of_two("spacing", self.spacing))
        object.__setattr__(self, "dimension", _count("dimension", self.dimension))

    def draw(self, source: Source) -> NDArray[np.object_]:
        """Draw D Python integers, in units of `spacing`.

        Exact with `Entropy`, computed in doubles with a `Rehearsal`.
        """
        if isinstance(source, Rehearsal):
            return np.array(self._rehearse_units(source), dtype=object)
        # Any other object with a method `bits` would take the exact path without using the
        # operating system's bits.
        if type(source) is not Entropy:
            raise ParameterError("source", got=source, allowed="Entropy() or Rehearsal(seed)")
        return np.array(draw_units(self, source), dtype=object)

    def rehearse(self, generator: np.random.Generator, n_draws: int) -> NDArray[np.float64]:
        """Draw `n_draws` vectors in doubles, as rows: for experiments, without a promise.

        Their entries are multiples of `spacing`.
        """
        D = self.dimension
        g = generator.standard_normal((_count("n_draws", n_draws), D))
        r = generator.standard_gamma(D, size=(n_draws, 1))
        return _round_doubles(
            g * (self.scale * r / np.linalg.norm(g, axis=1, keepdims=True)), self.spacing
        )

    def _rehearse_units(self, source: Rehearsal) -> list[int]:
        (row,) = self.rehearse(source.generator, 1)
        # Multiples of a power of two: the quotient of two integers is exact, and faster than
        # fractions.
        top, bottom = self.spacing.as_integer_ratio()
        ratios = (value.as_integer_ratio() for value in row.tolist())
        return [p * bottom // (q * top) for p, q in ratios]


class BitSource(Protocol):
    """Something that gives bits: `Entropy`, or a record of bits in a test."""

    def bits(self, n: int, /) -> int:
        """Draw `n` independent fair bits, as a number from 0 to 2ⁿ − 1."""
        ...


@final
class LazyUniform:
    """A uniform number whose first `n_bits` binary digits are known: in [k, k+1]/2^n_bits."""

    __slots__ = ("k", "n_bits")

    def __init__(self) -> None:
        self.k = 0
        self.n_bits = 0

    def extend(self, source: BitSource, n_bits: int) -> None:
        """Append bits until `n_bits` are known.

        Known bits stay: drawing them again would favour easy roundings.
        """
        more = n_bits - self.n_bits
        self.k = self.k << more | source.bits(more)
        self.n_bits = n_bits

    def enclosure(self) -> arb:
        """Return a ball that holds [k, k+1]/2^n_bits."""
        exponent = -(self.n_bits + 1)
        # A pair (a, b) means a·2^b and is taken exactly, whatever the working precision.
        return arb((2 * self.k + 1, exponent), (1, exponent))


def draw_units(law: L2Noise, source: BitSource) -> list[int]:
    """Draw ⌊η/spacing + 1/2⌋, a function of the bits alone: take bits until all is settled."""
    n_directional = law.dimension + law.dimension % 2  # Gaussians come in pairs

    def enclose(uniforms: Sequence[LazyUniform]) -> list[arb]:
        return enclose_coordinates(law, uniforms[:n_directional], uniforms[n_directional:])

    return settle(enclose, n_directional + law.dimension, first_n_bits(law), source)


def settle(
    enclose: Callable[[Sequence[LazyUniform]], list[arb]],
    n_uniforms: int,
    n_bits: int,
    source: BitSource,
) -> list[int]:
    """Draw ⌊x(u) + 1/2⌋ for the x that `enclose` encloses.

    Bits are drawn, twice as many each time, until no rounding is open.
    """
    uniforms = [LazyUniform() for _ in range(n_uniforms)]
    while True:
        for uniform in uniforms:
            uniform.extend(source, n_bits)
        with working_precision(n_bits + GUARD_BITS):
            units = round_to_grid(enclose(uniforms))
        if units is not None:
            return units
        n_bits *= 2


@contextmanager
def working_precision(n_bits: int) -> Iterator[None]:
    """Set flint's working precision for one thread at a time, and put the old one back."""
    with _precision_lock, ctx.workprec(n_bits):
        yield


def first_n_bits(law: L2Noise) -> int:
    """Bits per uniform in the first pass, so that a second one is rare.

    Any positive number would be correct.
    """
    # Coordinates/spacing are below scale·D/spacing or so. Each of the D coordinates, and each of
    # the 2D uniforms if near 0 or 1, is a chance to fail.
    ratio_bits = math.frexp(law.scale)[1] - math.frexp(law.spacing)[1] + 1
    dimension_bits = law.dimension.bit_length()
    return MARGIN_BITS + dimension_bits + max(0, ratio_bits + dimension_bits)


def enclose_coordinates(
    law: L2Noise, u: Sequence[LazyUniform], v: Sequence[LazyUniform]
) -> list[arb]:
    """Enclose η/γ = (s/γ)·r·g/‖g‖, with g from the uniforms u and r from v."""
    # With odd D the last Gaussian is dropped before the norm is taken: the direction lives in R^D.
    g = enclose_gaussians(u)[: law.dimension]
    norm = sum((g_i * g_i for g_i in g), arb(0)).sqrt()
    factor = arb(law.scale) / arb(law.spacing) * enclose_radius(v) / norm
    return [factor * g_i for g_i in g]


def enclose_gaussians(u: Sequence[LazyUniform]) -> list[arb]:
    """Enclose independent standard Gaussians, two per pair of uniforms   [Box and Muller 1958]."""
    g: list[arb] = []
    for u_1, u_2 in zip(u[0::2], u[1::2]):
        length = (-2 * u_1.enclosure().log()).sqrt()
        sine, cosine = (2 * u_2.enclosure()).sin_cos_pi()
        g += [length * cosine, length * sine]
    return g


def enclose_radius(v: Sequence[LazyUniform]) -> arb:
    """Enclose r = −Σ ln v_i, which is Gamma(D) for D uniforms."""
    return -sum((v_i.enclosure().log() for v_i in v), arb(0))


def round_to_grid(coordinates: Iterable[arb]) -> list[int] | None:
    """Return ⌊x + 1/2⌋ for every x, or None if an enclosure leaves it open or is not finite."""
    units: list[int] = []
    for x in coordinates:
        unit = (x + 0.5).floor().unique_fmpz()
        if unit is None:
            return None
        units.append(int(unit))
    return units


def _round_doubles(x: NDArray[np.float64], spacing: float) -> NDArray[np.float64]:
    """Round to multiples of `spacing`; a double too large to divide by it is one already."""
    with np.errstate(over="ignore"):
        units = np.rint(x / spacing)
    return np.where(np.isfinite(units), units * spacing, x)


def positive_double(name: str, value: SupportsFloat) -> float:
    """Return `value` as a double if that is exact: silent rounding down could weaken privacy."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (0 < number < math.inf and number == value):
        raise ParameterError(name, got=value, allowed="a positive, finite double")
    return number


def _power_of_two(name: str, value: SupportsFloat) -> float:
    number = positive_double(name, value)
    if math.frexp(number)[0] != 0.5:
        raise ParameterError(name, got=value, allowed="a power of two, such as 2.0**-20")
    return number


def _count(name: str, value: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = 0
    if number < 1:
        raise ParameterError(name, got=value, allowed="a whole number, 1 or more")
    return number
