"""How one service is set up; what is not named has a default that works on one machine."""

from __future__ import annotations

import ipaddress
import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Self, final
from urllib.parse import urlsplit

from ostraka.errors import ParameterError, printable
from ostraka.sealing.card import LONGEST_NAME

__all__ = ["Settings", "is_safe_address"]

VARIABLE: Final = "OSTRAKA_SERVICE"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `ostraka serve` was told, handed to its worker processes in one variable."""

    data: str = "ostraka-data"
    """The folder for whatever is not elsewhere; only its owner may look into it."""
    database: str | None = None
    files: str | None = None
    key: str | None = None
    epsilon: float | None = None
    delta: float | None = None
    protects: str | None = None
    """Of whom the first start's budget is: a whole party, or a person."""
    name: str = "coordinator"
    """How the service is called on its card, for polls with a trustee."""
    rate: float = 50.0
    """Requests a second that one token may make for long."""
    grid: float = 5.0
    """A release is shown a multiple of so many seconds after its poll was closed."""
    issuer: str | None = None
    audience: str | None = None
    admins: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.admins or self.readers) and self.issuer is None:
            allowed = "the address of whoever vouches for these people"
            raise ParameterError("oidc_issuer", got=None, allowed=allowed)
        if self.issuer is not None and self.audience is None:
            allowed = "the name of this service at the issuer"
            raise ParameterError("oidc_audience", got=None, allowed=allowed)
        if self.issuer is not None and not is_safe_address(self.issuer):
            allowed = "https://HOST, perhaps with a path; http:// on this very machine alone"
            raise ParameterError("oidc_issuer", got=self.issuer, allowed=allowed)
        if not printable("name", self.name, LONGEST_NAME):
            raise ParameterError("name", got="", allowed="how people call this service")
        if not 0.0 < self.rate < math.inf:
            raise ParameterError("rate", got=self.rate, allowed="more than 0")
        if not 0.0 <= self.grid < math.inf:
            raise ParameterError("grid", got=self.grid, allowed="0 or more")

    @property
    def folder(self) -> Path:
        """The data folder."""
        return Path(self.data)

    @property
    def database_url(self) -> str:
        """Where the database is."""
        return self.database or f"sqlite:///{self.folder.absolute() / 'service.db'}"

    @property
    def files_url(self) -> str:
        """Where large files are."""
        return self.files or str(self.folder.absolute() / "files")

    @property
    def key_path(self) -> Path:
        """Where the service's secret key is."""
        return Path(self.key) if self.key else self.folder / "service.key"

    def export(self) -> None:
        """For processes that this one starts."""
        os.environ[VARIABLE] = json.dumps(asdict(self))

    @classmethod
    def imported(cls) -> Self:
        """What the process that started this one has exported."""
        held = json.loads(os.environ[VARIABLE])
        lists = {name: tuple(held[name]) for name in ("admins", "readers")}
        return cls(**{**held, **lists})


def is_safe_address(text: str) -> bool:
    """Whether what this address answers is from whom it says: over TLS, or from this machine."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port
        if not host or "@" in parts.netloc or parts.query or parts.fragment:
            return False
        if parts.scheme == "https":
            return True
        own = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
    return parts.scheme == "http" and own
