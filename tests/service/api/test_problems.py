"""Errors over HTTP: the library's own words, one form, and nothing that is nobody's business."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from ostraka.errors import (
    AbsentError,
    AccessError,
    BudgetError,
    DownloadError,
    FormatError,
    InputError,
    LedgerError,
    OtherPollError,
    ParameterError,
    PrecisionError,
    RateError,
    ServiceError,
    ShapeError,
    SignatureError,
    SizeError,
    StateError,
)
from ostraka.errors.codes import CODES, codes_of
from ostraka.ledger import Budget
from ostraka.service import polls
from ostraka.service.api import problems
from ostraka.service.service import Service
from ostraka.service.storage.database import Database
from tests.service.api.asking import DIGEST, Api, People, check_problem
from tests.service.made import a_poll, add_poll, filled, upload

both = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
TOLD = [
    (InputError("It is so.", "Do so."), 422),
    (ParameterError("x", got=1, allowed="2"), 422),
    (ShapeError("samples", got=(1,), allowed="(2,)"), 422),
    (OtherPollError("x", "a" * 64, "b" * 64), 422),
    (SignatureError("It was changed.", "Get it anew."), 422),
    (AbsentError("There is none.", "Look."), 404),
    (StateError("It is over.", "Wait."), 409),
    (SizeError("The form", got=10**7, most=10), 413),
    (RateError(7), 429),
    (AccessError("No.", "Ask.", known=True), 403),
    (AccessError("Who?", "Join."), 401),
    (FormatError("poll", "it is ünïcode — and \x1b[2J"), 400),
]
OWN = [
    (ServiceError("postgresql://secret@host/x", "cannot use its database", "Try again."), 503),
    (LedgerError("/secret/place", "is locked", "Try again."), 503),
    (PrecisionError(known=1.0, asked=2.0), 500),
    (DownloadError("secret", "secret", (), about="secret", variable="SECRET"), 500),
    (ZeroDivisionError("secret words"), 500),
    (FileNotFoundError(2, "secret words", "/secret/file"), 500),
    (ValueError("secret words"), 500),
    (KeyError("secret words"), 500),
    (MemoryError(), 500),
    (RecursionError("secret words"), 500),
]


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """From now on opening a poll, and listing them, ends so."""

    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(polls, "open_poll", fail)
    monkeypatch.setattr(polls, "listed", fail)


def name_of(error: Exception) -> str:
    return type(error).__name__


# ---- what is told --------------------------------------------------------------------------------


@pytest.mark.parametrize(("error", "status"), TOLD, ids=lambda each: type(each).__name__)
def test_a_refusal_in_the_words_of_the_library(
    api: Api, people: People, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    failing(monkeypatch, error)
    answer = api.post(f"/polls/{DIGEST}/open", people.admin)
    assert check_problem(answer, status, name_of(error)) == str(error)
    assert ("www-authenticate" in answer.headers) == (status == 401)
    assert answer.headers.get("retry-after") == ("7" if status == 429 else None)


@pytest.mark.parametrize(("error", "status"), OWN, ids=lambda each: type(each).__name__)
def test_a_fault_of_its_own_without_inner_words(
    api: Api, people: People, monkeypatch: pytest.MonkeyPatch, error: Exception, status: int
) -> None:
    failing(monkeypatch, error)
    answer = api.post(f"/polls/{DIGEST}/open", people.admin)
    kind = name_of(error) if status == 503 else "InternalError"
    told = check_problem(answer, status, kind)
    assert "secret" not in answer.text.lower()
    assert told == problems.UNFORESEEN or status == 503
    assert answer.headers.get("retry-after") == ("5" if status == 503 else None)


def test_a_file_of_its_own_that_is_damaged_is_its_own_fault(
    api: Api, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever only looks has sent no file."""
    failing(monkeypatch, FormatError("poll", "secret"))
    answer = api.get("/polls", people.party)
    assert "secret" not in check_problem(answer, 500, "InternalError")
    check_problem(api.post(f"/polls/{DIGEST}/open", people.admin), 400, "FormatError")


