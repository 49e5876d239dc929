"""The bytes of a request: not one more than it can need, not for ever, and none of a stranger."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from ostraka.service.api import bodies, uploads
from ostraka.service.service import Service
from tests.service.api.asking import DIGEST, Api, People, check_problem
from tests.service.made import Member, add_poll, upload


def scope(method: str, path: str, who: Member | None, *headers: tuple[str, str]) -> dict[str, Any]:
    """A request as a server hands it over."""
    given = [(name.encode(), text.encode("latin-1")) for name, text in headers]
    if who is not None:
        given.append((b"authorization", f"Bearer {who.token}".encode()))
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "path": f"/v1{path}",
        "raw_path": f"/v1{path}".encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "headers": given,
        "client": ("192.0.2.1", 1),
        "server": ("127.0.0.1", 80),
    }


def part(content: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.request", "body": content, "more_body": more}


def length(n: int) -> tuple[str, str]:
    return "content-length", str(n)


GONE = {"type": "http.disconnect"}
CHUNKED = ("transfer-encoding", "chunked")
JSON = ("content-type", "application/json")


@pytest.fixture
def sent(service: Service, people: People) -> tuple[str, bytes]:
    """Where a contribution goes, and its bytes."""
    poll = add_poll(service)
    return f"/polls/{poll.digest}/contribution", upload(poll, people.party).to_bytes()


# ---- files ---------------------------------------------------------------------------------------


def test_in_parts_and_whole(api: Api, people: People, sent: tuple[str, bytes]) -> None:
    path, body = sent
    asked = scope("PUT", path, people.party, length(len(body)))
    pieces = [part(body[:7], more=True), part(b"", more=True), part(body[7:])]
    status, first, _ = api.raw(asked, *pieces)
    assert status == 200
    again = scope("PUT", path, people.party, length(len(body)))
    assert api.raw(again, part(body))[:2] == (200, first)


@pytest.mark.parametrize("more", [1, 10**6])
def test_longer_than_announced(
    api: Api, people: People, sent: tuple[str, bytes], more: int
) -> None:
    path, body = sent
    asked = scope("PUT", path, people.party, length(len(body)))
    status, told, read = api.raw(asked, part(body + b"x" * more, more=True), part(b"y"))
    assert (status, read) == (422, 1)
    assert b"were announced. Send it again." in told


def test_shorter_than_announced(api: Api, people: People, sent: tuple[str, bytes]) -> None:
    path, body = sent
    asked = scope("PUT", path, people.party, length(len(body)))
    status, told, _ = api.raw(asked, part(body[:-1]))
    assert status == 422
    assert f"has {len(body) - 1:,} bytes, and {len(body):,} were announced".encode() in told


def test_cut_off(api: Api, people: People, sent: tuple[str, bytes]) -> None:
    path, body = sent
    asked = scope("PUT", path, people.party, length(len(body)))
    status, told, _ = api.raw(asked, part(body[:50], more=True), GONE)
    assert status == 422
    assert f"was cut off: 50 of {len(body):,} bytes came".encode() in told
    assert api.app.state.in_flight._now == 0
    assert api.get(path, people.party).status_code == 404, "nothing was taken in"


def test_too_slow(
    api: Api, people: People, sent: tuple[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, body = sent
    monkeypatch.setattr(bodies, "SECONDS", 0.0)
    monkeypatch.setattr(bodies, "SLOWEST", 1e6)
    asked = scope("PUT", path, people.party, length(len(body)))
    status, told, _ = api.raw(asked, part(body[:50], more=True))
    assert status == 422
    assert f"came too slowly: 50 of {len(body):,} bytes".encode() in told
    assert api.app.state.in_flight._now == 0


@pytest.mark.parametrize("headers", [(), (CHUNKED,), (("content-length", "many"),)])
def test_of_unknown_length(
    api: Api, people: People, sent: tuple[str, bytes], headers: tuple[tuple[str, str], ...]
) -> None:
    path, body = sent
    status, told, read = api.raw(scope("PUT", path, people.party, *headers), part(body))
    assert (status, read) == (413, 0)
    assert b"of unknown length was not read" in told


@pytest.mark.parametrize("n", [10**5, 10**9, 10**14, 10**15, 10**30])
def test_larger_than_it_can_be(api: Api, people: People, sent: tuple[str, bytes], n: int) -> None:
    path, body = sent
    status, told, read = api.raw(scope("PUT", path, people.party, length(n)), part(body))
    assert (status, read) == (413, 0)
    assert b"was not read" in told


@pytest.mark.parametrize("written", ["-1", "+5", "1e3", " 7", "0x10", "٣", "1,000", ""])
def test_lengths_that_are_none(written: str) -> None:
    asked = scope("PUT", "/polls", None)
    asked["headers"] = [(b"content-length", written.encode("utf-8"))]
    from fastapi import Request

    assert bodies.told_length(Request(asked)) is None


def test_of_nobody_nothing_large_is_read(api: Api, people: People, sent: tuple[str, bytes]) -> None:
    path, _ = sent
    large = uploads.SMALL + 1
    stranger = Member("s", people.party.key, "ostraka_wrong")
    for who, expected in (
        (None, 401),
        (stranger, 401),
        (people.admin, 403),
        (people.reader, 403),
        (people.party, 413),
    ):
        asked = scope("PUT", path, who, length(large))
        assert api.raw(asked, part(b"x" * large))[::2] == (expected, 0)


def test_without_a_token_nothing_at_all_is_read(api: Api, sent: tuple[str, bytes]) -> None:
    path, body = sent
    assert api.raw(scope("PUT", path, None, length(len(body))), part(body))[::2] == (401, 0)


@pytest.mark.parametrize("there", [True, False])
def test_whoever_may_not_contribute_hears_no_more(
    api: Api, people: People, sent: tuple[str, bytes], there: bool
) -> None:
    """Neither whether there is such a poll, nor what is wrong with what they have sent."""
    path = sent[0] if there else f"/polls/{DIGEST}/contribution"
    stranger = Member("s", people.party.key, "ostraka_wrong")
    for body in (sent[1], b"", b"junk"):
        for who, expected in ((stranger, 401), (people.admin, 403), (people.reader, 403)):
            asked = scope("PUT", path, who, length(len(body)))
            assert api.raw(asked, part(body))[0] == expected


def test_only_an_admins_poll_is_read(api: Api, people: People) -> None:
    for who, expected in ((people.party, 403), (people.reader, 403), (None, 401)):
        asked = scope("PUT", f"/polls/{'a' * 64}", who, length(5))
        assert api.raw(asked, part(b"12345"))[::2] == (expected, 0)
    asked = scope("PUT", f"/polls/{'a' * 64}", people.admin, length(5))
    assert api.raw(asked, part(b"12345"))[::2] == (422, 1)
    asked = scope("PUT", f"/polls/{'a' * 64}", people.admin, length(2**28 + 1))
    assert api.raw(asked, part(b"12345"))[::2] == (413, 0)


def test_a_file_that_is_handed_in_is_no_larger_than_it_can_be(
    api: Api, people: People, sent: tuple[str, bytes]
) -> None:
    path = sent[0].replace("contribution", "contributions/b")
    asked = scope("PUT", path, people.admin, length(10**6))
    assert api.raw(asked, part(b"x" * 10**6))[::2] == (413, 0)


# ---- forms ---------------------------------------------------------------------------------------


FORM = b'{"names": ["c"]}'


def test_a_form_in_parts(api: Api, people: People) -> None:
    asked = scope("POST", "/invitations", people.admin, JSON, length(len(FORM)))
    status, told, _ = api.raw(asked, part(FORM[:5], more=True), part(FORM[5:]))
    assert status == 200
    assert b'"name":"c"' in told


@pytest.mark.parametrize("path", ["/invitations", "/me/key", "/allowances", "/nothing", "/joins/"])
def test_forms_of_strangers_are_not_read(api: Api, people: People, path: str) -> None:
    stranger = Member("s", people.party.key, "ostraka_wrong")
    for who in (None, stranger):
        asked = scope("POST", path, who, JSON, length(len(FORM)))
        assert api.raw(asked, part(FORM))[::2] == (401, 0)


@pytest.mark.parametrize("host", ["x/v1/joins?", "x/v1/joins#", "/v1/joins?", "a@b/v1/joins?"])
def test_a_made_up_host_makes_no_form_public(api: Api, host: str) -> None:
    asked = scope("POST", "/invitations", None, JSON, length(len(FORM)), ("host", host))
    assert api.raw(asked, part(FORM))[::2] == (401, 0)


def test_who_joins_sends_little(api: Api) -> None:
    most = bodies.SMALL_FORM
    asked = scope("POST", "/joins", None, JSON, length(most + 1))
    assert api.raw(asked, part(b" " * (most + 1)))[::2] == (413, 0)
    asked = scope("POST", "/joins", None, JSON, length(most))
    assert api.raw(asked, part(b" " * most))[::2] == (422, 1)


def test_an_admin_names_many_and_a_party_does_not(api: Api, people: People) -> None:
    n = bodies.SMALL_FORM + 1
    form = FORM + b" " * (n - len(FORM))
    for who, expected in ((people.party, (413, 0)), (people.admin, (200, 1))):
        asked = scope("POST", "/invitations", who, JSON, length(n))
        assert api.raw(asked, part(form))[::2] == expected
    asked = scope("POST", "/invitations", people.admin, JSON, length(bodies.LARGE_FORM + 1))
    assert api.raw(asked, part(b""))[::2] == (413, 0)


def test_a_form_of_unknown_length(api: Api, people: People) -> None:
    asked = scope("POST", "/invitations", people.admin, JSON, CHUNKED)
    assert api.raw(asked, part(FORM, more=True))[::2] == (413, 0)


def test_a_form_that_stops_or_lies(
    api: Api, people: People, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(n: int, *messages: dict[str, Any]) -> bytes:
        asked = scope("POST", "/invitations", people.admin, JSON, length(n))
        status, told, _ = api.raw(asked, *messages)
        assert status == 422
        return told

    n = len(FORM)
    assert b"The form was cut off" in ask(n, part(FORM[:3], more=True), GONE)
    assert b"were announced" in ask(n + 1, part(FORM))
    assert b"were announced" in ask(n - 1, part(FORM))
    monkeypatch.setattr(bodies, "SECONDS", 0.0)
    monkeypatch.setattr(bodies, "SLOWEST", 1e6)
    assert b"came too slowly" in ask(n, part(FORM[:3], more=True))
    lines = api.get("/audit", people.admin).json()["items"]
    assert "c" not in {line["about"] for line in lines}, "nobody was invited"


def test_no_form_at_all(api: Api, people: People, service: Service) -> None:
    poll = add_poll(service, opened=False)
    asked = scope("POST", f"/polls/{poll.digest}/open", people.admin)
    assert api.raw(asked, part(b""))[0] == 200
    asked = scope("POST", "/invitations", people.admin)
    assert api.raw(asked, part(b""))[0] == 422


def test_who_goes_on_slowly_enough_is_waited_for(
    api: Api, people: People, sent: tuple[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The larger, the longer: at least so many bytes a second."""
    given = list[float]()
    real = bodies.asyncio.timeout

    def timeout(seconds: float) -> Any:
        given.append(seconds)
        return real(seconds)

    monkeypatch.setattr(bodies.asyncio, "timeout", timeout)
    path, body = sent
    assert api.put(path, people.party, content=body).status_code == 200
    assert bodies.SECONDS + len(body) / bodies.SLOWEST in given


def test_large_forms_are_answered_as_problems(api: Api, people: People) -> None:
    answer: httpx.Response = api.post("/joins", content=b"x" * (bodies.SMALL_FORM + 1))
    told = check_problem(answer, 413, "SizeError")
    assert "The form of 65,537 bytes was not read. Allowed: up to 65,536 bytes" in told
