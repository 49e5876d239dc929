"""Contributions over HTTP: taken once, answered the same, and hidden from whoever is not asked."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import select

from ostraka.errors import RateError
from ostraka.exchange import Receipt, Upload
from ostraka.service import closing, polls
from ostraka.service.api import uploads
from ostraka.service.api.uploads import InFlight
from ostraka.service.service import Service
from ostraka.service.storage import tables
from tests.service.api.asking import DIGEST, Api, People, check_problem, same_but_number
from tests.service.made import ADMIN, Member, a_poll, add_poll, contribution, filled, upload

both = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def path_of(poll: Any) -> str:
    return f"/polls/{poll.digest}/contribution"


def kept(service: Service) -> list[tuple[int, bytes]]:
    """Revision and commitment of all that the service has."""
    table = tables.contribution
    with service.database.read() as connection:
        rows = connection.execute(select(table.c.revision, table.c.commitment)).all()
    return [(revision, bytes(commitment)) for revision, commitment in rows]


# ---- taken in ------------------------------------------------------------------------------------


@both
def test_a_receipt_for_a_contribution(api: Api, people: People, service: Service) -> None:
    poll = add_poll(service)
    sent = upload(poll, people.party)
    answer = api.put(path_of(poll), people.party, content=sent.to_bytes())
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    receipt = Receipt.from_bytes(answer.content)
    receipt.check(service.key.public)
    found = receipt.poll, receipt.party, receipt.revision, receipt.commitment, receipt.salt
    assert found == (poll.digest, "a", 1, sent.commitment, None)
    assert kept(service) == [(1, sent.commitment)]


@both
def test_the_same_twice_is_answered_the_same(api: Api, people: People, service: Service) -> None:
    poll = add_poll(service)
    body = upload(poll, people.party).to_bytes()
    answers = {api.put(path_of(poll), people.party, content=body).content for _ in range(3)}
    assert len(answers) == 1
    assert len(kept(service)) == 1


@both
def test_the_same_at_the_same_time(api: Api, people: People, service: Service) -> None:
    poll = add_poll(service)
    body = upload(poll, people.party).to_bytes()
    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(api.put, path_of(poll), people.party, content=body) for _ in range(16)]
        answers = {each.result().content for each in asked}
    assert len(answers) == 1
    assert len(kept(service)) == 1


def test_a_later_one_takes_the_place(api: Api, people: People, service: Service) -> None:
    poll = add_poll(service)
    first, second = (upload(poll, people.party, revision) for revision in (1, 2))
    for each in (first, second):
        assert api.put(path_of(poll), people.party, content=each.to_bytes()).status_code == 200
    answer = api.put(path_of(poll), people.party, content=first.to_bytes())
    check_problem(answer, 409, "StateError")
    assert kept(service) == [(2, second.commitment)]


def test_another_one_of_the_same_number_does_not(
    api: Api, people: People, service: Service
) -> None:
    poll = add_poll(service)
    first, other = (upload(poll, people.party) for _ in range(2))
    assert api.put(path_of(poll), people.party, content=first.to_bytes()).status_code == 200
    answer = api.put(path_of(poll), people.party, content=other.to_bytes())
    check_problem(answer, 409, "StateError")
    assert kept(service) == [(1, first.commitment)]


# ---- refused -------------------------------------------------------------------------------------


def wrong_uploads(poll: Any, people: People) -> dict[str, tuple[bytes, int, str]]:
    """What no service takes from the first party, and why."""
    party, other = people.party, people.other
    own = upload(poll, party)
    forged = Upload.create(own.contribution, 1, other.key)
    foreign = upload(a_poll(title="another"), party)
    cut = own.to_bytes()[:-1]
    return {
        "a key of somebody else": (forged.to_bytes(), 422, "SignatureError"),
        "the other's contribution": (upload(poll, other).to_bytes(), 422, "SignatureError"),
        "in the other's name": (
            Upload.create(contribution(poll, "b").to_bytes(), 1, party.key).to_bytes(),
            422,
            "InputError",
        ),
        "of another poll": (foreign.to_bytes(), 422, "OtherPollError"),
        "a byte less": (cut, 422, "SignatureError"),
        "a bit changed": (cut + bytes([own.to_bytes()[-1] ^ 1]), 422, "SignatureError"),
        "nothing": (b"", 400, "FormatError"),
        "junk": (b"junk" * 50, 400, "FormatError"),
        "another version": (b"OSTRASND\x02" + own.to_bytes()[9:], 400, "FormatError"),
        "junk that is signed": (
            Upload.create(b"junk", 1, party.key).to_bytes(),
            400,
            "FormatError",
        ),
    }


@pytest.mark.parametrize("first", [True, False])
def test_what_is_refused(api: Api, people: People, service: Service, first: bool) -> None:
    """Whether or not this process has seen the poll before, which goes another way."""
    poll = add_poll(service)
    for name, (body, status, kind) in wrong_uploads(poll, people).items():
        if first:
            api.app.state.largest.clear()
        answer = api.put(path_of(poll), people.party, content=body)
        assert check_problem(answer, status, kind), name
    assert kept(service) == []


def test_after_closing(api: Api, people: People, service: Service) -> None:
    poll, _ = filled(service, ["x", "y"])
    body = upload(poll, people.party).to_bytes()
    closing.freeze(service, ADMIN, poll.digest)
    before = kept(service)
    told = check_problem(api.put(path_of(poll), people.party, content=body), 409, "StateError")
    assert "This poll is closed: nothing can be sent to it or changed any more." in told
    assert kept(service) == before
    closing.finish(service, poll.digest)
    told = check_problem(api.put(path_of(poll), people.party, content=body), 409, "StateError")
    assert "This poll is released" in told


def test_after_it_was_abandoned(api: Api, people: People, service: Service) -> None:
    poll, _ = filled(service, ["x"])
    polls.abandon(service, ADMIN, poll.digest)
    body = upload(poll, people.party).to_bytes()
    told = check_problem(api.put(path_of(poll), people.party, content=body), 409, "StateError")
    assert "This poll is abandoned" in told


# ---- hidden --------------------------------------------------------------------------------------


def bodies_to_try(poll: Any, people: People) -> list[bytes]:
    own = upload(poll, people.party, given=a_poll().contribute([[0.0] * 3], ["ill"], "a"))
    wrong = [body for body, _, _ in wrong_uploads(poll, people).values() if body]
    return [own.to_bytes(), b"", b"x" * 70_000, *wrong]


@both
@pytest.mark.parametrize("kind", ["of others", "draft"])
def test_a_hidden_poll_is_like_a_missing_one(
    api: Api, people: People, service: Service, kind: str
) -> None:
    """To the byte, whatever is sent, and however often."""
    if kind == "draft":
        hidden = add_poll(service, opened=False)
    else:
        hidden = add_poll(service, a_poll(roll=["b", "x"], parties=None))
    missing = a_poll(title="missing")
    cut = hidden.digest[:12].encode("ascii"), missing.digest[:12].encode("ascii")
    for body in bodies_to_try(hidden if kind == "draft" else missing, people):
        for _ in range(2):  # the second time the process has seen the poll
            there = same_but_number(api.put(path_of(hidden), people.party, content=body))
            none = same_but_number(api.put(path_of(missing), people.party, content=body))
            assert there[0] == none[0] == 404
            assert there[2].replace(*cut) == none[2]
            assert {**there[1], "content-length": ""} == {**none[1], "content-length": ""}


def test_of_unknown_length_or_too_large_for_it(api: Api, people: People, service: Service) -> None:
    hidden = add_poll(service, a_poll(roll=["b", "x"], parties=None))

    async def parts() -> Any:
        yield b"x"

    for digest in (hidden.digest, DIGEST):
        path = f"/polls/{digest}/contribution"
        check_problem(api.put(path, people.party, content=parts()), 404, "AbsentError")
        check_problem(api.put(path, people.party, content=b"x" * 10**6), 404, "AbsentError")


@pytest.mark.parametrize("n", [100, 70_000])
def test_with_the_memory_full(api: Api, people: People, service: Service, n: int) -> None:
    """Whoever is told to come again later must not learn that there is something to come to."""
    hidden = add_poll(service, a_poll(roll=["b", "x"], parties=None))
    api.app.state.in_flight = full = InFlight(most=10)
    full.enter(10)
    answers = [
        api.put(f"/polls/{digest}/contribution", people.party, content=b"x" * n).status_code
        for digest in (DIGEST, hidden.digest)
    ]
    assert answers[0] == answers[1]


def test_the_check_is_what_hides_it(
    api: Api, people: People, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without it, the answers differ: so the tests above can fail."""
    monkeypatch.setattr(uploads, "_check_visible", lambda *_: None)
    hidden = add_poll(service, opened=False)
    answer = api.put(path_of(hidden), people.party, content=b"x")
    check_problem(answer, 400, "FormatError")


