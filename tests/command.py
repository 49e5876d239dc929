"""The command line in a process of its own, as people run it; a warning is an error there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["run_command"]


def run_command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run `ostraka` with these words in a folder."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", "from ostraka.cli.app import main; main()", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )
