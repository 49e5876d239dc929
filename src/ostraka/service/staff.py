"""Staff who come with a token of their own organisation: OpenID Connect, checked by PyJWT.

The service asks the issuer for its public keys and keeps them for a while. A token counts if the
issuer has signed it, for this service, and it is neither too old nor from the future; who it is for
is the verified address of mail in it, which must be on the list of admins or of readers. Parties do
not come this way: they have keys.
"""

from __future__ import annotations

import json
import threading
import urllib.error
import urllib.request
from typing import Any, Final, final

import jwt

from ostraka.errors import ServiceError
from ostraka.service.access import Role, Who
from ostraka.service.settings import Settings

__all__ = ["Staff"]

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
DISCOVERY: Final = "/.well-known/openid-configuration"
LEEWAY: Final = 30
SECONDS: Final = 10
LARGEST: Final = 1_000_000


@final
class Staff:
    """Whom an issuer vouches for, and what they may do here."""

    def __init__(self, issuer: str, audience: str, roles: dict[str, Role]) -> None:
        self._issuer, self._audience = issuer.rstrip("/"), audience
        self._roles = {address.casefold(): role for address, role in roles.items()}
        self._keys: jwt.PyJWKClient | None = None
        self._lock = threading.Lock()

    @classmethod
    def of(cls, settings: Settings) -> Staff | None:
        """As the settings say; None if nobody comes this way."""
        if settings.issuer is None or settings.audience is None:
            return None
        roles: dict[str, Role] = dict.fromkeys(settings.readers, "reader")
        roles |= dict.fromkeys(settings.admins, "admin")
        return cls(settings.issuer, settings.audience, roles)

    def identify(self, token: str) -> Who | None:
        """Whose token it is; None if it does not count."""
        try:
            key = self._key_client().get_signing_key_from_jwt(token)
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self._audience,
                issuer=[self._issuer, self._issuer + "/"],
                leeway=LEEWAY,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except jwt.PyJWKClientConnectionError as error:
            raise self._unreachable() from error
        except jwt.PyJWTError:
            return None
        address = claims.get("email")
        if not isinstance(address, str) or claims.get("email_verified") is not True:
            return None
        role = self._roles.get(address.casefold())
        return None if role is None else Who(role=role, name=address.casefold(), vouched=True)

    def _key_client(self) -> jwt.PyJWKClient:
        with self._lock:
            if self._keys is None:
                self._keys = jwt.PyJWKClient(
                    self._discover(), cache_keys=True, lifespan=3600, timeout=SECONDS
                )
            return self._keys

    def _discover(self) -> str:
        """Where the issuer's keys are; it must be the issuer that we meant."""
        try:
            with urllib.request.urlopen(self._issuer + DISCOVERY, timeout=SECONDS) as answer:
                told = json.loads(answer.read(LARGEST))
            if str(told["issuer"]).rstrip("/") != self._issuer:
                raise ValueError("another issuer answers")
            return str(told["jwks_uri"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise self._unreachable() from error

    def _unreachable(self) -> ServiceError:
        return ServiceError(
            self._issuer,
            "cannot ask the issuer of staff's tokens for its keys",
            "Try again in a minute, or come with a token of the service's own.",
        )
