"""Contributions over HTTP: the one route that must be fast.

A plain route, without the framework's parsing: it reads no more bytes than the poll can need, hands
them to the writer, and answers when they are on the disk.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final, final

from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from ostraka.errors import AbsentError, AccessError, FormatError, InputError, RateError
from ostraka.service import access, polls
from ostraka.service.api import door
from ostraka.service.api.bodies import check_size, read_body, told_length
from ostraka.service.api.door import bearer, service_of
from ostraka.service.arrivals import Answer, Arrival, largest
from ostraka.service.service import no_poll

__all__ = ["PATH", "PROBLEM", "InFlight", "describe", "route"]

PATH: Final = "/v1/polls/{digest}/contribution"
MOST_IN_FLIGHT: Final = 2**28
SMALL: Final = 2**16
"""Bytes that may be read from anybody before their token is looked up."""
_DIGEST: Final = re.compile("[0-9a-f]{64}")


@final
class InFlight:
    """How many bytes are being received: no more than fit into memory."""

    def __init__(self, most: int = MOST_IN_FLIGHT) -> None:
        self._most, self._now = most, 0

    def enter(self, n: int) -> None:
        """Make room, or refuse."""
        if self._now and self._now + n > self._most:
            raise RateError(1)
        self._now += n

    def leave(self, n: int) -> None:
        """Give it back."""
        self._now -= n


async def put_contribution(request: Request) -> Response:
    """Contribute to a poll, or change what was contributed. The same once more changes nothing."""
    request.scope["route"] = route  # for the numbers, as the framework does it for its own
    digest = str(request.path_params["digest"])
    try:
        return await _put(request, digest)
    except (FormatError, InputError) as error:
        if not isinstance(error, AbsentError | AccessError | RateError):
            await run_in_threadpool(_check_visible, request, digest)
        raise


async def _put(request: Request, digest: str) -> Response:
    state, token = request.app.state, bearer(request)
    length = told_length(request)
    small = length is not None and length <= SMALL
    if small and door.is_own(token) and door.is_patient(request):
        door.count(request, access.digest_of(token))  # the writer looks it up, for many at once
        most = SMALL
    else:
        await run_in_threadpool(_check_sender, request, digest)  # before anything large is read
        most = await _largest(request, digest)
    room = min(most, length or 0)
    state.in_flight.enter(room)
    try:
        body = await read_body(request, most, "The contribution")
        if digest not in state.largest:  # nothing is looked up for strangers
            await run_in_threadpool(_check_sender, request, digest)
        check_size("The contribution", len(body), await _largest(request, digest))
        answer = await _hand_over(state.writer, access.digest_of(token), digest, body)
    finally:
        state.in_flight.leave(room)
    if isinstance(answer, AccessError) and not answer.known:
        door.fail(request)
    if isinstance(answer, Exception):
        raise answer
    return Response(answer.to_bytes(), media_type="application/json")


def _check_sender(request: Request, digest: str) -> None:
    door.identify(request).check("party")
    _check_visible(request, digest)


def _check_visible(request: Request, digest: str) -> None:
    """Of a poll that somebody may not see they hear nothing but that there is none."""
    who = door.identify(request)
    with service_of(request).database.read() as connection:
        polls.find(connection, digest, who)


async def _hand_over(writer: Any, token: bytes, digest: str, body: bytes) -> Answer:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Answer] = loop.create_future()

    def settle(answer: Answer) -> None:
        if not future.done():
            future.set_result(answer)

    def reply(answer: Answer) -> None:
        loop.call_soon_threadsafe(settle, answer)

    writer.add(Arrival(token=token, poll=digest, body=body, answer=reply))
    return await future


async def _largest(request: Request, digest: str) -> int:
    """How many bytes can be sent to a poll; polls never change, so it is looked up once."""
    known: dict[str, int] = request.app.state.largest
    if digest not in known:
        if not _DIGEST.fullmatch(digest):
            raise no_poll(digest)
        known[digest] = largest(await run_in_threadpool(service_of(request).poll, digest))
    return known[digest]


route: Final = Route(PATH, put_contribution, methods=["PUT"])


PROBLEM: Final = {
    "description": "An error.",
    "content": {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemShape"}}
    },
}


def describe() -> dict[str, Any]:
    """What the OpenAPI document says of the route."""
    content = {"schema": {"type": "string", "format": "binary"}}
    receipt = {"schema": {"$ref": "#/components/schemas/ReceiptShape"}}
    return {
        "tags": ["polls"],
        "summary": "Put Contribution",
        "description": put_contribution.__doc__,
        "operationId": "put_contribution_v1_polls__digest__contribution_put",
        "security": [{"HTTPBearer": []}],
        "parameters": [
            {
                "name": "digest",
                "in": "path",
                "required": True,
                "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            }
        ],
        "requestBody": {"required": True, "content": {"application/octet-stream": content}},
        "responses": {
            "200": {
                "description": "The receipt.",
                "content": {"application/json": receipt},
            },
            "default": PROBLEM,
        },
    }
