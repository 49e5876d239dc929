"""A release: the published model with its certificate, the only thing that leaves; and a rehearsal, which never does.

On disk a release is one safetensors file: the weights as a tensor, everything else as canonical JSON in the metadata. Nothing in it can
be executed. Files are parsed, then audited, then built; whatever is not exactly as expected is refused before any of it is used.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeAlias, TypeVar, final

import numpy as np
from numpy.typing import NDArray

from ostraka.certificate import FROM_THE_SYSTEM, Certificate
from ostraka.errors import FormatError, InputError, ParameterError, RehearsalError
from ostraka.files import write_atomically
from ostraka.foreign import foreign_kind
from ostraka.model import LinearModel, Task
from ostraka.preprocessing import Preprocessing, Samples

__all__ = ["Release", "Rehearsed", "ChargeFirst"]

# Raise this number with every change of the file's content; readers of old numbers stay, each with a file in the tests.
FORMAT = "1"
MAX_BYTES = 2**31
"""Larger files are refused unread."""
T = TypeVar("T")
ChargeFirst: TypeAlias = Callable[[Certificate], object] | None
"""What a publication does before it draws: charges a ledger, which may refuse. Never called for a rehearsal."""
_KEYS = {"ostraka", "task", "certificate"}
_TENSORS = {"weights", "preprocessing.center", "preprocessing.scale", "preprocessing.components"}


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rehearsed:
    """A model drawn with a seed: it can be looked at, never published."""

    model: LinearModel
    certificate: Certificate
    """What a release of this kind would promise. This one promises nothing."""
    shift: float | None = None
    """See `Release`."""

    def predict(self, samples: Samples) -> NDArray[Any]:
        """The class of each sample."""
        return self.model.predict(samples)

    def predict_proba(self, samples: Samples) -> NDArray[np.float64]:
        """The model's probabilities, a column per class."""
        return self.model.predict_proba(samples)

    def score(self, samples: Samples, labels: Any) -> float:
        """The share of samples whose class is right."""
        return self.model.score(samples, labels)

    @property
    def digest(self) -> str:
        """Sha256 of model and certificate."""
        return hashlib.sha256(_written(self.model, self.certificate)).hexdigest()

    def save(self, path: str | os.PathLike[str]) -> NoReturn:  # noqa: ARG002
        """Refuse: the noise can be computed from the seed."""
        raise RehearsalError


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Release:
    """A model, and what is promised about it."""

    model: LinearModel
    certificate: Certificate
    shift: float | None = None
    """By how many standard deviations the parties' samples differ from the auxiliary ones, where that can be told; not in the file."""

    def __post_init__(self) -> None:
        if self.certificate.randomness != FROM_THE_SYSTEM:
            raise RehearsalError
        # Where noise is on the weights themselves there cannot be more of it than of them.
        if self.certificate.lambda_ is not None and not self.certificate.dimension <= self.model.weights.size:
            raise ParameterError(
                "dimension", got=self.certificate.dimension, allowed=f"up to {self.model.weights.size}, the number of weights"
            )

    def predict(self, samples: Samples) -> NDArray[Any]:
        """The class of each sample."""
        return self.model.predict(samples)

    def predict_proba(self, samples: Samples) -> NDArray[np.float64]:
        """The model's probabilities, a column per class. After noise they are no longer calibrated."""
        return self.model.predict_proba(samples)

    def score(self, samples: Samples, labels: Any) -> float:
        """The share of samples whose class is right. On private samples this number is itself a disclosure."""
        return self.model.score(samples, labels)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release; an interrupted write leaves whatever was there before."""
        write_atomically(Path(path), self.to_bytes())

    def to_bytes(self) -> bytes:
        """What `save` writes."""
        return _written(self.model, self.certificate)

    @property
    def digest(self) -> str:
        """Sha256 of the file: the release's name in a ledger."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Release:
        """Read a release; anything that is not one is refused."""
        tensors, metadata = _parse(Path(path))
        _audit(tensors, metadata)
        certificate = Certificate.from_json(metadata["certificate"])
        task = _built("task", lambda: _task(metadata["task"], tensors))
        model = _built("weights", lambda: LinearModel(task=task, weights=tensors["weights"]))
        return _built("certificate", lambda: cls(model=model, certificate=certificate))


