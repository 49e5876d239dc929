"""Contributions as they arrive: each is answered, and what was acknowledged is there."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest

from ostraka.errors import (
    AbsentError,
    AccessError,
    FormatError,
    InputError,
    OtherPollError,
    ServiceError,
    SignatureError,
    StateError,
)
from ostraka.exchange import Receipt, Upload
from ostraka.party.contribution import Contribution
from ostraka.party.names import LONGEST_NAME
from ostraka.service import arrivals, polls
from ostraka.service.arrivals import MOST_TOGETHER, Arrival, Writer, largest
from ostraka.service.service import Service
from ostraka.service.storage import contributions
from ostraka.signing import SecretKey
from ostraka.tally import Tally
from tests.service.made import (
    ADMIN,
    Member,
    a_poll,
    add_poll,
    arrive,
    contribution,
    joined,
    upload,
)


def held(service: Service) -> int:
    with service.database.read() as connection:
        return contributions.count(connection, 1)[0]


def test_acknowledged_is_there(service: Service) -> None:
    poll = add_poll(service)
    members = joined(service, *(f"w{n}" for n in range(7)))
    sent = [upload(poll, each) for each in members]
    answers = arrive(service, *((poll, *each) for each in zip(members, sent, strict=True)))
    for member, body, answer in zip(members, sent, answers, strict=True):
        answer.check(service.key.public)
        assert (answer.poll, answer.party) == (poll.digest, member.name)
        assert (answer.revision, answer.commitment) == (1, body.commitment)
    assert held(service) == 7


def test_the_same_once_more_has_the_same_answer(service: Service) -> None:
    poll = add_poll(service)
    (member,) = joined(service, "a")
    body = upload(poll, member)
    first, again = arrive(service, (poll, member, body), (poll, member, body))
    assert first == again
    assert arrive(service, (poll, member, body)) == [first]
    assert held(service) == 1


def test_one_changes_its_mind(service: Service) -> None:
    poll = add_poll(service)
    (member,) = joined(service, "a")
    first, second = (upload(poll, member, n) for n in (1, 2))
    one, two = arrive(service, (poll, member, first), (poll, member, second))
    assert (one.revision, two.revision) == (1, 2)
    (late,) = arrive(service, (poll, member, first))
    assert isinstance(late, StateError)
    assert "A later contribution of yours has arrived" in str(late)
    with service.database.read() as connection:
        found = contributions.find(connection, poll.digest, 1)
    assert found == (2, second.commitment, False, False)


def test_bad_ones_do_not_keep_good_ones(service: Service) -> None:
    """Each has its own answer, whoever else has sent nonsense in the same moment."""
    poll, other = add_poll(service), a_poll(title="another")
    good, bad, reader = *joined(service, "good", "bad"), *joined(service, "r", role="reader")
    stranger = Member("x", SecretKey.create(), "ostraka_nothing")
    own = contribution(poll, "bad")
    outside = replace(own, values=own.values * 0 + 2**30)
    answers = arrive(
        service,
        (poll, bad, b"nonsense"),
        (poll, good, upload(poll, good)),
        (poll, stranger, upload(poll, stranger)),
        (poll, reader, upload(poll, reader)),
        (poll, replace(bad, key=SecretKey.create()), b"OSTRASND" + b"\x01" * 200),
        ("ab" * 32, bad, upload(poll, bad)),
    )
    kinds = [type(answer) for answer in answers]
    assert kinds[:4] == [FormatError, Receipt, AccessError, AccessError]
    assert kinds[5] is AbsentError
    for sent, kind in (
        (upload(poll, replace(bad, key=SecretKey.create())), SignatureError),
        (upload(poll, bad, given=contribution(poll, "good")), InputError),
        (upload(other, bad), OtherPollError),
        (upload(poll, bad, given=outside), InputError),
        (Upload.create(b"no contribution", 1, bad.key), FormatError),
    ):
        (answer,) = arrive(service, (poll, bad, sent))
        assert isinstance(answer, kind), answer
    assert held(service) == 1


def test_only_who_is_asked(service: Service) -> None:
    poll = add_poll(service, a_poll(roll=["a", "b"], parties=None))
    a, c = joined(service, "a", "c")
    as_c = replace(contribution(poll, "a"), party="c")
    there, refused = arrive(
        service, (poll, a, upload(poll, a)), (poll, c, upload(poll, c, given=as_c))
    )
    assert isinstance(there, Receipt)
    assert "not on the roll" in str(refused)


def test_nobody_takes_anothers_place(service: Service) -> None:
    poll = add_poll(service)
    a, b = joined(service, "a", "b")
    as_a = Member("a", b.key, b.token)
    (answer,) = arrive(service, (poll, as_a, upload(poll, as_a)))
    assert "is of party a, and you are b" in str(answer)
    assert a.name == "a"
    assert held(service) == 0


# ---- mutants: each lets in what a test above keeps out -------------------------------------------


def test_without_the_signature_a_stolen_token_would_do(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll = add_poll(service)
    (member,) = joined(service, "a")
    thief = replace(member, key=SecretKey.create())
    (refused,) = arrive(service, (poll, thief, upload(poll, thief)))
    assert isinstance(refused, SignatureError)
    monkeypatch.setattr(Upload, "check", lambda *_: None)
    (accepted,) = arrive(service, (poll, thief, upload(poll, thief)))
    assert isinstance(accepted, Receipt)


def test_without_the_name_somebody_could_take_anothers_place(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll = add_poll(service)
    _, b = joined(service, "a", "b")
    as_a = Member("a", b.key, b.token)

    def trusting(empty: Tally, party: str, content: bytes, secret: SecretKey) -> Contribution:
        return Contribution.from_bytes(content)

    monkeypatch.setattr(arrivals, "read_contribution", trusting)
    (accepted,) = arrive(service, (poll, as_a, upload(poll, as_a)))
    assert isinstance(accepted, Receipt)


def test_without_the_order_an_old_upload_would_take_the_place_of_a_new_one(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll = add_poll(service)
    (member,) = joined(service, "a")
    old, new = upload(poll, member, 1), upload(poll, member, 2)
    arrive(service, (poll, member, new))
    (refused,) = arrive(service, (poll, member, old))
    assert isinstance(refused, StateError)
    for name in ("_SQLITE", "_POSTGRESQL"):
        whatever = getattr(contributions, name).replace(" < ", " <> ")
        monkeypatch.setattr(contributions, name, whatever)
    (accepted,) = arrive(service, (poll, member, old))
    assert isinstance(accepted, Receipt)


def test_of_an_abandoned_poll(service: Service) -> None:
    poll = add_poll(service)
    (member,) = joined(service, "a")
    polls.abandon(service, ADMIN, poll.digest)
    (answer,) = arrive(service, (poll, member, upload(poll, member)))
    assert isinstance(answer, StateError)


def test_one_write_for_many(service: Service) -> None:
    """As many as wait are written in one transaction, and no more than fit."""
    poll = add_poll(service)
    members = joined(service, *(f"w{n}" for n in range(MOST_TOGETHER + 5)))
    writer, answered = Writer(service), threading.Semaphore(0)
    for member in members:
        body = upload(poll, member).to_bytes()
        writer.add(
            Arrival(
                token=member.token_digest,
                poll=poll.digest,
                body=body,
                answer=lambda _: answered.release(),
            )
        )
    writer.start()
    writer.close()
    assert (writer.n_commits, writer.n_written) == (2, len(members))
    assert held(service) == len(members)
    assert all(answered.acquire(blocking=False) for _ in members)


def test_without_a_database_everybody_hears_of_it(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And nobody is told that something arrived."""
    poll = add_poll(service)
    a, b = joined(service, "a", "b")
    both = [(poll, each, upload(poll, each)) for each in (a, b)]

    def gone(*_: Any) -> Any:
        raise ServiceError("here", "is away", "Wait.")

    with monkeypatch.context() as patched:
        patched.setattr(contributions, "put", gone)
        answers = arrive(service, *both)
    assert [type(answer) for answer in answers] == [ServiceError] * 2
    assert held(service) == 0
    assert all(isinstance(answer, Receipt) for answer in arrive(service, *both))


