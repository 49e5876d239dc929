"""One run: a new database, service and server; what was sent, and whether it is all there."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias, final

import uvloop

from benchmarks.service import baseline, check
from benchmarks.service.postgresql import run_postgresql
from benchmarks.service.prepare import People, Work
from benchmarks.service.processes import READY, Memory, Server, cpu_seconds, words_to_serve
from benchmarks.service.seed import seed
from benchmarks.service.send import Sent, compose_request, send
from ostraka.client import Client
from ostraka.service.settings import VARIABLE, Settings
from ostraka.service.storage.database import Database
from ostraka.signing import PublicKey

__all__ = ["DatabaseName", "Measured", "Tell", "measure"]

DatabaseName: TypeAlias = Literal["sqlite", "postgresql"]
Tell: TypeAlias = Callable[[int], object]
"""Hears how many requests were answered."""
ROOT: Final = Path(__file__).parents[2]
PLAIN: Final = "benchmarks.service.baseline:create"
SETTLED: Final = 0.25
"""Of the time: after so much of it, memory is compared with the end."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What was sent, and what it took: processor seconds, and memory."""

    sent: Sent
    server: float
    client: float
    database: float
    memory: Memory

    @property
    def settled(self) -> tuple[int, int]:
        """Bytes of memory after the first quarter of the time, and at its end."""
        first = min(self.sent.begun)
        return self.memory.at(first + SETTLED * self.sent.seconds), self.memory.seen[-1][1]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was there afterwards: what is wrong with it, and how long closing took."""

    problems: list[str]
    sum_seconds: float
    close_seconds: float | None = None
    release_seconds: float | None = None


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """How one kind of work went on one server."""

    work: Work
    load: Load
    checked: Checked


def measure(
    database: DatabaseName,
    people: People,
    works: list[Work],
    *,
    workers: int | None,
    n_clients: int,
    tell: Callable[[Work], Tell],
) -> Iterator[Measured]:
    """Every work in turn on one new server, ours with so many workers; None: the baseline."""
    with _open_place(database) as (folder, url, beside):
        settings = Settings(data=str(folder / "data"), database=url, grid=0.0)
        token, key = seed(settings, people, [work.poll for work in works])
        with _serve(settings, folder, workers) as server:
            for work in works:
                requests = list(_compose(work, people, plain=workers is None))
                load = _load(server, beside, requests, n_clients, tell(work))
                admin = None if workers is None else Client(server.address, token)
                yield Measured(work, load, _check(settings, work, people, load, key, admin))


@contextlib.contextmanager
def _open_place(database: DatabaseName) -> Iterator[tuple[Path, str | None, int | None]]:
    """A folder, the URL of a new database, and its process, if these are not the service's."""
    with tempfile.TemporaryDirectory(prefix="ostraka-bench-") as name:
        if database == "sqlite":
            yield Path(name), None, None
            return
        with run_postgresql() as cluster:
            yield Path(name), cluster.url, cluster.process


def _serve(settings: Settings, folder: Path, workers: int | None) -> Server:
    log = folder / "log"
    if workers is None:
        words = ["-m", "uvicorn", PLAIN, "--factory", "--port", "{port}", "--log-level", "warning"]
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        environment = {VARIABLE: json.dumps(asdict(settings)), "PYTHONPATH": path}
        return Server(words, log=log, ready="/live", environment=environment)
    return Server(words_to_serve(settings, "--workers", str(workers)), log=log, ready=READY)


def _compose(work: Work, people: People, *, plain: bool) -> Iterator[bytes]:
    digest = work.poll.digest
    for upload, token in zip(work.uploads, people.tokens):
        if plain:
            body, path, kind = (
                baseline.compose_body(upload),
                "/contributions/{}",
                "application/json",
            )
        else:
            path, kind = "/v1/polls/{}/contribution", "application/octet-stream"
            body = upload
        yield compose_request(path.format(digest), token, kind, body)


def _load(
    server: Server, beside: int | None, requests: list[bytes], n_clients: int, tell: Tell
) -> Load:
    def used() -> tuple[float, float, float]:
        of_database = 0.0 if beside is None else cpu_seconds(beside)
        return cpu_seconds(server.process), time.process_time(), of_database

    before = used()
    with Memory(server.process) as memory:
        sent = uvloop.run(send(server.port, requests, n_clients, tell))
    of_server, of_client, of_database = (b - a for a, b in zip(before, used()))
    return Load(sent=sent, server=of_server, client=of_client, database=of_database, memory=memory)


def _check(
    settings: Settings,
    work: Work,
    people: People,
    load: Load,
    key: PublicKey,
    admin: Client | None,
) -> Checked:
    """Everything that can be checked; `admin`: of a service that can close polls."""
    given, problems = check.read_receipts(load.sent.answers, work, people.names, key)
    problems += [f"{n} times: {told}" for told, n in load.sent.failures.items()]
    database = Database.open(settings.database_url)
    added = check.add_up(database, work.poll)
    database.close()
    problems += check.check_rows(given, added.commitments)
    problems += check.check_sum(added.total, work.total)
    if admin is None:
        return Checked(problems=problems, sum_seconds=added.seconds)
    with admin:
        closed, released = check.close_poll(admin, work.poll.digest)
        problems += check.check_list(given, admin.manifest(work.poll.digest), key)
    return Checked(
        problems=problems,
        sum_seconds=added.seconds,
        close_seconds=closed,
        release_seconds=released,
    )
