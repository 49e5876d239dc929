"""`ostraka compare`: our methods, the paper's, and what people would take instead."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostraka.cli.help import DATA, METHOD, OUTPUT, PROMISE, examples, option
from ostraka.cli.options import (
    COLUMNS,
    DATA_DIR,
    DROP,
    INV_EPSILON,
    LABEL_COLUMN,
    REDRAW,
    SEED,
)
from ostraka.cli.words import numbers, words

if TYPE_CHECKING:
    from rich.table import Table

    from ostraka.datasets.dataset import Dataset
    from ostraka.experiments.compare import CompareSettings
    from ostraka.experiments.results import Row

EXAMPLES = examples(
    "ostraka compare digits",
    "ostraka compare har --methods auto,soft --data-dir data",
    "ostraka compare old-cases.csv --label-column outcome --party-column ward \\\n"
    "    --methods auto,moments,cells,dp-gd --out comparison/cases",
)


def compare(
    task: Annotated[
        str,
        typer.Argument(
            help="The data set: digits, har, kdd99, url or urls; or a labelled table of your own, "
            "public or simulated, as .csv or .parquet."
        ),
    ],
    *,
    parties: Annotated[
        int | None,
        option(
            DATA,
            "How many parties. By default the smallest number in the paper; for your own table, "
            "those of --party-column.",
            of="number",
        ),
    ] = None,
    label_column: Annotated[str | None, LABEL_COLUMN] = None,
    party_column: Annotated[
        str | None,
        option(
            DATA,
            "For your own table: the column that names the parties. With --parties, rows are "
            "dealt out at random instead.",
            of="column",
        ),
    ] = None,
    samples_each: Annotated[
        int | None,
        option(DATA, "For your own table, with --parties: how many rows each gets.", of="number"),
    ] = None,
    public_rows: Annotated[
        int | None,
        option(
            DATA,
            "For your own table: how many rows are public in each split. Default: a tenth, up to "
            "5000.",
            of="number",
        ),
    ] = None,
    columns: Annotated[str | None, COLUMNS] = None,
    drop: Annotated[list[str] | None, DROP] = None,
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
    results.json, results.csv, run.json, table.md (accuracy, balanced accuracy, AUC, calibration),
    methods.md (what each method promises, whom it trusts, how it was tuned), a figure with the main
    lines and one with all. An interrupted run goes on where it stopped.
    """
    from rich.console import Console

    from ostraka.datasets import load
    from ostraka.experiments.compare import INVERSE_EPSILONS, CompareSettings, draw
    from ostraka.experiments.compare import compare as run
    from ostraka.experiments.results import read_rows
    from ostraka.experiments.tasks import TASKS, check_fits
    from ostraka.progress import watch

    console = Console()
    own, data = task not in TASKS, None
    sizes: dict[str, Any] = {}
    if own:
        data, sizes, parties = _read_own(
            Path(task),
            label_column,
            party_column,
            columns,
            drop or [],
            parties,
            samples_each,
            public_rows,
        )
    else:
        _check_known(label_column, party_column, columns, drop, samples_each, public_rows)
    name = Path(task).name.split(".")[0] if own else task
    settings = CompareSettings(
        task=name,
        **sizes,
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
    n_parties = TASKS[task].panels[0] if parties is None else parties
    folder = out or Path("comparison") / name
    if data is None:
        data = load(task, data_dir, progress=console.is_terminal)
    if redraw:
        draw(data, read_rows(folder, name), folder)
        console.print(f"Wrote figure.png and all.png, also as .svg, to [bold]{folder}[/].")
        return
    if not settings.natural:
        check_fits(data, settings.paper_task, n_parties)
    folder.mkdir(parents=True, exist_ok=True)
    rows = run(
        data,
        settings,
        n_parties,
        folder,
        n_jobs=jobs,
        watch=lambda method: watch(f"{name}, {method}", console.is_terminal),
    )
    console.print(
        f"Test accuracy with {n_parties} parties; ε is for a whole party, δ = {delta:g} where "
        "there is one."
    )
    console.print(_table(rows, settings))
    console.print(
        "Wrote results.json, results.csv, run.json, table.md (every measure), methods.md, "
        f"figure.png (the main lines) and all.png (all of them) to [bold]{folder}[/]."
    )


def _check_known(*of_own_tables: Any) -> None:
    """A known data set has its own columns and sizes."""
    from ostraka.errors import ParameterError

    if any(of_own_tables):
        allowed = "with a table of your own: a known data set has its columns and sizes"
        names = "--label-column, --party-column, --columns, --drop, --samples-each, --public-rows"
        raise ParameterError(names, got="given", allowed=allowed)


def _read_own(
    path: Path,
    label_column: str | None,
    party_column: str | None,
    columns: str | None,
    drop: list[str],
    parties: int | None,
    samples_each: int | None,
    public_rows: int | None,
) -> tuple[Dataset, dict[str, Any], int]:
    """A table of the user's own, how large its parties are, and how many."""
    from ostraka.cli.public_table import check_dropped, read_public
    from ostraka.datasets import tables
    from ostraka.errors import ParameterError
    from ostraka.experiments.own import default_public_rows, keep_test_rows, typical_size
    from ostraka.experiments.tasks import TASKS, n_natural

    if not path.exists():
        known = f"{', '.join(TASKS)}, or a labelled table of your own, as .csv or .parquet"
        raise ParameterError("TASK", got=f"{path}: no such file", allowed=known)
    if label_column is None:
        allowed = "the column with the classes of your own table"
        raise ParameterError("--label-column", got=None, allowed=allowed)
    if (parties is None) is not (samples_each is None) or (parties is None and not party_column):
        allowed = "the column that names the parties; or --parties and --samples-each"
        raise ParameterError("--party-column", got=party_column, allowed=allowed)
    if label_column == party_column:
        allowed = "another column than the one with the classes"
        raise ParameterError("--party-column", got=party_column, allowed=allowed)
    others = [name for name in (label_column, party_column, *drop) if name]
    public = read_public(path, columns, others)
    if public.columns is None:
        allowed = "a .csv or .parquet file, whose columns have names"
        raise ParameterError("TASK", got=path.name, allowed=allowed)
    check_dropped(drop, public.names, path.name)
    table = tables.read(
        path, label_column=label_column, party_column=party_column, columns=public.columns
    )
    assert table.labels is not None
    samples = public.columns.encode(table.samples, path.name)
    data = keep_test_rows(path.name, samples, table.labels, table.parties)
    n_public = default_public_rows(data) if public_rows is None else public_rows
    if parties is not None:
        return data, {"samples_each": samples_each, "n_auxiliary": n_public}, parties
    size = typical_size(data, n_public)
    sizes = {"samples_each": size, "n_auxiliary": n_public, "natural": True}
    return data, sizes, n_natural(data)


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
