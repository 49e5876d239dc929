"""The how-to page, copied and pasted.

Four real processes with four folders, each reading its own file and the poll alone.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from ostraka import Contribution, Poll, Release

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "four-hospitals.md").read_text("utf-8")
BLOCKS = re.findall(r'```sh title="([a-z ]+)"\n(.*?)```', PAGE, re.DOTALL)
HOSPITALS = ("north", "south", "east", "west")

WITNESS = """
import os, sys

def note(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        path = os.path.abspath(os.fsdecode(arguments[0]))
        with lock:
            os.write(journal, (path + "\\n").encode())

import threading
lock = threading.RLock()
journal = os.open(os.environ["OSTRAKA_WITNESS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
sys.addaudithook(note)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every block of the page, in its order.

    What each hospital's processes opened is written down.
    """
    folder = tmp_path_factory.mktemp("hospitals")
    witness = tmp_path_factory.mktemp("witness")
    (witness / "sitecustomize.py").write_text(WITNESS)
    for number, (machine, commands) in enumerate(BLOCKS):
        environment = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(witness),
            "PYTHONWARNINGS": "error",
            "OSTRAKA_WITNESS": str(witness / f"{number}-{machine.replace(' ', '-')}"),
        }
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{machine}\n{commands}\n{done.stdout}\n{done.stderr}"
        (witness / f"{number}.out").write_text(done.stdout + done.stderr)
    (folder / "witness").symlink_to(witness)
    return folder


def printed(folder: Path, number: int) -> str:
    return (folder / "witness" / f"{number}.out").read_text()


def test_the_blocks_can_be_pasted_into_one_shell() -> None:
    """Each leaves the folder that it found."""
    for _, commands in BLOCKS[1:]:
        lines = commands.strip().splitlines()
        assert lines[0].startswith("cd ")
        assert lines[-1] == "cd .."


def test_the_page_shows_four_machines_and_three_methods() -> None:
    machines = [machine for machine, _ in BLOCKS]
    assert all(machines.count(hospital) == 3 for hospital in HOSPITALS)
    for words in (
        "--protects person",
        "--method consensus",
        "--method avg",
        "--local forest",
        "--model mine.skops",
    ):
        assert any(words in commands for _, commands in BLOCKS)


@pytest.mark.parametrize("hospital", HOSPITALS)
def test_a_hospitals_process_reads_its_own_file_and_the_poll_alone(
    folder: Path, hospital: str
) -> None:
    journals = list((folder / "witness").resolve().glob(f"*-{hospital}"))
    assert len(journals) == 3
    opened = {Path(line) for journal in journals for line in journal.read_text().splitlines()}
    here = {path.relative_to(folder) for path in opened if path.is_relative_to(folder)}
    assert {path.parts[0] for path in here} == {hospital}, here
    assert {f"{hospital}/mine.csv", f"{hospital}/stroke.poll"} <= {str(path) for path in here}


def test_a_process_that_reads_somebody_elses_file_would_be_seen(folder: Path) -> None:
    """The witness is worth something.

    The mutant that looks at a neighbour's rows stands in its journal.
    """
    journal = folder / "witness" / "mutant"
    environment = {
        **os.environ,
        "PYTHONPATH": str((folder / "witness").resolve()),
        "OSTRAKA_WITNESS": str(journal),
    }
    code = "import pathlib; pathlib.Path('south/mine.csv').read_bytes()"
    subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, check=True)
    assert str(folder / "south" / "mine.csv") in journal.read_text().splitlines()


def test_the_coordinator_never_sees_a_row(folder: Path) -> None:
    private = pd.concat([pd.read_csv(folder / hospital / "mine.csv") for hospital in HOSPITALS])
    numbers = {
        f"{value!r}".encode()
        for value in private[["age", "bmi", "pressure"]].to_numpy().ravel()[:600]
    }
    for file in (folder / "coordinator").rglob("*"):
        if file.is_file() and file.name != "public.csv":
            content = file.read_bytes()
            assert not any(number in content for number in numbers), file


@pytest.mark.parametrize(
    ("model", "method", "unit"),
    [("model", "auto", "person"), ("voted", "consensus", "party"), ("mean", "avg", "person")],
)
def test_one_release_comes_out(folder: Path, model: str, method: str, unit: str) -> None:
    release = Release.load(folder / "coordinator" / f"{model}.ostraka")
    certificate = release.certificate
    assert certificate.method in (("moments", "cells") if method == "auto" else (method,))
    assert (certificate.protects, certificate.parties) == (unit, 4)
    assert certificate.persons == (3000 if unit == "person" else None)
    tables = [pd.read_csv(folder / hospital / "mine.csv") for hospital in HOSPITALS]
    rows = pd.concat(tables)
    assert release.score(rows[["age", "bmi", "pressure"]], rows.outcome) > 0.85


def test_what_people_are_told(folder: Path) -> None:
    outputs = [printed(folder, number) for number in range(len(BLOCKS))]
    advice, shown = outputs[1], outputs[2]
    assert "--protects person" in advice
    assert "Little. With 4 parties" in " ".join(advice.split())
    assert "Send it to every party" not in advice
    assert "for anybody to read" in " ".join(shown.split())
    assert "What leaves my machine?" in outputs[3]
    assert "Nothing was computed and nothing was written." in outputs[3]
    released = outputs[7]
    assert "In: 4 (east, north, south, west)" in released
    assert "Every one was charged; what is left" in " ".join(released.split())
    told = " ".join(released.split())
    assert "one person's whole data, among 3,000 persons at 4 holders" in told


def test_contributions_are_small_and_name_the_poll(folder: Path) -> None:
    poll = Poll.load(folder / "coordinator" / "stroke.poll")
    for hospital in HOSPITALS:
        path = folder / hospital / f"{hospital}.contribution"
        assert path.stat().st_size < 2000
        sent = Contribution.load(path)
        assert (sent.poll, sent.party, sent.n_persons) == (poll.digest, hospital, 750)


def test_the_ledger_was_charged_once_for_every_hospital(folder: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "from ostraka.cli.app import main; main()",
        "ledger",
        "show",
        "budgets.db",
        "--json",
    ]
    done = subprocess.run(
        command, cwd=folder / "coordinator", capture_output=True, text=True, check=True
    )
    parties = {each["party"]: each for each in json.loads(done.stdout)["parties"]}
    assert sorted(parties) == sorted(HOSPITALS)
    assert all(each["spent"]["epsilon"] == 1.0 for each in parties.values())
