"""`ostraka serve` and what stands behind it: what it refuses, links, tables, keys, backups."""

from __future__ import annotations

import re
import socket
import stat
from pathlib import Path

import pytest

from ostraka.service.starting import open_service, prepare
from tests.command import run_command
from tests.databases import new_database
from tests.service.made import settings_in

pytestmark = pytest.mark.usefixtures("nothing_left_open")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a service that was started once, in `data`."""
    prepare(settings_in(tmp_path))
    return tmp_path


def key_of(folder: Path) -> str:
    service = open_service(settings_in(folder))
    service.database.close()
    return str(service.key.public)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["--host", "0.0.0.0"], 19, "others could listen to tokens and contributions"),
        (["--port", "0"], 18, "--port = 0 is not allowed"),
        (["--tls-key", "key.pem"], 18, "together with --tls-certificate"),
        (["--tls-certificate", "a.pem", "--tls-key", "b.pem"], 30, "a.pem"),
        (["--oidc-admin", "ann@example.org"], 18, "--oidc-issuer is missing"),
        (["--oidc-issuer", "http://login.example.org", "--oidc-audience", "x"], 18, "https://HOST"),
        (["--delta", "1e-6"], 18, "together with --epsilon"),
        (["--epsilon", "0"], 18, "epsilon"),
        (["--protects", "row"], 18, "party or person"),
        (["--database", "mysql://x"], 18, "postgresql://USER:PASSWORD@HOST/NAME"),
        (["--rate", "0"], 18, "more than 0"),
    ],
)
def test_what_cannot_be_served(tmp_path: Path, words: list[str], code: int, told: str) -> None:
    done = run_command(tmp_path, "serve", *words)
    assert done.returncode == code, done.stderr
    assert told in done.stderr


def test_what_would_fail_after_the_link_was_shown(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run_command(tmp_path, "serve", "--port", port)
    assert done.returncode == 19
    told = " ".join(done.stderr.split())
    assert told.endswith("choose another --port. Nothing was started."), "and that once"
    for name in ("a.pem", "b.pem"):
        (tmp_path / name).write_text("-----BEGIN NONSENSE-----\n")
    done = run_command(tmp_path, "serve", "--tls-certificate", "a.pem", "--tls-key", "b.pem")
    assert done.returncode == 19
    assert "not a certificate and its key" in done.stderr
    assert not (tmp_path / "ostraka-data").exists()


def test_a_password_is_not_shown(tmp_path: Path) -> None:
    url = "postgresql://ann:secret@127.0.0.1:1/none?connect_timeout=1"
    done = run_command(tmp_path, "serve", "--database", url)
    assert done.returncode == 35
    assert "secret" not in done.stderr + done.stdout


def test_tables_are_made_by_a_command_of_its_own(tmp_path: Path, postgresql: str) -> None:
    url = new_database(postgresql)
    refused = run_command(tmp_path, "serve", "--database", url)
    assert refused.returncode == 28
    assert "has no tables yet" in refused.stderr
    assert "ostraka serve migrate" in refused.stderr
    made = run_command(tmp_path, "serve", "--database", url, "migrate")
    assert "The tables are now of version 1; before, it was an empty database." in made.stdout
    again = run_command(tmp_path, "serve", "--database", url, "migrate")
    assert "Nothing was changed." in again.stdout


def test_another_link_for_an_admin(folder: Path) -> None:
    done = run_command(
        folder, "serve", "--data", "data", "link", "--name", "zoe", "--address", "https://x.org/"
    )
    assert re.fullmatch(r"ostraka join 'https://x\.org/join#[a-z2-7-]{48}'\n", done.stdout)


def test_no_link_where_there_is_no_service(tmp_path: Path) -> None:
    done = run_command(tmp_path, "serve", "--data", "nowhere", "link")
    assert done.returncode == 19
    assert "There is no service in nowhere" in done.stderr
    assert not (tmp_path / "nowhere" / "service.key").exists()


def test_options_of_serve_stand_before_the_word(folder: Path) -> None:
    before = key_of(folder)
    done = run_command(folder, "serve", "rotate", "--data", "data")
    assert done.returncode == 2
    told = " ".join(done.stderr.split())
    assert "Options of serve stand before the word after it" in told
    assert "ostraka serve --data FOLDER rotate" in told
    assert key_of(folder) == before


@pytest.mark.parametrize("stolen", [False, True])
def test_another_key(folder: Path, stolen: bool) -> None:
    before = key_of(folder)
    words = ["--stolen"] if stolen else []
    done = run_command(folder, "serve", "--data", "data", "rotate", *words)
    assert done.returncode == 0, done.stderr
    after = key_of(folder)
    assert after != before
    told = " ".join(done.stdout.split())
    assert after in told
    assert ("invite everybody again" in told) is stolen


def test_a_backup_and_back(folder: Path) -> None:
    done = run_command(folder, "backup", "x.backup", "--data", "data")
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE((folder / "x.backup").stat().st_mode) == 0o600
    assert "the service's secret key" in " ".join(done.stdout.split())
    refused = run_command(folder, "backup", "x.backup", "--data", "data")
    assert refused.returncode != 0, "nothing is replaced"
    for words, told in (
        ([], "as an archive: it opens and closes nothing"),
        (["--nothing-closed-since"], "as the whole service"),
    ):
        to = f"other{len(words)}"
        done = run_command(folder, "restore", "x.backup", "--data", to, *words)
        assert done.returncode == 0, done.stderr
        assert told in " ".join(done.stdout.split())
        assert "revoke them anew" in " ".join(done.stdout.split())
        assert (folder / to / "service.key").read_bytes() == (
            folder / "data" / "service.key"
        ).read_bytes()
    again = run_command(folder, "restore", "x.backup", "--data", "other0")
    assert again.returncode == 19
    assert "There is a service" in again.stderr


def test_a_file_that_is_no_backup(folder: Path) -> None:
    (folder / "x.backup").write_bytes(b"PK\x03\x04 and then nothing")
    done = run_command(folder, "restore", "x.backup", "--data", "other")
    assert done.returncode == 20
    assert "Traceback" not in done.stderr
