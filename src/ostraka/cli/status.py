"""`ostraka status`: what is going on at a service, for whoever asks."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostraka.cli.close import say_without
from ostraka.cli.help import examples, option
from ostraka.cli.members import (
    PLAIN,
    at_poll,
    is_too_much,
    member_of,
    poll_address,
    poor_ones,
    say_amount,
    say_who,
)
from ostraka.cli.options import SITE
from ostraka.cli.screen import print_answers
from ostraka.errors import say_number

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
ARCHIVE = (
    "This service is an archive, restored from a backup: it shows everything, and opens, takes in "
    "and closes nothing."
)
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
        bool, option(None, "For admins: who has joined as a party, or is invited.", "--parties")
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
    with member.session() as (member, client):
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
    you = {"You are": f"{say_who(member)}, at {member.address}"}
    if client.identity().archive:
        you["Mind"] = ARCHIVE
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
    delta = f", δ = {say_number(facts['delta'])}" if facts.get("delta") else ""
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
    archive = client.identity().archive
    if archive:
        told["State"] = f"{state.state}, in an archive. {ARCHIVE}"
    if member.role == "party":
        told["Your contribution"] = _say_mine(member, client, state)
    told |= _say_poor(member, client, state)
    if state.trouble is not None:
        told["What is wrong?"] = state.trouble
    if member.role == "admin":
        told["By name"] = _say_contributors(client, digest)
        missing = _missing(member, client, state)
        if missing is not None:
            told["Missing"] = list_some(missing)
    told["What next?"] = _say_next(member, client, state, archive=archive)
    print_answers(told)


def _say_poor(member: Membership, client: Client, state: PollState) -> dict[str, str]:
    """Who has too little left to be in it: oneself, or, for admins, who has contributed."""
    if state.state != "open" or member.role == "reader":
        return {}
    if member.role == "admin":
        names = poor_ones(client, state)
        told = f"{list_some(names)}. {say_without(names[:FEW])}"
        return {"Who has too little left": told} if names else {}
    account = client.me().account
    if account is None or not is_too_much(state.price, account.left):
        return {}
    left = f"{say_amount(account.left)}, LESS THAN IT COSTS. "
    return {"Left of your budget": f"{left}It can be released without you only."}


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
    if state.mine is not None and state.mine.unread:
        return (
            "NOT COUNTED, and not charged: the trustee could not open its half of what arrived, so "
            "it was left out on both sides. Tell the coordinator."
        )
    if state.state in ("closed", "released") and given is not None:
        counted = sending.was_counted(member, client, given)
        if counted:
            return "Counted: your receipt is on the service's signed list."
        if state.mine is None:
            return (
                "NOT COUNTED, and not charged: the coordinator left your contribution out when the "
                "poll was closed, and it was erased. Ask the coordinator why; the receipt of "
                f"{member.address} shows that it had arrived."
            )
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
    known, invited = list(client.parties()), list(client.invited())
    if json:
        of_codes = [asdict(one) for one in invited]
        _echo({"parties": [asdict(one) for one in known], "invited": of_codes})
        return
    for one in known:
        how = "revoked" if one.revoked else "joined" if one.has_key else "by file alone"
        typer.echo(f"{one.name}: {how}, since {one.joined}")
    there = {one.name for one in known if one.has_key}
    for waiting in invited:
        again = " again" if waiting.name in there else ""
        typer.echo(f"{waiting.name}: invited{again}, and has not joined; until {waiting.until}")
    if not known and not invited:
        typer.echo("Nobody has joined yet. Invite them: ostraka invite NAME ...")


def _say_next(member: Membership, client: Client, state: PollState, *, archive: bool) -> str:
    where = poll_address(client, state.digest)
    if state.state == "released":
        return f"ostraka fetch {where} --out model.ostraka"
    if archive:
        return "Nothing here: polls go on elsewhere, if they do. Whoever runs the service knows."
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
