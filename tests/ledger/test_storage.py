"""The rules of spending hold in any storage: the same laws, in a file and in memory."""

from __future__ import annotations

import ast
import secrets
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import insert, update

import ostraka.ledger
from ostraka.errors import (
    BudgetError,
    FormatError,
    InputError,
    LedgerError,
    ParameterError,
    WrongTypeError,
)
from ostraka.ledger import Amount, Budget, Cost, Kind, Ledger, SqliteFile, Storage, book, sqlite
from ostraka.service.storage import ledger as service_ledger
from ostraka.service.storage import tables
from ostraka.service.storage.database import Database
from ostraka.service.storage.ledger import Accounts
from ostraka.service.storage.migrations import migrate
from tests.databases import database_with_tables
from tests.ledger.made import InMemory, Kept, a_certificate, a_release, in_memory
from tests.ledger.test_ledger import amount, check_story, stories

DIGEST = "0123456789abcdef" * 4
HALF = Cost.pure(0.5)
pytestmark = pytest.mark.usefixtures("nothing_left_open")
Make = Callable[[Path, Budget], Ledger]


def without_a_file(path: Path, budget: Budget) -> Ledger:
    return in_memory(budget)


def in_a_service(url: str, budget: Budget) -> Ledger:
    """In the tables of a service."""
    database = Database.open(url)
    whole = budget.amount
    row = {"id": 1, "kind": whole.kind.value, "amount": whole.to_text(), "unit": "party"}
    with database.write() as connection:
        connection.execute(insert(tables.budget).values(**row))
    return Ledger(Accounts(database))


def on_sqlite(path: Path, budget: Budget) -> Ledger:
    database = Database.in_file(path.with_name(f"{secrets.token_hex(4)}.db"))
    migrate(database)
    database.close()
    return in_a_service(str(database.engine.url), budget)


MAKERS: dict[str, Make] = {
    "file": Ledger.create,
    "memory": without_a_file,
    "service on sqlite": on_sqlite,
}
ROWS: dict[str, type] = {
    "file": sqlite._SqliteRows,
    "memory": Kept,
    "service on sqlite": service_ledger._Rows,
    "service on postgresql": service_ledger._Rows,
}


