"""Nobody changes a key or tables under a process that runs; a lock ends with its process."""

from __future__ import annotations

import json
import threading
import time
from contextlib import nullcontext
from pathlib import Path

import httpx
import pytest
from sqlalchemy import text

from benchmarks.service.processes import READY, Server, words_to_serve
from ostraka.errors import StateError
from ostraka.service import rotation, starting
from ostraka.service.running import LOCK, Running, alone, is_running
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from ostraka.service.starting import migrate_database, open_service
from tests.command import run_command


def rotate(settings: Settings, folder: Path) -> tuple[int, str]:
    words = [] if settings.database is None else ["--database", settings.database]
    done = run_command(folder, "serve", "--data", settings.data, *words, "rotate")
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def key_of(settings: Settings) -> str:
    service = open_service(settings)
    service.database.close()
    return str(service.key.public)


def test_a_real_process_keeps_its_key_until_it_is_killed(
    service: Service, settings: Settings, tmp_path: Path
) -> None:
    before = key_of(settings)
    with Server(words_to_serve(settings), log=tmp_path / "log", ready=READY) as server:
        code, told = rotate(settings, tmp_path)
        assert code == 28
        assert "This service is running" in told
        assert "Stop all of its processes, on every host" in told
        assert told.endswith("Nothing was changed.")
        assert key_of(settings) == before
        assert httpx.get(f"{server.address}{READY}").status_code == 200
        server.kill()
        assert rotate(settings, tmp_path)[0] == 0, "nothing was left behind"
    assert key_of(settings) != before


def test_several_run_at_once(service: Service, settings: Settings) -> None:
    assert not is_running(service.database)
    first, second = Running(settings), Running(settings)
    first.close()
    assert is_running(service.database)
    with pytest.raises(StateError, match="This service is running"):
        rotation.rotate(service, settings.key_path, stolen=False)
    second.close()
    assert not is_running(service.database)
    rotation.rotate(service, settings.key_path, stolen=False)


def test_nobody_begins_while_somebody_changes_it(service: Service, settings: Settings) -> None:
    with alone(service.database), pytest.raises(StateError, match="Nothing was started"):
        Running(settings)
    Running(settings).close()


def test_whoever_is_just_ending_is_waited_for(service: Service, settings: Settings) -> None:
    ending = Running(settings)
    timer = threading.Timer(0.3, ending.close)
    timer.start()
    with alone(service.database):
        pass
    timer.join()


def test_tables_that_are_used_are_not_changed(
    service: Service, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = Running(settings)
    assert migrate_database(settings)[0] == migrate_database(settings)[1], "nothing to change"
    with monkeypatch.context() as patched:
        patched.setattr(starting, "is_current", lambda _: False)
        with pytest.raises(StateError, match="This service is running"):
            migrate_database(settings)
        running.close()
        migrate_database(settings)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_session_that_was_lost_is_made_again(service: Service, settings: Settings) -> None:
    running = Running(settings, look_each=0.05)
    (first,) = holders(service)
    with service.database.write() as connection:
        connection.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": first})
    deadline = time.monotonic() + 30.0
    while holders(service) in ([], [first]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert holders(service) not in ([], [first])
    assert is_running(service.database)
    running.close()
    assert not is_running(service.database)


def holders(service: Service) -> list[int]:
    """Whose sessions hold the lock."""
    query = text(
        "SELECT l.pid FROM pg_locks AS l JOIN pg_database AS d ON d.oid = l.database "
        "WHERE l.locktype = 'advisory' AND l.objid = :lock AND d.datname = current_database()"
    )
    with service.database.read() as connection:
        return list(connection.execute(query, {"lock": LOCK}).scalars())


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_second_one_on_the_same_data_says_so(
    service: Service, settings: Settings, tmp_path: Path
) -> None:
    words, one, two = words_to_serve(settings), tmp_path / "one", tmp_path / "two"
    with Server(words, log=one, ready=READY), Server(words, log=two, ready=READY):
        pass
    assert "Another process of this service" not in one.read_text("utf-8")
    assert "Another process of this service" in two.read_text("utf-8")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_process_with_an_old_key_says_so_in_one_line(
    service: Service, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that was not noticed, because it had lost its session in that moment."""
    log = tmp_path / "log"
    with Server(words_to_serve(settings), log=log, ready=READY) as server:
        monkeypatch.setattr(rotation, "alone", lambda _: nullcontext())
        rotation.rotate(service, settings.key_path, stolen=False)
        answer = httpx.get(f"{server.address}/v1/service")
    assert answer.status_code == 503
    assert answer.json()["detail"] == (
        "The service is being given another key. Try again in a few minutes."
    )
    lines = [
        json.loads(line) for line in log.read_text("utf-8").splitlines() if line.startswith("{")
    ]
    (failed,) = [line for line in lines if line["level"] == "error"]
    assert "stop it, and start it with the new one" in failed["event"]
    assert "error" not in failed, "no trace"
