"""Thirty mistakes that people make, and what they are told.

What was given, what is allowed, what to do.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ostraka import (
    AuxiliarySet,
    Contribution,
    Poll,
    PrivateClassifier,
    Release,
    Tally,
    describe_columns,
    publish,
)
from ostraka.cli.exits import EXIT_CODES, code_of
from ostraka.errors import InputWarning, OstrakaError, WrongTypeError
from ostraka.experiments.ward_tables import CLASSES, make_patients
from ostraka.ledger import Budget, Ledger
from tests.command import run_command

NOTHING = "Nothing was drawn and nothing was spent."
RNG = np.random.default_rng(3)
TABLE = make_patients(400, RNG)
PRIVATE, Y = TABLE.drop(columns="outcome"), TABLE["outcome"].to_numpy()
PUBLIC = make_patients(200, RNG).drop(columns="outcome")
NUMBERS = np.column_stack([PRIVATE["pressure"], PRIVATE["cost"]])
PUBLIC_NUMBERS = np.column_stack([PUBLIC["pressure"], PUBLIC["cost"]])
PARTIES = np.arange(400) // 10


def fit(**changes: Any) -> Any:
    settings = {name: changes.pop(name) for name in list(changes) if name not in GIVEN}
    given = {**GIVEN, **changes}
    model = PrivateClassifier(**{"method": "cells", "epsilon": 1.0, **settings})
    return model.fit(given["X"], given["y"], parties=given["parties"], auxiliary=given["auxiliary"])


GIVEN: dict[str, Any] = {"X": PRIVATE, "y": Y, "parties": PARTIES, "auxiliary": PUBLIC}


def with_gap(values: Any, gap: Any = None) -> Any:
    array = np.array(values, dtype=object)
    array[5] = gap
    return array


def without_heading(table: Any) -> Any:
    return table.set_axis(range(table.shape[1]), axis=1)


# What somebody does; then words that name what was given, what is allowed, and what to do.
IN_PYTHON: dict[str, tuple[Callable[[], Any], tuple[str, str, str]]] = {
    "epsilon 0": (
        lambda: fit(epsilon=0.0),
        ("epsilon = 0.0", "a number above 0; 0.1 to 2 is usual", "Allowed:"),
    ),
    "a text as epsilon": (
        lambda: fit(epsilon="abc"),
        ("epsilon = 'abc'", "a number above 0; 0.1 to 2 is usual", "Allowed:"),
    ),
    "a method that is not there": (
        lambda: fit(method="magic"),
        ("method = 'magic'", "'auto', 'moments'", "Allowed:"),
    ),
    "an option that the method ignores": (
        lambda: fit(lambda_=0.1),
        ("lambda = 0.1", "not for method 'cells'", "it is for consensus"),
    ),
    "parties forgotten": (
        lambda: fit(parties=None),
        ("parties is missing", "who holds each row", "rows_are_parties=True"),
    ),
    "public samples forgotten": (
        lambda: fit(auxiliary=None),
        (
            "auxiliary is missing",
            "public samples with the columns of X",
            'method="avg" with radius=',
        ),
    ),
    "private rows as public ones": (
        lambda: fit(auxiliary=PRIVATE[:200]),
        ("auxiliary holds the private rows", "most of the public samples", "Give other samples"),
    ),
    "one public row": (
        lambda: fit(auxiliary=PUBLIC[:1]),
        ("The auxiliary set has 1 row", "says nothing about how samples differ", "some hundreds"),
    ),
    "public rows that are all alike": (
        lambda: fit(auxiliary=PUBLIC.iloc[[3, 3, 3]]),
        ("All rows of the auxiliary set are alike", "says nothing", "Give public samples"),
    ),
    "the label in the public table": (
        lambda: fit(auxiliary=make_patients(200, RNG)),
        ("X: a column is missing, 'outcome'", "leave it out of the public table", "by its name"),
    ),
    "a column that is missing": (
        lambda: fit(X=PRIVATE.rename(columns={"pressure": "presure"})),
        ("'pressure'. Others are there", "Is 'presure' the column 'pressure'?", "Rename it in"),
    ),
    "a text among numbers": (
        lambda: fit(X=with_gap(NUMBERS.tolist(), [1.0, "low"]).tolist(), auxiliary=PUBLIC_NUMBERS),
        ("column 1 holds 'low'", "Every number must be finite", "(auxiliary=, --auxiliary)"),
    ),
    "a gap among numbers": (
        lambda: fit(X=np.where(NUMBERS > 140, np.nan, NUMBERS), auxiliary=PUBLIC_NUMBERS),
        ("X: column", "a gap (NaN, or nothing)", "(columns=, --columns)"),
    ),
    "a gap among the labels": (
        lambda: fit(y=with_gap(Y)),
        ("y has gaps", "first in row 5", "Leave out rows"),
    ),
    "a gap among the parties": (
        lambda: fit(parties=with_gap(PARTIES, np.nan)),
        (
            "no party in row 5 (counting from 0; line 7 of a CSV file)",
            "its name is nan",
            "Name a party for every",
        ),
    ),
    "one class only": (
        lambda: fit(y=np.full(400, "home")),
        ("one class only, ", "at least two", "classes=[...]"),
    ),
    "a class that is not on the list": (
        lambda: fit(classes=["Home", "ward"]),
        ("Class 'home' is not among", "'Home', 'ward'", "Did you mean 'Home'?"),
    ),
    "labels and rows of different number": (
        lambda: fit(y=Y[:300]),
        ("y: the shape is (300,)", "(400,), one class for each row of X", "Allowed:"),
    ),
    "one party alone": (
        lambda: fit(parties=np.zeros(400)),
        ("1 party has contributed", "at least 2 are needed", "Wait for more parties"),
    ),
    "free text in the public table": (
        lambda: fit(
            X=PRIVATE.assign(note=[f"note {k}" for k in range(400)]),
            auxiliary=PUBLIC.assign(note=[f"remark {k}" for k in range(200)]),
        ),
        ("'note' has 200 different texts", "25% of its rows", "Leave it out (--drop)"),
    ),
    "a path as rows": (
        lambda: fit(X="mine.csv"),
        ("X is of type str", "Give a table", "pandas.read_csv('mine.csv')"),
    ),
    "a path as public samples": (
        lambda: fit(auxiliary=Path("public.parquet")),
        ("The auxiliary set is of type", "pandas.read_parquet('public.parquet')", "command line"),
    ),
    "a lazy frame as rows": (
        lambda: fit(X=pl.from_pandas(PRIVATE).lazy()),
        ("X is of type LazyFrame", "Give a table", "collect() it first"),
    ),
    "a lazy frame as public samples": (
        lambda: fit(auxiliary=pl.from_pandas(PUBLIC).lazy()),
        ("The auxiliary set is of type LazyFrame", "Give a table", "collect() it first"),
    ),
    "two columns of one name": (
        lambda: fit(X=pd.concat([PRIVATE, PRIVATE[["age", "cost"]]], axis=1)),
        ("X: more than one column is called 'age', 'cost'", "Rename them", "duplicated()"),
    ),
    "two public columns of one name": (
        lambda: fit(auxiliary=pd.concat([PUBLIC, PUBLIC[["age"]]], axis=1)),
        ("The auxiliary set: more than one column is called 'age'", "keep one", "duplicated()"),
    ),
    "names of columns that are texts and numbers": (
        lambda: fit(X=PRIVATE.rename(columns={"age": 0})),
        ("X: columns have names that are no texts, 0", "a text", "df.columns.astype(str)"),
    ),
    "names of public columns that are numbers but no places": (
        lambda: fit(X=NUMBERS, auxiliary=pd.DataFrame(PUBLIC_NUMBERS, columns=[1, 0])),
        ("set: columns have names that are no texts, 1, 0", "a text", "astype(str)"),
    ),
    "texts in a table without a heading": (
        lambda: fit(X=without_heading(PRIVATE), auxiliary=without_heading(PUBLIC)),
        ("X: column 2 holds ", "named by texts", "df.columns = df.columns.astype(str)"),
    ),
    "the name of a column as labels": (
        lambda: fit(y="outcome"),
        ("y is of type str", "the classes themselves", "one for each row of X"),
    ),
    "a kind that is not there": (
        lambda: fit(columns={"age": "colour"}),
        ("column age = 'colour'", "number, boolean, date, category", "Allowed:"),
    ),
    "described columns that are not there": (
        lambda: fit(columns={"agee": "number"}),
        ("public table: a column is missing, 'agee'", "Is 'age' the column", "as the table has it"),
    ),
}


@pytest.mark.parametrize("mistake", IN_PYTHON)
def test_in_python(mistake: str) -> None:
    act, words = IN_PYTHON[mistake]
    with pytest.raises(OstrakaError) as caught:
        act()
    text = str(caught.value)
    for word in words:
        assert word in text, text
    assert text.endswith(NOTHING), "fit could have spent something"
    assert code_of(caught.value) in EXIT_CODES.values()
    for inner in ("samples =", "NoneType", "ndarray", "dtype"):
        assert inner not in text, "a name that the user did not give"


def test_a_budget_that_is_too_small(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "ledger.db", Budget(epsilon=0.5))
    with pytest.raises(OstrakaError) as caught:
        fit(ledger=ledger)
    text = str(caught.value)
    for word in ("costs ε=1", "has ε=0.5 left", "Leave out who cannot pay", NOTHING):
        assert word in text
    assert ledger.history() == []


def test_where_nothing_could_be_spent_nothing_is_said_of_it() -> None:
    poll = Poll.create(PUBLIC, classes=CLASSES, epsilon=1.0, parties=40, method="cells")
    tally = Tally(poll)
    for party in range(40):
        own = party == PARTIES
        tally.add(poll.contribute(PRIVATE[own], Y[own], party))
    release = publish(poll, tally)
    acts: list[Callable[[], Any]] = [
        lambda: release.predict(PRIVATE.drop(columns="age")),
        lambda: poll.contribute(PRIVATE.drop(columns="age"), Y, "a"),
        lambda: Poll.create(PUBLIC, classes=CLASSES, epsilon=0.0, parties=40),
        lambda: release.score(PRIVATE, Y[:3]),
    ]
    for act in acts:
        with pytest.raises(OstrakaError) as caught:
            act()
        assert "spent" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("mine.csv", r"Give a table.*pandas.read_csv\('mine.csv'\)"),
        (Path("mine.csv"), r"Give a table.*pandas.read_csv\('mine.csv'\)"),
        (pl.from_pandas(PRIVATE).lazy(), r"Give a table: collect\(\) it first"),
    ],
)
def test_what_only_leads_to_a_table(given: Any, words: str) -> None:
    settings: dict[str, Any] = {"classes": CLASSES, "epsilon": 1.0, "parties": 40}
    poll = Poll.create(PUBLIC, method="cells", **settings)
    of_numbers = Poll.create(PUBLIC_NUMBERS, method="cells", **settings)
    model = fit(random_state=0)
    acts: list[Callable[[], Any]] = [
        lambda: Poll.create(given, **settings),
        lambda: AuxiliarySet(given, CLASSES),
        lambda: AuxiliarySet.scaled(given, CLASSES),
        lambda: describe_columns(given),
        lambda: poll.contribute(given, Y, "a"),
        lambda: of_numbers.contribute(given, Y, "a"),
        lambda: model.predict(given),
        lambda: model.release_.score(given, Y),
        lambda: fit(X=NUMBERS, auxiliary=PUBLIC_NUMBERS, random_state=0).predict(given),
    ]
    for act in acts:
        with pytest.raises(WrongTypeError, match=words):
            act()


def test_the_label_in_both_tables() -> None:
    labelled = make_patients(200, RNG)
    told = "has the classes themselves in 'outcome'.*leave it out of the table"
    with pytest.warns(InputWarning, match=told) as caught:
        fit(X=TABLE, auxiliary=labelled, random_state=0)
    assert [each.filename for each in caught] == [__file__]
    with pytest.warns(InputWarning, match=told) as caught:
        Poll.create(labelled, classes=CLASSES, epsilon=1.0, parties=40, method="cells")
    assert [each.filename for each in caught] == [__file__]
    described = describe_columns(labelled)  # whoever described it meant it
    fit(X=TABLE, auxiliary=labelled, columns=described, random_state=0)
    Poll.create(labelled, classes=CLASSES, columns=described, epsilon=1.0, parties=40)


def test_a_class_that_is_written_in_two_ways() -> None:
    written = np.array(Y, dtype=object)
    written[7] = "Home "
    with pytest.warns(InputWarning, match=r"look alike.*'Home ', 'home'.*classes=\[") as caught:
        model = fit(y=written, random_state=0)
    assert [each.filename for each in caught] == [__file__]
    assert len(model.classes_) == 3, "it is told, and taken as it is"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A public table, one private one, a poll, a contribution, a release, and damaged ones."""
    folder = tmp_path_factory.mktemp("mistakes")
    PUBLIC.to_csv(folder / "public.csv", index=False)
    TABLE.assign(ward=PARTIES).to_csv(folder / "private.csv", index=False)
    TABLE.assign(ward=PARTIES).to_parquet(folder / "private.parquet")
    poll = Poll.create(PUBLIC, classes=CLASSES, epsilon=1.0, parties=3, method="cells")
    poll.save(folder / "t.poll")
    tally = Tally(poll)
    for party in range(3):
        made = poll.contribute(PRIVATE[party : party + 5], Y[party : party + 5], party)
        made.save(folder / f"{party}.contribution")
        tally.add(made)
    released = publish(poll, tally)
    assert isinstance(released, Release)
    released.save(folder / "m.ostraka")
    for name in ("private.parquet", "t.poll", "0.contribution", "m.ostraka"):
        (folder / f"cut-{name}").write_bytes((folder / name).read_bytes()[:-9])
    (folder / "inbox").mkdir()
    (folder / "empty.csv").write_text("")
    (folder / "latin.csv").write_bytes("name\nZoë\n".encode("latin-1"))
    (folder / "odd.yaml").write_text("age: [")
    return folder


