"""The application: what is started with it, and which routes it has.

Everything below `/v1` needs a token, but what `public` lists: which service this is, joining with a
code, whether it lives, and the description of the routes. A test asks every route without a token.
"""

from __future__ import annotations

import contextlib
import logging.config
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Depends, FastAPI
from fastapi.security import HTTPBearer

from ostraka import __version__
from ostraka.sealing import Card
from ostraka.service.api import accounts, door, health, parties, polls, problems, uploads
from ostraka.service.api.bodies import Bounded
from ostraka.service.api.finisher import Finisher
from ostraka.service.api.shapes import ProblemShape, ReceiptShape
from ostraka.service.api.watching import Metrics, Watching, log_settings
from ostraka.service.arrivals import Writer
from ostraka.service.running import Running
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from ostraka.service.staff import Staff
from ostraka.service.starting import open_service

__all__ = ["create", "create_worker"]

DESCRIPTION = (
    "A coordinator of polls: one differentially private classifier from the data of many parties, "
    "without anyone showing their data. Polls, contributions and releases are the same files as "
    "without a service. Every request but the few without a lock needs the header "
    "`Authorization: Bearer TOKEN`. Errors are application/problem+json."
)


def create(service: Service, settings: Settings, running: Running | None = None) -> FastAPI:
    """The application of a service; `running`, which others notice, ends with it."""

    @contextlib.asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        app.state.writer.start()
        app.state.finisher.start()
        yield
        app.state.finisher.close()
        app.state.writer.close()
        service.database.close()
        if running is not None:
            running.close()

    app = FastAPI(
        title="Ostraka",
        version=__version__,
        description=DESCRIPTION,
        lifespan=living,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # its pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # to wherever a request says that it has come
    )
    state = app.state
    state.service = service
    state.card = None if service.key is None else Card.of(settings.name, service.key)
    state.writer = Writer(service)
    state.finisher = Finisher(service, settings.grid)
    state.staff = Staff.of(settings)
    state.requests = door.requests_limits(settings.rate)
    state.failures = door.failures_limits()
    state.in_flight = uploads.InFlight()
    state.largest = {}
    state.metrics = Metrics()
    problems.register(app)
    app.router.routes.append(uploads.route)
    for router in (parties.public, health.public):
        app.include_router(router, prefix="/v1")
    lock = Depends(HTTPBearer(auto_error=False))  # for the description; `door` does it
    locked = APIRouter(prefix="/v1", dependencies=[lock])
    for router in (polls.router, parties.router, accounts.router, health.router):
        locked.include_router(router)
    app.include_router(locked)
    app.add_middleware(Bounded)
    app.add_middleware(Watching, metrics=state.metrics)
    _describe(app)
    return app


def create_worker() -> FastAPI:
    """The application in a worker process, set up as the one that has started it."""
    logging.config.dictConfig(log_settings())
    settings = Settings.imported()
    running = Running(settings)  # before the key is read: from now on it is not changed
    try:
        return create(open_service(settings), settings, running)
    except BaseException:
        running.close()
        raise


FRAMEWORK_SHAPES = ("HTTPValidationError", "ValidationError")


def _describe(app: FastAPI) -> None:
    """Add the plain route to the document that the framework makes of the others, and our errors.

    It says of every route that it answers with errors of the framework's own form: none does.
    """
    made = app.openapi

    def whole() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = made()
            schema["paths"].setdefault(uploads.PATH, {})["put"] = uploads.describe()
            shapes = schema["components"]["schemas"]
            for shape in (ReceiptShape, ProblemShape):
                shapes.setdefault(shape.__name__, shape.model_json_schema())
            for name in FRAMEWORK_SHAPES:
                shapes.pop(name, None)
            for path in schema["paths"].values():
                for operation in path.values():
                    operation["responses"].pop("422", None)
                    operation["responses"]["default"] = uploads.PROBLEM
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = whole  # type: ignore[method-assign]
