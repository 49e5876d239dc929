"""From an open poll to its release: once, whatever crashes, and whoever asks at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, text, update

from ostraka.errors import (
    AbsentError,
    BudgetError,
    FormatError,
    OstrakaError,
    ServiceError,
    StateError,
    TooFewPartiesError,
)
from ostraka.exchange import Manifest
from ostraka.release import Release
from ostraka.service import closing, polls
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from ostraka.service.storage import contributions, tables
from ostraka.service.storage.ledger import _Rows
from ostraka.signing import SecretKey, Signature
from ostraka.verifying import check_release
from tests.service.made import (
    ADMIN,
    READER,
    a_poll,
    add_poll,
    again,
    arrive,
    contribution,
    filled,
    joined,
    settings_in,
    start,
    upload,
)

NAMES = ("a", "b", "c")


def state_of(service: Service, digest: str) -> str:
    with service.database.read() as connection:
        return polls.look(connection, digest).state


def charges(service: Service) -> int:
    return len(service.ledger().history())


def test_a_poll_is_released(service: Service) -> None:
    poll, receipts = filled(service, NAMES)
    closing.freeze(service, ADMIN, poll.digest)
    assert state_of(service, poll.digest) == "closed"
    listed = Manifest.from_bytes(closing.manifest(service, poll.digest, READER))
    listed.check(service.key.public)
    assert all(listed.counts(each.commitment) for each in receipts)
    assert (listed.poll, listed.parties, listed.persons) == (poll.digest, 3, None)
    closing.finish(service, poll.digest)
    assert state_of(service, poll.digest) == "released"
    content, signature = closing.release(service, poll.digest, READER)
    Signature.from_bytes(signature).check(content)
    release = Release.from_bytes(content)
    check_release(release, poll)
    assert release.certificate.parties == 3
    (charge,) = service.ledger().history()
    assert (charge.n_parties, charge.digest) == (3, release.digest)
    assert [account.party for account in service.ledger().accounts()] == list(NAMES)


def test_what_was_sent_is_erased(service: Service) -> None:
    poll, _ = filled(service, NAMES)
    closing.freeze(service, ADMIN, poll.digest)
    closing.finish(service, poll.digest)
    kept = tables.contribution
    with service.database.read() as connection:
        rows = connection.execute(select(kept.c.content, kept.c.salt, kept.c.signature)).all()
    assert rows == [(None, None, None)] * 3


@pytest.mark.parametrize("end", ["release", "abandon"])
def test_what_was_sent_is_not_on_the_disk_any_more(tmp_path: Path, end: str) -> None:
    """On SQLite; PostgreSQL keeps such pages to itself, and writes over them later."""
    settings = settings_in(tmp_path)
    service = start(settings)
    poll = add_poll(service)
    members = joined(service, *NAMES)
    sent = [upload(poll, each) for each in members]
    arrive(service, *((poll, each, body) for each, body in zip(members, sent, strict=True)))

    def on_disk() -> int:
        held = b"".join(path.read_bytes() for path in settings.folder.glob("service.db*"))
        return sum(each.contribution in held for each in sent)

    assert on_disk() == len(NAMES)
    if end == "release":
        closing.freeze(service, ADMIN, poll.digest)
        closing.finish(service, poll.digest)
    else:
        polls.abandon(service, ADMIN, poll.digest)
    assert on_disk() == 0


def test_what_cannot_be_released_stays_open(service: Service) -> None:
    poll, _ = filled(service, ["a"])
    with pytest.raises(TooFewPartiesError, match="Nothing was drawn and nothing was spent"):
        closing.freeze(service, ADMIN, poll.digest)
    assert state_of(service, poll.digest) == "open"
    with pytest.raises(StateError, match="open"):
        closing.finish(service, poll.digest)
    assert charges(service) == 0


def test_who_cannot_pay_keeps_it_open_and_can_be_left_out(service: Service) -> None:
    from ostraka.ledger import Budget

    service.ledger().allow(["b"], Budget(epsilon=0.5, delta=1e-6))
    poll, receipts = filled(service, NAMES)
    with pytest.raises(BudgetError, match="party b has"):
        closing.freeze(service, ADMIN, poll.digest)
    assert (state_of(service, poll.digest), charges(service)) == ("open", 0)
    with pytest.raises(AbsentError, match="Party nobody has not contributed"):
        closing.freeze(service, ADMIN, poll.digest, leave_out=["nobody"])
    with service.database.read() as connection:
        assert contributions.count(connection, 1)[0] == 3
    closing.freeze(service, ADMIN, poll.digest, leave_out=["B "])
    listed = Manifest.from_bytes(closing.manifest(service, poll.digest, ADMIN))
    assert [listed.counts(each.commitment) for each in receipts] == [True, False, True]
    closing.finish(service, poll.digest)
    assert service.ledger().spent("b").to_dict()["epsilon"] == 0


def test_nothing_changes_after_closing(service: Service) -> None:
    poll, _ = filled(service, NAMES)
    (late,) = joined(service, "late")
    closing.freeze(service, ADMIN, poll.digest)
    before = closing.manifest(service, poll.digest, ADMIN)
    (answer,) = arrive(service, (poll, late, upload(poll, late)))
    assert isinstance(answer, StateError)
    assert "closed: nothing can be sent to it or changed any more" in str(answer)
    closing.freeze(service, ADMIN, poll.digest, leave_out=["a"])  # too late: as it was
    assert closing.manifest(service, poll.digest, ADMIN) == before


def test_asking_again_gives_the_same_release(service: Service, settings: Settings) -> None:
    poll, _ = filled(service, NAMES)
    closing.freeze(service, ADMIN, poll.digest)
    closing.finish(service, poll.digest)
    before = closing.release(service, poll.digest, READER)
    other = again(service, settings)
    for each in (service, other):
        closing.freeze(each, ADMIN, poll.digest)
        closing.finish(each, poll.digest)
        assert closing.release(each, poll.digest, READER) == before
    other.database.close()
    assert charges(service) == 1


@pytest.mark.parametrize("where", ["cells", "consensus"])
def test_other_methods(service: Service, where: str) -> None:
    poll, _ = filled(service, NAMES, a_poll(where))
    closing.freeze(service, ADMIN, poll.digest)
    closing.finish(service, poll.digest)
    release = Release.from_bytes(closing.release(service, poll.digest, READER)[0])
    assert release.certificate.method == where


# ---- whatever crashes ----------------------------------------------------------------------------

STEPS = {
    "before the charge": (_Rows, "add_charge", "before"),
    "within the charge": (_Rows, "add_draw", "after"),
    "after the charge": (closing, "_write_down", "before"),
    "after writing down": (_Rows, "add_settlement", "before"),
    "after settling": (closing, "_publish", "before"),
    "before the erasing": (contributions, "erase", "before"),
}


class Crash(BaseException):
    """As if the process had been killed."""


def crash_at(step: str, patched: pytest.MonkeyPatch) -> None:
    where, name, when = STEPS[step]
    real = getattr(where, name)

    def crashing(*given: Any, **named: Any) -> Any:
        if when == "after":
            real(*given, **named)
        raise Crash

    patched.setattr(where, name, crashing)


@pytest.mark.parametrize("step", STEPS)
def test_after_a_crash_there_is_one_charge_and_one_release(
    service: Service, settings: Settings, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll, _ = filled(service, NAMES)
    closing.freeze(service, ADMIN, poll.digest)
    with monkeypatch.context() as patched:
        crash_at(step, patched)
        with pytest.raises(Crash):
            closing.finish(service, poll.digest)
    assert state_of(service, poll.digest) == "closed"
    drawn = service.ledger().drawn(1)
    assert (drawn is None) == ("the charge" in step and "after" not in step)
    other = again(service, settings)
    assert closing.unfinished(other) == [poll.digest]
    closing.finish(other, poll.digest)
    assert state_of(other, poll.digest) == "released"
    assert closing.unfinished(other) == []
    (charge,) = other.ledger().history()
    release = Release.from_bytes(closing.release(other, poll.digest, READER)[0])
    assert charge.digest == release.digest
    if drawn is not None:
        assert other.ledger().drawn(1) == drawn, "the same noise"
    other.database.close()


def test_two_hosts_at_once(service: Service, settings: Settings) -> None:
    """One charge, one release, whoever comes first."""
    poll, _ = filled(service, NAMES)
    hosts = [again(service, settings) for _ in range(4)]

    def close(host: Service) -> str:
        try:
            closing.freeze(host, ADMIN, poll.digest)
            closing.finish(host, poll.digest)
        except OstrakaError as error:
            return type(error).__name__
        return ""

    with ThreadPoolExecutor(4) as pool:
        troubles = set(pool.map(close, hosts))
    assert troubles <= {"", "StateError"}, "at worst: ask again"
    closing.finish(service, poll.digest)
    (charge,) = service.ledger().history()
    release = Release.from_bytes(closing.release(service, poll.digest, READER)[0])
    assert (charge.n_parties, charge.digest) == (3, release.digest)
    for host in hosts:
        host.database.close()


def close_twice(service: Service, digest: str) -> None:
    """Two hosts charge for one poll, each after having looked that nobody has."""
    poll = service.poll(digest)
    with service.database.read() as connection:
        found = polls.look(connection, digest)
    assert found.charge is None
    for _ in range(2):
        tally = closing._add_up(service, found)
        assert tally is not None
        book = service.ledger(found.id)
        book.charge(tally.names, poll.certificate(3), poll.digest, draw=lambda: [1])


def test_a_poll_takes_one_charge(service: Service) -> None:
    poll, _ = filled(service, NAMES)
    closing.freeze(service, ADMIN, poll.digest)
    with pytest.raises(StateError, match="charged already"):
        close_twice(service, poll.digest)
    assert charges(service) == 1


def test_without_the_place_for_a_charge_it_would_be_charged_twice(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant that does not take the poll's place: the test above would fail."""
    monkeypatch.setattr(_Rows, "_take_place", lambda self, id_: None)
    poll, _ = filled(service, NAMES)
    closing.freeze(service, ADMIN, poll.digest)
    close_twice(service, poll.digest)
    assert charges(service) == 2


