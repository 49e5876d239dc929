"""`ostraka inspect`: what a release promises."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.help import examples
from ostraka.cli.screen import print_answers
from ostraka.errors import say_number

if TYPE_CHECKING:
    from ostraka.public.task import Task
    from ostraka.release import Release
    from ostraka.release.certificate import Certificate
    from ostraka.release.scoring import Model

EXAMPLES = examples(
    "ostraka inspect model.ostraka", "ostraka inspect model.ostraka --json | jq .epsilon"
)

PAID = "A ledger, if one was kept, says what is left: ostraka ledger show LEDGER"


def inspect(
    file: Annotated[
        Path, typer.Argument(help="A release, as written by `ostraka release` or `ostraka learn`.")
    ],
    json: Annotated[
        bool, typer.Option("--json", help="Print the certificate as JSON instead.")
    ] = False,
) -> None:
    """Show the certificate of a release in plain words, or as JSON."""
    from ostraka.release import Release

    release = Release.load(file)
    verified = _verify(release.certificate)
    if json:
        typer.echo(_as_json(release))
        return
    technical = {"In technical terms": _technical(release, verified)}
    told = answers(release, file, f"{price(release)} {PAID}")
    if not release.evaluations:
        print_answers({**told, **technical})
        return
    print_answers(told)
    print_evaluation(release)
    print_answers(technical)


def answers(release: Release, file: Path, cost: str) -> dict[str, str]:
    """What people ask of a model that they are given; `learn` and `release` answer the same."""
    promised, task = release.certificate, release.model.task
    return {
        "What is it?": f"A classifier for {', '.join(map(str, task.classes))}, "
        f"from {_columns(task)}, made of the data of {promised.crowd}.",
        "What does ε mean?": promised.plainly + _with_evaluations(release),
        "Is it any good?": _judge(release),
        "What did it cost?": cost,
        "What next?": f"Measure it: ostraka score {file} labelled.csv --label-column COLUMN; or on "
        f"the parties' own rows, privately: ostraka evaluate {file} --epsilon 1 --parties NUMBER "
        f"{_persons(promised)}--out check.poll. Use it: ostraka predict {file} new.csv "
        "--out predictions.csv --keep. Give it to anybody: it is made to be published. For other "
        f"programs: ostraka export {file} --onnx model.onnx",
    }


def _persons(promised: Certificate) -> str:
    return "--persons NUMBER " if promised.protects == "person" else ""


def price(release: Release) -> str:
    """What a release costs whoever took part, its evaluations included."""
    promised = release.certificate
    delta = f", δ = {say_number(promised.delta)}" if promised.delta else ""
    model = f"ε = {promised.epsilon:g}{delta} for every {promised.protects} that took part."
    if promised.start is not None:
        model = (
            f"ε = {promised.round_epsilon:g} for this round; ε = {promised.epsilon:g}{delta} with "
            f"the rounds that it rests on, for every {promised.protects} that took part in all."
        )
    if not release.evaluations:
        return model
    each = " and ".join(f"ε = {each.certificate.epsilon:g}" for each in release.evaluations)
    return (
        f"{model} Evaluating it cost {each} more for those who took part in that; whoever took "
        f"part in everything spent ε = {_sum_costs(release)[0]:g} in all."
    )


def _sum_costs(release: Release) -> tuple[float, float]:
    """The ε and the δ of whoever took part in everything."""
    made = release.certificates
    return math.fsum(one.epsilon for one in made), math.fsum(one.delta for one in made)


def _with_evaluations(release: Release) -> str:
    from ostraka.public.promise import surest

    if not release.evaluations:
        return ""
    return (
        " Having seen how it was evaluated, too, they are right "
        f"{surest(*_sum_costs(release))} of the time, if that {release.certificate.protects} took "
        "part in everything."
    )


def print_evaluation(release: Release) -> None:
    """The confusion table of the last evaluation, if there is one."""
    from ostraka.cli.confusion import print_confusion

    if not release.evaluations or release.evaluations[-1].accuracy is None:
        return  # a table of noise
    cells = [[f"{share:.1%}" for share in row] for row in release.evaluations[-1].table.tolist()]
    title = "Shares of all rows"
    print_confusion(release.model.task.classes, cells, title)


def _judge(release: Release) -> str:
    """The last evaluation; without one, what is known without asking anybody."""
    from ostraka.release.model import say_always

    classes = release.model.task.classes
    if not release.evaluations:
        alike = say_always(release.model)
        told = release.outlook.describe(classes)
        return told if alike is None else f"{alike} {told}"
    *earlier, last = release.evaluations
    before = "".join(f" An earlier evaluation said {each.accuracy}." for each in earlier)
    return last.describe(classes) + before


def _as_json(release: Release) -> str:
    """The certificate; with evaluations, these beside its fields."""
    from ostraka.tensors import canonical_json, parse_json

    written = release.certificate.to_json()
    if not release.evaluations:
        return written
    stated = [each.facts(release.model.task.classes) for each in release.evaluations]
    return canonical_json({**parse_json(written, "certificate"), "evaluations": stated})


def _technical(release: Release, verified: str) -> str:
    """The facts, a line each."""
    facts = {
        **_facts(release.certificate),
        "model": _model(release.model),
        "digest": f"{release.digest}, by which ledgers and second rounds name it",
        **{
            f"evaluation {each.digest[:12]}": each.certificate.technical
            for each in release.evaluations
        },
    }
    lines = [
        release.certificate.technical,
        *(f"{name}: {value}" for name, value in facts.items()),
    ]
    return "\n".join([*lines, *([verified] if verified else [])])


def _model(model: Model) -> str:
    from ostraka.release.kernel_model import KernelModel

    if isinstance(model, KernelModel):
        return f"a kernel student of a linear one, with {len(model.landmarks)} public rows in it"
    return "linear in the features"


def _verify(promised: Certificate) -> str:
    """Compute δ anew from noise and sensitivity; nothing to say if δ is 0."""
    from ostraka.verifying import check_noise

    found = check_noise(promised)
    if promised.round_delta == 0.0:
        return ""
    return f"Verified: this noise gives δ ≤ {found:.3g} at ε = {promised.round_epsilon:g}."


def _facts(promised: Certificate) -> dict[str, str]:
    """The facts, each with a word on what it means."""
    return {
        "auxiliary set": _auxiliary(promised),
        "poll": promised.poll or "not recorded: made by an earlier version",
        "sensitivity": _sensitivity(promised),
        "noise": f"{promised.noise} of scale {promised.noise_scale:.6g}, drawn exactly from the "
        "operating system's generator",
        "coordinates": f"{promised.dimension} numbers got noise: {promised.coordinates}",
        "taken to be public": promised.assumed or "nothing but what the poll says",
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


def _columns(task: Task) -> str:
    from ostraka.public.promise import plural

    names = task.feature_names or ()
    some = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return plural("column", task.n_columns) + (f" ({some})" if names else "")


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
