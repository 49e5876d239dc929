"""`ostraka policy`, and what `ostraka contribute` does with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.cli.exits import EXIT_CODES
from ostraka.errors import RulesError
from ostraka.experiments.ward_tables import make_patients
from tests.command import run_command


def run(folder: Path, words: str) -> tuple[int, str, str]:
    done = run_command(folder, *words.split())
    return done.returncode, " ".join(done.stdout.split()), " ".join(done.stderr.split())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: Any) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "settings"))
    rng = np.random.default_rng(0)
    make_patients(100, rng).drop(columns="outcome").to_csv(tmp_path / "public.csv", index=False)
    make_patients(30, rng).to_csv(tmp_path / "own.csv", index=False)
    for name, epsilon in (("small", 1), ("second", 1), ("large", 2)):
        asked = f"poll create public.csv --classes home,ward --parties 30 --epsilon {epsilon}"
        more = f"--least-parties 20 --method cells --title {name} --out {name}.poll"
        assert run(tmp_path, f"{asked} {more}")[0] == 0
    return tmp_path


def contribute(name: str, more: str = "") -> str:
    own = f"contribute {name}.poll own.csv --label-column outcome --party me"
    return f"{own} --out {name}.contribution {more}"


def test_without_rules_every_poll_is_answered(folder: Path) -> None:
    for words in ("policy show", "policy check large.poll"):
        code, said, _ = run(folder, words)
        assert code == 0
        assert "You have no rules" in said
    assert run(folder, contribute("large"))[0] == 0


def test_rules_are_heeded_before_anything_leaves(folder: Path) -> None:
    code, said, _ = run(
        folder, "policy set --epsilon-per-poll 1 --epsilon-per-year 1.5 --least-parties 20"
    )
    assert code == 0
    assert "Left of this year ε=1.5" in said.replace("ε = ", "ε=")
    (folder / "unreadable.csv").write_bytes(b"\xff\xfe")
    code, _, said = run(folder, contribute("large").replace("own.csv", "unreadable.csv"))
    assert code == EXIT_CODES[RulesError], "refused before the rows are read"
    assert "it asks ε = 2, and 1 is allowed" in said
    assert "Nothing was computed, and nothing leaves this machine." in said
    assert run(folder, "policy check large.poll")[0] == code
    assert run(folder, "policy check small.poll")[0] == 0
    assert run(folder, contribute("small", "--check"))[0] == 0
    assert run(folder, contribute("small"))[0] == 0
    code, said, _ = run(folder, "policy show")
    assert "Spent this year ε=1, for 1 poll" in said
    assert run(folder, contribute("small", "--force"))[0] == 0, "counted once"
    assert (
        "It was counted already, when you answered as 'me'."
        in run(folder, "policy check small.poll")[1]
    )
    code, _, said = run(folder, contribute("second"))
    assert code == EXIT_CODES[RulesError]
    assert "left of this year" in said
    assert not (folder / "second.contribution").exists()


def test_what_contribute_says_of_rules(folder: Path) -> None:
    assert "You have none (ostraka policy), so every poll" in run(folder, contribute("small"))[1]
    run(folder, "policy set --epsilon-per-year 3")
    said = run(folder, contribute("small", "--force"))[1]
    assert "They allow this poll. Left of this year: ε=2." in said
    code, _, said = run(
        folder, contribute("small", "--force").replace("--party me", "--party another")
    )
    assert code == EXIT_CODES[RulesError]
    assert "you have answered it as 'me'" in said


def test_rules_are_not_written_over(folder: Path) -> None:
    run(folder, "policy set --epsilon-per-year 3")
    site = folder / "settings" / "ostraka"
    rules = (site / "rules.json").read_bytes()
    words = contribute("small", "--force").replace("small.contribution", str(site / "rules.json"))
    code, _, said = run(folder, words)
    assert code == 18
    assert "not the poll, the data, the model or your rules" in said
    assert (site / "rules.json").read_bytes() == rules
    assert run(folder, "policy set --epsilon-per-year 1 --delta-per-year 1")[0] == 18
    assert (site / "rules.json").read_bytes() == rules


def test_rules_elsewhere_and_damaged(folder: Path) -> None:
    run(folder, "policy set --epsilon-per-poll 0.5 --site other")
    assert run(folder, contribute("small", "--site other"))[0] == EXIT_CODES[RulesError]
    code, _, said = run(folder, contribute("small", "--site typo"))
    assert code == 19
    assert "There are no rules in typo." in said
    (folder / "other" / "rules.json").write_text("{}")
    code, _, said = run(folder, contribute("small", "--site other"))
    assert code == 20
    assert "set of rules" in said
    code, _, said = run(folder, "policy set --methods magic")
    assert code == 18
    assert "--methods = 'magic'" in said


def test_a_limit_that_is_set_later_holds_for_what_was_spent(folder: Path) -> None:
    said = run(folder, "policy set --epsilon-per-poll 2")[1]
    assert "any; what is answered is counted all the same" in said
    assert "Mind:" not in said
    assert "They allow this poll. Spent this year: ε=1." in run(folder, contribute("small"))[1]
    said = run(folder, "policy set --epsilon-per-year 1.5")[1]
    assert "Spent this year ε=1, for 1 poll" in said
    assert "What you answered before that is not in the account of this year." in said
    assert "Mind:" not in run(folder, "policy set --epsilon-per-year 1.6")[1], "once"
    assert run(folder, contribute("second"))[0] == EXIT_CODES[RulesError]


def test_damaged_rules_can_be_set_anew(folder: Path) -> None:
    run(folder, "policy set --epsilon-per-year 3")
    (folder / "settings" / "ostraka" / "rules.json").write_text("{}")
    assert run(folder, "policy set --epsilon-per-year 2")[0] == 0
    assert "Left of this year ε=2" in run(folder, "policy show")[1]
