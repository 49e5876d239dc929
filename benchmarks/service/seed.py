"""A service that knows many parties, made by the service's own code but for the joining, which is
not what is measured: rows and tokens go straight into the database.
"""

from __future__ import annotations

import time

from sqlalchemy import insert, select

from benchmarks.service.prepare import People
from ostraka.poll import Poll
from ostraka.service import access, polls, starting
from ostraka.service.access import DAY, Who
from ostraka.service.settings import Settings
from ostraka.service.storage import tables
from ostraka.signing import PublicKey

__all__ = ["ADMIN", "seed"]

ADMIN = Who(role="admin", name="ann")


def seed(settings: Settings, people: People, asked: list[Poll]) -> tuple[str, PublicKey]:
    """Make a service with these parties and open polls; an admin's token, and the service's key."""
    if settings.database is not None:
        starting.migrate_database(settings)
    service = starting.prepare(settings).service
    for poll in asked:
        polls.add(service, ADMIN, poll.to_bytes())
        polls.open_poll(service, ADMIN, poll.digest)
    known, party, expires = tables.token, tables.party, int(time.time()) + DAY
    with service.database.write() as connection:
        token = access.issue(
            connection, role="admin", name=ADMIN.name, party=None, key=service.key.public
        )
        rows = [
            {
                "name": name,
                "public_key": key.public.raw,
                "generation": 1,
                "joined": "2026-01-01",
            }
            for name, key in zip(people.names, people.keys)
        ]
        connection.execute(insert(party), rows)
        ids = {row.name: row.id for row in connection.execute(select(party.c.name, party.c.id))}
        tokens = [
            {
                "digest": access.digest_of(shown),
                "role": "party",
                "name": name,
                "party": ids[name],
                "expires": expires,
            }
            for name, shown in zip(people.names, people.tokens)
        ]
        connection.execute(insert(known), tokens)
    key = service.key.public
    service.database.close()
    return token, key
