"""The command line as people run it, in this process: importing everything anew would take most of
the time. A warning is an error there, as in every test; `tests.cli.test_cli.run` starts a process.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
from pathlib import Path
from unittest import mock

from ostraka.cli.app import main

__all__ = ["run_command"]


def run_command(folder: Path, *words: str, columns: int = 100) -> subprocess.CompletedProcess[str]:
    """Run `ostraka` with these words in a folder, on a screen of so many columns."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch("sys.argv", ["ostraka", *words]),
        mock.patch.dict("os.environ", {"COLUMNS": str(columns)}),
    ):
        try:
            main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else int(left.code is not None)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())
