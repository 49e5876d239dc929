"""`python -m fuzz`: hostile bytes on each reader in turn.

    --minutes 10      on each reader
    --target NAME     on this one alone
    --seed 1          other inputs
    --input FILE      this one again, with --target

What was found stands in fuzz/found, the shortest input of each kind, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from fuzz.hunt import FOUND
from fuzz.judge import Complaint, bounded, judge
from fuzz.targets import TARGETS


@dataclass
class Tally:
    """What came of one reader."""

    name: str
    runs: int = 0
    found: list[tuple[Complaint, str]] = field(default_factory=list)


def main() -> int:
    """Hunt, or judge one input again; 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="on each reader")
    parser.add_argument("--target", choices=list(TARGETS), help="this reader alone")
    parser.add_argument("--seed", type=int, default=1, help="other inputs")
    parser.add_argument("--input", type=Path, help="one input, with --target")
    asked = parser.parse_args()
    console = Console()
    if asked.input is not None:
        if asked.target is None:
            parser.error("--input needs --target")
        return _again(console, asked.target, asked.input)
    if find_spec("atheris") is None:
        console.print("Without atheris nothing guides the inputs: pip install 'ostraka[fuzz]'")
    names = [asked.target] if asked.target else list(TARGETS)
    return _report(console, _hunt_all(console, names, 60.0 * asked.minutes, asked.seed))


def _again(console: Console, name: str, path: Path) -> int:
    with bounded():
        found = judge(TARGETS[name], path.read_bytes())
    console.print(
        "Nothing is wrong." if found is None else f"{found.kind}\n{found.told}", markup=False
    )
    return found is not None


def _hunt_all(console: Console, names: list[str], seconds: float, seed: int) -> list[Tally]:
    columns = (
        TextColumn("{task.description:>14}"),
        BarColumn(),
        TextColumn("{task.fields[runs]:>10,} inputs, {task.fields[found]} found"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        return [_hunt(progress, name, seconds, seed) for name in names]


def _hunt(progress: Progress, name: str, seconds: float, seed: int) -> Tally:
    """One process for one reader: whatever it does to itself, the next one goes on."""
    tally, bar = Tally(name), progress.add_task(name, total=seconds, runs=0, found=0)
    command = [sys.executable, "-m", "fuzz.hunt", name, str(seconds), str(seed)]
    plain = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
    with tempfile.TemporaryFile("w+") as words:
        with subprocess.Popen(
            command, env=plain, stdout=subprocess.PIPE, stderr=words, text=True
        ) as process:
            start = time.monotonic()
            for line in process.stdout or ():
                if not line.startswith("{"):  # libFuzzer has words of its own
                    continue
                told = json.loads(line)
                tally.runs = told["runs"]
                if "kind" in told:
                    tally.found.append((Complaint(told["kind"], told["told"]), told["path"]))
                done = min(seconds, time.monotonic() - start)
                progress.update(bar, completed=done, runs=tally.runs, found=len(tally.found))
        if process.returncode:
            words.seek(0)
            died = Complaint(f"the process died ({process.returncode})", words.read()[-4000:])
            tally.found.append((died, str(FOUND / "killed-...")))
    progress.update(bar, completed=seconds)
    return tally


def _report(console: Console, tallies: list[Tally]) -> int:
    table = Table("reader", "inputs", "found")
    for each in tallies:
        table.add_row(each.name, f"{each.runs:,}", str(len(each.found)))
    console.print(table)
    for each in tallies:
        for complaint, path in each.found:
            console.print(f"\n{each.name}: {complaint.kind}", style="bold", markup=False)
            console.print(complaint.told, markup=False, highlight=False)
            command = f"python -m fuzz --target {each.name} --input {os.path.relpath(path)}"
            console.print(command, markup=False, highlight=False, soft_wrap=True)
    return any(each.found for each in tallies)


if __name__ == "__main__":
    sys.exit(main())
