"""Requests to a service: whatever comes back is a value, or an error of ours in the right words."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from ostraka.client import Client
from ostraka.client import client as module
from ostraka.client.client import LATER, LONGEST_TEXT, PROBLEM, TYPE
from ostraka.errors import (
    AbsentError,
    AccessError,
    BudgetError,
    FormatError,
    InputError,
    NotOnRollError,
    OstrakaError,
    OtherPollError,
    ParameterError,
    RateError,
    ServiceError,
    ShapeError,
    SignatureError,
    SizeError,
    StateError,
)
from ostraka.exchange import JoinCode
from ostraka.service import polls
from ostraka.signing import SecretKey
from tests.client.served import Answer, Asked, Clock, Stranger
from tests.service.made import a_poll

Connect = Callable[..., Client]
DIGEST = "0" * 64
ERRORS = [
    InputError("It is so.", "Do so."),
    ParameterError("x", got="ünïcode", allowed="2"),
    ShapeError("samples", got=(1,), allowed="(2,)"),
    OtherPollError("x", "a" * 64, "b" * 64),
    NotOnRollError("x"),
    SignatureError("It was changed.", "Get it anew."),
    AbsentError("There is none.", "Look."),
    StateError("It is over.", "Wait."),
    SizeError("The form", got=None, most=10),
    AccessError("No.", "Ask.", known=True),
    AccessError("Who?", "Join."),
    FormatError("poll", "it is ∅"),
    BudgetError("x", asked="ε = 2", left="ε = 1", short=1.0, n_others=0),
]


def said(value: Any, status: int = 200, **headers: str) -> Answer:
    """JSON."""
    kind = PROBLEM if status >= 400 else "application/json"
    return Answer(status, json.dumps(value).encode(), {"Content-Type": kind, **headers})


def problem(status: int, kind: str, told: Any = "It is so.", **headers: str) -> Answer:
    return said({"type": f"{TYPE}{kind}", "detail": told}, status, **headers)


# ---- errors of the service -----------------------------------------------------------------------


@pytest.mark.parametrize("error", ERRORS, ids=lambda each: type(each).__name__)
def test_an_error_of_the_library_comes_back_as_itself(
    admin: Client, monkeypatch: pytest.MonkeyPatch, error: OstrakaError
) -> None:
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(polls, "open_poll", fail)
    with pytest.raises(type(error).__mro__[1 if isinstance(error, NotOnRollError) else 0]) as told:
        admin.open_poll(DIGEST)
    assert str(told.value) == str(error)
    assert isinstance(told.value, InputError | OstrakaError)


def test_a_fault_of_the_service_is_not_ones_own(
    admin: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise ZeroDivisionError("inner words")

    monkeypatch.setattr(polls, "open_poll", fail)
    with pytest.raises(ServiceError, match="has a fault of its own") as told:
        admin.open_poll(DIGEST)
    assert "inner words" not in str(told.value)
    assert admin.address in str(told.value)


@pytest.mark.parametrize("kind", ["Unheard", "", "OSError", "ValueError", "__class__", "a b"])
def test_a_kind_that_nobody_knows(connect: Connect, stranger: Stranger, kind: str) -> None:
    stranger.says(problem(409, kind))
    with pytest.raises(InputError) as told:
        connect(stranger.address).me()
    assert str(told.value) == "It is so."


# ---- strangers -----------------------------------------------------------------------------------


FOREIGN = {
    "a page": Answer(200, b"<html>Welcome</html>", {"Content-Type": "text/html"}),
    "nothing": Answer(200, b""),
    "bytes": Answer(200, b"\xff\xfe\x00"),
    "a list": said([]),
    "a text": said("hello"),
    "null": said(None),
    "an empty object": said({}),
    "a number of many digits": Answer(200, b'{"role": ' + b"9" * 5000 + b"}"),
    "a deep list": Answer(200, b"[" * 10**5),
    "not a service's key": said({"key": "x", "earlier": []}),
    "a page with an error": Answer(404, b"<html>404</html>", {"Content-Type": "text/html"}),
    "JSON with an error": Answer(404, b'{"detail": "no"}', {"Content-Type": "application/json"}),
    "a problem that says nothing": said({"type": "x"}, 404),
    "a problem of another form": said(["x"], 404),
    "a problem that is no JSON": Answer(404, b"{", {"Content-Type": PROBLEM}),
    "a deep problem": Answer(404, b"[" * 10**5, {"Content-Type": PROBLEM}),
    "not changed": Answer(304),
    "another encoding": Answer(200, b"junk", {"Content-Encoding": "gzip"}),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_is_no_answer_of_ours(connect: Connect, stranger: Stranger, name: str) -> None:
    stranger.says(FOREIGN[name])
    client = connect(stranger.address)
    for ask in (client.me, client.identity, client.terms, lambda: list(client.polls())):
        with pytest.raises(ServiceError, match="does not answer as one of ours"):
            ask()


@pytest.mark.parametrize("content", [b"", b"junk", b"[]", b"{}", b"\xff", b"[" * 10**5])
def test_files_that_are_none(connect: Connect, stranger: Stranger, content: bytes) -> None:
    stranger.says(Answer(200, content))
    client = connect(stranger.address)
    for ask in (client.manifest, client.poll_signature, client.release):
        with pytest.raises(OstrakaError):
            ask(DIGEST)
    with pytest.raises(OstrakaError):
        client.contribute(DIGEST, b"x")


def test_answers_without_end(
    connect: Connect, stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LARGEST_ANSWER", 1000)
    monkeypatch.setattr(module, "LARGEST_PROBLEM", 100)
    client = connect(stranger.address)
    for status, n in ((200, 1001), (404, 101)):
        stranger.says(Answer(status, b"x" * n, {"Content-Type": PROBLEM}))
        with pytest.raises(ServiceError, match="does not answer as one of ours"):
            client.poll_file(DIGEST)
    stranger.says(Answer(200, b"x" * 1000))
    assert len(client.poll_file(DIGEST)) == 1000


def test_a_small_file_that_unpacks_to_a_giant(
    connect: Connect, stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    import gzip

    monkeypatch.setattr(module, "LARGEST_ANSWER", 10_000)
    packed = gzip.compress(b"\0" * 10**7)
    assert len(packed) < 10_000 * 2
    stranger.says(Answer(200, packed, {"Content-Encoding": "gzip"}))
    with pytest.raises(ServiceError, match="does not answer as one of ours"):
        connect(stranger.address).poll_file(DIGEST)


def page(following: Any, *items: Any) -> Answer:
    return said({"items": list(items), "next": following})


PARTY = {"name": "a", "joined": "2026-01-01", "has_key": True, "revoked": False}


def most_of(client: Client, n: int) -> None:
    """No more than n of a list that should have ended."""
    for index, _ in enumerate(client.parties()):
        if index > n:
            pytest.fail("it goes on for ever")


def test_the_same_page_again_and_again(connect: Connect, stranger: Stranger) -> None:
    stranger.says(page("a", PARTY))
    with pytest.raises(ServiceError, match="does not answer as one of ours"):
        most_of(connect(stranger.address), 10)


def test_pages_in_a_circle(
    connect: Connect, stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_PAGES", 20)
    stranger.says(*(page("ab"[n % 2], PARTY) for n in range(200)))
    with pytest.raises(ServiceError, match="does not answer as one of ours"):
        most_of(connect(stranger.address), 50)


def test_empty_pages_one_after_the_other(
    connect: Connect, stranger: Stranger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_PAGES", 20)
    stranger.says(*(page(str(n)) for n in range(50)), page(None))
    with pytest.raises(ServiceError, match="does not answer as one of ours"):
        most_of(connect(stranger.address), 10)


@pytest.mark.parametrize("following", ["\ud800", "a" * 10**6, {"x": 1}, 1e400, "\x00"])
def test_next_pages_that_there_cannot_be(
    connect: Connect, stranger: Stranger, following: Any
) -> None:
    stranger.says(page(following, PARTY))
    with pytest.raises(ServiceError, match="does not answer as one of ours"):
        most_of(connect(stranger.address), 10)


# ---- what may end on a terminal ------------------------------------------------------------------


HOSTILE = "\x1b[2J\u202eevil\n\u2028\x00"


@pytest.mark.parametrize("status", [400, 404, 422, 500])
@pytest.mark.parametrize("kind", ["InputError", "ServiceError", "FormatError", "ParameterError"])
def test_control_characters_in_errors(
    connect: Connect, stranger: Stranger, status: int, kind: str
) -> None:
    stranger.says(problem(status, kind, HOSTILE + "told" + HOSTILE))
    with pytest.raises(OstrakaError) as told:
        connect(stranger.address).me()
    assert "told" in str(told.value)
    assert str(told.value).isprintable()


@pytest.mark.parametrize("told", ["x" * 10**5, ["x"] * 10**4, {"x": HOSTILE}, 5, None])
def test_errors_of_any_length_and_type(connect: Connect, stranger: Stranger, told: Any) -> None:
    stranger.says(problem(422, "InputError", told))
    with pytest.raises(OstrakaError) as caught:
        connect(stranger.address).me()
    assert len(str(caught.value)) <= LONGEST_TEXT + 200
    assert str(caught.value).isprintable()


def test_control_characters_in_values(connect: Connect, stranger: Stranger) -> None:
    client, name = connect(stranger.address), HOSTILE
    code = str(JoinCode.create(SecretKey.create().public))
    answers: list[tuple[Callable[[], Any], Any]] = [
        (client.me, {"role": "party", "name": name, "account": None}),
        (client.terms, {"budget": {name: 1.0}, "protects": "party"}),
        (lambda: list(client.parties()), {"items": [{**PARTY, "name": name}], "next": None}),
        (
            lambda: list(client.audit()),
            {"items": [{"id": 1, "at": "", "who": name, "what": "", "about": ""}], "next": None},
        ),
        (
            lambda: client.invite(["a"]),
            {"items": [{"name": name, "code": code}], "next": None},
        ),
    ]
    for ask, held in answers:
        stranger.says(said(held))
        with pytest.raises(ServiceError, match="does not answer as one of ours") as told:
            ask()
        assert str(told.value).isprintable()


# ---- again, later --------------------------------------------------------------------------------


@pytest.mark.parametrize("status", LATER)
def test_later_is_tried_again(
    connect: Connect, stranger: Stranger, clock: Clock, status: int
) -> None:
    stranger.says(*[Answer(status)] * 3, said({"role": "reader", "name": "r", "account": None}))
    assert connect(stranger.address).me().name == "r"
    assert len(clock.slept) == 3


def test_a_lost_connection_is_tried_again(
    connect: Connect, stranger: Stranger, clock: Clock
) -> None:
    """Also one that breaks in the middle of an answer; what was to be sent is sent whole."""
    cut = Answer(200, b"{", announced=100)
    stranger.says(Answer(None), cut, said({"items": [], "next": None}))
    assert connect(stranger.address).invite(["a"]) == []
    assert [each.method for each in stranger.asked] == ["POST"] * 3
    assert len({each.headers["Content-Length"] for each in stranger.asked}) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422, 500, 501])
def test_what_will_not_pass_is_not_tried_again(
    connect: Connect, stranger: Stranger, clock: Clock, status: int
) -> None:
    stranger.says(problem(status, "InputError"))
    with pytest.raises(InputError):
        connect(stranger.address).me()
    assert (len(stranger.asked), clock.slept) == (1, [])


def test_it_waits_as_long_as_it_is_told(connect: Connect, stranger: Stranger, clock: Clock) -> None:
    me = said({"role": "reader", "name": "r", "account": None})
    stranger.says(problem(429, "RateError", **{"Retry-After": "7"}), me)
    connect(stranger.address).me()
    assert clock.slept == [7.0]


@pytest.mark.parametrize("told", ["soon", "-5", "1e9", "٣", "", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_times_that_are_none(connect: Connect, stranger: Stranger, clock: Clock, told: str) -> None:
    me = said({"role": "reader", "name": "r", "account": None})
    headers = {"Retry-After": told.encode("utf-8").decode("latin-1")}
    stranger.says(Answer(503, headers=headers), me)
    connect(stranger.address).me()
    assert len(clock.slept) == 1
    assert 0.0 < clock.slept[0] <= module.FIRST_PAUSE


def test_it_never_waits_for_ever(connect: Connect, stranger: Stranger, clock: Clock) -> None:
    """Nobody's word makes it wait longer than its own patience."""
    stranger.says(problem(429, "RateError", **{"Retry-After": "9" * 400}))
    with pytest.raises(RateError):
        connect(stranger.address, patience=30.0).me()
    assert clock.slept == []


