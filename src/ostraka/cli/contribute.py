"""`ostraka contribute`: one party's contribution, computed on its own machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.answering import (
    Given,
    contribute_model,
    contribute_rows,
    count_persons,
    no_rows,
    read_rows,
)
from ostraka.cli.help import DATA, METHOD, OUTPUT, examples, option
from ostraka.cli.members import PLAIN, YES
from ostraka.cli.options import FORCE, LABEL_COLUMN, SITE, TRUST

if TYPE_CHECKING:
    from ostraka.datasets.tables import Table
    from ostraka.party.contribution import Contribution
    from ostraka.poll import Poll
    from ostraka.site import Site

EXAMPLES = examples(
    "ostraka contribute stroke.poll mine.csv --label-column outcome \\\n"
    "    --party ward-3 --out ward-3.contribution",
    "ostraka contribute https://polls.example.org/polls/3f2a... mine.csv \\\n"
    "    --label-column outcome",
    "ostraka contribute stroke.poll --model mine.onnx \\\n"
    "    --party ward-3 --out ward-3.contribution",
)

NO_RULES = "You have none (ostraka policy), so every poll is answered, and none is counted."
MANY = 5
FAR = 5.0
"""This many times the range (or deviation) of a public column: most likely another unit."""


def contribute(
    poll: Annotated[
        str,
        typer.Argument(
            help="The poll: a file as written by `ostraka poll create`, or its address at a "
            "service that you have joined."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(
            help="Your own labelled samples: .csv, .parquet, .npz or .svm. Not needed with --model."
        ),
    ] = None,
    *,
    label_column: Annotated[str | None, LABEL_COLUMN] = None,
    person_column: Annotated[
        str | None,
        option(
            DATA,
            "Where the poll protects persons: the column that says whose row it is.",
            of="column",
        ),
    ] = None,
    local: Annotated[
        str,
        option(
            METHOD,
            "Where parties vote: what you train, out of linear, logistic, tree, forest, "
            "neighbours, bayes, svm, boosting, xgboost, lightgbm.",
            of="classifier",
        ),
    ] = "linear",
    model: Annotated[
        Path | None,
        option(
            METHOD,
            "Where parties vote: a classifier that you have already trained, as .onnx or .skops.",
            of="file",
        ),
    ] = None,
    trust: Annotated[list[str] | None, option(METHOD, TRUST, of="type")] = None,
    party: Annotated[
        str | None,
        option(
            OUTPUT,
            "Your name in the poll. Case and spaces around it do not matter. A service knows it.",
            of="name",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            OUTPUT,
            "Where to write the contribution: the only file that leaves. To an address it is sent.",
            of="file",
        ),
    ] = None,
    check: Annotated[
        bool,
        option(OUTPUT, "Only check whether the table fits the poll; write nothing.", "--check"),
    ] = False,
    force: Annotated[bool, FORCE] = False,
    site: Annotated[Path | None, SITE] = None,
    jobs: Annotated[
        int,
        option(
            OUTPUT,
            "Workers that train the classifiers of many persons; -1 means all cores.",
            of="number",
        ),
    ] = -1,
    yes: Annotated[bool, YES] = False,
    plain: Annotated[bool, PLAIN] = False,
) -> None:
    """Compute your contribution to a poll, show what leaves this machine, and write it to one small
    file; or, to a poll's address, send it.

    With a file, reads only the poll and your own file, and needs no network: mail the result to the
    coordinator. With an address, the poll is fetched and checked, and you are asked before anything
    is sent. What did not arrive is kept: the same command without DATA sends it once more. Until
    the poll is closed, you can contribute anew, and the last one counts.

    If you have rules (ostraka policy), a poll that breaks them is refused before that.
    """
    from ostraka.client.address import is_address
    from ostraka.site import Site

    given = Given(data, label_column, person_column, local, model, tuple(trust or ()), jobs)
    if is_address(poll):
        from ostraka.cli.members import at_poll
        from ostraka.cli.sending import answer

        at_poll(site, poll, "party", plain=plain)  # whoever has not joined hears that first
    rules = Site.find(site)
    if is_address(poll):
        answer(poll, given, rules, party=party, out=out, check=check, yes=yes, plain=plain, at=site)
        return
    _answer_file(Path(poll), given, rules, party=party, out=out, check=check, force=force)


@dataclass(frozen=True, slots=True)
class Made:
    """A contribution, and what there is to say of it."""

    contribution: Contribution
    source: str
    warn: Callable[[], None]


def make(poll: Poll, given: Given, party: str, then: str, *, check: bool) -> Made | None:
    """A contribution; None if only the table was looked at."""
    if given.model is not None:
        made = contribute_model(poll, given, party)
        return Made(made, f"the classifier {given.model.name}", lambda: None)
    table = read_rows(poll, given)

    def warn() -> None:
        _warn(poll, table, given.person_column)

    if check:
        _fits(poll, table, then)
        warn()
        return None
    made = contribute_rows(poll, table, given, party)
    return Made(made, f"{_say_rows(table)} in {Path(str(given.data)).name}", warn)


def _answer_file(
    file: Path,
    given: Given,
    rules: Site | None,
    *,
    party: str | None,
    out: Path | None,
    check: bool,
    force: bool,
) -> None:
    """Read the poll from a file, and write the contribution to another."""
    from ostraka.errors import ParameterError
    from ostraka.files import check_distinct, check_new, check_writable
    from ostraka.poll import Poll

    poll = Poll.load(file)
    if rules is not None:
        rules.check(poll, party)
    if not check:
        needed = {"--party": (party, "your name in the poll"), "--out": (out, "a file to write")}
        for name, (value, what) in needed.items():
            if value is None:
                raise ParameterError(name, got=None, allowed=f"{what}; or else --check")
        assert out is not None
        own = () if rules is None else rules.files()
        check_new(out, force)
        check_writable(out)
        check_distinct(
            out,
            (file, given.data, given.model, *own),
            "the poll, the data, the model or your rules",
        )
    then = (
        f"Read what the poll asks with ostraka poll show {file}; then run this command with "
        "--party and --out instead of --check."
    )
    made = make(poll, given, party or "check", then, check=check)
    if made is None:
        return
    allowed = count(rules, poll, None if check else party)
    written = "Nothing was written."
    if out is not None and not check:
        made.contribution.save(out, overwrite=True)  # asked before
        how = (
            "Send it to the coordinator: neither server can read it alone."
            if poll.is_sealed
            else "Send it to the coordinator, on a protected channel: it is made of your data."
        )
        written = f"Wrote {out}. {how} You hear of the result when enough parties have sent theirs."
    report(poll, made, {"And my own rules?": allowed, "What next?": written})
    made.warn()


def count(rules: Site | None, poll: Poll, party: str | None) -> str:
    """In the site's own account, before anything is written that could leave; and what to say."""
    if rules is None:
        return NO_RULES
    if party is not None:
        rules.charge(poll, party)
    left = rules.left()
    year = f"Spent this year: {rules.spent()}" if left is None else f"Left of this year: {left}"
    return f"They allow this poll. {year}."