@pytest.fixture(params=list(ROWS))
def kind(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if name == "service on postgresql":
        cluster = request.getfixturevalue("postgresql")

        def on_postgresql(path: Path, budget: Budget) -> Ledger:
            return in_a_service(database_with_tables(cluster), budget)

        MAKERS[name] = on_postgresql
    return name


@pytest.fixture
def ledger(kind: str, tmp_path: Path) -> Ledger:
    return MAKERS[kind](tmp_path / "l", Budget(epsilon=1.0))


def everything(ledger: Ledger) -> tuple[Any, ...]:
    return ledger.budget, ledger.accounts(), ledger.history(), ledger.open_charges()


# ---- laws ----------------------------------------------------------------------------------------


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(story=stories())
def test_every_sequence_of_charges(kind: str, story: tuple[Budget, Any]) -> None:
    check_story(*story, make=MAKERS[kind])


def test_who_cannot_pay_keeps_all_from_paying(ledger: Ledger) -> None:
    ledger.charge(["poor"], Cost.pure(0.75))
    before = everything(ledger)
    with pytest.raises(BudgetError, match=r"party poor has ε=0.25 left"):
        ledger.charge(["a", "Poor", "b"], HALF)
    assert everything(ledger) == before


@pytest.mark.parametrize("step", ["add_charge", "accounts", "costs", "add_draw"])
def test_a_failure_in_the_midst_changes_nothing(
    kind: str, ledger: Ledger, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.charge(["a"], HALF)
    before = everything(ledger)
    real = getattr(ROWS[kind], step)

    def failing(*arguments: Any, **named: Any) -> Any:
        real(*arguments, **named)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(ROWS[kind], step, failing)
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(["a", "b"], HALF, draw=lambda: [1])
    assert everything(ledger) == before
    assert ledger.audit() == 1


def test_sums_are_exact(ledger: Ledger) -> None:
    for _ in range(9):
        ledger.charge(["a"], Cost.pure(0.1))
    assert ledger.spent("a") == amount(epsilon=0.1).times(9)
    with pytest.raises(BudgetError, match="doubles are counted exactly"):
        ledger.charge(["a"], Cost.pure(0.1))


def test_nothing_is_refunded(ledger: Ledger) -> None:
    charge = ledger.charge(["a"], HALF, "poll 7")
    assert ledger.open_charges() == [charge]
    ledger.settle(charge, DIGEST)
    assert ledger.open_charges() == []
    assert ledger.left("a") == amount(epsilon=0.5)
    with pytest.raises(LedgerError, match="already"):
        ledger.settle(charge, DIGEST)
    with pytest.raises(InputError, match="Budgets can be raised before the first charge only"):
        ledger.allow(["a"], Budget(epsilon=2.0))
    ledger.charge(["A "], HALF)
    with pytest.raises(BudgetError):
        ledger.charge(["a"], Cost.pure(1e-300))
    assert ledger.audit() == 2


def test_what_was_drawn_is_kept_with_its_charge_or_forgotten_with_it(ledger: Ledger) -> None:
    numbers = [0, -7, 2**70]
    charge = ledger.charge(["a"], HALF, draw=lambda: numbers)
    assert ledger.drawn(charge) == ledger.drawn(charge.id) == numbers
    assert ledger.drawn(ledger.charge(["b"], HALF)) is None
    assert ledger.drawn(99) is None
    before, asked = everything(ledger), []

    def draw() -> list[int]:
        asked.append(1)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ledger.charge(["a"], HALF, draw=draw)
    assert everything(ledger) == before, "a draw that fails costs nothing"
    with pytest.raises(BudgetError):
        ledger.charge(["a"], Cost.pure(0.75), draw=draw)
    assert len(asked) == 1, "who cannot pay draws nothing"
    assert everything(ledger) == before


def test_only_the_charged_certificate_is_settled(ledger: Ledger) -> None:
    promised = a_certificate(0.25)
    charge = ledger.charge(["a"], promised)
    for other in (a_release(a_certificate(0.125)), DIGEST):
        with pytest.raises(LedgerError, match=r"for the certificate .* Nothing was recorded\."):
            ledger.settle(charge, other)
    with pytest.raises(LedgerError, match="has no charge 7"):
        ledger.settle(7, DIGEST)
    ledger.settle(charge.id, a_release(promised))
    (kept,) = ledger.history("a")
    assert (kept.digest, kept.certificate, kept.n_parties) == (DIGEST, promised.digest, 1)


def test_allowances(ledger: Ledger) -> None:
    ledger.allow([3, "b"], Budget(epsilon=0.25))
    ledger.allow(["3.0"], Budget(epsilon=0.5))
    with pytest.raises(BudgetError, match="party b"):
        ledger.charge(["3", "b"], HALF)
    ledger.charge(["003"], HALF)
    assert ledger.left(3) == Amount.zero(Kind.PURE)
    assert [one.party for one in ledger.accounts()] == ["3", "b"]


def test_threads_take_turns(ledger: Ledger) -> None:
    def attempt(k: int) -> bool:
        try:
            ledger.charge(["common", f"own {k}"], Cost.pure(0.25))
        except BudgetError:
            return False
        return True

    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(attempt, range(12)))
    assert sum(made) == len(ledger.history()) == ledger.audit() == 4
    assert ledger.left("common") == Amount.zero(Kind.PURE)


# ---- flipped bits --------------------------------------------------------------------------------


def flip_in_file(ledger: Ledger, column: str, value: object) -> None:
    """As a broken disk would: past the triggers, which are there again afterwards."""
    assert ledger.path is not None
    with closing(sqlite3.connect(ledger.path)) as db:
        (trigger,) = db.execute(
            "SELECT sql FROM sqlite_master WHERE name = 'party_is_not_changed'"
        ).fetchone()
        db.execute("DROP TRIGGER party_is_not_changed")
        db.execute(f"UPDATE party SET {column} = ? WHERE name = 'a'", (value,))
        db.execute(trigger)
        db.commit()


def forget(kind: str, ledger: Ledger) -> None:
    """Party a's running sum says 0."""
    if kind == "file":
        flip_in_file(ledger, "spent", "0/1")
    elif kind.startswith("service"):
        known = tables.ledger_party
        with ledger.storage._database.write() as connection:  # type: ignore[attr-defined]
            connection.execute(update(known).where(known.c.name == "a").values(spent="0/1"))
    else:
        ledger.storage.kept.spent["a"] = Amount.zero(Kind.PURE)  # type: ignore[attr-defined]


def check_forgotten(kind: str, ledger: Ledger) -> None:
    """A flipped sum gives nobody a second budget."""
    ledger.charge(["a", "b"], Cost.pure(0.75))
    forget(kind, ledger)
    before = everything(ledger)
    with pytest.raises(FormatError, match="what party a has spent is not the sum of its charges"):
        ledger.charge(["b", "a", "c"], Cost.pure(0.125))
    with pytest.raises(FormatError, match="what party a has spent is not the sum of its charges"):
        ledger.charge(["a"], HALF)
    with pytest.raises(FormatError, match="is not the sum"):
        ledger.allow(["a"], Budget(epsilon=0.5))
    assert everything(ledger) == before
    with pytest.raises(FormatError, match="is not the sum"):
        ledger.audit()
    ledger.charge(["b"], Cost.pure(0.125))


def test_a_flipped_sum_is_refused(kind: str, ledger: Ledger) -> None:
    check_forgotten(kind, ledger)


def test_without_adding_up_it_would_be_spent_twice(
    kind: str, ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant that trusts the running sums."""
    monkeypatch.setattr(book, "_add_up_accounts", lambda rows, names: rows.accounts(names))
    ledger.charge(["a"], Cost.pure(0.75))
    forget(kind, ledger)
    charge = ledger.charge(["a"], HALF)
    assert charge.id == 2, "granted: ε = 1.25 of 1"
    with pytest.raises(pytest.fail.Exception):
        check_forgotten(kind, MAKERS[kind](tmp_path / "l2", Budget(epsilon=1.0)))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("spent", "1/1"),
        ("spent", "1/4"),
        ("spent", "3/8"),
        ("spent", "0/2"),
        ("spent", "x"),
        ("spent", b"1/2"),
        ("n_releases", 0),
        ("n_releases", 2),
    ],
)
def test_any_flip_in_a_party_is_refused(tmp_path: Path, column: str, value: object) -> None:
    ledger = Ledger.create(tmp_path / "l", Budget(epsilon=1.0))
    ledger.charge(["a"], HALF)
    flip_in_file(ledger, column, value)
    before = (tmp_path / "l").read_bytes()
    for charge in (lambda: ledger.charge(["a"], HALF), lambda: ledger.charge(["a", "z"], HALF)):
        with pytest.raises(FormatError, match=r"not the sum|is not a number"):
            charge()
    assert (tmp_path / "l").read_bytes() == before


def test_a_digit_flipped_in_the_bytes_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = Ledger.create(path, Budget(epsilon=1.0))
    ledger.charge(["a"], Cost.pure(0.75))
    raw = path.read_bytes()
    at = raw.index(b"a3/4")  # the row of the party: its name, then what it has spent
    path.write_bytes(raw[: at + 1] + b"1" + raw[at + 2 :])
    assert ledger.spent("a") == amount(epsilon=0.25)
    with pytest.raises(FormatError, match="is not the sum"):
        ledger.charge(["a"], HALF)


def test_a_digit_flipped_in_a_charge(tmp_path: Path) -> None:
    path = tmp_path / "l"
    ledger = Ledger.create(path, Budget(epsilon=1.0))
    ledger.charge(["a"], Cost.pure(0.75), "note")
    raw = path.read_bytes()
    at = raw.index(b"3/4note")
    for flipped, complaint in ((b"1/4", "is not the sum"), (b"3/0", "is damaged")):
        path.write_bytes(raw[:at] + flipped + raw[at + 3 :])
        with pytest.raises(FormatError, match=complaint):
            ledger.charge(["a"], Cost.pure(0.125))


# ---- what a storage is ---------------------------------------------------------------------------


def test_a_ledger_is_given_a_path_or_a_storage(tmp_path: Path) -> None:
    made = Ledger.create(tmp_path / "l", Budget(epsilon=1.0))
    assert made.path == tmp_path / "l"
    assert repr(made) == f"Ledger({str(tmp_path / 'l')!r})"
    for kept in (tmp_path / "l", str(tmp_path / "l"), SqliteFile(tmp_path / "l", patience=1.0)):
        assert Ledger(kept).path == tmp_path / "l"
    memory = InMemory(amount(epsilon=1.0))
    assert isinstance(memory, Storage)
    assert (Ledger(memory).path, repr(Ledger(memory))) == (None, "Ledger('memory')")
    with pytest.raises(ParameterError, match="with a path only"):
        Ledger(memory, patience=1.0)
    for bad in (7, None, object()):
        with pytest.raises(WrongTypeError, match="a path, or a Storage"):
            Ledger(bad)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="patience"):
        Ledger(tmp_path / "l", patience=-1.0)


def test_messages_name_the_place() -> None:
    with pytest.raises(LedgerError, match="The ledger 'memory' has no charge 1"):
        in_memory(Budget(epsilon=1.0)).settle(1, DIGEST)


def test_an_audit_of_a_storage_that_lost_a_line() -> None:
    storage = InMemory(amount(epsilon=1.0))
    ledger = Ledger(storage)
    ledger.charge(["a"], HALF)
    storage.kept.shares = lambda: [(9, "a")]  # type: ignore[method-assign]
    with pytest.raises(FormatError, match="a share in a charge that is not there"):
        ledger.audit()


def test_sql_is_in_two_files_only() -> None:
    folder = Path(ostraka.ledger.__file__).parent
    for path in sorted(folder.glob("*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        named = {node.names[0].name for node in ast.walk(tree) if isinstance(node, ast.Import)}
        assert ("sqlite3" in named) == path.name.startswith("sqlite"), path.name
