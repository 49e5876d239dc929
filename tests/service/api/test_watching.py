"""Logs and metrics: what operators need, and nothing of anybody's."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from ostraka.service import polls
from ostraka.service.api import watching
from ostraka.service.api.watching import Metrics, log_settings
from ostraka.service.service import Service
from tests.service.api.asking import DIGEST, Api, People, check_problem
from tests.service.made import a_poll, add_poll, contribution, upload


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """What a service writes, as it is set up to."""
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(log_settings()["formatters"]["json"]["()"]())
    logger = logging.getLogger("ostraka.service")
    before = logger.level
    logger.addHandler(handler)
    logger.setLevel("INFO")
    yield written
    logger.removeHandler(handler)
    logger.setLevel(before)


def lines(log: io.StringIO) -> list[dict[str, Any]]:
    assert log.getvalue().isascii()
    return [json.loads(line) for line in log.getvalue().splitlines()]


def values(api: Api, people: People) -> dict[str, float]:
    text = api.get("/metrics", people.admin).text
    return {
        name: float(value)
        for name, _, value in (line.rpartition(" ") for line in text.splitlines())
        if name and not name.startswith("#")
    }


# ---- lines ---------------------------------------------------------------------------------------


def test_one_line_for_each_request(api: Api, people: People, log: io.StringIO) -> None:
    answers = [
        api.get("/me", people.party),
        api.get("/me"),
        api.get("/nothing"),
        api.ask("BREW", "/service"),
        api.post("/invitations", people.admin, json={}),
    ]
    told = lines(log)
    assert [line["request"] for line in told] == [a.headers["x-request-id"] for a in answers]
    assert [line["status"] for line in told] == [200, 401, 404, 405, 422]
    assert [line.get("who") for line in told] == ["party a", None, None, None, "admin ann"]
    assert [line["method"] for line in told] == ["GET", "GET", "GET", "other", "POST"]
    assert told[0]["path"] == "/v1/me"
    assert {line["event"] for line in told} == {"request"}
    assert all(set(line) <= {"at", "level", "event", *watching.FIELDS} for line in told)


def test_nothing_secret_is_written(
    api: Api, people: People, service: Service, log: io.StringIO
) -> None:
    poll = add_poll(service)
    sent = upload(poll, people.party)
    path = f"/polls/{poll.digest}/contribution"
    for body in (sent.to_bytes(), sent.to_bytes()[:-1], b"a body of words", b""):
        api.put(path, people.party, content=body)
        api.put(path, "ostraka_wrong-token", content=body)
    api.get("/me", "ostraka_wrong-token")
    api.post("/joins", json={"code": "a-code-of-mine", "key": "x", "by_code": "x", "by_key": "x"})
    api.get("/me", people.party, params={"token": "in-the-address"})
    written = log.getvalue()
    assert len(lines(log)) == 11
    secrets = (people.party.token, "wrong-token", "words", "a-code-of-mine", "in-the-address")
    secrets += (sent.salt.hex(), sent.commitment.hex(), sent.contribution.hex()[:64])
    for secret in secrets:
        assert secret not in written


def test_what_a_request_makes_up_begins_no_line(api: Api, log: io.StringIO) -> None:
    path = '/x%0A{"level":"error"}%1B[2J%E2%80%A8%C3%A9'
    api.get(path)
    (line,) = lines(log)
    assert line["path"] == '/v1/x\n{"level":"error"}\x1b[2J\u2028é'
    assert line["status"] == 404


def test_the_cause_of_what_nobody_foresaw(
    api: Api, people: People, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("inner words")

    monkeypatch.setattr(polls, "listed", fail)
    answer = api.get("/polls", people.party)
    check_problem(answer, 500, "InternalError")
    cause, line = lines(log)
    assert (cause["level"], cause["event"]) == ("error", "failed")
    assert cause["request"] == line["request"] == answer.headers["x-request-id"]
    assert "ZeroDivisionError: inner words" in cause["error"]
    assert "Traceback" in cause["error"]
    assert line["status"] == 500


def test_a_refusal_is_no_error(api: Api, people: People, log: io.StringIO) -> None:
    api.get(f"/polls/{DIGEST}", people.party)
    api.get("/parties", people.party)
    assert {line["level"] for line in lines(log)} == {"info"}


def test_errors_of_the_database_show_no_content(
    api: Api, people: People, service: Service, log: io.StringIO
) -> None:
    from sqlalchemy import text

    poll = add_poll(service)
    sent = upload(poll, people.party)
    with service.database.write() as connection:
        connection.execute(text("ALTER TABLE contribution RENAME TO gone"))
    answer = api.put(f"/polls/{poll.digest}/contribution", people.party, content=sent.to_bytes())
    assert answer.status_code >= 500
    written = log.getvalue()
    assert "no such table" in written
    for part in (sent.salt, sent.commitment, sent.signature, sent.contribution[-40:]):
        assert repr(part)[2:-1] not in written
        assert part.hex() not in written


def test_the_settings_of_logs_are_whole() -> None:
    made = log_settings("WARNING")
    assert made["loggers"]["ostraka.service"]["level"] == "WARNING"
    assert not made["disable_existing_loggers"]
    assert all(not each["propagate"] for each in made["loggers"].values())


# ---- numbers -------------------------------------------------------------------------------------


def test_numbers_of_requests(api: Api, people: People, service: Service) -> None:
    for _ in range(3):
        api.get("/me", people.party)
    api.get("/me")
    found = values(api, people)
    assert found['ostraka_requests_total{method="GET",route="/v1/me",status="200"}'] == 3
    assert found['ostraka_requests_total{method="GET",route="/v1/me",status="401"}'] == 1
    assert found['ostraka_request_seconds_count{method="GET",route="/v1/me"}'] == 4


def test_numbers_of_polls(api: Api, people: People, service: Service) -> None:
    for number in range(3):
        add_poll(service, a_poll(title=str(number)), opened=number > 0)
    found = values(api, people)
    assert found['ostraka_polls{state="draft"}'] == 1
    assert found['ostraka_polls{state="open"}'] == 2


def test_numbers_name_nobody(api: Api, people: People, service: Service) -> None:
    poll = add_poll(service, a_poll(title="Stroke unit"))
    api.put(
        f"/polls/{poll.digest}/contribution",
        people.party,
        content=upload(poll, people.party).to_bytes(),
    )
    content = contribution(poll, "ward-nine").to_bytes()
    api.put(f"/polls/{poll.digest}/contributions/ward-nine", people.admin, content=content)
    api.get(f"/polls/{poll.digest}", people.party, params={"x": "asked-for"})
    api.get("/made-up")
    text = api.get("/metrics", people.reader).text
    for word in ("ward-nine", poll.digest, "Stroke", "made-up", "asked-for", "ann"):
        assert word not in text
    assert '"/v1/polls/{digest}/contribution"' in text
    assert '"/v1/polls/{digest}/contributions/{party}"' in text


def test_whatever_is_asked_there_are_few_of_them(api: Api, people: People) -> None:
    for number in range(30):
        api.get(f"/made-up/{number}", people.party)
        api.get(f"/polls/{number:064d}", people.party)
        api.put(f"/polls/{number:064d}/contribution", people.party, content=b"x")
        api.get(f"/polls/{number:064d}")
        api.ask(f"BREW{number}", "/me")
        api.post(f"/made-up/{number}")
    names = [name for name in values(api, people) if name.startswith("ostraka_requests_total")]
    routes = {name.split('route="')[1].split('"')[0] for name in names}
    assert routes == {
        "none",
        "/v1/me",
        "/v1/polls/{digest}",
        "/v1/polls/{digest}/contribution",
    }
    assert len(names) < 12


def test_numbers_are_for_admins_and_readers(api: Api, people: People) -> None:
    check_problem(api.get("/metrics", people.party), 403, "AccessError")
    check_problem(api.get("/metrics"), 401, "AccessError")
    answer = api.get("/metrics", people.reader)
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")


def test_times_are_of_requests_alone() -> None:
    """No sum or gauge tells how long anything took that looks at a contribution."""
    made = Metrics().show({"open": 2})
    kinds = {line.split()[2] for line in made.decode("ascii").splitlines() if "# TYPE" in line}
    assert kinds == {"ostraka_requests_total", "ostraka_request_seconds", "ostraka_polls"}
