"""Makes releases of closed polls, one after the other, in a thread of its own.

A release is shown a whole multiple of some seconds after its making began, so that nobody can tell
from when it appears how long a computation on private data took.

What was interrupted, here or on another host, is found by looking from time to time; what cannot be
finished until somebody does something is left alone, and admins see why.
"""

from __future__ import annotations

import math
import queue
import threading
import time
from functools import partial
from typing import Final, final

from ostraka.errors import LedgerError, OstrakaError, ServiceError
from ostraka.service import closing
from ostraka.service.api.problems import log_error
from ostraka.service.sealed import WaitingError
from ostraka.service.service import Service

__all__ = ["Finisher"]

LOOK_EACH: Final = 30.0
"""Seconds between two looks for what others have left unfinished."""
UNFORESEEN: Final = "Something went wrong that nobody foresaw. Its cause is in the service's log."


@final
class Finisher:
    """Asked for a poll, it finishes it; what was interrupted before, too."""

    def __init__(self, service: Service, grid: float, look_each: float = LOOK_EACH) -> None:
        self._service, self._grid, self._look_each = service, grid, look_each
        self._asked: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting: set[str] = set()
        self._stuck: set[str] = set()
        self._seen: set[str] = set()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="finisher", daemon=True)

    def start(self) -> None:
        """Begin, with what an earlier process has left unfinished."""
        self._thread.start()
        for digest in self._unfinished():
            self.ask(digest)

    def ask(self, digest: str) -> None:
        """Finish this poll, if nobody has asked for that yet."""
        with self._lock:
            self._stuck.discard(digest)
            if digest in self._waiting:
                return
            self._waiting.add(digest)
        self._asked.put(digest)

    def close(self) -> None:
        """Take no more; what is being made is left to the next process, which goes on with it."""
        self._stopping.set()
        self._asked.put(None)

    def _work(self) -> None:
        while True:
            try:
                digest = self._asked.get(timeout=self._look_each)
            except queue.Empty:
                self._look()
                continue
            if digest is None:
                return
            self._finish(digest)

    def _finish(self, digest: str) -> None:
        begun = time.monotonic()
        try:
            closing.finish(self._service, digest, partial(self._wait, begun))
        except (_Stopping, WaitingError):  # it waits for its trustee: whoever answers asks again
            pass
        except Exception as error:
            log_error("a release was not finished", error, poll=digest)
            self._note(digest, error)
        with self._lock:
            self._waiting.discard(digest)

    def _note(self, digest: str, error: Exception) -> None:
        """What passes by itself is tried again; of the rest people are told."""
        if isinstance(error, ServiceError | LedgerError):
            return
        with self._lock:
            self._stuck.add(digest)
        told = str(error) if isinstance(error, OstrakaError) else UNFORESEEN
        try:
            closing.tell_trouble(self._service, digest, told)
        except Exception as another:  # nothing ends this thread
            log_error("the trouble was not written down", another, poll=digest)

    def _look(self) -> None:
        """What was unfinished at the last look, too, nobody is working on."""
        found = set(self._unfinished())
        for digest in sorted((found & self._seen) - self._stuck):
            self.ask(digest)
        self._seen = found

    def _unfinished(self) -> list[str]:
        try:
            return closing.unfinished(self._service)
        except Exception as error:  # without a database now; the next look comes
            log_error("cannot look for unfinished polls", error)
            return []

    def _wait(self, begun: float) -> None:
        if self._grid > 0.0:
            taken = time.monotonic() - begun
            if self._stopping.wait(math.ceil(taken / self._grid) * self._grid - taken):
                raise _Stopping  # not shown now, off the grid: the next process does it


class _Stopping(Exception):
    """The process ends while a release waits to be shown."""