@pytest.mark.parametrize("patience", [0.0, 1.0, 60.0, 300.0])
@pytest.mark.parametrize("lost", [False, True])
def test_it_gives_up(
    connect: Connect, stranger: Stranger, clock: Clock, patience: float, lost: bool
) -> None:
    stranger.says(Answer(None if lost else 503))
    with pytest.raises(ServiceError, match="does not answer" if lost else "is not there"):
        connect(stranger.address, patience=patience).me()
    assert sum(clock.slept) <= patience
    assert sum(clock.slept) >= patience - module.LONGEST_PAUSE
    assert len(stranger.asked) == len(clock.slept) + 1
    assert max(clock.slept, default=0.0) <= module.LONGEST_PAUSE


def test_pauses_grow_and_differ(connect: Connect, stranger: Stranger, clock: Clock) -> None:
    """So that clients of a service that was away do not come back all at once."""
    stranger.says(Answer(503))
    for _ in range(2):
        with pytest.raises(ServiceError):
            connect(stranger.address, patience=10.0).me()
    n = len(clock.slept) // 2
    assert clock.slept[:n] != clock.slept[n : 2 * n]
    for index, slept in enumerate(clock.slept[:4]):
        assert module.FIRST_PAUSE * 2**index / 2 <= slept <= module.FIRST_PAUSE * 2**index


