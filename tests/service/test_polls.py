"""The states of a poll, and who sees it."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select

from ostraka.errors import (
    AbsentError,
    BudgetError,
    FormatError,
    InputError,
    ParameterError,
    StateError,
)
from ostraka.service import audit, closing, polls
from ostraka.service.access import Who
from ostraka.service.service import Service
from ostraka.service.storage import tables
from ostraka.signing import Signature
from tests.poll.made import private_poll
from tests.service.made import (
    ADMIN,
    READER,
    a_poll,
    add_poll,
    arrive,
    filled,
    joined,
    upload,
    who_is,
)


def seen(service: Service, who: Who, **changes: Any) -> list[str]:
    given: dict[str, Any] = {"state": None, "after": 0, "limit": 100, **changes}
    with service.database.read() as connection:
        return [shown.digest for _, shown in polls.listed(connection, who, **given)]


def show(service: Service, digest: str, who: Who = ADMIN) -> polls.Shown:
    with service.database.read() as connection:
        return polls.show(connection, digest, who)


def log(service: Service) -> list[str]:
    with service.database.read() as connection:
        return [line.what for line in audit.read(connection, 0, 100)]


def test_from_draft_to_open(service: Service) -> None:
    poll = add_poll(service, a_poll(title="Stroke"), opened=False)
    assert show(service, poll.digest).state == "draft"
    with service.database.read() as connection, pytest.raises(StateError, match="not signed yet"):
        polls.signed(connection, poll.digest, ADMIN)
    for _ in range(2):
        polls.open_poll(service, ADMIN, poll.digest)
    shown = show(service, poll.digest)
    assert (shown.state, shown.title, shown.contributions) == ("open", "Stroke", 0)
    assert shown.facts["epsilon"] == 1.0
    with service.database.read() as connection:
        signature = Signature.from_bytes(polls.signed(connection, poll.digest, READER))
    assert signature.key == service.key.public
    signature.check(poll.to_bytes())
    assert log(service)[-2:] == ["drafted a poll", "opened a poll"]


def test_the_same_file_once_more_changes_nothing(service: Service) -> None:
    poll = add_poll(service)
    polls.add(service, ADMIN, poll.to_bytes())
    assert show(service, poll.digest).state == "open"
    assert log(service).count("drafted a poll") == 1


def test_what_is_no_poll(service: Service) -> None:
    with pytest.raises(FormatError):
        polls.add(service, ADMIN, b"no poll")
    with pytest.raises(InputError, match="not the poll of this address"):
        polls.check_digest(b"x", "ab" * 32)
    assert seen(service, ADMIN) == []


def test_polls_that_a_service_cannot_collect(service: Service) -> None:
    private, _ = private_poll()
    with pytest.raises(InputError, match="private auxiliary samples"):
        polls.add(service, ADMIN, private.to_bytes())
    by_row = a_poll(protects="row")
    with pytest.raises(InputError, match="protects single rows"):
        polls.add(service, ADMIN, by_row.to_bytes())
    assert seen(service, ADMIN) == []


def test_a_poll_that_nobody_could_pay_is_not_opened(service: Service) -> None:
    poll = add_poll(service, a_poll(epsilon=11.0), opened=False)
    with pytest.raises(BudgetError, match="Nothing was drawn and nothing was spent"):
        polls.open_poll(service, ADMIN, poll.digest)
    assert show(service, poll.digest).state == "draft"


def test_abandoned(service: Service) -> None:
    poll, _ = filled(service, ["a", "b"])
    for _ in range(2):
        polls.abandon(service, ADMIN, poll.digest)
    assert show(service, poll.digest).state == "abandoned"
    kept = tables.contribution
    with service.database.read() as connection:
        assert connection.execute(select(kept.c.content).distinct()).scalars().all() == [None]
    with pytest.raises(StateError, match="abandoned"):
        closing.freeze(service, ADMIN, poll.digest)
    with pytest.raises(StateError, match="abandoned, not draft"):
        polls.open_poll(service, ADMIN, poll.digest)


def test_a_draft_that_was_abandoned_stays_the_admins(service: Service) -> None:
    draft = add_poll(service, opened=False)
    polls.abandon(service, ADMIN, draft.digest)
    assert seen(service, ADMIN) == [draft.digest]
    assert seen(service, READER) == []


def test_what_was_charged_cannot_be_abandoned(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll, _ = filled(service, ["a", "b"])
    closing.freeze(service, ADMIN, poll.digest)
    with monkeypatch.context() as patched:
        patched.setattr(closing, "_publish", lambda *_: None)
        closing.finish(service, poll.digest)
    with pytest.raises(StateError, match="has been charged"):
        polls.abandon(service, ADMIN, poll.digest)
    closing.finish(service, poll.digest)
    with pytest.raises(StateError, match="has been charged"):
        polls.abandon(service, ADMIN, poll.digest)


# ---- who sees what -------------------------------------------------------------------------------


def test_who_sees_what(service: Service) -> None:
    for_all = add_poll(service, a_poll(title="for all"))
    for_a = add_poll(service, a_poll(title="for a", roll=["a", "x"], parties=None))
    draft = add_poll(service, a_poll(title="draft"), opened=False)
    a, b = (who_is(service, each) for each in joined(service, "a", "b"))
    newest_first = [draft.digest, for_a.digest, for_all.digest]
    assert seen(service, ADMIN) == newest_first
    assert seen(service, READER) == seen(service, a) == newest_first[1:]
    assert seen(service, b) == newest_first[2:]
    for who, hidden in ((READER, draft), (a, draft), (b, draft), (b, for_a)):
        for look in (polls.show, polls.find, polls.signed):
            with service.database.read() as connection, pytest.raises(AbsentError):
                look(connection, hidden.digest, who)
    with (
        service.database.read() as connection,
        pytest.raises(AbsentError, match="There is no poll"),
    ):
        polls.find(connection, "ab" * 32, ADMIN)


def test_in_pages_and_by_state(service: Service) -> None:
    made = [add_poll(service, a_poll(title=str(n)), opened=n != 1).digest for n in range(4)]
    assert seen(service, ADMIN, limit=2) == [made[3], made[2]]
    with service.database.read() as connection:
        (_, _), (last, _) = polls.listed(connection, ADMIN, state=None, after=0, limit=2)
    assert seen(service, ADMIN, after=last) == [made[1], made[0]]
    assert seen(service, ADMIN, state="draft") == [made[1]]
    with pytest.raises(ParameterError, match="one of draft, open, closed, released, abandoned"):
        seen(service, ADMIN, state="new")


def test_how_many_have_contributed(service: Service) -> None:
    poll, _ = filled(service, ["a", "b"])
    assert show(service, poll.digest, READER).contributions == 2


def test_contributions_of_a_draft(service: Service) -> None:
    poll = add_poll(service, opened=False)
    (member,) = joined(service, "a")
    (answer,) = arrive(service, (poll, member, upload(poll, member)))
    assert isinstance(answer, StateError)
    assert "not open yet" in str(answer)
