"""The results of a run as rows, and the files that hold them."""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, final

import numpy as np

from ostraka.experiments.engine import Trial
from ostraka.experiments.settings import Settings, versions
from ostraka.files import write_atomically

__all__ = ["Row", "read_rows", "rows_of", "value_at", "write_rows", "write_run"]


@final
@dataclass(frozen=True, slots=True)
class Row:
    """Mean and standard deviation of one method at one ε."""

    task: str
    method: str
    calibration: str
    """ "paper" or "tight"; "none" for references; "exp-radius" for the non-private hypothesis."""
    parties: int
    inv_epsilon: float
    mean: float
    sd: float
    trials: int


def rows_of(task: str, trials: Iterable[Trial]) -> list[Row]:
    """Gather the accuracies of all trials, draw by draw."""
    gathered: dict[tuple[str, str, int, float], list[float]] = defaultdict(list)
    for trial in trials:
        for each in trial.measured:
            gathered[each.method, each.calibration, trial.n_parties, each.inverse_epsilon] += (
                each.accuracies
            )
    return [
        Row(
            task,
            method,
            calibration,
            parties,
            inverse,
            float(np.mean(values)),
            float(np.std(values)),
            len(values),
        )
        for (method, calibration, parties, inverse), values in gathered.items()
    ]


def value_at(
    rows: Iterable[Row], method: str, calibration: str, parties: int, inv_epsilon: float
) -> Row | None:
    """One row, if it was measured."""
    wanted = (method, calibration, parties, inv_epsilon)
    return next(
        (
            row
            for row in rows
            if (row.method, row.calibration, row.parties, row.inv_epsilon) == wanted
        ),
        None,
    )


def write_rows(rows: Sequence[Row], folder: Path) -> None:
    """`results.json` and `results.csv`, with the same content."""
    write_atomically(
        folder / "results.json",
        (json.dumps([asdict(row) for row in rows], indent=1) + "\n").encode(),
    )
    text = io.StringIO(newline="")
    table = csv.DictWriter(text, [field.name for field in fields(Row)], lineterminator="\n")
    table.writeheader()
    table.writerows(asdict(row) for row in rows)
    write_atomically(folder / "results.csv", text.getvalue().encode())


def read_rows(folder: Path, task: str) -> list[Row]:
    """What `write_rows` wrote for this task, from `results.csv`."""
    from ostraka.errors import FormatError

    path = folder / "results.csv"
    with path.open(newline="", encoding="utf-8") as file:
        try:
            rows = [_row(each) for each in csv.DictReader(file)]
        except (KeyError, TypeError, ValueError):
            raise FormatError("results", f"{path} has other columns or values") from None
    if {row.task for row in rows} != {task}:
        raise FormatError("results", f"{path} does not hold the results of {task}")
    return rows


def _row(cells: dict[str, str]) -> Row:
    kinds = {"str": str, "int": int, "float": float}
    return Row(*(kinds[str(field.type)](cells[field.name]) for field in fields(Row)))


def write_run(settings: Settings, panels: Sequence[int], folder: Path) -> None:
    """`run.json`: what is needed to get the same numbers again."""
    content: dict[str, Any] = {
        "settings": settings.to_dict(),
        "parties": list(panels),
        "seed": settings.seed,
        "versions": versions(),
    }
    write_atomically(folder / "run.json", (json.dumps(content, indent=1) + "\n").encode())
