"""Who gets through the door: the right roles, with a token, and not too often."""

from __future__ import annotations

from typing import Any

import pytest

from ostraka.errors import RateError
from ostraka.exchange import JoinCode
from ostraka.service import access
from ostraka.service.api import door
from ostraka.service.api.door import Limits
from ostraka.service.service import Service
from ostraka.service.storage import tables
from ostraka.signing import SecretKey
from tests.client.served import Clock
from tests.service.api.asking import DIGEST, Api, People, asking, check_problem
from tests.service.api.test_app import PUBLIC, described, filled_in
from tests.service.made import a_poll, add_poll, joined, settings_in, upload

ALL, STAFF, ADMIN, PARTY = "admin reader party", "admin reader", "admin", "party"
MAY = {
    ("GET", "/v1/me"): ALL,
    ("POST", "/v1/me/key"): ALL,
    ("POST", "/v1/invitations"): ADMIN,
    ("GET", "/v1/invitations"): ADMIN,
    ("POST", "/v1/revocations"): ADMIN,
    ("GET", "/v1/parties"): ADMIN,
    ("GET", "/v1/polls"): ALL,
    ("PUT", "/v1/polls/{digest}"): ADMIN,
    ("GET", "/v1/polls/{digest}"): ALL,
    ("GET", "/v1/polls/{digest}/file"): ALL,
    ("GET", "/v1/polls/{digest}/signature"): ALL,
    ("GET", "/v1/polls/{digest}/request"): ADMIN,
    ("PUT", "/v1/polls/{digest}/answer"): ADMIN,
    ("POST", "/v1/polls/{digest}/open"): ADMIN,
    ("POST", "/v1/polls/{digest}/close"): ADMIN,
    ("POST", "/v1/polls/{digest}/abandon"): ADMIN,
    ("GET", "/v1/polls/{digest}/manifest"): ALL,
    ("GET", "/v1/polls/{digest}/release"): ALL,
    ("GET", "/v1/polls/{digest}/release/signature"): ALL,
    ("PUT", "/v1/polls/{digest}/contribution"): PARTY,
    ("GET", "/v1/polls/{digest}/contribution"): PARTY,
    ("GET", "/v1/polls/{digest}/contributions"): ADMIN,
    ("PUT", "/v1/polls/{digest}/contributions/{party}"): ADMIN,
    ("GET", "/v1/budget"): ADMIN,
    ("GET", "/v1/accounts"): ADMIN,
    ("POST", "/v1/allowances"): ADMIN,
    ("GET", "/v1/charges"): ADMIN,
    ("GET", "/v1/audit"): ADMIN,
    ("GET", "/v1/metrics"): STAFF,
}
"""Whoever adds a route says here whose it is."""


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Of the door alone."""
    made = Clock()
    monkeypatch.setattr(door, "time", made)
    return made


# ---- roles ---------------------------------------------------------------------------------------


def test_every_route_says_whose_it_is(api: Api) -> None:
    assert set(described(api)) == PUBLIC | set(MAY)


@pytest.mark.parametrize("role", ["admin", "reader", "party"])
def test_each_role_gets_where_it_may_and_nowhere_else(api: Api, people: People, role: str) -> None:
    for (method, path), roles in MAY.items():
        answer = api.ask(method, filled_in(path), people.as_(role), content=b"{}")
        if role in roles.split():
            assert answer.status_code not in (401, 403), (method, path)
        else:
            told = check_problem(answer, 403, "AccessError")
            assert told.startswith("This is for "), (method, path)
            assert f"you are here as {role}." in told


def test_whom_a_role_lets_in_is_not_found_out_by_the_poll(
    api: Api, people: People, service: Service
) -> None:
    """Who may not ask hears the same of every poll, whether there is one or none."""
    poll = add_poll(service)
    for (method, path), roles in MAY.items():
        if "party" not in roles and "{digest}" in path:
            there = filled_in(path).replace(DIGEST, poll.digest)
            for each in (there, filled_in(path)):
                answer = api.ask(method, each, people.party, content=b"x")
                check_problem(answer, 403, "AccessError")


# ---- tokens --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "BEARER   {}", "Bearer {} "])
def test_a_token_as_it_may_be_written(api: Api, people: People, form: str) -> None:
    headers = {"Authorization": form.format(people.party.token)}
    assert api.get("/me", headers=headers).json()["name"] == "a"


@pytest.mark.parametrize("given", ["", "Bearer", "Bearer ", "Basic YTpi", "{}", "Token {}"])
def test_what_is_no_token(api: Api, people: People, given: str) -> None:
    headers = {"Authorization": given.format(people.party.token)}
    told = check_problem(api.get("/me", headers=headers), 401, "AccessError")
    assert "the request has none" in told


@pytest.mark.parametrize("given", ["ostraka_", "x", "\xff\xfe", "a.b.c", "ostraka_" + "x" * 5000])
def test_what_is_no_token_of_ours(api: Api, given: str) -> None:
    headers = {"Authorization": f"Bearer {given}".encode("latin-1")}
    told = check_problem(api.get("/me", headers=headers), 401, "AccessError")  # type: ignore[arg-type]
    assert "unknown, too old or withdrawn" in told
    assert given not in told


def test_tokens_that_count_no_more(api: Api, people: People, service: Service) -> None:
    with service.database.write() as connection:
        access.withdraw(connection, role="party", name="a")
        gone = tables.token.update().where(tables.token.c.name == "b")
        connection.execute(gone.values(expires=1))
    answers = {
        check_problem(api.get("/me", each), 401, "AccessError")
        for each in (people.party, people.other, "ostraka_never")
    }
    assert len(answers) == 1, "for whatever reason"
    assert api.get("/me", people.reader).status_code == 200


def test_a_token_in_the_address_is_not_looked_at(api: Api, people: People) -> None:
    for name in ("token", "access_token", "authorization"):
        answer = api.get("/me", params={name: people.party.token})
        check_problem(answer, 401, "AccessError")


# ---- how often -----------------------------------------------------------------------------------


def test_a_bucket_fills_up_with_time(clock: Clock) -> None:
    limits = Limits(rate=2.0, size=3.0)
    for _ in range(3):
        limits.take("a")
    with pytest.raises(RateError, match="Wait 1 second,"):
        limits.take("a")
    limits.take("b")
    clock.now += 0.49
    with pytest.raises(RateError):
        limits.take("a")
    clock.now += 0.02
    limits.take("a")
    with pytest.raises(RateError):
        limits.take("a")
    clock.now += 10**6
    for _ in range(3):
        limits.take("a")
    with pytest.raises(RateError):
        limits.take("a")


def test_a_slow_bucket_says_how_long(clock: Clock) -> None:
    limits = Limits(rate=0.01, size=1.0)
    limits.take("a")
    clock.now += 50.0
    with pytest.raises(RateError) as caught:
        limits.check("a")
    clock.now += caught.value.seconds
    limits.check("a")
    limits.take("a")


def test_looking_counts_nothing(clock: Clock) -> None:
    limits = Limits(rate=1.0, size=1.0)
    for _ in range(10):
        limits.check("a")
    limits.take("a")
    for _ in range(2):
        with pytest.raises(RateError):
            limits.check("a")
    clock.now += 1.0
    limits.check("a")


def test_a_refused_request_costs_nothing(clock: Clock) -> None:
    limits = Limits(rate=1.0, size=1.0)
    limits.take("a")
    for _ in range(10):
        with pytest.raises(RateError):
            limits.take("a")
    clock.now += 1.0
    limits.take("a")


def test_not_more_senders_are_remembered_than_fit(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "REMEMBERED", 3)
    limits = Limits(rate=1.0, size=1.0)
    for sender in "abcd":
        limits.take(sender)
    assert len(limits._left) == 3
    limits.take("a")
    with pytest.raises(RateError):
        limits.take("d")


def test_so_many_requests_a_second_and_no_more(
    service: Service, clock: Clock, tmp_path: Any
) -> None:
    """By token: another's has room still."""
    settings = settings_in(tmp_path, rate=2.0)
    a, b = joined(service, "a", "b")
    with asking(service, settings) as api:
        for _ in range(8):
            assert api.get("/me", a).status_code == 200
        answer = api.get("/me", a)
        assert "Wait 1 second, then" in check_problem(answer, 429, "RateError")
        assert answer.headers["retry-after"] == "1"
        assert api.get("/me", b).status_code == 200
        clock.now += 0.5
        assert [api.get("/me", a).status_code for _ in range(2)] == [200, 429]


