"""What the tests of clients talk to, at ports of this machine: a service of ours, or a stranger."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import uvicorn

__all__ = ["Answer", "Asked", "Clock", "Stranger", "serve", "stranger"]


@contextmanager
def serve(app: Any) -> Iterator[str]:
    """The address of an application, until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as listening:  # whoever comes too early waits
        server = uvicorn.Server(uvicorn.Config(app, log_config=None, loop="asyncio"))
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


class Clock:
    """In place of the module `time`: nobody waits, and all know how long they would have."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


# ---- strangers -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What a stranger says; without a status it hangs up."""

    status: int | None = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    announced: int | None = None


@dataclass(frozen=True)
class Asked:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]


@dataclass
class Stranger:
    """A server that says what a test tells it to; the last answer for ever."""

    address: str
    answers: list[Answer | Callable[[Asked], Answer]] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)

    def says(self, *answers: Answer | Callable[[Asked], Answer]) -> None:
        """From now on."""
        self.answers[:] = answers

    def next(self, asked: Asked) -> Answer:
        self.asked.append(asked)
        given = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return given(asked) if callable(given) else given


@contextmanager
def stranger() -> Iterator[Stranger]:
    """One that answers until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(2**20)
            if not self.raw_requestline or not self.parse_request():
                self.close_connection = True
                return
            self.rfile.read(int(self.headers.get("content-length", 0)))
            given = made.next(Asked(self.command, self.path, dict(self.headers.items())))
            if given.status is None:
                return
            self.send_response(given.status)
            length = len(given.body) if given.announced is None else given.announced
            for name, value in {"Content-Length": str(length), **given.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(given.body)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: Any) -> None:
            """Of a client that hung up."""

    with Server(("127.0.0.1", 0), Handler) as server:
        made = Stranger(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield made
        finally:
            server.shutdown()
            thread.join()
