"""How good a model is on the parties' own rows: a statement beside the model, with a promise of its
own.

    name here           meaning
    statistic           what was released: the mean over units of the shares of their rows by true
                        and predicted class, with noise; for K > 2 also of right and wrong ones
    accuracy            how often the model is right: the mean over units of each unit's own share
    recalls             the same for the rows of each class; None for a class too rare to tell
    balanced_accuracy   the mean of these
    table               a confusion table without impossible numbers, for people

Every unit counts alike, however many rows it has. All but the statistic is computed from it, so it
costs nothing; how, and why the intervals hold: intervals.proof.md.

On disk an evaluated release is the release as it was, byte by byte, with statements beside it: so
its digest, by which ledgers and second rounds know it, stays the same.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import FormatError, InputError, ParameterError
from ostraka.public.promise import check_keep_back
from ostraka.release.certificate import FROM_A_SEED, Certificate
from ostraka.release.intervals import REACH, Estimate, average, find_share
from ostraka.tensors import canonical_json, parse_json, write_tensors

__all__ = ["Evaluation", "count_cells", "foresee_noise", "read_evaluated", "write_evaluated"]

LEAST_DEVIATIONS = 3.0
"""A class is told of if its share is this many deviations of the noise in it."""
MOST_EVALUATIONS = 1000

Array = NDArray[np.float64]


def count_cells(n_classes: int) -> int:
    """How many numbers an evaluation has: K², and two more where that makes accuracy surer."""
    return 4 if n_classes == 2 else n_classes**2 + 2


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evaluation:
    """How good one model is, by what was released about it."""

    release: str
    """The digest of the release that it speaks of."""
    certificate: Certificate
    """What is promised to whoever took part in the evaluation."""
    keep_back: int | None
    """Every so many rows one was kept back from learning, and these were used; None: all were."""
    statistic: Array = field(repr=False)

    def __post_init__(self) -> None:
        promised = self.certificate
        if promised.method != "evaluation":
            raise ParameterError("certificate", got=promised.method, allowed="one of an evaluation")
        if not (len(self.release) == 64 and set(self.release) <= set("0123456789abcdef")):
            allowed = "a digest of 64 hexadecimal digits"
            raise ParameterError("release", got=self.release, allowed=allowed)
        object.__setattr__(self, "keep_back", check_keep_back(self.keep_back))
        statistic = np.array(self.statistic, dtype=np.float64)
        if statistic.shape != (promised.dimension,) or not np.isfinite(statistic).all():
            allowed = f"{promised.dimension} finite numbers, as its certificate says"
            raise ParameterError("statistic", got=f"shape {statistic.shape}", allowed=allowed)
        if count_cells(self.n_classes) != promised.dimension or self.n_classes < 2:
            allowed = "4 numbers for two classes, K² + 2 for K"
            raise ParameterError("dimension", got=promised.dimension, allowed=allowed)
        statistic.setflags(write=False)
        object.__setattr__(self, "statistic", statistic)

    @property
    def n_classes(self) -> int:
        """K."""
        size = self.certificate.dimension
        return 2 if size == 4 else math.isqrt(max(0, size - 2))

    @property
    def digest(self) -> str:
        """By which a ledger knows it."""
        return hashlib.sha256(self._to_json().encode() + self.statistic.tobytes()).hexdigest()

    @property
    def accuracy(self) -> Estimate | None:
        """How often the model is right; None where noise leaves nothing to be told."""
        cells, K = self._cells(), self.n_classes
        right = float(np.trace(cells))
        of_right, of_wrong = self._variances(K, K * (K - 1))
        wrong = float(cells.sum()) - right
        return find_share(right, wrong, of_right, of_wrong, self.certificate.n_units)

    @property
    def noise(self) -> float | None:
        """By how much noise alone moves the accuracy, 19 times out of 20."""
        found, K = self.accuracy, self.n_classes
        if found is None:
            return None
        of_right, of_wrong = self._variances(K, K * (K - 1))
        variance = (1.0 - found.value) ** 2 * of_right + found.value**2 * of_wrong
        return REACH * math.sqrt(variance) / float(self._cells().sum())

    @property
    def recalls(self) -> tuple[Estimate | None, ...]:
        """For each class, how many of its rows are given that class; None: too rare to tell."""
        cells, n = self._cells(), self.certificate.n_units
        of_right, of_wrong = self._variances(1, self.n_classes - 1)
        least = LEAST_DEVIATIONS * math.sqrt(of_right + of_wrong)
        right = np.diagonal(cells).tolist()
        return tuple(
            find_share(own, share - own, of_right, of_wrong, n) if share >= least else None
            for own, share in zip(right, cells.sum(axis=1).tolist())
        )

    @property
    def balanced_accuracy(self) -> Estimate | None:
        """The mean over classes, except those too rare to tell; None if all are."""
        told = [each for each in self.recalls if each is not None]
        return average(told) if told else None

    @property
    def class_shares(self) -> Array:
        """How common each class is."""
        return np.asarray(self.table.sum(axis=1))

    @property
    def table(self) -> Array:
        """The share of rows by true class (rows) and predicted class (columns); it sums to 1.

        Noise puts cells below 0: these are 0 here, and the others make room for them, so that the
        diagonal sums to the accuracy.
        """
        cells, found = np.maximum(self._cells(), 0.0), self.accuracy
        right, others = np.diag(np.diagonal(cells)), cells - np.diag(np.diagonal(cells))
        share = 1.0 / self.n_classes if found is None else found.value
        on, off = np.eye(self.n_classes), 1.0 - np.eye(self.n_classes)
        return share * _scale(right, on) + (1.0 - share) * _scale(others, off)

    def describe(self, classes: Sequence[Any]) -> str:
        """In sentences."""
        crowd, unit = self.certificate.crowd, self.certificate.protects
        which = "that were kept back from learning" if self.keep_back else "of theirs"
        flatters = "" if self.keep_back else f" {FLATTERS}"
        seeded = "A REHEARSAL with seeded noise. " if self._seeded else ""
        found = self.accuracy
        if found is None:
            told = "there was too much noise to tell how often the model is right."
            return f"{seeded}Evaluated by {crowd} on rows {which}: {told}{flatters}"
        alike = f"Every {unit} counts alike, however many rows it has. " if unit != "row" else ""
        return (
            f"{seeded}Evaluated by {crowd} on rows {which}, the model is right for {found}; noise "
            f"alone moves that by up to {self.noise:.1%}. {alike}{self._guessing(classes)} "
            f"{self._by_class(classes)}{flatters}"
        )

    def facts(self, classes: Sequence[Any]) -> dict[str, Any]:
        """The same as plain values."""
        rare = [name for name, found in zip(classes, self.recalls) if found is None]
        return {
            "release": self.release,
            "epsilon": self.certificate.round_epsilon,
            "parties": self.certificate.parties,
            "persons": self.certificate.persons,
            "keep_back": self.keep_back,
            "accuracy": _plain(self.accuracy),
            "balanced_accuracy": _plain(self.balanced_accuracy),
            "too_rare_to_tell": rare,
            "table": self.table.round(6).tolist(),
        }

    def __repr__(self) -> str:
        return (
            f"Evaluation(accuracy={self.accuracy}, balanced_accuracy={self.balanced_accuracy}, "
            f"epsilon={self.certificate.round_epsilon:g}, n_units={self.certificate.n_units})"
        )

    @property
    def _seeded(self) -> bool:
        return self.certificate.randomness == FROM_A_SEED

    def _cells(self) -> Array:
        """The K² shares by least squares: with more classes, right and wrong are known twice."""
        K = self.n_classes
        numbers = np.clip(self.statistic, -1e100, 1e100)
        if K == 2:
            return numbers.reshape(2, 2)
        (right, wrong), cells = 2.0 * numbers[:2], 2.0 * numbers[2:].reshape(K, K)
        on, n = np.eye(K, dtype=bool), K * (K - 1)
        of_right = (right - cells[on].sum()) / (K + 1)
        of_wrong = (wrong - cells[~on].sum()) / (n + 1)
        return np.asarray(cells + np.where(on, of_right, of_wrong))

    def _variances(self, n_right: int, n_wrong: int) -> tuple[float, float]:
        """Of the noise in a sum of so many cells on the diagonal, and of so many others."""
        K = self.n_classes
        noise = self.certificate.noise_scale / self.certificate.n_units
        v = 2.0 * self.certificate.n_noises * noise**2
        if K == 2:
            return n_right * v, n_wrong * v
        on, off = n_right - n_right**2 / (K + 1), n_wrong - n_wrong**2 / (K * (K - 1) + 1)
        return 4.0 * v * on, 4.0 * v * off

    def _guessing(self, classes: Sequence[Any]) -> str:
        shares = self.class_shares
        commonest = int(shares.argmax())
        return (
            f"Always naming {str(classes[commonest])!r}, the commonest class, would be right for "
            f"about {shares[commonest]:.0%}."
        )

    def _by_class(self, classes: Sequence[Any]) -> str:
        found = self.balanced_accuracy
        rare = [repr(str(name)) for name, each in zip(classes, self.recalls) if each is None]
        missing = f" Too rare for so much noise: {', '.join(rare)}." if rare else ""
        if found is None:
            return f"With so much noise no class can be told of by itself.{missing}"
        told = [repr(str(name)) for name, each in zip(classes, self.recalls) if each is not None]
        over = "those classes that can be told of" if rare else "the classes"
        whose = f"On average over {over}, {found.value:.1%} of a class's rows are given that class"
        if len(told) == 1:
            whose = f"Of the rows of {told[0]}, {found.value:.1%} are given that class"
        return f"{whose} (between {found.low:.1%} and {found.high:.1%}).{missing}"

    def _to_json(self) -> str:
        return canonical_json(
            {
                "release": self.release,
                "keep_back": self.keep_back,
                "certificate": self.certificate.to_json(),
            }
        )


def foresee_noise(certificate: Certificate) -> float:
    """By how much noise will move the accuracy, 19 times out of 20, if everybody has rows.

    For a model that is nearly always right; of others it moves less.
    """
    nothing = np.zeros(certificate.dimension)
    empty = Evaluation(release="0" * 64, certificate=certificate, keep_back=None, statistic=nothing)
    K = empty.n_classes
    return REACH * math.sqrt(empty._variances(K, K * (K - 1))[1])


FLATTERS = (
    "No rows were kept back from learning, so these may be the ones that it learnt from: on others "
    "it may well be less often right."
)


def write_evaluated(release: bytes, evaluations: Sequence[Evaluation], number: str) -> bytes:
    """A release as it is, with statements beside it."""
    arrays = {f"evaluation.{i}": each.statistic for i, each in enumerate(evaluations)}
    stated = [each._to_json() for each in evaluations]
    return write_tensors(
        {"release": np.frombuffer(release, dtype=np.uint8), **arrays},
        {"ostraka": number, "evaluations": canonical_json({"stated": stated})},
    )


def read_evaluated(
    tensors: dict[str, NDArray[Any]], metadata: dict[str, str], number: str
) -> tuple[bytes, list[Evaluation]]:
    """The bytes of the release, and the statements, from anyone; what is unexpected is refused."""
    stated = parse_json(metadata["evaluations"], "release").get("stated")
    if not (isinstance(stated, list) and 0 < len(stated) <= MOST_EVALUATIONS):
        raise FormatError("release", "its evaluations are damaged")
    names = [f"evaluation.{i}" for i in range(len(stated))]
    if set(metadata) != {"ostraka", "evaluations"} or metadata["ostraka"] != number:
        raise FormatError("release", "its metadata is not that of an evaluated release")
    if set(tensors) != {"release", *names}:
        raise FormatError("release", "its evaluations and their numbers do not match")
    held = tensors["release"]
    if held.dtype != np.uint8 or held.ndim != 1:
        raise FormatError("release", "what was evaluated is not the bytes of a release")
    return held.tobytes(), [_read(text, tensors[name]) for text, name in zip(stated, names)]


def _read(text: Any, statistic: NDArray[Any]) -> Evaluation:
    if not isinstance(text, str) or statistic.dtype != np.float64 or statistic.ndim != 1:
        raise FormatError("release", "an evaluation of it is damaged")
    content = parse_json(text, "release")
    if set(content) != {"release", "keep_back", "certificate"} or not (
        isinstance(content["release"], str) and isinstance(content["certificate"], str)
    ):
        raise FormatError("release", "an evaluation of it is damaged")
    certificate = Certificate.from_json(content.pop("certificate"))
    try:
        return Evaluation(certificate=certificate, statistic=statistic, **content)
    except InputError as error:
        problem = f"in an evaluation of it, {error.problem.removesuffix('.')}"
        raise FormatError("release", problem) from None


def _plain(found: Estimate | None) -> dict[str, float] | None:
    if found is None:
        return None
    return {"value": found.value, "low": found.low, "high": found.high}


def _scale(cells: Array, where: Array) -> Array:
    """Cells that sum to 1; all alike if there is nothing."""
    total = float(cells.sum())
    return cells / total if total > 0.0 else where / where.sum()
