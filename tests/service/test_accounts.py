"""What parties see of their accounts, and when."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import select

from ostraka.errors import InputError
from ostraka.exchange import Manifest
from ostraka.ledger import Budget
from ostraka.service import closing, polls
from ostraka.service.accounts import (
    accounts_of,
    left_of,
    price_of,
    shown_charges,
    with_accounts,
)
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from tests.service.made import ADMIN, a_poll, add_poll, arrive, filled, joined, rows, start, upload


def test_a_closed_poll_is_counted_at_once(service: Service) -> None:
    """What a party sees changes when the poll is closed, and not when a computation ends."""
    poll, _ = filled(service, ["a", "b"])
    before = left_of(service, "a")
    assert (before.left.to_dict()["epsilon"], before.n_releases) == (10, 0)
    closing.freeze(service, ADMIN, poll.digest)
    frozen = left_of(service, "a")
    assert (frozen.left.to_dict()["epsilon"], frozen.n_releases) == (9, 1)
    closing.finish(service, poll.digest)
    assert left_of(service, "a") == frozen
    assert left_of(service, "somebody else").n_releases == 0


def test_nobody_sees_when_it_was_charged(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """What admins and parties see is the same before the charge and after it, until the release is
    shown: else the time in between would tell how long a computation on private data took.
    """
    poll, _ = filled(service, ["a", "b"])
    closing.freeze(service, ADMIN, poll.digest)

    def seen() -> Any:
        with service.database.read() as connection:
            names = list(connection.execute(select(with_accounts().c.name)).scalars())
            accounts = accounts_of(service, connection, sorted(names))
        return accounts, shown_charges(service, 0), left_of(service, "a")

    before = seen()
    assert [each.n_releases for each in before[0]] == [1, 1]
    with monkeypatch.context() as patched:
        patched.setattr(closing, "_publish", lambda *_: None)
        closing.finish(service, poll.digest)
    assert len(service.ledger().history()) == 1, "charged"
    assert seen() == before
    closing.finish(service, poll.digest)
    accounts, charges, _ = seen()
    assert accounts == before[0]
    assert len(charges) == 1


def test_an_abandoned_poll_costs_nothing(service: Service) -> None:
    poll, _ = filled(service, ["a", "b"])
    closing.freeze(service, ADMIN, poll.digest)
    polls.abandon(service, ADMIN, poll.digest)
    assert left_of(service, "a").n_releases == 0


def test_of_persons(settings: Settings) -> None:
    """A service whose budgets are of persons; the list says how many there are."""
    service = start(replace(settings, protects="person"))
    poll = add_poll(service, a_poll("cells", protects="person", persons=20))
    for each in joined(service, "a", "b"):
        given = poll.contribute(*rows(), each.name, persons=range(12))
        arrive(service, (poll, each, upload(poll, each, given=given)))
    closing.freeze(service, ADMIN, poll.digest)
    listed = Manifest.from_bytes(closing.manifest(service, poll.digest, ADMIN))
    assert (listed.parties, listed.persons) == (2, 24)
    frozen = left_of(service, "a")
    closing.finish(service, poll.digest)
    assert left_of(service, "a") == frozen
    assert frozen.n_releases == 1
    service.database.close()


def test_a_service_of_parties_takes_no_poll_of_persons(service: Service) -> None:
    with pytest.raises(InputError, match="the ledger keeps accounts of whole parties"):
        add_poll(service, a_poll("cells", protects="person", persons=20))


def test_the_price_is_what_is_charged(service: Service) -> None:
    poll, _ = filled(service, ["a", "b"])
    price = price_of(service, poll)
    closing.freeze(service, ADMIN, poll.digest)
    closing.finish(service, poll.digest)
    assert price == service.ledger().spent("a")


def test_a_poll_that_this_ledger_cannot_count(service: Service) -> None:
    service.ledger().allow(["x"], Budget(epsilon=1.0, delta=1e-6))
    assert price_of(service, a_poll(epsilon=1.0)) is not None
