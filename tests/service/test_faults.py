"""What goes wrong on real machines, with real processes: power cuts, a full disk, a database that
goes away, two hosts at once, clocks that jump.

After all of it: what was acknowledged is there, every poll has at most one charge, one draw and one
release, and the release follows from the charge. When a process is killed is random, from a seed,
so another machine kills at other points; what is asserted holds at all of them.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing as closed_at_the_end
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import httpx
import numpy as np
import pytest
from sqlalchemy import select

from benchmarks.service.postgresql import Absent, Cluster, run_postgresql
from benchmarks.service.prepare import People
from benchmarks.service.processes import READY, Server, words_to_serve
from benchmarks.service.seed import seed
from ostraka.client import Client
from ostraka.errors import OstrakaError, ServiceError
from ostraka.exchange import Manifest, Receipt
from ostraka.party.contribution import Contribution
from ostraka.poll import Poll
from ostraka.release import Release
from ostraka.service import audit, closing
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from ostraka.service.starting import open_service
from ostraka.service.storage import tables
from ostraka.signing import PublicKey
from ostraka.tally import Tally
from tests.databases import new_database
from tests.service.made import (
    ADMIN,
    Member,
    a_poll,
    add_poll,
    arrive,
    contribution,
    filled,
    joined,
    settings_in,
    start,
    upload,
)

KILLS_IN_UPLOADS, KILLS_IN_CLOSING = 10, 10
SENDERS, PARTIES = 4, 24
pytestmark = pytest.mark.slow


def serve(settings: Settings, folder: Path, *more: str) -> Server:
    return Server(words_to_serve(settings, *more), log=folder / "log", ready=READY)


def members_of(people: People) -> list[Member]:
    return [Member(*each) for each in zip(people.names, people.keys, people.tokens, strict=True)]


# ---- killed while uploads arrive -----------------------------------------------------------------


@dataclass
class Sender:
    """Parties that change what they have sent, again and again, whatever happens to the service."""

    poll: Poll
    members: list[Member]
    address: Callable[[], str]
    stop: threading.Event
    last: dict[str, Receipt] = field(default_factory=dict)
    """What the service has acknowledged last, by party."""

    def run(self) -> None:
        for revision in range(1, 10**6):
            for member in self.members:
                body = upload(self.poll, member, revision).to_bytes()
                while not self.send(member, body):
                    if self.stop.wait(0.02):
                        return

    def send(self, member: Member, body: bytes) -> bool:
        """Send the very same bytes until they have arrived."""
        if self.stop.is_set():
            return False
        try:
            answer = httpx.put(
                f"{self.address()}/v1/polls/{self.poll.digest}/contribution",
                content=body,
                headers={"Authorization": f"Bearer {member.token}"},
                timeout=10.0,
            )
        except httpx.TransportError:
            return False
        if answer.status_code in (429, 503):
            return False
        assert answer.status_code == 200, answer.text
        self.last[member.name] = Receipt.from_bytes(answer.content)
        return True


def rows_of(service: Service, poll: Poll) -> dict[str, Any]:
    kept, party = tables.contribution, tables.party
    query = select(party.c.name, kept.c.revision, kept.c.commitment, kept.c.content).join(
        party, party.c.id == kept.c.party
    )
    with service.database.read() as connection:
        return {row.name: row for row in connection.execute(query)}


def test_killed_while_uploads_arrive(settings: Settings, tmp_path: Path) -> None:
    people, poll = People.create(PARTIES), a_poll(parties=PARTIES)
    token, key = seed(settings, people, [poll])
    rng, stop = Random(11), threading.Event()
    where = {"now": ""}
    members = members_of(people)
    senders = [
        Sender(poll, members[number::SENDERS], lambda: where["now"], stop)
        for number in range(SENDERS)
    ]
    with ThreadPoolExecutor(SENDERS) as pool:
        running = [pool.submit(each.run) for each in senders]
        try:
            for _ in range(KILLS_IN_UPLOADS):
                with serve(settings, tmp_path) as server:
                    where["now"] = server.address
                    time.sleep(rng.uniform(0.05, 0.6))
                    server.kill()
        finally:
            stop.set()
        for each in running:
            each.result()
    last = {name: receipt for each in senders for name, receipt in each.last.items()}
    assert len(last) > PARTIES // 2, "uploads arrived between the cuts"
    with open_and_close(settings) as service:
        rows = rows_of(service, poll)
        for name, receipt in last.items():
            receipt.check(key)
            row = rows[name]
            assert row.revision >= receipt.revision, "nothing acknowledged is lost"
            if row.revision == receipt.revision:
                assert bytes(row.commitment) == receipt.commitment
    with serve(settings, tmp_path) as server, Client(server.address, token) as admin:
        release_of(admin, poll, key)
        listed = admin.manifest(poll.digest)
    listed.check(key)
    assert set(listed.commitments) == {bytes(row.commitment) for row in rows.values()}
    assert listed.parties == len(rows)


@contextmanager
def open_and_close(settings: Settings) -> Iterator[Service]:
    """The service's own view of its database, in this process."""
    service = open_service(settings)
    yield service
    service.database.close()


