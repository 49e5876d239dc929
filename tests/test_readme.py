"""The README's example is run as it stands."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")


def test_the_example_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    command = [sys.executable, "-W", "error", "-c", example]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "ε = 0.1 differential privacy" in done.stdout
    assert re.fullmatch(r"\[[01]( [01]){4}\]", done.stdout.splitlines()[-1])


def test_every_command_it_names_is_in_the_makefile() -> None:
    makefile = (Path(__file__).parent.parent / "Makefile").read_text("utf-8")
    for target in set(re.findall(r"(?:^|`)make ([a-z]+)", README, re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
