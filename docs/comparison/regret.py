"""How much better another of our methods would have been than the one that `auto` took, for every
task and ε, from the results of make compare.

    regret     the mean accuracy of the best of `moments`, `cells` and `commonest`, less that of
               `auto`; not below 0. All were measured with noise of their own, so that differences
               below 0.005 may be chance.
    told off   how far a model of `auto` was from its own estimate of its accuracy, on average over
               those that have one: of a model of noise nothing is said

Usage: python docs/comparison/regret.py docs/comparison > docs/comparison/regret.md
"""

from __future__ import annotations

import csv
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

OTHERS = ("moments", "cells", "commonest")
SMALLEST_EPSILON = 0.1
PROMISES = {"pure": "ε", "delta": "(ε, δ)"}
Rows = dict[tuple[str, str, float], dict[str, str]]


def main(folder: Path) -> None:
    """Print two tables."""
    found = {path.parent.name: read(path) for path in sorted(folder.glob("*/results.csv"))}
    tasks = {task: rows for task, rows in found.items() if any(key[0] == OTHERS[2] for key in rows)}
    regrets = {task: regrets_of(rows) for task, rows in tasks.items()}
    told = {task: told_off(rows) for task, rows in tasks.items()}
    print(tabulate(regrets, "regret"))
    print()
    print(tabulate(told, "told off"))


def read(path: Path) -> Rows:
    """By method, promise and ε."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if float(row["inv_epsilon"])]
    return {
        (row["method"], row["calibration"], round(1.0 / float(row["inv_epsilon"]), 3)): row
        for row in rows
        if 1.0 / float(row["inv_epsilon"]) >= 0.99 * SMALLEST_EPSILON
    }


def regrets_of(rows: Rows) -> dict[tuple[str, float], float]:
    """By promise and ε; what makes no use of a δ stands beside what does."""
    found = {}
    for name, promise, epsilon in rows:
        if name != "auto":
            continue
        others = [
            rows[other, kind, epsilon]
            for other in OTHERS
            for kind in {promise, "pure" if other != "moments" else promise}
            if (other, kind, epsilon) in rows
        ]
        best = max(float(row["mean"]) for row in others)
        found[promise, epsilon] = max(0.0, best - float(rows["auto", promise, epsilon]["mean"]))
    return found


def told_off(rows: Rows) -> dict[tuple[str, float], float]:
    """By promise and ε."""
    return {
        (promise, epsilon): float(row["told_off"]) if row["told_off"] else math.nan
        for (name, promise, epsilon), row in rows.items()
        if name == "auto"
    }


def tabulate(found: dict[str, dict[tuple[str, float], float]], title: str) -> str:
    """A line for each task and promise, and the mean and the largest of all."""
    columns: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(dict)
    for task, values in found.items():
        for (promise, epsilon), value in sorted(values.items(), key=lambda each: -each[0][1]):
            columns[task].setdefault(promise, []).append((epsilon, value))
    lines = [f"| {title} | | at ε = 10, 3, 1, 0.3, 0.1 | | | | |", "|---|---|---|---|---|---|---|"]
    lines += [
        f"| {task} | {PROMISES[promise]} | {_cells([value for _, value in values])} |"
        for task, by_promise in columns.items()
        for promise, values in by_promise.items()
    ]
    every = [v for values in found.values() for v in values.values() if not math.isnan(v)]
    return "\n".join([*lines, "", f"Mean {mean(every):.3f}, largest {max(every):.3f}."])


def _cells(values: Sequence[float]) -> str:
    return " | ".join("" if math.isnan(value) else f"{value:.3f}" for value in values)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
