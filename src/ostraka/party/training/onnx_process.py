"""The caller's side of an ONNX classifier.

It has a process that runs the graph (`onnx_worker`), the pipes to it, and the clock that ends it.
"""

from __future__ import annotations

import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import ClassifierFileError, FormatError, InputError, ShapeError
from ostraka.party.training.limits import Limits
from ostraka.party.training.onnx_worker import (
    HEADER_BYTES,
    FrameHeader,
    Kind,
    Signature,
    array_of,
    text_of,
)
from ostraka.public.numbers import Samples, is_sparse

__all__ = ["OnnxModel", "Worker"]

Array: TypeAlias = NDArray[Any]

START_SECONDS = 60.0
"""How long importing the packages may take; no part of the file has been read by then."""

REQUEST_BYTES = 2**24
"""Rows are sent in parts of about this size."""

ANSWER_BYTES = 2**16
"""The largest answer per row: thousands of classes, or a long message."""

REMEDIES: dict[str, str] = {
    "time": "If it is merely slow, allow more with Limits(seconds=...).",
    "memory": "If it is merely large, allow more with Limits(memory_bytes=...).",
    "crash": "It may have run out of memory (see Limits); "
    "otherwise ask the party for another file.",
    "answer": "Ask the party for another file.",
    "closed": "Load it again.",
}

WORKER = """
import sys
sys.path.extend(path for path in sys.argv[3:] if path not in sys.path)
from ostraka.party.training.onnx_worker import main
main(float(sys.argv[1]), int(sys.argv[2]))
"""


