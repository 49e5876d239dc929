"""`ostraka predict`: use a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostraka.cli.help import OUTPUT, examples, option
from ostraka.cli.options import DROP, FORCE, SVMLIGHT_COLUMNS
from ostraka.cli.screen import print_mind

EXAMPLES = examples("ostraka predict model.ostraka new.csv --out predictions.csv --probabilities")


def predict(
    file: Annotated[
        Path, typer.Argument(help="A release, as written by `ostraka release` or `ostraka learn`.")
    ],
    data: Annotated[
        Path,
        typer.Argument(
            help="Samples with the columns that the model was made for; others are ignored."
        ),
    ],
    *,
    drop: Annotated[list[str] | None, DROP] = None,
    svmlight_columns: Annotated[int | None, SVMLIGHT_COLUMNS] = None,
    out: Annotated[
        Path,
        option(
            OUTPUT,
            "Where to write predictions, one row per sample: .csv (also .gz, .zst) or .parquet.",
            of="file",
        ),
    ],
    probabilities: Annotated[
        bool,
        option(OUTPUT, "Add a column per class with the model's probabilities.", "--probabilities"),
    ] = False,
    keep: Annotated[
        bool,
        option(
            OUTPUT, "Keep all columns of the table, as written, beside the prediction.", "--keep"
        ),
    ] = False,
    force: Annotated[bool, FORCE] = False,
) -> None:
    """Predict the class of new samples, and write a table with a column `prediction`."""
    import pandas as pd

    from ostraka.datasets import tables
    from ostraka.errors import ParameterError
    from ostraka.files import check_new
    from ostraka.public.remarks import remark_entries
    from ostraka.release import Release

    check_new(out, force)
    release = Release.load(file)
    known = release.model.task.columns
    given = drop or () if known is None else ()
    samples = tables.read(data, columns=known, drop=given, n_columns=svmlight_columns).samples
    kept, delimiter = tables.cells(data) if keep else (None, ",")
    result = pd.DataFrame({"prediction": release.predict(samples)})
    if probabilities:
        headings = [f"probability_{name}" for name in release.model.task.classes]
        result[headings] = release.predict_proba(samples)
    if kept is not None:
        twice = [name for name in result.columns if name in kept.columns]
        if twice:
            allowed = f"a table without a column {twice[0]!r}, which would stand twice"
            raise ParameterError("--keep", got=data.name, allowed=allowed)
        result = pd.concat([kept, result], axis=1)
    tables.write(result, out, delimiter)
    for told in remark_entries(known, samples) if known is not None else ():
        print_mind(told.replace("your entries", "the entries"))
    typer.echo(
        f"Wrote {len(result)} predictions to {out}.\n"
        "What next? On rows whose class is known, see how often it is right: ostraka score "
        f"{file} labelled.csv --label-column COLUMN"
    )
