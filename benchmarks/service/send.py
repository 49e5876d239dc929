"""Many clients in one process, each with a connection of its own that stays open, which send one
request after the other: the next when the answer to the last has come.

They share the processors with the server, so they do as little as possible: requests are whole
bytes before the clock starts, and of an answer they read the status and its length, and keep it.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sent", "compose_request", "send"]

END: Final = b"\r\n\r\n"
LENGTH: Final = b"content-length:"
BETWEEN_LOOKS: Final = 0.25


@final
@dataclass(slots=True)
class Sent:
    """What came of each request, in the order of the requests."""

    answers: list[bytes | None] = field(repr=False)
    """The bodies of the answers with status 200: what was acknowledged."""
    begun: NDArray[np.float64] = field(repr=False)
    ended: NDArray[np.float64] = field(repr=False)
    """When, by the clock of `time.perf_counter`; NaN where no answer came."""
    failures: Counter[str] = field(default_factory=Counter)

    @property
    def acknowledged(self) -> list[int]:
        """Which requests were."""
        return [index for index, answer in enumerate(self.answers) if answer is not None]

    @property
    def seconds(self) -> float:
        """From the first request to the last answer."""
        return float(np.nanmax(self.ended) - np.nanmin(self.begun))

    @property
    def rate(self) -> float:
        """Acknowledged requests a second."""
        return len(self.acknowledged) / self.seconds

    @property
    def slowest_second(self) -> int:
        """How many answers came in the worst whole second."""
        first = np.nanmin(self.begun)
        counted = np.bincount((self.ended[np.isfinite(self.ended)] - first).astype(int))
        return int(counted[:-1].min()) if len(counted) > 1 else int(counted[0])

    def latency(self, share: float) -> float:
        """Seconds within which this share of the answers came."""
        return float(np.nanquantile(self.ended - self.begun, share))


def compose_request(path: str, token: str, kind: str, body: bytes) -> bytes:
    """The bytes of a PUT."""
    head = (
        f"PUT {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode("ascii") + body


async def send(
    port: int, requests: list[bytes], n_clients: int, tell: Callable[[int], object]
) -> Sent:
    """Send all requests from so many clients; `tell` hears now and then how many were answered."""
    nothing = np.full(len(requests), np.nan)
    work = _Work(requests, Sent([None] * len(requests), nothing, nothing.copy()))
    loop = asyncio.get_running_loop()
    clients = min(n_clients, len(requests))
    made = [
        loop.create_connection(lambda: _Client(work), "127.0.0.1", port) for _ in range(clients)
    ]
    connections = await asyncio.gather(*made)
    for _, client in connections:
        client.go_on()
    while not work.is_over and work.broken is None:
        await asyncio.sleep(BETWEEN_LOOKS)
        tell(work.n_done)
    for transport, _ in connections:
        transport.close()
    if work.broken is not None:
        raise RuntimeError(f"The server has cut a connection off: {work.broken}")
    return work.sent


@final
class _Work:
    def __init__(self, requests: list[bytes], sent: Sent) -> None:
        self.requests, self.sent = requests, sent
        self.n_begun = self.n_done = 0
        self.broken: str | None = None

    @property
    def is_over(self) -> bool:
        return self.n_done == len(self.requests)


@final
class _Client(asyncio.Protocol):
    def __init__(self, work: _Work) -> None:
        self._work = work
        self._transport: Any = None
        self._index = -1
        self._read = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._work.is_over:
            self._work.broken = repr(exc)

    def go_on(self) -> None:
        work = self._work
        index = work.n_begun
        if index < len(work.requests):
            work.n_begun += 1
            self._index = index
            work.sent.begun[index] = time.perf_counter()
            self._transport.write(work.requests[index])

    def data_received(self, data: bytes) -> None:
        read = self._read = self._read + data if self._read else data
        end = read.find(END)
        if end < 0:
            return
        head = read[:end].lower()
        start = head.index(LENGTH) + len(LENGTH)
        length = int(head[start:].partition(b"\r")[0])
        body = read[end + len(END) :]
        if len(body) < length:
            return
        work, self._read = self._work, b""
        work.sent.ended[self._index] = time.perf_counter()
        if head[9:12] == b"200":
            work.sent.answers[self._index] = body
        else:
            work.sent.failures[head[9:12].decode("ascii") + " " + body[:200].decode()] += 1
        work.n_done += 1
        self.go_on()
