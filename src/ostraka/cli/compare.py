"""`ostraka compare`: our methods, the paper's, and what people would take instead."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.help import DATA, METHOD, OUTPUT, PROMISE, examples, option
from ostraka.cli.options import DATA_DIR, INV_EPSILON, REDRAW, SEED
from ostraka.cli.reproduce import TaskName
from ostraka.cli.words import numbers, words

if TYPE_CHECKING:
    from rich.table import Table

    from ostraka.experiments.compare import CompareSettings
    from ostraka.experiments.results import Row

EXAMPLES = examples(
    "ostraka compare digits", "ostraka compare har --methods auto,soft --data-dir data"
)


def compare(
    task: Annotated[TaskName, typer.Argument(help="The data set.")],
    *,
    parties: Annotated[
        int | None,
        option(
            DATA, "How many parties; by default, the smallest number in the paper.", of="number"
        ),
    ] = None,
    rare: Annotated[
        float,
        option(
            DATA,
            "Below 1, public samples are unlike private ones: they keep only this share of every "
            "second class.",
            of="share",
        ),
    ] = 1.0,
    data_dir: Annotated[Path | None, DATA_DIR] = None,
    inv_epsilon: Annotated[str | None, option(PROMISE, INV_EPSILON, of="numbers")] = None,
    delta: Annotated[
        float,
        option(PROMISE, "δ for the methods that need one; ours are also run without.", of="number"),
    ] = 1e-6,
    methods: Annotated[
        str, option(METHOD, "Which methods, separated by commas; all by default.", of="names")
    ] = "",
    shift: Annotated[
        bool,
        option(
            METHOD, "Tell our methods that public samples may be unlike private ones.", "--shift"
        ),
    ] = False,
    trials: Annotated[int, option(METHOD, "Random splits of the data.", of="number")] = 3,
    draws: Annotated[int, option(METHOD, "Draws of noise per split.", of="number")] = 10,
    seed: Annotated[int, SEED] = 0,
    out: Annotated[
        Path | None,
        option(
            OUTPUT, "A folder for results and figure; by default, comparison/TASK.", of="folder"
        ),
    ] = None,
    redraw: Annotated[bool, REDRAW] = False,
    jobs: Annotated[
        int, option(OUTPUT, "Splits at a time; -1 for one per core.", of="number")
    ] = -1,
) -> None:
    """Compare accuracy against ε: ours, the paper's, PATE, DP-FedAvg, DP-GD, local privacy, and all
    data in one place.

    All use the same splits and the same parties; ε is for one party's whole data. Writes
    results.json, results.csv, run.json, table.md, methods.md (what each method promises, whom it
    trusts, how it was tuned) and the figure. An interrupted run goes on where it stopped.
    """
    from rich.console import Console

    from ostraka.datasets import load
    from ostraka.experiments.compare import INVERSE_EPSILONS, CompareSettings, draw
    from ostraka.experiments.compare import compare as run
    from ostraka.experiments.results import read_rows
    from ostraka.experiments.tasks import TASKS, check_fits
    from ostraka.progress import watch

    settings = CompareSettings(
        task=task.value,
        methods=tuple(words(methods)),
        inverse_epsilons=INVERSE_EPSILONS
        if inv_epsilon is None
        else tuple(numbers("inv-epsilon", inv_epsilon)),
        delta=delta,
        trials=trials,
        draws=draws,
        rare=rare,
        shift=shift,
        seed=seed,
    )
    n_parties = TASKS[task.value].panels[0] if parties is None else parties
    folder = out or Path("comparison") / task.value
    console = Console()
    data = load(task.value, data_dir, progress=console.is_terminal)
    if redraw:
        draw(data, read_rows(folder, task.value), folder)
        console.print(f"Wrote figure.png and figure.svg to [bold]{folder}[/].")
        return
    check_fits(data, TASKS[task.value], n_parties)
    folder.mkdir(parents=True, exist_ok=True)
    rows = run(
        data,
        settings,
        n_parties,
        folder,
        n_jobs=jobs,
        watch=lambda method: watch(f"{task.value}, {method}", console.is_terminal),
    )
    console.print(
        f"Test accuracy with {n_parties} parties; ε is for a whole party, δ = {delta:g} where "
        "there is one."
    )
    console.print(_table(rows, settings))
    console.print(
        "Wrote results.json, results.csv, run.json, table.md, methods.md, figure.png and "
        f"figure.svg to [bold]{folder}[/]."
    )


def _table(rows: list[Row], settings: CompareSettings) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=0)
    table.add_column("method")
    table.add_column("promise")
    for inverse in settings.inverse_epsilons:
        table.add_column(f"1/ε={inverse:g}", justify="right")
    for method, calibration in dict.fromkeys((row.method, row.calibration) for row in rows):
        means = {
            row.inv_epsilon: row.mean
            for row in rows
            if (row.method, row.calibration) == (method, calibration)
        }
        promise = {"pure": "ε", "delta": "(ε, δ)", "none": "none"}[calibration]
        constant = means.get(0.0) if calibration == "none" else None
        cells = (
            constant if constant is not None else means.get(inverse)
            for inverse in settings.inverse_epsilons
        )
        table.add_row(method, promise, *("" if mean is None else f"{mean:.3f}" for mean in cells))
    return table
