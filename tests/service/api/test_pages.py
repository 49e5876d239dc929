"""Long lists: every item once, in order, however many at a time; those with certain letters."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import httpx
import pytest

from ostraka.client import Client
from ostraka.service import closing, handing_in
from ostraka.service.api import pages
from ostraka.service.api.app import create
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from ostraka.service.storage import tables
from tests.client.served import serve
from tests.service.made import (
    ADMIN,
    a_poll,
    add_poll,
    arrive,
    contribution,
    filled,
    joined,
    upload,
)

pytestmark = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
NAMES = ["10", "9", "a", "a b", "a-b", "a_b", "ab", "b", "ward 3", "z", "é", "ß", "ж", "日本"]
NAMES += ["50%", "100%", "_", "%", "x\\y"]
AT_A_TIME = 5


@pytest.fixture
def admin(service: Service, settings: Settings) -> Iterator[Client]:
    """An admin's client, which asks for a few at a time."""
    (member,) = joined(service, "ann", role="admin")

    def few(request: httpx.Request) -> None:
        if "limit" in request.url.params:
            request.url = request.url.copy_set_param("limit", str(AT_A_TIME))

    with serve(create(service, settings)) as address, Client(address, member.token) as made:
        made._http.event_hooks["request"].append(few)
        yield made


def all_once(found: Iterable[str], expected: Iterable[str]) -> None:
    listed = list(found)
    assert len(listed) == len(set(listed))
    assert set(listed) == set(expected)


def searches(listed: Callable[[str], Iterable[str]], names: Iterable[str]) -> None:
    """Whatever is looked for, those that have it are found, and no others."""
    for search in ("A", "a b", " ward  ", "%", "_", "\\", "É", "日", "nobody"):
        letters = pages.canonical(search)
        all_once(listed(search), [name for name in names if letters in name])


def test_parties(admin: Client, service: Service) -> None:
    names = [each.name for each in joined(service, *NAMES)]
    found = [one.name for one in admin.parties()]
    all_once(found, names)
    assert found == [one.name for one in admin.parties()]
    searches(lambda search: (one.name for one in admin.parties(search)), names)


def test_accounts(admin: Client, service: Service) -> None:
    admin.allow(NAMES, epsilon=2.0, delta=1e-6)
    names = [pages.canonical(name) for name in NAMES]
    all_once((one.party for one in admin.accounts()), names)
    assert {one.budget["epsilon"] for one in admin.accounts()} == {2.0}
    searches(lambda search: (one.party for one in admin.accounts(search)), names)


def test_contributors(admin: Client, service: Service) -> None:
    poll, other = add_poll(service), add_poll(service, a_poll(title="other"))
    for name in NAMES:
        content = contribution(poll, name).to_bytes()
        handing_in.hand_in(service, ADMIN, poll.digest, name, content)
    (member,) = joined(service, "own")
    arrive(service, (poll, member, upload(poll, member)), (other, member, upload(other, member)))
    names = [pages.canonical(name) for name in NAMES]
    found = list(admin.contributors(poll.digest))
    all_once((one.party for one in found), [*names, "own"])
    assert [one.party for one in found if not one.handed_in] == ["own"]
    assert [one.party for one in admin.contributors(other.digest)] == ["own"]


@pytest.mark.parametrize("n", [0, 1, AT_A_TIME, 2 * AT_A_TIME, 2 * AT_A_TIME + 1])
def test_polls_newest_first(admin: Client, service: Service, n: int) -> None:
    made = [add_poll(service, a_poll(title=str(i)), opened=i % 2 == 0) for i in range(n)]
    digests = [each.digest for each in made]
    assert [one.digest for one in admin.polls()] == digests[::-1]
    assert [one.digest for one in admin.polls("open")] == digests[::2][::-1]
    assert list(admin.polls("released")) == []


def test_charges_oldest_first(admin: Client, service: Service) -> None:
    poll, _ = filled(service, ["x", "y"], a_poll(epsilon=0.125))
    closing.freeze(service, ADMIN, poll.digest)
    closing.finish(service, poll.digest)
    with service.database.write() as connection:
        row = {"day": "2026-01-01", "gaussian": False, "note": "x", "n_parties": 2}
        for number in range(11):
            row |= {"epsilon": "1/8", "delta": "0/1", "note": f"number {number}"}
            connection.execute(tables.charge.insert().values(**row))
    found = list(admin.charges())
    assert len(found) == 12
    assert [one.id for one in found] == sorted({one.id for one in found})
    assert [one.note for one in found[1:]] == [f"number {number}" for number in range(11)]


def test_the_log_oldest_first(admin: Client, service: Service) -> None:
    for number in range(8):
        add_poll(service, a_poll(title=f"number {number}"), opened=False)
    found: list[dict[str, Any]] = list(admin.audit())
    assert [line["id"] for line in found] == sorted({line["id"] for line in found})
    titles = [line["about"].split(" ", 1)[1] for line in found if "drafted" in line["what"]]
    assert titles == [f"number {number}" for number in range(8)]


def test_names_that_none_can_be(admin: Client, service: Service) -> None:
    for path in ("parties", "accounts"):
        for params in ({"after": "\0"}, {"search": "\x1b"}, {"search": "a" * 501}):
            answer = admin._http.get(path, params=params)
            assert answer.status_code == 422, answer.text