def release_of(admin: Client, poll: Poll, key: PublicKey) -> Release:
    """Close a poll, wait for its release, and check who signed it."""
    admin.close_poll(poll.digest, [])
    while admin.poll(poll.digest).state != "released":
        time.sleep(0.05)
    content, signature = admin.release(poll.digest)
    signature.check(content)
    assert signature.key == key
    return Release.from_bytes(content)


# ---- killed while a poll is closed ---------------------------------------------------------------


def fill(service: Service, members: list[Member], title: str) -> Poll:
    poll = add_poll(service, a_poll(title=title, epsilon=0.25))
    answers = arrive(service, *((poll, each, upload(poll, each)) for each in members))
    assert all(isinstance(each, Receipt) for each in answers)
    return poll


def charges_of(service: Service, digest: str) -> list[int]:
    """The ids of the charges for a poll: its place has one at most; others would name it, too."""
    query = select(tables.poll.c.charge).where(tables.poll.c.digest == digest)
    with service.database.read() as connection:
        charge = connection.execute(query).scalar_one()
    mark = f"[poll {digest[:16]}]"
    named = [each.id for each in service.ledger().history() if each.note.endswith(mark)]
    return sorted({*named, *([] if charge is None else [charge])})


def ask_to_close(address: str, token: str, digest: str) -> None:
    """Ask, and do not mind what becomes of whoever answers."""
    headers = {"Authorization": f"Bearer {token}"}
    try:
        httpx.post(f"{address}/v1/polls/{digest}/close", headers=headers, timeout=10.0)
    except httpx.TransportError:
        return


def test_killed_while_polls_are_closed(settings: Settings, tmp_path: Path) -> None:
    people = People.create(3)
    token, key = seed(settings, people, [])
    rng, drawn, found = Random(12), dict[str, list[int]](), set[str]()
    with open_and_close(settings) as service, ThreadPoolExecutor(1) as pool:
        for number in range(KILLS_IN_CLOSING):
            poll = fill(service, members_of(people), f"poll {number}")
            with serve(settings, tmp_path) as server:
                asked = pool.submit(ask_to_close, server.address, token, poll.digest)
                time.sleep(rng.uniform(0.0, 0.25))
                server.kill()
                asked.result()
            found.add(state_of(service, poll))
            charges = charges_of(service, poll.digest)
            assert len(charges) <= 1
            if charges:
                drawn[poll.digest] = list(service.ledger().drawn(charges[0]) or ())
                assert drawn[poll.digest], "a charge has its draw, in the same moment"
            with serve(settings, tmp_path) as server, Client(server.address, token) as admin:
                release = release_of(admin, poll, key)
            (charge,) = charges_of(service, poll.digest)
            (recorded,) = [one for one in service.ledger().history() if one.id == charge]
            assert recorded.digest == release.digest, "the release follows from the charge"
            if poll.digest in drawn:
                assert service.ledger().drawn(charge) == drawn[poll.digest], "never drawn again"
        assert len(service.ledger().history()) == KILLS_IN_CLOSING
        assert service.ledger().audit() == KILLS_IN_CLOSING
        assert service.ledger().spent(people.names[0]).to_dict()["epsilon"] * 4 == KILLS_IN_CLOSING
        with service.database.read() as connection:
            audit.check(connection)
    print(f"States in which it was killed: {sorted(found)}; {len(drawn)} after the draw")


def state_of(service: Service, poll: Poll) -> str:
    query = select(tables.poll.c.state).where(tables.poll.c.digest == poll.digest)
    with service.database.read() as connection:
        return str(connection.execute(query).scalar_one())


