"""`ostraka compare`, and `ostraka plan` with public samples."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.cli.test_cli import run


@pytest.fixture
def public(tmp_path: Path) -> Path:
    path = tmp_path / "public.csv"
    pd.DataFrame(np.random.default_rng(0).normal(size=(200, 4)), columns=list("abcd")).to_csv(path, index=False)
    return path


def test_plan_forecasts_from_public_samples(public: Path, tmp_path: Path) -> None:
    done = run("plan", "--parties", "300", "--auxiliary", str(public), "--classes", "3", "--figure", str(tmp_path / "plan.png"))
    assert done.returncode == 0, done.stderr
    assert "300 parties of about 10 samples" in done.stdout
    assert "agreement would be" in done.stdout
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


def test_plan_needs_sizes_or_samples() -> None:
    done = run("plan", "--parties", "300", "--samples", "10")
    assert done.returncode == 18
    assert "or else --auxiliary" in done.stderr


def test_compare_digits(tmp_path: Path) -> None:
    words = ("--methods", "cells,avg", "--inv-epsilon", "0.1,1", "--trials", "1", "--draws", "2", "--jobs", "1", "--out", str(tmp_path))
    done = run("compare", "digits", *words)
    assert done.returncode == 0, done.stderr
    assert "1/ε=0.1" in done.stdout
    assert {row["method"] for row in json.loads((tmp_path / "results.json").read_text())} == {"batch", "cells", "avg"}
    assert "| `cells` | ε, pure |" in (tmp_path / "methods.md").read_text()


def test_compare_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    done = run("compare", "digits", "--methods", "magic", "--out", str(tmp_path / "x"))
    assert done.returncode == 18
    assert "magic" in done.stderr
    assert not (tmp_path / "x").exists()


def test_learn_with_a_ledger(public: Path, tmp_path: Path) -> None:
    rows = pd.DataFrame(np.random.default_rng(1).normal(size=(300, 4)), columns=list("abcd"))
    rows["who"], rows["what"] = np.arange(300) // 5, np.where(rows["a"] > 0, "yes", "no")
    rows.to_csv(tmp_path / "private.csv", index=False)
    assert run("ledger", "init", str(tmp_path / "l.db"), "--epsilon", "1.5").returncode == 0

    def learn(out: str) -> tuple[int, str, str]:
        words = ("--party-column", "who", "--label-column", "what", "--auxiliary", str(public), "--method", "auto", "--epsilon", "1")
        done = run("learn", str(tmp_path / "private.csv"), *words, "--ledger", str(tmp_path / "l.db"), "--out", str(tmp_path / out))
        return done.returncode, done.stdout, done.stderr

    code, out, err = learn("first.ostraka")
    assert code == 0, err
    assert "ε = 1 differential privacy" in out
    code, _, err = learn("second.ostraka")
    assert code == 40
    assert "Nothing was drawn and nothing was spent" in err
    assert not (tmp_path / "second.ostraka").exists()
