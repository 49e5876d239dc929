"""Whether the service lives, and whether it can work."""

from __future__ import annotations

import pytest
from sqlalchemy import text, update

from ostraka.service.service import Service
from ostraka.service.storage import tables
from ostraka.service.storage.database import Database
from ostraka.signing import SecretKey
from tests.service.api.asking import Api, check_problem


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_a_service_that_works(api: Api) -> None:
    for path in ("/health/live", "/health/ready"):
        answer = api.get(path)
        assert answer.status_code == 200
        assert answer.text == path.rpartition("/")[2] + "\n"
        assert answer.headers["content-type"].startswith("text/plain")


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_without_its_database_it_lives_and_is_not_ready(api: Api, service: Service) -> None:
    with service.database.write() as connection:
        connection.execute(text("ALTER TABLE service RENAME TO gone"))
    assert api.get("/health/live").status_code == 200
    answer = api.get("/health/ready")
    told = check_problem(answer, 503, "ServiceError")
    assert told.startswith("The service cannot use its database.")
    assert answer.headers["retry-after"] == "5"
    place = service.database.place
    assert place not in answer.text, "nobody outside needs to know where it is"
    assert str(service.database.engine.url.database) not in answer.text


def test_with_an_old_key_it_is_not_ready(api: Api, service: Service) -> None:
    with service.database.write() as connection:
        other = SecretKey.create().public.raw
        connection.execute(update(tables.service).values(public_key=other))
    told = check_problem(api.get("/health/ready"), 503, "ServiceError")
    assert "another key" in told
    assert api.get("/health/live").status_code == 200


def test_it_is_asked_each_time(api: Api, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(_: Database) -> None:
        raise OSError("inner words")

    assert api.get("/health/ready").status_code == 200
    with monkeypatch.context() as patched:
        patched.setattr(Database, "read", away)
        assert "inner words" not in check_problem(api.get("/health/ready"), 500, "InternalError")
        assert api.get("/health/live").status_code == 200
    assert api.get("/health/ready").status_code == 200