def test_answers_come_after_the_commit(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """When somebody is answered, another process already sees the contribution."""
    poll = add_poll(service)
    (member,) = joined(service, "a")
    seen: list[int] = []
    writer = Writer(service)
    body = upload(poll, member).to_bytes()
    writer.add(
        Arrival(
            token=member.token_digest,
            poll=poll.digest,
            body=body,
            answer=lambda _: seen.append(held(service)),
        )
    )
    writer.start()
    writer.close()
    assert seen == [1]


def test_how_large_an_upload_can_be(service: Service) -> None:
    """No contribution with the longest of names is larger, and one is just as large."""
    for poll in (a_poll(), a_poll("consensus"), a_poll("cells", protects="person", persons=100)):
        for name in ("a", "é" * LONGEST_NAME):
            given = poll.contribute(*_rows(poll), name, **_persons(poll))
            made = Upload.create(given.to_bytes(), 1, SecretKey.create())
            assert len(made.to_bytes()) <= largest(poll)
    assert largest(a_poll()) < 10_000


def _rows(poll: Any) -> Any:
    from tests.service.made import rows

    return rows()


def _persons(poll: Any) -> dict[str, Any]:
    return {"persons": range(12)} if poll.promise.protects == "person" else {}


def test_the_writer_survives_a_bug(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    poll = add_poll(service)
    a, b = joined(service, "a", "b")
    real, asked = arrivals._check_one, []

    def failing(*given: Any) -> Any:
        asked.append(1)
        if len(asked) == 1:
            raise ZeroDivisionError
        return real(*given)

    monkeypatch.setattr(arrivals, "_check_one", failing)
    first, second = arrive(service, (poll, a, upload(poll, a)), (poll, b, upload(poll, b)))
    assert isinstance(first, ZeroDivisionError)
    assert isinstance(second, Receipt)
