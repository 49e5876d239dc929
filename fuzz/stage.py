"""A service of its own in a temporary folder, with polls in every state, and ways to ask it.

Every question meets the same state: what an earlier one has changed is undone first. Only releases
are not made here: nobody finishes a closed poll. Tokens, codes and what is signed with them differ
from process to process, so questions name them in braces, `{admin}` say.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sqlite3
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Self, final
from urllib.parse import unquote_to_bytes

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fuzz import seeds
from ostraka.exchange import JoinCode, Upload
from ostraka.party.contribution import Contribution
from ostraka.poll import Poll
from ostraka.service import arrivals, joining, polls
from ostraka.service.access import Role, Who
from ostraka.service.api import app as api
from ostraka.service.api.door import Limits
from ostraka.service.arrivals import Arrival
from ostraka.service.closing import finish, freeze
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from ostraka.service.starting import prepare
from ostraka.signing import SecretKey

__all__ = ["Answer", "Question", "Stage", "contribution_to", "key_of", "stage"]

ENDLESS: Final = 1e9
"""Requests a second."""
ADMIN: Final = Who(role="admin", name="ann")
PARTIES: Final = ("ward 1", "ward 2", "ward 3")
LATE: Final = "ward 4"
"""A party that has joined, and contributed to nothing yet."""
NEW: Final = "ward 5"
"""Who is invited and has not joined."""


@final
@dataclass(frozen=True, slots=True)
class Question:
    """A request as it comes over the wire."""

    method: str
    target: bytes
    headers: Sequence[tuple[bytes, bytes]] = ()
    body: bytes = b""


@final
@dataclass(slots=True)
class Answer:
    """What came back, and what the service's log says was wrong."""

    status: int = 0
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    content: bytes = b""
    causes: list[BaseException] = field(default_factory=list)

    @property
    def kind(self) -> str:
        """The type of its content, without parameters."""
        found = [text.decode("latin-1") for name, text in self.headers if name == b"content-type"]
        return found[0].partition(";")[0] if found else ""


@final
class Stage:
    """The service, as whoever asks sees it."""

    def __init__(self, folder: Path) -> None:
        settings = Settings(data=str(folder / "data"), rate=ENDLESS, grid=0.0)
        self._path = settings.folder.absolute() / "service.db"
        self.service = prepare(settings).service
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # so few parties hide nobody
            self.polls = dict(_polls(self.service))
        self.names = _people(self.service)
        self.app = api.create(self.service, settings)
        self.app.state.failures = Limits(ENDLESS, ENDLESS)
        self.app.state.finisher = _Nobody()
        self._loop = asyncio.new_event_loop()
        self._life = self.app.router.lifespan_context(self.app)
        self._loop.run_until_complete(self._life.__aenter__())
        self._changed = False
        self._kept = sqlite3.connect(":memory:")
        with closing(sqlite3.connect(self._path)) as there:
            there.backup(self._kept)

    def close(self) -> None:
        """Leave nothing open."""
        self._loop.run_until_complete(self._life.__aexit__(None, None, None))
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
        self._kept.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, asked: Question) -> Answer:
        """What the application answers, to the very bytes."""
        self._undo()
        self._changed = asked.method not in ("GET", "HEAD", "OPTIONS")
        answer = Answer()
        with _listening(answer.causes):
            self._loop.run_until_complete(self._pass(asked, answer))
        return answer

    def _undo(self) -> None:
        if not self._changed:
            return
        with closing(sqlite3.connect(self._path)) as there:
            self._kept.backup(there)
        known = set(self.polls.values())
        for held in (self.app.state.largest, self.service._polls):
            for digest in set(held) - known:
                del held[digest]

    async def _pass(self, asked: Question, answer: Answer) -> None:
        path, _, query = asked.target.partition(b"?")
        headers = [(name.lower(), text) for name, text in asked.headers]
        told = dict(headers).get(b"content-length")
        length = int(told) if told is not None and told.isdigit() else None
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": asked.method,
            "scheme": "http",
            "path": unquote_to_bytes(path).decode("utf-8", "replace"),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8000),
        }
        body = asked.body if length is None else asked.body[:length]
        short = length is not None and len(body) < length
        messages = [{"type": "http.request", "body": body, "more_body": short}]

        async def receive() -> dict[str, Any]:
            return messages.pop() if messages else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            if message["type"] == "http.response.start":
                answer.status = message["status"]
                answer.headers = [(bytes(name), bytes(text)) for name, text in message["headers"]]
            else:
                answer.content += message.get("body", b"")

        try:
            await self.app(scope, receive, send)
        except Exception as error:
            answer.causes.append(error)


