"""Who may do what: tokens that are kept as digests, and roles."""

from __future__ import annotations

import time

import pytest
from sqlalchemy import select, update

from ostraka.errors import AccessError
from ostraka.service import access
from ostraka.service.access import Who, digest_of, find, issue, withdraw
from ostraka.service.service import Service
from ostraka.service.storage import tables
from ostraka.signing import SecretKey
from tests.service.made import joined, who_is

KEY = SecretKey.create().public


def found(service: Service, *tokens: str) -> list[Who | None]:
    digests = [digest_of(token) for token in tokens]
    with service.database.read() as connection:
        known = find(connection, digests)
    return [known.get(digest) for digest in digests]


def test_a_token_is_found_until_it_is_withdrawn(service: Service) -> None:
    with service.database.write() as connection:
        token = issue(connection, role="admin", name="ann", party=None, key=KEY)
    assert token.startswith(access.PREFIX)
    assert len(token) > 40
    assert found(service, token, token + "x", "", "é" * 300) == [
        Who(role="admin", name="ann", key=KEY),
        None,
        None,
        None,
    ]
    with service.database.write() as connection:
        withdraw(connection, role="reader", name="ann")
        withdraw(connection, role="admin", name="ben")
    assert found(service, token)[0] is not None
    with service.database.write() as connection:
        withdraw(connection, role="admin", name="ann")
    assert found(service, token) == [None]


def test_a_new_one_ends_the_old_one_at_once_or_soon(service: Service) -> None:
    with service.database.write() as connection:
        first = issue(connection, role="admin", name="ann", party=None, key=KEY)
        second = issue(connection, role="admin", name="ann", party=None, key=KEY, grace=600)
        assert {None} != set(found_in(connection, first, second))
    assert None not in found(service, first, second)
    with service.database.write() as connection:
        until = connection.execute(
            select(tables.token.c.expires).where(tables.token.c.digest == digest_of(first))
        ).scalar_one()
        third = issue(connection, role="admin", name="ann", party=None, key=KEY)
    assert until <= time.time() + 600
    assert [each is None for each in found(service, first, second, third)] == [True, True, False]


def found_in(connection: object, *tokens: str) -> list[Who | None]:
    digests = [digest_of(token) for token in tokens]
    known = find(connection, digests)  # type: ignore[arg-type]
    return [known.get(digest) for digest in digests]


def test_an_old_token_lets_nobody_in(service: Service) -> None:
    with service.database.write() as connection:
        token = issue(connection, role="admin", name="ann", party=None, key=KEY)
        connection.execute(update(tables.token).values(expires=int(time.time()) - 1))
    assert found(service, token) == [None]


def test_no_token_is_kept(service: Service) -> None:
    (member,) = joined(service, "a")
    with service.database.read() as connection:
        for table in tables.METADATA.sorted_tables:
            for row in connection.execute(select(table)):
                assert member.token not in str(row)
                assert member.token[len(access.PREFIX) :] not in str(row)


def test_roles(service: Service) -> None:
    (member,) = joined(service, "a")
    who = who_is(service, member)
    assert str(who) == "party a"
    who.check("party")
    who.check("admin", "party")
    with pytest.raises(AccessError, match="for admin and reader alone, and you are here as party"):
        who.check("admin", "reader")
    assert who.key == member.key.public
