"""`ostraka reproduce`: the paper's figures."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.help import DATA, METHOD, OUTPUT, PROMISE, examples, option
from ostraka.cli.options import DATA_DIR, INV_EPSILON, REDRAW, SEED
from ostraka.cli.words import numbers, words

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ostraka.experiments.reproduce import Reproduced
    from ostraka.experiments.results import Row
    from ostraka.experiments.settings import Settings
    from ostraka.methods.base import Calibration

EXAMPLES = examples(
    "ostraka reproduce digits",
    "ostraka reproduce har --data-dir data",
    "ostraka reproduce kdd99 --parties 20000 --hypothesis exp-radius",
)


class TaskName(StrEnum):
    """What can be reproduced."""

    har = "har"
    kdd99 = "kdd99"
    url = "url"
    urls = "urls"
    digits = "digits"


class CalibrationName(StrEnum):
    """Whose sensitivities."""

    paper = "paper"
    tight = "tight"
    both = "both"


class HypothesisName(StrEnum):
    """What else to draw."""

    exp_radius = "exp-radius"


class BackendName(StrEnum):
    """Where trials run."""

    loky = "loky"
    dask = "dask"
    ray = "ray"


def reproduce(
    task: Annotated[
        TaskName,
        typer.Argument(
            help="The task. digits needs no data; url needs the full data set of Ma et al.; urls "
            "is our stand-in for it."
        ),
    ],
    *,
    parties: Annotated[
        str,
        option(
            DATA,
            "How many parties, or 'all' for each of the paper's numbers, in a panel of its own.",
            of="number",
        ),
    ] = "all",
    natural_parties: Annotated[
        bool,
        option(
            DATA,
            "Parties as they are in the data: people (har), collections (urls).",
            "--natural-parties",
        ),
    ] = False,
    centre: Annotated[
        bool,
        option(
            DATA,
            "Subtract the mean before taking principal components. Only without it do the numbers "
            "match the paper's.",
            "--centre",
        ),
    ] = False,
    data_dir: Annotated[Path | None, DATA_DIR] = None,
    inv_epsilon: Annotated[
        str | None,
        option(PROMISE, f"{INV_EPSILON} 0 (no noise) is always among them.", of="numbers"),
    ] = None,
    methods: Annotated[
        str, option(METHOD, "Which methods, separated by commas.", of="names")
    ] = "batch,soft,avg,vote,indiv",
    calibration: Annotated[
        CalibrationName,
        option(
            METHOD,
            "Which sensitivities: those of the paper, our tight ones, or both.",
            of="rule",
        ),
    ] = CalibrationName.both,
    lambda_: Annotated[
        float,
        option(
            METHOD,
            "The regulariser, for parties and coordinator alike.",
            "--lambda",
            of="number",
        ),
    ] = 1e-4,
    local: Annotated[
        str,
        option(
            METHOD,
            "The parties' classifier: linear (the paper's), mixed, tree, forest, ... as for learn.",
            of="classifier",
        ),
    ] = "linear",
    hypothesis: Annotated[
        HypothesisName | None,
        option(
            METHOD,
            "exp-radius also draws noise without the factor D: NOT private, but it looks like the "
            "paper's figures.",
            of="name",
        ),
    ] = None,
    trials: Annotated[int, option(METHOD, "Random splits of the data.", of="number")] = 10,
    private_trials: Annotated[
        int, option(METHOD, "Draws of noise in all, spread over the splits.", of="number")
    ] = 100,
    seed: Annotated[int, SEED] = 0,
    out: Annotated[
        Path | None,
        option(
            OUTPUT,
            "A folder for results and figure; by default, reproduction/TASK.",
            of="folder",
        ),
    ] = None,
    redraw: Annotated[bool, REDRAW] = False,
    jobs: Annotated[
        int, option(OUTPUT, "Trials at a time; -1 for one per core.", of="number")
    ] = -1,
    backend: Annotated[
        BackendName,
        option(
            OUTPUT,
            "Where trials run: loky (this machine), or a dask or ray cluster.",
            of="name",
        ),
    ] = BackendName.loky,
    scheduler: Annotated[
        str | None, option(OUTPUT, "The address of the cluster's scheduler.", of="address")
    ] = None,
) -> None:
    """Reproduce a figure of the paper: test accuracy against 1/ε for every method.

    Writes results.json, results.csv, run.json, figure.png, figure.svg and, where the paper reports
    numbers, paper.md. If a run was interrupted, give the same command again, and it goes on where
    it stopped.
    """
    from rich.console import Console

    from ostraka.datasets import load
    from ostraka.experiments.engine import n_finished
    from ostraka.experiments.reproduce import draw, panels_of
    from ostraka.experiments.reproduce import reproduce as run
    from ostraka.experiments.results import read_rows
    from ostraka.experiments.settings import INVERSE_EPSILONS, Settings
    from ostraka.progress import watch

    settings = Settings(
        task=task.value,
        methods=tuple(words(methods)),
        calibrations=_calibrations(calibration),
        inverse_epsilons=INVERSE_EPSILONS
        if inv_epsilon is None
        else tuple(numbers("inv-epsilon", inv_epsilon)),
        trials=trials,
        private_trials=private_trials,
        lambda_=lambda_,
        seed=seed,
        local=local,
        natural_parties=natural_parties,
        centre=centre,
        hypothesis=hypothesis is not None,
    )
    asked = _read_parties(parties)
    folder = out or Path("reproduction") / task.value
    console = Console()
    data = load(task.value, data_dir, progress=console.is_terminal)
    if redraw:
        draw(data, read_rows(folder, task.value), folder)
        console.print(f"Wrote figure.png and figure.svg to [bold]{folder}[/].")
        return
    folder.mkdir(parents=True, exist_ok=True)
    panels = panels_of(settings, data, asked)
    kept, total = n_finished(data, settings, panels, folder / "trials"), len(panels) * trials
    if kept:
        console.print(f"{kept} of {total} splits are in {folder} already; going on with the rest.")
    shown = watch(f"{task.value}: {total - kept} splits", console.is_terminal)
    found = run(
        data,
        settings,
        panels,
        folder,
        n_jobs=jobs,
        backend=backend.value,
        scheduler=scheduler,
        watch=shown,
    )
    _report(console, found, settings, folder)


def _calibrations(name: CalibrationName) -> tuple[Calibration, ...]:
    if name is CalibrationName.both:
        return ("paper", "tight")
    return ("paper",) if name is CalibrationName.paper else ("tight",)


def _read_parties(text: str) -> int | None:
    from ostraka.errors import ParameterError

    if text == "all":
        return None
    try:
        return int(text)
    except ValueError:
        raise ParameterError("parties", got=text, allowed="a whole number, or all") from None


def _report(console: Console, found: Reproduced, settings: Settings, folder: Path) -> None:
    for parties in sorted({row.parties for row in found.rows}):
        here = [row for row in found.rows if row.parties == parties]
        console.print(f"Test accuracy with {parties} parties. {_references(here)}")
        if any(row.calibration != "none" for row in here):
            console.print(_table(here, settings))
    if found.comparisons:
        console.print(_against_the_paper(found))
        for number, remark in enumerate(_remarks(found), start=1):
            console.print(f"\\[{number}] {remark}.")
    written = "results.json, results.csv, run.json, figure.png, figure.svg" + (
        ", paper.md" if found.comparisons else ""
    )
    console.print(
        f"\nWrote {written} to [bold]{folder}[/]. The same command again runs only what is "
        "missing there."
    )


def _table(rows: list[Row], settings: Settings) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from ostraka.experiments.settings import HYPOTHESIS

    table = Table(box=SIMPLE_HEAD, padding=0)
    table.add_column("1/ε", justify="right")
    curves = list(
        dict.fromkeys((row.method, row.calibration) for row in rows if row.calibration != "none")
    )
    means = {(row.method, row.calibration, row.inv_epsilon): row.mean for row in rows}
    for method, calibration in curves:
        table.add_column(
            f"{method}\n{'not DP' if calibration == HYPOTHESIS else calibration}", justify="right"
        )
    for inverse in settings.inverse_epsilons:
        cells = (means.get((*curve, inverse)) for curve in curves)
        table.add_row(f"{inverse:g}", *("" if mean is None else f"{mean:.3f}" for mean in cells))
    return table


def _references(rows: list[Row]) -> str:
    known = [f"{row.method} {row.mean:.3f}" for row in rows if row.calibration == "none"]
    return "Means; deviations are in results.csv." + (
        f" Not private: {', '.join(known)}." if known else ""
    )


def _against_the_paper(found: Reproduced) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title="Against the paper", title_justify="left", box=SIMPLE_HEAD)
    table.add_column("")
    for name in ("parties", "paper", "ours", "difference", ""):
        table.add_column(name, justify="right")
    remarks = _remarks(found)
    for each in found.comparisons:
        note = each.verdict if each.agrees else f"\\[{remarks.index(each.remark) + 1}]"
        table.add_row(
            each.what,
            str(each.parties),
            f"{each.paper:.3g}",
            f"{each.ours:.3g}",
            f"{each.difference:+.2g}",
            note,
        )
    return table


def _remarks(found: Reproduced) -> list[str]:
    return list(dict.fromkeys(each.remark for each in found.comparisons if not each.agrees))
