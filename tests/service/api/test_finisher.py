"""The thread that makes releases: it finishes what was begun, and nothing ends it but its end."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ostraka.errors import InputError, LedgerError, ServiceError
from ostraka.poll import Poll
from ostraka.service import closing, polls
from ostraka.service.api import finisher as module
from ostraka.service.api.finisher import UNFORESEEN, Finisher
from ostraka.service.service import Service
from tests.client.served import Clock
from tests.service.made import ADMIN, a_poll, filled

PATIENCE = 60.0
"""Seconds until a test gives up; none waits for so long."""


class Finished:
    """In place of `closing.finish`: says who is finished, and fails as it is told."""

    def __init__(self) -> None:
        self.begun: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.fails: list[Exception] = []
        self.held = threading.Event()
        self.held.set()

    def __call__(self, service: Service, digest: str, wait: Callable[[], None]) -> None:
        self.begun.put(digest)
        assert self.held.wait(PATIENCE)
        if self.fails:
            raise self.fails.pop(0)

    def next(self) -> str:
        return self.begun.get(timeout=PATIENCE)


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> Finished:
    made = Finished()
    monkeypatch.setattr(closing, "finish", made)
    return made


@pytest.fixture
def finisher(service: Service) -> Iterator[Finisher]:
    """One that looks all the time; a test starts it."""
    made = Finisher(service, grid=0.0, look_each=0.01)
    yield made
    made.close()
    if made._thread.ident is not None:
        made._thread.join(PATIENCE)
        assert not made._thread.is_alive()


def closed(service: Service, title: str = "") -> Poll:
    """A poll that somebody has closed, and not finished."""
    names = [f"{title} {number}" for number in range(2)]
    poll, _ = filled(service, names, a_poll(title=title, epsilon=0.5))
    closing.freeze(service, ADMIN, poll.digest)
    with service.database.write() as connection:  # so that the next one need not wait for it
        found = polls.lock(connection, poll.digest)
        assert found.state == "closed"
    return poll


def trouble(service: Service, poll: Poll) -> str | None:
    with service.database.read() as connection:
        return polls.show(connection, poll.digest, ADMIN).trouble


def state(service: Service, poll: Poll) -> str:
    with service.database.read() as connection:
        return polls.look(connection, poll.digest).state


def until(true: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    pause = threading.Event()
    for _ in range(int(PATIENCE / 0.005)):
        if true():
            return
        pause.wait(0.005)
    raise AssertionError("it never came")


# ---- what it finishes ----------------------------------------------------------------------------


@pytest.mark.parametrize("database_url", ["sqlite", "postgresql"], indirect=True)
def test_what_an_earlier_process_left(service: Service, finisher: Finisher) -> None:
    poll = closed(service)
    finisher.start()
    until(lambda: state(service, poll) == "released")
    assert len(service.ledger().history()) == 1


def test_what_another_process_left_later(service: Service, finisher: Finisher) -> None:
    """Found at a look: somebody else may be at work, so only at the second one."""
    finisher.start()
    poll = closed(service)
    until(lambda: state(service, poll) == "released")


def test_not_at_the_first_look(service: Service, finished: Finished) -> None:
    poll = closed(service)
    finisher = Finisher(service, grid=0.0)
    finisher._look()
    assert finisher._asked.empty()
    finisher._look()
    assert finisher._asked.get_nowait() == poll.digest


def test_asked_twice_it_is_done_once(
    service: Service, finisher: Finisher, finished: Finished
) -> None:
    finished.held.clear()
    finisher.start()
    for _ in range(3):
        finisher.ask("a")
    assert finished.next() == "a"
    finisher.ask("a")
    finisher.ask("b")
    finished.held.set()
    assert finished.next() == "b"
    finisher.ask("a")
    assert finished.next() == "a", "once it is done, it can be asked for again"


# ---- what goes wrong -----------------------------------------------------------------------------


def test_it_goes_on_after_errors(service: Service, finisher: Finisher, finished: Finished) -> None:
    finished.fails += [ZeroDivisionError("inner words"), MemoryError(), InputError("x.", "y.")]
    finisher.start()
    for digest in "abcd":
        finisher.ask(digest)
    assert [finished.next() for _ in range(4)] == list("abcd")


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (InputError("The party x was changed.", "Do so."), "The party x was changed. Do so."),
        (ZeroDivisionError("inner words"), UNFORESEEN),
    ],
)
def test_what_people_must_solve_is_told_and_left_alone(
    service: Service, finisher: Finisher, finished: Finished, error: Exception, told: str
) -> None:
    poll = closed(service)
    finished.fails.append(error)
    finisher._finish(poll.digest)
    assert trouble(service, poll) == told
    for _ in range(3):
        finisher._look()
    assert finisher._asked.empty()
    finisher.ask(poll.digest)
    assert finisher._asked.get_nowait() == poll.digest, "when somebody asks, it tries again"


@pytest.mark.parametrize(
    "error",
    [
        ServiceError("here", "cannot use its database", "Try again."),
        LedgerError("place", "is locked", "Try again."),
    ],
)
def test_what_passes_by_itself_is_tried_again(
    service: Service, finisher: Finisher, finished: Finished, error: Exception
) -> None:
    poll = closed(service)
    finished.fails.append(error)
    finisher.start()
    assert [finished.next() for _ in range(2)] == [poll.digest] * 2
    assert trouble(service, poll) is None


def test_trouble_that_cannot_be_written_down_ends_nothing(
    service: Service, finisher: Finisher, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise OSError("no room")

    monkeypatch.setattr(closing, "tell_trouble", fail)
    finished.fails.append(InputError("x.", "y."))
    finisher.start()
    for digest in "ab":
        finisher.ask(digest)
    assert [finished.next() for _ in range(2)] == ["a", "b"]


def test_a_database_that_is_away_ends_nothing(
    service: Service, finisher: Finisher, finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked = threading.Event()

    def fail(_: Service) -> list[str]:
        looked.set()
        raise ServiceError("here", "cannot use its database", "Try again.")

    with monkeypatch.context() as patched:
        patched.setattr(closing, "unfinished", fail)
        finisher.start()
        looked.clear()
        assert looked.wait(PATIENCE), "it looks again"
        poll = closed(service)
    assert finished.next() == poll.digest


# ---- when it is shown ----------------------------------------------------------------------------


@pytest.mark.parametrize("taken", [0.0, 0.3, 4.999, 5.0, 5.001, 12.0])
def test_a_release_is_shown_on_the_grid(
    service: Service, monkeypatch: pytest.MonkeyPatch, taken: float
) -> None:
    """Whole multiples of five seconds after its making began, and never before it is made."""
    clock, finisher = Clock(), Finisher(service, grid=5.0)
    monkeypatch.setattr(module, "time", clock)
    waited = list[float]()
    monkeypatch.setattr(finisher._stopping, "wait", lambda s: bool(waited.append(s)))  # type: ignore[func-returns-value]
    begun = clock.now
    clock.now += taken
    finisher._wait(begun)
    shown = taken + waited[0]
    assert 0.0 <= waited[0] < 5.0
    assert abs(shown / 5.0 - round(shown / 5.0)) < 1e-9


def test_stopped_while_a_release_waits_to_be_shown(service: Service) -> None:
    """It is not shown off the grid, and the next process shows it."""
    poll = closed(service)
    finisher = Finisher(service, grid=10**6)
    finisher.start()
    until(lambda: bool(service.ledger().history()))
    finisher.close()
    finisher._thread.join(PATIENCE)
    assert not finisher._thread.is_alive()
    assert state(service, poll) == "closed"
    assert trouble(service, poll) is None
    following = Finisher(service, grid=0.0)
    following.start()
    until(lambda: state(service, poll) == "released")
    following.close()
    following._thread.join(PATIENCE)
    assert len(service.ledger().history()) == 1


def test_stopped_it_takes_no_more(service: Service, finisher: Finisher, finished: Finished) -> None:
    finisher.start()
    finisher.close()
    finisher._thread.join(PATIENCE)
    finisher.ask("a")
    assert finished.begun.empty()
