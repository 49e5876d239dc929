"""Who asks, and how often.

Every route below `/v1` but the few that say so needs a token. Whoever shows wrong ones is slowed
down, by address, and nobody else who asks from there; whoever shows a right one may make so many
requests a second, by token. Limits are
kept in each process, so with n processes they are up to n times as wide.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Annotated, Final, TypeAlias, final

from fastapi import Depends, Request

from ostraka.errors import AccessError, RateError, ServiceError
from ostraka.service import access
from ostraka.service.access import Role, Who
from ostraka.service.service import Service

__all__ = ["Admin", "Anyone", "Limits", "Party", "bearer", "identify", "service_of"]

NO_TOKEN: Final = (
    "This needs a token, and the request has none.",
    "Join with a code of the coordinator: ostraka join ADDRESS CODE. Programs send the header "
    "Authorization: Bearer TOKEN.",
)
FAILURES: Final = 0.5
"""Wrong tokens or codes a second, from one address, for long."""
MANY_FAILURES: Final = 30
SECONDS_AT_ONCE: Final = 4
REMEMBERED: Final = 100_000
KNOWN: Final = "ostraka.known"
COUNTED: Final = "ostraka.counted"


@final
class Limits:
    """Buckets that fill up with time: one for each sender."""

    def __init__(self, rate: float, size: float) -> None:
        self._rate, self._size = rate, size
        self._left: OrderedDict[bytes | str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, sender: bytes | str) -> None:
        """Count a request, or refuse it."""
        with self._lock:
            left = self._now(sender)
            if left < 1.0:
                raise RateError(max(1, math.ceil((1.0 - left) / self._rate)))
            self._left[sender] = (left - 1.0, time.monotonic())
            self._left.move_to_end(sender)
            while len(self._left) > REMEMBERED:
                self._left.popitem(last=False)

    def check(self, sender: bytes | str) -> None:
        """Refuse a sender whose bucket is empty; count nothing."""
        with self._lock:
            left = self._now(sender)
        if left < 1.0:
            raise RateError(max(1, math.ceil((1.0 - left) / self._rate)))

    def _now(self, sender: bytes | str) -> float:
        left, then = self._left.get(sender, (self._size, time.monotonic()))
        return min(self._size, left + (time.monotonic() - then) * self._rate)


def requests_limits(rate: float) -> Limits:
    """Of whoever has shown a token."""
    return Limits(rate, max(1.0, rate * SECONDS_AT_ONCE))


def failures_limits() -> Limits:
    """Of whoever has shown a wrong one."""
    return Limits(FAILURES, MANY_FAILURES)


def service_of(request: Request) -> Service:
    """The service behind this application."""
    service: Service = request.app.state.service
    return service


def bearer(request: Request) -> str:
    """The token of a request."""
    given = request.headers.get("authorization", "")
    scheme, _, token = given.partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise AccessError(*NO_TOKEN)
    return token.strip()


def is_own(token: str) -> bool:
    """Whether a token looks like one of the service's own, and not like one of an issuer."""
    return token.startswith(access.PREFIX)


def address_of(request: Request) -> str:
    """From where somebody asks."""
    return request.client.host if request.client else ""


def identify(request: Request) -> Who:
    """Who asks; or nobody gets further. Once for each request, whoever wants to know."""
    known: Who | None = request.scope.get(KNOWN)
    if known is not None:
        return known
    who = _identify(request)
    request.scope[KNOWN] = who
    request.scope["ostraka.who"] = str(who)
    return who


def _identify(request: Request) -> Who:
    state = request.app.state
    token = bearer(request)
    digest = access.digest_of(token)
    who: Who | None
    if state.staff is not None and not is_own(token):
        try:
            who = state.staff.identify(token)
        except ServiceError:
            fail(request)
            raise
    else:
        with service_of(request).database.read() as connection:
            who = access.find(connection, [digest]).get(digest)
    if who is None:
        fail(request)
        raise access.unknown_token()
    count(request, digest)
    return who


def count(request: Request, digest: bytes) -> None:
    """Count a request of somebody with a token, once; too many in a short time are refused."""
    if COUNTED not in request.scope:
        request.scope[COUNTED] = True
        request.app.state.requests.take(digest)


def forget(request: Request) -> None:
    """Ask once more who it is: their words came long after their token, perhaps."""
    request.scope.pop(KNOWN, None)


def fail(request: Request) -> None:
    """Count a wrong token or code; too many from one address in a short time are not answered.

    Right ones are, whoever else asks from the same address.
    """
    request.app.state.failures.take(address_of(request))


def is_patient(request: Request) -> bool:
    """Whether few enough wrong tokens came from there."""
    try:
        request.app.state.failures.check(address_of(request))
    except RateError:
        return False
    return True


def _need(*roles: Role) -> Callable[[Who], Who]:
    def check(who: Annotated[Who, Depends(identify)]) -> Who:
        who.check(*roles)
        return who

    return check


Anyone: TypeAlias = Annotated[Who, Depends(_need("admin", "party", "reader"))]
Admin: TypeAlias = Annotated[Who, Depends(_need("admin"))]
Party: TypeAlias = Annotated[Who, Depends(_need("party"))]
