"""`ostraka reproduce` as people use it: a figure, errors, and a run that is killed half-way."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.test_cli import run

QUICK = ("--trials", "2", "--private-trials", "4", "--inv-epsilon", "0.01,1", "--jobs", "1")


def test_digits_need_no_data(tmp_path: Path) -> None:
    done = run(
        "reproduce",
        "digits",
        *QUICK,
        "--out",
        str(tmp_path),
        "--hypothesis",
        "exp-radius",
        OSTRAKA_DATA=str(tmp_path / "nothing"),
    )
    assert done.returncode == 0, done.stderr
    assert "Test accuracy with 200 parties" in done.stdout
    assert "not DP" in done.stdout
    assert (tmp_path / "figure.png").exists()
    rows = json.loads((tmp_path / "results.json").read_text())
    assert {row["calibration"] for row in rows} == {"none", "paper", "tight", "exp-radius"}
    assert not (tmp_path / "paper.md").exists()
    (tmp_path / "figure.png").unlink()
    results = (tmp_path / "results.csv").read_bytes()
    again = run("reproduce", "digits", "--redraw", "--out", str(tmp_path))
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "figure.png").exists()
    assert (tmp_path / "results.csv").read_bytes() == results


@pytest.mark.parametrize("command", ["reproduce", "compare"])
def test_nothing_can_be_drawn_again_where_nothing_was_measured(
    command: str, tmp_path: Path
) -> None:
    done = run(command, "digits", "--redraw", "--out", str(tmp_path / "new"))
    assert done.returncode == 30
    assert "There is no file or folder" in done.stderr
    assert not (tmp_path / "new").exists()


def test_chosen_methods_and_calibration(tmp_path: Path) -> None:
    done = run(
        "reproduce",
        "digits",
        *QUICK,
        "--methods",
        "soft, indiv",
        "--calibration",
        "tight",
        "--parties",
        "50",
        "--out",
        str(tmp_path),
    )
    assert done.returncode == 0, done.stderr
    rows = json.loads((tmp_path / "results.json").read_text())
    assert {(row["method"], row["calibration"], row["parties"]) for row in rows} == {
        ("soft", "tight", 50),
        ("indiv", "none", 50),
    }


@pytest.mark.parametrize(
    ("words", "code", "text"),
    [
        (("--parties", "many"), 18, "a whole number, or all"),
        (("--parties", "100000"), 18, "2 to 200"),
        (("--inv-epsilon", "small"), 18, "numbers with commas between"),
        (("--methods", "soft,magic"), 18, "magic"),
        (("--local", "oracle"), 18, "oracle"),
        (("--natural-parties",), 19, "do not say where they came from"),
        (("--trials", "5", "--private-trials", "3"), 18, "private-trials"),
        (("--backend", "dask"), 18, "scheduler"),
        (("--scheduler", "tcp://127.0.0.1:8786"), 18, "none without a cluster"),
        (("--jobs", "0"), 18, "1 or more"),
    ],
)
def test_wrong_words_are_explained(
    words: tuple[str, ...], code: int, text: str, tmp_path: Path
) -> None:
    done = run("reproduce", "digits", *words, "--out", str(tmp_path))
    assert done.returncode == code, done.stderr
    assert text in done.stderr
    assert not list(tmp_path.glob("results*"))


@pytest.mark.slow
def test_killed_half_way_and_started_again_it_ends_with_the_same_numbers(tmp_path: Path) -> None:
    words = (
        "reproduce",
        "digits",
        "--trials",
        "8",
        "--private-trials",
        "16",
        "--local",
        "tree",
        "--jobs",
        "2",
    )
    assert run(*words, "--out", str(tmp_path / "whole")).returncode == 0
    command = [
        sys.executable,
        "-c",
        "from ostraka.cli.app import main; main()",
        *words,
        "--out",
        str(tmp_path / "killed"),
    ]
    first = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while first.poll() is None and len(list((tmp_path / "killed").rglob("200-*.json"))) < 2:
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    kept = list((tmp_path / "killed").rglob("200-*.json"))
    assert 2 <= len(kept) < 8, "killed too late for the test to say anything"
    assert not (tmp_path / "killed" / "results.json").exists()
    assert run(*words, "--out", str(tmp_path / "killed")).returncode == 0
    for name in ("results.json", "results.csv"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
