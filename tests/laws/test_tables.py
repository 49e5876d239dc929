"""Tables as people have them: texts, dates and gaps give the same results every way they go."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ostraka import Contribution, Poll, PrivateClassifier, Release, Tally, publish
from ostraka.public.columns import Category
from ostraka.public.entries import read_numbers, read_texts, values_of
from ostraka.release.export import to_onnx
from tests.command import run_command

RNG = np.random.default_rng(7)
CLASSES = ["ill", "well"]


def made_up(n: int) -> pd.DataFrame:
    """A hospital's table, with everything that tables have."""
    age = RNG.integers(18, 95, n).astype(object)
    age[RNG.random(n) < 0.1] = None
    job = RNG.choice(["nurse", "clerk", "miner", "[bold]x[/]"], n).astype(object)
    job[RNG.random(n) < 0.05] = None
    seen = pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, n), unit="D")
    return pd.DataFrame(
        {
            "age": pd.array(age, dtype="Int64"),
            "job": job,
            "seen": seen.strftime("%Y-%m-%d"),
            "smokes": RNG.random(n) < 0.3,
            "income": np.exp(RNG.normal(9, 2.5, n)).round(2),
            "row": np.arange(n),
        }
    )


def labels_of(frame: pd.DataFrame) -> np.ndarray:
    old = frame["age"].fillna(50).to_numpy(dtype=float) > 55
    return np.where(old, "ill", "well")


PUBLIC, PRIVATE = made_up(300), made_up(900)
Y, PARTIES = labels_of(PRIVATE), np.arange(900) // 6
OTHER_TYPES = {
    "shuffled": lambda frame: frame[frame.columns[::-1]],
    "more columns": lambda frame: frame.assign(note="free text", id=np.arange(len(frame))),
    "objects": lambda frame: frame.astype(object),
    "texts": lambda frame: frame.astype(object).where(frame.notna(), "").astype(str),
    "categories": lambda frame: frame.astype({"job": "category", "seen": "category"}),
    "real dates": lambda frame: frame.assign(seen=pd.to_datetime(frame["seen"])),
    "zoned dates": lambda frame: frame.assign(seen=pd.to_datetime(frame["seen"], utc=True)),
    "small integers": lambda frame: frame.astype({"smokes": "int8", "row": "int16"}),
    "float ages": lambda frame: frame.assign(age=frame["age"].astype("Float64")),
    "polars": pl.from_pandas,
    "arrow": pa.Table.from_pandas,
}
METHODS = ["auto", "moments", "cells", "consensus", "soft", "vote", "avg"]


@pytest.fixture(scope="module", params=METHODS)
def poll(request: Any) -> Poll:
    made = Poll.create(PUBLIC, classes=CLASSES, epsilon=5.0, parties=150, method=request.param)
    return Poll.from_bytes(made.to_bytes())


def sent(poll: Poll, frame: Any, labels: Any) -> np.ndarray:
    return Contribution.from_bytes(poll.contribute(frame, labels, "a").to_bytes()).values


@pytest.mark.parametrize("form", OTHER_TYPES)
def test_the_same_table_gives_the_same_contribution(poll: Poll, form: str) -> None:
    """To the last bit, whatever the order, the types and the container."""
    own, labels = PRIVATE[:40], Y[:40]
    expected = sent(poll, own, labels)
    assert np.array_equal(sent(poll, OTHER_TYPES[form](own), labels), expected)


def test_a_poll_survives_the_disk_with_its_columns(poll: Poll) -> None:
    assert Poll.from_bytes(poll.to_bytes()).digest == poll.digest
    assert poll.task.columns is not None
    assert poll.task.columns.names == tuple(PUBLIC.columns)
    kinds = [column.kind for column in poll.task.columns.columns]
    assert kinds == ["number", "category", "date", "boolean", "number", "number"]
    income = poll.task.columns.columns[4]
    assert income.unit is not None, "incomes have a long tail"  # type: ignore[union-attr]


def test_classifiers_that_vote_see_the_raw_table() -> None:
    poll = Poll.create(PUBLIC, classes=CLASSES, epsilon=5.0, parties=150, method="consensus")
    seen = []

    def classifier(rows: pd.DataFrame) -> np.ndarray:
        seen.append(rows)
        return np.where(rows["job"] == "miner", "ill", "well")

    votes = Poll.from_bytes(poll.to_bytes()).cast(classifier, "a").values
    assert (votes == (PUBLIC["job"] != "miner").to_numpy()).all()
    assert isinstance(seen[0], pd.DataFrame)
    assert seen[0]["age"].isna().tolist() == PUBLIC["age"].isna().tolist()


