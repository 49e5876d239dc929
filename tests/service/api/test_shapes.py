"""Forms in and out: nothing beside what is named, and nothing out of its range."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from ostraka.client import shapes as read
from ostraka.service.api import shapes
from ostraka.service.service import Service
from tests.service.api.asking import Api, People
from tests.service.made import add_poll, arrive, upload

PROOF, NAME = "ab" * 64, "c" * 500
FORMS: list[tuple[type[shapes.Shape], dict[str, Any]]] = [
    (shapes.JoinShape, {"code": "k", "key": "k" * 60, "by_code": PROOF, "by_key": PROOF}),
    (shapes.RenewalShape, {"key": "k", "by_old": PROOF, "by_new": PROOF}),
    (shapes.InvitationShape, {"names": [NAME]}),
    (shapes.RevocationShape, {"name": NAME}),
    (shapes.AllowanceShape, {"names": ["c"], "epsilon": 1.0}),
    (shapes.ClosingShape, {"leave_out": ["c"]}),
]


@pytest.mark.parametrize(("kind", "good"), FORMS)
def test_nothing_beside_what_is_named(kind: type[shapes.Shape], good: dict[str, Any]) -> None:
    kind(**good)
    with pytest.raises(ValidationError):
        kind(**good, more=1)
    for name in good:
        for wrong in (None, 1, {"x": 1}, [[]]):
            if not (name == "epsilon" and wrong in (None, 1)):
                with pytest.raises(ValidationError):
                    kind(**{**good, name: wrong})


@pytest.mark.parametrize(
    ("kind", "good", "change"),
    [
        (shapes.JoinShape, FORMS[0][1], {"key": "k" * 61}),
        (shapes.JoinShape, FORMS[0][1], {"by_code": PROOF.upper()}),
        (shapes.JoinShape, FORMS[0][1], {"by_key": PROOF + "\n"}),
        (shapes.JoinShape, FORMS[0][1], {"code": "x" * 10_000}),
        (shapes.InvitationShape, FORMS[2][1], {"names": ["c"] * 100_001}),
        (shapes.InvitationShape, FORMS[2][1], {"names": [NAME + "c"]}),
        (shapes.InvitationShape, FORMS[2][1], {"days": 0}),
        (shapes.InvitationShape, FORMS[2][1], {"days": 366}),
        (shapes.InvitationShape, FORMS[2][1], {"role": "owner"}),
        (shapes.RevocationShape, FORMS[3][1], {"role": "owner"}),
        (shapes.AllowanceShape, FORMS[4][1], {"epsilon": 0.0}),
        (shapes.AllowanceShape, FORMS[4][1], {"epsilon": float("inf")}),
        (shapes.AllowanceShape, FORMS[4][1], {"epsilon": float("nan")}),
        (shapes.AllowanceShape, FORMS[4][1], {"delta": 1.0}),
        (shapes.AllowanceShape, FORMS[4][1], {"rho": -1.0}),
    ],
)
def test_out_of_range(
    kind: type[shapes.Shape], good: dict[str, Any], change: dict[str, Any]
) -> None:
    with pytest.raises(ValidationError):
        kind(**{**good, **change})


@pytest.mark.parametrize(
    ("path", "shape", "value"),
    [
        ("/service", shapes.ServiceShape, read.Identity),
        ("/me", shapes.MeShape, read.Me),
        ("/polls/{digest}", shapes.PollShape, read.PollState),
        ("/polls/{digest}/contribution", shapes.MineShape, read.Mine),
    ],
)
def test_what_the_service_writes_the_client_reads(
    api: Api, people: People, service: Service, path: str, shape: Any, value: Any
) -> None:
    poll = add_poll(service)
    arrive(service, (poll, people.party, upload(poll, people.party)))
    held = api.get(path.replace("{digest}", poll.digest), people.party).json()
    assert set(held) == set(shape.model_fields)
    made = value.read(held)
    for name in held:
        assert hasattr(made, name) or path == "/service"


@pytest.mark.parametrize(
    ("path", "shape", "value"),
    [
        ("/parties", shapes.PartyShape, read.Party),
        ("/polls", shapes.PollShape, read.PollState),
        ("/polls/{digest}/contributions", shapes.ContributorShape, read.Contributor),
    ],
)
def test_lists_that_the_client_reads(
    api: Api, people: People, service: Service, path: str, shape: Any, value: Any
) -> None:
    poll = add_poll(service)
    arrive(service, (poll, people.party, upload(poll, people.party)))
    held = api.get(path.replace("{digest}", poll.digest), people.admin).json()
    assert set(held) == {"items", "next"}
    assert held["items"]
    for one in held["items"]:
        assert set(one) == set(shape.model_fields)
        value.read(one)
