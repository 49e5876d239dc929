"""Polls, contributions and releases as files.

What people are told, what is refused, and that the others still count.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ostraka import Contribution, Poll, Release, publishing
from ostraka.ledger import Budget, Cost, Ledger
from ostraka.poll import after_noise
from tests.cli.test_cli import called

RNG = np.random.default_rng(0)
COLUMNS = ["age", "bmi", "pressure"]
N_PARTIES = 12


def rows(n: int) -> pd.DataFrame:
    return pd.DataFrame(RNG.normal(size=(n, 3)) * [10, 2, 30] + [50, 25, 120], columns=COLUMNS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("polls")
    rows(200).to_csv(folder / "public.csv", index=False)
    for j in range(N_PARTIES):
        table = rows(30)
        table["patient"] = np.repeat(np.arange(10), 3)
        table["outcome"] = np.where(table.age + table.pressure / 3 > 90, "ill", "well")
        table.to_csv(folder / f"h{j}.csv", index=False)
    (folder / "empty.csv").write_text("age,bmi,pressure,patient,outcome\n")
    (folder / "roll.txt").write_text(
        "# who is asked\n" + "\n".join(f"Ward {j}" for j in range(N_PARTIES)) + "\n\nLate\n"
    )
    return folder


class Runner:
    def __init__(self, capsys: Any, monkeypatch: Any, folder: Path) -> None:
        self.capsys, self.monkeypatch, self.folder = capsys, monkeypatch, folder
        monkeypatch.chdir(folder)
        monkeypatch.setenv("COLUMNS", "300")

    def __call__(self, *words: str) -> tuple[int, str, str]:
        return called(self.capsys, self.monkeypatch, *words)

    def done(self, *words: str) -> str:
        code, out, err = self(*words)
        assert code == 0, err
        return out

    def create(self, out: str, **changes: str | None) -> str:
        given = {
            "--classes": "ill,well",
            "--parties": "12",
            "--samples-each": "30",
            "--epsilon": "5",
            "--out": out,
            **changes,
        }
        words = [
            word
            for name, value in given.items()
            if value is not None
            for word in (name, value)
            if word != ""
        ]
        return self.done("poll", "create", "public.csv", *words, "--force")

    def contribute(
        self, poll: str, j: int | str, out: str, *more: str, data: str | None = None
    ) -> str:
        own = data or f"h{j}.csv"
        return self.done(
            "contribute",
            poll,
            own,
            "--label-column",
            "outcome",
            "--party",
            f"Ward {j}",
            "--out",
            out,
            "--force",
            *more,
        )


@pytest.fixture
def run(capsys: Any, monkeypatch: Any, folder: Path) -> Runner:
    return Runner(capsys, monkeypatch, folder)


def inbox(run: Runner, poll: str, name: str, *more: str, n: int = N_PARTIES) -> Path:
    box = run.folder / name
    box.mkdir(exist_ok=True)
    for j in range(n):
        run.contribute(poll, j, f"{name}/{j}.contribution", *more)
    return box


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("auto", {}),
        ("moments", {"--delta": "1e-6", "--shift": ""}),
        ("cells", {}),
        ("consensus", {"--samples-each": None}),
        ("soft", {"--samples-each": None, "--lambda": "0.1", "--calibration": "paper"}),
        ("vote", {"--samples-each": None, "--lambda": "0.1"}),
        ("avg", {"--samples-each": None, "--lambda": "0.1"}),
    ],
)
def test_from_poll_to_release_by_every_method(
    run: Runner, method: str, more: dict[str, str | None]
) -> None:
    out = run.create(f"{method}.poll", **{"--method": method, "--title": "Stroke, 2026", **more})
    assert "Stroke, 2026" in out
    rows = "" if method == "avg" else "with the public rows in it, "
    assert f"Send it to every party: {rows}it is for anybody" in " ".join(out.split())
    box = inbox(run, f"{method}.poll", f"box-{method}")
    told = run.done("release", f"{method}.poll", str(box), "--out", f"{method}.ostraka", "--force")
    assert "In: 12 of about 12 (ward 0, ward 1, ward 2, " in told
    assert "No ledger was given, so no account was charged" in " ".join(told.split())
    assert "Refused: 0" in told
    certificate = Release.load(run.folder / f"{method}.ostraka").certificate
    assert (certificate.parties, certificate.epsilon) == (12, 5.0)
    assert certificate.poll == Poll.load(run.folder / f"{method}.poll").digest


def test_poll_show_says_what_is_asked_what_leaves_what_is_promised(run: Runner) -> None:
    run.create("shown.poll", **{"--title": "Stroke, 2026", "--roll": "roll.txt", "--parties": None})
    text = " ".join(run.done("poll", "show", "shown.poll").split())
    for words in (
        "Stroke, 2026",
        "ill, well",
        "age (number), bmi (number), pressure (number)",
        "whole numbers",
        "No row, no column",
        "ε = 5",
        "at least 2",
    ):
        assert words in text
    assert "13 parties on its roll (ward 0, ward 1" in text
    facts = json.loads(run.done("poll", "show", "shown.poll", "--json"))
    assert (facts["epsilon"], facts["protects"], facts["expected"]) == (5.0, "party", 13)
    sent = (
        Contribution.load(run.folder / "box-auto" / "0.contribution")
        if (run.folder / "box-auto").exists()
        else None
    )
    assert facts["numbers"] == Poll.load(run.folder / "shown.poll").domain.dimension
    assert sent is None or facts["bytes"] > 64


def test_contribute_shows_what_leaves(run: Runner) -> None:
    run.create("shown.poll", **{"--roll": "roll.txt", "--parties": None})
    out = run.contribute("shown.poll", 3, "three.contribution")
    size = (run.folder / "three.contribution").stat().st_size
    assert "From 30 rows in h3.csv" in out
    assert f"{size:,} bytes in all, with your name, ward 3" in " ".join(out.split())
    assert "protected channel" in out
    checked = run.done("contribute", "shown.poll", "h3.csv", "--label-column", "outcome", "--check")
    assert checked.startswith("30 rows can be read by the poll's columns, and every class is")
    assert "Not used, and stays here: 'patient'. Nothing was computed" in checked
    assert "Nothing was computed and nothing was written.\nWhat next? " in checked


def test_who_is_in_who_is_missing_who_is_refused_and_why(run: Runner, folder: Path) -> None:
    """The others still count."""
    run.create("roll.poll", **{"--roll": "roll.txt", "--parties": None, "--method": "cells"})
    run.create("other.poll", **{"--title": "another", "--method": "cells"})
    box = inbox(run, "roll.poll", "box-roll", n=8)
    run.contribute("roll.poll", 8, "box-roll/empty.contribution", data="empty.csv")
    run.contribute("roll.poll", 3, "box-roll/three-again.contribution")
    run.contribute("other.poll", 9, "box-roll/other.contribution")
    poll = Poll.load(folder / "roll.poll")
    kept = Contribution.load(box / "0.contribution")
    Contribution(poll=poll.digest, party="[red]X", kind=kept.kind, values=kept.values).save(
        box / "x.c"
    )
    whole = (box / "7.contribution").read_bytes()
    (box / "7.contribution").write_bytes(whole[:-3])
    (box / "junk.txt").write_text("hello")
    (box / ".hidden").write_text("not looked at")
    (box / "folder").mkdir(exist_ok=True)
    wild = Contribution.load(box / "6.contribution")
    outside = Contribution(
        poll=poll.digest, party="ward 6", kind=wild.kind, values=np.full(wild.values.size, 2**20)
    )
    outside.save(box / "6.contribution", overwrite=True)
    ledger = Ledger.create(folder / "roll.db", Budget(epsilon=6.0))
    out = run.done(
        "release",
        "roll.poll",
        "box-roll",
        "--ledger",
        "roll.db",
        "--out",
        "roll.ostraka",
        "--force",
    )
    assert "In: 7 of about 13 (ward 0, ward 1, ward 2, ward 3, ward 4, ward 5, ward 8)" in out
    assert "Missing: 6 (ward 6, ward 7, ward 9, ward 10, ward 11, late)" in out
    listing = out.partition("Refused: ")[2].partition("Wrote")[0]
    refused = [line for line in listing.splitlines() if line.startswith("  ")]
    assert len(refused) == 7
    for name, why in (
        ("6.contribution", "lies outside the l1 ball"),
        ("7.contribution", "cut off"),
        ("folder", "it is a folder"),
        ("junk.txt", "only 5 bytes"),
        ("other.contribution", "contributed to the poll"),
        ("three-again.contribution", "counted already, from 3.contribution, with the same numbers"),
        ("x.c", "Party [red]x is not on the roll"),
    ):
        assert any(line.startswith(f"  {name}: ") and why in line for line in refused), name
    assert Release.load(folder / "roll.ostraka").certificate.parties == 7
    assert sorted(account.party for account in ledger.accounts()) == [
        f"ward {j}" for j in (0, 1, 2, 3, 4, 5, 8)
    ]
    before = ledger.history()
    for last in (("--out", "again.ostraka"), ("--check",)):
        again = ("release", "roll.poll", "box-roll", "--ledger", "roll.db", *last)
        code, _, err = run(*again)
        assert code == 41, err
        assert "has charged this poll already" in err
        code, _, err = run(*again, "--again")
        assert code == 40, err
        assert "Nothing was drawn and nothing was spent." in err
    assert ledger.history() == before
    assert not (folder / "again.ostraka").exists()


def test_a_ctrl_c_after_the_charge_still_leaves_a_file(
    run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.create("stop.poll", **{"--method": "cells", "--student": "kernel"})
    box = inbox(run, "stop.poll", "box-stop", n=4)
    ledger = Ledger.create(folder / "stop.db", Budget(epsilon=100.0))

    def interrupt(*_: Any) -> Any:
        if ledger.history():
            raise KeyboardInterrupt

    monkeypatch.setattr(after_noise, "take_student", interrupt)
    paid = ("--ledger", "stop.db", "--force", "--out", "stop.ostraka")
    out = run.done("release", "stop.poll", str(box), *paid)
    assert "A Ctrl-C came after everybody was charged." in " ".join(out.split())
    assert Release.load(folder / "stop.ostraka").digest == ledger.history()[0].digest
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "300")
    before = (folder / "stop.ostraka").read_bytes()
    run.done("release", "stop.poll", str(box), *paid, "--recover")
    assert (folder / "stop.ostraka").read_bytes() == before, "as it was recorded: without a student"


def test_a_poll_is_released_once_unless_somebody_means_it(run: Runner, folder: Path) -> None:
    run.create("once.poll", **{"--method": "cells"})
    run.create("else.poll", **{"--method": "cells", "--title": "something else"})
    box = inbox(run, "once.poll", "box-once", n=4)
    other = inbox(run, "else.poll", "box-else", n=4)
    ledger = Ledger.create(folder / "once.db", Budget(epsilon=100.0))
    paid = ("--ledger", "once.db", "--force", "--out")
    run.done("release", "once.poll", str(box), *paid, "once.ostraka")
    run.done("release", "else.poll", str(other), *paid, "else.ostraka")
    before = ledger.history()
    run.contribute("once.poll", 4, "box-once/late.contribution")
    code, _, err = run("release", "once.poll", str(box), *paid, "late.ostraka")
    assert code == 41
    assert f"has charged this poll already, on {before[0].day} for 4 parties. Use the model" in err
    assert "if it was lost, say --recover" in err
    assert "costs ε = 5 once more, ε = 10 in all; if you mean it, say --again." in err
    assert "Nothing was drawn and nothing was spent." in err
    assert ledger.history() == before
    out = run.done("release", "once.poll", str(box), *paid, "found.ostraka", "--recover")
    assert "This is its release, for 4 parties, of what was drawn then." in " ".join(out.split())
    assert ledger.history() == before
    found, once = (folder / f"{name}.ostraka" for name in ("found", "once"))
    assert found.read_bytes() == once.read_bytes()
    run.done("release", "once.poll", str(box), *paid, "late.ostraka", "--again")
    ledger.charge(["ward 0", "ward 1"], Poll.load(folder / "else.poll").certificate(2))
    ledger.charge(["ward 0"], Cost(epsilon=1.0))
    code, _, err = run("release", "else.poll", str(other), *paid, "late.ostraka")
    assert "for 2 parties, but has no release for it: was it interrupted?" in err
    assert "ε = 15 in all" in err


def test_a_release_that_was_interrupted_is_finished(
    run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.create("broken.poll", **{"--method": "cells"})
    box = inbox(run, "broken.poll", "box-broken", n=4)
    ledger = Ledger.create(folder / "broken.db", Budget(epsilon=100.0))
    paid = ("--ledger", "broken.db", "--out", "broken.ostraka", "--force")
    code, _, err = run("release", "broken.poll", str(box), *paid, "--recover")
    assert code == 41
    assert "has nothing that was drawn for this poll" in err
    outcome = publishing._outcome

    def crash(*given: Any, **options: Any) -> Any:
        if ledger.history():
            raise SystemExit
        return outcome(*given, **options)

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_outcome", crash)
        run("release", "broken.poll", str(box), *paid)
    assert not (folder / "broken.ostraka").exists()
    assert len(ledger.open_charges()) == 1
    run.contribute("broken.poll", 4, "box-broken/late.contribution")
    code, _, err = run("release", "broken.poll", str(box), "--ledger", "broken.db", "--check")
    assert code == 41
    assert "Run this command without --check: the release is made of what was drawn then" in err
    out = " ".join(run.done("release", "broken.poll", str(box), *paid).split())
    assert "Every one was charged by an earlier run, and not again." in out
    assert "This is its release, for 4 parties, of what was drawn then." in out
    assert Release.load(folder / "broken.ostraka").digest == ledger.history()[0].digest
    assert len(ledger.history()) == 1
    assert ledger.open_charges() == []


def test_check_releases_nothing(run: Runner, folder: Path) -> None:
    run.create("check.poll", **{"--method": "cells"})
    box = inbox(run, "check.poll", "box-check", n=3)
    out = run.done("release", "check.poll", str(box), "--check")
    assert "In: 3 of about 12" in out
    assert "Enough came for a release. Nothing was drawn and nothing was spent." in out
    Ledger.create(folder / "check.db", Budget(epsilon=10.0))
    out = run.done("release", "check.poll", str(box), "--check", "--ledger", "check.db")
    assert "Every party can pay." in out
    assert Ledger(folder / "check.db").history() == []
    for file in sorted(box.iterdir())[1:]:
        file.unlink()
    code, _, err = run("release", "check.poll", str(box), "--check")
    assert code == 16
    assert "1 party has contributed, but at least 2 are needed." in err


def test_what_a_party_should_know_of_its_own_table(run: Runner, folder: Path) -> None:
    """Shown at home, sent nowhere.

    No rows, another unit, a name that is not on the roll, a class that is nearly one.
    """
    run.create("mind.poll", **{"--roll": "roll.txt", "--parties": None, "--method": "cells"})
    assert "your table has NO rows" in run.contribute("mind.poll", 1, "m.c", data="empty.csv")
    table = pd.read_csv(folder / "h0.csv")
    table.assign(age=table.age * 1000).to_csv(folder / "unit.csv", index=False)
    words = ("contribute", "mind.poll", "unit.csv", "--label-column", "outcome", "--check")
    assert "most of your values of age are far from those of the public samples" in run.done(*words)
    assert "far from" not in run.contribute("mind.poll", 2, "m.c")
    code, _, err = run(
        "contribute",
        "mind.poll",
        "h0.csv",
        "--label-column",
        "outcome",
        "--party",
        "me",
        "--out",
        "me.c",
    )
    assert code == 19
    assert "Party me is not on the roll of this poll." in err
    table.assign(outcome=table.outcome.str.upper() + " ").to_csv(folder / "case.csv", index=False)
    code, _, err = run(
        "contribute", "mind.poll", "case.csv", "--label-column", "outcome", "--check"
    )
    assert code == 14
    assert "Did you mean " in err
    code, _, err = run("contribute", "mind.poll", "h0.csv", "--label-column", "age", "--check")
    assert code == 19
    assert "This poll also learns from the column 'age'" in err
    assert "tell the coordinator to make the poll again with --drop age." in err


def test_files_of_another_kind_are_named(run: Runner) -> None:
    run.create("kind.poll", **{"--method": "cells"})
    run.contribute("kind.poll", 1, "kind.c")
    inbox(run, "kind.poll", "box-kind", n=3)
    run.done("release", "kind.poll", "box-kind", "--out", "kind.ostraka", "--force")
    for words, complaint in (
        (
            ("inspect", "kind.poll"),
            "it is a poll, from which a release is made (see it with: ostraka poll show)",
        ),
        (("inspect", "kind.c"), "it begins like a contribution to a poll"),
        (("poll", "show", "kind.ostraka"), "which a poll ends with (see it with: ostraka inspect)"),
        (("poll", "show", "kind.c"), "it begins like a contribution to a poll"),
    ):
        code, _, err = run(*words)
        assert (code, complaint in err) == (20, True), err
    (run.folder / "box-kind" / "a.poll").write_bytes((run.folder / "kind.poll").read_bytes())
    out = run.done("release", "kind.poll", "box-kind", "--check")
    assert "a.poll: it begins like a poll or a release" in out
    (run.folder / "box-kind" / "h0.csv").write_bytes((run.folder / "h0.csv").read_bytes())
    out = run.done("release", "kind.poll", "box-kind", "--check")
    assert "h0.csv: This is a table, not a contribution" in out


def test_tables_in_the_inbox_and_swapped_arguments(run: Runner, folder: Path) -> None:
    run.create("swap.poll", **{"--method": "cells"})
    (folder / "box-tables").mkdir(exist_ok=True)
    for name in ("a.csv", "b.parquet", "c.csv.gz"):
        (folder / "box-tables" / name).write_text("age\n1\n")
    code, _, err = run("release", "swap.poll", "box-tables", "--out", "t.ostraka")
    assert code == 19
    assert "The folder box-tables holds tables, not contributions." in err
    assert "Each party runs ostraka contribute on its own machine first" in err
    for j in range(2):  # whatever a contribution is called
        run.contribute("swap.poll", j, f"box-tables/{j}.csv")
    assert "In: 2" in run.done("release", "swap.poll", "box-tables", "--check")
    code, _, err = run("release", "box-tables", "swap.poll", "--check")
    assert code == 19
    assert "then the folder: ostraka release swap.poll box-tables." in err
    code, _, err = run("release", "swap.poll", "box-tables/0.csv", "--check")
    assert code == 19
    assert "box-tables/0.csv is a file. Give the folder that holds what all parties sent." in err


def test_everything_for_another_poll(run: Runner, folder: Path) -> None:
    run.create("one.poll", **{"--method": "cells"})
    run.create("two.poll", **{"--method": "cells", "--title": "Two"})
    box = inbox(run, "one.poll", "box-one", n=2)
    code, _, err = run("release", "two.poll", str(box), "--check")
    assert code == 19
    assert "Everything in" in err
    assert "is for another poll than" in err
    run.contribute("two.poll", 5, "box-one/5.contribution")
    code, _, err = run("release", "two.poll", str(box), "--check")
    assert code == 16, "what came still counts, and is too little"


def test_a_folder_is_no_public_table(run: Runner, folder: Path) -> None:
    (folder / "wards").mkdir(exist_ok=True)
    code, _, err = run(
        *("poll", "create", "wards", "--classes", "a,b", "--parties", "9", "--epsilon", "1"),
        *("--out", "x.poll"),
    )
    assert code == 19
    assert "wards is a folder, as parties' own tables are. The public table is one file" in err


def test_persons(run: Runner, folder: Path) -> None:
    out = run.create("few.poll", **{"--parties": "4", "--epsilon": "1"})
    assert "--protects person" in out
    run.create(
        "persons.poll",
        **{
            "--protects": "person",
            "--persons": "40",
            "--parties": "4",
            "--samples-each": "3",
            "--epsilon": "2",
        },
    )
    box = inbox(run, "persons.poll", "box-persons", "--person-column", "patient", n=4)
    out = run.done("release", "persons.poll", str(box), "--out", "persons.ostraka", "--force")
    assert "one person's whole data, among 40 persons at 4 holders" in out
    assert "--parties NUMBER --persons NUMBER --out check.poll" in " ".join(out.split())
    words = ("contribute", "persons.poll", "h0.csv", "--label-column", "outcome", "--person-column")
    assert run.done(*words, "patient", "--check").startswith("30 rows of 10 persons can be read")
    told = run.contribute("persons.poll", 0, "p.c", "--person-column", "patient")
    assert "From 30 rows of 10 persons in h0.csv" in told
    assert "Mind" not in told
    pd.read_csv("h0.csv").assign(row=range(30)).to_csv("numbered.csv", index=False)
    told = run.done(*words[:2], "numbered.csv", *words[3:], "row", "--check")
    assert "30 rows of 30 persons: is 'row' really the column that says whose row it is?" in told
    code, _, err = run(*words, "age", "--check")
    assert code == 18
    assert "--person-column = 'age' is not allowed. Allowed: a column with a name" in err
    code, _, err = run(*words, "outcome", "--check")
    assert code == 18
    assert "--person-column = 'outcome'" in err
    assert "Whoever has data at two holders is protected for 2ε" in out
    code, _, err = run(
        "contribute",
        "persons.poll",
        "h0.csv",
        "--label-column",
        "outcome",
        "--party",
        "a",
        "--out",
        "a.c",
    )
    assert code == 18
    assert "--person-column" in err
    code, _, err = run(
        "contribute",
        "few.poll",
        "h0.csv",
        "--label-column",
        "outcome",
        "--person-column",
        "patient",
        "--party",
        "a",
        "--out",
        "a.c",
    )
    assert code == 18
    assert "this one protects one party" in err
    Ledger.create(folder / "parties.db", Budget(epsilon=5.0))
    code, _, err = run(
        "release", "persons.poll", str(box), "--ledger", "parties.db", "--out", "p.ostraka"
    )
    assert code == 19
    assert "the ledger keeps accounts of whole parties" in err
    Ledger.create(folder / "persons.db", Budget(epsilon=50.0), protects="person")
    paid = ("release", "persons.poll", str(box), "--ledger", "persons.db", "--force", "--out")
    run.done(*paid, "p.ostraka")
    code, _, err = run(*paid, "q.ostraka")
    assert code == 41
    assert "has charged this poll already" in err


def test_a_ledger_that_is_not_there_is_not_made_in_passing(run: Runner, folder: Path) -> None:
    run.create("unkept.poll", **{"--method": "cells"})
    box = inbox(run, "unkept.poll", "box-unkept")
    code, _, err = run(
        "release", "unkept.poll", str(box), "--ledger", "none.db", "--out", "u.ostraka"
    )
    assert code == 30
    assert "There is no ledger 'none.db'" in err
    assert "ostraka ledger init" in err
    assert "Nothing was drawn and nothing was spent" in err
    assert not (folder / "none.db").exists()
    assert not (folder / "u.ostraka").exists()


def test_a_kernel_student_by_files(run: Runner, folder: Path) -> None:
    run.create("curved.poll", **{"--method": "cells", "--student": "kernel"})
    box = inbox(run, "curved.poll", "box-curved")
    run.done("release", "curved.poll", str(box), "--out", "curved.ostraka", "--force")
    told = " ".join(run.done("inspect", "curved.ostraka").split())
    assert "model: a kernel student of a linear one, with" in told
    run.done("predict", "curved.ostraka", "h0.csv", "--out", "curved.csv", "--force")
    run.done("export", "curved.ostraka", "--onnx", "curved.onnx", "--force")
    assert (folder / "curved.onnx").stat().st_size > 1000


def test_a_second_round_by_files(run: Runner, folder: Path) -> None:
    run.create("first.poll", **{"--method": "cells"})
    box = inbox(run, "first.poll", "box-first")
    run.done("release", "first.poll", str(box), "--out", "first.ostraka", "--force")
    run.create("second.poll", **{"--method": "refine", "--start": "first.ostraka"})
    shown = " ".join(run.done("poll", "show", "second.poll").split())
    assert "together ε = 10" in shown
    second = inbox(run, "second.poll", "box-second")
    run.done("release", "second.poll", str(second), "--out", "second.ostraka", "--force")
    out = run.done("inspect", "second.ostraka", "--json")
    assert (json.loads(out)["epsilon"], json.loads(out)["round_epsilon"]) == (10.0, 5.0)


def test_a_private_auxiliary_set_by_files(run: Runner, folder: Path) -> None:
    import skops.io
    from sklearn.linear_model import LogisticRegression

    more = {
        "--method": "soft",
        "--samples-each": None,
        "--private-auxiliary": "",
        "--radius": "200",
        "--lambda": "0.1",
        "--parties": "3",
    }
    out = run.create("secret.poll", **more)
    assert "A classifier file (ONNX or skops)" in " ".join(out.split())
    box = folder / "box-secret"
    box.mkdir(exist_ok=True)
    for j in range(3):
        own = pd.read_csv(folder / f"h{j}.csv")
        skops.io.dump(
            LogisticRegression(max_iter=1000).fit(own[COLUMNS].to_numpy(), own.outcome),
            folder / "m.skops",
        )
        told = run.done(
            "contribute",
            "secret.poll",
            "--model",
            "m.skops",
            "--party",
            f"ward {j}",
            "--out",
            f"box-secret/{j}.c",
            "--force",
        )
        assert "the classifier m.skops" in told
    code, _, err = run("release", "secret.poll", "box-secret", "--out", "secret.ostraka")
    assert code == 18
    assert "--auxiliary" in err
    told = run.done(
        "release",
        "secret.poll",
        "box-secret",
        "--auxiliary",
        "public.csv",
        "--out",
        "secret.ostraka",
        "--force",
    )
    assert "one party's whole data set and one auxiliary sample" in told


def test_a_model_of_ones_own_votes(run: Runner, folder: Path) -> None:
    import skops.io
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    run.create("votes.poll", **{"--method": "consensus", "--samples-each": None})
    own = pd.read_csv(folder / "h0.csv")
    skops.io.dump(GaussianNB().fit(own[COLUMNS].to_numpy(), own.outcome), folder / "m.skops")
    out = run.done(
        "contribute", "votes.poll", "--model", "m.skops", "--party", "a", "--out", "m.c", "--force"
    )
    assert "200 votes" in out
    skops.io.dump(
        DecisionTreeClassifier().fit(own[COLUMNS].to_numpy(), own.outcome), folder / "t.skops"
    )
    code, _, err = run(
        "contribute", "votes.poll", "--model", "t.skops", "--party", "a", "--out", "t.c", "--force"
    )
    assert code == 20
    assert "sklearn.tree._tree.Tree" in err
    run.done(
        "contribute",
        "votes.poll",
        "--model",
        "t.skops",
        "--trust",
        "sklearn.tree._tree.Tree",
        "--party",
        "a",
        "--out",
        "t.c",
        "--force",
    )
    for local in ("forest", "bayes", "tree"):
        run.contribute("votes.poll", 1, "l.c", "--local", local)


@pytest.mark.parametrize(
    ("words", "code", "complaint"),
    [
        (("poll", "show", "nothing.poll"), 30, "nothing.poll"),
        (("poll", "show", "public.csv"), 20, "not a valid poll"),
        (
            (
                "poll",
                "create",
                "public.csv",
                "--classes",
                "ill",
                "--parties",
                "9",
                "--epsilon",
                "1",
                "--out",
                "x.poll",
            ),
            18,
            "classes",
        ),
        (
            (
                "poll",
                "create",
                "public.csv",
                "--classes",
                "a,b",
                "--parties",
                "1",
                "--epsilon",
                "1",
                "--out",
                "x.poll",
            ),
            16,
            "at least 2",
        ),
        (
            (
                "poll",
                "create",
                "public.csv",
                "--classes",
                "a,b",
                "--parties",
                "9",
                "--epsilon",
                "0",
                "--out",
                "x.poll",
            ),
            18,
            "epsilon",
        ),
        (
            (
                "poll",
                "create",
                "public.csv",
                "--classes",
                "a,b",
                "--epsilon",
                "1",
                "--out",
                "x.poll",
            ),
            18,
            "how many parties",
        ),
        (
            (
                "poll",
                "create",
                "public.csv",
                "--classes",
                "a,b",
                "--parties",
                "9",
                "--epsilon",
                "1",
                "--lambda",
                "1",
                "--out",
                "x.poll",
            ),
            18,
            "not for method 'auto'",
        ),
        (("contribute", "e.poll", "h0.csv", "--label-column", "outcome"), 18, "--party"),
        (("contribute", "e.poll", "--party", "a", "--out", "a.c"), 18, "your labelled samples"),
        (
            (
                "contribute",
                "e.poll",
                "h0.csv",
                "--label-column",
                "patient",
                "--party",
                "a",
                "--out",
                "a.c",
            ),
            14,
            "'0'",
        ),
        (
            (
                "contribute",
                "e.poll",
                "public.csv",
                "--label-column",
                "outcome",
                "--party",
                "a",
                "--out",
                "a.c",
            ),
            19,
            "no column 'outcome'",
        ),
        (
            (
                "contribute",
                "e.poll",
                ".",
                "--label-column",
                "outcome",
                "--party",
                "a",
                "--out",
                "a.c",
            ),
            18,
            "one file",
        ),
        (
            (
                "contribute",
                "e.poll",
                "h0.csv",
                "--label-column",
                "outcome",
                "--party",
                " ",
                "--out",
                "a.c",
            ),
            18,
            "not empty",
        ),
        (
            (
                "contribute",
                "e.poll",
                "h0.csv",
                "--label-column",
                "outcome",
                "--party",
                "a",
                "--local",
                "forest",
                "--out",
                "a.c",
            ),
            18,
            "local",
        ),
        (
            (
                "contribute",
                "e.poll",
                "h0.csv",
                "--label-column",
                "outcome",
                "--party",
                "a",
                "--out",
                "e.poll",
            ),
            32,
            "there already",
        ),
        (
            ("contribute", "e.poll", "h0.csv", "--model", "m.onnx", "--party", "a", "--out", "a.c"),
            18,
            "together with rows",
        ),
        (("release", "e.poll", "nothing/", "--out", "x.ostraka"), 30, "nothing"),
        (("release", "e.poll", "."), 18, "--out"),
        (("release", "e.poll", "box-none", "--out", "x.ostraka"), 16, "0 parties have contributed"),
        (
            ("release", "e.poll", "box-none", "--auxiliary", "public.csv", "--out", "x.ostraka"),
            18,
            "--auxiliary",
        ),
    ],
)
def test_what_is_refused(run: Runner, words: tuple[str, ...], code: int, complaint: str) -> None:
    if not (run.folder / "e.poll").exists():
        run.create("e.poll", **{"--method": "cells"})
    (run.folder / "box-none").mkdir(exist_ok=True)
    before = {path.name for path in run.folder.iterdir()}
    left, _, err = run(*words)
    assert complaint in err
    assert left == code, err
    assert {path.name for path in run.folder.iterdir()} == before


def test_a_release_that_cannot_be_written_is_not_lost(
    run: Runner, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.create("lost.poll", **{"--method": "cells"})
    box = inbox(run, "lost.poll", "box-lost", n=3)
    save = Release.save

    def full(release: Release, path: Any, **how: bool) -> None:
        if Path(path).name == "lost.ostraka" and Path(path).parent in (Path(), folder):
            raise OSError(28, "No space left on device", str(path))
        save(release, path, **how)

    monkeypatch.setattr(Release, "save", full)
    code, _, err = run("release", "lost.poll", str(box), "--out", "lost.ostraka")
    assert code == 41
    assert "Nothing was lost" in err
    kept = Path(err.split("is kept in ")[1].split(": move it")[0])
    assert Release.load(kept).certificate.parties == 3
