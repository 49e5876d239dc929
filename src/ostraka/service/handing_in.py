"""A contribution that reaches the coordinator as a file, from a party without network.

An admin's word stands for the party's signature, and the log says whose. What a party has sent
itself is not replaced so. The receipt opens the commitment: the admin gives it to the party, which
can then find its contribution on the list.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

from ostraka.errors import StateError
from ostraka.exchange import Receipt, commit
from ostraka.exchange.states import check_open
from ostraka.exchange.upload import SALT_BYTES
from ostraka.party.names import canonical
from ostraka.service import arrivals, audit, polls
from ostraka.service.access import Who
from ostraka.service.joining import find_party
from ostraka.service.service import Service
from ostraka.service.storage import contributions
from ostraka.service.storage.contributions import Row

__all__ = ["hand_in", "largest"]


def largest(service: Service, digest: str) -> int:
    """How many bytes a contribution's file can have."""
    return arrivals.largest(service.poll(digest))


def hand_in(service: Service, by: Who, digest: str, party: Any, content: bytes) -> Receipt:
    """Take in a file for a party, and give its receipt."""
    name = canonical(party)
    given = arrivals.read_contribution(service.empty_tally(digest), name, content, service.key)
    salt = secrets.token_bytes(SALT_BYTES)
    commitment = commit(salt, content)
    with service.write_as(by) as connection:
        found = polls.lock(connection, digest)
        check_open(found.state)
        service.check_may_take(connection)
        row = Row(
            poll=found.id,
            party=find_party(connection, name, make=True),
            generation=0,
            revision=0,
            commitment=commitment,
            persons=given.n_persons,
            salt=salt,
            signature=None,
            content=content,
        )
        if not contributions.put(connection, [row]):
            raise StateError(
                f"Party {name} has contributed itself.",
                "Its own contribution counts; it can change that until the poll is closed.",
            )
        audit.note(connection, by, "handed in a contribution", f"{digest} {name}")
    receipt = Receipt.sign(service.key, poll=digest, party=name, revision=0, commitment=commitment)
    return replace(receipt, salt=salt)
