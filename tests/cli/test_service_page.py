"""The how-to page on running a service, copied and pasted into one shell."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from ostraka import Release

pytestmark = pytest.mark.slow
PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "service.md").read_text("utf-8")
BLOCKS = re.findall(r'```sh title="[a-z ]+"\n(.*?)```', PAGE, re.DOTALL)
PORT = "8477"
STOP = "kill $(cat serve.pid) 2> /dev/null || true"


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a coordinator is after the page, and what the shell has shown."""
    folder = tmp_path_factory.mktemp("page")
    script = "".join(BLOCKS).replace(PORT, free_port())
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"trap '{STOP}' EXIT\n{script}"],
        cwd=folder,
        env={**os.environ, "PATH": tools, "COLUMNS": "100", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    log = (folder / "serve.log").read_text("utf-8")
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{log}"
    (folder / "shown").write_text(done.stdout, "utf-8")
    return folder


def test_all_who_answered_are_counted(folder: Path) -> None:
    release = Release.load(folder / "stay.ostraka")
    assert (release.certificate.parties, release.certificate.epsilon) == (8, 4.0)


def test_a_ward_sees_that_it_was_counted(folder: Path) -> None:
    shown = " ".join((folder / "shown").read_text("utf-8").split())
    assert "Counted: your receipt is on the service's signed list." in shown
    assert "certificate, classes, columns and features follow from" in shown


def test_the_one_without_network_has_a_receipt(folder: Path) -> None:
    assert (folder / "receipts" / "ward-8.receipt").is_file()
    assert "ward-8 (by file)" in (folder / "shown").read_text("utf-8")


def test_what_the_admin_did_is_in_the_log(folder: Path) -> None:
    shown = (folder / "shown").read_text("utf-8")
    for what in ("drafted a poll", "opened a poll", "invited as party", "handed in", "closed a"):
        assert what in shown


def test_nothing_secret_can_be_read_by_others(folder: Path) -> None:
    secret = [*folder.rglob("*.key"), folder / "invitations.csv", folder / "coordinator"]
    assert len(secret) > 5
    assert all(path.stat().st_mode & 0o077 == 0 for path in secret)


def test_the_public_table_is_what_the_page_says(folder: Path) -> None:
    assert len(pd.read_csv(folder / "tables" / "public.csv")) > 100
