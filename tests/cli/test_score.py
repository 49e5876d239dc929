"""`ostraka score`, and what people are told before they trust a model or a table."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ostraka import Poll, Release, Tally, publish
from ostraka.experiments.ward_tables import CLASSES, make_patients
from tests.command import run_command

RNG = np.random.default_rng(11)


def run(folder: Path, *words: str, code: int = 0) -> str:
    """What is said, on one line, whatever stream it goes to."""
    done = run_command(folder, *words)
    assert done.returncode == code, done.stderr
    return " ".join((done.stdout + done.stderr).split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("score")
    public = make_patients(300, RNG).drop(columns="outcome")
    public.to_csv(folder / "public.csv", index=False)
    make_patients(800, RNG).to_csv(folder / "new.csv", index=False)
    poll = Poll.create(public, classes=CLASSES, epsilon=5.0, parties=60, method="cells")
    poll.save(folder / "t.poll")
    (folder / "inbox").mkdir()
    tally = Tally(poll)
    for party in range(60):
        own = make_patients(30, RNG)
        made = poll.contribute(own.drop(columns="outcome"), own["outcome"], party)
        tally.add(made)
        made.save(folder / "inbox" / f"{party}.contribution")
    released = publish(poll, tally)
    assert isinstance(released, Release)
    released.save(folder / "m.ostraka")
    return folder


def test_it_measures_beside_guessing(folder: Path) -> None:
    told = run(folder, "score", "m.ostraka", "new.csv", "--label-column", "outcome")
    new = pd.read_csv(folder / "new.csv")
    right = (Release.load(folder / "m.ostraka").predict(new) == new["outcome"]).mean()
    share = new["outcome"].value_counts(normalize=True).max()
    assert f"{right:.1%} of 800 rows of new.csv" in told
    assert f"would be right for {share:.1%}" in told
    assert "That is better than guessing." in told
    assert "said home" in told


def test_it_says_when_a_model_is_no_better_than_guessing(folder: Path) -> None:
    new = pd.read_csv(folder / "new.csv")
    new.assign(outcome=RNG.choice(CLASSES, len(new))).to_csv(folder / "coin.csv", index=False)
    told = run(folder, "score", "m.ostraka", "coin.csv", "--label-column", "outcome")
    assert "That may well be no better than guessing." in told
    assert "What next? Score it on more rows" in told


def test_it_says_when_a_model_is_worse_than_guessing(folder: Path) -> None:
    new = pd.read_csv(folder / "new.csv")
    said = Release.load(folder / "m.ostraka").predict(new)
    other = new.assign(outcome=np.where(said == "home", "ward", "home"))
    other.to_csv(folder / "other.csv", index=False)
    told = run(folder, "score", "m.ostraka", "other.csv", "--label-column", "outcome")
    commonest = other["outcome"].mode()[0]
    assert f"That is WORSE than always naming '{commonest}'. Do not use it for this." in told
    assert "What next? Are the columns of other.csv what they were in the public table?" in told


def test_every_command_says_what_next(folder: Path) -> None:
    acts = {
        ("score", "m.ostraka", "new.csv", "--label-column", "outcome"): "Use it: ostraka predict",
        ("predict", "m.ostraka", "new.csv", "--out", "next.csv"): "ostraka score m.ostraka",
        ("export", "m.ostraka", "--onnx", "next.onnx"): "ostraka inspect m.ostraka",
        ("release", "t.poll", "inbox", "--check"): "--out model.ostraka instead of --check",
    }
    for words, further in acts.items():
        _, _, told = run(folder, *words).partition("What next? ")
        assert further in told


def test_unreadable_columns_are_told_of(folder: Path) -> None:
    new = pd.read_csv(folder / "new.csv")
    new.assign(age="old").to_csv(folder / "old.csv", index=False)
    score = run(folder, "score", "m.ostraka", "old.csv", "--label-column", "outcome")
    predict = run(folder, "predict", "m.ostraka", "old.csv", "--out", "p.csv")
    for told in (score, predict):
        assert "100% of the entries of age cannot be read as a number, for example 'old'" in told


def test_a_prediction_is_not_written_twice(folder: Path) -> None:
    new = pd.read_csv(folder / "new.csv").assign(prediction=1)
    new.to_csv(folder / "twice.csv", index=False)
    told = run(folder, "predict", "m.ostraka", "twice.csv", "--out", "q.csv", "--keep", code=18)
    assert "a table without a column 'prediction'" in told


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_kept_cells_come_back_as_they_were_written(folder: Path, delimiter: str) -> None:
    new = pd.read_csv(folder / "new.csv")[:3].assign(
        case=["0012", "", "12345678901234567890"], note=['so "called"', "a, b; c", "NA"]
    )
    new.to_csv(folder / "kept.csv", index=False, sep=delimiter)
    words = ("--keep", "--probabilities", "--out", "kept-too.csv", "--force")
    run(folder, "predict", "m.ostraka", "kept.csv", *words)
    before, after = (
        list(csv.reader((folder / name).read_text().splitlines(), delimiter=delimiter))
        for name in ("kept.csv", "kept-too.csv")
    )
    assert [row[: len(before[0])] for row in after] == before
    assert after[0][len(before[0]) :] == ["prediction", "probability_home", "probability_ward"]


def test_kept_parquet_columns_keep_their_types(folder: Path) -> None:
    new = pd.read_csv(folder / "new.csv")[:3].assign(
        case=pd.array([2**60 + 1, None, 3], dtype="Int64"), seen=pd.Timestamp("2026-11-16")
    )
    new.to_parquet(folder / "kept.parquet")
    words = ("--keep", "--out", "kept-too.parquet")
    run(folder, "predict", "m.ostraka", "kept.parquet", *words)
    after = pd.read_parquet(folder / "kept-too.parquet", dtype_backend="numpy_nullable")
    assert after["case"].tolist() == new["case"].tolist()
    assert after["seen"].tolist() == new["seen"].tolist()


CREATE = ("poll", "create", "public.csv", "--classes", "home,ward", "--parties", "60")


def test_a_column_that_is_not_there_cannot_be_dropped(folder: Path) -> None:
    """With a typo it would stay in, and nobody would see it."""
    told = run(folder, *CREATE, "--epsilon", "1", "--out", "x.poll", "--drop", "Age", code=19)
    assert "--drop: public.csv: a column is missing, 'Age'" in told
    assert "Is 'age' the column 'Age'?" in told
    plan = ("plan", "--parties", "60", "--auxiliary", "public.csv", "--drop", "Age")
    assert "a column is missing" in run(folder, *plan, code=19)
    table = make_patients(300, RNG).assign(who=np.arange(300) // 5)
    table.to_csv(folder / "all.csv", index=False)
    learn = ("learn", "all.csv", "--party-column", "who", "--label-column", "outcome")
    more = ("--auxiliary", "public.csv", "--epsilon", "1", "--out", "y.ostraka")
    assert "a column is missing" in run(folder, *learn, *more, "--drop", "Age", code=19)
    same = ("learn", "all.csv", "--party-column", "outcome", "--label-column", "outcome")
    assert "another column than the one with the classes" in run(folder, *same, *more, code=18)


def test_a_list_of_yes_and_no_stays_one(folder: Path) -> None:
    (folder / "c.yaml").write_text("smokes: [yes, no]\nage: {kind: number, log: false}\n")
    run(folder, *CREATE, "--epsilon", "1", "--out", "yes.poll", "--columns", "c.yaml")
    columns = Poll.load(folder / "yes.poll").task.columns
    assert columns is not None
    (smokes,) = [column for column in columns.columns if column.name == "smokes"]
    assert smokes.values == ("yes", "no")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("age: {kind: number, log: maybe}", "column age, log = 'maybe'"),
        ("age: {kind: number, fill: abc}", "column age, fill = 'abc'"),
        ("age: {kind: number, unknown: [x]}", "column age, unknown = 'x'"),
    ],
)
def test_settings_of_columns_are_checked(folder: Path, line: str, part: str) -> None:
    (folder / "d.yaml").write_text(line)
    words = (*CREATE, "--epsilon", "1", "--out", "z.poll", "--columns", "d.yaml")
    assert part in run(folder, *words, code=18)


def test_the_label_in_the_public_table_is_noticed(folder: Path) -> None:
    make_patients(300, RNG).to_csv(folder / "labelled.csv", index=False)
    words = ("poll", "create", "labelled.csv", *CREATE[3:], "--epsilon", "1", "--out", "l.poll")
    assert "has the classes themselves in 'outcome'" in run(folder, *words)
    for classes, noticed in (("home,ward,care", True), ("2", False)):
        plan = ("plan", "--parties", "60", "--auxiliary", "labelled.csv", "--classes", classes)
        assert ("the classes themselves in 'outcome'" in run(folder, *plan)) is noticed
    words = ("poll", "create", "public.csv", "--classes", "yes,no,maybe", "--parties", "60")
    told = run(folder, *words, "--epsilon", "1", "--out", "k.poll")
    assert "has the classes themselves in 'smokes'" in told


def test_numbers_that_became_texts_are_told_of(folder: Path) -> None:
    public = pd.read_csv(folder / "public.csv").astype({"age": object})
    public.loc[:2, "age"] = "unbekannt"
    public.to_csv(folder / "words.csv", index=False)
    everybody = make_patients(300, RNG).assign(who=np.arange(300) // 5)
    everybody.to_csv(folder / "everybody.csv", index=False)
    learn = ("learn", "everybody.csv", "--party-column", "who", "--label-column", "outcome")
    for words in (
        ("poll", "create", "words.csv", *CREATE[3:], "--epsilon", "1", "--out", "w.poll"),
        ("plan", "--parties", "60", "--auxiliary", "words.csv"),
        (*learn, "--auxiliary", "words.csv", "--epsilon", "1", "--out", "w.ostraka"),
    ):
        told = run(folder, *words)
        assert "% of 'age' are numbers; 'unbekannt' is not." in told
        assert "{age: {kind: number}}" in told
        said = ("--columns", "{age: {kind: number}}")  # as it was told
        assert "unbekannt" not in run(folder, *words, *said, *(["--force"] * (words[0] != "plan")))


def test_two_contributions_that_contradict_each_other_stop_a_release(folder: Path) -> None:
    poll = Poll.load(folder / "t.poll")
    own = make_patients(30, RNG)
    other = poll.contribute(own.drop(columns="outcome"), own["outcome"], "3")
    other.save(folder / "inbox" / "evil.contribution")
    told = run(folder, "release", "t.poll", "inbox", "--out", "r.ostraka", code=19)
    assert "Party 3 sent two contributions with other numbers" in told
    assert "Ask the party which one counts" in told
    assert "Nothing was drawn and nothing was spent." in told
    assert not (folder / "r.ostraka").exists()
    (folder / "inbox" / "evil.contribution").unlink()


def test_far_fewer_parties_than_expected_are_told_of(folder: Path) -> None:
    (folder / "few").mkdir()
    for party in range(7):
        name = f"{party}.contribution"
        (folder / "few" / name).write_bytes((folder / "inbox" / name).read_bytes())
    for words in (("--check",), ("--out", "few.ostraka")):
        told = run(folder, "release", "t.poll", "few", *words)
        assert "7 parties of about 60 came." in told
        assert "Wait for more if you can." in told


def test_a_poll_of_persons_says_what_to_run(folder: Path) -> None:
    words = ("poll", "create", "public.csv", "--classes", "home,ward", "--protects", "person")
    more = ("--persons", "900", "--epsilon", "1", "--out", "p.poll")
    told = run(folder, *words, *more)
    assert "--person-column COLUMN" in told
    assert "the 300 rows of the public table as numbers" in told


@pytest.mark.parametrize(("given", "code"), [("home,ward", 0), ("2", 0), ("1", 18), ("home", 18)])
def test_plan_takes_a_number_of_classes_or_their_names(given: str, code: int, folder: Path) -> None:
    words = ("plan", "--parties", "100", "--samples", "50", "--features", "3", "--classes", given)
    told = run(folder, *words, code=code)
    assert code == 0 or "a number from 2 on, or names" in told


def test_tabs_and_spreadsheets(folder: Path) -> None:
    public = pd.read_csv(folder / "public.csv")
    public.to_csv(folder / "public.tsv", index=False, sep="\t")
    words = (*CREATE[3:], "--epsilon", "1", "--method", "cells", "--out")
    run(folder, "poll", "create", "public.tsv", *words, "tab.poll")
    run(folder, "poll", "create", "public.csv", *words, "comma.poll")
    tab, comma = (Poll.load(folder / name) for name in ("tab.poll", "comma.poll"))
    assert tab.digest == comma.digest
    (folder / "t.xlsx").write_bytes(b"PK")
    told = run(folder, "poll", "create", "t.xlsx", *words, "x.poll", code=18)
    assert "in Excel, Save as, CSV UTF-8" in told


def test_columns_that_stand_twice_are_named(folder: Path) -> None:
    (folder / "double.csv").write_text("age,age,b\n1,2,3\n")
    words: Any = ("poll", "create", "double.csv", *CREATE[3:], "--epsilon", "1", "--out", "x.poll")
    assert "its first line names 'age' more than once" in run(folder, *words, code=20)


def test_learn_tells_of_classes_that_look_alike(folder: Path) -> None:
    table = make_patients(400, RNG)
    table["ward"] = np.arange(400) % 40
    table.loc[0, "outcome"] = " Home"
    table.to_csv(folder / "alike.csv", index=False)
    words = ("--label-column", "outcome", "--party-column", "ward", "--epsilon", "2")
    more = ("--auxiliary", "public.csv", "--out", "alike.ostraka")
    told = run(folder, "learn", "alike.csv", *words, *more)
    assert "Mind: Classes that look alike are taken for different ones: ' Home'" in told
    assert "or give --classes." in told
    assert "InputWarning" not in told
