"""`ostraka plan`: what to expect, before anything is collected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.choices import CalibrationName

if TYPE_CHECKING:
    from ostraka.expect.planner import Setting

EXAMPLES = (
    "Examples: [bold]ostraka plan --parties 5000 --samples 10000 --features 50 --classes 6 --epsilon 1 --figure plan.png[/], "
    "[bold]ostraka plan --parties 5000 --auxiliary public.csv --classes 6 --samples-each 20[/]"
)


def plan(
    parties: Annotated[int, typer.Option(help="How many parties will take part.")],
    samples: Annotated[
        int | None, typer.Option(help="How many public samples they vote on.")
    ] = None,
    features: Annotated[int | None, typer.Option(help="How many features a sample has.")] = None,
    auxiliary: Annotated[
        Path | None,
        typer.Option(
            help="The public samples themselves, instead of --samples and --features: forecasts our own methods too."
        ),
    ] = None,
    classes: Annotated[int, typer.Option(help="How many classes there are.")] = 2,
    epsilon: Annotated[float, typer.Option(help="Privacy loss for a whole party.")] = 1.0,
    lambda_: Annotated[float, typer.Option("--lambda", help="Strength of the regulariser.")] = 1e-4,
    intercept: Annotated[
        float, typer.Option(help="Value of the constant feature; 0 for none.")
    ] = 0.5,
    calibration: Annotated[
        CalibrationName, typer.Option(help="tight, or as in the paper.")
    ] = CalibrationName.tight,
    delta: Annotated[float, typer.Option(help="δ for our own methods; 0 for pure ε.")] = 0.0,
    samples_each: Annotated[
        int, typer.Option(help="How many samples a party typically has, for our own methods.")
    ] = 10,
    target: Annotated[
        float,
        typer.Option(
            help="The noise-to-signal to aim at: below 0.3 little is lost, above 1 little is left."
        ),
    ] = 0.3,
    figure: Annotated[
        Path | None, typer.Option(help="Draw what to expect against ε into this .png or .svg file.")
    ] = None,
) -> None:
    """Say how noisy a release would be, and which ε or how many parties a target needs. Uses no private data.

    Noise-to-signal is the expected length of the noise over that of the longest model there can be. With --auxiliary, our own methods are
    rehearsed on made-up labels of the public samples.
    """
    if auxiliary is not None:
        _forecast(auxiliary, parties, classes, epsilon, delta, samples_each, figure)
        return
    from ostraka.errors import ParameterError
    from ostraka.expect.planner import METHODS, Setting

    if samples is None or features is None:
        raise ParameterError(
            "--samples, --features",
            got=(samples, features),
            allowed="both, or else --auxiliary with public samples",
        )
    settings = [
        Setting(
            method=method,
            n_parties=parties,
            n_samples=samples,
            n_features=features + (intercept > 0),
            n_classes=classes,
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


def _forecast(
    path: Path,
    parties: int,
    classes: int,
    epsilon: float,
    delta: float,
    samples_each: int,
    figure: Path | None,
) -> None:
    """Our own methods on these public samples: a table over ε, how many parties would do, a figure."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    from ostraka.datasets import tables
    from ostraka.expect.forecast import outlook
    from ostraka.methods.base import Options
    from ostraka.progress import watch
    from ostraka.public.prepare import prepared
    from ostraka.public.promise import Promise

    auxiliary = prepared(tables.read(path).samples, range(classes), "auto")
    promise, options = Promise(epsilon=epsilon, delta=delta), Options(samples_each=samples_each)
    console = Console()
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
    for name in ("ε", "method", "releases", "noise", "noise/signal", "agreement"):
        table.add_column(name, justify="right")
    for better, *_ in found.by_epsilon:
        kind = ("direction" if better.method == "moments" else "cell") + "s" * (
            better.directions != 1
        )
        ratios = sorted(better.noise_to_signal)
        row = (
            f"{better.epsilon:g}",
            better.method,
            f"{better.directions} {kind}",
            better.noise,
            f"{ratios[0]:.2g} to {ratios[-1]:.2g}",
        )
        table.add_row(*row, f"{better.agreement:.2f}")
    console.print(
        f"{parties} parties of about {samples_each} samples, {classes} classes, δ = {delta:g}; rehearsed on made-up labels of {path}."
    )
    console.print(table)
    needed = ", ".join(
        f"{agreement:.2f} with {number} parties" for number, agreement in found.by_parties.items()
    )
    console.print(f"At ε = {epsilon:g} the agreement would be {needed}.")
    console.print(
        "Made-up labels are not yours: the agreement ranks settings, it does not promise an accuracy."
    )
    if figure is not None:
        from ostraka.figures.forecasting import draw_forecast

        draw_forecast(found.by_epsilon, epsilon, figure, f"{parties} parties, {classes} classes")
        console.print(f"Wrote {figure}.")


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
        "moves by: how far one party can move the model. numbers: how many get noise. "
        "noise/signal: below 0.3 little is lost, above 1 little is left.\n"
        "Theorem 4 of Hamm et al. 2016 bounds the risk above that of any classifier of length 1, with probability 0.9: "
        f"{', '.join(bounds)}. "
        "Bounds above 0.7, the loss of guessing, say nothing.",
        style="dim",
        highlight=False,
    )
