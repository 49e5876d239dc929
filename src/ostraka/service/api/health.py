"""Whether the service lives, whether it can work, and numbers for Prometheus."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request
from sqlalchemy import func, select
from starlette.responses import PlainTextResponse

from ostraka.service.access import Who
from ostraka.service.api.door import identify, service_of
from ostraka.service.storage import tables

__all__ = ["public", "router"]

public = APIRouter(tags=["health"])
router = APIRouter(tags=["health"])


@public.get("/health/live", response_class=PlainTextResponse)
def live() -> str:
    """Whether the process answers."""
    return "live\n"


@public.get("/health/ready", response_class=PlainTextResponse)
def ready(request: Request) -> str:
    """Whether it can use its database, with the key that belongs to it."""
    service = service_of(request)
    with service.database.read() as connection:
        service.check_key(connection)
    return "ready\n"


@router.get("/metrics", response_class=PlainTextResponse)
def metrics(request: Request, who: Annotated[Who, Depends(identify)]) -> PlainTextResponse:
    """Numbers for Prometheus, for admins and readers."""
    who.check("admin", "reader")
    poll = tables.poll
    with service_of(request).database.read() as connection:
        states = connection.execute(select(poll.c.state, func.count()).group_by(poll.c.state))
        counted = {state: int(n) for state, n in states}
    text = request.app.state.metrics.show(counted).decode("utf-8")
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")