def test_every_kind_of_error_has_a_status() -> None:
    for kind, codes in CODES.items():
        assert 400 <= codes.status < 600
        assert issubclass(kind, Exception)
    for error, status in TOLD:
        codes_given = codes_of(error)
        assert codes_given is not None
        assert codes_given.status == status or status == 401


def test_what_nobody_has_a_code_for_is_unforeseen() -> None:
    for error in (KeyError("x"), ZeroDivisionError(), RuntimeError()):
        assert codes_of(error) is None


def test_titles_are_words(api: Api, people: People) -> None:
    titles = {
        api.get("/me").json()["title"],
        api.get("/nothing").json()["title"],
        api.get("/polls", people.party, params={"limit": 0}).json()["title"],
    }
    assert titles == {"access error", "absent error", "input error"}


def test_names_that_somebody_made_up_are_shown_safely(api: Api, people: People) -> None:
    form = {"\x1b[2J\u2028": 1, "x" * 5000: 2, **{f"name {n}": n for n in range(100)}}
    answer = api.post("/invitations", people.admin, json={"names": ["c"], **form})
    told = check_problem(answer, 422, "InputError")
    assert told.isprintable()
    assert len(told) < 1000
    assert told.endswith("Nothing was changed.")


def test_a_request_that_asked_for_too_much_spends_nothing(
    api: Api, people: People, service: Service
) -> None:
    service.ledger().allow(["x"], Budget(epsilon=0.5, delta=1e-6))
    poll, _ = filled(service, ["x", "y"])
    answer = api.post(f"/polls/{poll.digest}/close", people.admin)
    told = check_problem(answer, 409, BudgetError.__name__)
    assert "Nothing was drawn and nothing was spent." in told
    assert service.ledger().history() == []


# ---- a database that fails -----------------------------------------------------------------------


@both
@pytest.mark.parametrize("table", ["token", "poll", "contribution", "party"])
def test_a_database_that_fails(api: Api, people: People, service: Service, table: str) -> None:
    """At whatever step: people hear that they can try again, and nothing of its inside."""
    poll = add_poll(service)
    body, path = upload(poll, people.party).to_bytes(), f"/polls/{poll.digest}"
    with service.database.write() as connection:
        connection.execute(text(f"ALTER TABLE {table} RENAME TO gone"))
    asked = [
        api.put(f"{path}/contribution", people.party, content=body),
        api.get(f"{path}/contributions", people.admin),
    ]
    for answer in asked:
        told = check_problem(answer, 503, "ServiceError")
        assert told.startswith("The service cannot use its database.")
        assert "gone" not in answer.text
        assert answer.headers["retry-after"] == "5"
    with service.database.write() as connection:
        connection.execute(text(f"ALTER TABLE gone RENAME TO {table}"))
    assert api.put(f"{path}/contribution", people.party, content=body).status_code == 200


def test_a_database_that_is_not_there(
    api: Api, people: People, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    away = Database.in_file(tmp_path / "no" / "such.db")
    monkeypatch.setattr(api.app.state.service, "database", away)
    for answer in (
        api.get("/me", people.party),
        api.get("/service"),
        api.get("/health/ready"),
        api.post("/invitations", people.admin, json={"names": ["c"]}),
    ):
        check_problem(answer, 503, "ServiceError")
        assert str(tmp_path) not in answer.text
    assert api.get("/health/live").status_code == 200
    away.close()


def test_files_that_are_gone(api: Api, people: People, service: Service) -> None:
    poll = add_poll(service, a_poll(title="gone"))
    service._polls.clear()
    for path in (service.database.engine.url.database or "").split("\0"):
        for file in (Path(path).parent / "files").rglob("*"):
            if file.is_file() and poll.digest in str(file):
                file.unlink()
    answer = api.get(f"/polls/{poll.digest}/file", people.party)
    assert answer.status_code in (500, 503)
    assert "files" not in check_problem(
        answer, answer.status_code, answer.json()["type"].rpartition(":")[2]
    ).replace("use the place of its files", "")
    assert str(Path(path).parent) not in answer.text
