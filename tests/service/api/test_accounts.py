"""Accounts over HTTP: what parties have spent, what they may, and what admins have done."""

from __future__ import annotations

from typing import Any

import pytest

from ostraka.service import closing
from ostraka.service.service import Service
from tests.service.api.asking import Api, People, check_problem
from tests.service.made import ADMIN, a_poll, filled

both = pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)


def release(service: Service, *names: str, **changes: Any) -> str:
    """A poll that these have paid for."""
    poll, _ = filled(service, names, a_poll(**changes))
    closing.freeze(service, ADMIN, poll.digest)
    closing.finish(service, poll.digest)
    return poll.digest


def test_what_everybody_may_lose(api: Api, people: People) -> None:
    held = api.get("/budget", people.admin).json()
    assert held == {"budget": {"epsilon": 10.0, "delta": 1e-5}, "protects": "party"}


@both
def test_who_has_spent_what(api: Api, people: People, service: Service) -> None:
    release(service, "y", "x", epsilon=2.0)
    items = api.get("/accounts", people.admin).json()["items"]
    assert [one["party"] for one in items] == ["x", "y"]
    for one in items:
        assert one["spent"]["epsilon"] == 2.0
        assert one["left"]["epsilon"] == 8.0
        assert one["releases"] == 1


def test_of_nobody_with_these_letters(api: Api, people: People, service: Service) -> None:
    release(service, "x", "y")
    for search in ("z", "%", "_", "xy", "\\"):
        held = api.get("/accounts", people.admin, params={"search": search}).json()
        assert held == {"items": [], "next": None}
    (found,) = api.get("/accounts", people.admin, params={"search": " X "}).json()["items"]
    assert found["party"] == "x"


@both
def test_another_budget(api: Api, people: People) -> None:
    form = {"names": ["A", "c"], "epsilon": 20.0, "delta": 1e-6}
    answer = api.post("/allowances", people.admin, json=form)
    assert (answer.status_code, answer.content) == (204, b"")
    held = api.get("/accounts", people.admin).json()["items"]
    assert [(one["party"], one["budget"]["epsilon"]) for one in held] == [("a", 20), ("c", 20)]
    assert api.get("/me", people.party).json()["account"]["budget"]["epsilon"] == 20
    assert api.get("/me", people.other).json()["account"]["budget"]["epsilon"] == 10
    line = api.get("/audit", people.admin).json()["items"][-1]
    assert line["what"].startswith("allowed")
    assert (line["who"], line["about"]) == ("admin ann", "a, c")


def test_once_charged_only_a_lower_one(api: Api, people: People, service: Service) -> None:
    release(service, "x", "y")
    for epsilon, expected in ((11.0, False), (9.0, True), (9.5, False)):
        form = {"names": ["x"], "epsilon": epsilon, "delta": 1e-5}
        answer = api.post("/allowances", people.admin, json=form)
        assert (answer.status_code == 204) is expected
        if not expected:
            check_problem(answer, answer.status_code, answer.json()["type"].split(":")[-1])
    (held,) = api.get("/accounts", people.admin, params={"search": "x"}).json()["items"]
    assert held["budget"]["epsilon"] == 9.0


@pytest.mark.parametrize(
    "given",
    [
        b'{"names": ["x"]}',
        b'{"names": ["x"], "epsilon": 0}',
        b'{"names": ["x"], "epsilon": -1}',
        b'{"names": ["x"], "epsilon": NaN}',
        b'{"names": ["x"], "epsilon": Infinity}',
        b'{"names": ["x"], "epsilon": 1e999}',
        b'{"names": ["x"], "epsilon": 1, "delta": 1}',
        b'{"names": ["x"], "epsilon": 1, "rho": 1}',
        b'{"names": ["x"], "rho": 1}',
        b'{"names": ["x"], "delta": 1e-6}',
        b'{"names": [], "epsilon": 1}',
        b'{"names": ["x", "X"], "epsilon": 1}',
        b'{"names": ["x"], "epsilon": 1, "budget": 2}',
    ],
)
def test_budgets_that_make_no_sense(api: Api, people: People, given: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = api.post("/allowances", people.admin, content=given, headers=headers)
    assert answer.status_code == 422, answer.text
    check_problem(answer, 422, answer.json()["type"].rpartition(":")[2])
    assert api.get("/accounts", people.admin).json()["items"] == []


@both
def test_every_charge(api: Api, people: People, service: Service) -> None:
    first = release(service, "w", "x", epsilon=1.5)
    second = release(service, "y", "z", "x2", epsilon=0.5)
    items = api.get("/charges", people.admin).json()["items"]
    assert [one["cost"]["epsilon"] for one in items] == [1.5, 0.5]
    assert [one["parties"] for one in items] == [2, 3]
    assert len({one["release"] for one in items}) == 2
    assert first != second
    assert not any(name in str(items) for name in ("'w'", "'x'", "'y'")), "no names"


def test_what_admins_have_done(api: Api, people: People, service: Service) -> None:
    digest = release(service, "x", "y")
    lines = api.get("/audit", people.admin).json()["items"]
    assert [line["id"] for line in lines] == sorted(line["id"] for line in lines)
    done = [line["what"] for line in lines]
    assert done[-4:] == ["drafted a poll", "opened a poll", "invited as party", "closed a poll"]
    assert lines[-1]["about"] == digest
    assert lines[-1]["who"] == "admin ann"