def test_nobody_there(connect: Connect, clock: Clock) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(ServiceError, match="does not answer") as told:
        connect(address, patience=1.0).me()
    assert address in str(told.value)


# ---- the token -----------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_token_goes_nowhere_else(connect: Connect, stranger: Stranger, status: int) -> None:
    def elsewhere(asked: Asked) -> Answer:
        return Answer(status, headers={"Location": f"{stranger.address}/v1/elsewhere"})

    stranger.says(elsewhere)
    client = connect(stranger.address, "ostraka_secret")
    for ask in (client.me, lambda: client.contribute(DIGEST, b"x")):
        with pytest.raises(ServiceError, match="does not answer as one of ours"):
            ask()
    assert not any("elsewhere" in asked.path for asked in stranger.asked)
    assert {asked.headers["Authorization"] for asked in stranger.asked} == {"Bearer ostraka_secret"}


def test_without_a_token_none_is_sent(connect: Connect, stranger: Stranger) -> None:
    stranger.says(Answer(404))
    with pytest.raises(ServiceError):
        connect(stranger.address).me()
    assert "Authorization" not in stranger.asked[0].headers


@pytest.mark.parametrize(
    "token",
    [
        "secret words",
        "secret\nwords",
        "secret\r\nX-Other: 1",
        "sécret",
        "secret\x00",
        "秘密secret",
        "secret\tx",
        "secret\x7f",
        "secret\u200b",
    ],
)
def test_odd_tokens_are_refused_and_not_shown(token: str) -> None:
    with pytest.raises(InputError, match="has characters that no token has") as told:
        Client("http://127.0.0.1:1", token)
    assert "secret" not in str(told.value)


