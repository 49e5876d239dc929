"""What every method is: frozen public arrays, and the way from parties to a model through them.

    name here    meaning
    domain       what one party may send, and how far apart two of them can be
    contribute   what parties send, each from its own rows alone, to the last bit
    statistic    the private vector that gets the noise: the sum itself, or the minimiser of a risk
    mechanism    the noise, for a promise and a number of protected units
    weights      after the noise: a model from public things only
    surprise     after the noise: how unlike the private and the auxiliary samples are

A method is made once, when a poll is made, for the expected number of units. Its arrays travel in
the poll, because eigenvectors and clusters differ in the last bits between machines. The number of
units that came is known when the poll is closed; it enters as a divisor and into the noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, Self, TypeAlias, final, get_args

import numpy as np

from ostraka.errors import ParameterError, ShapeError, WrongTypeError, count, number
from ostraka.mechanism.laws import Exact
from ostraka.mechanism.mechanism import Mechanism
from ostraka.party.rows import Parties
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.catalogue import Student
from ostraka.public.numbers import is_sparse
from ostraka.public.promise import MOST_PARTIES, Promise
from ostraka.public.task import Task
from ostraka.release.certificate import FROM_THE_SYSTEM, Certificate
from ostraka.solve.losses import Array
from ostraka.tally.domain import Domain, Units

__all__ = [
    "Block",
    "Calibration",
    "Method",
    "Options",
    "Start",
    "Work",
    "check_shapes",
    "labels_again",
    "public_features",
    "whole",
]

LAMBDAS = (1e-12, 1e12)
PENALTIES = (1e-12, 1e12)
GRIDS = (2.0**-400, 2.0**200)
"""With others, numbers after the noise would leave all doubles."""

Block: TypeAlias = tuple[list[str], Units]
"""Names, and their vectors as rows (a ball) or the counts (N, K) of their votes (ballots)."""
Calibration: TypeAlias = Literal["paper", "tight"]
"""Whose sensitivities: those of Hamm et al. 2016, or the smallest that we can prove."""
Objective: TypeAlias = Literal["accuracy", "balanced"]
"""What a model shall be good at: rows as they are, or all classes alike."""
Watch: TypeAlias = Callable[[Iterable[Any], int], Iterable[Any]]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """What a second round rests on, besides its arrays."""

    digest: str
    certificate: Certificate

    @property
    def rehearsed(self) -> bool:
        """Whether it was drawn with a seed: nothing that rests on it can be released."""
        return self.certificate.randomness != FROM_THE_SYSTEM


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to make a method; see `PrivateClassifier` for what each option means.

    `start` is what `refine` starts from: an earlier `Release`, or a `Rehearsed` for a rehearsal.
    """

    samples_each: int = 10
    samples_largest: int | None = None
    natural: bool | None = None
    shift: bool = False
    penalty: float | None = None
    objective: str = "accuracy"
    student: str = "auto"
    lambda_: float = 1e-4
    calibration: str = "tight"
    loss: str = "logistic"
    ball: float | None = None
    start: Any = None

    def __post_init__(self) -> None:
        each = count("samples_each", self.samples_each, 1, MOST_PARTIES)
        object.__setattr__(self, "samples_each", each)
        object.__setattr__(self, "shift", bool(self.shift))
        if self.natural is not None:
            object.__setattr__(self, "natural", bool(self.natural))
        if self.samples_largest is not None:
            count("samples_largest", self.samples_largest, each, MOST_PARTIES)
        object.__setattr__(self, "lambda_", number("lambda", self.lambda_, *LAMBDAS))
        if self.penalty is not None:
            object.__setattr__(self, "penalty", number("penalty", self.penalty, *PENALTIES))
        check_objective(self.objective)
        check_student(self.student)
        if self.calibration not in get_args(Calibration):
            allowed = '"paper" or "tight"'
            raise ParameterError("calibration", got=self.calibration, allowed=allowed)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Work:
    """How contributions are computed on this machine; none of it changes what a party sends.

    `local` is what a party trains where it votes: an unfitted classifier, a function, or a list of
    them; None for the paper's own linear classifier.
    """

    local: Any = None
    n_jobs: int | None = 1
    watch: Watch | None = None


