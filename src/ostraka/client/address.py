"""Addresses of services and of polls in them, as people write them.

    a service    https://ostraka.example.org, perhaps with a path
    a poll       the service's, then /polls/ and the poll's digest
    a link       the service's, then /join# and a code

Plain http goes to this very machine only: anywhere else it would show tokens to whoever listens.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Final, final
from urllib.parse import urlsplit

from ostraka.errors import InputError, ParameterError
from ostraka.errors.words import one_line

__all__ = ["PollAddress", "is_address", "read_address", "read_link", "read_poll_address"]

_POLL: Final = re.compile(r"(?P<base>.*?)/polls/(?P<digest>[0-9a-f]{64})/?")
_HOST: Final = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?\.?")
_PATH: Final = re.compile(r"(/[!-~]*)?")
LONGEST_HOST: Final = 253
_LINK: Final = re.compile(r"(?P<base>.*?)/join/?#(?P<code>.+)")


@final
@dataclass(frozen=True, slots=True)
class PollAddress:
    """Where a poll is."""

    service: str
    digest: str

    def __str__(self) -> str:
        return f"{self.service}/polls/{self.digest}"


def is_address(text: str) -> bool:
    """Whether something is meant as an address, and not as a file."""
    return text.strip().lower().startswith(("http://", "https://"))


def read_address(text: str, *, plain: bool = False) -> str:
    """A service's address in one form; `plain`: http is good enough, whoever listens."""
    try:
        parts = urlsplit(text.strip())
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        allowed = "https://HOST, perhaps with a port from 1 to 65535"
        raise ParameterError("address", got=text, allowed=allowed) from None
    host = parts.hostname or ""
    named = _is_host(host) and "@" not in parts.netloc and port != ":0"
    named = named and text.strip().isprintable()  # `urlsplit` forgets tabs and line ends
    if parts.scheme not in ("http", "https") or not named:
        raise ParameterError("address", got=text, allowed="https://HOST, perhaps with a port")
    if "?" in text or "#" in text:
        raise ParameterError("address", got=text, allowed="an address without ? and #")
    if not _PATH.fullmatch(parts.path):
        allowed = "a path of plain letters; others are written with %"
        raise ParameterError("address", got=text, allowed=allowed)
    if parts.scheme == "http" and not plain and not _is_own(host):
        raise InputError(
            f"{one_line(text)} is not encrypted: whoever listens on the way could contribute in "
            "your name.",
            "Use https://; or, on a network that you trust, say --plain.",
        )
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{port}{_without_version(parts.path)}"


def read_poll_address(text: str, *, plain: bool = False) -> PollAddress:
    """A poll's address."""
    found = _POLL.fullmatch(text.strip())
    if found is None:
        allowed = "a poll's address: https://HOST/polls/ and 64 hexadecimal digits"
        raise ParameterError("address", got=text, allowed=allowed)
    return PollAddress(read_address(found["base"], plain=plain), found["digest"])


def read_link(text: str, *, plain: bool = False) -> tuple[str, str]:
    """The service and the code of a link."""
    found = _LINK.fullmatch(text.strip())
    if found is None and "#" not in text:
        allowed = "the code of your invitation: ostraka join ADDRESS CODE; or its whole link"
        raise ParameterError("CODE", got=None, allowed=allowed)
    if found is None:
        raise ParameterError(
            "address", got=text, allowed="a link with a code: https://HOST/join#..."
        )
    return read_address(found["base"], plain=plain), found["code"]


def _without_version(path: str) -> str:
    """Where the service is, of an address that was copied from one of its requests."""
    while path.endswith(("/", "/v1")):
        path = path.removesuffix("/v1").rstrip("/")
    return path


def _is_host(host: str) -> bool:
    """A name that a request can be sent to: with letters of other scripts as xn--..."""
    if ":" in host or host.strip("0123456789.") == "":
        return "%" not in host and _number(host) is not None
    return len(host) <= LONGEST_HOST and _HOST.fullmatch(host) is not None


def _is_own(host: str) -> bool:
    number = _number(host)
    return host == "localhost" if number is None else number.is_loopback


def _number(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
