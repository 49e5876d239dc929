"""Questions and answers on a terminal: whatever stands in them is text."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ostraka.cli.screen import print_answers, print_mind
from ostraka.errors import ParameterError
from ostraka.public.columns import Columns


def test_markup_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_answers({"[bold]What?[/]": "[red]this[/] and [link=x]that"})
    print_mind("[blink]mind[/]")
    out = capsys.readouterr().out
    for part in ("[bold]What?[/]", "[red]this[/] and [link=x]that", "Mind: [blink]mind[/]"):
        assert part in out


def test_escape_codes_are_no_names() -> None:
    with pytest.raises(ParameterError, match="printable"):
        Columns.of_numbers(["age\x1b[31m"])


def test_names_in_brackets_go_the_whole_way(tmp_path: Path) -> None:
    """Columns and classes that look like markup are shown as they are, on every screen."""
    rng = np.random.default_rng(0)

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", "from ostraka.cli.app import main; main()", *words],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return " ".join(done.stdout.split())

    names = ["[bold]age[/]", "[red]"]
    public, private = (pd.DataFrame(rng.normal(size=(n, 2)), columns=names) for n in (60, 300))
    public.to_csv(tmp_path / "public.csv", index=False)
    label = np.where(private[names[0]] > 0, "[green]ill[/]", "[x]")
    private.assign(label=label, who=np.arange(300) // 3).to_csv(tmp_path / "p.csv", index=False)
    made = run(
        *("poll", "create", "public.csv", "--classes", "[green]ill[/],[x]", "--parties", "100"),
        *("--epsilon", "1", "--title", "[b]title", "--out", "t.poll"),
    )
    learn = ("learn", "p.csv", "--party-column", "who", "--label-column", "label")
    learnt = run(*learn, "--auxiliary", "public.csv", "--epsilon", "1", "--out", "m.ostraka")
    shown = run("inspect", "m.ostraka")
    for screen in (made, run("poll", "show", "t.poll"), learnt, shown):
        assert "A classifier for [green]ill[/], [x], from 2 columns" in screen
        assert "[bold]age[/]" in screen
        assert "[red]" in screen
    assert "[b]title" in made
    assert json.loads(run("poll", "show", "t.poll", "--json"))["column_names"] == names
