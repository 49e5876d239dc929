"""A release: the published model with its certificate, the only thing that leaves; and a rehearsal,
which never does.

On disk a release is one safetensors file: the weights and what was released as tensors, everything
else as canonical JSON in the metadata. Files are parsed, then audited, then built; whatever is not
exactly as expected is refused before any of it is used.

    format   what changed
    1        weights, task, certificate
    2        `statistic`, the noisy mean itself, where the model was made from one: it is public,
             and `refit` makes other models from it, at no cost in budget
    3        `columns` where a table's columns are described, instead of their names alone;
             `outlook`, what is known about how good the model can be
    4        the outlook says how often the model takes itself to be right
    5        `keep_back`, where rows were kept back from learning for an evaluation; or a release of
             any other form as it was, with evaluations beside it. Other releases have format 4
    6        `student.landmarks` and `student.weights`, where the model is a kernel student of the
             linear one, whose `weights` are there as ever; `keep_back` if rows were kept back
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NoReturn, Protocol, Self, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import (
    FormatError,
    InputError,
    ParameterError,
    RehearsalError,
    naming_file,
)
from ostraka.files import read_regular, write_new
from ostraka.public.catalogue import CATALOGUE
from ostraka.public.columns_format import columns_from_json, columns_json
from ostraka.public.numbers import Samples
from ostraka.public.preprocessing import Preprocessing
from ostraka.public.promise import check_keep_back
from ostraka.public.task import Task
from ostraka.release.certificate import FROM_THE_SYSTEM, Certificate
from ostraka.release.evaluation import (
    MOST_EVALUATIONS,
    Evaluation,
    read_evaluated,
    write_evaluated,
)
from ostraka.release.kernel_model import KernelModel
from ostraka.release.model import LinearModel
from ostraka.release.outlook import Outlook
from ostraka.release.scoring import Model
from ostraka.release.taught_model import check_storable
from ostraka.tensors import LARGEST_FILE, canonical_json, parse_json, read_tensors, write_tensors

__all__ = ["Release", "Rehearsed", "read_outcome", "task_from_json", "task_json"]

# A new number with every change of the file's content; readers of old numbers stay, each with a
# file in the tests.
FORMAT, KEEPING, WITH_STUDENT, WITH_OUTLOOK = "4", "5", "6", ("3", "4", "5", "6")
T = TypeVar("T")
Out = TypeVar("Out", "Release", "Rehearsed")
_KEYS = {"ostraka", "task", "certificate"}
_STUDENT = {"student.landmarks", "student.weights"}
_PREPROCESSING = {"preprocessing.center", "preprocessing.scale", "preprocessing.components"}


class Refitting(Protocol):
    """What `refit` needs of a poll."""

    @property
    def digest(self) -> str:
        """The name by which a certificate refers to it."""
        ...

    def remake(
        self,
        statistic: NDArray[np.float64],
        certificate: Certificate,
        penalty: float | None,
        student: Any,
        objective: str | None,
    ) -> Model:
        """A model of what was released, by the poll's own method."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Outcome:
    """What a release and a rehearsal have in common."""

    model: Model
    certificate: Certificate
    statistic: NDArray[np.float64] | None = field(default=None, repr=False)
    """What was released, where the model was made from it."""
    outlook: Outlook = field(default_factory=Outlook)
    """What is known of how good the model can be."""
    keep_back: int | None = None
    """Every so many rows of a protected unit one was not learnt from; None: all were."""
    shift: float | None = None
    """By how many standard deviations the parties' samples differ from the auxiliary ones, where
    that can be told; not in the file.
    """
    poll: Refitting | None = field(default=None, repr=False)
    """The poll that it came from, as long as it is at hand; not in the file."""
    evaluations: tuple[Evaluation, ...] = field(default=(), init=False, repr=False)
    """How good this very model was found to be; another model, by `refit`, has none."""
    _file: bytes | None = field(default=None, init=False, repr=False)
    """What it was read from, without evaluations."""

    def __post_init__(self) -> None:
        if not CATALOGUE[self.certificate.method].learns:
            allowed = "one of a method that a model comes of"
            raise ParameterError("certificate", got=self.certificate.method, allowed=allowed)
        object.__setattr__(self, "keep_back", check_keep_back(self.keep_back))
        if self.statistic is None:
            return
        promised, statistic = self.certificate, np.array(self.statistic, dtype=np.float64)
        if not CATALOGUE[promised.method].needs_auxiliary:
            allowed = f"none for the method {promised.method}, whose model is what was released"
            raise ParameterError("statistic", got=f"{statistic.size} numbers", allowed=allowed)
        if statistic.shape != (promised.dimension,):
            allowed = f"({promised.dimension},), as its certificate says"
            raise ParameterError("statistic", got=statistic.shape, allowed=allowed)
        statistic.setflags(write=False)
        object.__setattr__(self, "statistic", statistic)

    @property
    def certificates(self) -> tuple[Certificate, ...]:
        """What is promised of the model, and of every evaluation of it."""
        return (self.certificate, *(each.certificate for each in self.evaluations))

    def predict(self, samples: Samples) -> NDArray[Any]:
        """The class of each sample."""
        return self.model.predict(samples)

    def predict_proba(self, samples: Samples) -> NDArray[np.float64]:
        """The model's probabilities, a column per class.

        Calibrated for `auto`, `moments`, `cells` and a `refine` that starts from one of them; after
        the noise of other methods not.
        """
        return self.model.predict_proba(samples)

    def score(self, samples: Samples, labels: Any) -> float:
        """The share of samples whose class is right.

        On private samples this number is itself a disclosure.
        """
        return self.model.score(samples, labels)

    @property
    def digest(self) -> str:
        """Sha256 of the file that was read, or of what `save` writes: its name in ledgers.

        Evaluations speak of it and do not change it.
        """
        return hashlib.sha256(self._bare()).hexdigest()

    def add_evaluation(self, stated: Evaluation, kind: type[Out]) -> Out:
        """The same model with one more statement; a statement on another model is refused."""
        if stated.release != self.digest or stated.n_classes != len(self.model.task.classes):
            allowed = f"one of the release {self.digest[:12]}..."
            got = f"one of {stated.release[:12]}..."
            raise ParameterError("evaluation", got=got, allowed=allowed)
        if kind is Release and stated.certificate.randomness != FROM_THE_SYSTEM:
            raise RehearsalError
        protects = self.certificate.protects
        if stated.certificate.protects != protects:
            got, allowed = f"one that protects one {stated.certificate.protects}", f"one {protects}"
            raise ParameterError("evaluation", got=got, allowed=f"one that protects {allowed}")
        if len(self.evaluations) >= MOST_EVALUATIONS:
            allowed = f"up to {MOST_EVALUATIONS} of one release"
            raise ParameterError("evaluations", got=len(self.evaluations) + 1, allowed=allowed)
        more = kind(
            model=self.model,
            certificate=self.certificate,
            statistic=self.statistic,
            outlook=self.outlook,
            keep_back=self.keep_back,
            shift=self.shift,
            poll=self.poll,
        )
        object.__setattr__(more, "evaluations", (*self.evaluations, stated))
        object.__setattr__(more, "_file", self._bare())
        return more

    def refit(
        self,
        *,
        penalty: float | None = None,
        student: Any = None,
        objective: str | None = None,
        poll: Refitting | None = None,
    ) -> Self:
        """Another model from what was released. It costs no budget: nothing private is read.

        Args:
            penalty: how little to trust what was released; None: as the poll has it, which usually
                depends on the noise.
            student: what learns the fitted model's answers on the public auxiliary set: "none",
                "linear", "kernel", "auto" (where it usually helps), or an unfitted scikit-learn
                classifier, which no release file can hold; None: as the poll has it.
            objective: "accuracy", or "balanced" where rare classes count as much as common ones,
                for a release by moments or cells; None: as the poll has it.
            poll: where this release came from, if it was loaded from a file.

        """
        used = poll if poll is not None else self.poll
        if self.statistic is None:
            allowed = "a release of a statistic, by moments, cells, consensus or refine"
            raise ParameterError(
                "release", got=f"one by {self.certificate.method}", allowed=allowed
            )
        if used is None:
            allowed = (
                "the poll that this release came from: refit(poll=Poll.load(path)), or after fit "
                "refit(poll=classifier.poll_)"
            )
            raise ParameterError("poll", got=None, allowed=allowed)
        if used.digest != self.certificate.poll:
            allowed = f"the poll {str(self.certificate.poll)[:12]}... that it came from"
            raise ParameterError("poll", got=f"the poll {used.digest[:12]}...", allowed=allowed)
        model = used.remake(self.statistic, self.certificate, penalty, student, objective)
        return replace(self, model=model)

    def __repr__(self) -> str:
        promised, task = self.certificate, self.model.task
        delta = f", delta={promised.delta:g}" if promised.delta else ""
        return (
            f"{type(self).__name__}(method={promised.method!r}, n_classes={len(task.classes)}, "
            f"n_columns={task.n_columns}, epsilon={promised.epsilon:g}{delta}, "
            f"protects={promised.protects!r}, n_units={promised.n_units})"
        )

    def original(self) -> bytes:
        """The file that it was read from, or what `save` writes; with all evaluations beside it."""
        return self._write() if self.evaluations else self._bare()

    def _bare(self) -> bytes:
        return self._write_bare() if self._file is None else self._file

    def _write(self) -> bytes:
        if self.evaluations:
            return write_evaluated(self._bare(), self.evaluations, KEEPING)
        return self._write_bare()

    def _write_bare(self) -> bytes:
        check_storable(self.model)
        task = self.model.task
        metadata = {
            "ostraka": FORMAT,
            "task": canonical_json(task_json(task)),
            "outlook": self.outlook.to_json(),
            "certificate": self.certificate.to_json(),
        }
        if self.keep_back is not None:
            metadata |= {"ostraka": KEEPING, "keep_back": str(self.keep_back)}
        named = task.preprocessing.arrays().items()
        arrays = {f"preprocessing.{name}": array for name, array in named}
        if self.statistic is not None:
            arrays["statistic"] = self.statistic
        if isinstance(self.model, KernelModel):
            metadata["ostraka"] = WITH_STUDENT
            arrays["student.landmarks"] = self.model.landmarks
            arrays["student.weights"] = self.model.weights
        return write_tensors({"weights": self.model.linear.weights, **arrays}, metadata)


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Rehearsed(_Outcome):
    """A model drawn with a seed: it can be looked at, never published.

    Its certificate promises nothing.
    """

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> NoReturn:  # noqa: ARG002
        """Refuse: the noise can be computed from the seed."""
        raise RehearsalError


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Release(_Outcome):
    """A model, and what is promised about it."""

    def __post_init__(self) -> None:
        if self.certificate.randomness != FROM_THE_SYSTEM:
            raise RehearsalError
        _Outcome.__post_init__(self)
        # Where noise is on the weights themselves there cannot be more of it than of them.
        most = self.model.linear.weights.size
        on_weights = not CATALOGUE[self.certificate.method].needs_auxiliary
        if on_weights and not self.certificate.dimension <= most:
            allowed = f"up to {most}, the number of weights"
            raise ParameterError("dimension", got=self.certificate.dimension, allowed=allowed)

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the release; an interrupted write leaves whatever was there before.

        Another file of that name is replaced only if `overwrite` says so.
        """
        write_new(path, self.to_bytes(), overwrite=overwrite)

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        return self._write()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """Read a release; anything that is not one is refused."""
        with naming_file(path):
            return cls.from_bytes(read_regular(path, "release", LARGEST_FILE))

    @classmethod
    def from_bytes(cls, data: bytes) -> Release:
        """The same from what `to_bytes` gave."""
        found = read_outcome(data)
        if not isinstance(found, Release):
            problem = "its certificate says that the noise was seeded, so it is a rehearsal"
            raise FormatError("release", problem)
        return found


def read_outcome(data: bytes) -> Release | Rehearsed:
    """A release, or where a poll rests on one a rehearsal, from what came from anyone."""
    tensors, metadata = read_tensors(data, "release")
    if "evaluations" not in metadata:
        return _read_bare(data, tensors, metadata)
    bare, stated = read_evaluated(tensors, metadata, KEEPING)
    found = _read_bare(bare, *read_tensors(bare, "release"))
    for each in stated:
        found = _built("evaluations", partial(_add, found, each))
    return found


def _add(found: Release | Rehearsed, stated: Evaluation) -> Release | Rehearsed:
    if isinstance(found, Release) and stated.certificate.randomness == FROM_THE_SYSTEM:
        return found.add_evaluation(stated, Release)
    return found.add_evaluation(stated, Rehearsed)


def _read_bare(
    data: bytes, tensors: dict[str, NDArray[Any]], metadata: dict[str, str]
) -> Release | Rehearsed:
    _audit(tensors, metadata)
    certificate = Certificate.from_json(metadata["certificate"])
    n_features = len(tensors["weights"])
    content = parse_json(metadata["task"], "release")
    if "columns" in content and metadata["ostraka"] not in WITH_OUTLOOK:
        raise FormatError("release", "its columns are described in a way of later formats")
    task = _built("task", lambda: task_from_json(content, tensors, n_features, "release"))
    linear = _built("weights", lambda: LinearModel(task=task, weights=tensors["weights"]))
    model = _built("student", lambda: _with_student(linear, tensors))
    outlook = Outlook()
    if "outlook" in metadata:
        outlook = Outlook.from_json(metadata["outlook"], len(task.classes))
    kind = Release if certificate.randomness == FROM_THE_SYSTEM else Rehearsed
    release = _built(
        "certificate",
        lambda: kind(
            model=model,
            certificate=certificate,
            statistic=tensors.get("statistic"),
            outlook=outlook,
            keep_back=_keep_back(metadata.get("keep_back")),
        ),
    )
    object.__setattr__(release, "_file", data)
    return release


def _with_student(linear: LinearModel, tensors: dict[str, NDArray[Any]]) -> Model:
    if "student.landmarks" not in tensors:
        return linear
    landmarks, weights = tensors["student.landmarks"], tensors["student.weights"]
    return KernelModel(linear=linear, landmarks=landmarks, weights=weights)


def task_json(task: Task) -> dict[str, Any]:
    """A task as plain values; its arrays go beside it, by their names."""
    public = task.preprocessing
    return {
        "classes": list(task.classes),
        **columns_json(task.columns),
        "preprocessing": {"radius": public.radius, "constant": public.constant},
    }


def task_from_json(
    content: dict[str, Any], tensors: dict[str, NDArray[Any]], n_features: int, what: str
) -> Task:
    """A task of what `task_json` gave; anything unexpected is refused."""
    try:
        classes, numbers = content["classes"], content["preprocessing"]
        if len(content) != 3 or set(numbers) != {"radius", "constant"}:
            raise ValueError
        if not isinstance(classes, list):
            raise TypeError
        if not all(isinstance(number, float) for number in numbers.values()):
            raise TypeError
        columns = columns_from_json(content, what)
    except (ValueError, KeyError, TypeError):
        raise FormatError(what, "the description of its task is damaged") from None
    named = {name: tensors[name] for name in _PREPROCESSING if name in tensors}
    arrays = {name.removeprefix("preprocessing."): array for name, array in named.items()}
    radius, constant = numbers["radius"], numbers["constant"]
    public = Preprocessing(radius=radius, constant=constant, **arrays)
    width = public.n_columns(n_features)
    if columns is not None and columns.width != width:
        raise FormatError(what, f"it describes {columns.width} columns of numbers for {width}")
    return Task(
        classes=tuple(classes), n_features=n_features, preprocessing=public, columns=columns
    )


def _audit(tensors: dict[str, NDArray[Any]], metadata: dict[str, str]) -> None:
    if "ostraka-poll" in metadata:
        raise FormatError(
            "release", "it is a poll, from which a release is made (see it with: ostraka poll show)"
        )
    known = {"weights", "statistic", *_STUDENT, *_PREPROCESSING}
    if "weights" not in tensors or not set(tensors) <= known:
        problem = f"it holds the tensors {sorted(tensors)[:5]}, not weights and preprocessing"
        raise FormatError("release", problem)
    number = metadata.get("ostraka")
    keys = _KEYS | {"outlook"} if number in WITH_OUTLOOK else _KEYS
    keeping = number == WITH_STUDENT and "keep_back" in metadata
    keys = keys | {"keep_back"} if number == KEEPING or keeping else keys
    if number not in ("1", "2", *WITH_OUTLOOK) or set(metadata) != keys:
        problem = f"its metadata is not that of an Ostraka release of format 1 to {WITH_STUDENT}"
        raise FormatError("release", problem)
    if number == "1" and "statistic" in tensors:
        raise FormatError("release", "it says format 1, but has a tensor of a later one")
    if _STUDENT & set(tensors) != (_STUDENT if number == WITH_STUDENT else set()):
        raise FormatError("release", f"it says format {number}, but its student does not fit that")
    for name, tensor in tensors.items():
        wrong = tensor.dtype != np.float64 or tensor.ndim not in (1, 2) or tensor.size == 0
        if wrong or (name == "statistic" and not np.isfinite(tensor).all()):
            problem = f"its {name} have type {tensor.dtype} and shape {tensor.shape}"
            raise FormatError("release", problem)


def _keep_back(written: str | None) -> int | None:
    if written is None:
        return None
    if not (written.isascii() and written.isdecimal() and len(written) < 10):
        raise FormatError("release", f"its keep_back is {written[:20]!r}, not a whole number")
    return int(written)


def _built(what: str, build: Callable[[], T]) -> T:
    try:
        return build()
    except FormatError:
        raise
    except InputError as error:
        problem = f"in its {what}, {error.problem.removesuffix('.')}"
        raise FormatError("release", problem) from None
