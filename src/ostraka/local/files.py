"""Classifiers that parties send as files: ONNX and skops, and nothing else.

    kind      what it is                        how it is asked
    .onnx     a graph of standard operators     in a process of its own, with bounds on time and memory (Linux)
    .skops    a scikit-learn object in JSON     in this process, after every type in it was found in a list
              and numpy arrays

Guarantee: no code that stands in a file is executed, whatever the file is. Its kind must be told alike by its name and by its content;
pickle and joblib files are never opened. Sizes are bounded before anything is read or unpacked. An ONNX graph that is endless, enormous or
crashes ends its own process, with an error here that says which bound was hit; no process is left behind.

Not covered: system calls of that process are not filtered; its limits bound what a graph can use up, and faults of onnxruntime itself are
out of scope. A skops file is asked in this process, without bounds on time and memory, and a type in `trusted` is trusted with all that it
can do: scikit-learn's compiled parts, such as trees, do not expect arrays that were forged. From parties that are not trusted take ONNX.

Why not run ONNX on other systems with a clock alone? A graph of a hundred bytes can ask for a terabyte. Elsewhere files are refused; a
function that asks onnxruntime is a classifier for `Ballot.cast` too.
"""

from __future__ import annotations

import io
import os
import stat
import sys
import zipfile
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self, TypeAlias, final

from numpy.typing import NDArray

from ostraka.errors import FormatError, InputError, ParameterError
from ostraka.foreign import foreign_kind
from ostraka.local.limits import DEFAULT_LIMITS, Limits
from ostraka.local.onnx_process import OnnxModel, Worker
from ostraka.preprocessing import Samples

__all__ = ["Limits", "LoadedClassifier", "load_classifier"]

Array: TypeAlias = NDArray[Any]

ZIP_OPENING = b"PK\x03\x04"
ZIP_ENTRY = b"PK\x01\x02"
ZIP_ENTRIES_BOUND = 100_000
SCHEMA = "schema.json"
SCHEMA_BYTES_BOUND = 2**26
"""As Python objects a schema takes some thirty times its size."""

COPIED_BYTES = 2**16


@final
class LoadedClassifier:
    """A classifier from a file, for `Ballot.cast`.

    It has `predict` if the model gives labels, `predict_proba` if it gives probabilities or scores, and `classes_` if it tells them. Use it
    in a `with` statement or close it; otherwise its process ends when nothing refers to it any more.
    """

    predict: Callable[[Samples], Array]
    predict_proba: Callable[[Samples], Array]
    classes_: Any

    def __init__(self, file: str, asked: dict[str, Any], close: Callable[[], None] | None = None) -> None:
        self.file = file
        self._close = close
        # As attributes of this object alone: `Ballot.cast` looks whether they are there.
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


def load_classifier(path: str | os.PathLike[str], *, trusted: Iterable[str] = (), limits: Limits = DEFAULT_LIMITS) -> LoadedClassifier:
    """Read a classifier that came from anyone.

    Args:
        path: a file whose name ends in .onnx or .skops.
        trusted: names of types that a skops file may hold besides those that skops itself finds harmless, such as
            "sklearn.tree._tree.Tree". Allow only types whose code you know.
        limits: what it may use.

    """
    path = Path(path)
    readers = {".onnx": _onnx_classifier, ".skops": _skops_classifier}
    kind = path.suffix.lower()
    if kind not in readers:
        raise FormatError("classifier file", f"{path.name} does not end in .onnx or .skops; other files, such as pickle, are never opened")
    content = _content(path, limits.file_bytes)
    return readers[kind](path.name, content, _checked_names(trusted), limits)


def _checked_names(trusted: Iterable[str]) -> frozenset[str]:
    names = () if isinstance(trusted, str) else tuple(trusted)  # a single text would be a list of letters
    if isinstance(trusted, str) or not all(isinstance(name, str) for name in names):
        raise ParameterError("trusted", got=trusted, allowed='a list of type names, such as ["sklearn.tree._tree.Tree"]')
    return frozenset(names)


def _content(path: Path, bytes_bound: int) -> bytes:
    """The bytes of a file, or a refusal before they are read."""
    # Asked before the file is opened: opening a pipe would wait for somebody to write.
    if not stat.S_ISREG(path.stat().st_mode):
        raise FormatError("classifier file", f"{path.name} is not a regular file")
    with path.open("rb") as file:
        n_bytes = os.fstat(file.fileno()).st_size
        if n_bytes > bytes_bound:
            raise FormatError("classifier file", f"{path.name} has {n_bytes} bytes, more than the {bytes_bound} of Limits(file_bytes=...)")
        content = file.read(n_bytes)
    if not content:
        raise FormatError("classifier file", f"{path.name} is empty")
    return content


# skops


def _skops_classifier(file: str, content: bytes, trusted: frozenset[str], limits: Limits) -> LoadedClassifier:
    skops_io = _skops_io()
    if not content.startswith(ZIP_OPENING):
        raise FormatError("skops file", f"{file} is {foreign_kind(content) or 'no zip archive'}")
    stored = _stored(file, content, limits.file_bytes)
    untrusted = frozenset(_parsed(file, lambda: skops_io.get_untrusted_types(data=stored)))
    if not untrusted <= trusted:
        raise FormatError("skops file", _untrusted_text(file, sorted(untrusted - trusted)))
    model = _parsed(file, lambda: skops_io.loads(stored, trusted=sorted(untrusted)))
    asked = {name: getattr(model, name) for name in ("predict", "predict_proba", "classes_") if hasattr(model, name)}
    if not asked.keys() & {"predict", "predict_proba"}:
        raise FormatError("skops file", f"{file} holds an object of type {type(model).__name__}, which does not predict")
    return LoadedClassifier(file, asked)