class Method(Protocol):
    """One way from parties to a model."""

    name: ClassVar[str]

    @classmethod
    def create(
        cls, public: AuxiliarySet | Task, n_units: int, promise: Promise, options: Options
    ) -> Self:
        """The method for a poll of this many units, from public values."""
        ...

    @property
    def n_classes(self) -> int:
        """K."""
        ...

    @property
    def domain(self) -> Domain:
        """What one party may send."""
        ...

    @property
    def start(self) -> Start | None:
        """What the method rests on, for a second round."""
        ...

    def contribute(self, parties: Parties, work: Work) -> Iterator[Block]:
        """What every party sends, in blocks."""
        ...

    def mechanism(self, promise: Promise, n_units: int) -> Mechanism:
        """The noise for this many units."""
        ...

    def statistic(self, total: Units, mechanism: Mechanism) -> Exact:
        """The private vector, on the mechanism's lattice. It never fails, whatever the total."""
        ...

    def weights(self, mean: Array, mechanism: Mechanism) -> Array:
        """The weights of a model, whatever the noise did: (d,) for two classes, (d, K) for more."""
        ...

    def surprise(self, mean: Array, mechanism: Mechanism) -> float | None:
        """By how many standard deviations private and auxiliary samples differ; None if unknown."""
        ...


def public_features(public: AuxiliarySet | Task, name: str) -> tuple[AuxiliarySet, Array]:
    """A public auxiliary set and its dense features; a private or sparse set is refused."""
    if not isinstance(public, AuxiliarySet):
        raise WrongTypeError("The auxiliary set", public, f"an AuxiliarySet, for method {name!r}")
    if public.private:
        allowed = "a public one: its geometry is published; or soft, vote, avg"
        raise ParameterError("auxiliary", got="a private set", allowed=allowed)
    if is_sparse(public.features):
        allowed = "dense ones: give it preprocessing=half_whiten(samples, n_classes)"
        raise ParameterError("auxiliary", got="sparse features", allowed=allowed)
    features: Array = public.features
    return public, features


def check_objective(objective: str) -> None:
    """Refuse anything but the two."""
    if objective not in get_args(Objective):
        allowed = '"accuracy", or "balanced" where rare classes count as much as common ones'
        raise ParameterError("objective", got=objective, allowed=allowed)


def check_student(student: object) -> None:
    """Refuse anything but the words."""
    if student not in get_args(Student):
        words = ", ".join(f'"{word}"' for word in get_args(Student))
        allowed = f"{words}; any classifier later: release.refit(student=classifier)"
        raise ParameterError("student", got=student, allowed=allowed)


def labels_again(student: str, usually: bool) -> bool:
    """Whether a line is fitted to the model's own answers; `usually`: as the method has it."""
    return {"none": False, "linear": True}.get(student, usually)


def check_positive(method: Any) -> None:
    """Refuse numbers that would only fail, or mislead, after the noise."""
    count("samples_each", getattr(method, "samples_each", 1), 1, MOST_PARTIES)
    if not 0 < getattr(method, "clip_factor", 1.0) <= 1:
        raise ParameterError("clip_factor", got=method.clip_factor, allowed="above 0, up to 1")
    grid = number("grid", getattr(method, "grid", 1.0), *GRIDS)
    if math.frexp(grid)[0] != 0.5:
        raise ParameterError("grid", got=method.grid, allowed="a power of two")
    if getattr(method, "penalty", None) is not None:
        number("penalty", method.penalty, *PENALTIES)
    check_objective(getattr(method, "objective", "accuracy"))
    check_student(getattr(method, "student", "auto"))


def check_shapes(**arrays: tuple[Any, str]) -> dict[str, int]:
    """Refuse arrays that do not fit together; return the length each letter stands for.

    `check_shapes(rows=(X, "Np"), table=(W, "pk"))`: N×p and p×k, with the same p. None is left out.
    """
    lengths: dict[str, int] = {}
    for name, (array, letters) in arrays.items():
        if array is None:
            continue
        shape = tuple(array.shape)
        expected = tuple(lengths.get(letter, "any") for letter in letters)
        fits = len(shape) == len(letters) and all(
            lengths.setdefault(letter, int(n)) == n for letter, n in zip(letters, shape)
        )
        if not fits:
            raise ShapeError(name, got=shape, allowed=f"{expected}, as the others have")
    return lengths


def whole(total: Units) -> Exact:
    """A sum as Python's integers."""
    return [int(unit) for unit in np.asarray(total).ravel()]
