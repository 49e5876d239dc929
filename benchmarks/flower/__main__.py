"""`python -m benchmarks.flower`: a poll over Flower, many parties to a node, on this machine.

Prints a table, and writes flower.json and flower.md to benchmarks/results. If a sum is not the one
of one process to the last bit, it says so, writes nothing and ends with 1.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from benchmarks.flower.measure import Measured, measure
from benchmarks.tables import RESULTS, draw_table, write_results

TITLE: Final = "A poll over Flower, many parties to a node"
PACKAGES: Final = ("flwr", "ray", "numpy")


def main() -> None:
    """Measure, check, print, write."""
    options = _read_options()
    rows = []
    for n_parties in options.parties:
        with tempfile.TemporaryDirectory() as folder:
            measured = measure(Path(folder), options.nodes, n_parties // options.nodes)
        if not measured.same:
            sys.exit(f"With {measured.n_parties:,} parties the sum is another one.")
        rows.append(_row(measured))
    Console().print(draw_table(TITLE, rows))
    facts = {
        "processors": os.cpu_count(),
        "versions": {"python": platform.python_version(), **{p: version(p) for p in PACKAGES}},
    }
    write_results(options.out, "flower", {TITLE: rows}, **facts)


def _read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks.flower", description=__doc__)
    add = parser.add_argument
    add("--parties", type=int, nargs="+", default=[2_000, 20_000], help="how many in all")
    add("--nodes", type=int, default=40, help="how many nodes stand for them")
    add("--out", type=Path, default=RESULTS, help="folder for flower.json and flower.md")
    return parser.parse_args()


def _row(measured: Measured) -> dict[str, Any]:
    return {
        "nodes": measured.n_nodes,
        "parties": measured.n_parties,
        "contribution_bytes": measured.contribution_bytes,
        "poll_bytes": measured.poll_bytes,
        "over_flower_seconds": measured.over_flower,
        "in_process_seconds": measured.in_process,
        "sum": "the same to the last bit",
    }


if __name__ == "__main__":
    main()