@pytest.mark.parametrize(
    ("load", "name"),
    [
        (Poll.load, "t.poll"),
        (Contribution.load, "0.contribution"),
        (Release.load, "m.ostraka"),
    ],
)
def test_a_file_that_is_there_is_not_lost(
    folder: Path, tmp_path: Path, load: Callable[[Path], Any], name: str
) -> None:
    """A release that was paid for, for example."""
    path, kept = tmp_path / name, load(folder / name)
    path.write_bytes(b"precious")
    with pytest.raises(FileExistsError, match=rf"overwrite=True replaces it.*{name}"):
        kept.save(path)
    assert path.read_bytes() == b"precious"
    kept.save(path, overwrite=True)
    kept.save(path)  # the very same
    assert path.read_bytes() == (folder / name).read_bytes()


LEARN = (
    "learn",
    "private.csv",
    "--label-column",
    "outcome",
    "--epsilon",
    "1",
    "--out",
    "o.ostraka",
)
AND_MORE = ("--party-column", "ward", "--auxiliary", "public.csv")
ON_THE_COMMAND_LINE: dict[str, tuple[tuple[str, ...], int, tuple[str, ...]]] = {
    "a label column that is not there": (
        ("learn", "private.csv", "--label-column", "fate", *LEARN[4:], *AND_MORE),
        19,
        ("private.csv has no column 'fate'", "'outcome'", "Name a column", NOTHING),
    ),
    "the party column forgotten": (
        (*LEARN, "--auxiliary", "public.csv"),
        18,
        ("--party-column is missing", "names the parties", "--rows-are-parties", NOTHING),
    ),
    "no public table": (
        (*LEARN, "--party-column", "ward"),
        18,
        ("--auxiliary is missing", "public samples with the same columns", "--radius", NOTHING),
    ),
    "the private file as the public one": (
        (*LEARN, "--party-column", "ward", "--auxiliary", "private.csv"),
        18,
        ("--auxiliary = 'private.csv'", "other, public samples", NOTHING),
    ),
    "private rows in another file": (
        (*LEARN, "--party-column", "ward", "--auxiliary", "private.parquet"),
        19,
        ("auxiliary holds the private rows", "Give other samples", NOTHING),
    ),
    "a file that is not there": (
        ("learn", "nowhere.csv", *LEARN[2:], *AND_MORE),
        30,
        ("There is no file or folder 'nowhere.csv'", "Check the path"),
    ),
    "a truncated table": (
        ("learn", "cut-private.parquet", *LEARN[2:], *AND_MORE),
        20,
        ("cut-private.parquet cannot be read", "Nothing was loaded"),
    ),
    "an empty table": (
        ("learn", "empty.csv", *LEARN[2:], *AND_MORE),
        20,
        ("empty.csv cannot be read", "No columns", "Nothing was loaded"),
    ),
    "a table in another encoding": (
        ("learn", "latin.csv", *LEARN[2:], *AND_MORE),
        20,
        ("latin.csv cannot be read", "not UTF-8", "save it as CSV UTF-8"),
    ),
    "a format that is not read": (
        ("learn", "t.poll", *LEARN[2:], *AND_MORE),
        18,
        ("file = 't.poll'", ".csv", "Allowed:"),
    ),
    "a truncated poll": (
        ("poll", "show", "cut-t.poll"),
        20,
        ("not a valid poll", "Nothing was loaded"),
    ),
    "a release as a poll": (
        ("poll", "show", "m.ostraka"),
        20,
        ("not a valid poll", "it is a release", "Nothing was loaded"),
    ),
    "a truncated release": (
        ("inspect", "cut-m.ostraka"),
        20,
        ("not a valid release", "Nothing was loaded"),
    ),
    "a table as a release": (
        ("inspect", "public.csv"),
        20,
        ("not a valid release", "Nothing was loaded"),
    ),
    "an empty inbox": (
        ("release", "t.poll", "inbox", "--out", "o.ostraka"),
        16,
        ("0 parties have contributed", "at least 2 are needed", "Wait for more", NOTHING),
    ),
    "a ledger that is not there": (
        ("release", "t.poll", ".", "--out", "o.ostraka", "--ledger", "no.db"),
        30,
        ("There is no ledger 'no.db'", "ostraka ledger init", NOTHING),
    ),
    "a damaged description": (
        (*LEARN, *AND_MORE, "--columns", "odd.yaml"),
        20,
        ("not a valid description of columns", "odd.yaml", "Nothing was loaded"),
    ),
    "the label among the poll's columns": (
        (
            "contribute",
            "t.poll",
            "private.csv",
            "--label-column",
            "age",
            "--party",
            "a",
            "--out",
            "c",
        ),
        19,
        ("This poll also learns from the column 'age'", "tell the coordinator", "--drop age"),
    ),
    "a party without a name": (
        ("contribute", "t.poll", "private.csv", "--label-column", "outcome", "--out", "c"),
        18,
        ("--party is missing", "your name in the poll; or else --check", "Nothing was written."),
    ),
    "an output that is there": (
        ("contribute", "t.poll", "private.csv", "--party", "a", "--out", "t.poll"),
        32,
        ("'t.poll' cannot be used", "it is there already", "--force replaces it"),
    ),
    "columns of a prediction that are missing": (
        ("predict", "m.ostraka", "latin2.csv", "--out", "p.csv"),
        19,
        ("latin2.csv: columns are missing, 'age'", "Others are there: 'name'", "by its name"),
    ),
}


@pytest.mark.parametrize("mistake", ON_THE_COMMAND_LINE)
def test_on_the_command_line(folder: Path, mistake: str) -> None:
    words, code, parts = ON_THE_COMMAND_LINE[mistake]
    (folder / "latin2.csv").write_text("name\nZoe\n")
    done = run_command(folder, *words)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr, done.stderr
    assert not (folder / "o.ostraka").exists()
    assert not (folder / "c").exists()


def test_a_truncated_contribution_is_refused_by_name(folder: Path) -> None:
    with pytest.raises(OstrakaError, match="not a valid contribution"):
        Contribution.load(folder / "cut-0.contribution")


def test_there_are_thirty() -> None:
    assert len(IN_PYTHON) + len(ON_THE_COMMAND_LINE) >= 30
