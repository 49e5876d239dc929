"""`ostraka demo`: the main job on embedded data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ostraka.cli.help import OUTPUT, examples, option

if TYPE_CHECKING:
    from ostraka.experiments.demo import Demonstration

EXAMPLES = examples("ostraka demo --out my-demo", "ostraka demo --tables tables")


def demo(
    out: Annotated[
        Path,
        option(
            OUTPUT,
            "A folder for the figure and the release; created if it does not exist.",
            of="folder",
        ),
    ] = Path("out"),
    tables: Annotated[
        Path | None,
        option(
            OUTPUT,
            "Only write made-up tables of forty wards into this folder, with texts, dates and "
            "gaps, to try the other commands on.",
            of="folder",
        ),
    ] = None,
) -> None:
    """Learn to read handwritten digits from 200 parties with five samples each.

    Makes a table, a figure, a release and its certificate.
    """
    if tables is not None:
        _write_tables(tables)
        return
    from rich.console import Console

    from ostraka.experiments.demo import EPSILONS, digits
    from ostraka.figures.accuracy import draw_accuracy
    from ostraka.figures.style import GUESSING
    from ostraka.progress import watch

    out.mkdir(parents=True, exist_ok=True)
    console = Console()
    shown = digits(watch("Parties train and vote", console.is_terminal))
    console.print(_table(shown))
    n_classes = len(shown.release.model.task.classes)
    draw_accuracy(
        shown.curves,
        {**shown.references, GUESSING: 1.0 / n_classes},
        EPSILONS,
        out / "demo.png",
        "Digits: 200 parties of five samples",
        label="Share of unseen digits read right",
    )
    shown.release.save(out / "digits.ostraka", overwrite=True)
    console.print(
        f"\nWrote [bold]{out / 'demo.png'}[/] and [bold]{out / 'digits.ostraka'}[/]. The "
        "certificate of the latter:\n"
    )
    console.print(str(shown.release.certificate), markup=False, highlight=False, soft_wrap=True)
    console.print(f"\n{_words(shown)}")


def _write_tables(folder: Path) -> None:
    from ostraka.cli.screen import print_answers
    from ostraka.experiments.ward_tables import CLASSES, N_WARDS, write_ward_tables

    write_ward_tables(folder)
    print_answers(
        {
            "Wrote": f"{folder}/public.csv, which anybody may see; {folder}/wards/ward-1.csv to "
            f"ward-{N_WARDS}.csv, one for each ward; {folder}/hospitals.csv, all of them; and "
            f"{folder}/new.csv, to predict for.",
            "What next?": f"cd {folder}, then: ostraka poll create public.csv --classes "
            f"{','.join(CLASSES)} --parties {N_WARDS} --samples-each 50 --epsilon 2 --out "
            "stay.poll",
        }
    )


def _table(shown: Demonstration) -> object:
    from rich.table import Table

    from ostraka.experiments.demo import EPSILONS

    table = Table(
        title="Share of unseen digits that are read right, mean of 20 draws", title_justify="left"
    )
    table.add_column("method")
    table.add_column("calibration")
    for epsilon in EPSILONS:
        table.add_column(f"ε={epsilon:g}", justify="right")
    for (method, calibration), (means, _) in shown.curves.items():
        table.add_row(
            method, "" if method == "auto" else calibration, *(f"{value:.2f}" for value in means)
        )
    for name, value in shown.references.items():
        table.add_row(name, "not private", f"{value:.2f}")
    return table


def _words(shown: Demonstration) -> str:
    """A few sentences, with the figures that were just measured."""
    soft, vote, average, paper = (
        shown.mean(method, calibration, 300.0)  # type: ignore[arg-type]
        for method, calibration in (
            ("soft", "tight"),
            ("vote", "tight"),
            ("avg", "tight"),
            ("avg", "paper"),
        )
    )
    ours, theirs = shown.mean("auto", "tight", 1.0), shown.mean("avg", "tight", 1.0)
    alone, pooled = shown.references["indiv"], shown.references["batch"]
    return (
        f"Alone a party reads {alone:.0%} of the digits, all data in one place would give "
        f"{pooled:.0%}, and the curves show what is left "
        "between the two as the noise grows that hides any one party.\n"
        f"At ε = 300 `soft` still reads {soft:.0%} where `vote` reads {vote:.0%}: one party moves "
        "a share of votes by one in 200, but it "
        "can turn a whole majority, so `vote` needs far more noise for the same promise.\n"
        f"Tight calibration proves that less noise is enough: `avg` reads {average:.0%} instead "
        f"of {paper:.0%}. Yet near ε = 1, where "
        "privacy begins to mean something, 200 parties are too few for the paper's methods "
        f"({theirs:.0%}).\n"
        "`auto` puts the noise on a statistic of the labels instead of the model, and still "
        f"reads {ours:.0%} at ε = 1: the release above. "
        "`ostraka plan --auxiliary` forecasts it for your own public samples."
    )
