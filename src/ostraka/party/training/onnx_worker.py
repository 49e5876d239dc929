"""The process in which a party's ONNX file runs, and the frames in which it talks to `files`.

    calling process                   worker
                                ◄──   READY    the packages are imported, nothing foreign was read
    MODEL   the bytes of a file ──►
                                ◄──   ANSWER   what the graph takes and gives (`Signature`)
    LABELS or SCORES   rows     ──►
                                ◄──   ANSWER   one label or one row of scores for each row;
                                               any number of times

REFUSED (the file is not allowed), OUT_OF_MEMORY or FAILED may come instead of ANSWER, with a text.
A frame is a fixed header and the bytes of one array. Its size follows from the header and is
bounded before anything is allocated; nothing in it is ever executed.

Guarantee: before the first foreign byte is read, the process has given up opening files, writing to
files, dumping core, and memory beyond its bound. Every frame has a bound on processor time, which
also ends a worker whose caller is gone. The session sees only what was checked here: the model
without unknown fields, written out again, with operators of ai.onnx and ai.onnx.ml alone, and all
data inside the file.

Not covered: system calls are not filtered. The limits bound what a graph can use up; a fault of
onnxruntime that lets a file run code of its own is out of scope.
"""

from __future__ import annotations

import io
import math
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Self, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import FormatError

__all__ = [
    "HEADER_BYTES",
    "FrameHeader",
    "Kind",
    "Signature",
    "array_of",
    "main",
    "text_array",
    "text_of",
]

Array: TypeAlias = NDArray[Any]

DOMAINS = ("", "ai.onnx", "ai.onnx.ml")
"""The operators that the ONNX standard itself defines; the empty name is ai.onnx."""

FLOATS = {"tensor(float)": "<f4", "tensor(double)": "<f8"}
LABELS = ("tensor(int64)", "tensor(int32)", "tensor(string)")
SCORE_MAPS = ("seq(map(int64,tensor(float)))", "seq(map(string,tensor(float)))")

TEXT_BOUND = 500
"""Characters in a message that may come from the file's own names."""

ITEM_BYTES_BOUND = 4096
"""The longest label has a quarter as many characters."""

SIGNS_OF_LACKING_MEMORY = (
    "bad_alloc",
    "Failed to allocate memory",
    "std::length_error",
    "Arena alloc failed",
)

HIGHEST_CODE_POINT = 0x10FFFF
SURROGATES = (0xD800, 0xDFFF)


class Kind(IntEnum):
    """What a frame is for."""

    READY = 1
    MODEL = 2
    LABELS = 3
    SCORES = 4
    ANSWER = 5
    REFUSED = 6
    OUT_OF_MEMORY = 7
    FAILED = 8


_HEADER = struct.Struct("<4sBBBxIQQ")
_MARK = b"OSF1"  # A change of the header or of the codes below needs another mark.
_CODES = {1: "u1", 2: "<f4", 3: "<f8", 4: "<i8", 5: "<U"}
HEADER_BYTES = _HEADER.size


@final
@dataclass(frozen=True, slots=True)
class FrameHeader:
    """What follows: the kind of frame, and the type and shape of its array."""

    kind: Kind
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def n_bytes(self) -> int:
        """The size of the array."""
        return math.prod(self.shape) * self.dtype.itemsize

    def to_bytes(self) -> bytes:
        """Give the header as it is sent."""
        code = next(code for code, name in _CODES.items() if name in self.dtype.str)
        return _HEADER.pack(
            _MARK,
            self.kind,
            code,
            len(self.shape),
            self.dtype.itemsize,
            *self.shape,
            *(1,) * (2 - len(self.shape)),
        )

    @classmethod
    def from_bytes(cls, received: bytes, *, bytes_bound: int) -> Self:
        """Read a header; `FormatError` unless it is one and its array fits into `bytes_bound`."""
        mark, kind, code, n_dimensions, item_bytes, *sizes = _HEADER.unpack(received)
        if (
            mark != _MARK
            or code not in _CODES
            or n_dimensions not in (1, 2)
            or kind not in set(Kind)
            or not 0 < item_bytes <= ITEM_BYTES_BOUND
        ):
            raise FormatError("frame", "its header is of no known form")
        dtype = np.dtype(f"<U{item_bytes // 4}") if _CODES[code] == "<U" else np.dtype(_CODES[code])
        header = cls(Kind(kind), dtype, tuple(sizes[:n_dimensions]))
        if dtype.itemsize != item_bytes or not header.n_bytes <= bytes_bound:
            raise FormatError(
                "frame",
                f"{header.n_bytes} bytes of {dtype} are announced, {bytes_bound} are allowed",
            )
        return header


