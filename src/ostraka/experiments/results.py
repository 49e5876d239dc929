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
from ostraka.experiments.trial import Measured
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
    balanced: float | None = None
    area: float | None = None
    told_off: float | None = None
    """How far from its accuracy a model's own estimate of it is, on average."""
    doubtful: float | None = None
    """How far probabilities are from how often they are right: the expected calibration error."""


def rows_of(task: str, trials: Iterable[Trial]) -> list[Row]:
    """Gather the accuracies of all trials, draw by draw."""
    gathered: dict[tuple[str, str, int, float], list[Measured]] = defaultdict(list)
    for trial in trials:
        for each in trial.measured:
            key = (each.method, each.calibration, trial.n_parties, each.inverse_epsilon)
            gathered[key].append(each)
    return [_gather(task, key, found) for key, found in gathered.items()]


def _gather(task: str, key: tuple[str, str, int, float], found: Sequence[Measured]) -> Row:
    accuracies = [value for each in found for value in each.accuracies]
    pairs = [pair for each in found for pair in zip(each.told, each.accuracies)]
    told = [abs(said - was) for said, was in pairs if said is not None]
    return Row(
        task,
        *key,
        float(np.mean(accuracies)),
        float(np.std(accuracies)),
        len(accuracies),
        _mean([value for each in found for value in each.balanced]),
        _mean([value for each in found for value in each.areas]),
        _mean(told),
        _mean([value for each in found for value in each.doubtful]),
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


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
    kinds: dict[str, Any] = {"str": str, "int": int, "float": float, "float | None": _number}
    return Row(*(kinds[str(field.type)](cells.get(field.name, "")) for field in fields(Row)))


def _number(cell: str) -> float | None:
    """Earlier runs did not measure everything."""
    return float(cell) if cell else None


def write_run(settings: Settings, panels: Sequence[int], folder: Path) -> None:
    """`run.json`: what is needed to get the same numbers again."""
    content: dict[str, Any] = {
        "settings": settings.to_dict(),
        "parties": list(panels),
        "seed": settings.seed,
        "versions": versions(),
    }
    write_atomically(folder / "run.json", (json.dumps(content, indent=1) + "\n").encode())
