"""`ostraka predict`: use a release."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = "Example: [bold]ostraka predict model.ostraka new.csv --out predictions.csv --probabilities[/]"


def predict(
    file: Annotated[Path, typer.Argument(help="A release, as `ostraka learn` writes.")],
    data: Annotated[Path, typer.Argument(help="Samples with the columns that the model was made for; others are ignored.")],
    out: Annotated[Path, typer.Option(help="Where to write: .csv (also .gz, .zst) or .parquet, one row per sample.")],
    probabilities: Annotated[bool, typer.Option("--probabilities", help="Add a column per class with the model's probability.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the columns of the samples.")] = False,
) -> None:
    """Predict the class of new samples: a table with a column `prediction`."""
    import pandas as pd

    from ostraka.datasets import tables
    from ostraka.release import Release

    release = Release.load(file)
    names = release.model.task.feature_names
    samples = tables.read(data, columns=names).samples
    result = pd.DataFrame({"prediction": release.predict(samples)})
    if probabilities:
        columns = [f"probability_{name}" for name in release.model.task.classes]
        result[columns] = release.predict_proba(samples)
    if keep and hasattr(samples, "columns"):
        result = pd.concat([samples.reset_index(drop=True), result], axis=1)
    tables.write(result, out)
    typer.echo(f"Wrote {len(result)} predictions to {out}.")
