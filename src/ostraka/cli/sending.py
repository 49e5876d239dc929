"""`ostraka contribute` to a poll's address: fetch, check, compute, ask, send, keep the receipt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ostraka.answering import Given
from ostraka.cli.contribute import NO_RULES, count, make, report
from ostraka.cli.members import ask, at_poll, is_too_much, say_amount

if TYPE_CHECKING:
    from ostraka.client import Client, Membership, PollAddress
    from ostraka.client.shapes import Account, PollState
    from ostraka.errors import InputError
    from ostraka.exchange import Receipt
    from ostraka.poll import Poll
    from ostraka.site import Site

__all__ = ["answer"]


def answer(
    address: str,
    given: Given,
    rules: Site | None,
    *,
    party: str | None,
    out: Path | None,
    check: bool,
    yes: bool,
    plain: bool,
    at: Path | None,
) -> None:
    """Contribute to a poll at a service."""
    from ostraka.client import sending
    from ostraka.errors import ParameterError

    if out is not None:
        allowed = "with a poll's file alone: to an address the contribution is sent"
        raise ParameterError("--out", got=str(out), allowed=allowed)
    member, where = at_poll(at, address, "party", plain=plain)
    _check_name(party, member)
    with _saying_what_is_kept(member, where), member.session() as (member, client):
        state = client.poll(where.digest)
        _check_takes_in(member, client, state)
        waiting = sending.pending(member, where.digest)
        if given.is_nothing and not check:
            if waiting is None:
                raise _nothing_waits(where, state)
            typer.echo("Sending once more what was made here before, and did not arrive.")
            _say_arrived(where, sending.send(member, client, where.digest, waiting))
            return
        poll = sending.fetch_poll(member, client, where.digest)
        if rules is not None:
            rules.check(poll, member.name)
        then = f"Look at what the poll asks with ostraka status {where}; then leave out --check."
        made = make(poll, given, member.name, then, check=check)
        if made is None or check:
            return
        report(poll, made, _before(rules, poll, state, client.me().account), served=True)
        made.warn()
        ask(f"Send this to {member.address}?", yes, "Nothing was sent.")
        counted = count(rules, poll, member.name)  # before anything leaves
        if rules is not None:
            typer.echo(f"Your rules: {counted}")
        revision = sending.next_revision(member, state)
        upload = sending.keep(member, made.contribution, revision)
        _say_arrived(where, sending.send(member, client, poll.digest, upload))


@contextmanager
def _saying_what_is_kept(member: Membership, where: PollAddress) -> Iterator[None]:
    """Where the service does not answer, say what was sent, and what is kept to be sent again."""
    from ostraka.client import sending
    from ostraka.errors import ServiceError

    try:
        yield
    except ServiceError as error:
        kept = "Nothing was sent, and nothing is kept here to be sent."
        if sending.pending(member, where.digest) is not None:
            kept = f"What was to be sent is kept here: ostraka contribute {where} sends it."
        remedy = f"{error.remedy.removesuffix('Nothing was sent.').strip()} {kept}"
        raise ServiceError(error.address, error.problem, remedy) from error


def _check_takes_in(member: Membership, client: Client, state: PollState) -> None:
    """Refuse what could not be sent, before a row is read."""
    from ostraka.client import sending
    from ostraka.errors import StateError
    from ostraka.exchange.states import check_open, check_takes_in

    try:
        check_takes_in(is_archive=client.identity().archive)
        left_out = state.mine is None and sending.receipt(member, state.digest) is not None
        if left_out and state.state in ("closed", "released"):
            raise StateError(
                f"This poll is {state.state}, and the coordinator left your contribution out when "
                "it was closed: it does not count, and costs you nothing.",
                "Ask the coordinator why. Your receipt shows that it had arrived.",
            )
        check_open(state.state)
    except StateError as error:
        error.outcome = "Nothing was computed and nothing was sent."
        raise


def _nothing_waits(where: PollAddress, state: PollState) -> InputError:
    from ostraka.errors import InputError

    there = "" if state.mine is None else f" Your number {state.mine.revision} has arrived."
    error = InputError(
        f"Nothing is waiting to be sent to this poll.{there}",
        f"To contribute{' anew' * bool(there)}, name your table and its column with the classes: "
        f"ostraka contribute {where} mine.csv --label-column COLUMN",
    )
    error.outcome = "Nothing was sent."
    return error


def _check_name(party: str | None, member: Membership) -> None:
    from ostraka.errors import ParameterError
    from ostraka.party.names import canonical

    if party is not None and canonical(party) != member.name:
        allowed = f"the name under which you have joined, {member.name}; or none"
        raise ParameterError("--party", got=party, allowed=allowed)


def _say_rules(rules: Site | None, poll: Poll) -> str:
    if rules is None:
        return NO_RULES
    if rules.answered(poll) is not None:
        return "They allow this poll. It was counted when you answered it before."
    return "They allow this poll. It is counted when you send it."


def _before(
    rules: Site | None, poll: Poll, state: PollState, account: Account | None
) -> dict[str, str]:
    told = {"And my own rules?": _say_rules(rules, poll)}
    if account is not None:
        left, price = say_amount(account.left), say_amount(state.price)
        told["What is left of my budget?"] = f"{left}. This poll takes {price} of it."
        if is_too_much(state.price, account.left):
            told["What is left of my budget?"] = (
                f"{left}, and this poll takes {price}: MORE THAN YOU HAVE. It can be released "
                "without you only."
            )
    if state.mine is not None:
        told["What did I send before?"] = (
            f"Your contribution number {state.mine.revision}. This one takes its place."
        )
    return told


def _say_arrived(where: PollAddress, receipt: Receipt) -> None:
    typer.echo(
        f"It has arrived, as number {receipt.revision}, and its receipt is kept here. You can "
        "change it until the poll is closed. Whether it was counted, and the result: "
        f"ostraka status {where}"
    )
