"""`ostraka compare`, and `ostraka plan` with public samples."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.command import run_command

run_here = partial(run_command, Path(), columns=200)


@pytest.fixture
def public(tmp_path: Path) -> Path:
    path = tmp_path / "public.csv"
    pd.DataFrame(np.random.default_rng(0).normal(size=(200, 4)), columns=list("abcd")).to_csv(
        path, index=False
    )
    return path


def test_plan_forecasts_from_public_samples(public: Path, tmp_path: Path) -> None:
    done = run_here(
        "plan",
        "--parties",
        "300",
        "--auxiliary",
        str(public),
        "--classes",
        "3",
        "--figure",
        str(tmp_path / "plan.png"),
    )
    assert done.returncode == 0, done.stderr
    assert "300 parties of about 10 samples" in done.stdout
    assert "models would keep" in done.stdout
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("parties", ["-5", "0", "1"])
def test_plan_needs_two_parties(public: Path, parties: str) -> None:
    done = run_here("plan", "--parties", parties, "--auxiliary", str(public), "--classes", "2")
    assert done.returncode == 18
    assert f"--parties = {parties} is not allowed. Allowed: a whole number, 2" in done.stderr


def test_plan_asks_for_public_samples_first() -> None:
    for more in ((), ("--samples", "10")):
        done = run_here("plan", "--parties", "300", *more)
        assert done.returncode == 19
        assert "Give the public samples with --auxiliary public.csv" in done.stderr
        assert "both --samples and --features" in done.stderr


def test_compare_digits(tmp_path: Path) -> None:
    words = (
        "--methods",
        "cells,avg",
        "--inv-epsilon",
        "0.1,1",
        "--trials",
        "1",
        "--draws",
        "2",
        "--jobs",
        "1",
        "--out",
        str(tmp_path),
    )
    done = run_here("compare", "digits", *words)
    assert done.returncode == 0, done.stderr
    assert "1/ε=0.1" in done.stdout
    assert {row["method"] for row in json.loads((tmp_path / "results.json").read_text())} == {
        "cells",
        "avg",
    }
    assert "| `cells` | ε, pure |" in (tmp_path / "methods.md").read_text()


def test_compare_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    done = run_here("compare", "digits", "--methods", "magic", "--out", str(tmp_path / "x"))
    assert done.returncode == 18
    assert "magic" in done.stderr
    assert not (tmp_path / "x").exists()


def test_learn_with_a_ledger(public: Path, tmp_path: Path) -> None:
    rows = pd.DataFrame(np.random.default_rng(1).normal(size=(300, 4)), columns=list("abcd"))
    rows["who"], rows["what"] = np.arange(300) // 5, np.where(rows["a"] > 0, "yes", "no")
    rows.to_csv(tmp_path / "private.csv", index=False)
    assert run_here("ledger", "init", str(tmp_path / "l.db"), "--epsilon", "1.5").returncode == 0

    def learn(out: str) -> tuple[int, str, str]:
        words = (
            "--party-column",
            "who",
            "--label-column",
            "what",
            "--auxiliary",
            str(public),
            "--method",
            "auto",
            "--epsilon",
            "1",
        )
        done = run_here(
            "learn",
            str(tmp_path / "private.csv"),
            *words,
            "--ledger",
            str(tmp_path / "l.db"),
            "--out",
            str(tmp_path / out),
        )
        return done.returncode, done.stdout, done.stderr

    code, out, err = learn("first.ostraka")
    assert code == 0, err
    assert "ε = 1 differential privacy" in out
    code, _, err = learn("second.ostraka")
    assert code == 40
    assert "Nothing was drawn and nothing was spent" in err
    assert not (tmp_path / "second.ostraka").exists()


def a_poll(folder: Path, labels: list[str]) -> Path:
    """Forty parties with one row each, named 001 to 040."""
    rows = pd.DataFrame(np.random.default_rng(1).normal(size=(40, 4)), columns=list("abcd"))
    rows["who"], rows["what"] = [f"{i:03d}" for i in range(1, 41)], labels
    rows.to_csv(folder / "private.csv", index=False)
    return folder / "private.csv"


def test_one_label_does_not_decide_how_the_others_are_read(tmp_path: Path) -> None:
    from ostraka.datasets import tables

    numbers = ["1.1", "1.10"] * 20
    for labels in (numbers, [*numbers[:-1], "x"]):
        table = tables.read(
            a_poll(tmp_path, labels), label_column="what", party_column="who", text_labels=True
        )
        assert list(table.labels[:4]) == ["1.1", "1.10", "1.1", "1.10"]
        assert list(table.parties[:2]) == ["001", "002"]


def test_the_model_does_not_replace_what_it_is_made_of(public: Path, tmp_path: Path) -> None:
    data = a_poll(tmp_path, ["yes", "no"] * 20)
    assert run_here("ledger", "init", str(tmp_path / "l.db"), "--epsilon", "9").returncode == 0
    words = (
        "--party-column",
        "who",
        "--label-column",
        "what",
        "--auxiliary",
        str(public),
        "--method",
        "cells",
        "--epsilon",
        "1",
        "--force",
    )
    for taken in (data, public, tmp_path / "l.db"):
        before = taken.read_bytes()
        done = run_here(
            "learn", str(data), *words, "--ledger", str(tmp_path / "l.db"), "--out", str(taken)
        )
        assert done.returncode == 18, done.stderr
        assert taken.read_bytes() == before


def test_inspect_verifies_a_delta(public: Path, tmp_path: Path) -> None:
    data = a_poll(tmp_path, ["yes", "no"] * 20)
    words = (
        "--party-column",
        "who",
        "--label-column",
        "what",
        "--auxiliary",
        str(public),
        "--method",
        "moments",
        "--delta",
        "1e-6",
    )
    assert (
        run_here(
            "learn", str(data), *words, "--epsilon", "1", "--out", str(tmp_path / "m.ostraka")
        ).returncode
        == 0
    )
    done = run_here("inspect", str(tmp_path / "m.ostraka"))
    assert "Verified: this noise gives δ ≤" in done.stdout
    assert "sum of what they send" in done.stdout


@pytest.fixture
def own(tmp_path: Path) -> Path:
    generator = np.random.default_rng(1)
    outcome = generator.choice(["home", "ward"], 600)
    table = pd.DataFrame(
        {
            "age": generator.integers(20, 90, 600) + 20 * (outcome == "ward"),
            "arrival": np.where(outcome == "ward", "ambulance", "on foot"),
            "site": generator.integers(0, 30, 600),
            "outcome": outcome,
        }
    )
    path = tmp_path / "cases.csv"
    table.to_csv(path, index=False)
    return path


QUICK = ("--methods", "auto,cells", "--inv-epsilon", "0.1", "--trials", "1", "--draws", "2")


@pytest.mark.parametrize(
    "parties", [("--party-column", "site"), ("--parties", "40", "--samples-each", "10")]
)
def test_compare_a_table_of_ones_own(own: Path, tmp_path: Path, parties: tuple[str, ...]) -> None:
    out = tmp_path / "out"
    words = ("--label-column", "outcome", "--jobs", "1", "--out", str(out))
    drop = ("--drop", "site") if "--parties" in parties else ()
    done = run_here("compare", str(own), *words, *parties, *drop, *QUICK)
    assert done.returncode == 0, done.stderr
    assert f"with {30 if '--party-column' in parties else 40} parties" in done.stdout
    rows = json.loads((out / "results.json").read_text())
    assert {row["method"] for row in rows} == {"auto", "cells"}
    assert max(row["mean"] for row in rows) > 0.8
    assert (out / "figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("nothing.csv",),
            "TASK = 'nothing.csv: no such file' is not allowed. Allowed: har, kdd99",
        ),
        (("cases.csv", "--party-column", "site"), "--label-column is missing"),
        (("cases.csv", "--label-column", "outcome"), "--party-column is missing"),
        (
            ("cases.csv", "--label-column", "outcome", "--parties", "9"),
            "or --parties and --samples-each",
        ),
        (
            ("cases.csv", "--label-column", "outcom", "--party-column", "site"),
            "Did you mean 'outcome'?",
        ),
        (
            ("cases.csv", "--label-column", "site", "--party-column", "site"),
            "Allowed: another column than the one with the classes.",
        ),
        (("digits", "--label-column", "outcome"), "a known data set has its columns and sizes"),
    ],
)
def test_compare_says_what_it_needs(
    own: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(own.parent)
    done = run_here("compare", *words, *QUICK)
    assert done.returncode in (18, 19)
    assert told in done.stderr