@pytest.fixture(scope="module")
def model() -> PrivateClassifier:
    return PrivateClassifier(epsilon=9.0, samples_each=6).fit(
        PRIVATE, Y, parties=PARTIES, auxiliary=PUBLIC
    )


@pytest.mark.parametrize("form", OTHER_TYPES)
def test_predictions_are_the_same(model: PrivateClassifier, form: str) -> None:
    new = made_up(200)
    given = OTHER_TYPES[form](new)
    assert (model.predict_proba(given) == model.predict_proba(new)).all()
    again = Release.from_bytes(model.release_.to_bytes())
    assert (again.predict(given) == model.predict(new)).all()


def test_it_learns(model: PrivateClassifier) -> None:
    new = made_up(2000)
    assert (model.predict(new) == labels_of(new)).mean() > 0.6
    assert model.coef_.shape == (1, model.release_.model.task.n_features - 1)
    scores = model.poll_.task.features(new)[:, :-1] @ model.coef_.T + model.intercept_
    assert np.allclose(scores[:, 0], model.decision_function(new))
    assert model.n_features_in_ == 6
    assert model.feature_names_in_.tolist() == list(PUBLIC.columns)


@pytest.mark.parametrize("transport", ["estimator", "contributions"])
def test_every_transport_gives_the_same_total(transport: str) -> None:
    poll = Poll.create(PUBLIC, classes=CLASSES, epsilon=5.0, parties=150, samples_each=6)
    one, other = Tally(poll), Tally(poll)
    for party in range(150):
        own = party == PARTIES
        one.add(poll.contribute(PRIVATE[own], Y[own], party))
    rows = poll.task.rows(pl.from_pandas(PRIVATE) if transport == "estimator" else PRIVATE)
    indices = poll.task.indices(Y)
    from ostraka.methods.base import Work

    for names, block in poll.blocks(poll.group(rows, indices, PARTIES), Work()):
        other.add_block(names, block)
    assert (np.asarray(one.total) == np.asarray(other.total)).all()


def fed(release: Release, frame: pd.DataFrame) -> dict[str, np.ndarray]:
    """What the graph takes: texts for categories, numbers for the rest."""
    columns = release.model.task.columns
    assert columns is not None
    given = {}
    for column in columns.columns:
        values = values_of(frame[column.name])
        if isinstance(column, Category):
            given[column.name] = read_texts(values)[:, np.newaxis]
        else:
            given[column.name] = read_numbers(values, column.kind)[:, np.newaxis]
    return given


def test_onnx_predicts_the_same_from_raw_columns(model: PrivateClassifier) -> None:
    assert isinstance(model.release_, Release)
    session = onnxruntime.InferenceSession(to_onnx(model.release_))
    assert [each.name for each in session.get_inputs()] == list(PUBLIC.columns)
    new = made_up(500)
    new.loc[3, "job"] = "never heard of"
    new.loc[4, "income"] = 1e300
    labels, probabilities = session.run(None, fed(model.release_, new))
    assert (labels == model.predict(new)).all()
    assert np.abs(probabilities - model.predict_proba(new)).max() < 1e-9
    gaps = session.run(None, {**fed(model.release_, new), "job": np.full((500, 1), "N/A", object)})
    assert (gaps[0] == model.predict(new.assign(job=None))).all()


def test_no_partys_entries_move_anothers_contribution() -> None:
    """A text among one party's ages changes the type of everybody's column, and nothing else."""
    poll = Poll.create(PUBLIC, classes=CLASSES, epsilon=5.0, parties=150, method="cells")

    def contributions(frame: pd.DataFrame) -> dict[str, np.ndarray]:
        from ostraka.methods.base import Work

        rows = poll.task.rows(frame)
        blocks = poll.blocks(poll.group(rows, poll.task.indices(Y), PARTIES), Work())
        return {name: row for names, block in blocks for name, row in zip(names, block)}

    before = contributions(PRIVATE)
    for entry in ("old", 10**40, None, np.inf, [1], "12"):
        changed = PRIVATE.astype(object)
        for place in range(6):
            for name in ("age", "income", "row", "job", "seen"):
                changed.at[place, name] = entry
        after = contributions(changed)
        for name, row in before.items():
            assert name == "0" or np.array_equal(after[name], row), (entry, name)


