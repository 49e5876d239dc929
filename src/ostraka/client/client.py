"""A service's requests, one method each.

Guarantee: whatever the answer is, it is a value of the form that is expected, or an error of ours.
Errors of the service are raised as the library would raise them here, with the same words; what is
no answer of a service of ours is a `ServiceError`. Every request can be repeated, so one that got
no answer, or "later", is: for `patience` seconds.
"""

from __future__ import annotations

import json
import logging
import random
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Self, TypeVar, final

import httpx

from ostraka.client.shapes import (
    Account,
    Charged,
    Contributor,
    Identity,
    Invited,
    Joined,
    Me,
    Party,
    PollState,
    Terms,
    read_invited,
    read_line,
    read_next,
)
from ostraka.errors import InputError, OstrakaError, ParameterError, ServiceError
from ostraka.errors.codes import revive
from ostraka.errors.words import one_line
from ostraka.exchange import JoinCode, Manifest, Receipt
from ostraka.signing import PublicKey, SecretKey, Signature
from ostraka.signing.statement import statement
from ostraka.tensors import LARGEST_FILE

__all__ = ["Client"]

LOG: Final = logging.getLogger("ostraka.client")
"""Where nobody listens, warnings are shown on standard error."""
Value = TypeVar("Value")
PROBLEM: Final = "application/problem+json"
TYPE: Final = "urn:ostraka:error:"
LATER: Final = (429, 502, 503, 504)
OWN_FAULTS: Final = ("ServiceError", "InternalError", "DownloadError")
"""Kinds of errors that a service has itself, and nobody here."""
LARGEST_ANSWER: Final = LARGEST_FILE
MOST_PAGES: Final = 10_000
LARGEST_PROBLEM: Final = 1_000_000
LONGEST_TEXT: Final = 1900
FIRST_PAUSE: Final = 0.25
LONGEST_PAUSE: Final = 8.0
NO_TLS: Final = (
    "WRONG_VERSION_NUMBER",
    "RECORD_LAYER_FAILURE",
    "UNSUPPORTED_PROTOCOL",
    "PROTOCOL_VERSION",
    "HANDSHAKE_FAILURE",
)
"""What no other try would change."""
NOTHING_SENT: Final = "Nothing was sent."
NOT_OURS: Final = "Compare the address with the one that the coordinator gave you."


