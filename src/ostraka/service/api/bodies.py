"""The bytes of a request: not one more than it can need, and not for ever.

Files are read by their routes (`read_body`). Forms, which are JSON, are read by the framework, and
it would take whatever comes, from whomever, before it asks for a token: so `Bounded` reads them
before it does.
"""

from __future__ import annotations

import asyncio
from typing import Final, final

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ostraka.errors import InputError, OstrakaError, SizeError
from ostraka.service.api import door
from ostraka.service.api.problems import answer_error

__all__ = ["Bounded", "check_size", "read_body", "told_length"]

SECONDS: Final = 30.0
SLOWEST: Final = 10_000.0
"""Bytes a second that a sender must reach after the first seconds."""
SMALL_FORM: Final = 2**16
LARGE_FORM: Final = 2**24
"""Bytes of JSON: of anybody, and of an admin, who names many parties."""
PUBLIC_FORMS: Final = ("/v1/joins",)


def told_length(request: Request) -> int | None:
    """How many bytes a request says that it has."""
    told = request.headers.get("content-length", "")
    return int(told) if told.isascii() and told.isdigit() and len(told) < 16 else None


def check_size(what: str, length: int | None, most: int) -> None:
    """Refuse what is longer than it can be, or does not say how long it is."""
    if length is None or length > most:
        raise SizeError(what, got=length, most=most)


async def read_body(request: Request, most: int, what: str) -> bytes:
    """The body, if it says how long it is, and is no longer; refused before it is read."""
    length = told_length(request)
    check_size(what, length, most)
    assert length is not None
    read, seconds = bytearray(), SECONDS + length / SLOWEST
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                read += chunk
                if len(read) > length:
                    break
    except ClientDisconnect:
        raise InputError(
            f"{what} was cut off: {len(read):,} of {length:,} bytes came.", "Send it again."
        ) from None
    except TimeoutError:
        raise InputError(
            f"{what} came too slowly: {len(read):,} of {length:,} bytes in {seconds:.0f} seconds.",
            "Send it over a faster network, or give it to the coordinator as a file.",
        ) from None
    if len(read) != length:
        raise InputError(
            f"{what} has {len(read):,} bytes, and {length:,} were announced.", "Send it again."
        )
    return bytes(read)


@final
class Bounded:
    """Around the routes: of a form no more is read than it may have, and nothing of strangers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with its form, if it has one."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        try:
            content = await _read_form(request)
        except OstrakaError as error:
            await answer_error(request, error)(scope, receive, send)
            return
        waiting: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]

        async def once_more() -> Message:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, once_more, send)


async def _read_form(request: Request) -> bytes:
    most = SMALL_FORM
    if request.scope["path"] not in PUBLIC_FORMS:
        who = await run_in_threadpool(door.identify, request)
        most = LARGE_FORM if who.role == "admin" else SMALL_FORM
    if told_length(request) is None and "transfer-encoding" not in request.headers:
        return b""
    content = await read_body(request, most, "The form")
    door.forget(request)
    return content
