"""`ostraka poll`: the public agreement on one learning task, as a file that everybody gets."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostraka.cli.choices import (
    ANY_NOISE,
    AUTO,
    PARTY,
    CalibrationName,
    MethodName,
    NoiseName,
    UnitName,
)

if TYPE_CHECKING:
    from ostraka.poll import Poll
    from ostraka.public.auxiliary import AuxiliarySet

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Make a poll, or look at one: the public file that says what is asked of every party, and what is promised.\n\n"
    "Then every party runs [bold]ostraka contribute[/] on its own machine and mails one small file, and "
    "[bold]ostraka release[/] makes the model.",
)


@app.command(
    epilog='Example: [bold]ostraka poll create public.csv --title "Stroke, 2026" --classes ill,well --parties 40 '
    "--samples-each 200 --epsilon 1 --out stroke.poll[/]"
)
def create(
    public: Annotated[
        Path,
        typer.Argument(
            help="Public samples without labels: they set the scale, and parties may vote on them."
        ),
    ],
    classes: Annotated[str, typer.Option(help="The public list of classes, with commas between.")],
    epsilon: Annotated[
        float,
        typer.Option(
            help="Privacy loss. Smaller is more private, and noisier; 1 is a common choice."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Where to write the poll.")],
    parties: Annotated[
        int | None,
        typer.Option(help="How many parties are expected; by default as many as --roll names."),
    ] = None,
    title: Annotated[str, typer.Option(help="A line that tells people what it is about.")] = "",
    method: Annotated[
        MethodName,
        typer.Option(help="auto takes moments or cells, whichever does better on made-up labels."),
    ] = AUTO,
    samples_each: Annotated[
        int | None,
        typer.Option(
            help="How many rows a party (a person) typically has; only accuracy depends on it. Default 10."
        ),
    ] = None,
    protects: Annotated[
        UnitName,
        typer.Option(
            help="Whose data is hidden as a whole: a party's, or a person's at one of a few holders."
        ),
    ] = PARTY,
    persons: Annotated[
        int | None,
        typer.Option(help="With --protects person: how many persons there are in all, about."),
    ] = None,
    roll: Annotated[
        Path | None,
        typer.Option(
            help="A text file with the name of every party that is asked, one per line. Others are refused."
        ),
    ] = None,
    least_parties: Annotated[
        int, typer.Option(help="Refuse to release for fewer parties (persons).")
    ] = 2,
    delta: Annotated[
        float,
        typer.Option(
            help="0 for pure ε. moments and consensus need less noise with a small δ, such as 1e-6."
        ),
    ] = 0.0,
    noise: Annotated[
        NoiseName, typer.Option(help="The law of the noise, for our own methods.")
    ] = ANY_NOISE,
    shift: Annotated[
        bool,
        typer.Option(
            "--shift", help="Private samples may be distributed otherwise than the public ones."
        ),
    ] = False,
    penalty: Annotated[
        float | None, typer.Option(help="Of the fits after the noise; by default from the noise.")
    ] = None,
    start: Annotated[
        Path | None, typer.Option(help="For --method refine: the earlier release to start from.")
    ] = None,
    lambda_: Annotated[
        float | None,
        typer.Option(
            "--lambda",
            help="Strength of the regulariser, where classifiers are trained. Default 1e-4.",
        ),
    ] = None,
    calibration: Annotated[
        CalibrationName | None,
        typer.Option(
            help="For soft, vote, avg: the noise that we can prove to be enough, or the paper's."
        ),
    ] = None,
    private_auxiliary: Annotated[
        bool,
        typer.Option(
            "--private-auxiliary",
            help="The samples are somebody's secret too (soft, vote): parties send classifiers.",
        ),
    ] = False,
    radius: Annotated[
        float | None,
        typer.Option(
            help="A public bound for the length of samples, for soft, vote, avg; needed if they are private."
        ),
    ] = None,
    drop: Annotated[
        list[str] | None, typer.Option(help="A column to leave out; may be repeated.")
    ] = None,
    columns: Annotated[
        Path | None,
        typer.Option(
            help="What the columns are, where the public table does not say enough: a small .yaml or .json file."
        ),
    ] = None,
    svmlight_columns: Annotated[
        int | None, typer.Option(help="How many columns svmlight files have, counted from 1.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace the file that --out names, if there is one.")
    ] = False,
) -> None:
    """Make a poll from public things alone. Anybody may see it; nothing private goes into it."""
    from rich.markup import escape

    from ostraka.cli.words import names_in, words
    from ostraka.expect.unit import advise_unit, drowns
    from ostraka.files import check_new
    from ostraka.poll import Poll
    from ostraka.release import Release

    check_new(out, force)
    first = None if start is None else Release.load(start)
    asked = None if roll is None else names_in(roll)
    auxiliary = _auxiliary(
        public,
        words(classes),
        method.value,
        private_auxiliary,
        radius,
        drop or [],
        columns,
        svmlight_columns,
        first,
    )
    with _console().status("Rehearsing on the public samples"):  # on terminals only
        poll = Poll.create(
            auxiliary,
            epsilon=epsilon,
            parties=parties,
            method=method.value,
            title=title,
            delta=delta,
            noise=noise.value,
            protects=protects.value,
            persons=persons,
            roll=asked,
            least_parties=least_parties,
            samples_each=samples_each,
            shift=shift or None,
            penalty=penalty,
            start=first,
            lambda_=lambda_,
            calibration=None if calibration is None else calibration.value,
        )
    poll.save(out)
    _print(poll)
    number = parties if parties is not None else len(asked or ())
    told, console = advise_unit(poll, number, samples_each or 10), _console()
    if told is not None:
        console.print(f"[yellow]Mind:[/] {told}")
    ready = "Send it to every party; it holds nothing private." if drowns(poll) is None else ""
    console.print(f"\nWrote [bold]{escape(str(out))}[/]. {ready}")


@app.command(
    epilog="Examples: [bold]ostraka poll show stroke.poll[/]   [bold]ostraka poll show stroke.poll --json | jq .epsilon[/]"
)
def show(
    file: Annotated[Path, typer.Argument(help="A poll, as `ostraka poll create` writes.")],
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON instead.")] = False,
) -> None:
    """Say in plain words what a poll asks of a party, what leaves its machine, and what is promised."""
    from json import dumps

    from ostraka.expect.describe import facts
    from ostraka.poll import Poll

    poll = Poll.load(file)
    if json:
        typer.echo(dumps(facts(poll), sort_keys=True, ensure_ascii=False))
        return
    _print(poll)


def _print(poll: Poll) -> None:
    from rich.table import Table
    from rich.text import Text

    from ostraka.expect.describe import described

    table = Table(show_header=False, box=None, padding=(0, 2, 1, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, words in described(poll).items():
        table.add_row(Text(name), Text(words))
    _console().print(table)


def _console() -> Any:
    from rich.console import Console

    return Console(highlight=False)


def _auxiliary(
    path: Path,
    classes: list[str],
    method: str,
    private: bool,
    radius: float | None,
    drop: list[str],
    description: Path | None,
    n_columns: int | None,
    start: Any,
) -> AuxiliarySet:
    from ostraka.cli.public_table import read_public
    from ostraka.datasets import tables
    from ostraka.errors import ParameterError
    from ostraka.public.auxiliary import AuxiliarySet
    from ostraka.public.prepare import INTERCEPT, prepared
    from ostraka.public.preprocessing import Preprocessing

    if private:
        samples = tables.read(path, drop=drop, n_columns=n_columns).samples
        if radius is None:
            allowed = "a public bound for the length of samples, where they are private"
            raise ParameterError("--radius", got=None, allowed=allowed)
        agreed = Preprocessing(radius=radius, constant=INTERCEPT)
        return AuxiliarySet(samples, tuple(classes), preprocessing=agreed, private=True)
    like = None if start is None else start.model.task
    samples, columns = read_public(
        path, description, drop, like=like and like.columns, n_columns=n_columns
    )
    return prepared(samples, classes, method, columns=columns, radius=radius, like=like)
