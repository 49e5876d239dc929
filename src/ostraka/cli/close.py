"""`ostraka close`: `ostraka release`, over there."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.help import examples, option
from ostraka.cli.members import AT, PLAIN, YES, ask, at_poll, poll_address, poor_ones, say_amount
from ostraka.cli.options import FORCE, SITE
from ostraka.cli.screen import console, print_answers

if TYPE_CHECKING:
    from ostraka.client import Client
    from ostraka.client.shapes import PollState

EXAMPLES = examples(
    "ostraka close https://polls.example.org/polls/3f2a... --out model.ostraka",
    "ostraka close https://polls.example.org/polls/3f2a... --leave-out ward-3 --yes",
)
PAUSE = 0.5
PATIENCE = 3600.0


def close(
    address: Annotated[str, typer.Argument(help=AT)],
    *,
    out: Annotated[
        Path | None, option(None, "Where to write the model, once it is there.", of="file")
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        option(
            None,
            "Somebody whose contribution shall not count, such as a party that cannot pay, and who "
            "sees that it was left out; may be repeated.",
            of="name",
        ),
    ] = None,
    request: Annotated[
        Path | None,
        option(None, "Of a poll with a trustee: where to write what it is asked.", of="file"),
    ] = None,
    answer: Annotated[
        Path | None,
        option(None, "Of a poll with a trustee: what it has answered.", of="file"),
    ] = None,
    yes: Annotated[bool, YES] = False,
    force: Annotated[bool, FORCE] = False,
    plain: Annotated[bool, PLAIN] = False,
    site: Annotated[Path | None, SITE] = None,
) -> None:
    """Close a poll: freeze who is in, charge everybody, draw the noise once, and release the model.

    If too few have contributed, or somebody cannot pay, nothing happens and the poll stays open. If
    anything is interrupted, the same command goes on: nobody is charged twice, and noise is drawn
    once.

    Of a poll with a trustee this takes two runs: one with --request, and, when the trustee has
    answered, one with --answer.
    """
    from ostraka.errors import BudgetError, ParameterError
    from ostraka.files import check_new, check_writable, read_regular
    from ostraka.tensors import LARGEST_FILE

    if request is not None:
        check_new(request, force)
    if out is not None:
        check_new(out, force)
        check_writable(out)
    member, where = at_poll(site, address, "admin", plain=plain)
    with member.session() as (member, client):
        state = client.poll(where.digest)
        if (request or answer) is not None and not state.facts.get("servers"):
            allowed = "nothing: this poll has no trustee"
            raise ParameterError("--request, --answer", got=str(request or answer), allowed=allowed)
        if state.state == "open":
            _say_what(state, _known(client, where.digest, leave_out or []))
            question = "Close it, charge everybody, and release? This cannot be undone."
            ask(question, yes, "It was not closed, and nobody was charged.")
        elif leave_out:
            allowed = f"before a poll is closed, and this one is {state.state}"
            raise ParameterError("--leave-out", got=", ".join(leave_out), allowed=allowed)
        try:
            client.close_poll(where.digest, leave_out or [])
        except BudgetError:
            _say_poor(client, state)
            raise
        if state.facts.get("servers"):
            if answer is None:
                ask_trustee(client, where.digest, request)
                return
            client.answer(where.digest, read_regular(answer, "answer", LARGEST_FILE))
        _wait(client, where.digest)
        if out is None:
            where_ = poll_address(client, where.digest)
            typer.echo(f"Released. Get it: ostraka fetch {where_} --out model.ostraka")
            return
        from ostraka.cli.fetch import get_release
        from ostraka.cli.inspect import answers, price
        from ostraka.releasing import save
        from ostraka.signing.signature import path_of

        release, signature = get_release(member, client, where.digest)
    save(release, out)
    signature.save(path_of(out))
    cost = f"{price(release)} Every one was charged at the service."
    print_answers({"Wrote": f"{out}, signed in {path_of(out)}", **answers(release, out, cost)})


def ask_trustee(client: Client, digest: str, path: Path | None) -> None:
    """Write what the trustee is asked, and say what comes next."""
    from ostraka.files import write_atomically

    where = poll_address(client, digest)
    if path is None:
        typer.echo(
            "Closed. It waits for its trustee. What next? "
            f"ostraka close {where} --request NAME.request"
        )
        return
    write_atomically(path, client.request(digest))
    print_answers(
        {
            "Wrote": f"{path}. Nothing was drawn yet.",
            "What next?": "Send it to the trustee, who runs: ostraka trustee answer "
            f"{path.name} --out {path.stem}.answer. Then run: ostraka close {where} --answer "
            f"{path.stem}.answer --out {path.stem}.ostraka",
        }
    )


def _known(client: Client, digest: str, leave_out: list[str]) -> list[str]:
    """Their names, if all of them have contributed."""
    from ostraka.errors import AbsentError, suggest
    from ostraka.party.names import canonical_list

    if not leave_out:
        return []
    there = [one.party for one in client.contributors(digest)]
    named = canonical_list(leave_out)
    for name in named:
        if name not in there:
            error = AbsentError(
                f"Party {name} has not contributed to this poll.",
                f"{suggest(name, there)}Leave out who has: ostraka status POLL lists them.",
            )
            error.outcome = "It was not closed, and nobody was charged."
            raise error
    return named


def _say_what(state: PollState, leave_out: list[str]) -> None:
    facts = state.facts
    without = f", without {', '.join(leave_out)}" if leave_out else ""
    print_answers(
        {
            "Poll": f"{state.title or 'without a title'} ({state.digest[:12]}...)",
            "Who is in": f"{state.contributions - len(leave_out):,} of about "
            f"{facts.get('expected', 0):,}{without}; "
            f"at least {facts.get('least_parties')} are needed.",
            "What each is charged": say_amount(state.price),
            "What is published": "One model, by "
            f"{facts.get('method')}, with its certificate; and a list of commitments, by which "
            "every party finds that it was counted.",
            "What is erased": "What the parties have sent.",
        }
    )


def _say_poor(client: Client, state: PollState) -> None:
    """Who cannot pay, all of them, as options that can be pasted."""
    names = poor_ones(client, state)
    if names:
        typer.echo(f"Who has too little left: {', '.join(names)}. {say_without(names)}")


def say_without(names: list[str]) -> str:
    """How to close a poll without these."""
    options = " ".join(f"--leave-out {shlex.quote(name)}" for name in names)
    return f"To close without: {options}"


def _wait(client: Client, digest: str) -> None:
    """Until it is released; the service does the work."""
    import time

    from ostraka.errors import ServiceError, StateError

    deadline = time.monotonic() + PATIENCE
    with console().status("The service makes the release"):  # on terminals only
        while (state := client.poll(digest)).state != "released":
            if state.trouble is not None:
                raise StateError(
                    f"The release could not be made. The service says: {state.trouble}",
                    "When the cause is gone, run the same command again: it goes on. What was "
                    "charged stays charged once.",
                )
            if time.monotonic() > deadline:
                remedy = "Look at its log, then run the same command again: it goes on."
                raise ServiceError(client.address, "has not finished the release", remedy)
            time.sleep(PAUSE)
