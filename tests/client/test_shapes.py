"""What a service answers, as values: of the form that is expected, or refused."""

from __future__ import annotations

from typing import Any

import pytest

from ostraka.client import shapes
from ostraka.errors import SignatureError
from ostraka.exchange import JoinCode, Succession, admission
from ostraka.signing import SecretKey
from tests.sealing.made import SERVERS

OLD, NEW = SecretKey.create(), SecretKey.create()
LINK = Succession.sign(OLD, NEW.public)
ACCOUNT = {"party": "a", "budget": {"epsilon": 1}, "spent": {}, "left": {}, "releases": 0}
MINE = {"revision": 1, "commitment": "ab" * 32, "handed_in": False, "unread": False}
FACTS = {
    "classes": ["ill", "well"],
    "columns": None,
    "method": "moments",
    "epsilon": 1.0,
    "delta": None,
    "protects": "party",
    "least_parties": 2,
    "expected": 5,
    "numbers": 12,
    "bytes": 100,
    "evaluates": False,
}
POLL = {
    "digest": "0" * 64,
    "title": "Stroke",
    "state": "open",
    "contributions": 3,
    "persons": None,
    "release": None,
    "facts": FACTS,
    "price": {"epsilon": 1.0},
    "mine": MINE,
    "trouble": None,
}
GOOD: dict[str, tuple[Any, dict[str, Any]]] = {
    "joined": (
        shapes.Joined.read,
        {"role": "party", "name": "a", "token": "t", "signature": "00" * 64},
    ),
    "identity": (
        shapes.Identity.read,
        {
            "key": str(NEW.public),
            "earlier": [
                {
                    "old": str(OLD.public),
                    "new": str(NEW.public),
                    "signature": LINK.signature.hex(),
                }
            ],
            "archive": False,
            "card": SERVERS.coordinator.to_json(),
        },
    ),
    "me": (shapes.Me.read, {"role": "party", "name": "a", "account": ACCOUNT}),
    "mine": (shapes.Mine.read, MINE),
    "poll": (shapes.PollState.read, POLL),
    "account": (shapes.Account.read, ACCOUNT),
    "terms": (shapes.Terms.read, {"budget": {"epsilon": 1.5}, "protects": "party"}),
    "charged": (
        shapes.Charged.read,
        {"id": 1, "day": "2026-01-01", "note": "", "parties": 2, "cost": {}, "release": None},
    ),
    "contributor": (shapes.Contributor.read, {"party": "a", "revision": 0, "handed_in": True}),
    "party": (
        shapes.Party.read,
        {"name": "a", "joined": "2026-01-01", "has_key": True, "revoked": False},
    ),
    "waiting": (shapes.Invited.read, {"name": "a", "role": "party", "until": "2026-01-01"}),
    "invited": (shapes.read_invited, {"name": "a", "code": str(JoinCode.create(NEW.public))}),
    "line": (shapes.read_line, {"id": 1, "at": "x", "who": "x", "what": "x", "about": "x"}),
}
REFUSED = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What the client takes for an answer of somebody else's."""
OPEN = {("poll", "facts", "columns"), ("poll", "facts", "numbers"), ("poll", "facts", "bytes")}
"""Facts that nobody is shown."""


def places(held: Any, *before: Any) -> list[tuple[Any, ...]]:
    """Where in an answer something stands."""
    if isinstance(held, dict):
        found = [(*before, name) for name in held]
        return found + [each for name in held for each in places(held[name], *before, name)]
    if isinstance(held, list):
        return [each for index, one in enumerate(held) for each in places(one, *before, index)]
    return []


def changed(held: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    made = dict(held) if isinstance(held, dict) else list(held)
    made[place[0]] = changed(held[place[0]], place[1:], value)
    return made


def at(held: Any, place: tuple[Any, ...]) -> Any:
    for step in place:
        held = held[step]
    return held


ALL = [(name, place) for name, (_, held) in GOOD.items() for place in places(held)]


@pytest.mark.parametrize("name", GOOD)
def test_an_answer_of_the_right_form(name: str) -> None:
    read, held = GOOD[name]
    assert read(held) == read({**held, "more": "of a later version"})


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("held", [None, [], "x", 1, {}, True, [[]]])
def test_an_answer_of_another_form(name: str, held: Any) -> None:
    with pytest.raises(REFUSED):
        GOOD[name][0](held)


@pytest.mark.parametrize(("name", "place"), ALL)
def test_control_characters_never_come_through(name: str, place: tuple[Any, ...]) -> None:
    read, held = GOOD[name]
    with pytest.raises(REFUSED):
        read(changed(held, place, "\x1b[2J"))


@pytest.mark.parametrize(("name", "place"), ALL)
def test_every_text_is_text_and_every_number_a_number(name: str, place: tuple[Any, ...]) -> None:
    read, held = GOOD[name]
    now = at(held, place)
    for value in ("x", 1, 1.5, True, float("nan"), float("inf"), [1], {"x": "y"}):
        alike = type(value) is type(now) or {type(value), type(now)} <= {int, float}
        if alike and value == value and abs(value if isinstance(value, float) else 0) < 2:
            continue
        if now is None or (name, *place) in OPEN or place[-1] in ("classes", "evaluates"):
            continue
        with pytest.raises(REFUSED):
            read(changed(held, place, value))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), True, "1", None])
@pytest.mark.parametrize("place", [("budget", "epsilon"), ("spent",), ("left",), ("releases",)])
def test_numbers_that_are_none(place: tuple[str, ...], value: Any) -> None:
    with pytest.raises(REFUSED):
        shapes.Account.read(changed(ACCOUNT, place, value))


def test_names_of_facts_are_printable_too() -> None:
    for facts in ({**FACTS, "\x1b": 1}, {**FACTS, "more": ["x", {"y": ["\n"]}]}):
        with pytest.raises(REFUSED):
            shapes.PollState.read({**POLL, "facts": facts})


def test_the_next_page_is_named_by_text() -> None:
    assert [shapes.read_next(each) for each in (None, "a", "7")] == [None, "a", "7"]
    for held in ("\ud800", "\x00", 5, 1.5, True, [], {"x": "y"}):
        with pytest.raises(REFUSED):
            shapes.read_next(held)


def test_whoever_joined_hears_it_from_the_service() -> None:
    service, key = SecretKey.create(), SecretKey.create()
    said = admission(key.public, "party", "a", "t")
    held = {"role": "party", "name": "a", "token": "t", "signature": service.sign(said).hex()}
    shapes.Joined.read(held).check(service.public, key.public)
    for change in ({"role": "admin"}, {"name": "b"}, {"token": "u"}, {"signature": "00" * 64}):
        with pytest.raises(SignatureError):
            shapes.Joined.read({**held, **change}).check(service.public, key.public)
    for known, own in ((key.public, key.public), (service.public, service.public)):
        with pytest.raises(SignatureError):
            shapes.Joined.read(held).check(known, own)
