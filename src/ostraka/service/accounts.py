"""What people see of the library's accounts.

An account counts every poll that is closed and has the party's contribution, whether it has been
charged by now or not: so what anybody sees, admins included, changes when the poll is closed and
when its release is shown, and not when a computation on private data ends.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, select, union

from ostraka.errors import InputError
from ostraka.exchange import Manifest
from ostraka.ledger import Account, Amount, Charge, Cost
from ostraka.poll import Poll
from ostraka.service.service import Service
from ostraka.service.storage import tables
from ostraka.service.storage.ledger import rows_of

__all__ = ["accounts_of", "left_of", "price_of", "shown_charges", "with_accounts"]


def left_of(service: Service, party: str) -> Account:
    """A party's account, as it will be when every closed poll is released."""
    with service.database.read() as connection:
        return accounts_of(service, connection, [party])[0]


def accounts_of(service: Service, connection: Connection, names: Sequence[str]) -> list[Account]:
    """The same of many; all as of one moment."""
    waiting = _uncharged(connection, names)
    accounts = []
    for account in rows_of(connection).accounts(names):
        spent, mine = account.spent, waiting[account.party]
        for digest, n_parties, persons in mine:
            spent += _cost(service.poll(digest), n_parties, persons).amount(spent.kind)
        accounts.append(
            Account(
                party=account.party,
                budget=account.budget,
                spent=spent,
                n_releases=account.n_releases + len(mine),
            )
        )
    return accounts


def with_accounts() -> Any:
    """Those who took part in something, or have a budget of their own, as a table of names."""
    poll, kept, party, known = (
        tables.poll,
        tables.contribution,
        tables.party,
        tables.ledger_party,
    )
    closing = (
        select(party.c.name)
        .join(kept, kept.c.party == party.c.id)
        .join(poll, poll.c.id == kept.c.poll)
        .where(poll.c.state == "closed")
    )
    return union(select(known.c.name), closing).subquery()


def shown_charges(service: Service, after: int) -> list[Charge]:
    """Charges after this one, oldest first; those of polls that are not released yet are hidden."""
    history = service.ledger().history()
    poll = tables.poll
    with service.database.read() as connection:
        query = select(poll.c.charge).where(poll.c.state == "closed", poll.c.charge.is_not(None))
        hidden = set(connection.execute(query).scalars())
    return [each for each in history if each.id > after and each.id not in hidden]


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


def _uncharged(
    connection: Connection, names: Sequence[str]
) -> dict[str, list[tuple[str, int, int | None]]]:
    """By party: closed polls with its contribution, for which nobody has paid yet."""
    poll, kept, party, listed = tables.poll, tables.contribution, tables.party, tables.manifest
    closed = select(poll.c.id, poll.c.digest, listed.c.content).join(
        listed, listed.c.poll == poll.c.id
    )
    found: dict[str, list[tuple[str, int, int | None]]] = defaultdict(list)
    for id_, digest, content in connection.execute(
        closed.where(poll.c.state == "closed", poll.c.charge.is_(None))
    ).all():
        manifest = Manifest.from_bytes(bytes(content))
        members = select(party.c.name).join(kept, kept.c.party == party.c.id)
        members = members.where(kept.c.poll == id_, party.c.name.in_(names))
        for name in connection.execute(members).scalars():
            found[name].append((digest, manifest.parties, manifest.persons))
    return found
