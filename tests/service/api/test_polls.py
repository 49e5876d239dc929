"""Polls over HTTP: from a draft to a release, and what of it each one sees."""

from __future__ import annotations

import time
from typing import Any

import pytest

from ostraka.errors import TooFewPartiesError
from ostraka.exchange import Manifest, Receipt, commit
from ostraka.poll import Poll
from ostraka.release import Release
from ostraka.service import closing, polls
from ostraka.service.service import Service
from ostraka.signing import Signature
from tests.service.api.asking import DIGEST, Api, People, check_problem, same_but_number
from tests.service.made import ADMIN, a_poll, add_poll, arrive, contribution, filled, upload

both = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
LOOKS = ("", "/file", "/signature", "/manifest", "/release", "/release/signature")


def released(api: Api, people: People, poll: Poll) -> dict[str, Any]:
    """The poll's state, when there is a release."""
    while True:
        held: dict[str, Any] = api.get(f"/polls/{poll.digest}", people.admin).json()
        if held["state"] == "released":
            return held
        assert held["trouble"] is None, held
        time.sleep(0.005)


# ---- from a draft to a release -------------------------------------------------------------------


@both
def test_a_poll_and_its_release(api: Api, people: People, service: Service) -> None:
    poll = a_poll(title="Stroke")
    path = f"/polls/{poll.digest}"
    for _ in range(2):  # the same once more changes nothing
        held = api.put(path, people.admin, content=poll.to_bytes()).json()
        assert (held["state"], held["title"], held["contributions"]) == ("draft", "Stroke", 0)
    check_problem(api.get(f"{path}/signature", people.admin), 409, "StateError")
    for _ in range(2):
        assert api.post(f"{path}/open", people.admin).json()["state"] == "open"
    signature = Signature.from_bytes(api.get(f"{path}/signature", people.party).content)
    signature.check(api.get(f"{path}/file", people.party).content)
    assert signature.key == service.key.public
    for each in (people.party, people.other):
        sent = upload(poll, each).to_bytes()
        assert api.put(f"{path}/contribution", each, content=sent).status_code == 200
    for suffix in ("/manifest", "/release", "/release/signature"):
        check_problem(api.get(path + suffix, people.party), 409, "StateError")
    for _ in range(2):
        answer = api.post(f"{path}/close", people.admin)
        assert answer.status_code == 202
        assert answer.json()["state"] in ("closed", "released")
    assert released(api, people, poll)["release"]
    content = api.get(f"{path}/release", people.reader).content
    signature = Signature.from_bytes(api.get(f"{path}/release/signature", people.reader).content)
    signature.check(content)
    assert Release.from_bytes(content).certificate.parties == 2
    listed = Manifest.from_bytes(api.get(f"{path}/manifest", people.party).content)
    listed.check(service.key.public)
    assert listed.parties == 2
    assert api.post(f"{path}/close", people.admin).json()["state"] == "released"
    assert len(service.ledger().history()) == 1


def test_a_file_that_is_not_the_poll_of_its_address(api: Api, people: People) -> None:
    poll, other = a_poll(), a_poll(title="other")
    answer = api.put(f"/polls/{other.digest}", people.admin, content=poll.to_bytes())
    assert "not the poll of this address" in check_problem(answer, 422, "InputError")
    from hashlib import sha256

    answer = api.put(f"/polls/{sha256(b'x').hexdigest()}", people.admin, content=b"x")
    check_problem(answer, 400, "FormatError")
    assert api.get("/polls", people.admin).json()["items"] == []


@pytest.mark.parametrize("digest", ["0", "A" * 64, DIGEST + "0", "0" * 63 + "g"])
def test_what_is_no_digest(api: Api, people: People, digest: str) -> None:
    for suffix in LOOKS:
        check_problem(api.get(f"/polls/{digest}{suffix}", people.admin), 422, "InputError")
    check_problem(api.put(f"/polls/{digest}", people.admin, content=b"x"), 422, "InputError")


def test_what_cannot_be_released_is_not_closed(api: Api, people: People, service: Service) -> None:
    poll, _ = filled(service, ["x"])
    answer = api.post(f"/polls/{poll.digest}/close", people.admin)
    told = check_problem(answer, 409, TooFewPartiesError.__name__)
    assert "Nothing was drawn and nothing was spent." in told
    assert api.get(f"/polls/{poll.digest}", people.admin).json()["state"] == "open"