def test_uploads_count_like_other_requests(service: Service, clock: Clock, tmp_path: Any) -> None:
    settings, poll = settings_in(tmp_path, rate=1.0), add_poll(service)
    (member,) = joined(service, "a")
    body, path = upload(poll, member).to_bytes(), f"/polls/{poll.digest}/contribution"
    with asking(service, settings) as api:
        answers = [api.put(path, member, content=body).status_code for _ in range(6)]
        assert answers == [200, 200, 200, 200, 429, 429]


def test_an_upload_that_is_refused_counts_once(
    service: Service, clock: Clock, tmp_path: Any
) -> None:
    """Else a stranger could tell by the limit which polls there are."""
    settings = settings_in(tmp_path, rate=10.0)
    hidden = add_poll(service, a_poll(roll=["x", "y"], parties=None))
    (member,) = joined(service, "a")
    body = upload(hidden, member, given=a_poll().contribute([[0.0] * 3], ["ill"], "a")).to_bytes()
    counts = []
    for digest in (hidden.digest, DIGEST):
        with asking(service, settings) as api:
            path = f"/polls/{digest}/contribution"
            answers = [api.put(path, member, content=body).status_code for _ in range(41)]
            counts.append(answers)
    there, missing = counts
    assert missing == [404] * 40 + [429]
    assert there == missing