@pytest.mark.parametrize("name", ["0", DIGEST[:-1], DIGEST + "0", "A" * 64, "0" * 63 + "%0a"])
def test_what_is_no_digest(api: Api, people: People, name: str) -> None:
    answer = api.put(f"/polls/{name}/contribution", people.party, content=b"x")
    check_problem(answer, 404, "AbsentError")
    assert api.app.state.largest == {}, "nothing is kept of what strangers made up"


# ---- room ----------------------------------------------------------------------------------------


def test_no_more_is_received_than_fits() -> None:
    room = InFlight(most=100)
    room.enter(60)
    room.enter(40)
    with pytest.raises(RateError):
        room.enter(1)
    room.leave(40)
    room.enter(40)
    room.leave(40)
    room.leave(60)
    room.enter(1000)  # alone, whatever it is: else it could never come
    with pytest.raises(RateError):
        room.enter(1)


def test_room_is_given_back(api: Api, people: People, service: Service) -> None:
    poll = add_poll(service)
    room = api.app.state.in_flight = InFlight(most=10**6)
    for body in (upload(poll, people.party).to_bytes(), b"junk"):
        api.put(path_of(poll), people.party, content=body)
        assert room._now == 0
    room.enter(10**6)
    answer = api.put(path_of(poll), people.party, content=b"junk")
    check_problem(answer, 429, "RateError")
    assert answer.headers["retry-after"] == "1"


def test_a_writer_that_fails_answers_everybody(
    api: Api, people: People, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll = add_poll(service)
    members: list[Member] = [people.party, people.other]

    def fail(*_: Any) -> None:
        raise ZeroDivisionError("inner words")

    monkeypatch.setattr(api.app.state.writer, "_write", fail)
    for each in members:
        answer = api.put(path_of(poll), each, content=upload(poll, each).to_bytes())
        assert "inner words" not in check_problem(answer, 500, "InternalError")
    monkeypatch.undo()
    for each in members:
        answer = api.put(path_of(poll), each, content=upload(poll, each).to_bytes())
        assert answer.status_code == 200