def test_some_are_left_out(api: Api, people: People, service: Service) -> None:
    poll, receipts = filled(service, ["x", "y", "z"])
    path = f"/polls/{poll.digest}"
    answer = api.post(f"{path}/close", people.admin, json={"leave_out": ["nobody"]})
    check_problem(answer, 404, "AbsentError")
    assert api.post(f"{path}/close", people.admin, json={"leave_out": ["Y "]}).status_code == 202
    listed = Manifest.from_bytes(api.get(f"{path}/manifest", people.admin).content)
    assert [listed.counts(each.commitment) for each in receipts] == [True, False, True]
    released(api, people, poll)


def test_abandoned(api: Api, people: People, service: Service) -> None:
    poll, _ = filled(service, ["x", "y"])
    path = f"/polls/{poll.digest}"
    for _ in range(2):
        assert api.post(f"{path}/abandon", people.admin).json()["state"] == "abandoned"
    check_problem(api.post(f"{path}/close", people.admin), 409, "StateError")
    check_problem(api.post(f"{path}/open", people.admin), 409, "StateError")


@pytest.mark.parametrize("what", ["open", "close", "abandon"])
def test_nothing_is_done_with_no_poll(api: Api, people: People, what: str) -> None:
    check_problem(api.post(f"/polls/{DIGEST}/{what}", people.admin), 404, "AbsentError")


# ---- handed in -----------------------------------------------------------------------------------


@both
def test_a_file_is_handed_in_twice_and_counts_once(
    api: Api, people: People, service: Service
) -> None:
    poll = add_poll(service)
    content = contribution(poll, "ward 9").to_bytes()
    path = f"/polls/{poll.digest}/contributions"
    for _ in range(2):
        answer = api.put(f"{path}/Ward%20%209", people.admin, content=content)
        assert answer.status_code == 200
        receipt = Receipt.from_bytes(answer.content)
        receipt.check(service.key.public)
        assert receipt.salt is not None
        assert commit(receipt.salt, content) == receipt.commitment
        held = api.get(path, people.admin).json()["items"]
        assert held == [{"party": "ward 9", "revision": 0, "handed_in": True}]
    filled_poll = [upload(poll, people.party), upload(poll, people.other)]
    arrive(service, *zip([poll] * 2, [people.party, people.other], filled_poll, strict=True))
    api.post(f"/polls/{poll.digest}/close", people.admin)
    listed = Manifest.from_bytes(api.get(f"/polls/{poll.digest}/manifest", people.admin).content)
    assert listed.parties == 3
    assert listed.counts(receipt.commitment), "the last receipt is the one that counts"
    released(api, people, poll)


def test_nobody_is_handed_in_over_their_own(api: Api, people: People, service: Service) -> None:
    poll = add_poll(service)
    arrive(service, (poll, people.party, upload(poll, people.party)))
    content = contribution(poll, "a").to_bytes()
    answer = api.put(f"/polls/{poll.digest}/contributions/a", people.admin, content=content)
    assert "Party a has contributed itself" in check_problem(answer, 409, "StateError")


def test_what_is_not_handed_in(api: Api, people: People, service: Service) -> None:
    poll = add_poll(service)
    path = f"/polls/{poll.digest}/contributions"
    content = contribution(poll, "b").to_bytes()
    for name, body, status, kind in (
        ("a", content, 422, "InputError"),
        ("b", b"junk", 400, "FormatError"),
        ("b", content[:-1], 400, "FormatError"),
        ("%1B", content, 422, "ParameterError"),
        ("%00", content, 422, "ParameterError"),
        ("b" * 600, content, 422, "ParameterError"),
    ):
        check_problem(api.put(f"{path}/{name}", people.admin, content=body), status, kind)
    assert api.get(path, people.admin).json()["items"] == []
    other = add_poll(service, a_poll(title="draft"), opened=False)
    body = contribution(other, "b").to_bytes()
    answer = api.put(f"/polls/{other.digest}/contributions/b", people.admin, content=body)
    check_problem(answer, 409, "StateError")


# ---- who sees what -------------------------------------------------------------------------------


@both
def test_a_hidden_poll_is_like_a_missing_one(api: Api, people: People, service: Service) -> None:
    """On every route of a poll, to the byte."""
    of_others = add_poll(service, a_poll(roll=["b", "x"], parties=None))
    draft = add_poll(service, a_poll(title="draft"), opened=False)
    missing = a_poll(title="missing")
    for hidden, who in (
        (of_others, people.party),
        (draft, people.party),
        (draft, people.reader),
    ):
        for suffix in (*LOOKS, "/contribution", "/contributions", "/nothing"):
            if suffix == "/contribution" and who is people.reader:
                continue
            answers = [
                same_but_number(api.get(f"/polls/{each.digest}{suffix}", who))
                for each in (hidden, missing)
            ]
            told = [
                body.replace(each.digest[:12].encode("ascii"), b"")
                for (_, _, body), each in zip(answers, (hidden, missing), strict=True)
            ]
            assert told[0] == told[1], suffix
            assert answers[0][:2] == answers[1][:2], suffix
            assert answers[0][0] in (403, 404)


