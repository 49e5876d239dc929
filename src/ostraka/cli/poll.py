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
    ObjectiveName,
    StudentName,
    UnitName,
)
from ostraka.cli.help import DATA, METHOD, OUTPUT, PROMISE, Command, Group, examples, option
from ostraka.cli.members import (
    AT,
    PLAIN,
    SERVER,
    YES,
    ask,
    at_poll,
    fetch_at,
    member_of,
    poll_address,
)
from ostraka.cli.options import (
    CALIBRATION,
    CLASSES,
    COLUMNS,
    COORDINATOR,
    DELTA,
    DROP,
    EPSILON,
    FORCE,
    KEEP_BACK,
    LAMBDA,
    LEAST_PARTIES,
    METHODS,
    NATURAL,
    NOISE,
    OBJECTIVE,
    PENALTY,
    RADIUS,
    ROLL,
    SAMPLES_EACH,
    SAMPLES_LARGEST,
    SHIFT,
    SITE,
    START,
    STUDENT,
    SVMLIGHT_COLUMNS,
    TRUSTEE,
)
from ostraka.cli.screen import console, print_answers, print_mind
from ostraka.cli.sealed import read_servers

if TYPE_CHECKING:
    from ostraka.client import Membership
    from ostraka.poll import Poll
    from ostraka.public.auxiliary import AuxiliarySet

app = typer.Typer(
    name="poll",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help=(
        "Make or show a poll: the public file that says what is asked of every party, and what "
        "is promised.\n\n"
        "Then every party runs [bold]ostraka contribute[/] on its own machine and mails one small "
        "file, and "
        "[bold]ostraka release[/] makes the model."
    ),
    epilog=examples(
        "ostraka poll create public.csv --classes ill,well --parties 40 --epsilon 1 \\\n"
        "    --out stroke.poll",
        "ostraka poll show stroke.poll",
    ),
)