def test_space_around_a_token_does_not_matter(connect: Connect, stranger: Stranger) -> None:
    stranger.says(Answer(404))
    with pytest.raises(ServiceError):
        connect(stranger.address, " ostraka_x\n").me()
    assert stranger.asked[0].headers["Authorization"] == "Bearer ostraka_x"


@pytest.mark.parametrize("address", ["http://[", "http://x:99999", "http://\x00", "http://a b"])
def test_addresses_that_are_none(clock: Clock, address: str) -> None:
    """People's are read before (`read_address`); these could stand in a file."""
    with pytest.raises((ParameterError, ServiceError)), Client(address, patience=0.0) as client:
        client.me()


# ---- every request -------------------------------------------------------------------------------


def test_odd_names_stay_in_their_place(connect: Connect, stranger: Stranger) -> None:
    stranger.says(Answer(404))
    client = connect(stranger.address)
    for name in ("a/../../x", "a?b#c", "ä ö", "%2e%2e", "\x1b", "../x"):
        with pytest.raises(ServiceError):
            client.hand_in(DIGEST, name, b"x")
        place = f"/v1/polls/{DIGEST}/contributions/"
        path = stranger.asked[-1].path
        assert path.startswith(place)
        assert not set("/?#") & set(path.removeprefix(place))


