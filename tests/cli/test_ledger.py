"""`ostraka ledger`: making, showing, listing; what it says when something is wrong."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ostraka.cli.app import build, main
from ostraka.cli.exits import code_of
from ostraka.errors import BudgetError, LedgerError
from ostraka.ledger import Budget, Cost, Ledger

DOCS = Path(__file__).parent.parent.parent / "docs" / "how-to"
OLD = Path(__file__).parent.parent / "ledger" / "files" / "version-1.ledger"
DIGEST = "0123456789abcdef" * 4


@pytest.fixture
def run(capsys: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")

    def called(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["ostraka", "ledger", *words])
        with pytest.raises(SystemExit) as left:
            main()
        captured = capsys.readouterr()
        return int(left.value.code or 0), captured.out, captured.err

    return called


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--epsilon", "5"], "every party may spend ε=5."),
        (["--epsilon", "5", "--delta", "1e-6"], "every party may spend ε=5, δ=1e-6."),
        (["--rho", "0.5"], "every party may spend ρ=0.5."),
        (
            ["--epsilon", "5", "--delta", "1e-6", "--concentrated"],
            "every party may spend ρ=0.463065, which implies ε=5, δ=1e-6.",
        ),
    ],
)
def test_init(run: Any, options: list[str], said: str) -> None:
    code, out, err = run("init", "l", *options)
    assert (code, err) == (0, "")
    assert said in out
    assert Ledger("l").audit() == 0
    code, _, err = run("init", "l", *options)
    assert (
        code,
        "'l' cannot be used: it is there already, and a ledger is never replaced" in err,
    ) == (32, True)


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--epsilon", "0"],
        ["--epsilon", "nan"],
        ["--delta", "0.1"],
        ["--epsilon", "1", "--rho", "1"],
        ["--rho", "1", "--concentrated"],
    ],
)
def test_init_refuses(run: Any, options: list[str]) -> None:
    code, out, err = run("init", "l", *options)
    assert (code, out) == (18, "")
    assert "Nothing was written." in err
    assert not Path("l").exists()


def test_show_and_history(run: Any) -> None:
    ledger = Ledger.create("l", Budget(epsilon=5.0))
    code, out, _ = run("show", "l")
    assert (code, "No party has been charged." in out) == (0, True)
    code, out, _ = run("history", "l")
    assert "Nothing has been charged." in out
    ledger.settle(ledger.charge([f"ward-{k}" for k in range(30)], Cost.pure(0.5), "poll 1"), DIGEST)
    ledger.charge(["ward-7", "[red]ward[/]"], Cost.pure(1.0), "poll [2]")

    code, out, _ = run("show", "l")
    assert code == 0
    rows = [line for line in out.splitlines() if "ward" in line]
    assert re.search(r"ward-7 .* ε=1.5 .* ε=3.5 .* 2 ", rows[0]), "least left first"
    assert "[red]ward[/]" in rows[1]
    assert "11 more parties have at least as much left; --all shows them." in out
    assert "Charge 2" in out
    assert "ε=1 for 2 parties (poll [2]): charged but no release recorded: counted as spent." in out
    code, out, _ = run("show", "l", "--all")
    assert len([line for line in out.splitlines() if "ward" in line]) == 31
    code, out, _ = run("show", "l", "--party", "ward-9")
    assert "ε=4.5" in out
    assert "ward-7" not in out

    code, out, _ = run("history", "l")
    assert "0123456789ab" in out
    assert "open" in out
    code, out, _ = run("history", "l", "--party", "ward-9")
    assert "poll 1" in out
    code, out, _ = run("audit", "l")
    assert "2 charges add up" in out


@pytest.mark.parametrize("way", ["ward 3", "WARD  3", " Ward 3 "])
def test_a_party_is_found_however_it_is_written(run: Any, way: str) -> None:
    Ledger.create("l", Budget(epsilon=5.0)).charge(["Ward 3", 7], Cost.pure(0.5), "poll 1")
    assert re.search(r"ward 3 .* ε=0.5 .* ε=4.5 .* 1 ", run("show", "l", "--party", way)[1])
    assert "poll 1" in run("history", "l", "--party", way)[1]
    assert "poll 1" in run("history", "l", "--party", "7.0")[1]


def test_a_party_that_was_never_charged_is_said_so(run: Any) -> None:
    ledger = Ledger.create("l", Budget(epsilon=5.0))
    ledger.charge(["ward-1"], Cost.pure(0.5))
    ledger.allow(["Guest"], Budget(epsilon=2.0))
    unknown = (
        "This ledger does not know party [red]ward[/]: it was never charged. "
        "A new party may spend ε=5; check the name.\n"
    )
    for command in ("show", "history"):
        assert run(command, "l", "--party", "[red]Ward[/]") == (0, unknown, "")
        out = run(command, "l", "--party", "GUEST")[1]
        assert out == "Party guest was never charged. It may spend ε=2.\n"
    assert json.loads(run("show", "l", "--party", "nobody", "--json")[1])["parties"] == []
    (guest,) = json.loads(run("show", "l", "--party", "guest", "--json")[1])["parties"]
    assert (guest["releases"], guest["budget"]["epsilon"]) == (0, 2.0)
    assert json.loads(run("history", "l", "--party", "nobody", "--json")[1])["charges"] == []
    code, _, err = run("show", "l", "--party", " ")
    assert (code, "a name that is not empty" in err) == (18, True)


def test_an_old_file_is_refused_in_words(run: Any) -> None:
    code, _, err = run("show", str(OLD))
    assert code == 20
    assert "it is of version 1, in which one party could have several names" in err


def test_json(run: Any) -> None:
    ledger = Ledger.create("l", Budget(epsilon=5.0, delta=1e-6))
    ledger.charge(["ä"], Cost.approximate(0.1, 1e-7), "poll")
    shown = json.loads(run("show", "l", "--json")[1])
    assert shown["budget"] == {
        "epsilon": 5.0,
        "delta": 1e-6,
        "exact": ledger.budget.to_text().split(),
    }
    (party,) = shown["parties"]
    assert (party["party"], party["releases"], party["spent"]["epsilon"]) == ("ä", 1, 0.1)
    assert party["left"]["exact"] == ledger.left("ä").to_text().split()
    (charge,) = json.loads(run("history", "l", "--json", "--party", "ä")[1])["charges"]
    assert charge["cost"] == {"epsilon": 0.1, "delta": 1e-7}
    assert charge["digest"] is charge["certificate"] is None
    assert shown["open_charges"] == [charge]


def test_errors_and_their_codes(run: Any) -> None:
    assert run("show", "none")[0] == 30
    Path("table.csv").write_text("a,b\n" * 200)
    code, _, err = run("show", "table.csv")
    assert (code, "not a valid ledger: it begins like a text" in err) == (20, True)
    Ledger.create("l", Budget(epsilon=5.0)).charge(["a"], Cost.pure(1.0))
    with closing(sqlite3.connect("l")) as db:
        db.execute("INSERT INTO party VALUES (9, 'x', '1/0', 0)")
        db.commit()
    assert run("audit", "l")[0] == 20
    assert code_of(BudgetError("a", asked="ε=1", left="ε=0", short=1.0, n_others=0)) == 40
    assert code_of(LedgerError("l", "is locked", "Wait.")) == 41


def commands() -> dict[str, Any]:
    return build().commands["ledger"].commands


@pytest.mark.parametrize("command", sorted(commands()))
def test_every_command_explains_itself_with_an_example(run: Any, command: str) -> None:
    code, out, _ = run(command, "--help")
    assert code == 0
    assert "Example" in out
    page = (DOCS / "command-line.md").read_text("utf-8")
    assert f"ostraka ledger {command}" in " ".join(page.split())


def test_the_group_explains_itself(run: Any) -> None:
    assert "Examples" in run("--help")[1]


def test_every_option_is_in_the_docs() -> None:
    page = (DOCS / "command-line.md").read_text("utf-8")
    for command in commands().values():
        for parameter in command.params:
            for option in parameter.opts:
                assert not option.startswith("--") or option == "--help" or f"`{option}`" in page, (
                    option
                )


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    page = (DOCS / "ledger.md").read_text("utf-8")
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, "ledger.md", "exec"), names)
    assert capsys.readouterr().out == "ε=1 ε=4\n"
    ledger = Ledger("parties.ledger")
    assert ledger.open_charges() == []
    rho = Budget.concentrated(5, 1e-6)
    assert f"(here {rho.rho:.3f})" in page
    times = int(rho.amount.values[0] / Cost.pure(0.1).amount(rho.kind).values[0])
    assert f"concentrated budget in {times}," in page
    assert not Cost.pure(1.0).amount(rho.kind).fits(rho.amount), "five against none"
