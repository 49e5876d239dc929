"""`ostraka release`: from a poll and what the parties sent to a model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.help import DATA, OUTPUT, PROMISE, examples, option
from ostraka.cli.options import FORCE, LEDGER, MODEL_OUT, TRUST
from ostraka.cli.screen import print_answers, print_mind
from ostraka.cli.sealed import add_up, check_given
from ostraka.cli.sign import check_place, write_signature

if TYPE_CHECKING:
    from rich.console import Console

    from ostraka.poll import Poll
    from ostraka.release import Release
    from ostraka.signing import SecretKey
    from ostraka.tally import Tally
    from ostraka.trustee import Asking, Joining

EXAMPLES = examples(
    "ostraka release stroke.poll inbox/ --check",
    "ostraka release stroke.poll inbox/ --ledger budgets.db --out model.ostraka",
    "ostraka release stroke.poll inbox/ --key st-mary.key --request stroke.request",
)
FEW = 100
RUN_FIRST = (
    "Each party runs ostraka contribute on its own machine first, and sends the file that it "
    "writes; its table stays there."
)
A_TABLE = "This is a table, not a contribution: its party runs ostraka contribute first."


def release(
    file: Annotated[Path, typer.Argument(help="The poll, as written by `ostraka poll create`.")],
    inbox: Annotated[
        Path, typer.Argument(help="The folder with the parties' contributions, one file each.")
    ],
    *,
    auxiliary: Annotated[
        Path | None,
        option(
            DATA,
            "The private auxiliary samples, for a poll that was made with --private-auxiliary.",
            of="file",
        ),
    ] = None,
    trust: Annotated[list[str] | None, option(DATA, TRUST, of="type")] = None,
    ledger: Annotated[Path | None, LEDGER] = None,
    out: Annotated[Path | None, MODEL_OUT] = None,
    check: Annotated[
        bool,
        option(OUTPUT, "Only list who is in, missing or refused; release nothing.", "--check"),
    ] = False,
    again: Annotated[
        bool,
        option(
            PROMISE,
            "Release a poll once more that the ledger has charged already. Every party pays again.",
            "--again",
        ),
    ] = False,
    recover: Annotated[
        bool,
        option(
            PROMISE,
            "The release of an earlier run was lost: write it once more, of what was drawn "
            "then. It costs nothing.",
            "--recover",
        ),
    ] = False,
    key: Annotated[
        Path | None,
        option(
            OUTPUT,
            "Your secret key, by `ostraka key create`: sign the release, in a file beside it.",
            of="file",
        ),
    ] = None,
    request: Annotated[
        Path | None,
        option(
            DATA,
            "Of a poll with a trustee: where to write the request to it; with --answer, the one "
            "that was answered.",
            of="file",
        ),
    ] = None,
    answer: Annotated[
        Path | None,
        option(DATA, "Of a poll with a trustee: what it has answered.", of="file"),
    ] = None,
    force: Annotated[bool, FORCE] = False,
) -> None:
    """Check every contribution, list who is in, missing or refused (and why), then charge and
    release.

    Of a poll by `ostraka evaluate`, the release comes out as it was, with the evaluation added.
    Without a ledger, every call is a new release and costs every party ε; with one, a poll is
    released once, and a run that was interrupted is finished by the next. If a contribution is
    refused, the others still count.
    """
    from rich.console import Console

    from ostraka.errors import InputError, ParameterError
    from ostraka.poll import Poll
    from ostraka.releasing import Asking, refuse_again
    from ostraka.signing import SecretKey
    from ostraka.tally import Tally

    if inbox.is_file() and not file.is_dir():
        raise InputError(
            f"{inbox} is a file.",
            "Give the folder that holds what all parties sent.",
        )
    if file.is_dir() and inbox.is_file():
        raise InputError(
            f"{file} is a folder, and {inbox} is a file.",
            f"The poll comes first, then the folder: ostraka release {inbox} {file}.",
        )
    if recover and (ledger is None or check or again):
        raise ParameterError("--recover", got="alone", allowed="with --ledger and --out")
    asks = request is not None and answer is None
    if out is None and not check and not asks:
        raise ParameterError("--out", got=None, allowed="where to write the model; or else --check")
    if out is not None:
        _check_out(out, force, file, ledger, key)
    secret = None if key is None else SecretKey.load(key)  # before anybody pays
    if out is not None and key is not None and secret is not None:
        check_place(out, key, secret, force=force, others=(file, ledger))
    poll = _attach_private(Poll.load(file), auxiliary)
    console = Console(highlight=False, soft_wrap=True)
    check_given(poll, secret, request, answer, ledger)
    tally = Tally(poll)
    if secret is not None and poll.is_sealed:
        place = None if check and answer is None else request
        counted = partial(_count, poll, inbox, console, ())
        joined = add_up(poll, secret, place, answer, counted)
        if joined is None:
            return
        tally = joined
    else:
        _count(poll, inbox, console, trust or (), tally)
    if ledger is not None and not again and not check and out is not None:
        resumed = _resume(poll, tally, ledger, out, recover)
        if resumed is not None:
            _sign(resumed, out, secret)
            return
    if ledger is not None and not again:
        refuse_again(poll, tally, ledger, Asking())
    if check:
        _check_release(poll, tally, ledger)
        return
    assert out is not None
    released = _publish(poll, tally, ledger, out)
    _sign(released, out, secret)


def _resume(poll: Poll, tally: Tally, ledger: Path, out: Path, lost: bool) -> Release | None:
    """What an earlier run has charged for and drawn, and not written."""
    from ostraka.releasing import Asking, resume_release

    released = resume_release(poll, tally, ledger, out, lost=lost, asking=Asking())
    if released is None:
        return None
    _report(poll, tally, released, out, "Every one was charged by an earlier run, and not again.")
    print_mind(
        "An earlier run has charged everybody. This is its release, for "
        f"{released.certificates[-1].crowd}, of what was drawn then."
    )
    return released


def _check_release(poll: Poll, tally: Tally, ledger: Path | None) -> None:
    """Refuse what a release would refuse; say what else there is to know."""
    from ostraka.expect.advice import few
    from ostraka.publishing import check

    check(poll, tally, ledger)
    paid = "" if ledger is None else " Every party can pay."
    typer.echo(
        f"Enough came for a release.{paid} Nothing was drawn and nothing was spent.\n"
        f"What next? Run this command with --out {_name_out(poll)} instead of --check."
    )
    told = few(poll, tally.n_units)
    if told is not None:
        print_mind(told)


def _name_out(poll: Poll) -> str:
    return "model.ostraka" if poll.judged is None else "evaluated.ostraka"


def _check_out(out: Path, force: bool, file: Path, ledger: Path | None, key: Path | None) -> None:
    from ostraka.files import check_distinct, check_new, check_writable

    check_new(out, force)
    check_writable(out)
    check_distinct(out, (file, ledger, key), "the poll, the ledger or the key")


def _attach_private(poll: Poll, auxiliary: Path | None) -> Poll:
    from ostraka.datasets import tables
    from ostraka.errors import ParameterError
    from ostraka.public.auxiliary import AuxiliarySet

    if auxiliary is None and poll.private_auxiliary:
        allowed = "the private samples with which this poll was made"
        raise ParameterError("--auxiliary", got=None, allowed=allowed)
    if auxiliary is None:
        return poll
    if not poll.private_auxiliary:
        allowed = "nothing: the public samples are in the poll"
        raise ParameterError("--auxiliary", got=str(auxiliary), allowed=allowed)
    samples = tables.read(
        auxiliary, columns=poll.task.columns, n_columns=poll.task.n_columns
    ).samples
    own = AuxiliarySet(
        samples,
        poll.task.classes,
        preprocessing=poll.task.preprocessing,
        columns=poll.task.columns,
        private=True,
    )
    return poll.with_auxiliary(own)


def _count(
    poll: Poll,
    inbox: Path,
    console: Console,
    trust: Sequence[str],
    counting: Tally | Asking | Joining,
) -> None:
    """Everything in the folder, counted or refused by name."""
    from rich.markup import escape

    from ostraka.datasets.tables import is_named_like_table
    from ostraka.errors import FormatError, InputError, OtherPollError
    from ostraka.party.contribution import Contribution
    from ostraka.progress import watch

    files = sorted(path for path in inbox.iterdir() if not path.name.startswith("."))
    tables = {path for path in files if is_named_like_table(path)}
    refused, came = [], dict[str, Path]()
    contradicted, elsewhere = [], 0
    for path in watch("Counting", console.is_terminal)(files, len(files)):
        try:
            given = Contribution.load(path)
            if given.party in came:
                counted = came[given.party]
                same = Contribution.load(counted) == given
                if not same:
                    contradicted.append((given.party, counted.name, path.name))
                raise InputError(_again(given.party, counted, same), "Leave one of the two.")
            counting.add(poll.open(given, trust))
            came[given.party] = path
        except (FormatError, InputError) as error:
            elsewhere += isinstance(error, OtherPollError)
            refused.append((path.name, A_TABLE if path in tables else str(error.problem)))
        except OSError as error:
            refused.append((path.name, error.strerror or str(error)))
    if files and elsewhere == len(files):
        raise InputError(
            f"Everything in {inbox} is for another poll than {poll.digest[:12]}....",
            "Is this the right folder, and the right poll?",
        )
    if tables == set(files) and 0 < len(files) == len(refused):
        raise InputError(f"The folder {inbox} holds tables, not contributions.", RUN_FIRST)
    expected = f" of about {poll.expected_units:,}" if poll.promise.protects == "party" else ""
    console.print(
        f"[green]In[/]: {len(counting.names):,}{expected}"
        f"{_list(sorted(counting.names, key=_by_number))}"
    )
    if poll.roll is not None:
        console.print(f"[yellow]Missing[/]: {len(counting.missing):,}{_list(counting.missing)}")
    console.print(f"[red]Refused[/]: {len(refused):,}")
    for why in dict.fromkeys(why for _, why in refused):
        names = [name for name, reason in refused if reason == why]
        some = ", ".join(names[:FEW]) + (f" and {len(names) - FEW:,} more" * (len(names) > FEW))
        console.print(f"  {escape(some)}: {escape(why)}")
    for party, one, other in contradicted:
        raise InputError(
            f"Party {party} sent two contributions with other numbers: {one} and {other}.",
            "Ask the party which one counts, and take the other one out of the folder.",
        )


def _again(party: str, counted: Path, same: bool) -> str:
    numbers = "the same numbers" if same else "OTHER numbers"
    return f"Party {party} was counted already, from {counted.name}, with {numbers}."


def _list(names: list[str]) -> str:
    from rich.markup import escape

    some = ", ".join(map(escape, names[:FEW]))
    return (f" ({some}{', ...' if len(names) > FEW else ''})") if names else ""


def _by_number(name: str) -> list[tuple[bool, int, str]]:
    """Sorts ward 2 before ward 10."""
    parts = re.split(r"(\d+)", name)
    return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]


def _publish(poll: Poll, tally: Tally, ledger: Path | None, out: Path) -> Release:
    from ostraka.releasing import publish_release

    released, stopped = publish_release(poll, tally, ledger, out)
    _report(poll, tally, released, out, say_charged(ledger))
    if stopped is not None:
        print_mind(stopped)
    return released


def _report(poll: Poll, tally: Tally, released: Release, out: Path, charged: str) -> None:
    from ostraka.cli.inspect import answers, price, print_evaluation
    from ostraka.expect.advice import few
    from ostraka.methods.after_noise.shift import remark

    cost = f"{price(released)} {charged}"
    print_answers({"Wrote": str(out), **answers(released, out, cost)})
    print_evaluation(released)
    told = None
    if poll.judged is None:
        weighted = bool(getattr(poll.method, "expected", None) is not None)
        told = remark(released.shift, weighted=weighted)
    for each in (few(poll, tally.n_units), told):
        if each is not None:
            print_mind(each.replace("shift=True", "--shift"))


def _sign(released: Release, out: Path, secret: SecretKey | None) -> None:
    """What was released, whatever lies at `out` by now; it is made and saved, come what may."""
    from ostraka.signing.signature import path_of

    place = path_of(out)
    if secret is None:
        if place.exists():
            print_mind(f"{place} signs an older file of this name: sign anew, or take it away.")
        return
    try:
        write_signature(released.to_bytes(), out, secret)
    except OSError as error:
        raise OSError(
            f"The release was made and is in {out}, but its signature could not be written to "
            f"{place} ({error.strerror}). Sign it by ostraka sign {out} --key FILE."
        ) from None


def say_charged(ledger: Path | None) -> str:
    """Whether anybody's account was charged, and where to look."""
    if ledger is None:
        return "No ledger was given, so no account was charged: keep count yourself."
    return f"Every one was charged; what is left: ostraka ledger show {ledger}"
