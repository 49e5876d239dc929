"""Computing on private rows so that nothing of them shows.

A classifier that warns, prints or logs about somebody's rows gives them away, and so does a
floating-point trap that springs on one row and not on another. Under `quietly()` nobody sees it:

    what                                    how
    floating-point traps (`np.seterr`)      off
    warnings                                ignored, whatever the filters say
    logging                                 switched off
    sys.stdout, sys.stderr                  write nowhere
    file descriptors 1 and 2                lead nowhere: compiled libraries print there
    Python's and numpy's global streams     restored afterwards

All of these belong to the whole process, so only one thread at a time is in here; others wait. What
other threads print meanwhile is lost.

Not covered: files that a classifier writes, streams that it opened or kept itself without a
descriptor, and time.
"""

from __future__ import annotations

import contextlib
import ctypes
import io
import logging
import os
import random
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any, final

import numpy as np

__all__ = ["is_quiet", "quietly", "restart_streams", "streams_kept"]

ABOVE_EVERY_LEVEL = 2**31
STANDARD_STREAMS = ("stdout", "stderr")

START_OF_PYTHONS_STREAM = random.Random(0).getstate()
START_OF_NUMPYS_STREAM = np.random.RandomState(0).get_state(legacy=False)

_turn = threading.RLock()
_inside = threading.local()


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Nothing that happens in here is shown; errors still come out."""
    depth = getattr(_inside, "depth", 0)
    with contextlib.ExitStack() as stack:
        if depth == 0:  # inside, there is nothing left to swallow
            for context in (streams_kept, _log_nothing, _print_nothing):
                stack.enter_context(context())
        # Also when nested: a classifier may have changed the filters or the traps.
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore")
        stack.enter_context(np.errstate(all="ignore"))
        _inside.depth = depth + 1
        try:
            yield
        finally:
            _inside.depth = depth


def is_quiet() -> bool:
    """Whether this thread is under `quietly()`."""
    return getattr(_inside, "depth", 0) > 0


@contextlib.contextmanager
def streams_kept() -> Iterator[None]:
    """Leave Python's and numpy's global random streams as they were found; one thread at a time."""
    with _turn:
        ours, numpys = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002
        try:
            yield
        finally:
            random.setstate(ours)
            np.random.set_state(numpys)  # noqa: NPY002


def restart_streams() -> None:
    """Set both global streams to a fixed start, so that earlier draws have no effect.

    The same start for all, because making a new state takes longer than many a fit.
    """
    random.setstate(START_OF_PYTHONS_STREAM)
    np.random.set_state(START_OF_NUMPYS_STREAM)  # noqa: NPY002


@contextlib.contextmanager
def _log_nothing() -> Iterator[None]:
    before = logging.root.manager.disable
    logging.disable(ABOVE_EVERY_LEVEL)
    try:
        yield
    finally:
        logging.disable(before)


@contextlib.contextmanager
def _print_nothing() -> Iterator[None]:
    """Both ways out are closed: Python's objects, and the descriptors under them."""
    before = {name: getattr(sys, name) for name in STANDARD_STREAMS}
    _flush(before)  # earlier output must be seen
    with _descriptors_nowhere():
        sys.stdout, sys.stderr = _SINKS
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before.values()
            _flush(before)  # whoever kept the old objects wrote into their buffers


@contextlib.contextmanager
def _descriptors_nowhere() -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        # If 0, 1 or 2 was closed, it leads nowhere too: no copy may take its number.
        nowhere = _close_after(stack, os.open(os.devnull, os.O_RDWR))
        while nowhere <= 2:
            nowhere = _close_after(stack, os.open(os.devnull, os.O_RDWR))
        for number in (1, 2):
            copy = _close_after(stack, os.dup(number))
            stack.callback(os.dup2, copy, number)
            os.dup2(nowhere, number)
        yield


def _close_after(stack: contextlib.ExitStack, descriptor: int) -> int:
    stack.callback(os.close, descriptor)
    return descriptor


def _flush(streams: dict[str, Any]) -> None:
    """Write out what is in the buffers of Python and of C."""
    for stream in streams.values():
        with contextlib.suppress(Exception):  # none, closed, or of a kind that cannot
            stream.flush()
    with contextlib.suppress(Exception):  # Windows has no such handle; its C streams are unbuffered
        _C.fflush(None)


@final
class _Sink(io.TextIOBase):
    """Takes text and forgets it. Never closed: a handler that was made meanwhile may keep it."""

    encoding = "utf-8"

    def __init__(self, number: int) -> None:
        self._number = number
        self.buffer = _BytesSink()

    def write(self, text: str, /) -> int:
        return len(text)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        """The descriptor that stands for this stream, for those who start processes."""
        return self._number

    def close(self) -> None:
        pass


@final
class _BytesSink(io.RawIOBase):
    def write(self, data: Any, /) -> int:
        return len(data)

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        pass


_SINKS = (_Sink(1), _Sink(2))
_C: Any = ctypes.CDLL(None) if os.name == "posix" else None


def _after_fork() -> None:
    """A child has one thread; the thread that held the turn in the parent does not exist there."""
    global _turn
    _turn = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
