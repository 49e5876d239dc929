"""Errors as application/problem+json (RFC 9457), with the library's own words.

    type     urn:ostraka:error:NAME, which error it is, as in `ostraka.errors`
    title    the same in words
    status   from the one table of codes
    detail   the text that a command line would show
    request  the number of this request in the service's log

What nobody foresaw is answered with a plain sentence and that number; its cause is in the log.
"""

from __future__ import annotations

import logging
import re
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from ostraka.errors import (
    AccessError,
    FormatError,
    LedgerError,
    OstrakaError,
    RateError,
    ServiceError,
)
from ostraka.errors.codes import codes_of, kind_of

__all__ = ["TYPE", "answer_error", "log_error", "register"]

TYPE: Final = "urn:ostraka:error:"
MEDIA: Final = "application/problem+json"
LOG: Final = logging.getLogger("ostraka.service")
UNFORESEEN: Final = (
    "Something went wrong here that nobody foresaw. What was asked for may not have happened; it "
    "can be asked for again. The coordinator finds the cause in the log, under this request's "
    "number."
)
SHOWN: Final = 5
LONGEST_NAME: Final = 60


def register(app: FastAPI) -> None:
    """Answer every error of this application."""
    app.add_exception_handler(OstrakaError, _answer)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_http)
    app.add_exception_handler(Exception, _answer)


def answer_error(request: Request, error: Exception) -> JSONResponse:
    """The answer to a request that has failed with this error."""
    codes = codes_of(error)
    own_file = isinstance(error, FormatError) and request.method == "GET"  # nobody has sent one
    if not isinstance(error, OstrakaError) or own_file or codes is None or codes.status >= 500:
        return _answer_own_fault(request, error)
    headers: dict[str, str] = {}
    status = codes.status
    if isinstance(error, AccessError) and not error.known:
        status, headers = 401, {"WWW-Authenticate": "Bearer"}
    if isinstance(error, RateError):
        headers = {"Retry-After": str(error.seconds)}
    return _problem(request, kind_of(error), status, str(error), headers)


def _answer_own_fault(request: Request, error: Exception) -> JSONResponse:
    log_error("failed", error, request=_number(request))
    if isinstance(error, OstrakaError) and isinstance(error, ServiceError):
        told = f"The service {error.problem}. {error.remedy}"
        return _problem(request, "ServiceError", 503, told, {"Retry-After": "5"})
    if isinstance(error, LedgerError):  # without the place, as above
        told = f"The service's ledger {error.problem}. {error.remedy} {error.outcome}".rstrip()
        return _problem(request, "LedgerError", 503, told, {"Retry-After": "5"})
    return _problem(request, "InternalError", 500, UNFORESEEN, {})


def log_error(event: str, error: Exception, **about: str) -> None:
    """A line of the log: with the cause, or with what whoever runs the service should do."""
    told = error.operator if isinstance(error, ServiceError) else ""
    LOG.error(told or event, exc_info=None if told else error, extra=about)


async def _answer(request: Request, error: Exception) -> JSONResponse:
    return answer_error(request, error)


async def _answer_invalid(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    told = "; ".join(
        f"{' '.join(map(_shown, each['loc']))}: {each['msg']}" for each in error.errors()[:SHOWN]
    )
    detail = f"The request is not of the form that is needed. {told}. Nothing was changed."
    return _problem(request, "InputError", 422, detail, {})


def _shown(name: object) -> str:
    """A name in a request, which anybody may have made up: short, and as a terminal shows it."""
    text = str(name)[:LONGEST_NAME]
    return "".join(letter if letter.isprintable() else "?" for letter in text)


async def _answer_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    detail = {
        404: "There is nothing at this address. /v1/openapi.json lists what there is.",
        405: "This address has no such method. /v1/openapi.json lists what there is.",
        400: "The request cannot be read: its body is no JSON in UTF-8, or a part of it is not of "
        "its form. /v1/openapi.json says what is needed. Nothing was changed.",
    }.get(error.status_code, str(error.detail))
    kind = "AbsentError" if error.status_code in (404, 405) else "InputError"
    return _problem(request, kind, error.status_code, detail, dict(error.headers or {}))


def _problem(
    request: Request, kind: str, status: int, detail: str, headers: dict[str, str]
) -> JSONResponse:
    words = re.sub(r"(?<!^)(?=[A-Z])", " ", kind.removesuffix("Error")).lower() + " error"
    content: dict[str, Any] = {
        "type": f"{TYPE}{kind}",
        "title": words,
        "status": status,
        "detail": detail,
        "request": _number(request),
    }
    return JSONResponse(content, status, headers=headers, media_type=MEDIA)


def _number(request: Request) -> str:
    return str(request.scope.get("ostraka.request", ""))