def _skops_io() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("Reading .skops files needs skops: pip install 'ostraka[models]'") from error
    return skops.io


def _parsed(file: str, parse: Callable[[], Any]) -> Any:
    try:
        return parse()
    # Nobody knows what a forged file makes the parser stumble over.
    except Exception as error:
        raise FormatError("skops file", f"{file} cannot be read ({type(error).__name__}: {_shortened(str(error))})") from error


def _untrusted_text(file: str, types: list[str]) -> str:
    return (
        f"{file} holds types that are not trusted: {_shortened(', '.join(types), 2000)}. "
        f"If you know their code and the sender, allow them by name: load_classifier(..., trusted=[{_shortened(repr(types)[1:-1], 2000)}])"
    )


def _shortened(text: str, n_characters: int = 300) -> str:
    printable = "".join(c if c.isprintable() else " " for c in text[:n_characters])
    return printable + ("..." if len(text) > n_characters else "")


def _stored(file: str, content: bytes, bytes_bound: int) -> bytes:
    """The same archive with every entry stored as it is.

    Whoever reads it afterwards unpacks nothing, so cannot unpack more than was counted here, however the sizes in the archive lie.
    """
    try:
        return _Repacking(file, bytes_bound).archive(content, inner=False)
    except FormatError:
        raise
    # zipfile raises much more than BadZipFile.
    except Exception as error:
        raise FormatError("skops file", f"{file} is a broken zip archive ({type(error).__name__}: {_shortened(str(error))})") from error


@final
class _Repacking:
    """Unpacks an archive within a bound. Sparse matrices are archives inside the archive, and count with what they hold."""

    def __init__(self, file: str, bytes_bound: int) -> None:
        self._file, self._bytes_bound, self._bytes_left = file, bytes_bound, bytes_bound

    def archive(self, content: bytes, *, inner: bool) -> bytes:
        """Write the archive again, all entries stored."""
        # Counted in the bytes, because zipfile makes an object of each entry before one can ask how many there are.
        if content.count(ZIP_ENTRY) > ZIP_ENTRIES_BOUND:
            raise FormatError("skops file", f"{self._file} has more than {ZIP_ENTRIES_BOUND} entries")
        written = io.BytesIO()
        with zipfile.ZipFile(io.BytesIO(content)) as packed, zipfile.ZipFile(written, "w") as stored:
            self._check(packed.infolist(), inner=inner)
            for entry in packed.infolist():
                stored.writestr(entry.filename, self._unpacked(packed, entry, inner=inner))
        return written.getvalue()

    def _check(self, entries: list[zipfile.ZipInfo], *, inner: bool) -> None:
        sizes = {entry.filename: entry.file_size for entry in entries}
        self._bytes_left -= sum(entry.file_size for entry in entries)
        if self._bytes_left < 0:
            raise FormatError(
                "skops file", f"{self._file} would unpack to more than the {self._bytes_bound} bytes that Limits(file_bytes=...) allows"
            )
        if len(sizes) < len(entries):
            raise FormatError("skops file", f"{self._file} has two entries of the same name")
        # Other methods unpack without a bound on what one step gives.
        if any(entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries):
            raise FormatError("skops file", f"{self._file} is compressed in another way than by deflate")
        if not inner and not 0 < sizes.get(SCHEMA, 0) <= SCHEMA_BYTES_BOUND:
            raise FormatError("skops file", f"{self._file} is a zip archive without a {SCHEMA} of 1 to {SCHEMA_BYTES_BOUND} bytes")

    def _unpacked(self, packed: zipfile.ZipFile, entry: zipfile.ZipInfo, *, inner: bool) -> bytes:
        unpacked = io.BytesIO()
        # In parts: only then does zipfile stop at the size that the entry declares, instead of unpacking first and cutting afterwards.
        with packed.open(entry) as file:
            while part := file.read(COPIED_BYTES):
                unpacked.write(part)
        content = unpacked.getvalue()
        return self.archive(content, inner=True) if content.startswith(ZIP_OPENING) and not inner else content


# ONNX


def _onnx_classifier(file: str, content: bytes, _: frozenset[str], limits: Limits) -> LoadedClassifier:
    _check_onnx_is_possible()
    kind = foreign_kind(content)
    if kind is not None:
        raise FormatError("ONNX classifier", f"{file} is {kind}")
    worker = Worker(file, limits)
    model = OnnxModel(file, worker, worker.load(content))
    asked = {"predict": model.predict} if model.signature.labels else {}
    if model.signature.scores:
        asked["predict_proba"] = model.predict_proba
    return LoadedClassifier(file, asked, worker.close)


def _check_onnx_is_possible() -> None:
    if sys.platform != "linux":
        raise InputError(
            "ONNX files run in a process with bounds on memory and time, which only Linux keeps.",
            "Load the file on Linux, or send it as skops.",
        )
    missing = [name for name in ("onnx", "onnxruntime") if find_spec(name) is None]
    if missing:
        raise ImportError(f"Reading .onnx files needs {' and '.join(missing)}: pip install 'ostraka[models]'")