@final
class OnnxModel:
    """Turns rows into requests and answers into labels and probabilities.

    A process that a request ended is started again for the next one. Otherwise one private
    auxiliary sample on which the graph fails would take the votes on all later ones with it.
    """

    def __init__(self, file: str, content: bytes, limits: Limits) -> None:
        self._file, self._content, self._limits = file, content, limits
        self._lock, self._closed = threading.Lock(), False
        self._worker, self.signature = self._load()

    def predict(self, rows: Samples) -> Array:
        """The label of each row, int64 or str."""
        return self._answers(Kind.LABELS, rows)

    def predict_proba(self, rows: Samples) -> Array:
        """What the graph gives for each class; columns of scores in maps are sorted by class."""
        return self._answers(Kind.SCORES, rows)

    def close(self) -> None:
        """End the process, for good."""
        with self._lock:
            self._closed = True
            self._worker.close()

    def _load(self) -> tuple[Worker, Signature]:
        worker = Worker(self._file, self._limits)
        return worker, worker.load(self._content)

    def _running(self) -> Worker:
        with self._lock:
            if self._worker.has_ended and not self._closed:
                self._worker, self.signature = self._load()
            return self._worker

    def _answers(self, kind: Kind, rows: Samples) -> Array:
        return np.concatenate([self._answer(kind, part) for part in self._parts(rows)])

    def _parts(self, rows: Samples) -> Iterator[Array]:
        given: Any = rows.tocsr() if is_sparse(rows) else _numbers(rows, self.signature.dtype)
        n_columns = self.signature.n_columns
        if (
            given.ndim != 2
            or given.shape[0] < 1
            or given.shape[1] < 1
            or n_columns not in (None, given.shape[1])
        ):
            raise ShapeError(
                f"The rows for the classifier {self._file}",
                got=given.shape,
                allowed=f"(at least 1, {n_columns or 'd'})",
            )
        part_rows = max(1, REQUEST_BYTES // (given.shape[1] * int(self.signature.dtype[-1])))
        for start in range(0, given.shape[0], part_rows):
            part = given[start : start + part_rows]
            yield _numbers(part.toarray() if is_sparse(part) else part, self.signature.dtype)

    def _answer(self, kind: Kind, rows: Array) -> Array:
        worker = self._running()
        answer = worker.ask(kind, rows)
        expected = ("iU", 1) if kind == Kind.LABELS else ("f", 2)
        if (
            answer.dtype.kind not in expected[0]
            or answer.ndim != expected[1]
            or answer.shape[0] != rows.shape[0]
        ):
            worker.close()
            shown = f"answered {rows.shape[0]} rows with an array of shape {answer.shape}"
            raise ClassifierFileError(
                self._file,
                "answer",
                shown,
                "It must answer every row by itself; ask the party for another file.",
            )
        return answer


def _numbers(rows: Samples, dtype: str) -> Array:
    try:
        with np.errstate(over="ignore"):  # what is too large for a float graph is infinite to it
            return np.ascontiguousarray(rows, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"The rows are not a matrix of numbers ({error}).",
            "An ONNX classifier takes numbers alone.",
        ) from error


@final
class Worker:
    """A process that runs one graph (see `onnx_worker`), and the clock that ends it."""

    def __init__(self, file: str, limits: Limits) -> None:
        self._file, self._limits = file, limits
        self._lock = threading.Lock()
        self._process = _start(limits)
        self._owner = os.getpid()
        self._end = weakref.finalize(self, _end, self._process, self._owner)
        kind, array = self._exchange(None, START_SECONDS, ANSWER_BYTES)
        if kind != Kind.READY:
            self.close()
            raise ImportError(
                f"onnxruntime does not start: {text_of(array)}. "
                "Try: pip install --upgrade 'ostraka[models]'"
            )

    def load(self, content: bytes) -> Signature:
        """Hand over the file."""
        signature = self._ask_part(Kind.MODEL, np.frombuffer(content, np.uint8), ANSWER_BYTES)
        try:
            return Signature.from_array(signature)
        except FormatError as error:
            raise self._fail("answer", f"answers nonsense ({error.problem})") from error

    def ask(self, kind: Kind, rows: Array) -> Array:
        """Ask about these rows."""
        return self._ask_part(
            kind, rows, min(self._limits.memory_bytes, ANSWER_BYTES * (1 + rows.shape[0]))
        )

    @property
    def has_ended(self) -> bool:
        """Whether it was closed, by the caller or because it failed."""
        return not self._end.alive

    def close(self) -> None:
        """End the process and wait until it is gone."""
        self._end()

    def _ask_part(self, kind: Kind, array: Array, bytes_bound: int) -> Array:
        with self._lock:
            got, answer = self._exchange((kind, array), self._limits.seconds, bytes_bound)
        if got == Kind.ANSWER:
            return answer
        if got == Kind.REFUSED:
            self.close()
            raise FormatError("ONNX classifier", f"{self._file}: {text_of(answer)}")
        if got == Kind.OUT_OF_MEMORY:
            raise self._fail(
                "memory",
                f"needs more than {_readable(self._limits.memory_bytes)} of memory and was stopped",
            )
        raise self._fail("answer", f"could not answer ({text_of(answer)})")

    def _exchange(
        self, sent: tuple[Kind, Array] | None, seconds: float, bytes_bound: int
    ) -> tuple[Kind, Array]:
        """Send a frame and receive one; if anything goes wrong, end the process.

        Otherwise the pipes would be out of step.
        """
        self._check_is_open()
        deadline = time.monotonic() + seconds
        try:
            if sent is not None:
                self._send(*sent, deadline)
            header = FrameHeader.from_bytes(
                bytes(self._receive(HEADER_BYTES, deadline)), bytes_bound=bytes_bound
            )
            return header.kind, array_of(header, self._receive(header.n_bytes, deadline))
        except TimeoutError:
            raise self._fail(
                "time", f"did not answer within {seconds:g} s and was stopped"
            ) from None
        except (BrokenPipeError, EOFError):
            raise self._explain_end() from None
        except FormatError as error:
            raise self._fail("answer", f"answers nonsense ({error.problem})") from error
        except BaseException:
            self.close()
            raise

    def _check_is_open(self) -> None:
        if self.has_ended:
            raise ClassifierFileError(self._file, "closed", "is closed", REMEDIES["closed"])
        if os.getpid() != self._owner:
            raise ClassifierFileError(
                self._file,
                "closed",
                "belongs to the process that loaded it",
                "Load it again in this process.",
            )

    def _send(self, kind: Kind, array: Array, deadline: float) -> None:
        pipe, _ = _pipes(self._process)
        for part in (FrameHeader(kind, array.dtype, array.shape).to_bytes(), array.data.cast("B")):
            pending = memoryview(part)
            while pending:
                _wait(pipe, select.POLLOUT, deadline)
                pending = pending[os.write(pipe.fileno(), pending) :]

    def _receive(self, n_bytes: int, deadline: float) -> bytearray:
        _, pipe = _pipes(self._process)
        received = bytearray(n_bytes)
        pending = memoryview(received)
        while pending:
            _wait(pipe, select.POLLIN, deadline)
            n_read = os.readv(pipe.fileno(), [pending])
            if n_read == 0:
                raise EOFError
            pending = pending[n_read:]
        return received

    def _fail(self, cause: str, problem: str) -> ClassifierFileError:
        self.close()
        return ClassifierFileError(self._file, cause, problem, REMEDIES[cause])

    def _explain_end(self) -> ClassifierFileError:
        """Say why the process is gone, as far as its exit code tells."""
        try:
            code = self._process.wait(1.0)
        except subprocess.TimeoutExpired:
            code = 0
        if code == -signal.SIGXCPU:
            return self._fail(
                "time",
                f"used more than {self._limits.seconds:g} s of processor time and was stopped",
            )
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        return self._fail(
            "crash",
            f"crashed: its process ended with {how}, "
            f"memory bound {_readable(self._limits.memory_bytes)}",
        )


def _start(limits: Limits) -> subprocess.Popen[bytes]:
    """A Python without environment, user packages or working directory, but with our packages."""
    # Every thread takes address space, which is bounded.
    environment = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    if "LD_LIBRARY_PATH" in os.environ:  # some Pythons do not start without
        environment["LD_LIBRARY_PATH"] = os.environ["LD_LIBRARY_PATH"]
    places = [
        str(Path(__file__).parents[2]),
        *(path for path in sys.path if Path(path).is_absolute()),
    ]
    process = subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-c",
            WORKER,
            repr(limits.seconds),
            str(limits.memory_bytes),
            *places,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        cwd="/",
        env=environment,
        start_new_session=True,  # Ctrl-C is for the caller, who then ends the worker
    )
    for pipe in _pipes(process):
        os.set_blocking(pipe.fileno(), False)
    return process


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    """The pipe to write to and the pipe to read from."""
    return process.stdin, process.stdout  # type: ignore[return-value]


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """Kill, close and wait, so that no zombie is left."""
    # A fork of the caller has a copy of this object, and must leave the process alone.
    if os.getpid() != owner:
        return
    process.kill()
    for pipe in _pipes(process):
        pipe.close()
    process.wait()


def _wait(pipe: IO[bytes], event: int, deadline: float) -> None:
    """Wait until the pipe can be written or read, or `TimeoutError`."""
    poll = select.poll()
    poll.register(pipe.fileno(), event)
    seconds = deadline - time.monotonic()
    if seconds <= 0.0 or not poll.poll(math.ceil(1000.0 * seconds)):
        raise TimeoutError


def _readable(n_bytes: int) -> str:
    return f"{n_bytes / 2**30:.3g} GiB" if n_bytes >= 2**30 else f"{n_bytes / 2**20:.3g} MiB"