@pytest.mark.parametrize("name", [".", ".."])
def test_parties_whose_names_are_dots(connect: Connect, stranger: Stranger, name: str) -> None:
    """Their files go to their own address, and not to the one above."""
    stranger.says(Answer(404))
    with pytest.raises(ServiceError):
        connect(stranger.address).hand_in(DIGEST, name, b"x")
    place = f"/v1/polls/{DIGEST}/contributions/"
    assert stranger.asked[0].path.startswith(place)
    assert stranger.asked[0].path != place


def test_an_admins_requests(admin: Client, connect: Connect) -> None:
    """Every method once, against a service of ours."""
    assert admin.me().role == "admin"
    assert admin.terms().protects == "party"
    poll = a_poll(title="Stroke")
    assert admin.add_poll(poll.digest, poll.to_bytes()).state == "draft"
    assert admin.open_poll(poll.digest).state == "open"
    assert admin.poll(poll.digest).title == "Stroke"
    assert admin.poll_file(poll.digest) == poll.to_bytes()
    admin.poll_signature(poll.digest).check(poll.to_bytes())
    assert [one.digest for one in admin.polls()] == [poll.digest]
    assert [one.digest for one in admin.polls("draft")] == []
    for name in ("a", "b"):
        content = poll.contribute([[0.0] * 3] * 2, ["ill", "well"], name).to_bytes()
        admin.hand_in(poll.digest, name, content).check(admin.identity().key)
    assert [one.party for one in admin.contributors(poll.digest)] == ["a", "b"]
    assert [one.name for one in admin.parties("a")] == ["a"]
    admin.allow(["c"], epsilon=3.0, delta=1e-6)
    (account,) = admin.accounts("c")
    assert account.budget["epsilon"] == 3.0
    ((name, code),) = admin.invite(["d"], days=1)
    assert name == "d"
    assert code.fingerprint
    assert [one.name for one in admin.invited()] == ["d"]
    assert list(admin.invited("reader")) == []
    admin.revoke("a")
    assert list(admin.charges()) == []
    assert "revoked party" in [line["what"] for line in admin.audit()]
    assert admin.abandon_poll(poll.digest).state == "abandoned"


def test_a_release_of_a_service(admin: Client, service: Any) -> None:
    from ostraka.service import closing
    from tests.service.made import filled

    poll, receipts = filled(service, ["a", "b", "c"])
    assert admin.close_poll(poll.digest, ["c"]).state in ("closed", "released")
    closing.finish(service, poll.digest)
    content, signature = admin.release(poll.digest)
    signature.check(content)
    listed = admin.manifest(poll.digest)
    assert [listed.counts(each.commitment) for each in receipts] == [True, True, False]
    (charge,) = admin.charges()
    assert (charge.parties, charge.cost["epsilon"]) == (2, 1.0)