def test_an_open_poll_is_never_charged(service: Service) -> None:
    poll, _ = filled(service, NAMES)
    with service.database.read() as connection:
        found = polls.look(connection, poll.digest)
    with pytest.raises(StateError, match="charged already, or has ended"):
        service.ledger(found.id).charge(["a", "b", "c"], poll.certificate(3), draw=lambda: [1])
    assert charges(service) == 0


# ---- who waits for whom --------------------------------------------------------------------------


def test_the_next_poll_waits_until_this_one_is_charged(service: Service) -> None:
    """Else somebody could be found able to pay for both, and then for neither."""
    first, _ = filled(service, NAMES)
    second = add_poll(service, a_poll(title="second"))
    members = joined(service, "d", "e")
    arrive(service, *((second, each, upload(second, each)) for each in members))
    closing.freeze(service, ADMIN, first.digest)
    with pytest.raises(StateError, match="closed and not charged yet; this one waits"):
        closing.freeze(service, ADMIN, second.digest)
    assert state_of(service, second.digest) == "open"
    closing.finish(service, first.digest)
    closing.freeze(service, ADMIN, second.digest)
    closing.finish(service, second.digest)
    assert charges(service) == 2


def test_an_abandoned_poll_lets_the_next_one_go(service: Service) -> None:
    first, _ = filled(service, NAMES)
    closing.freeze(service, ADMIN, first.digest)
    polls.abandon(service, ADMIN, first.digest)
    with pytest.raises(StateError, match="abandoned"):
        closing.finish(service, first.digest)
    assert charges(service) == 0


