"""`ostraka evaluate`: a poll that asks how good a release is, on the parties' own rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostraka.cli.help import DATA, OUTPUT, examples, option
from ostraka.cli.options import COORDINATOR, EPSILON, FORCE, LEAST_PARTIES, ROLL, TRUSTEE
from ostraka.cli.screen import console, print_answers, print_mind
from ostraka.cli.sealed import read_servers

EXAMPLES = examples(
    "ostraka evaluate model.ostraka --epsilon 1 --parties 40 --out check.poll",
    "ostraka contribute check.poll mine.csv --label-column outcome \\\n"
    "    --party ward-3 --out ward-3.contribution",
    "ostraka release check.poll inbox/ --ledger budgets.db --out evaluated.ostraka",
)


def evaluate(
    file: Annotated[
        Path, typer.Argument(help="A release, as written by `ostraka release` or `ostraka learn`.")
    ],
    *,
    parties: Annotated[
        int | None,
        option(
            DATA,
            "How many parties are expected; by default, as many as --roll names.",
            of="number",
        ),
    ] = None,
    persons: Annotated[
        int | None,
        option(
            DATA,
            "If the release protects persons: about how many there are in all.",
            of="number",
        ),
    ] = None,
    roll: Annotated[Path | None, ROLL] = None,
    epsilon: Annotated[float, EPSILON],
    least_parties: Annotated[int, LEAST_PARTIES] = 2,
    trustee: Annotated[Path | None, TRUSTEE] = None,
    coordinator: Annotated[Path | None, COORDINATOR] = None,
    out: Annotated[Path, option(OUTPUT, "Where to write the poll.", of="file")],
    title: Annotated[
        str, option(OUTPUT, "One line that says what the poll is about.", of="text")
    ] = "",
    force: Annotated[bool, FORCE] = False,
) -> None:
    """Make a poll that asks how often a model is right on the parties' own rows. Nothing is spent
    yet.

    Then every party runs `ostraka contribute` and the coordinator `ostraka release`, as for any
    poll. That costs every party the ε given here, besides what the model has cost.
    """
    from ostraka.cli.words import names_in
    from ostraka.expect.advice import weak
    from ostraka.expect.describe import describe
    from ostraka.files import check_distinct, check_new
    from ostraka.poll import Poll
    from ostraka.release import Release

    check_new(out, force)
    check_distinct(out, (file, roll), "the release or the roll")
    servers = read_servers(trustee, coordinator)
    poll = Poll.evaluate(
        Release.load(file),
        epsilon=epsilon,
        parties=parties,
        persons=persons,
        roll=None if roll is None else names_in(roll),
        least_parties=least_parties,
        title=title,
        servers=servers,
    )
    poll.save(out, overwrite=True)  # asked before
    print_answers(describe(poll, str(out)))
    console(soft_wrap=True).print(f"Wrote {out}. Send it to every party.", markup=False)
    told = weak(epsilon)
    if told is not None:
        print_mind(told)