def test_wrong_tokens_are_counted_by_address(
    api: Api, people: People, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who has a right one is let in, whoever else asks from the same address."""
    api.app.state.failures = door.failures_limits()
    for number in range(30):
        check_problem(api.get("/me", f"ostraka_{number}"), 401, "AccessError")
    answer = api.get("/me", "ostraka_another")
    check_problem(answer, 429, "RateError")
    assert answer.headers["retry-after"] == "2"
    assert api.get("/me", people.party).status_code == 200
    with monkeypatch.context() as patched:
        patched.setattr(door, "address_of", lambda _: "192.0.2.7")
        check_problem(api.get("/me", "ostraka_elsewhere"), 401, "AccessError")
    clock.now += 2.0
    check_problem(api.get("/me", "ostraka_later"), 401, "AccessError")
    check_problem(api.get("/me", "ostraka_later"), 429, "RateError")


def wrong_form(service: Service) -> dict[str, str]:
    """Of somebody who has made up a code."""
    key = SecretKey.create()
    asked = JoinCode.create(service.key.public).request(key, service.key.public)
    return {
        "code": str(asked.code),
        "key": str(asked.key),
        "by_code": asked.by_code.hex(),
        "by_key": asked.by_key.hex(),
    }


def test_wrong_codes_and_wrong_tokens_count_together(
    api: Api, service: Service, clock: Clock
) -> None:
    api.app.state.failures = door.failures_limits()
    form = wrong_form(service)
    for number in range(15):
        check_problem(api.post("/joins", json=form), 401, "AccessError")
        check_problem(api.get("/me", f"ostraka_{number}"), 401, "AccessError")
    junk = {**form, "key": "ed25519:x"}
    for answer in (
        api.post("/joins", json=form),
        api.post("/joins", json=junk),
        api.get("/me", "ostraka_x"),
    ):
        check_problem(answer, 429, "RateError")


@pytest.mark.parametrize("there", [True, False])
def test_wrong_tokens_of_uploads_are_counted_too(
    api: Api, people: People, service: Service, clock: Clock, there: bool
) -> None:
    poll = add_poll(service)
    body = upload(poll, people.party).to_bytes()
    path = f"/polls/{poll.digest if there else DIGEST}/contribution"
    for number in range(30):
        check_problem(api.put(path, f"ostraka_{number}", content=body), 401, "AccessError")
    check_problem(api.put(path, "ostraka_x", content=body), 429, "RateError")
    check_problem(api.get("/me", "ostraka_x"), 429, "RateError")
    expected = 200 if there else 404
    assert api.put(path, people.party, content=body).status_code == expected


def test_without_a_token_nothing_is_counted(api: Api, people: People, clock: Clock) -> None:
    for _ in range(40):
        check_problem(api.get("/me"), 401, "AccessError")
    assert api.get("/me", people.party).status_code == 200
