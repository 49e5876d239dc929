"""One table of how accurate models are on tables on which nobody has chosen anything
(`other_tables.py`), and how good the choice and the models' own estimates were there.

Usage: python docs/comparison/others.py FOLDER > docs/comparison/others.md
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import regret

SHOWN = (
    ("auto", "pure", "`auto`, ε"),
    ("auto", "delta", "`auto`, (ε, δ)"),
    ("dp-gd", "delta", "`dp-gd`, (ε, δ)"),
    ("commonest", "pure", "`commonest`, ε"),
)
"""Method, promise, and what to call it."""


def main(folder: Path) -> None:
    """Print three tables."""
    paths = sorted(folder.glob("*/results.csv"))
    print("| accuracy | | at ε = 10, 3, 1, 0.3, 0.1 | | | | | without privacy |")
    print("|---|---|---|---|---|---|---|---|")
    for path in paths:
        rows = regret.read(path)
        pooled = without_privacy(path)
        for method, promise, title in SHOWN:
            found = sorted(
                (key for key in rows if key[:2] == (method, promise)), key=lambda k: -k[2]
            )
            if not found:
                continue  # on large tables
            values = " | ".join(f"{float(rows[key]['mean']):.3f}" for key in found)
            print(f"| {path.parent.name} | {title} | {values} | {pooled:.3f} |")
    print()
    regret.main(folder)


def without_privacy(path: Path) -> float:
    """How good a linear model of all rows in one place is."""
    with path.open(newline="", encoding="utf-8") as file:
        (found,) = [row["mean"] for row in csv.DictReader(file) if row["method"] == "pooled"]
    return float(found)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
