"""What every part of a service works with: polls that are kept, and keys that are its own."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import update

from ostraka.errors import AbsentError, AccessError, ServiceError, StateError
from ostraka.service import access
from ostraka.service.service import POLLS_IN_MEMORY, Service
from ostraka.service.storage import tables
from ostraka.signing import SecretKey
from tests.service.made import ADMIN, a_poll, add_poll, joined, who_is


def test_a_poll_that_the_service_has(service: Service) -> None:
    poll = add_poll(service)
    found = service.poll(poll.digest)
    assert found.to_bytes() == poll.to_bytes()
    assert service.poll(poll.digest) is found, "it is read once"


def test_many_who_ask_for_a_new_poll_read_it_once(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll = add_poll(service)
    service._polls.clear()
    n_read, real = [], service.blobs.get

    def slowly(digest: str) -> bytes:
        n_read.append(digest)
        threading.Event().wait(0.1)
        return real(digest)

    monkeypatch.setattr(type(service.blobs), "get", lambda _, digest: slowly(digest))
    with ThreadPoolExecutor(8) as pool:
        found = set(map(id, pool.map(service.poll, [poll.digest] * 8)))
    assert len(n_read) == len(found) == 1


@pytest.mark.parametrize("digest", ["0" * 64, "", "x", "../../service.key", "é"])
def test_a_poll_that_it_has_not(service: Service, digest: str) -> None:
    with pytest.raises(AbsentError, match="There is no poll"):
        service.poll(digest)
    assert not service._polls


def test_no_more_polls_are_kept_than_fit(service: Service) -> None:
    made = [add_poll(service, a_poll(title=str(n))) for n in range(POLLS_IN_MEMORY + 2)]
    service._polls.clear()
    for poll in made[:POLLS_IN_MEMORY]:
        service.poll(poll.digest)
    service.poll(made[0].digest)
    for poll in made[POLLS_IN_MEMORY:]:
        service.poll(poll.digest)
    assert len(service._polls) == POLLS_IN_MEMORY
    assert made[0].digest in service._polls, "what was used last stays"
    assert not {made[1].digest, made[2].digest} & set(service._polls)


def test_an_empty_tally_stays_empty(service: Service) -> None:
    poll = add_poll(service)
    tally = service.empty_tally(poll.digest)
    tally.check(poll.contribute([[0.0] * 3], ["ill"], "a"))
    assert service.empty_tally(poll.digest) is tally
    assert tally.n_parties == 0


def test_a_key_that_is_not_its_own_any_more(service: Service) -> None:
    with service.database.read() as connection:
        service.check_key(connection)
    with service.database.write() as connection:
        other = SecretKey.create().public.raw
        connection.execute(update(tables.service).values(public_key=other))
    with (
        service.database.read() as connection,
        pytest.raises(ServiceError, match="is being given another key"),
    ):
        service.check_key(connection)


def test_an_archive_charges_nothing_and_takes_nothing(service: Service) -> None:
    with service.database.read() as connection:
        service.check_may_charge(connection)
        service.check_may_take(connection)
    with service.database.write() as connection:
        connection.execute(update(tables.service).values(is_archive=True))
    with service.database.read() as connection:
        with pytest.raises(StateError, match="it opens and closes nothing"):
            service.check_may_charge(connection)
        with pytest.raises(StateError, match="takes nothing in"):
            service.check_may_take(connection)
        with pytest.raises(StateError, match="parties could do nothing here"):
            service.check_may_invite(connection)


def test_whoever_was_revoked_meanwhile_writes_nothing(service: Service) -> None:
    (member,) = joined(service, "ann", role="admin")
    who = who_is(service, member)
    with service.write_as(who), service.database.read() as connection:
        assert access.find(connection, [member.token_digest])
    with service.database.write() as connection:
        access.withdraw(connection, role="admin", name="ann")
    with pytest.raises(AccessError, match="withdrawn"), service.write_as(who):
        pytest.fail("nothing may be written")
    with service.write_as(ADMIN):
        pass  # who has no token of ours, as staff


def test_its_key_is_not_shown(service: Service) -> None:
    assert "PRIVATE" not in repr(service)
    assert "key=" not in repr(service)
