"""The paper's figures: one call per task, from data to files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from ostraka.datasets.dataset import Dataset
from ostraka.errors import ParameterError
from ostraka.experiments.engine import Backend, run_trials
from ostraka.experiments.paper import Comparison, as_markdown, compare
from ostraka.experiments.results import Row, rows_of, write_rows, write_run
from ostraka.experiments.settings import Settings
from ostraka.experiments.tasks import TASKS, check_fits, n_natural, score_guessing
from ostraka.figures.reproduction import draw_reproduction
from ostraka.files import write_atomically

__all__ = ["Reproduced", "draw", "panels_of", "reproduce"]


@final
@dataclass(frozen=True, slots=True)
class Reproduced:
    """What a run found."""

    rows: list[Row]
    comparisons: list[Comparison]


def panels_of(settings: Settings, data: Dataset, parties: int | None) -> tuple[int, ...]:
    """The numbers of parties to run: one that was asked for, or the paper's."""
    task = TASKS[settings.task]
    if settings.natural_parties:
        if parties is not None:
            raise ParameterError(
                "parties",
                got=parties,
                allowed="none with natural parties: the data says how many there are",
            )
        return (n_natural(data),)
    panels = task.panels if parties is None else (parties,)
    for n_parties in panels:
        check_fits(data, task, n_parties)
    return panels


def reproduce(
    data: Dataset,
    settings: Settings,
    panels: Sequence[int],
    out: Path,
    *,
    n_jobs: int = -1,
    backend: Backend = "loky",
    scheduler: str | None = None,
    watch: Callable[[Iterable[Any], int], Iterable[Any]] | None = None,
) -> Reproduced:
    """Run what is missing, then write the results into `out`.

    These are results.json, results.csv, run.json, figure.png, figure.svg and paper.md.
    """
    trials = run_trials(
        data,
        settings,
        panels,
        out / "trials",
        n_jobs=n_jobs,
        backend=backend,
        scheduler=scheduler,
        watch=watch,
    )
    rows = rows_of(settings.task, trials)
    write_rows(rows, out)
    write_run(settings, panels, out)
    draw(data, rows, out)
    comparisons = compare(rows) if _as_in_the_paper(settings) else []
    if comparisons:
        write_atomically(out / "paper.md", as_markdown(comparisons).encode())
    else:
        (out / "paper.md").unlink(missing_ok=True)  # of an earlier run with other settings
    return Reproduced(rows, comparisons)


def draw(data: Dataset, rows: Sequence[Row], out: Path) -> None:
    """`figure.png` and `figure.svg`, from rows that were measured now or earlier."""
    paths = [out / "figure.png", out / "figure.svg"]
    draw_reproduction(rows, TASKS[rows[0].task].title, paths, score_guessing(data))


def _as_in_the_paper(settings: Settings) -> bool:
    """Whether the paper measured this: the same parties, classifiers, features and λ."""
    usual = Settings(task=settings.task)
    return all(
        getattr(settings, name) == getattr(usual, name)
        for name in ("natural_parties", "local", "lambda_", "centre")
    )