@cache
def stage() -> Stage:
    """One for as long as this process is there."""
    memory = Path("/dev/shm")
    folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
    _KEPT.append(folder)
    return Stage(Path(folder.name))


_KEPT: Final[list[tempfile.TemporaryDirectory[str]]] = []


class _Nobody:
    """Finishes nothing."""

    def start(self) -> None:
        """Do nothing."""

    def ask(self, digest: str) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


@contextlib.contextmanager
def _listening(causes: list[BaseException]) -> Iterator[None]:
    """Hear what the service's log says of failures."""

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            """Keep the cause."""
            if record.exc_info and record.exc_info[1]:
                causes.append(record.exc_info[1])

    log, ear = logging.getLogger("ostraka.service"), Ear()
    before = log.propagate
    log.addHandler(ear)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(ear)
        log.propagate = before


# ---- who is there, and what they were asked ------------------------------------------------------


def key_of(name: str) -> SecretKey:
    """The same in every process."""
    return SecretKey(Ed25519PrivateKey.from_private_bytes(name.encode().ljust(32, b".")))


def contribution_to(poll: Poll, name: str) -> Contribution:
    """One by a party."""
    given = next(
        each for each in map(Contribution.from_bytes, seeds.contributions())
        if each.poll == poll.digest
    )  # fmt: skip
    return Contribution(**{**_fields(given), "party": name})


def _fields(given: Contribution) -> dict[str, Any]:
    return {name: getattr(given, name) for name in given.__dataclass_fields__}


def _polls(service: Service) -> Iterator[tuple[str, str]]:
    """One in each state, by its state; and more that are open or drafts."""
    made = seeds.made_polls()
    states = ("released", "closed", "open", "abandoned", "few", "draft", "ready")
    chosen = [made[at] for at in (0, 3, 2, 5, 6, 1, 9)]
    for state, poll in zip(states, chosen):
        polls.add(service, ADMIN, poll.to_bytes())
        if state not in ("draft", "ready"):
            polls.open_poll(service, ADMIN, poll.digest)
        if state in ("released", "closed", "open"):
            _contribute(service, poll)
        if state in ("released", "closed"):
            freeze(service, ADMIN, poll.digest)
            with contextlib.suppress(_Interrupted):
                finish(service, poll.digest, _interrupt if state == "closed" else lambda: None)
        if state == "abandoned":
            polls.abandon(service, ADMIN, poll.digest)
        yield state, poll.digest


class _Interrupted(Exception):
    pass


def _interrupt() -> None:
    raise _Interrupted


def _contribute(service: Service, poll: Poll) -> None:
    writer, answers = arrivals.Writer(service), list[object]()
    for name in PARTIES:
        token = join(service, name, again=True)
        upload = Upload.create(contribution_to(poll, name).to_bytes(), 1, key_of(name))
        body, digest = upload.to_bytes(), api.door.access.digest_of(token)
        writer.add(Arrival(token=digest, poll=poll.digest, body=body, answer=answers.append))
    writer.start()
    writer.close()
    assert not any(isinstance(each, Exception) for each in answers), answers


def join(service: Service, name: str, role: Role = "party", *, again: bool = False) -> str:
    """A token for somebody who has joined."""
    code = invite(service, name, role, again=again)
    with service.database.write() as connection:
        asked = code.request(key_of(name), service.key.public)
        return joining.join(connection, asked, service.key.public).token


def invite(service: Service, name: str, role: Role = "party", *, again: bool = False) -> JoinCode:
    """A code for somebody."""
    with service.database.write() as connection:
        made = joining.invite(connection, ADMIN, service.key.public, [name], role=role, again=again)
    return made[0][1]


def _people(service: Service) -> dict[bytes, bytes]:
    """What stands in braces in questions, and in its place."""
    code, key = invite(service, NEW), key_of(NEW)
    asked = code.request(key, service.key.public)
    message = joining.renewal(service.key.public, key.public)
    found = {
        "admin": join(service, "ann", "admin"),
        "reader": join(service, "rea", "reader"),
        "party": join(service, PARTIES[0], again=True),
        "late": join(service, LATE),
        "code": str(asked.code),
        "key": str(asked.key),
        "by_code": asked.by_code.hex(),
        "by_key": asked.by_key.hex(),
        "by_old": key_of(LATE).sign(message).hex(),
        "by_new": key.sign(message).hex(),
    }
    return {f"{{{name}}}".encode(): text.encode() for name, text in found.items()}
