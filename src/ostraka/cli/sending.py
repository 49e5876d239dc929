"""`ostraka contribute` to a poll's address: fetch, check, compute, ask, send, keep the receipt."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ostraka.cli.contribute import NO_RULES, Given, count, make, report
from ostraka.cli.members import ask, at_poll, say_amount

if TYPE_CHECKING:
    from ostraka.client import Client, Membership, PollAddress
    from ostraka.client.shapes import Account, PollState
    from ostraka.exchange import Receipt, Upload
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
    from ostraka.exchange.states import check_open

    if out is not None:
        allowed = "with a poll's file alone: to an address the contribution is sent"
        raise ParameterError("--out", got=str(out), allowed=allowed)
    member, where = at_poll(at, address, "party", plain=plain)
    _check_name(party, member)
    with member.session() as (member, client):
        state = client.poll(where.digest)
        check_open(state.state)
        waiting = sending.pending(member, where.digest)
        if given.is_nothing and waiting is not None and not check:
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
        report(poll, made, _before(rules, poll, state, client.me().account))
        made.warn()
        ask(f"Send this to {member.address}?", yes, "Nothing was sent.")
        counted = count(rules, poll, member.name)  # before anything leaves
        if rules is not None:
            typer.echo(f"Your rules: {counted}")
        revision = sending.next_revision(member, state)
        upload = sending.keep(member, made.contribution, revision)
        _say_arrived(where, _send(member, client, poll, upload))


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
        if _is_too_much(state, account):
            told["What is left of my budget?"] = (
                f"{left}, and this poll takes {price}: MORE THAN YOU HAVE. It can be released "
                "without you only."
            )
    if state.mine is not None:
        told["What did I send before?"] = (
            f"Your contribution number {state.mine.revision}. This one takes its place."
        )
    return told


def _is_too_much(state: PollState, account: Account) -> bool:
    price = {} if state.mine is not None and state.state != "open" else state.price or {}
    return any(account.left.get(name, 0.0) < value for name, value in price.items())


def _send(member: Membership, client: Client, poll: Poll, upload: Upload) -> Receipt:
    from ostraka.client import sending
    from ostraka.errors import ServiceError

    try:
        return sending.send(member, client, poll.digest, upload)
    except ServiceError as error:
        kept = f"What was to be sent is kept: ostraka contribute {client.address}/polls/"
        remedy = f"{error.remedy} {kept}{poll.digest} sends it."
        raise ServiceError(error.address, error.problem, remedy) from error


def _say_arrived(where: PollAddress, receipt: Receipt) -> None:
    typer.echo(
        f"It has arrived, as number {receipt.revision}, and its receipt is kept here. You can "
        "change it until the poll is closed. Whether it was counted, and the result: "
        f"ostraka status {where}"
    )
