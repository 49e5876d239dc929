"""`ostraka plan`: what to expect, before anything is collected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.choices import CalibrationName
from ostraka.cli.help import DATA, METHOD, OUTPUT, PROMISE, examples, option
from ostraka.cli.options import COLUMNS, DROP, NATURAL, SAMPLES_LARGEST
from ostraka.errors import count, say_number

if TYPE_CHECKING:
    from ostraka.expect.planner import Setting
    from ostraka.methods.base import Options

EXAMPLES = examples(
    "ostraka plan --parties 5000 --auxiliary public.csv --classes 6",
    "ostraka plan --parties 5000 --samples 10000 --features 50 --classes 6 \\\n"
    "    --epsilon 1 --figure plan.png",
)


def plan(
    *,
    parties: Annotated[int, option(DATA, "How many parties will take part.", of="number")],
    classes: Annotated[
        str,
        option(
            DATA, "How many classes there are, or their names, separated by commas.", of="number"
        ),
    ] = "2",
    auxiliary: Annotated[
        Path | None,
        option(
            DATA,
            "The public samples. With them, our own methods (auto) are forecast.",
            of="file",
        ),
    ] = None,
    columns: Annotated[str | None, COLUMNS] = None,
    drop: Annotated[list[str] | None, DROP] = None,
    samples_each: Annotated[
        int,
        option(DATA, "How many rows a party typically has, for our own methods.", of="number"),
    ] = 10,
    natural: Annotated[bool | None, NATURAL] = None,
    samples_largest: Annotated[int | None, SAMPLES_LARGEST] = None,
    samples: Annotated[
        int | None,
        option(
            DATA, "Without --auxiliary: how many public samples there are to vote on.", of="number"
        ),
    ] = None,
    features: Annotated[
        int | None,
        option(DATA, "Without --auxiliary: how many features a sample has.", of="number"),
    ] = None,
    epsilon: Annotated[
        float, option(PROMISE, "Privacy loss for a whole party.", of="number")
    ] = 1.0,
    delta: Annotated[
        float, option(PROMISE, "δ for our own methods; 0 for pure ε.", of="number")
    ] = 0.0,
    lambda_: Annotated[
        float,
        option(METHOD, "Strength of the regulariser.", "--lambda", of="number"),
    ] = 1e-4,
    intercept: Annotated[
        float, option(METHOD, "Value of the constant feature; 0 for none.", of="number")
    ] = 0.5,
    calibration: Annotated[
        CalibrationName, option(METHOD, "tight, or as in the paper.", of="tight|paper")
    ] = CalibrationName.tight,
    target: Annotated[
        float,
        option(
            OUTPUT,
            "The noise-to-signal to aim at: below 0.3 little is lost, above 1 little is left.",
            of="number",
        ),
    ] = 0.3,
    figure: Annotated[
        Path | None,
        option(OUTPUT, "Draw what to expect against ε, in this .png or .svg file.", of="file"),
    ] = None,
) -> None:
    """Say how noisy a release would be, and which ε or how many parties a target needs. Uses no
    private data.

    Noise-to-signal is the expected length of the noise over that of the longest possible model.
    With --auxiliary, our own methods are rehearsed on labels made of the public samples.
    """
    names = _read_classes(classes)
    count("--parties", parties, 2)
    if auxiliary is not None:
        from ostraka.methods.base import Options

        _forecast(
            auxiliary,
            parties,
            names,
            epsilon,
            delta,
            Options(samples_each=samples_each, natural=natural, samples_largest=samples_largest),
            figure,
            columns,
            drop or [],
        )
        return
    from ostraka.errors import InputError
    from ostraka.expect.planner import METHODS, Setting

    if samples is None or features is None:
        raise InputError(
            "Give the public samples with --auxiliary public.csv: how good a model can be depends "
            "on them.",
            "Without any, give both --samples and --features, for the paper's methods alone.",
        )
    settings = [
        Setting(
            method=method,
            n_parties=parties,
            n_samples=samples,
            n_features=features + (intercept > 0),
            n_classes=len(names),
            epsilon=epsilon,
            lambda_=lambda_,
            calibration=calibration.value,
        )
        for method in METHODS
    ]
    _show(settings, target)
    if figure is not None:
        from ostraka.figures.planning import draw_noise_to_signal

        draw_noise_to_signal(settings, figure)
        typer.echo(f"Wrote {figure}.")


def _read_classes(given: str) -> list[str] | range:
    """Their names; where only their number was given, 0, 1, ..."""
    from ostraka.cli.words import words
    from ostraka.errors import ParameterError

    named = range(int(given)) if given.strip().isdecimal() else words(given)
    if len(named) < 2:
        allowed = "a number from 2 on, or names such as ill,well"
        raise ParameterError("--classes", got=given, allowed=allowed)
    return named


def _forecast(
    path: Path,
    parties: int,
    names: list[str] | range,
    epsilon: float,
    delta: float,
    options: Options,
    figure: Path | None,
    description: str | None,
    drop: list[str],
) -> None:
    """Our own methods on these public samples.

    A table over ε, how many parties would do, a figure.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from ostraka.cli.public_table import check_dropped, read_public
    from ostraka.cli.screen import print_mind
    from ostraka.expect.advice import look_at_public
    from ostraka.expect.forecast import outlook
    from ostraka.progress import watch
    from ostraka.public.prepare import prepare
    from ostraka.public.promise import Promise, surest

    public = read_public(path, description, drop)
    if public.columns is not None:
        check_dropped(drop, public.names, path.name)
    auxiliary = prepare(public.samples, names, "auto", columns=public.columns)
    classes = len(names)
    promise = Promise(epsilon=epsilon, delta=delta)
    console = Console(highlight=False)
    epsilons = [epsilon * factor for factor in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)]
    numbers = [max(2, round(parties * factor)) for factor in (0.1, 0.3, 1.0, 3.0, 10.0)]
    found = outlook(
        auxiliary,
        parties,
        promise,
        options,
        epsilons=epsilons,
        numbers=numbers,
        watch=watch("Rehearsing", console.is_terminal),
    )
    table = Table(box=SIMPLE_HEAD, padding=(0, 1))
    for name in ("ε", "best guess", "kept", "method", "releases", "noise/signal"):
        table.add_column(name, justify="right")
    for better, *_ in found.by_epsilon:
        kind = ("direction" if better.method == "moments" else "cell") + "s" * (
            better.directions != 1
        )
        ratios = sorted(better.noise_to_signal)
        table.add_row(
            f"{better.epsilon:g}",
            surest(better.epsilon, delta).removeprefix("at most "),
            f"{better.kept:.0%}",
            better.method,
            f"{better.directions} {kind}",
            f"{ratios[0]:.2g} to {ratios[-1]:.2g}",
        )
    console.print(
        f"{parties:,} parties of about {options.samples_each} samples, {classes} classes, "
        f"δ = {say_number(delta)}; rehearsed on labels made of {path} itself.",
        markup=False,
    )
    console.print(table)
    console.print(
        "best guess: how often somebody who knows all the others can be right in guessing which of "
        "two versions of one party's data a model was made of; 50% is blind guessing.\n"
        "kept: how much of what can be learnt without privacy, beyond naming the commonest class, "
        "models of the rehearsal learnt. 0% is no better than naming the commonest class.\n"
        "noise/signal: in the easiest and in the hardest direction or cell; below 1 it can be "
        "read.",
        style="dim",
    )
    needed = ", ".join(
        f"{kept:.0%} with {number:,} parties" for number, kept in found.by_parties.items()
    )
    console.print(f"At ε = {epsilon:g} models would keep {needed}.")
    if figure is not None:
        from ostraka.figures.forecasting import draw_forecast

        draw_forecast(found.by_epsilon, epsilon, figure, f"{parties} parties, {classes} classes")
        console.print(f"Wrote {figure}.")
    for told in (*look_at_public(auxiliary), *public.told):
        print_mind(told)


