"""`ostraka inspect`: what a release promises."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.help import examples

if TYPE_CHECKING:
    from ostraka.public.task import Task
    from ostraka.release.certificate import Certificate

EXAMPLES = examples(
    "ostraka inspect model.ostraka", "ostraka inspect model.ostraka --json | jq .epsilon"
)


def inspect(
    file: Annotated[
        Path, typer.Argument(help="A release, as `ostraka release` and `ostraka learn` write.")
    ],
    json: Annotated[
        bool, typer.Option("--json", help="Print the certificate as JSON instead.")
    ] = False,
) -> None:
    """Show the certificate of a release in plain words, or as JSON."""
    from ostraka.release import Release

    release = Release.load(file)
    verified = _verified(release.certificate)
    if json:
        typer.echo(release.certificate.to_json())
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    console.print(str(release.certificate), markup=False, soft_wrap=True)
    table = Table(show_header=False, box=None, padding=(0, 2, 0, 0))
    facts = {
        **_facts(release.model.task, release.certificate),
        "digest": f"{release.digest}, by which ledgers and second rounds name it",
    }
    for name, value in facts.items():
        table.add_row(name, value)
    console.print()
    console.print(table)
    if verified:
        typer.echo(verified)


def _verified(promised: Certificate) -> str:
    """Compute δ anew from noise and sensitivity; a file that promises too much is refused. Nothing to say if δ is 0."""
    from ostraka.errors import FormatError
    from ostraka.mechanism.laws import verify

    if promised.round_delta == 0.0:
        return ""
    found = verify(promised)
    if not found <= promised.round_delta:
        problem = f"its noise gives δ = {found:.3g} at ε = {promised.round_epsilon:g}, more than it promises"
        raise FormatError("release", problem)
    return f"Verified: this noise gives δ ≤ {found:.3g} at ε = {promised.round_epsilon:g}."


def _facts(task: Task, promised: Certificate) -> dict[str, str]:
    """The facts, each with a word on what it means."""
    return {
        "classes": ", ".join(map(str, task.classes)),
        "samples it takes": f"{task.n_columns} columns{_named(task)}",
        "auxiliary set": _auxiliary(promised),
        "poll": promised.poll or "not recorded: made by an earlier version",
        "sensitivity": _sensitivity(promised),
        "noise": f"{promised.noise} of scale {promised.noise_scale:.6g}, drawn exactly from the operating system's generator",
        "coordinates": f"{promised.dimension} numbers got noise: {promised.coordinates}",
    }


def _sensitivity(promised: Certificate) -> str:
    from ostraka.release.certificate import PerturbedMinimiser

    own = promised.particular
    moved = f"{promised.sensitivity:.6g}: how far replacing one {promised.protects} can move the "
    if isinstance(own, PerturbedMinimiser):
        return (
            f"{moved}weights ({own.rule} bound {own.bound:.6g}, solver {own.solver:.2g}, "
            f"rounding {own.rounding:.2g}, grid {own.on_grid:.2g})"
        )
    return f"{moved}sum of what they send"


def _named(task: Task) -> str:
    names = task.feature_names or ()
    return (": " if names else "") + ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")


def _auxiliary(promised: Certificate) -> str:
    from ostraka.public.catalogue import CATALOGUE

    if promised.auxiliary_samples is None:
        return "no votes were needed"
    use = (
        "on which the parties voted"
        if CATALOGUE[promised.method].sends == "votes"
        else "whose geometry was used"
    )
    kind = f"public samples {use}" if promised.auxiliary_digest else "samples, private themselves"
    return f"{promised.auxiliary_samples} {kind}"