# ---- two hosts at once ---------------------------------------------------------------------------


def test_two_hosts_close_the_same_polls(settings: Settings, tmp_path: Path) -> None:
    people = People.create(3)
    token, key = seed(settings, people, [])
    with (
        open_and_close(settings) as service,
        serve(settings, tmp_path) as one,
        serve(settings, tmp_path, "--workers", "2") as other,
        ThreadPoolExecutor(8) as pool,
    ):
        for number in range(5):
            poll = fill(service, members_of(people), f"poll {number}")
            list(
                pool.map(
                    lambda host, digest=poll.digest: ask_to_close(host.address, token, digest),
                    [one, other] * 4,
                )
            )
            with Client(one.address, token) as here, Client(other.address, token) as there:
                release_of(here, poll, key)
                assert here.release(poll.digest)[0] == there.release(poll.digest)[0]
            (charge,) = charges_of(service, poll.digest)
            assert len(service.ledger().history()) == number + 1
            assert service.ledger().drawn(charge)
        assert service.ledger().audit() == 5


# ---- a full disk ---------------------------------------------------------------------------------


def test_a_full_disk(tmp_path: Path) -> None:
    """A process that may write no file beyond some size meets what a full disk is to it."""
    settings = settings_in(tmp_path)
    people = People.create(200)
    poll = a_poll(parties=200)
    token, key = seed(settings, people, [poll])
    members, acknowledged = members_of(people), list[Receipt]()
    words = words_to_serve(settings)
    largest = max(path.stat().st_size for path in settings.folder.iterdir() if path.is_file())
    limited = [
        "-c",
        "import resource, runpy, sys;"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({largest + 60_000},) * 2);" + words[1],
        *words[2:],
    ]
    refused = 0
    with Server(limited, log=Path("/dev/null"), ready=READY) as server:
        for member in members:
            answer = httpx.put(
                f"{server.address}/v1/polls/{poll.digest}/contribution",
                content=upload(poll, member).to_bytes(),
                headers={"Authorization": f"Bearer {member.token}"},
                timeout=30.0,
            )
            if answer.status_code == 200:
                acknowledged.append(Receipt.from_bytes(answer.content))
                continue
            refused += 1
            assert answer.status_code == 503
            assert answer.headers["content-type"] == "application/problem+json"
            assert "cannot use its database" in answer.json()["detail"]
            if refused == 5:
                break
        assert httpx.get(f"{server.address}/v1/health/live").status_code == 200
    assert acknowledged
    assert refused, "the disk was full"
    with open_and_close(settings) as service:
        rows = rows_of(service, poll)
        assert {bytes(row.commitment) for row in rows.values()} >= {
            each.commitment for each in acknowledged
        }
    with serve(settings, tmp_path) as server, Client(server.address, token) as admin:
        release = release_of(admin, poll, key)
    assert release.certificate.parties == len(rows)