def _show(settings: list[Setting], target: float) -> None:
    from rich.console import Console
    from rich.table import Table

    from ostraka.expect.planner import needed_epsilon, needed_parties, risk_bound
    from ostraka.solve.losses import loss_for

    first = settings[0]
    table = Table(
        title=f"{first.n_parties} parties, ε = {first.epsilon:g}, {first.calibration} calibration",
        title_justify="left",
    )
    for name in (
        "method",
        "moves by",
        "numbers",
        "noise/signal",
        f"ε for {target:g}",
        f"parties for {target:g}",
    ):
        table.add_column(name, justify="left" if name == "method" else "right")
    bounds = []
    for setting in settings:
        mechanism = setting.mechanism()
        moves = mechanism.sensitivity / mechanism.divisor
        parties = needed_parties(setting, target)
        table.add_row(
            setting.method,
            f"{moves:.3g}",
            str(mechanism.dimension),
            f"{setting.noise_to_signal():.3g}",
            f"{needed_epsilon(setting, target):.3g}",
            "none" if parties is None else f"{parties:,}",
        )
        if setting.method != "avg":
            risk = risk_bound(
                mechanism, setting.n_samples, loss_for(setting.n_classes), reference_norm=1.0
            )
            bounds.append(
                f"{setting.method} {risk.total:.3g}"
                + ("" if risk.proved else " (a guide: proved for two classes only)")
            )
    console = Console()
    console.print(table)
    console.print(
        "These are the methods of the paper. For our own (auto), which need far less, give the "
        "public samples: --auxiliary public.csv.",
        highlight=False,
    )
    console.print(
        "moves by: how far one party can move the model. numbers: how many get noise. "
        "noise/signal: below 0.3 little is lost, above 1 little is left.\n"
        "Theorem 4 of Hamm et al. 2016 bounds the risk above that of any classifier of length 1, "
        "with probability 0.9: "
        f"{', '.join(bounds)}. "
        "Bounds above 0.7, the loss of guessing, say nothing.",
        style="dim",
        highlight=False,
    )
