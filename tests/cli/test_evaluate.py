"""Evaluate a model by files: poll, contributions, release, and what the screens say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from ostraka import Contribution, Poll, Release
from ostraka.experiments.ward_tables import make_patients
from tests.command import run_command

N_WARDS = 12
NOTHING = "Nothing was drawn and nothing was spent."


def run(folder: Path, *words: str) -> str:
    done = run_command(folder, *words)
    assert done.returncode == 0, done.stderr
    return " ".join(done.stdout.split())


def refuse(folder: Path, *words: str) -> str:
    done = run_command(folder, *words)
    assert done.returncode != 0
    return " ".join(done.stderr.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve wards' tables and a model of them that kept every fifth row back."""
    folder = tmp_path_factory.mktemp("evaluate")
    rng = np.random.default_rng(0)
    make_patients(200, rng).drop(columns="outcome").to_csv(folder / "public.csv", index=False)
    table = make_patients(40 * N_WARDS, rng).assign(ward=np.arange(40 * N_WARDS) % N_WARDS)
    table.to_csv(folder / "all.csv", index=False)
    for ward, own in table.groupby("ward"):
        own.drop(columns="ward").to_csv(folder / f"{ward}.csv", index=False)
    run(folder, "ledger", "init", "budgets.db", "--epsilon", "12")
    learn = ("learn", "all.csv", "--party-column", "ward", "--label-column", "outcome")
    promise = ("--auxiliary", "public.csv", "--epsilon", "5", "--ledger", "budgets.db")
    run(
        folder, *learn, *promise, "--classes", "home,ward", "--keep-back", "5", "--out", "m.ostraka"
    )
    return folder


def test_the_whole_story(folder: Path) -> None:
    made = ("evaluate", "m.ostraka", "--epsilon", "5", "--parties", str(N_WARDS))
    said = run(folder, *made, "--title", "How good?", "--out", "check.poll")
    model, poll = Release.load(folder / "m.ostraka"), Poll.load(folder / "check.poll")
    assert model.keep_back == 5
    assert poll.judged is not None
    assert poll.judged.digest == model.digest
    for words in (
        "Nothing new. It is asked how often a model is right on the parties' own rows",
        model.digest[:12],
        "one in 5: give the table that you gave then, in the same order",
        "has spent ε = 5 on it already",
        "That is what it will tell. Noise moves the answer",
        "--out evaluated.ostraka",
    ):
        assert words in said
    assert (
        json.loads(run(folder, "poll", "show", "check.poll", "--json"))["evaluates"] == model.digest
    )
    (folder / "inbox").mkdir()
    for ward in range(N_WARDS):
        out = f"inbox/{ward}.contribution"
        words = ("contribute", "check.poll", f"{ward}.csv", "--label-column", "outcome")
        said = run(folder, *words, "--party", str(ward), "--out", out)
        assert Contribution.load(folder / out).values.sum() <= 2**20
    assert "of which one in 5, kept back from learning, is used" in said
    checked = run(folder, "release", "check.poll", "inbox", "--ledger", "budgets.db", "--check")
    assert "--out evaluated.ostraka" in checked
    (folder / "few").mkdir()
    for ward in range(3):
        shutil.copy(folder / f"inbox/{ward}.contribution", folder / "few")
    assert "3 parties of about 12 came. With so few, noise moves every share of rows" in run(
        folder, "release", "check.poll", "few", "--check"
    )
    ready = ("release", "check.poll", "inbox", "--ledger", "budgets.db")
    said = run(folder, *ready, "--out", "evaluated.ostraka")
    for words in (
        f"Evaluated by {N_WARDS} parties on rows that were kept back from learning",
        "Evaluating it cost ε = 5 more",
        "spent ε = 10 in all",
        "said home",
        "Shares of all rows",
    ):
        assert words in said
    found = Release.load(folder / "evaluated.ostraka")
    assert found.digest == model.digest
    assert found.certificate == model.certificate
    shown = run(folder, "inspect", "evaluated.ostraka")
    assert "Evaluated by 12 parties" in shown
    assert "if that party took part in everything" in shown
    stated = json.loads(run(folder, "inspect", "evaluated.ostraka", "--json"))
    assert stated["epsilon"] == 5.0
    assert stated["evaluations"][0]["release"] == model.digest
    low, high = (stated["evaluations"][0]["accuracy"][end] for end in ("low", "high"))
    assert 0.0 <= low < high <= 1.0
    again = refuse(folder, *ready, "--out", "again.ostraka")
    assert "has charged this poll already" in again
    assert "Use the evaluation that was made" in again
    assert "ε = 10" in run(folder, "ledger", "show", "budgets.db").replace("ε=", "ε = ")
    run(folder, "predict", "evaluated.ostraka", "0.csv", "--out", "p.csv")
    run(folder, "export", "evaluated.ostraka", "--onnx", "m.onnx")
    once_more = ("evaluate", "evaluated.ostraka", "--epsilon", "1", "--parties", "12")
    run(folder, *once_more, "--out", "second.poll")
    assert len(Poll.load(folder / "second.poll").judged.evaluations) == 1  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("evaluate", "all.csv", "--epsilon", "1", "--parties", "3"), "a text, such as a table"),
        (("evaluate", "m.ostraka", "--epsilon", "0", "--parties", "3"), "--epsilon = 0.0"),
        (("evaluate", "m.ostraka", "--epsilon", "1"), "--parties is missing"),
        (("evaluate", "m.ostraka", "--epsilon", "1", "--parties", "1"), "at least 2 are needed"),
        (("evaluate", "m.ostraka", "--epsilon", "1", "--persons", "9"), "protects one party"),
    ],
)
def test_mistakes(folder: Path, words: tuple[str, ...], told: str) -> None:
    assert told in refuse(folder, *words, "--out", "o.poll")
    assert not (folder / "o.poll").exists()


def test_a_file_that_is_there_is_not_replaced(folder: Path) -> None:
    made = ("evaluate", "m.ostraka", "--epsilon", "1", "--parties", "3")
    assert "--force replaces it" in refuse(folder, *made, "--out", "public.csv")
    assert "not the release" in refuse(folder, *made, "--out", "m.ostraka", "--force")


def test_evaluation_is_no_method_to_learn_by(folder: Path) -> None:
    create = ("poll", "create", "public.csv", "--classes", "home,ward", "--parties", "3")
    told = refuse(folder, *create, "--epsilon", "1", "--method", "evaluation", "--out", "o.poll")
    assert "evaluation" in told