def array_of(header: FrameHeader, received: bytearray) -> Array:
    """The array of a frame."""
    if header.dtype.kind == "U":
        points = np.frombuffer(received, "<u4")
        if (
            (points > HIGHEST_CODE_POINT) | ((points >= SURROGATES[0]) & (points <= SURROGATES[1]))
        ).any():
            raise FormatError("frame", "its text is not Unicode")
    return np.frombuffer(received, header.dtype).reshape(header.shape)


def text_array(text: str) -> Array:
    """A text as the array of a frame."""
    return np.frombuffer(text.encode("utf-8", "replace"), np.uint8)


def text_of(array: Array) -> str:
    """The text of a frame, cut to a bounded length, without what could move a terminal's cursor."""
    text = array.tobytes().decode("utf-8", "replace")
    return "".join(c if c.isprintable() else " " for c in text[:TEXT_BOUND]).strip().rstrip(".")


@final
@dataclass(frozen=True, slots=True)
class Signature:
    """What a graph takes and gives."""

    dtype: str
    """The type of the rows: "<f4" or "<f8"."""
    n_columns: int | None
    """None: the graph does not say."""
    labels: bool
    scores: bool

    def to_array(self) -> Array:
        """Give the signature as the array of a frame."""
        return np.array(
            [
                int(self.dtype[-1]),
                -1 if self.n_columns is None else self.n_columns,
                self.labels,
                self.scores,
            ],
            dtype=np.int64,
        )

    @classmethod
    def from_array(cls, array: Array) -> Self:
        """Read a signature, or `FormatError`."""
        given = array.tolist()
        if (
            array.shape != (4,)
            or array.dtype != np.int64
            or given[0] not in (4, 8)
            or given[1] < -1
            or not any(given[2:])
        ):
            raise FormatError("frame", "its signature is of no known form")
        return cls(
            f"<f{given[0]}", None if given[1] == -1 else given[1], bool(given[2]), bool(given[3])
        )


def main(seconds: float, memory_bytes: int) -> None:
    """Serve one classifier until the caller closes the pipe."""
    channel = _Channel(memory_bytes)
    try:
        import onnx  # noqa: F401 — imported while files can still be opened
        import onnxruntime  # noqa: F401

        _limit_everything(memory_bytes)
    except Exception as error:
        channel.send(Kind.FAILED, text_array(f"{type(error).__name__}: {error}"))
        return
    channel.send(Kind.READY, text_array("ready"))
    graph = _receive_graph(channel, seconds)
    while graph is not None and (header := channel.receive_header()) is not None:
        _limit_processor(seconds)
        with _reporting(channel, Kind.FAILED):
            channel.send(Kind.ANSWER, graph.answer(header.kind, channel.receive(header)))


def _receive_graph(channel: _Channel, seconds: float) -> _Graph | None:
    """The graph of the first frame, or None after it was refused."""
    header = channel.receive_header()
    if header is None:
        return None
    _limit_processor(seconds)
    graph: _Graph | None = None
    with _reporting(channel, Kind.REFUSED):
        graph = _Graph(_check_model(channel.receive(header).tobytes()))
        channel.send(Kind.ANSWER, graph.signature.to_array())
    return graph