# ---- what somebody has changed behind its back ---------------------------------------------------


def test_only_what_is_on_the_list_is_counted(service: Service) -> None:
    poll, _ = filled(service, NAMES)
    closing.freeze(service, ADMIN, poll.digest)
    other = contribution(poll, "a").to_bytes()
    kept = tables.contribution
    with service.database.write() as connection:
        connection.execute(update(kept).where(kept.c.party == 1).values(content=other))
    with pytest.raises(FormatError, match="was changed"):
        closing.finish(service, poll.digest)
    with service.database.write() as connection:
        connection.execute(text("DELETE FROM contribution WHERE party = 1"))
    with pytest.raises(FormatError, match="1 contributions on the list are missing"):
        closing.finish(service, poll.digest)
    assert charges(service) == 0


def test_without_the_commitments_something_else_would_be_counted(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant that believes the database."""
    poll, receipts = filled(service, NAMES)
    closing.freeze(service, ADMIN, poll.digest)
    other = contribution(poll, "a").to_bytes()
    kept = tables.contribution
    with service.database.write() as connection:
        connection.execute(update(kept).where(kept.c.party == 1).values(content=other))
    listed = iter(
        each.commitment for each in sorted(receipts, key=lambda each: NAMES.index(each.party))
    )
    monkeypatch.setattr(closing, "commit", lambda *_: next(listed))
    closing.finish(service, poll.digest)
    assert charges(service) == 1


def test_a_list_of_somebody_else_is_refused(service: Service) -> None:
    from ostraka.errors import SignatureError

    poll, receipts = filled(service, NAMES)
    closing.freeze(service, ADMIN, poll.digest)
    forged = Manifest.sign(
        SecretKey.create(),
        poll=poll.digest,
        commitments=[each.commitment for each in receipts[:2]],
        persons=None,
    )
    with service.database.write() as connection:
        connection.execute(update(tables.manifest).values(content=forged.to_bytes()))
    with pytest.raises(SignatureError):
        closing.finish(service, poll.digest)
    assert charges(service) == 0


def test_an_old_key_signs_nothing(service: Service) -> None:
    poll, _ = filled(service, NAMES)
    other = SecretKey.create().public.raw
    with service.database.write() as connection:
        connection.execute(update(tables.service).values(public_key=other))
    with pytest.raises(ServiceError, match="is being given another key"):
        closing.freeze(service, ADMIN, poll.digest)
    assert state_of(service, poll.digest) == "open"


def test_an_archive_closes_nothing(service: Service) -> None:
    poll, _ = filled(service, NAMES)
    with service.database.write() as connection:
        connection.execute(update(tables.service).values(is_archive=True))
    with pytest.raises(StateError, match="restored from a backup as an archive"):
        closing.freeze(service, ADMIN, poll.digest)
    with service.database.write() as connection:
        connection.execute(update(tables.service).values(is_archive=False))
    closing.freeze(service, ADMIN, poll.digest)
    with service.database.write() as connection:
        connection.execute(update(tables.service).values(is_archive=True))
    with pytest.raises(StateError, match="as an archive"):
        closing.finish(service, poll.digest)
    assert charges(service) == 0


# ---- what people see -----------------------------------------------------------------------------


def test_who_sees_list_and_release(service: Service) -> None:
    from tests.service.made import who_is

    asked, stranger = joined(service, "a", "z")
    poll, _ = filled(service, ["b", "c"], a_poll(roll=["a", "b", "c"], parties=None))
    for look in (closing.manifest, closing.release):
        with pytest.raises(StateError):
            look(service, poll.digest, who_is(service, asked))
    closing.freeze(service, ADMIN, poll.digest)
    closing.finish(service, poll.digest)
    for look in (closing.manifest, closing.release):
        assert look(service, poll.digest, who_is(service, asked))
        with pytest.raises(AbsentError, match="There is no poll"):
            look(service, poll.digest, who_is(service, stranger))


def test_the_list_has_no_names(service: Service) -> None:
    poll, _ = filled(service, ["ward-of-anna", "ward-of-ben"])
    closing.freeze(service, ADMIN, poll.digest)
    content = closing.manifest(service, poll.digest, READER)
    assert b"ward" not in content


def test_trouble_is_told_and_forgotten(service: Service) -> None:
    poll, _ = filled(service, NAMES)
    closing.tell_trouble(service, poll.digest, "not of an open poll")
    closing.freeze(service, ADMIN, poll.digest)
    closing.tell_trouble(service, poll.digest, "a reason")
    with service.database.read() as connection:
        assert polls.show(connection, poll.digest, ADMIN).trouble == "a reason"
    closing.freeze(service, ADMIN, poll.digest)
    with service.database.read() as connection:
        assert polls.show(connection, poll.digest, ADMIN).trouble is None
