"""`ostraka status`: what is going on at a service, for whoever asks."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostraka.cli.help import examples, option
from ostraka.cli.members import PLAIN, at_poll, member_of, poll_address, say_amount
from ostraka.cli.options import SITE
from ostraka.cli.screen import print_answers

if TYPE_CHECKING:
    from ostraka.client import Client, Membership
    from ostraka.client.shapes import PollState

EXAMPLES = examples(
    "ostraka status",
    "ostraka status https://polls.example.org/polls/3f2a...",
    "ostraka status --log",
    "ostraka status --parties",
)
FEW = 100
STATES = {
    "draft": "draft: only admins see it; ostraka poll open opens it",
    "open": "open: contributions can be sent, and changed",
    "closed": "closed: the list of what is counted is frozen, and the release is being made",
    "released": "released: ostraka fetch gets the model",
    "abandoned": "abandoned: there is no release, and there will be none",
}


def status(
    address: Annotated[
        str | None,
        typer.Argument(help="The service's address, or a poll's. Not needed with one service."),
    ] = None,
    *,
    json: Annotated[bool, typer.Option("--json", help="Print it as JSON instead.")] = False,
    log: Annotated[
        bool, option(None, "For admins: what admins have done, oldest first.", "--log")
    ] = False,
    parties: Annotated[
        bool, option(None, "For admins: who has joined as a party.", "--parties")
    ] = False,
    plain: Annotated[bool, PLAIN] = False,
    site: Annotated[Path | None, SITE] = None,
) -> None:
    """Show which polls there are and how far they have come; or all about one poll.

    A party sees whether its contribution has arrived, and, after closing, whether it was counted:
    its receipt is looked for on the signed list.
    """
    roles = ("admin", "party", "reader")
    if address is not None and "/polls/" in address:
        member, where = at_poll(site, address, *roles, plain=plain)
        with member.session() as (member, client):
            _show_poll(member, client, where.digest, json)
        return
    asked = ("admin",) if log or parties else roles
    member = member_of(site, address, *asked, plain=plain)
    with member.client() as client:
        if log:
            _show_log(client, json)
        elif parties:
            _show_parties(client, json)
        else:
            _show_service(member, client, json)


def _show_service(member: Membership, client: Client, json: bool) -> None:
    polls, account = list(client.polls()), client.me().account
    if json:
        _echo({"role": member.role, "name": member.name, "polls": [_plain(one) for one in polls]})
        return
    you = {"You are": f"{member.role} {member.name}, at {member.address}"}
    if client.identity().archive:
        you["Mind"] = "This service is an archive: it shows everything, and takes nothing in."
    if account is not None:
        you["Left of your budget"] = f"{say_amount(account.left)} of {say_amount(account.budget)}"
    print_answers(you)
    if not polls:
        typer.echo("There are no polls for you yet.")
        return
    for one in polls[:FEW]:  # a line for each address, so that it can be copied
        typer.echo(
            f"{one.title or 'Without a title'}: {one.state}, {one.contributions:,} of about "
            f"{one.facts.get('expected', 0):,} contributions\n  {poll_address(client, one.digest)}"
        )
    if len(polls) > FEW:
        typer.echo(f"{len(polls) - FEW:,} older ones are not shown; --json lists all.")


def _show_poll(member: Membership, client: Client, digest: str, json: bool) -> None:
    state = client.poll(digest)
    if json:
        _echo(_plain(state))
        return
    facts = state.facts
    delta = f", δ = {facts['delta']:g}" if facts.get("delta") else ""
    told = {
        "Poll": state.title or "without a title",
        "Its address": poll_address(client, digest),
        "State": STATES.get(state.state, state.state),
        "What it asks": f"{facts.get('method')}, for {', '.join(map(str, facts['classes']))}, with "
        f"ε = {facts.get('epsilon'):g}{delta} for one {facts.get('protects')}.",
        "Who is in": f"{state.contributions:,} of about {facts.get('expected', 0):,}; at least "
        f"{facts.get('least_parties')} are needed.",
        "What it costs": say_amount(state.price),
    }
    if member.role == "party":
        told["Your contribution"] = _say_mine(member, client, state)
    if state.trouble is not None:
        told["What is wrong?"] = state.trouble
    if member.role == "admin":
        told["By name"] = _say_contributors(client, digest)
        missing = _missing(member, client, state)
        if missing is not None:
            told["Missing"] = list_some(missing)
    told["What next?"] = _say_next(member, client, state)
    print_answers(told)


def _say_mine(member: Membership, client: Client, state: PollState) -> str:
    from ostraka.client import sending

    given = sending.receipt(member, state.digest)
    if state.state == "abandoned":
        return "Erased, if one had arrived: the poll has ended without a release."
    if state.mine is None and given is None:
        waiting = sending.pending(member, state.digest)
        return (
            "None has arrived."
            if waiting is None
            else "One was made here, and has not arrived: ostraka contribute sends it once more."
        )
    if state.state in ("closed", "released") and given is not None:
        counted = sending.was_counted(member, client, given)
        if counted:
            return "Counted: your receipt is on the service's signed list."
        return (
            "NOT COUNTED: your receipt is not on the service's signed list. Ask the coordinator "
            f"why; the receipt of {member.address} shows that it had arrived."
        )
    if state.mine is None:
        return "NOT THERE, although you have a receipt. Ask the coordinator why."
    if given is None or given.commitment != state.mine.commitment:
        by = "handed in by the coordinator" if state.mine.handed_in else "not sent from here"
        return f"One has arrived that was {by}. If you do not know of it, ask the coordinator."
    return f"Arrived, as number {state.mine.revision}; your receipt is kept."


def _say_contributors(client: Client, digest: str) -> str:
    names = [
        f"{one.party} (by file)" if one.handed_in else one.party
        for one in client.contributors(digest)
    ]
    return list_some(names) if names else "nobody yet"


def _missing(member: Membership, client: Client, state: PollState) -> list[str] | None:
    """Who is asked by name, and has not answered."""
    from ostraka.client.sending import fetch_poll

    roll = fetch_poll(member, client, state.digest, signed=state.state != "draft").roll
    if roll is None or state.state not in ("draft", "open"):
        return None
    there = {one.party for one in client.contributors(state.digest)}
    return [name for name in roll if name not in there]


def list_some(names: list[str]) -> str:
    """Names, not too many."""
    more = f" and {len(names) - FEW:,} more" if len(names) > FEW else ""
    return (", ".join(names[:FEW]) or "nobody") + more


def _show_parties(client: Client, json: bool) -> None:
    known = list(client.parties())
    if json:
        _echo({"parties": [asdict(one) for one in known]})
        return
    for one in known:
        how = "revoked" if one.revoked else "joined" if one.has_key else "by file alone"
        typer.echo(f"{one.name}: {how}, since {one.joined}")
    if not known:
        typer.echo("Nobody has joined yet. Invite them: ostraka invite NAME ...")


def _say_next(member: Membership, client: Client, state: PollState) -> str:
    where = poll_address(client, state.digest)
    if state.state == "released":
        return f"ostraka fetch {where} --out model.ostraka"
    if member.role == "party" and state.state == "open":
        words = f"ostraka contribute {where} mine.csv --label-column COLUMN"
        return words if state.mine is None else f"Nothing. To change it: {words}"
    if member.role == "admin":
        return {
            "draft": f"ostraka poll open {where}",
            "open": f"Wait for more, or release: ostraka close {where}",
            "closed": f"If nothing happens, go on with ostraka close {where}",
        }.get(state.state, "Nothing: this poll has ended.")
    return "Wait." if state.state != "abandoned" else "Nothing: this poll has ended."


def _show_log(client: Client, json: bool) -> None:
    lines = list(client.audit())
    if json:
        _echo({"log": lines})
        return
    for line in lines:  # whole, so that a digest can be copied
        at, who, what, about = (str(line[name]) for name in ("at", "who", "what", "about"))
        typer.echo(f"{at}  {who} {what}: {about}")


def _plain(state: PollState) -> dict[str, Any]:
    held = asdict(state)
    if state.mine is not None:
        held["mine"]["commitment"] = state.mine.commitment.hex()
    return held


def _echo(held: dict[str, Any]) -> None:
    from json import dumps

    typer.echo(dumps(held, sort_keys=True, ensure_ascii=False))