@app.command(
    cls=Command,
    epilog=examples(
        'ostraka poll create public.csv --title "Stroke, 2026" --classes ill,well \\\n'
        "    --parties 40 --samples-each 200 --epsilon 1 --out stroke.poll"
    ),
)
def create(
    public: Annotated[
        Path,
        typer.Argument(
            help="Public samples without labels. They set the scale, and parties may vote on them."
        ),
    ],
    *,
    classes: Annotated[str, option(DATA, CLASSES, of="names")],
    parties: Annotated[
        int | None,
        option(
            DATA,
            "How many parties are expected; by default, as many as --roll names.",
            of="number",
        ),
    ] = None,
    samples_each: Annotated[int | None, SAMPLES_EACH] = None,
    natural: Annotated[bool | None, NATURAL] = None,
    samples_largest: Annotated[int | None, SAMPLES_LARGEST] = None,
    keep_back: Annotated[int | None, KEEP_BACK] = None,
    roll: Annotated[Path | None, ROLL] = None,
    drop: Annotated[list[str] | None, DROP] = None,
    columns: Annotated[str | None, COLUMNS] = None,
    svmlight_columns: Annotated[int | None, SVMLIGHT_COLUMNS] = None,
    radius: Annotated[float | None, RADIUS] = None,
    private_auxiliary: Annotated[
        bool,
        option(
            DATA,
            "The samples are somebody's secret too (soft, vote; needs --radius): parties send "
            "classifiers.",
            "--private-auxiliary",
        ),
    ] = False,
    epsilon: Annotated[float, EPSILON],
    delta: Annotated[float, DELTA] = 0.0,
    protects: Annotated[
        UnitName,
        option(
            PROMISE,
            "Whose data is hidden as a whole: that of a party, or of a person at one of a few "
            "holders.",
            of="party|person",
        ),
    ] = PARTY,
    persons: Annotated[
        int | None,
        option(
            PROMISE,
            "With --protects person: about how many persons there are in all.",
            of="number",
        ),
    ] = None,
    least_parties: Annotated[int, LEAST_PARTIES] = 2,
    trustee: Annotated[Path | None, TRUSTEE] = None,
    coordinator: Annotated[Path | None, COORDINATOR] = None,
    method: Annotated[MethodName, option(METHOD, METHODS, of="method")] = AUTO,
    noise: Annotated[NoiseName, NOISE] = ANY_NOISE,
    shift: Annotated[bool, SHIFT] = False,
    penalty: Annotated[float | None, PENALTY] = None,
    objective: Annotated[ObjectiveName | None, OBJECTIVE] = None,
    student: Annotated[StudentName | None, STUDENT] = None,
    start: Annotated[Path | None, START] = None,
    lambda_: Annotated[float | None, LAMBDA] = None,
    calibration: Annotated[CalibrationName | None, CALIBRATION] = None,
    out: Annotated[
        Path | None,
        option(OUTPUT, "Where to write the poll; not needed with --server.", of="file"),
    ] = None,
    server: Annotated[
        str | None,
        option(OUTPUT, "A service that gets it, as a draft.", of="address"),
    ] = None,
    site: Annotated[
        Path | None,
        option(OUTPUT, "With --server: the folder of what you have joined.", of="folder"),
    ] = None,
    plain: Annotated[
        bool,
        option(OUTPUT, "With --server: without encryption, on a network you trust.", "--plain"),
    ] = False,
    title: Annotated[
        str, option(OUTPUT, "One line that says what the poll is about.", of="text")
    ] = "",
    force: Annotated[bool, FORCE] = False,
) -> None:
    """Make a poll from public things alone. Anybody may see it; nothing private goes into it."""
    from ostraka.cli.words import names_in, words
    from ostraka.errors import ParameterError
    from ostraka.expect.advice import look_at_public, weak
    from ostraka.expect.describe import describe
    from ostraka.expect.unit import advise_unit, drowns
    from ostraka.files import check_new
    from ostraka.poll import Poll
    from ostraka.release import Release

    if out is None and server is None:
        raise ParameterError("--out", got=None, allowed="a file to write; or else --server")
    if out is not None:
        check_new(out, force)
    member = None if server is None else member_of(site, server, "admin", plain=plain)
    servers = read_servers(trustee, coordinator, member)
    first = None if start is None else Release.load(start)
    asked = None if roll is None else names_in(roll)
    auxiliary, read = _auxiliary(
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
    with console().status("Rehearsing on the public samples"):  # on terminals only
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
            keep_back=keep_back,
            samples_each=samples_each,
            natural=natural,
            samples_largest=samples_largest,
            shift=shift or None,
            penalty=penalty,
            objective=None if objective is None else objective.value,
            student=None if student is None else student.value,
            start=first,
            lambda_=lambda_,
            calibration=None if calibration is None else calibration.value,
            servers=servers,
        )
    if out is not None:
        poll.save(out, overwrite=True)  # asked before
    told = describe(poll, str(out))
    if member is not None:  # what is next is said below
        del told["What next?"]
    print_answers(told)
    number = parties if parties is not None else len(asked or ())
    rows = "" if poll.auxiliary is None else "with the public rows in it, "
    ready = f"Send it to every party: {rows}it is for anybody to read." * (drowns(poll) is None)
    if member is not None:
        ready = "Parties get the poll from the service; who has no network needs this file."
    if out is not None:
        console(soft_wrap=True).print(f"Wrote {out}. {ready}", markup=False)
    if member is not None:
        _upload(member, poll)
    remarks = (
        advise_unit(poll, number, samples_each or 10),
        weak(epsilon),
        *look_at_public(auxiliary),
        *read,
    )
    for each in remarks:
        if each is not None:
            print_mind(each)


@app.command(
    cls=Command,
    epilog=examples(
        "ostraka poll show stroke.poll", "ostraka poll show stroke.poll --json | jq .epsilon"
    ),
)
def show(
    file: Annotated[
        str,
        typer.Argument(
            help="A poll, as written by `ostraka poll create`, or its address at a service that "
            "you have joined."
        ),
    ],
    *,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON instead.")] = False,
    site: Annotated[Path | None, SITE] = None,
    plain: Annotated[bool, PLAIN] = False,
) -> None:
    """Say in plain words what a poll asks of a party, what leaves its machine, and what is
    promised.
    """
    from json import dumps

    from ostraka.client.address import is_address
    from ostraka.expect.describe import describe, facts
    from ostraka.poll import Poll

    poll = fetch_at(site, file, plain=plain) if is_address(file) else Poll.load(file)
    if json:
        typer.echo(dumps(facts(poll), sort_keys=True, ensure_ascii=False))
        return
    print_answers(describe(poll, file, served=is_address(file)))