def run(folder: Path, *words: str) -> str:
    done = run_command(folder, *words)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".csv.gz"])
def test_files_go_the_whole_way(tmp_path: Path, ending: str) -> None:
    """poll create, contribute, release, learn, predict, inspect, export: from raw tables."""
    from ostraka.datasets import tables

    tables.write(PUBLIC, tmp_path / f"public{ending}")
    (tmp_path / "c.json").write_text(json.dumps({"row": "leave out"}))
    create = ("poll", "create", f"public{ending}", "--classes", "ill,well", "--epsilon", "5")
    run(tmp_path, *create, "--parties", "3", "--columns", "c.json", "--out", "t.poll")
    poll = Poll.load(tmp_path / "t.poll")
    (tmp_path / "inbox").mkdir()
    for party in range(3):
        own = PRIVATE.assign(outcome=Y)[party * 300 : party * 300 + 300]
        tables.write(own[own.columns[:: (-1) ** party]], tmp_path / f"p{party}{ending}")
        out = f"inbox/p{party}.contribution"
        words = ("contribute", "t.poll", f"p{party}{ending}", "--label-column", "outcome")
        run(tmp_path, *words, "--party", f"p{party}", "--out", out)
        direct = poll.contribute(own.drop(columns="outcome"), own["outcome"], f"p{party}")
        assert Contribution.load(tmp_path / out) == direct
    run(tmp_path, "release", "t.poll", "inbox", "--out", "m.ostraka")
    tables.write(PRIVATE.assign(outcome=Y, who=PARTIES), tmp_path / f"all{ending}")
    learn = ("learn", f"all{ending}", "--party-column", "who", "--label-column", "outcome")
    said = run(
        tmp_path,
        *(*learn, "--auxiliary", f"public{ending}", "--columns", "c.json"),
        *("--epsilon", "5", "--out", "l.ostraka"),
    )
    assert "row" in said
    for name in ("m", "l"):
        out = f"{name}-predicted.csv"
        run(tmp_path, "predict", f"{name}.ostraka", f"p1{ending}", "--out", out)
        release = Release.load(tmp_path / f"{name}.ostraka")
        expected = release.predict(PRIVATE[300:600])
        assert pd.read_csv(tmp_path / out)["prediction"].tolist() == expected.tolist()
        run(tmp_path, "inspect", f"{name}.ostraka")
        run(tmp_path, "export", f"{name}.ostraka", "--onnx", f"{name}.onnx")


def test_a_rehearsal_of_the_accident_table() -> None:
    """`fars.csv.gz`, as it comes: 26 columns of text, codes for gaps, eight classes."""
    folder = Path(os.environ.get("OSTRAKA_DATA", "data"))
    if not (folder / "fars.csv.gz").exists():
        pytest.skip(f"fars.csv.gz is not in {folder}; set OSTRAKA_DATA to the folder that holds it")
    table = pd.read_csv(folder / "fars.csv.gz").sample(20_000, random_state=0)
    labels = table.pop("INJURY_SEVERITY").to_numpy()
    table = table.drop(columns=["RACE", "HISPANIC_ORIGIN", "CASE_STATE"])
    public, private, new = table[:1000], table[1000:16_000], table[16_000:]
    said = {"AGE": {"unknown": [99]}, "ALCOHOL_TEST_RESULT": {"unknown": [95, 96, 97, 98, 99]}}
    model = PrivateClassifier(epsilon=5.0, samples_each=30, columns=said, random_state=0)
    model.fit(private, labels[1000:16_000], parties=np.arange(15_000) // 30, auxiliary=public)
    commonest = max(np.mean(labels == name) for name in set(labels))
    assert (model.predict(new) == labels[16_000:]).mean() > commonest + 0.1


def test_publishing_what_came_by_file_and_from_memory() -> None:
    poll = Poll.create(PUBLIC, classes=CLASSES, epsilon=5.0, parties=150, samples_each=6)
    tally = Tally(poll)
    for party in range(150):
        own = party == PARTIES
        tally.add(poll.contribute(pl.from_pandas(PRIVATE[own]), Y[own], party))
    release = publish(poll, tally)
    again = Release.from_bytes(release.to_bytes())  # type: ignore[union-attr]
    assert again.model.task.columns == poll.task.columns
    assert (again.predict(PRIVATE) == release.predict(PRIVATE)).all()
