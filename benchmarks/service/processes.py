"""Servers as processes of their own, on loopback, and what they use: memory and processor time.

A server is what was started and everything that it has started.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, final

from ostraka.service.settings import Settings

__all__ = ["READY", "Memory", "Server", "cpu_seconds", "words_to_serve"]

SERVE: Final = "from ostraka.cli.app import main; main()"
READY: Final = "/v1/health/ready"
PATIENCE: Final = 60.0
PAUSE: Final = 0.05
BETWEEN_LOOKS: Final = 0.25
TICKS: Final = os.sysconf("SC_CLK_TCK")
PAGE: Final = os.sysconf("SC_PAGE_SIZE")


def words_to_serve(settings: Settings, *more: str) -> list[str]:
    """The command that runs a service."""
    words = ["-c", SERVE, "serve", "--data", settings.data, "--port", "{port}"]
    words += ["--grid", f"{settings.grid:g}"]
    words += [] if settings.database is None else ["--database", settings.database]
    return [*words, *more]


@final
class Server:
    """A command that serves HTTP at a free port, until the end of the block; with `ca`, HTTPS."""

    def __init__(
        self,
        command: list[str],
        *,
        log: Path,
        ready: str,
        environment: dict[str, str] | None = None,
        ca: Path | None = None,
    ) -> None:
        self.port = _free_port()
        self.address = f"{'http' if ca is None else 'https'}://127.0.0.1:{self.port}"
        self._trust = None if ca is None else ssl.create_default_context(cafile=ca)
        words = [each.replace("{port}", str(self.port)) for each in command]
        self._log, self._ready = log, f"{self.address}{ready}"
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                [sys.executable, *words],
                stdout=file,
                stderr=file,
                env={**os.environ, **(environment or {})},
            )

    def __enter__(self) -> Server:
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                last = self._log.read_text("utf-8", "replace").splitlines()[-5:]
                raise RuntimeError("\n".join(["The server has not started:", *last]))
            time.sleep(PAUSE)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def kill(self) -> None:
        """End it at once, as a power cut does: it is told nothing, and finishes nothing."""
        self._process.kill()
        self._process.wait()

    @property
    def process(self) -> int:
        """The number of the process that was started."""
        return self._process.pid

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(
                self._ready, timeout=PATIENCE, context=self._trust
            ) as answer:
                return int(answer.status) == 200
        except (urllib.error.URLError, ConnectionError):
            return False


@final
class Memory:
    """Looks at a server's memory again and again, from a thread, until the end of the block."""

    def __init__(self, process: int) -> None:
        self._family = list(_family(process))
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.seen: list[tuple[float, int]] = []
        """When, by the clock of `time.perf_counter`, and how many bytes."""

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        self._note()

    def at(self, when: float) -> int:
        """The bytes at the last look before some moment."""
        before = [held for then, held in self.seen if then <= when]
        return before[-1] if before else self.seen[0][1]

    @property
    def most(self) -> int:
        """The most that was seen."""
        return max(held for _, held in self.seen)

    def _look(self) -> None:
        self._note()
        while not self._stopped.wait(BETWEEN_LOOKS):
            self._note()

    def _note(self) -> None:
        self.seen.append((time.perf_counter(), _resident_bytes(self._family)))


def cpu_seconds(process: int) -> float:
    """Processor time of a process and its descendants so far, those that have ended, too."""
    ticks = 0
    for each in _family(process):
        with contextlib.suppress(OSError):
            ticks += sum(int(field) for field in _stat(each)[11:15])
    return ticks / TICKS


def _resident_bytes(family: list[int]) -> int:
    """What processes share counts for each."""
    pages = 0
    for each in family:
        with contextlib.suppress(OSError):
            pages += int(Path(f"/proc/{each}/statm").read_text("ascii").split()[1])
    return pages * PAGE


def _family(process: int) -> Iterator[int]:
    parents: dict[int, int] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(path.name)] = int(_stat(int(path.name))[1])
    found = [process]
    while found:
        yield (last := found.pop())
        found += [child for child, parent in parents.items() if parent == last]


def _stat(process: int) -> list[str]:
    """The fields of its line in /proc after the name of the program."""
    return Path(f"/proc/{process}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()


def _free_port() -> int:
    with socket.socket() as tried:
        tried.bind(("127.0.0.1", 0))
        port: Any = tried.getsockname()[1]
    return int(port)