def test_hidden_it_stays_when_it_is_over(api: Api, people: People, service: Service) -> None:
    hidden, _ = filled(service, ["x", "y"], a_poll(roll=["b", "x", "y"], parties=None))
    closing.freeze(service, ADMIN, hidden.digest)
    closing.finish(service, hidden.digest)
    for suffix in (*LOOKS, "/contribution"):
        check_problem(api.get(f"/polls/{hidden.digest}{suffix}", people.party), 404, "AbsentError")
    assert api.get(f"/polls/{hidden.digest}/release", people.other).status_code == 200


def test_without_the_roll_it_would_be_seen(
    api: Api, people: People, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So the tests above can fail."""
    hidden = add_poll(service, a_poll(roll=["b", "x"], parties=None))
    from ostraka.service.access import Who

    everything = polls._visible(Who(role="admin", name=""))
    monkeypatch.setattr(polls, "_visible", lambda _: everything)
    assert api.get(f"/polls/{hidden.digest}", people.party).status_code == 200


def test_lists_hide_the_same(api: Api, people: People, service: Service) -> None:
    for_all = add_poll(service, a_poll(title="for all"))
    for_b = add_poll(service, a_poll(title="for b", roll=["b", "x"], parties=None))
    draft = add_poll(service, a_poll(title="draft"), opened=False)
    seen = {
        role: [one["digest"] for one in api.get("/polls", people.as_(role)).json()["items"]]
        for role in ("admin", "reader", "party", "other")
    }
    assert seen["admin"] == [draft.digest, for_b.digest, for_all.digest]
    assert seen["reader"] == seen["other"] == [for_b.digest, for_all.digest]
    assert seen["party"] == [for_all.digest]
    for role in ("reader", "party"):
        asked = api.get("/polls", people.as_(role), params={"state": "draft"})
        assert asked.json()["items"] == []


def test_a_party_sees_nothing_of_others(api: Api, people: People, service: Service) -> None:
    poll = add_poll(service)
    path = f"/polls/{poll.digest}"
    arrive(service, (poll, people.other, upload(poll, people.other)))
    mine, theirs = (api.get(path, who).json() for who in (people.party, people.other))
    assert mine["mine"] is None
    assert theirs["mine"]["revision"] == 1
    assert {**mine, "mine": 0} == {**theirs, "mine": 0}
    check_problem(api.get(f"{path}/contribution", people.party), 404, "AbsentError")
    held = api.get(f"{path}/contribution", people.other).json()
    assert held == theirs["mine"]
    listed = [api.get("/polls", who).json()["items"][0] for who in (people.party, people.other)]
    assert [one["mine"] for one in listed] == [None, held]
    for who in (people.party, people.reader):
        check_problem(api.get(f"{path}/contributions", who), 403, "AccessError")


def test_trouble_is_for_admins(api: Api, people: People, service: Service) -> None:
    poll, _ = filled(service, ["x", "y"])
    closing.freeze(service, ADMIN, poll.digest)
    closing.tell_trouble(service, poll.digest, "The party x has changed.")
    for who in (people.party, people.reader, people.admin):
        told = "The party x has changed." if who is people.admin else None
        assert api.get(f"/polls/{poll.digest}", who).json()["trouble"] == told
        assert api.get("/polls", who).json()["items"][0]["trouble"] == told
    api.post(f"/polls/{poll.digest}/close", people.admin)  # once more goes on
    assert released(api, people, poll)["trouble"] is None


def test_what_a_poll_costs(api: Api, people: People, service: Service) -> None:
    poll = add_poll(service, a_poll(epsilon=2.0))
    held = api.get(f"/polls/{poll.digest}", people.party).json()
    assert held["price"]["epsilon"] == 2.0
    assert held["facts"]["method"] == "moments"


@pytest.mark.parametrize(
    "params",
    [
        {"state": "new"},
        {"after": -1},
        {"after": 2**31},
        {"after": "x"},
        {"limit": 0},
        {"limit": 1001},
        {"limit": "nan"},
    ],
)
def test_lists_that_there_are_not(api: Api, people: People, params: dict[str, Any]) -> None:
    answer = api.get("/polls", people.party, params=params)
    check_problem(answer, 422, "ParameterError" if params == {"state": "new"} else "InputError")