@app.command(
    cls=Command,
    epilog=examples("ostraka poll upload stroke.poll --server https://polls.example.org"),
)
def upload(
    file: Annotated[Path, typer.Argument(help="A poll, as written by `ostraka poll create`.")],
    *,
    server: Annotated[str | None, SERVER] = None,
    site: Annotated[Path | None, SITE] = None,
    plain: Annotated[bool, PLAIN] = False,
) -> None:
    """Give a poll to a service, as a draft that only admins see."""
    from ostraka.poll import Poll

    poll = Poll.load(file)
    _upload(member_of(site, server, "admin", plain=plain), poll)


@app.command(
    name="open",
    cls=Command,
    epilog=examples("ostraka poll open https://polls.example.org/polls/..."),
)
def open_poll(
    address: Annotated[str, typer.Argument(help=AT)],
    *,
    yes: Annotated[bool, YES] = False,
    site: Annotated[Path | None, SITE] = None,
    plain: Annotated[bool, PLAIN] = False,
) -> None:
    """Let parties contribute to a draft. From now on it is signed and never changes."""
    member, where = at_poll(site, address, "admin", plain=plain)
    with member.session() as (_, client):
        state = client.poll(where.digest)
        if state.state == "draft":
            question = f"Open {state.title or 'this poll'}? It cannot be changed any more."
            ask(question, yes, "It was not opened.")
        client.open_poll(where.digest)
    typer.echo(
        f"Open. Whoever is asked contributes by: ostraka contribute {where} TABLE "
        "--label-column COLUMN. Who has not joined yet: ostraka invite NAME ..."
    )


@app.command(
    cls=Command, epilog=examples("ostraka poll abandon https://polls.example.org/polls/...")
)
def abandon(
    address: Annotated[str, typer.Argument(help=AT)],
    *,
    yes: Annotated[bool, YES] = False,
    site: Annotated[Path | None, SITE] = None,
    plain: Annotated[bool, PLAIN] = False,
) -> None:
    """End a poll at a service without a release, and erase what was sent."""
    member, where = at_poll(site, address, "admin", plain=plain)
    with member.session() as (_, client):
        state = client.poll(where.digest)
        question = f"Abandon {state.title or 'this poll'}? There will be no release of it."
        ask(question, yes, "It was not abandoned.")
        client.abandon_poll(where.digest)
    typer.echo("Abandoned. What was sent to it is erased, and nobody was charged.")


def _upload(member: Membership, poll: Poll) -> None:
    with member.session() as (_, client):
        state = client.add_poll(poll.digest, poll.to_bytes())
        where = poll_address(client, poll.digest)
    typer.echo(f"It is at {where}, as {state.state}.")
    if state.state == "draft":
        typer.echo(f"Open it for contributions: ostraka poll open {where}")


def _auxiliary(
    path: Path,
    classes: list[str],
    method: str,
    private: bool,
    radius: float | None,
    drop: list[str],
    description: str | None,
    n_columns: int | None,
    start: Any,
) -> tuple[AuxiliarySet, tuple[str, ...]]:
    """The public samples, and what to say of how they were read."""
    from ostraka.cli.public_table import check_dropped, read_public
    from ostraka.datasets import tables
    from ostraka.errors import ParameterError
    from ostraka.public.auxiliary import AuxiliarySet
    from ostraka.public.prepare import INTERCEPT, prepare
    from ostraka.public.preprocessing import Preprocessing

    if private:
        samples = tables.read(path, drop=drop, n_columns=n_columns).samples
        if radius is None:
            allowed = "a public bound for the length of samples, where they are private"
            raise ParameterError("--radius", got=None, allowed=allowed)
        agreed = Preprocessing(radius=radius, constant=INTERCEPT)
        return AuxiliarySet(samples, tuple(classes), preprocessing=agreed, private=True), ()
    like = None if start is None else start.model.task
    public = read_public(path, description, drop, like=like and like.columns, n_columns=n_columns)
    if public.columns is not None:
        check_dropped(drop, public.names, path.name)
    made = prepare(
        public.samples, classes, method, columns=public.columns, radius=radius, like=like
    )
    return made, public.told