def _written(model: LinearModel, certificate: Certificate) -> bytes:
    from safetensors.numpy import save

    metadata = {"ostraka": FORMAT, "task": _task_json(model.task), "certificate": certificate.to_json()}
    arrays = {f"preprocessing.{name}": array for name, array in model.task.preprocessing.arrays().items()}
    return _ordered(save({"weights": model.weights, **arrays}, metadata=metadata))


def _ordered(written: bytes) -> bytes:
    """The same file with a sorted header: safetensors orders names at random, but one release must have one digest."""
    length = int.from_bytes(written[:8], "little")
    header = json.dumps(json.loads(written[8 : 8 + length]), sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + written[8 + length :]


def _task_json(task: Task) -> str:
    content = {
        "classes": list(task.classes),
        "feature_names": None if task.feature_names is None else list(task.feature_names),
        "preprocessing": {"radius": task.preprocessing.radius, "constant": task.preprocessing.constant},
    }
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True)


def _parse(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    from safetensors import SafetensorError, safe_open

    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    size = path.stat().st_size
    if size > MAX_BYTES:
        raise FormatError("release", f"it has {size} bytes, more than {MAX_BYTES}")
    try:
        with safe_open(path, framework="numpy") as file:
            names = set(file.keys())
            if "weights" not in names or not names <= _TENSORS:
                raise FormatError("release", f"it holds the tensors {sorted(names)[:5]}, not weights and preprocessing")
            return {name: file.get_tensor(name) for name in names}, file.metadata() or {}
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, FormatError):
            raise
        with path.open("rb") as opened:
            kind = foreign_kind(opened.read(16))
        raise FormatError("release", f"it begins like {kind}" if kind else f"it is not a safetensors file ({error})") from None


def _audit(tensors: dict[str, NDArray[Any]], metadata: dict[str, str]) -> None:
    if metadata.get("ostraka") != FORMAT or set(metadata) != _KEYS:
        raise FormatError("release", f"its metadata is not that of an Ostraka release of format {FORMAT}")
    for name, tensor in tensors.items():
        if tensor.dtype != np.float64 or tensor.ndim not in (1, 2) or tensor.size == 0:
            raise FormatError("release", f"its {name} have type {tensor.dtype} and shape {tensor.shape}")


def _built(what: str, build: Callable[[], T]) -> T:
    try:
        return build()
    except FormatError:
        raise
    except RehearsalError:
        raise FormatError("release", "its certificate says that the noise was seeded, so it is a rehearsal") from None
    except InputError as error:
        raise FormatError("release", f"in its {what}, {error.problem.removesuffix('.')}") from None


def _task(text: str, tensors: dict[str, NDArray[Any]]) -> Task:
    try:
        content = json.loads(text)
        classes, names, preprocessing = content["classes"], content["feature_names"], content["preprocessing"]
        if len(content) != 3 or set(preprocessing) != {"radius", "constant"}:
            raise ValueError
        if not (isinstance(classes, list) and (names is None or isinstance(names, list))):
            raise TypeError
        numbers = [preprocessing["radius"], preprocessing["constant"]]
        if not all(isinstance(number, float) for number in numbers):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise FormatError("release", "the description of its task is damaged") from None
    arrays = {name.removeprefix("preprocessing."): tensor for name, tensor in tensors.items() if name != "weights"}
    task = Task(
        classes=tuple(classes),
        n_features=len(tensors["weights"]),
        preprocessing=Preprocessing(radius=numbers[0], constant=numbers[1], **arrays),
        feature_names=None if names is None else tuple(map(str, names)),
    )
    if names is not None and len(names) != task.n_columns:
        raise FormatError("release", f"it names {len(names)} features for {task.n_columns} columns")
    return task
