"""`ostraka trustee`: the second server, which holds the other half of what parties send."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.choices import PARTY, UnitName
from ostraka.cli.help import Command, Group, examples, option
from ostraka.cli.members import YES, ask
from ostraka.cli.options import FORCE, WHOSE_ACCOUNT
from ostraka.cli.screen import console, print_answers

if TYPE_CHECKING:
    from ostraka.trustee import Desk, Request
    from ostraka.trustee.desk import Opened

EXAMPLES = examples(
    'ostraka trustee init trustee --name "University of Athens" --epsilon 10',
    "ostraka trustee show stroke.request",
    "ostraka trustee answer stroke.request --out stroke.answer",
)
DEFAULT = Path("trustee")
FEW = 20

app = typer.Typer(
    name="trustee",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog=EXAMPLES,
    help="Be the second server of a poll: parties are safe as long as you or the coordinator are "
    "honest. A laptop is enough.\n\n"
    "You make a card once, and give it to coordinators. When a poll is closed, its coordinator "
    "sends you a request: one half of every contribution, which looks like chance. You add them "
    "up, add your own noise, and send one answer.",
)

At = Annotated[
    Path, option(None, "Your folder, as made by `ostraka trustee init`.", "--at", of="folder")
]
File = Annotated[Path, typer.Argument(help="A request, by `ostraka release ... --request`.")]


@app.command(
    cls=Command,
    epilog=examples('ostraka trustee init trustee --name "University of Athens" --epsilon 10'),
)
def init(
    folder: Annotated[Path, typer.Argument(help="A folder that is not there yet.")] = DEFAULT,
    *,
    name: Annotated[str, option(None, "How people call you.", of="name")],
    epsilon: Annotated[
        float, option(None, "The most ε that a party may lose, over all polls.", of="number")
    ] = 10.0,
    delta: Annotated[
        float, option(None, "The most δ; 0 for polls of pure ε alone.", of="number")
    ] = 1e-5,
    protects: Annotated[UnitName, WHOSE_ACCOUNT] = PARTY,
) -> None:
    """Make a trustee: a secret key, a card for coordinators, and accounts of your own."""
    from ostraka.ledger import Budget
    from ostraka.trustee import Desk

    desk = Desk.create(folder, name, Budget(epsilon=epsilon, delta=delta or None), protects.value)
    print_answers(
        {
            "You are": str(desk.card),
            "Wrote": f"{folder}, which only you can read. Use it on one machine, and never put "
            "back an older copy: it holds what you have answered. If it is lost, make another "
            "trustee; polls that wait for this one end without a release.",
            "What next?": f"Publish your key where people know that it is yours, and give "
            f"{folder / 'trustee.card'} to coordinators: ostraka poll create ... --trustee "
            "trustee.card",
        }
    )


@app.command(
    cls=Command,
    epilog=examples("ostraka trustee show", "ostraka trustee show stroke.request"),
)
def show(
    request: Annotated[
        Path | None,
        typer.Argument(help="A request, by `ostraka release ... --request`; or nothing."),
    ] = None,
    *,
    at: At = DEFAULT,
) -> None:
    """Say who you are; or what a request asks of you, and what it costs whom. Nothing is
    answered.
    """
    from ostraka.trustee import Desk

    desk = Desk.at(at)
    if request is None:
        spent = len(desk.ledger.history())
        told = {
            "You are": str(desk.card),
            "Your card": str(at / "trustee.card"),
            "Answered": f"{spent:,} {'poll' if spent == 1 else 'polls'}. Who has spent what: "
            f"ostraka ledger show {at / 'ledger.db'}",
        }
        print_answers(told)
        return
    asked = _load(request)
    opened = desk.open(asked)
    _describe(desk, asked, opened)
    desk.price(opened)
    typer.echo(f"What next? ostraka trustee answer {request} --out {request.stem}.answer")


@app.command(
    cls=Command,
    epilog=examples("ostraka trustee answer stroke.request --out stroke.answer"),
)
def answer(
    request: File,
    *,
    out: Annotated[Path, option(None, "Where to write the answer.", of="file")],
    at: At = DEFAULT,
    yes: Annotated[bool, YES] = False,
    force: Annotated[bool, FORCE] = False,
) -> None:
    """Add up your half, charge everybody, add your noise, and write the answer for the coordinator.

    Once for each poll: the same request has the same answer, however often it is given, and another
    one is refused. If this is interrupted, the same command goes on.
    """
    from ostraka.files import check_distinct, check_new, check_writable, write_atomically
    from ostraka.progress import watch
    from ostraka.trustee import Desk

    check_new(out, force)
    check_writable(out)
    check_distinct(out, (request,), "the request")
    desk, asked = Desk.at(at), _load(request)
    opened = desk.open(asked, watch("Opening", console().is_terminal))
    if not desk.memory.knows(asked.poll.digest):
        _describe(desk, asked, opened)
        desk.price(opened)
        ask("Answer, and charge everybody? A poll is answered once.", yes, "Nothing was answered.")
    made = desk.answer(asked, opened)
    write_atomically(out, made.to_bytes())
    print_answers(
        {
            "Wrote": f"{out}. It looks like chance to everybody but the coordinator, who sees a "
            "sum with your noise in it.",
            "What next?": f"Send it to the coordinator, who runs: ostraka release ... --answer "
            f"{out.name}",
        }
    )


def _load(path: Path) -> Request:
    from ostraka.errors import naming_file
    from ostraka.files import read_regular
    from ostraka.tensors import LARGEST_FILE
    from ostraka.trustee import Request

    with naming_file(path):
        return Request.from_bytes(read_regular(path, "request", LARGEST_FILE))


def _describe(desk: Desk, asked: Request, opened: Opened) -> None:
    from ostraka.expect.describe import describe
    from ostraka.trustee.request import servers_of

    told, poll = describe(asked.poll), asked.poll
    kept = ("Poll", "What is learnt?", "Who is asked?", "What does ε mean for me?")
    names = opened.tally.names
    some = ", ".join(names[:FEW]) + (f" and {len(names) - FEW:,} more" * (len(names) > FEW))
    left_out = ", ".join(opened.left_out) or "nobody"
    print_answers(
        {
            **{question: told[question] for question in kept},
            "Who asks?": str(servers_of(poll).coordinator),
            "Who is in?": f"{len(names):,}: {some}",
            "Whose half does not open?": left_out,
            "What does it cost each?": f"ε = {opened.certificate.round_epsilon:g}"
            + (f", δ = {opened.certificate.round_delta:g}" * (opened.certificate.round_delta > 0))
            + f", in your own accounts ({desk.folder / 'ledger.db'})",
        }
    )
