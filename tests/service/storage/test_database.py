"""Transactions: durable when left, undone when broken; SQLite and PostgreSQL alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from ostraka.errors import ParameterError, ServiceError
from ostraka.service.service import Service
from ostraka.service.storage.database import Database


def ask(connection: Any, query: str) -> Any:
    return connection.execute(text(query)).scalar_one()


def count(service: Service) -> int:
    with service.database.read() as connection:
        return int(ask(connection, "SELECT count(*) FROM party"))


ADD = "INSERT INTO party (name, joined) VALUES ('{}', 'today')"


def test_a_transaction_happens_or_does_not(service: Service) -> None:
    with service.database.write() as connection:
        connection.execute(text(ADD.format("a")))

    def interrupted() -> None:
        with service.database.write() as connection:
            connection.execute(text(ADD.format("b")))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert count(service) == 1


def test_who_reads_sees_one_moment(service: Service) -> None:
    with service.database.read() as reading:
        assert ask(reading, "SELECT count(*) FROM party") == 0
        with service.database.write() as writing:
            writing.execute(text(ADD.format("a")))
        assert ask(reading, "SELECT count(*) FROM party") == 0
    assert count(service) == 1


def test_who_reads_cannot_write_on_postgresql(service: Service) -> None:
    if service.database.is_sqlite:
        return
    with pytest.raises(ServiceError), service.database.read() as connection:
        connection.execute(text(ADD.format("a")))


def test_it_is_durable(service: Service) -> None:
    """What was acknowledged is on the disk."""
    with service.database.read() as connection:
        if service.database.is_sqlite:
            assert ask(connection, "PRAGMA journal_mode") == "wal"
            assert ask(connection, "PRAGMA synchronous") == 2
            assert ask(connection, "PRAGMA foreign_keys") == 1
        else:
            assert ask(connection, "SHOW synchronous_commit") == "on"


def test_a_server_that_is_set_to_forget_is_not_followed(service: Service) -> None:
    if service.database.is_sqlite:
        return
    url = service.database.engine.url.render_as_string(hide_password=False)
    with service.database.write() as connection:
        name = ask(connection, "SELECT current_database()")
        connection.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
    other = Database.open(url.replace("+psycopg", ""))
    with other.write() as connection:
        assert ask(connection, "SHOW synchronous_commit") == "on"
    other.close()


def test_what_a_database_says_is_for_the_log(service: Service) -> None:
    """No parameter and no password in what people see, but the cause for whoever has the log."""
    asked = text("INSERT INTO nowhere VALUES (:secret)")
    with (
        pytest.raises(ServiceError, match="cannot use its database") as caught,
        service.database.write() as connection,
    ):
        connection.execute(asked, {"secret": "s3cret"})
    assert "nowhere" not in str(caught.value)
    cause = caught.value.__cause__
    assert "nowhere" in str(cause)
    assert "s3cret" not in str(cause)


@pytest.mark.parametrize("url", ["", "no url", "mysql://host/name", "sqlite", "://"])
def test_other_urls(url: str) -> None:
    with pytest.raises(ParameterError, match="sqlite:///PATH, or postgresql://"):
        Database.open(url)


def test_no_password_is_shown() -> None:
    database = Database.open("postgresql://u:pa55@host/name")
    assert "pa55" not in database.place
    with pytest.raises(ParameterError) as caught:
        Database.open("mysql://u:pa55@host/name")
    assert "pa55" not in str(caught.value)


def test_a_database_that_is_not_there(tmp_path: Path) -> None:
    for url in (f"sqlite:///{tmp_path}/no/folder.db", f"postgresql://x@/x?host={tmp_path}"):
        database = Database.open(url)
        with pytest.raises(ServiceError, match="Try again in a minute"), database.read():
            pass
        database.close()


@pytest.mark.parametrize(
    "table",
    [
        "audit",
        "ledger_budget",
        "ledger_allowance",
        "ledger_charge",
        "ledger_share",
        "ledger_settlement",
        "ledger_drawn",
        "outcome",
        "succession",
    ],
)
@pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {0} SET {1} = {1}"])
def test_what_is_written_for_good(service: Service, table: str, statement: str) -> None:
    column = {"ledger_share": "charge", "ledger_settlement": "charge", "ledger_drawn": "charge"}
    filled = {
        "audit": "(at, who, what, about, chain) VALUES ('', '', '', '', '')",
        "ledger_allowance": "(party, amount) VALUES (1, '1/1')",
        "ledger_charge": "(day, gaussian, note, n_parties) VALUES ('', false, '', 1)",
        "ledger_share": "(party, charge) VALUES (1, 1)",
        "ledger_settlement": "(charge, digest) VALUES (1, '')",
        "ledger_drawn": "(charge, numbers) VALUES (1, '')",
        "outcome": "(poll, stated, file) VALUES (1, '', '')",
        "succession": "(old, new) VALUES ('', '')",
    }
    needed = {
        "party": "ledger_party (name, spent, n_releases) VALUES ('a', '', 0)",
        "charge": f"ledger_charge {filled['ledger_charge']}",
        "poll": "poll (digest, title, facts, has_roll, state) VALUES ('', '', '', false, 'open')",
    }
    with service.database.write() as connection:
        if table != "ledger_budget":
            for name, row in needed.items():
                if f"{name}," in filled[table] or f"{name})" in filled[table]:
                    connection.execute(text(f"INSERT INTO {row}"))
            connection.execute(text(f"INSERT INTO {table} {filled[table]}"))
    changed = column.get(table, {"outcome": "poll"}.get(table, "id"))
    with pytest.raises(ServiceError) as caught, service.database.write() as connection:
        connection.execute(text(statement.format(table, changed)))
    assert "append-only" in str(caught.value.__cause__)