@final
class Client:
    """Requests to one service; `token` is what shows who asks."""

    def __init__(
        self,
        address: str,
        token: str | None = None,
        *,
        ca: str | None = None,
        patience: float = 20.0,
        timeout: float = 30.0,
    ) -> None:
        self.address, self._patience = address, patience
        headers = {} if token is None else {"Authorization": f"Bearer {_plain(token)}"}
        try:
            self._http = httpx.Client(
                base_url=f"{address}/v1/",
                headers=headers,
                verify=True if ca is None else _trusting(ca),
                timeout=timeout,
            )
        except httpx.InvalidURL:
            allowed = "https://HOST, perhaps with a port"
            raise ParameterError("address", got=address, allowed=allowed) from None

    def close(self) -> None:
        """Leave nothing open."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- who ------------------------------------------------------------------------------------

    def identity(self) -> Identity:
        """The service's public key, by its own word, and those before it."""
        return self._value("GET", "service", Identity.read)

    def join(self, code: JoinCode, key: SecretKey, service: PublicKey) -> Joined:
        """Join with a code and a key of one's own; the answer is signed by the service."""
        asked = code.request(key, service)
        given = {
            "code": str(asked.code),
            "key": str(asked.key),
            "by_code": asked.by_code.hex(),
            "by_key": asked.by_key.hex(),
        }
        joined = self._value("POST", "joins", Joined.read, json=given)
        joined.check(service, key.public)
        return joined

    def renew(self, service: PublicKey, old: SecretKey, new: SecretKey) -> Joined:
        """Another key and another token; the old ones end."""
        message = statement("renewal 1", service.raw, new.public.raw)
        given = {
            "key": str(new.public),
            "by_old": old.sign(message).hex(),
            "by_new": new.sign(message).hex(),
        }
        joined = self._value("POST", "me/key", Joined.read, json=given)
        joined.check(service, new.public)
        return joined

    def me(self) -> Me:
        """Who one is there, and one's own account."""
        return self._value("GET", "me", Me.read)

    def invite(
        self, names: list[str], *, role: str = "party", days: int = 30, again: bool = False
    ) -> list[tuple[str, JoinCode]]:
        """Codes with which people can join."""
        given = {"names": names, "role": role, "days": days, "again": again}
        return self._value(
            "POST",
            "invitations",
            lambda held: [read_invited(one) for one in held["items"]],
            json=given,
        )

    def invited(self, role: str = "party") -> Iterator[Invited]:
        """Who has a code and has not joined with it yet, by name."""
        return self._pages("invitations", Invited.read, role=role)

    def revoke(self, name: str, role: str = "party") -> None:
        """Let somebody do nothing more there."""
        self._request("POST", "revocations", json={"name": name, "role": role})

    def parties(self, search: str = "") -> Iterator[Party]:
        """Who is known there, by name."""
        return self._pages("parties", Party.read, search=search)

    # ---- polls ----------------------------------------------------------------------------------

    def polls(self, state: str | None = None) -> Iterator[PollState]:
        """Polls that one may see, newest first."""
        given = {} if state is None else {"state": state}
        return self._pages("polls", PollState.read, **given)

    def add_poll(self, digest: str, content: bytes) -> PollState:
        """Upload a poll, as a draft."""
        return self._value("PUT", f"polls/{digest}", PollState.read, content=content)

    def poll(self, digest: str) -> PollState:
        """One poll's state."""
        return self._value("GET", f"polls/{digest}", PollState.read)

    def poll_file(self, digest: str) -> bytes:
        """A poll's file."""
        return self._request("GET", f"polls/{digest}/file")

    def poll_signature(self, digest: str) -> Signature:
        """The service's signature of an open poll."""
        return Signature.from_bytes(self._request("GET", f"polls/{digest}/signature"))

    def open_poll(self, digest: str) -> PollState:
        """Let parties contribute."""
        return self._value("POST", f"polls/{digest}/open", PollState.read)

    def close_poll(self, digest: str, leave_out: list[str]) -> PollState:
        """Close it, and begin to make its release."""
        given = {"leave_out": leave_out}
        return self._value("POST", f"polls/{digest}/close", PollState.read, json=given)

    def abandon_poll(self, digest: str) -> PollState:
        """End it without a release."""
        return self._value("POST", f"polls/{digest}/abandon", PollState.read)

    def manifest(self, digest: str) -> Manifest:
        """The signed list of what is counted."""
        return Manifest.from_bytes(self._request("GET", f"polls/{digest}/manifest"))

    def release(self, digest: str) -> tuple[bytes, Signature]:
        """The release's file and its signature."""
        content = self._request("GET", f"polls/{digest}/release")
        signature = self._request("GET", f"polls/{digest}/release/signature")
        return content, Signature.from_bytes(signature)

    def request(self, digest: str) -> bytes:
        """What the trustee of a sealed poll is asked."""
        return self._request("GET", f"polls/{digest}/request")

    def answer(self, digest: str, content: bytes) -> PollState:
        """Hand in what the trustee has answered."""
        return self._value("PUT", f"polls/{digest}/answer", PollState.read, content=content)

    def contribute(self, digest: str, upload: bytes) -> Receipt:
        """Send a contribution, signed and salted."""
        path = f"polls/{digest}/contribution"
        return Receipt.from_bytes(self._request("PUT", path, content=upload))

    def contributors(self, digest: str) -> Iterator[Contributor]:
        """Who has contributed."""
        return self._pages(f"polls/{digest}/contributions", Contributor.read)

    def hand_in(self, digest: str, party: str, contribution: bytes) -> Receipt:
        """Hand in a file for a party that has no network."""
        from urllib.parse import quote

        name = quote(party, safe="").replace(".", "%2E")  # a name of dots is no way up
        path = f"polls/{digest}/contributions/{name}"
        return Receipt.from_bytes(self._request("PUT", path, content=contribution))

    # ---- accounts -------------------------------------------------------------------------------

    def terms(self) -> Terms:
        """What everybody may lose who has no other budget."""
        return self._value("GET", "budget", Terms.read)

    def charges(self) -> Iterator[Charged]:
        """Every charge, oldest first."""
        return self._pages("charges", Charged.read)

    def accounts(self, search: str = "") -> Iterator[Account]:
        """Who has spent what, by name."""
        return self._pages("accounts", Account.read, search=search)

    def allow(self, names: list[str], **budget: float | None) -> None:
        """Give some parties another budget."""
        self._request("POST", "allowances", json={"names": names, **budget})

    def audit(self) -> Iterator[dict[str, Any]]:
        """What admins have done, oldest first."""
        return self._pages("audit", read_line)

    # ---- how ------------------------------------------------------------------------------------

    def _value(self, method: str, path: str, read: Callable[[Any], Value], **given: Any) -> Value:
        content = self._request(method, path, **given)
        with self._expecting():
            return read(json.loads(content))

    def _pages(self, path: str, read: Callable[[Any], Value], **given: str) -> Iterator[Value]:
        asked = {name: text for name, text in given.items() if text}
        for _ in range(MOST_PAGES):
            content = self._request("GET", path, params={**asked, "limit": "1000"})
            with self._expecting():
                held = json.loads(content)
                items, following = [read(one) for one in held["items"]], read_next(held["next"])
            yield from items
            if following is None:
                return
            if following == asked.get("after"):  # and so for ever
                raise self._foreign()
            asked["after"] = following
        raise self._foreign()

    @contextmanager
    def _expecting(self) -> Iterator[None]:
        try:
            yield
        except (
            ValueError,
            TypeError,
            LookupError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ):
            raise self._foreign() from None

    def _request(self, method: str, path: str, **given: Any) -> bytes:
        deadline, pause = time.monotonic() + self._patience, FIRST_PAUSE
        while True:
            error, after = self._attempt(method, path, given)
            if isinstance(error, bytes):
                return error
            wait = max(after or 0.0, pause * random.uniform(0.5, 1.0))
            if after is None or time.monotonic() + wait > deadline:
                raise error
            if pause == FIRST_PAUSE:
                LOG.warning("%s: no answer yet; trying again for a while.", self.address)
            time.sleep(wait)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _attempt(
        self, method: str, path: str, given: dict[str, Any]
    ) -> tuple[bytes | OstrakaError, float | None]:
        """The answer, or an error and after how many seconds it may be tried again."""
        try:
            with self._http.stream(method, path, **given) as answer:
                content = self._read(answer)
        except httpx.TransportError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                return self._untrusted(str(error)), None
            if any(sign in str(error) for sign in NO_TLS):
                return self._without_tls(), None
            if _is_unknown_host(error):
                problem = "cannot be found: nobody knows a host of this name"
                return ServiceError(self.address, problem, f"{NOT_OURS} {NOTHING_SENT}"), None
            problem = f"does not answer ({_say(error)})"
            remedy = "Check the address and your network, then run the same command again."
            return ServiceError(self.address, problem, remedy), 0.0
        except (httpx.InvalidURL, httpx.DecodingError):
            return self._foreign(), None
        if answer.is_success:
            return content, None
        later = _seconds(answer) if answer.status_code in LATER else None
        return self._told(answer, content), later

    def _read(self, answer: httpx.Response) -> bytes:
        read, most = bytearray(), LARGEST_ANSWER if answer.is_success else LARGEST_PROBLEM
        for chunk in answer.iter_bytes():
            read += chunk
            if len(read) > most:
                raise self._foreign()
        return bytes(read)

    def _told(self, answer: httpx.Response, content: bytes) -> OstrakaError:
        """The error that a service tells of; or that this is no service of ours."""
        kind = answer.headers.get("content-type", "").partition(";")[0]
        try:
            held = json.loads(content) if kind == PROBLEM else {}
            name, text = str(held["type"]).removeprefix(TYPE), str(held["detail"])
        except (ValueError, KeyError, TypeError, RecursionError):
            if answer.status_code in LATER:
                problem = f"is not there (a server on the way answers {answer.status_code})"
                return ServiceError(self.address, problem, "Try again in a minute.")
            return self._foreign()
        shown = "".join(letter if letter.isprintable() else " " for letter in text[:LONGEST_TEXT])
        if name in OWN_FAULTS:
            passing = answer.status_code in LATER
            problem = "cannot answer now" if passing else "has a fault of its own"
            return ServiceError(self.address, problem, shown)
        return revive(name, shown)

    def _untrusted(self, told: str) -> ServiceError:
        reason = one_line(told.rpartition("verify failed: ")[2].partition(" (_ssl")[0])
        return ServiceError(
            self.address,
            f"shows a certificate that is not trusted here ({reason})",
            "Nothing was sent. If it is of an authority of your own, name that: ostraka join ... "
            "--ca FILE. If not, somebody may stand between you and the service.",
        )

    def _without_tls(self) -> ServiceError:
        return ServiceError(
            self.address,
            "does not speak TLS, or not one that is spoken here",
            f"{NOT_OURS} A service without a certificate, on this machine, has an address that "
            f"begins with http://. {NOTHING_SENT}",
        )

    def _foreign(self) -> ServiceError:
        return ServiceError(self.address, "does not answer as one of ours", NOT_OURS)


def _is_unknown_host(error: BaseException) -> bool:
    """Whether its name is in no list of names. (That none could be asked may pass.)"""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, socket.gaierror):
            return cause.errno == socket.EAI_NONAME
        cause = cause.__cause__ or cause.__context__
    return False


def _seconds(answer: httpx.Response) -> float:
    told = answer.headers.get("retry-after", "")
    return min(float(told), 60.0) if told.isascii() and told.isdigit() else 0.0


def _say(error: httpx.TransportError) -> str:
    return one_line(str(error)) or type(error).__name__


def _plain(token: str) -> str:
    """A token that can stand in a header; what is wrong with it is said without showing it."""
    written = token.strip()
    if not (written.isascii() and written.isprintable() and " " not in written):
        raise InputError(
            "The token has characters that no token has.",
            "Copy it once more, whole and in one line.",
        )
    return written


def _trusting(ca: str) -> Any:
    import ssl

    return ssl.create_default_context(cafile=ca)
