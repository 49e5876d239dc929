"""A sealed poll at a service: closed, asked about, answered once, released."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from ostraka.errors import (
    FormatError,
    InputError,
    KeyMismatchError,
    SealError,
    SignatureError,
    StateError,
)
from ostraka.exchange import Receipt
from ostraka.poll import Poll
from ostraka.release import Release
from ostraka.sealing import Card, Servers
from ostraka.service import closing, handing_in, polls, rotation, sealed
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from ostraka.service.storage import contributions, tables
from ostraka.trustee import Answer, Desk, Request
from tests.laws.sealed import new_desk
from tests.service.made import (
    ADMIN,
    READER,
    Member,
    a_poll,
    add_poll,
    arrive,
    contribution,
    joined,
    rows,
    upload,
    who_is,
)

NAMES = ("a", "b", "c", "d")


@dataclass(frozen=True)
class Made:
    service: Service
    desk: Desk
    poll: Poll

    @property
    def digest(self) -> str:
        return self.poll.digest

    def request(self) -> Request:
        return Request.from_bytes(sealed.request(self.service, self.digest, ADMIN))

    def answer(self) -> bytes:
        return self.desk.answer(self.request()).to_bytes()


@pytest.fixture
def made(service: Service, tmp_path: Path) -> Made:
    """Closed, with four parties."""
    desk = new_desk(tmp_path / "desk")
    poll = sealed_poll(service, desk)
    add_poll(service, poll)
    sent = [(poll, each, upload(poll, each)) for each in joined(service, *NAMES)]
    answers = arrive(service, *sent)
    assert all(isinstance(each, Receipt) for each in answers), answers
    closing.freeze(service, ADMIN, poll.digest)
    return Made(service, desk, poll)


def sealed_poll(service: Service, desk: Desk, **changes: Any) -> Poll:
    card = Card.of("coordinator", service.key)
    servers = Servers(coordinator=card, trustee=desk.card)
    return a_poll(servers=servers, title="Sealed", **changes)


def test_from_closing_to_the_release(made: Made) -> None:
    with pytest.raises(StateError, match="waits for the answer of its trustee, Desk"):
        closing.finish(made.service, made.digest)
    assert made.service.ledger().history() == []
    sealed.take_answer(made.service, ADMIN, made.digest, made.answer())
    closing.finish(made.service, made.digest)
    release = Release.from_bytes(closing.release(made.service, made.digest, READER)[0])
    assert release.certificate == made.poll.certificate(4)
    assert release.certificate.servers[1] == str(made.desk.card)
    (charge,) = made.service.ledger().history()
    assert charge.certificate == release.certificate.digest
    closing.finish(made.service, made.digest)
    assert len(made.service.ledger().history()) == len(made.desk.ledger.history()) == 1


def test_a_request_is_the_same_whoever_asks_and_when(made: Made) -> None:
    first = sealed.request(made.service, made.digest, ADMIN)
    assert sealed.request(made.service, made.digest, ADMIN) == first
    assert [entry.party for entry in made.request().entries] == list(NAMES)


def test_an_answer_counts_once(made: Made) -> None:
    content = made.answer()
    for _ in range(2):
        sealed.take_answer(made.service, ADMIN, made.digest, content)
    other = Answer.sign(
        made.request(), ("a",), np.zeros(made.poll.domain.dimension, dtype=np.uint64),
        made.desk.secret,
    )  # fmt: skip
    with pytest.raises(StateError, match="answered already"):
        sealed.take_answer(made.service, ADMIN, made.digest, other.to_bytes())
    closing.finish(made.service, made.digest)
    sealed.take_answer(made.service, ADMIN, made.digest, content)
    with made.service.database.read() as connection:
        assert connection.execute(select(tables.answer.c.content)).scalars().all() == [content]


def test_answers_that_are_none(made: Made) -> None:
    forged = Answer.sign(
        made.request(), (), np.zeros(made.poll.domain.dimension, dtype=np.uint64), made.service.key
    )
    with pytest.raises(SignatureError):
        sealed.take_answer(made.service, ADMIN, made.digest, forged.to_bytes())
    with pytest.raises(FormatError):
        sealed.take_answer(made.service, ADMIN, made.digest, b"rubbish")
    closing_waits(made)


def closing_waits(made: Made) -> None:
    with pytest.raises(StateError, match="waits for the answer"):
        closing.finish(made.service, made.digest)


def test_whoever_the_trustee_cannot_read_falls_out_and_is_not_charged(
    service: Service, tmp_path: Path
) -> None:
    desk = new_desk(tmp_path / "desk")
    poll = add_poll(service, sealed_poll(service, desk))
    members = joined(service, *NAMES)
    broken = contribution(poll, "b")
    values = broken.values.copy()
    values[50] ^= 1
    broken = replace(broken, values=values)
    given = [broken if each.name == "b" else None for each in members]
    answers = arrive(
        service, *((poll, each, upload(poll, each, 1, one)) for each, one in zip(members, given))
    )
    assert all(isinstance(each, Receipt) for each in answers), "the service cannot see it"
    closing.freeze(service, ADMIN, poll.digest)
    made = Made(service, desk, poll)
    sealed.take_answer(service, ADMIN, poll.digest, made.answer())
    closing.finish(service, poll.digest)
    release = Release.from_bytes(closing.release(service, poll.digest, READER)[0])
    assert release.certificate.parties == 3
    assert service.ledger().account("b").spent.to_dict()["epsilon"] == 0
    with service.database.read() as connection:
        log = connection.execute(select(tables.audit.c.what, tables.audit.c.about)).all()
    assert any("by the trustee" in what and "b" in about for what, about in log)
    told = {each.name: mine_of(service, poll, each) for each in members}
    assert {name for name, found in told.items() if found.unread} == {"b"}, "who is told so"


def mine_of(service: Service, poll: Poll, member: Member) -> contributions.Found:
    with service.database.read() as connection:
        found = contributions.find(connection, poll.digest, who_is(service, member).party or 0)
    assert found is not None
    return found


def test_what_the_service_cannot_open_is_refused_when_it_comes(
    service: Service, tmp_path: Path
) -> None:
    desk = new_desk(tmp_path / "desk")
    poll = add_poll(service, sealed_poll(service, desk))
    (member,) = joined(service, "a")
    given = contribution(poll, "a")
    values = given.values.copy()
    values[-1] ^= 1
    (answer,) = arrive(
        service, (poll, member, upload(poll, member, 1, replace(given, values=values)))
    )
    assert isinstance(answer, SealError)
    with pytest.raises(SealError):
        handing_in.hand_in(
            service, ADMIN, poll.digest, "a", replace(given, values=values).to_bytes()
        )
    in_clear = a_poll().contribute(*rows(), "a")
    object.__setattr__(in_clear, "poll", poll.digest)
    (refused,) = arrive(service, (poll, member, upload(poll, member, 1, in_clear)))
    assert isinstance(refused, InputError)
    assert "in the clear" in str(refused)


def test_a_poll_of_another_coordinator(service: Service, tmp_path: Path) -> None:
    """Nobody could open what parties send to it."""
    from tests.sealing.made import COORDINATOR

    desk = new_desk(tmp_path / "desk")
    card = Card.of("Another", COORDINATOR)
    poll = a_poll(servers=Servers(coordinator=card, trustee=desk.card))
    with pytest.raises(KeyMismatchError):
        polls.add(service, ADMIN, poll.to_bytes())


def test_requests_that_come_too_early(service: Service, tmp_path: Path) -> None:
    desk = new_desk(tmp_path / "desk")
    poll = add_poll(service, sealed_poll(service, desk))
    with pytest.raises(StateError, match="is open"):
        sealed.request(service, poll.digest, ADMIN)
    plain = add_poll(service, a_poll())
    with pytest.raises(InputError, match="has no trustee"):
        sealed.request(service, plain.digest, ADMIN)


def test_no_other_key_while_parties_seal_to_this_one(
    service: Service, settings: Settings, tmp_path: Path
) -> None:
    desk = new_desk(tmp_path / "desk")
    poll = add_poll(service, sealed_poll(service, desk))
    with pytest.raises(StateError, match="seal what they send"):
        rotation.rotate(service, settings.key_path, stolen=False)
    polls.abandon(service, ADMIN, poll.digest)
    rotation.rotate(service, settings.key_path, stolen=False)


def test_nothing_in_the_database_can_be_read(made: Made) -> None:
    """Without the service's key and the trustee's: everything is envelopes."""
    with made.service.database.read() as connection:
        kept = connection.execute(select(tables.contribution.c.content)).scalars().all()
    assert len({len(each) for each in kept}) == 1
    assert len(set(kept)) == len(NAMES)
