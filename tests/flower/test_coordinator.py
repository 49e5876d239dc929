"""A `ServerApp` publishes through the one door, once, and refuses before anybody has paid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ostraka.errors import BudgetError, LedgerError, ParameterError, TooFewPartiesError
from ostraka.flower import asking, server
from ostraka.flower.coordinator import serve
from ostraka.ledger import Budget, Ledger
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.preprocessing import Preprocessing
from ostraka.release import Release
from tests.flower.made import CLASSES, FakeGrid, a_context, a_poll, an_order, made_by, sending

POLL = a_poll()
NAMES = ("north", "south", "west")
NOTHING = r"Nothing was drawn and nothing was spent\."


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PAUSE", 0.001)


def a_grid(poll: Poll = POLL, names: tuple[str, ...] = NAMES) -> FakeGrid:
    return FakeGrid({node: sending(made_by(poll, name)) for node, name in enumerate(names, 1)})


def run(grid: FakeGrid, config: dict[str, Any]) -> None:
    """As Flower calls a `ServerApp`."""
    context = a_context()
    context.run_config = config
    server(grid, context)


def a_ledger(folder: Path, epsilon: float = 5.0) -> str:
    Ledger.create(folder / "budgets.db", Budget(epsilon=epsilon), "party")
    return str(folder / "budgets.db")


def test_it_writes_a_release_and_charges_everybody(tmp_path: Path) -> None:
    ledger = a_ledger(tmp_path)
    run(a_grid(), an_order(tmp_path, POLL, ledger=ledger))
    release = Release.load(tmp_path / "made.ostraka")
    assert release.certificate == POLL.certificate(3)
    (charge,) = Ledger(ledger).history()
    assert (charge.n_parties, charge.digest) == (3, release.digest)


def test_without_a_ledger_it_writes_a_release(tmp_path: Path) -> None:
    run(a_grid(), an_order(tmp_path, POLL))
    assert Release.load(tmp_path / "made.ostraka").certificate.parties == 3


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"deadline": 0.0}, "deadline"),
        ({"out": "made.ostraka"}, "an absolute path"),
        ({"out": "asked.poll"}, "an absolute path"),
    ],
)
def test_a_run_config_is_refused_before_anybody_is_asked(
    change: dict[str, Any], complaint: str, tmp_path: Path
) -> None:
    grid = a_grid()
    with pytest.raises(ParameterError, match=rf"{complaint}.*{NOTHING}"):
        run(grid, an_order(tmp_path, POLL, **change))
    assert not grid.asked


def test_files_are_looked_at_before_anybody_is_asked(tmp_path: Path) -> None:
    grid = a_grid()
    with pytest.raises(FileNotFoundError):
        run(grid, an_order(tmp_path, POLL, ledger=str(tmp_path / "no.db")))
    with pytest.raises(FileNotFoundError):
        run(grid, an_order(tmp_path, POLL, out=str(tmp_path / "no" / "made.ostraka")))
    (tmp_path / "made.ostraka").write_bytes(b"dear to me")
    with pytest.raises(FileExistsError, match="force=true"):
        run(grid, an_order(tmp_path, POLL))
    with pytest.raises(ParameterError, match=rf"the poll or the ledger.*{NOTHING}"):
        run(grid, an_order(tmp_path, POLL, out=str(tmp_path / "asked.poll"), force=True))
    assert not grid.asked
    run(grid, an_order(tmp_path, POLL, force=True))
    assert Release.load(tmp_path / "made.ostraka").certificate.parties == 3


def test_too_few_nodes(tmp_path: Path) -> None:
    ledger = a_ledger(tmp_path)
    config = an_order(tmp_path, POLL, ledger=ledger, least_nodes=4, deadline=0.05)
    with pytest.raises(TooFewPartiesError, match=rf"3 nodes have contributed.*4.*{NOTHING}"):
        run(a_grid(), config)
    assert Ledger(ledger).history() == []
    assert not (tmp_path / "made.ostraka").exists()


def test_too_few_parties(tmp_path: Path) -> None:
    poll = a_poll(least_parties=4)
    with pytest.raises(TooFewPartiesError, match=rf"3 parties have contributed.*4.*{NOTHING}"):
        run(a_grid(poll), an_order(tmp_path, poll))
    assert not (tmp_path / "made.ostraka").exists()


def test_somebody_who_cannot_pay(tmp_path: Path) -> None:
    ledger = a_ledger(tmp_path, epsilon=0.5)
    with pytest.raises(BudgetError, match=NOTHING):
        run(a_grid(), an_order(tmp_path, POLL, ledger=ledger))
    assert Ledger(ledger).history() == []


def test_a_poll_is_released_once_and_nobody_is_asked_again(tmp_path: Path) -> None:
    config = an_order(tmp_path, POLL, ledger=a_ledger(tmp_path), force=True)
    run(a_grid(), config)
    grid = a_grid()
    with pytest.raises(LedgerError, match=r"charged this poll already.*recover=true.*again=true"):
        run(grid, config)
    assert not grid.asked
    run(grid, {**config, "again": True})
    assert [charge.n_parties for charge in Ledger(tmp_path / "budgets.db").history()] == [3, 3]


def test_a_lost_release_is_recovered_and_nobody_is_asked_again(tmp_path: Path) -> None:
    config = an_order(tmp_path, POLL, ledger=a_ledger(tmp_path))
    run(a_grid(), config)
    made = (tmp_path / "made.ostraka").read_bytes()
    (tmp_path / "made.ostraka").unlink()
    grid = a_grid()
    run(grid, {**config, "recover": True})
    assert (tmp_path / "made.ostraka").read_bytes() == made
    assert not grid.asked


def test_nothing_to_recover(tmp_path: Path) -> None:
    config = an_order(tmp_path, POLL, ledger=a_ledger(tmp_path), recover=True)
    with pytest.raises(LedgerError, match="Leave out recover=true"):
        run(a_grid(), config)


class Crash(BaseException):
    """As if the machine had gone off."""


@pytest.mark.parametrize("unit", ["party", "person"])
def test_a_run_that_was_killed_after_the_charge_is_finished_by_the_next(
    unit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_persons = {"protects": "person", "parties": None, "persons": 6}
    poll = a_poll(**(of_persons if unit == "person" else {}))
    Ledger.create(tmp_path / "budgets.db", Budget(epsilon=5.0), unit)
    config = an_order(tmp_path, poll, ledger=str(tmp_path / "budgets.db"))

    def a_federation() -> FakeGrid:
        from tests.flower.made import some_rows

        persons = {"persons": ["ann", "ann", "bob", "cleo"]} if unit == "person" else {}
        sent = [poll.contribute(*some_rows(1), name, **persons).to_bytes() for name in NAMES]
        return FakeGrid({node: sending(each) for node, each in enumerate(sent, 1)})

    def crash(*_: Any, **__: Any) -> None:
        raise Crash

    with monkeypatch.context() as broken:
        broken.setattr("ostraka.publishing._settle", crash)
        with pytest.raises(Crash):
            run(a_federation(), config)
    (charge,) = Ledger(tmp_path / "budgets.db").history()
    assert charge.is_open
    run(a_federation(), config)
    (charge,) = Ledger(tmp_path / "budgets.db").history()
    made = Release.load(tmp_path / "made.ostraka")
    assert charge.digest == made.digest
    assert made.certificate.parties == 3


def test_polls_that_nodes_cannot_answer_are_refused(tmp_path: Path) -> None:
    features = AuxiliarySet([[0.5, 0.1], [0.1, 0.5]], CLASSES).features
    private = AuxiliarySet(features, CLASSES, preprocessing=Preprocessing(), private=True)
    poll = Poll.create(private, method="soft", epsilon=1.0, parties=5, lambda_=0.1)
    with pytest.raises(ValueError, match=rf"private auxiliary samples.*by files.*{NOTHING}"):
        run(a_grid(), an_order(tmp_path, poll))
    (tmp_path / "asked.poll").unlink()
    with pytest.raises(ValueError, match=rf"single rows.*{NOTHING}"):
        run(a_grid(), an_order(tmp_path, a_poll(protects="row")))


def test_the_server_is_a_flower_app() -> None:
    from flwr.serverapp import ServerApp

    assert isinstance(server, ServerApp)
    assert serve.__doc__