@contextmanager
def _reporting(channel: _Channel, kind: Kind) -> Iterator[None]:
    """Answer with what went wrong instead of ending without a word."""
    try:
        yield
    except Exception as error:
        text = (
            error.problem if isinstance(error, FormatError) else f"{type(error).__name__}: {error}"
        )
        short_of_memory = isinstance(error, MemoryError) or any(
            sign in text for sign in SIGNS_OF_LACKING_MEMORY
        )
        channel.send(Kind.OUT_OF_MEMORY if short_of_memory else kind, text_array(text[:TEXT_BOUND]))


@final
class _Channel:
    """The two pipes to the caller."""

    def __init__(self, bytes_bound: int) -> None:
        self._bytes_bound = bytes_bound
        self._received = io.FileIO(os.dup(0), "rb")
        self._sent = io.FileIO(os.dup(1), "wb")
        # A library that prints must not write into the frames.
        os.dup2(2, 1)

    def send(self, kind: Kind, array: Array) -> None:
        array = np.ascontiguousarray(array)
        pending = memoryview(
            FrameHeader(kind, array.dtype, array.shape).to_bytes() + array.tobytes()
        )
        while pending:
            pending = pending[self._sent.write(pending) :]

    def receive_header(self) -> FrameHeader | None:
        """The next header, or None when the caller is gone."""
        received = bytearray(HEADER_BYTES)
        if not self._fill(received):
            return None
        return FrameHeader.from_bytes(bytes(received), bytes_bound=self._bytes_bound)

    def receive(self, header: FrameHeader) -> Array:
        received = bytearray(header.n_bytes)
        if not self._fill(received):
            raise EOFError("the caller is gone")
        return array_of(header, received)

    def _fill(self, target: bytearray) -> bool:
        pending = memoryview(target)
        while pending:
            n_read = self._received.readinto(pending)
            if not n_read:
                return False
            pending = pending[n_read:]
        return True


def _limit_everything(memory_bytes: int) -> None:
    """From here on: no new files, no writing, no core dumps, and a bound on further memory."""
    import resource

    own_bytes = int(Path("/proc/self/statm").read_text("ascii").split()[0]) * resource.getpagesize()
    most = own_bytes + memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


