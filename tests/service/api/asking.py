"""Asking a service over HTTP, as far as its application can tell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
from anyio.from_thread import BlockingPortal, start_blocking_portal
from fastapi import FastAPI

from ostraka.service.api.app import create
from ostraka.service.api.problems import MEDIA, TYPE
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from tests.service.made import Member, joined

__all__ = ["DIGEST", "Api", "People", "asking", "check_problem", "same_but_number"]

DIGEST = "0" * 64
"""No poll has it."""


@dataclass(frozen=True)
class Api:
    """An application that runs."""

    app: FastAPI
    portal: BlockingPortal
    client: httpx.AsyncClient

    def ask(
        self, method: str, path: str, who: Member | str | None = None, **given: Any
    ) -> httpx.Response:
        """The answer to a request, with a token or without one."""
        headers = given.pop("headers", {})
        if who is not None:
            headers["Authorization"] = f"Bearer {who if isinstance(who, str) else who.token}"
        asked = partial(self.client.request, method, path, headers=headers, **given)
        return self.portal.call(asked)

    def get(self, path: str, who: Member | str | None = None, **given: Any) -> httpx.Response:
        return self.ask("GET", path, who, **given)

    def put(self, path: str, who: Member | str | None = None, **given: Any) -> httpx.Response:
        return self.ask("PUT", path, who, **given)

    def post(self, path: str, who: Member | str | None = None, **given: Any) -> httpx.Response:
        return self.ask("POST", path, who, **given)

    def raw(self, scope: dict[str, Any], *messages: dict[str, Any]) -> tuple[int, bytes, int]:
        """Status and body of the answer to these very messages, and how many of them were read."""
        waiting, sent, taken = list(messages), list[dict[str, Any]](), 0

        async def receive() -> dict[str, Any]:
            nonlocal taken
            if not waiting:
                await anyio_sleep_forever()
            taken += 1
            return waiting.pop(0)

        async def send(message: Any) -> None:
            sent.append(dict(message))

        self.portal.call(self.app, scope, receive, send)
        body = b"".join(each.get("body", b"") for each in sent)
        return int(sent[0]["status"]), body, taken


async def anyio_sleep_forever() -> None:
    import anyio

    await anyio.sleep_forever()


@contextmanager
def asking(service: Service, settings: Settings) -> Iterator[Api]:
    """The application of a service, from its start to its end."""
    app = create(service, settings)
    transport = httpx.ASGITransport(app=app)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(app.router.lifespan_context(app)),
        portal.wrap_async_context_manager(
            httpx.AsyncClient(transport=transport, base_url="http://polls.example.org/v1")
        ) as client,
    ):
        yield Api(app, portal, client)


@dataclass(frozen=True)
class People:
    """Who has joined: one in each role, and a second party."""

    admin: Member
    reader: Member
    party: Member
    other: Member

    @classmethod
    def join(cls, service: Service) -> People:
        (admin,) = joined(service, "ann", role="admin")
        (reader,) = joined(service, "rea", role="reader")
        party, other = joined(service, "a", "b")
        return cls(admin, reader, party, other)

    def as_(self, role: str) -> Member:
        return getattr(self, role)  # type: ignore[no-any-return]


def check_problem(answer: httpx.Response, status: int, kind: str) -> str:
    """Refuse whatever is not this error in the one form of errors; what it says."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == MEDIA
    held = answer.json()
    assert set(held) == {"type", "title", "status", "detail", "request"}
    assert (held["type"], held["status"]) == (f"{TYPE}{kind}", status)
    assert held["request"] == answer.headers["x-request-id"] != ""
    return str(held["detail"])


def same_but_number(answer: httpx.Response) -> tuple[Any, ...]:
    """All of an answer but the request's number, which is random."""
    number = answer.headers["x-request-id"]
    headers = {name: text for name, text in answer.headers.items() if name != "x-request-id"}
    return answer.status_code, headers, answer.content.replace(number.encode("ascii"), b"")
