"""The README's examples are run as they stand."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from ostraka import Release

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
FENCED = re.findall(r"^```(\w*)\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
BLOCKS = [block for language, block in FENCED if not language]


def test_the_example_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    command = [sys.executable, "-W", "error", "-c", example]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert float(lines[0]) > 0.85
    assert "ε = 0.5 differential privacy" in done.stdout
    assert re.fullmatch(r"\['(ill|well)'( '(ill|well)'){4}\]", lines[-1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a newcomer is after the first block: forty contributions, a release, predictions."""
    folder = tmp_path_factory.mktemp("readme")
    (block,) = [each for each in BLOCKS if "ostraka poll create" in each]
    lines = [line for line in block.splitlines() if not line.startswith("pip install")]
    run_shell("\n".join(lines), folder)
    return folder / "tables"


def run_shell(script: str, folder: Path) -> str:
    """Each line as a shell would run it; the first that fails ends it."""
    tools = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "-euc", script],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_first_screen_runs(folder: Path) -> None:
    """From made-up tables to predictions that are far better than guessing."""
    release = Release.load(folder / "stay.ostraka")
    assert (release.certificate.parties, release.certificate.epsilon) == (40, 2.0)
    truth = pd.read_csv(folder / "new.csv")["outcome"]
    predicted = pd.read_csv(folder / "predictions.csv")["prediction"]
    assert (truth == predicted).mean() > truth.value_counts(normalize=True).max() + 0.15


@pytest.mark.slow
def test_one_process_does_the_same(folder: Path) -> None:
    (block,) = [each for each in BLOCKS if "ostraka learn" in each]
    told = run_shell(block, folder)
    for question in ("What does ε mean?", "Is it any good?", "What did it cost?", "What next?"):
        assert question in told
    assert Release.load(folder / "model.ostraka").certificate.parties == 40


def test_every_command_it_names_is_in_the_makefile() -> None:
    makefile = (Path(__file__).parent.parent / "Makefile").read_text("utf-8")
    for target in set(re.findall(r"(?:^|`)make ([a-z]+)", README, re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
