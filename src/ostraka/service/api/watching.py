"""What operators see: one line of JSON for every request, and numbers for Prometheus.

Neither holds anything of a contribution, nor how long anything took that looks at one: times are of
requests, which end before a release is made.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import time
import traceback
from datetime import UTC, datetime
from typing import Any, Final, final

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ostraka.service.api.problems import answer_error

__all__ = ["Metrics", "Watching", "log_settings"]

LOG: Final = logging.getLogger("ostraka.service")
SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
MULTIPROCESS: Final = "PROMETHEUS_MULTIPROC_DIR"
FIELDS: Final = ("request", "method", "path", "status", "who", "poll")


@final
class Metrics:
    """Counters of this process, or, with several, of all of them."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self.requests = Counter(
            "ostraka_requests_total",
            "Requests that were answered.",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self.seconds = Histogram(
            "ostraka_request_seconds",
            "How long an answer took.",
            ("method", "route"),
            buckets=SECONDS,
            registry=self._registry,
        )

    def show(self, polls: dict[str, int]) -> bytes:
        """The text for Prometheus; `polls`: how many there are in each state."""
        registry = self._registry
        if os.environ.get(MULTIPROCESS):
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        lines = [
            "# HELP ostraka_polls Polls in each state.",
            "# TYPE ostraka_polls gauge",
            *(f'ostraka_polls{{state="{state}"}} {n}' for state, n in sorted(polls.items())),
        ]
        return generate_latest(registry) + "\n".join(lines).encode("ascii") + b"\n"


@final
class Watching:
    """Around the application: numbers every request, counts it, and writes its line."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        number, begun = secrets.token_hex(8), time.perf_counter()
        status: int | None = None
        scope["ostraka.request"] = number

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message["headers"],
                    (b"x-request-id", number.encode("ascii")),
                    (b"x-content-type-options", b"nosniff"),
                    (b"cache-control", b"no-store"),
                ]
            await send(message)

        try:
            await self._app(scope, receive, sending)
        except Exception as error:
            if status is not None:  # too late for another answer
                raise
            await answer_error(Request(scope), error)(scope, receive, sending)
        finally:
            route = _route_of(scope)
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._metrics.requests.labels(method, route, str(status or 500)).inc()
            self._metrics.seconds.labels(method, route).observe(time.perf_counter() - begun)
            LOG.info(
                "request",
                extra={
                    "request": number,
                    "method": method,
                    "path": scope["path"],
                    "status": status or 500,
                    "who": scope.get("ostraka.who"),
                },
            )


_METHODS: Final = ("GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS", "PATCH")


def _route_of(scope: Scope) -> str:
    """The pattern of the address, so that there are few of them; not every framework's has /v1."""
    path = getattr(scope.get("route"), "path", None)
    return "none" if path is None else f"/v1{path.removeprefix('/v1')}"


class _AsJson(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        """One line."""
        told: dict[str, Any] = {
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        told |= {name: getattr(record, name) for name in FIELDS if getattr(record, name, None)}
        if record.exc_info:
            told["error"] = "".join(traceback.format_exception(*record.exc_info))
        return json.dumps(told)  # in ASCII: nothing in it moves a cursor or begins a line


def log_settings(level: str = "INFO") -> dict[str, Any]:
    """For `logging.config`, and for uvicorn, whose own lines take the same form."""
    own = {"handlers": ["out"], "level": level, "propagate": False}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": {"()": _AsJson}},
        "handlers": {
            "out": {
                "class": "logging.StreamHandler",
                "formatter": "json",
                "stream": "ext://sys.stderr",
            }
        },
        "loggers": {
            "ostraka.service": own,
            "uvicorn": {**own, "level": "WARNING"},
            "uvicorn.error": {**own, "level": "WARNING"},
            "uvicorn.access": {**own, "level": "CRITICAL"},
            "alembic": {**own, "level": "WARNING"},
        },
    }
