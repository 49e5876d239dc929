"""A trustee answers once for each poll: whatever it is asked, and whatever crashes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from ostraka.errors import (
    BudgetError,
    InputError,
    LedgerError,
    ParameterError,
    StateError,
    TooFewPartiesError,
)
from ostraka.ledger import Budget, Ledger
from ostraka.mechanism.mechanism import Mechanism
from ostraka.party.sealed import open_share
from ostraka.sealing import Card, Opener
from ostraka.sealing.shares import centre
from ostraka.trustee import Answer, Desk, Request
from ostraka.trustee.memory import Kept, Memory
from tests.laws.cases import M
from tests.laws.sealed import add_plain, ask, is_whole_noise, sealed_poll, send
from tests.sealing.made import COORDINATOR, SERVERS
from tests.trustee.conftest import CASE, Made


def others(made: Made) -> Request:
    """A request for other parties."""
    return ask(made.poll, made.sent[1:])


def draws(desk: Desk) -> int:
    return len(desk.ledger.history())


# ---- one answer ----------------------------------------------------------------------------------


def test_the_same_request_has_the_same_answer(made: Made) -> None:
    first = made.desk.answer(made.request)
    for _ in range(3):
        assert Desk.at(made.desk.folder).answer(made.request).to_bytes() == first.to_bytes()
    assert draws(made.desk) == 1


def test_another_request_has_none(made: Made) -> None:
    made.desk.answer(made.request)
    with pytest.raises(StateError, match="never for another set of parties"):
        made.desk.answer(others(made))
    assert draws(made.desk) == 1


def test_what_it_says_is_noisy(made: Made) -> None:
    """The two halves are the sum with one noise, which is as large as promised."""
    opener, dimension = Opener.of(COORDINATOR), made.poll.domain.dimension
    ours = sum(
        (open_share(each, opener, dimension) for each in made.sent),
        np.zeros(dimension, dtype=np.uint64),
    )
    noise = np.array(centre(ours + made.desk.answer(made.request).share)) - np.array(
        [int(unit) for unit in add_plain(made.poll, CASE.world()).total]
    )
    assert is_whole_noise(noise.tolist(), made.poll.mechanism(M).law)


def test_an_older_memory_does_not_let_it_draw_again(made: Made) -> None:
    """Its ledger knows what was answered, too."""
    made.desk.answer(made.request)
    (made.desk.folder / "answers.db").unlink()
    Memory.create(made.desk.folder / "answers.db", made.desk.card.key)
    with pytest.raises(StateError, match="once for each poll"):
        made.desk.answer(others(made))
    assert draws(made.desk) == 1


def test_many_at_once(made: Made) -> None:
    """Two requests, eight threads: one draw, one answer, for one of them."""
    requests, found = [made.request, others(made)] * 4, list[Answer]()

    def run(request: Request) -> None:
        with suppress(StateError):
            found.append(Desk.at(made.desk.folder).answer(request))

    threads = [threading.Thread(target=run, args=(request,)) for request in requests]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert draws(made.desk) == 1
    assert len({answer.to_bytes() for answer in found}) == 1


# ---- crashes -------------------------------------------------------------------------------------


class Stop(BaseException):
    """As if the power had failed."""


STEPS: dict[str, tuple[object, str]] = {
    "before the turn": (Memory, "turn"),
    "before it is drawn": (Mechanism, "hide"),
    "before it is charged": (Ledger, "charge"),
    "before it is signed": (Answer, "sign"),
    "before it is settled": (Ledger, "settle"),
    "before it is kept": (Kept, "keep"),
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_after_a_crash_the_same_request_goes_on(
    step: str, after: bool, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, name = STEPS[step]
    real = getattr(kind, name)

    def failing(*args: object, **more: object) -> object:
        if after:
            real(*args, **more)
        raise Stop

    with monkeypatch.context() as patched:
        patched.setattr(kind, name, failing)
        with pytest.raises(Stop):
            made.desk.answer(made.request)
    before = [made.desk.ledger.drawn(charge) for charge in made.desk.ledger.history()]
    answer = Desk.at(made.desk.folder).answer(made.request)
    assert draws(made.desk) == 1
    if before:
        assert [int(number) for number in answer.share] == before[0], "what was drawn then"
    with pytest.raises(StateError):
        made.desk.answer(others(made))


def die_at(kind: object, name: str, after: bool) -> Callable[..., object]:
    real = getattr(kind, name)

    def dying(*args: object, **more: object) -> object:
        if after:
            real(*args, **more)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("still alive")

    return dying


def answer_and_die(folder: Path, request: bytes, step: str, after: bool) -> None:
    kind, name = STEPS[step]
    setattr(kind, name, die_at(kind, name, after))
    Desk.at(folder).answer(Request.from_bytes(request))


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", list(STEPS)[1:])
def test_killed(step: str, after: bool, made: Made) -> None:
    """A process that is killed, and asked by another request first when it is back."""
    context = multiprocessing.get_context("spawn")
    given = (made.desk.folder, made.request.to_bytes(), step, after)
    process = context.Process(target=answer_and_die, args=given)
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with pytest.raises(StateError):
        made.desk.answer(others(made))
    before = [made.desk.ledger.drawn(charge) for charge in made.desk.ledger.history()]
    answer = made.desk.answer(made.request)
    assert draws(made.desk) == 1
    assert before in ([], [[int(number) for number in answer.share]])


# ---- mutants -------------------------------------------------------------------------------------


class Forgetful:
    """What a mutant remembers of a poll: nothing."""

    answer = None

    def __init__(self, frozen: str) -> None:
        self.frozen = frozen

    def keep(self, answer: bytes) -> None:
        self.answer = answer


def forget_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def turn(self: Memory, poll: str, request: str) -> Iterator[Forgetful]:
        yield Forgetful(request)

    monkeypatch.setattr(Memory, "turn", turn)
    monkeypatch.setattr(Memory, "frozen", lambda self, poll: None)


def test_a_trustee_that_forgets_is_stopped_by_its_ledger(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_answers(monkeypatch)
    made.desk.answer(made.request)
    with pytest.raises(StateError):
        made.desk.answer(others(made))
    assert draws(made.desk) == 1


def test_a_trustee_that_forgets_all_of_it_is_caught(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant draws twice, for two sets: their difference is one party's half, with noise of its
    own: what the tests above must, and do, see.
    """
    forget_answers(monkeypatch)
    monkeypatch.setattr(Ledger, "history", lambda self, party=None: [])
    made.desk.answer(made.request)
    made.desk.answer(others(made))
    monkeypatch.undo()
    assert draws(made.desk) == 2


