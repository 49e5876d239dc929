"""What admins have done: a line each, chained, so that a change shows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import text

from ostraka.errors import FormatError
from ostraka.service import audit
from ostraka.service.service import Service
from tests.service.made import ADMIN


def add(service: Service, *words: str) -> None:
    with service.database.write() as connection:
        for word in words:
            audit.note(connection, ADMIN, "did", word)


def check(service: Service) -> int:
    with service.database.read() as connection:
        return audit.check(connection)


def test_lines(service: Service) -> None:
    before = check(service)
    add(service, "one", "zwei – é")
    with service.database.read() as connection:
        lines = audit.read(connection, 0, 100)
        assert audit.read(connection, lines[-2].id, 100) == lines[-1:]
        assert audit.read(connection, 0, 1) == lines[:1]
        assert audit.last(connection) == lines[-1].at
    assert [(line.who, line.about) for line in lines[before:]] == [
        ("admin ann", "one"),
        ("admin ann", "zwei – é"),
    ]
    assert check(service) == before + 2


def test_several_at_once(service: Service) -> None:
    before = check(service)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: add(service, f"{n}", f"{n} again"), range(12)))
    assert check(service) == before + 24


def tamper(service: Service, statement: str) -> None:
    """As whoever owns the database could: past the triggers."""
    off = (
        ["DROP TRIGGER audit_update", "DROP TRIGGER audit_delete"]
        if service.database.is_sqlite
        else ["DROP TRIGGER audit_stays ON audit"]
    )
    with service.database.write() as connection:
        for each in (*off, statement):
            connection.execute(text(each))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE audit SET about = 'another' WHERE about = 'two'",
        "UPDATE audit SET who = 'admin eve' WHERE about = 'two'",
        "DELETE FROM audit WHERE about = 'two'",
        "UPDATE audit SET id = 100 WHERE about = 'two'",
    ],
)
def test_a_change_shows(service: Service, statement: str) -> None:
    add(service, "one", "two", "three")
    check(service)
    tamper(service, statement)
    with pytest.raises(FormatError, match="was changed, or one before it is missing"):
        check(service)