def _fits(poll: Poll, table: Table, then: str) -> None:
    """Everything that could be wrong with a table, without computing a contribution."""
    from ostraka.errors import list_names

    samples = table.samples if len(table) else no_rows(poll)
    poll.task.features(samples)
    poll.task.indices(table.labels)
    unused = f"Not used, and stays here: {list_names(table.unused)}. " if table.unused else ""
    typer.echo(
        f"{_say_rows(table)} can be read by the poll's columns, and every class is on its list. "
        f"{unused}Nothing was computed and nothing was written.\n"
        f"What next? {then}"
    )


def _say_rows(table: Table) -> str:
    from ostraka.public.promise import plural

    rows = plural("row", len(table))
    return rows if table.parties is None else f"{rows} of {plural('person', count_persons(table))}"


def _warn(poll: Poll, table: Table, person_column: str | None) -> None:
    """What a party should know about its own table; shown here, sent nowhere."""
    import numpy as np

    from ostraka.public.remarks import remark_entries

    if len(table) == 0:
        typer.echo("Mind: your table has NO rows. You count all the same, with zeros.")
        return
    if 1 < len(table) == count_persons(table):
        typer.echo(
            f"Mind: {_say_rows(table)}: is {person_column!r} really the column that says whose row "
            "it is?"
        )
    if poll.task.columns is not None:
        for told in remark_entries(poll.task.columns, table.samples)[:MANY]:
            typer.echo(f"Mind: {told}")
    public = poll.task.preprocessing
    if hasattr(table.samples, "tocsr") or public.center is None or public.scale is None:
        return
    with np.errstate(all="ignore"):
        far = np.abs(poll.task.rows(table.samples) - public.center) / public.scale
        odd = np.flatnonzero(np.median(far, axis=0) > FAR)
    known = poll.task.columns
    names = tuple(map(str, range(public.center.size))) if known is None else known.labels
    for column in odd[:MANY]:
        typer.echo(
            f"Mind: most of your values of {names[column]} are far from those of the public "
            "samples. Are they in the same unit?"
        )


def _say_used(poll: Poll) -> str:
    if poll.keep_back is None:
        return ""
    if poll.judged is None:
        return f", but for one in {poll.keep_back}, which is kept back for an evaluation"
    return f", of which one in {poll.keep_back}, kept back from learning, is used"


def report(poll: Poll, made: Made, more: dict[str, str], *, served: bool = False) -> None:
    """What was computed, what leaves the machine, and what it costs."""
    from ostraka.cli.screen import print_answers
    from ostraka.expect.describe import describe, say_sent

    sent = made.contribution
    size, kind = len(sent.to_bytes()), "vote" if sent.of_votes else "whole number"
    kind = "byte" if poll.private_auxiliary else kind
    number = poll.domain.dimension if sent.is_sealed else sent.values.size
    what = f"{number:,} {kind if number == 1 else kind + 's'}"
    if sent.is_sealed:
        what += " in two halves, each of which looks like chance"
    if sent.n_persons is not None:
        what += f" and the number of persons, {sent.n_persons:,}"
    asked = describe(poll, served=served)
    kept = ("What does it cost me?", "What does ε mean for me?", "Whom do I have to trust?")
    print_answers(
        {
            "What was computed?": f"From {made.source}{_say_used(poll)}: {say_sent(poll)}.",
            "What leaves my machine?": f"{what}: {size:,} bytes in all, with your name, "
            f"{sent.party}. No row, no column and no file of yours.",
            **{question: asked[question] for question in kept},
            **more,
        }
    )
