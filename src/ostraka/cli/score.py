"""`ostraka score`: how good a release is, on labelled rows that anybody may see."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostraka.cli.help import examples
from ostraka.cli.options import LABEL_COLUMN, SVMLIGHT_COLUMNS
from ostraka.cli.screen import print_answers, print_mind

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ostraka.release import Release

EXAMPLES = examples("ostraka score model.ostraka new.csv --label-column outcome")
MORE = "What more parties or a larger ε would bring: ostraka plan"


def score(
    file: Annotated[
        Path, typer.Argument(help="A release, as written by `ostraka release` or `ostraka learn`.")
    ],
    data: Annotated[
        Path,
        typer.Argument(help="Labelled samples that anybody may see and that no party contributed."),
    ],
    *,
    label_column: Annotated[str, LABEL_COLUMN],
    svmlight_columns: Annotated[int | None, SVMLIGHT_COLUMNS] = None,
) -> None:
    """Say how often a model is right on labelled rows, compared with guessing the commonest class.

    On private rows these numbers would reveal something about them, outside the promise. Keep such
    numbers to yourself.
    """
    from ostraka.datasets import tables
    from ostraka.public.remarks import remark_entries
    from ostraka.release import Release

    release = Release.load(file)
    task = release.model.task
    table = tables.read(
        data,
        label_column=label_column,
        columns=task.columns,
        n_columns=svmlight_columns,
        text_labels=isinstance(task.classes[0], str),
    )
    truth, chosen = task.indices(table.labels), release.model.choices(table.samples)
    answers = _answers(release, file, data, truth, chosen)
    further = {"What next?": answers.pop("What next?")}
    print_answers(answers)
    _print_table(task.classes, truth, chosen)
    for told in remark_entries(task.columns, table.samples) if task.columns is not None else ():
        print_mind(told.replace("your entries", "the entries"))
    print_answers(further)


def _answers(
    release: Release, file: Path, data: Path, truth: NDArray[Any], chosen: NDArray[Any]
) -> dict[str, str]:
    """In sentences: how often it is right, against guessing, class by class, and what to do."""
    import math

    import numpy as np

    n, classes = len(truth), release.model.task.classes
    counts = np.bincount(truth, minlength=len(classes))
    right, commonest = float(np.mean(truth == chosen)), int(counts.argmax())
    share = counts[commonest] / n
    give = 2.0 * math.sqrt(max(right * (1.0 - right), 0.25 / n) / n)
    found = [np.mean(chosen[truth == k] == k) for k in range(len(classes)) if counts[k]]
    name = repr(str(classes[commonest]))
    better = "That is better than guessing."
    further = f"Use it: ostraka predict {file} new.csv --out predictions.csv --keep"
    if right + give < share:
        better = f"That is WORSE than always naming {name}. Do not use it for this."
        further = f"Are the columns of {data.name} what they were in the public table? {MORE}"
    elif right - give <= share:
        better = "That may well be no better than guessing."
        further = f"Score it on more rows to be sure. {MORE}"
    return {
        "How often is it right?": f"{right:.1%} of {n:,} rows of {data.name}, give or take "
        f"{give:.1%}. Always naming {name}, the commonest class there, would "
        f"be right for {share:.1%}. {better}",
        "And each class by itself?": f"On average over the classes, {float(np.mean(found)):.1%} of "
        "a class's rows are given that class.",
        "What next?": further,
    }


def _print_table(classes: tuple[Any, ...], truth: NDArray[Any], chosen: NDArray[Any]) -> None:
    from ostraka.cli.confusion import print_confusion

    every = range(len(classes))
    counts = [[f"{int(((truth == k) & (chosen == j)).sum()):,}" for j in every] for k in every]
    print_confusion(classes, counts, "Rows by what is true and what was said")
