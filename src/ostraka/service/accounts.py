"""What parties see of the library's accounts, and what admins do with them.

A party's own account counts every poll that is closed and has its contribution, whether it has been
charged by now or not: so what it sees changes when the poll is closed, and not when a computation
on private data ends.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, exists, select

from ostraka.errors import InputError
from ostraka.ledger import Account, Amount, Cost
from ostraka.poll import Poll
from ostraka.service.service import Service
from ostraka.service.storage import tables

__all__ = ["left_of", "price_of"]


def left_of(service: Service, party: str) -> Account:
    """A party's account, as it will be when every closed poll is released."""
    account = service.ledger().account(party)
    with service.database.read() as connection:
        waiting = _uncharged(connection, party)
    spent = account.spent
    for digest, n_parties, persons in waiting:
        spent += _cost(service.poll(digest), n_parties, persons).amount(spent.kind)
    n_releases = account.n_releases + len(waiting)
    return Account(party=party, budget=account.budget, spent=spent, n_releases=n_releases)


def price_of(service: Service, poll: Poll) -> Amount | None:
    """What a poll costs whoever is in it; None if this ledger cannot count it."""
    n = poll.expected_units
    persons = n if poll.promise.protects == "person" else None
    try:
        return _cost(poll, n, persons).amount(service.ledger().budget.kind)
    except InputError:
        return None


def _cost(poll: Poll, n_parties: int, persons: int | None) -> Cost:
    return Cost.of(poll.certificate(n_parties, persons))


def _uncharged(connection: Connection, party: str) -> list[tuple[str, int, int | None]]:
    """Closed polls with a contribution of the party, for which nobody has paid yet."""
    from ostraka.exchange import Manifest

    poll, kept, known, listed = tables.poll, tables.contribution, tables.party, tables.manifest
    of_party: Any = exists().where(
        kept.c.poll == poll.c.id, kept.c.party == known.c.id, known.c.name == party
    )
    query = (
        select(poll.c.digest, listed.c.content)
        .join(listed, listed.c.poll == poll.c.id)
        .where(poll.c.state == "closed", poll.c.charge.is_(None), of_party)
    )
    found = []
    for digest, content in connection.execute(query):
        manifest = Manifest.from_bytes(bytes(content))
        found.append((digest, manifest.parties, manifest.persons))
    return found