def test_the_table_refuses_a_second_request_by_itself(made: Made) -> None:
    made.desk.answer(made.request)
    with closing(sqlite3.connect(made.desk.folder / "answers.db")) as connection:
        for change in ("request = 'x'", "poll = 'x'", "answer = x'00'"):
            with pytest.raises(sqlite3.IntegrityError, match="one request and one answer"):
                connection.execute(f"UPDATE answer SET {change}")


def test_an_answer_without_noise_is_caught(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant of the test that looks at the noise. It is never missed: 0 is too short."""
    monkeypatch.setattr(Mechanism, "hide", lambda self, share, source: share)
    with pytest.raises(AssertionError):
        test_what_it_says_is_noisy(made)


# ---- what is refused -----------------------------------------------------------------------------


def test_whoever_cannot_pay_stops_it_before_it_is_frozen(made: Made) -> None:
    made.desk.ledger.allow(["3"], Budget(epsilon=0.5, delta=0.1))
    with pytest.raises(BudgetError, match="party 3"):
        made.desk.answer(made.request)
    assert made.desk.memory.frozen(made.poll.digest) is None
    without = [each for each in made.sent if each.party != "3"]
    assert made.desk.answer(ask(made.poll, without)).left_out == ()


def test_too_few_halves_open(made: Made) -> None:
    """All are sealed to another trustee's key under this one's name; nothing was frozen."""
    request = made.request
    entries = [type(e)(e.party, e.persons, bytes(80), e.digest) for e in request.entries]
    rubbish = Request.sign(made.poll, entries, COORDINATOR)
    with pytest.raises(TooFewPartiesError, match="Nothing was drawn and nothing was spent"):
        made.desk.answer(rubbish)
    assert made.desk.memory.frozen(made.poll.digest) is None


def test_another_trustees_poll(made: Made) -> None:
    poll = sealed_poll(CASE, SERVERS)
    with pytest.raises(InputError, match=r"names another trustee.*Nothing was opened"):
        made.desk.answer(ask(poll, send(poll, CASE.world())))


def test_a_trustees_folder(made: Made, tmp_path: Path) -> None:
    folder = made.desk.folder
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "trustee.key").stat().st_mode & 0o077 == 0
    with pytest.raises(ParameterError, match="nothing in it is replaced"):
        Desk.create(folder, "Again", Budget(epsilon=1.0))
    with pytest.raises(InputError, match="There is no trustee"):
        Desk.at(tmp_path / "nowhere")
    Card.of("Another", COORDINATOR).save(folder / "trustee.card", overwrite=True)
    with pytest.raises(InputError, match="not that of its key"):
        Desk.at(folder)


def test_a_memory_that_is_missing_or_damaged(made: Made) -> None:
    path = made.desk.folder / "answers.db"
    path.rename(path.with_suffix(".away"))
    with pytest.raises(LedgerError, match="is missing"):
        made.desk.answer(made.request)
    path.write_bytes(b"rubbish" * 1000)
    with pytest.raises(LedgerError, match="cannot be used"):
        made.desk.answer(made.request)
    assert draws(made.desk) == 0


def test_a_key_without_its_memory_answers_nothing(made: Made, tmp_path: Path) -> None:
    """Somebody who has kept a copy of the key, and made another folder for it."""
    made.desk.answer(made.request)
    fresh = tmp_path / "fresh"
    Desk.create(fresh, "Fresh", Budget(epsilon=1000.0, delta=0.5))
    for name in ("trustee.key", "trustee.card"):
        (fresh / name).write_bytes((made.desk.folder / name).read_bytes())
    with pytest.raises(LedgerError, match="belongs to another key"):
        Desk.at(fresh)


def test_accounts_that_have_forgotten_an_answer(made: Made) -> None:
    made.desk.answer(made.request)
    for path in made.desk.folder.glob("ledger.db*"):
        path.unlink()
    Ledger.create(made.desk.folder / "ledger.db", Budget(epsilon=1000.0, delta=0.5))
    with pytest.raises(LedgerError, match="has forgotten the charge"):
        Desk.at(made.desk.folder)


def test_a_request_for_others_does_not_freeze_a_poll_that_the_ledger_knows(made: Made) -> None:
    """With a memory that was lost: the right request must still be answered."""
    answer = made.desk.answer(made.request)
    (made.desk.folder / "answers.db").unlink()
    Memory.create(made.desk.folder / "answers.db", made.desk.card.key)
    with pytest.raises(StateError):
        made.desk.answer(others(made))
    assert made.desk.memory.frozen(made.poll.digest) is None
    assert (made.desk.answer(made.request).share == answer.share).all()


def test_a_folder_that_others_could_read(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir(mode=0o755)
    Desk.create(folder, "Desk", Budget(epsilon=1.0))
    assert folder.stat().st_mode & 0o077 == 0