def _limit_processor(seconds: float) -> None:
    """Allow this frame its own processor time.

    The caller's clock is stricter; this one still runs when the caller is gone.
    """
    import resource

    most = math.ceil(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _check_model(content: bytes) -> bytes:
    """The same model, written out from what was checked: no reader can find more in it."""
    import onnx

    try:
        model = onnx.ModelProto.FromString(content)
    except Exception as error:
        raise FormatError(
            "ONNX classifier", f"it cannot be parsed as an ONNX model, or breaks off ({error})"
        ) from None
    model.DiscardUnknownFields()
    if not model.graph.node:
        raise FormatError("ONNX classifier", "it holds no graph")
    _refuse_what_reaches_outside(model)
    written: bytes = model.SerializeToString()
    return written


def _refuse_what_reaches_outside(model: Any) -> None:
    """Look at every message of the model, wherever it is.

    In subgraphs, attributes, training information, and whatever the format gains later.
    """
    import onnx

    pending = [model]
    while pending:
        message = pending.pop()
        if isinstance(message, onnx.FunctionProto):
            raise FormatError(
                "ONNX classifier",
                "it defines functions of its own; export it with functions inlined",
            )
        if isinstance(message, onnx.TensorProto) and (
            message.data_location == onnx.TensorProto.EXTERNAL or message.external_data
        ):
            raise FormatError(
                "ONNX classifier",
                f"tensor {message.name!r} has external data; save the model as one file",
            )
        if (
            isinstance(message, onnx.NodeProto | onnx.OperatorSetIdProto)
            and message.domain not in DOMAINS
        ):
            raise FormatError(
                "ONNX classifier",
                f"it uses the operator domain {message.domain!r}; "
                "allowed are ai.onnx and ai.onnx.ml",
            )
        for field, value in message.ListFields():
            if field.message_type is not None:
                pending.extend([value] if hasattr(value, "ListFields") else value)


@final
class _Graph:
    """A session, and which of its outputs are asked for."""

    def __init__(self, model: bytes) -> None:
        self._session = _session(model)
        self._input, dtype, n_columns = _only_input(self._session)
        self._labels, self._scores = _outputs(self._session)
        self.signature = Signature(
            dtype, n_columns, self._labels is not None, self._scores is not None
        )

    def answer(self, kind: Kind, rows: Array) -> Array:
        name = self._labels if kind == Kind.LABELS else self._scores
        (output,) = self._session.run([name], {self._input: rows})
        return _as_labels(output) if kind == Kind.LABELS else _as_scores(output)


def _session(model: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # The arena takes memory in steps of doubling size, so the bound would be hit at half its value.
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    # Otherwise onnxruntime guesses from the bytes, and could read another format than the one that
    # was checked.
    options.add_session_config_entry("session.load_model_format", "ONNX")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _only_input(session: Any) -> tuple[str, str, int | None]:
    """Name, type and columns of the input."""
    inputs = session.get_inputs()
    if len(inputs) != 1 or inputs[0].type not in FLOATS or len(inputs[0].shape) != 2:
        shown = ", ".join(f"{each.name} {each.type} {each.shape}" for each in inputs)
        raise FormatError(
            "ONNX classifier",
            f"its inputs are {shown or 'none'}; one matrix (N, d) of float or double is needed",
        )
    n_rows, n_columns = inputs[0].shape
    if isinstance(n_rows, int) and n_rows > 0:
        raise FormatError(
            "ONNX classifier",
            f"its input takes exactly {n_rows} rows; export it with a free first dimension",
        )
    return (
        inputs[0].name,
        FLOATS[inputs[0].type],
        n_columns if isinstance(n_columns, int) and n_columns > 0 else None,
    )


def _outputs(session: Any) -> tuple[str | None, str | None]:
    """The names of the output with labels and of the one with scores."""
    outputs = session.get_outputs()
    kinds = [each.type for each in outputs]
    if kinds[0] in LABELS:
        has_scores = len(outputs) > 1 and (kinds[1] in FLOATS or kinds[1] in SCORE_MAPS)
        return outputs[0].name, outputs[1].name if has_scores else None
    if len(outputs) == 1 and (kinds[0] in FLOATS or kinds[0] in SCORE_MAPS):
        return None, outputs[0].name
    needed = (
        "labels (int64 or string) are needed as the first output, "
        "or a matrix of probabilities as the only one"
    )
    raise FormatError("ONNX classifier", f"its outputs are {', '.join(kinds)}; {needed}")


def _as_labels(output: Any) -> Array:
    labels = np.asarray(output)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"the labels have shape {labels.shape}, not one for each row")
    if labels.dtype.kind == "i":
        return labels.astype("<i8")
    widest = max((len(label) for label in labels), default=0)
    if widest > ITEM_BYTES_BOUND // 4:
        raise ValueError(f"a label has {widest} characters, {ITEM_BYTES_BOUND // 4} are allowed")
    return labels.astype(f"<U{widest or 1}")


def _as_scores(output: Any) -> Array:
    if isinstance(output, list):
        return _scores_of_maps(output)
    scores = np.asarray(output)
    if scores.ndim != 2:
        raise ValueError(f"the scores have shape {scores.shape}, not one row for each row")
    return scores.astype("<f8")


def _scores_of_maps(maps: list[dict[Any, float]]) -> Array:
    """A column per class, sorted by name, as the maps of ZipMap are."""
    names = sorted(maps[0]) if maps else []
    if any(len(each) != len(names) for each in maps):
        raise ValueError("the maps of scores do not all have the same classes")
    return np.array([[each[name] for name in names] for each in maps], dtype="<f8").reshape(
        len(maps), len(names)
    )
