"""Two servers with keys that every test has."""

from __future__ import annotations

from ostraka.sealing import Card, Servers
from ostraka.signing import SecretKey

COORDINATOR = SecretKey.from_seed(bytes(range(32)))
TRUSTEE = SecretKey.from_seed(bytes(range(32, 64)))
SERVERS = Servers(
    coordinator=Card.of("St. Mary", COORDINATOR), trustee=Card.of("University", TRUSTEE)
)
