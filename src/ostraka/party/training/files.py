"""Classifiers that parties send as files: ONNX and skops, and nothing else.

    kind      what it is                       how it is asked
    .onnx     a graph of standard operators    in a process of its own, with bounds on time and
                                               memory (Linux)
    .skops    a scikit-learn object in JSON    in this process, after every type in it was found
              and numpy arrays                 in a list

Guarantee: no code in a file is executed, whatever the file is. Its name and its content must agree
on its kind; pickle and joblib files are never opened. Sizes are bounded before anything is read or
unpacked. An ONNX graph that is endless, enormous or crashes ends its own process, with an error
here that says which bound was hit; no process is left behind.

Not covered: system calls of that process are not filtered; its limits bound what a graph can use
up, and faults of onnxruntime itself are out of scope. A skops file is asked in this process,
without bounds on time and memory, and a type in `trusted` is trusted with everything it can do:
scikit-learn's compiled parts, such as trees, do not expect forged arrays. What reading takes is
bounded (see `skops_file`). From parties that are not trusted, take ONNX.

Why not run ONNX on other systems with a clock alone? A graph of a hundred bytes can ask for a
terabyte. Elsewhere files are refused; a function that asks onnxruntime is a classifier too.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self, TypeAlias, final

from numpy.typing import NDArray

from ostraka.errors import FormatError, InputError, ParameterError
from ostraka.files import foreign_kind, read_regular
from ostraka.party.training.limits import DEFAULT_LIMITS, Limits
from ostraka.party.training.onnx_process import OnnxModel
from ostraka.party.training.skops_file import read_skops
from ostraka.public.numbers import Samples

__all__ = ["Limits", "LoadedClassifier", "load_classifier", "load_classifier_bytes"]

Array: TypeAlias = NDArray[Any]

OTHERS_ARE_CLOSED = "does not end in .onnx or .skops; other files, such as pickle, are never opened"


@final
class LoadedClassifier:
    """A classifier from a file, to be asked like any other (see `asking`).

    It has `predict` if the model gives labels, `predict_proba` if it gives probabilities or scores,
    and `classes_` if it tells them. Use it in a `with` statement or close it; otherwise its process
    ends when nothing refers to it any more.
    """

    predict: Callable[[Samples], Array]
    predict_proba: Callable[[Samples], Array]
    classes_: Any

    def __init__(
        self, file: str, asked: dict[str, Any], close: Callable[[], None] | None = None
    ) -> None:
        self.file = file
        self._close = close
        # Set on this object alone: whoever asks checks whether they are there.
        for name, value in asked.items():
            setattr(self, name, value)

    def close(self) -> None:
        """End the process, if there is one."""
        if self._close is not None:
            self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"LoadedClassifier({self.file!r})"


def load_classifier(
    path: str | os.PathLike[str], *, trusted: Iterable[str] = (), limits: Limits = DEFAULT_LIMITS
) -> LoadedClassifier:
    """Read a classifier from an untrusted sender.

    Args:
        path: a file whose name ends in .onnx or .skops.
        trusted: names of types that a skops file may hold besides those that skops itself finds
            harmless, such as "sklearn.tree._tree.Tree". Allow only types whose code you know.
        limits: what it may use.

    """
    target = Path(path)
    read = _reader(target.name)  # before the file is opened
    content = read_regular(target, "classifier file", limits.file_bytes)
    return read(target.name, _not_empty(target.name, content), _check_names(trusted), limits)


def load_classifier_bytes(
    content: bytes,
    name: str,
    *,
    trusted: Iterable[str] = (),
    limits: Limits = DEFAULT_LIMITS,
) -> LoadedClassifier:
    """The same for a classifier that arrived inside another file; its name gives its kind."""
    read = _reader(name)
    if len(content) > limits.file_bytes:
        problem = f"{name} has {len(content)} bytes, more than {limits.file_bytes}"
        raise FormatError("classifier file", problem)
    return read(name, _not_empty(name, bytes(content)), _check_names(trusted), limits)


_Reader: TypeAlias = Callable[[str, bytes, frozenset[str], Limits], LoadedClassifier]


def _reader(name: str) -> _Reader:
    readers: dict[str, _Reader] = {".onnx": _onnx_classifier, ".skops": _skops_classifier}
    kind = Path(name).suffix.lower()
    if kind not in readers:
        raise FormatError("classifier file", f"{name} {OTHERS_ARE_CLOSED}")
    return readers[kind]


def _not_empty(name: str, content: bytes) -> bytes:
    if not content:
        raise FormatError("classifier file", f"{name} is empty")
    return content


def _check_names(trusted: Iterable[str]) -> frozenset[str]:
    # A single text would become a list of letters.
    names = () if isinstance(trusted, str) else tuple(trusted)
    if isinstance(trusted, str) or not all(isinstance(name, str) for name in names):
        raise ParameterError(
            "trusted",
            got=trusted,
            allowed='a list of type names, such as ["sklearn.tree._tree.Tree"]',
        )
    return frozenset(names)


def _skops_classifier(
    file: str, content: bytes, trusted: frozenset[str], limits: Limits
) -> LoadedClassifier:
    model = read_skops(file, content, trusted, limits.file_bytes)
    parts = ("predict", "predict_proba", "classes_")
    asked = {name: getattr(model, name) for name in parts if hasattr(model, name)}
    if not asked.keys() & {"predict", "predict_proba"}:
        kind = type(model).__name__
        raise FormatError(
            "skops file", f"{file} holds an object of type {kind}, which does not predict"
        )
    return LoadedClassifier(file, asked)


def _onnx_classifier(
    file: str, content: bytes, _: frozenset[str], limits: Limits
) -> LoadedClassifier:
    _check_onnx_is_possible()
    kind = foreign_kind(content)
    if kind is not None:
        raise FormatError("ONNX classifier", f"{file} is {kind}")
    model = OnnxModel(file, content, limits)
    asked = {"predict": model.predict} if model.signature.labels else {}
    if model.signature.scores:
        asked["predict_proba"] = model.predict_proba
    return LoadedClassifier(file, asked, model.close)


def _check_onnx_is_possible() -> None:
    if sys.platform != "linux":
        raise InputError(
            "ONNX files run in a process with bounds on memory and time, which only Linux keeps.",
            "Load the file on Linux, or send it as skops.",
        )
    missing = [name for name in ("onnx", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"Reading .onnx files needs {' and '.join(missing)}: pip install 'ostraka[models]'"
        )
