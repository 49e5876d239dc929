"""Staff who come with a token of their own organisation: OpenID Connect, checked by PyJWT.

The service asks the issuer for its public keys and keeps them for a while: no longer, so that a key
that the issuer withdraws ends here, too. A token counts if the
issuer has signed it, for this service, and it is neither too old nor from the future; who it is for
is the verified address of mail in it, which must be on the list of admins or of readers. Parties do
not come this way: they have keys.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from typing import Any, Final, final

import jwt

from ostraka.errors import ServiceError
from ostraka.service.access import Role, Who
from ostraka.service.settings import Settings, is_safe_address

__all__ = ["Staff"]

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
DISCOVERY: Final = "/.well-known/openid-configuration"
LEEWAY: Final = 30
SECONDS: Final = 10
LARGEST: Final = 1_000_000
KEPT: Final = 600.0
"""Seconds for which the issuer's keys count without asking again."""
PAUSE: Final = 30.0
"""Seconds between two questions, whatever comes of the first, and however many tokens come."""
NO_TOKEN: Final = (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, RecursionError)
NO_ANSWER: Final = (OSError, http.client.HTTPException, KeyError, AttributeError, *NO_TOKEN)


@final
class Staff:
    """Whom an issuer vouches for, and what they may do here."""

    def __init__(self, issuer: str, audience: str, roles: dict[str, Role]) -> None:
        self._issuer, self._audience = issuer.rstrip("/"), audience
        self._roles = {_folded(address): role for address, role in roles.items()}
        self._keys = _Keys(self._issuer)

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
            named = jwt.get_unverified_header(token).get("kid")
        except NO_TOKEN:
            return None
        key = self._keys.find(named)
        if key is None:
            return None
        try:
            claims: dict[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(ALGORITHMS),
                audience=self._audience,
                issuer=[self._issuer, self._issuer + "/"],
                leeway=LEEWAY,
                options={"require": ["exp", "iat", "iss", "aud", "sub"]},
            )
        except NO_TOKEN:
            return None
        address = claims.get("email")
        if not isinstance(address, str) or claims.get("email_verified") is not True:
            return None
        role = self._roles.get(_folded(address))
        return None if role is None else Who(role=role, name=_folded(address), vouched=True)


@final
class _Keys:
    """The issuer's keys by name, asked for when they are needed."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._held: dict[str, jwt.PyJWK] = {}
        self._until = self._again = -float("inf")
        self._asking = threading.Lock()

    def find(self, named: str | None) -> jwt.PyJWK | None:
        """One of them; None if the issuer has no such key.

        One thread at a time asks the issuer, who may be slow; nobody waits for that one.
        """
        now = time.monotonic()
        wanted = now >= self._until or named not in self._held
        if wanted and now >= self._again and self._asking.acquire(blocking=False):
            try:
                if now >= self._again:  # nobody has asked meanwhile
                    self._again = now + PAUSE
                    self._held = self._ask()
                    self._until = now + KEPT
            finally:
                self._asking.release()
        if now >= self._until:
            raise self._unreachable()
        return None if named is None else self._held.get(named)

    def _ask(self) -> dict[str, jwt.PyJWK]:
        """It must be the issuer that we meant who answers."""
        try:
            told = _fetch(self._issuer + DISCOVERY)
            if str(told["issuer"]).rstrip("/") != self._issuer:
                raise ValueError("another issuer answers")
            keys = jwt.PyJWKSet.from_dict(_fetch(str(told["jwks_uri"]))).keys
            signing = (key for key in keys if key.public_key_use in (None, "sig"))
            return {key.key_id: key for key in signing if key.key_id}
        except NO_ANSWER as error:
            raise self._unreachable() from error

    def _unreachable(self) -> ServiceError:
        return ServiceError(
            self._issuer,
            "cannot ask the issuer of staff's tokens for its keys",
            "Try again in a minute, or come with a token of the service's own.",
        )


@final
class _NoDetours(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Wherever an answer points, nobody has vouched for that place."""


def _fetch(address: str) -> Any:
    if not is_safe_address(address):
        raise ValueError("an address that anybody could answer")
    try:
        with urllib.request.build_opener(_NoDetours).open(address, timeout=SECONDS) as answer:
            return json.loads(answer.read(LARGEST))
    except urllib.error.HTTPError as error:
        error.close()
        raise


def _folded(address: str) -> str:
    """Case does not matter; but no letter of another alphabet becomes one of ours."""
    return address.lower() if address.isascii() else address