def test_no_room_for_the_release(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """Charged, drawn, and nowhere to put it: it is made when there is room, of the same draw."""
    poll, _ = filled(service, ["a", "b", "c"])
    closing.freeze(service, ADMIN, poll.digest)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(ServiceError, match="cannot use the place of its files"):
            closing.finish(service, poll.digest)
    drawn = service.ledger().drawn(1)
    assert drawn
    closing.finish(service, poll.digest)
    assert service.ledger().drawn(1) == drawn
    (charge,) = service.ledger().history()
    release = Release.from_bytes(closing.release(service, poll.digest, ADMIN)[0])
    assert charge.digest == release.digest


# ---- a database that goes away -------------------------------------------------------------------


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """A PostgreSQL of its own, which may be stopped."""
    try:
        with run_postgresql() as made:
            yield made
    except Absent as absent:
        pytest.skip(f"PostgreSQL cannot be started here: {absent}")


def test_a_database_that_goes_and_comes_back(cluster: Cluster, tmp_path: Path) -> None:
    settings = settings_in(tmp_path, new_database(cluster.url))
    people, poll = People.create(3), a_poll(epsilon=0.25)
    token, key = seed(settings, people, [poll])
    members = members_of(people)

    def put(address: str, member: Member, body: bytes) -> httpx.Response:
        headers = {"Authorization": f"Bearer {member.token}"}
        where = f"{address}/v1/polls/{poll.digest}/contribution"
        return httpx.put(where, content=body, headers=headers, timeout=60.0)

    bodies = [upload(poll, each).to_bytes() for each in members]
    with serve(settings, tmp_path) as server:
        first = put(server.address, members[0], bodies[0])
        assert first.status_code == 200
        cluster.control("stop", "-m", "immediate")
        gone = put(server.address, members[1], bodies[1])
        assert gone.status_code == 503
        assert gone.json()["type"] == "urn:ostraka:error:ServiceError"
        assert "Traceback" not in gone.text
        ready = httpx.get(f"{server.address}{READY}", timeout=60.0)
        assert ready.status_code == 503
        cluster.control("start")
        assert put(server.address, members[0], bodies[0]).content == first.content, "still there"
        for member, body in zip(members[1:], bodies[1:], strict=True):
            assert put(server.address, member, body).status_code == 200
        with Client(server.address, token) as admin:
            closed = threading.Thread(
                target=ask_to_close, args=(server.address, token, poll.digest)
            )
            closed.start()
            cluster.control("stop", "-m", "immediate")
            closed.join()
            cluster.control("start")
            release = release_of(admin, poll, key)
    with open_and_close(settings) as service:
        (charge,) = service.ledger().history()
        assert charge.digest == release.digest
        assert service.ledger().audit() == 1


def test_somebody_else_holds_the_database_for_a_while(tmp_path: Path) -> None:
    """SQLite has one writer at a time: the others wait, and nobody is refused for that."""
    settings = settings_in(tmp_path)
    service = start(settings)
    poll = add_poll(service)
    (member,) = joined(service, "a")
    with closed_at_the_end(sqlite3.connect(settings.folder / "service.db")) as other:
        other.isolation_level = None
        other.execute("BEGIN IMMEDIATE")
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(arrive, service, (poll, member, upload(poll, member)))
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.5)
            other.execute("ROLLBACK")
            (answer,) = waiting.result()
    assert isinstance(answer, Receipt)


# ---- clocks that jump ----------------------------------------------------------------------------

YEAR = 365 * 86400


@pytest.mark.parametrize("jump", [-10 * YEAR, 10 * YEAR])
def test_a_clock_that_jumps_loses_and_spends_nothing(
    service: Service, monkeypatch: pytest.MonkeyPatch, jump: int
) -> None:
    poll = add_poll(service)
    members = joined(service, "a", "b", "c")
    sent = {each.name: upload(poll, each) for each in members}
    real = time.time
    answers = arrive(service, *((poll, each, sent[each.name]) for each in members[:2]))
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: real() + jump)
        (late,) = arrive(service, (poll, members[2], sent["c"]))
        assert isinstance(late, Receipt if jump < 0 else OstrakaError)
        closing.freeze(service, ADMIN, poll.digest)
        closing.finish(service, poll.digest)
        before = closing.release(service, poll.digest, ADMIN)
    closing.freeze(service, ADMIN, poll.digest)
    closing.finish(service, poll.digest)
    assert closing.release(service, poll.digest, ADMIN) == before
    assert len(service.ledger().history()) == 1
    listed = Manifest.from_bytes(closing.manifest(service, poll.digest, ADMIN))
    assert all(listed.counts(each.commitment) for each in answers)
    with service.database.read() as connection:
        audit.check(connection)


def test_a_token_counts_again_when_the_clock_is_right_again(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll = add_poll(service)
    (member,) = joined(service, "a")
    real = time.time
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: real() + 10 * YEAR)
        (refused,) = arrive(service, (poll, member, upload(poll, member)))
    assert "too old" in str(refused)
    (answer,) = arrive(service, (poll, member, upload(poll, member)))
    assert isinstance(answer, Receipt)


# ---- the sum -------------------------------------------------------------------------------------


def test_what_is_added_up_is_exactly_what_was_acknowledged(service: Service) -> None:
    poll = add_poll(service)
    members = joined(service, "a", "b", "c")
    given = {each.name: contribution(poll, each.name) for each in members}
    arrive(service, *((poll, each, upload(poll, each, given=given[each.name])) for each in members))
    exact = np.sum([each.values for each in given.values()], axis=0)
    tally = Tally(poll)
    for row in rows_of(service, poll).values():
        tally.add(Contribution.from_bytes(bytes(row.content)))
    assert np.array_equal(tally.total, exact)
