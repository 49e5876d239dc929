"""Who somebody is at a service: options and steps that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ostraka.cli.help import option
from ostraka.errors import say_number

if TYPE_CHECKING:
    from ostraka.client import Client, Membership, PollAddress
    from ostraka.client.shapes import PollState
    from ostraka.poll import Poll

__all__ = [
    "AT",
    "PLAIN",
    "SERVER",
    "YES",
    "ask",
    "at_poll",
    "fetch_at",
    "folder_of",
    "is_too_much",
    "member_of",
    "poll_address",
    "poor_ones",
    "say_amount",
    "say_who",
]

AT = "The poll's address at the service: https://HOST/polls/..."
SERVER = option(
    None, "The service's address. Not needed if you have joined just one.", of="address"
)
PLAIN = option(None, "Speak without encryption, on a network that you trust entirely.", "--plain")
YES = option(None, "Do not ask, for scripts.", "--yes")


def folder_of(site: Path | None) -> Path:
    """The folder of this site, where its memberships are."""
    from ostraka.errors import ParameterError
    from ostraka.site import default_folder

    folder = default_folder() if site is None else site
    if folder is None:
        raise ParameterError("--site", got=None, allowed="a folder: you have none for settings")
    return folder


def member_of(
    site: Path | None, server: str | None, *roles: str, plain: bool = False
) -> Membership:
    """Who somebody is at a service, in one of these roles."""
    from ostraka.client import read_address
    from ostraka.client.membership import find

    address = None if server is None else read_address(server, plain=plain)
    return find(folder_of(site), address, *roles)


def at_poll(
    site: Path | None, poll: str, *roles: str, plain: bool = False
) -> tuple[Membership, PollAddress]:
    """Who somebody is at the service of a poll, and that poll's address."""
    from ostraka.client.address import read_poll_address
    from ostraka.client.membership import find

    where = read_poll_address(poll, plain=plain)
    return find(folder_of(site), where.service, *roles), where


def ask(question: str, yes: bool, otherwise: str) -> None:
    """Go on only if somebody agrees; `otherwise` says what did not happen."""
    import sys

    import typer

    from ostraka.errors import ParameterError

    if yes:
        return
    if not sys.stdin.isatty():
        allowed = "your consent beforehand, as nobody can be asked here"
        error = ParameterError("--yes", got=None, allowed=allowed)
        error.outcome = otherwise
        raise error
    try:
        agreed = typer.confirm(question)
    except (typer.Abort, KeyboardInterrupt):
        typer.echo()
        agreed = False
    if not agreed:
        typer.echo(otherwise, err=True)
        raise typer.Exit(1)


def say_amount(numbers: dict[str, float] | None) -> str:
    """An amount that a service has told of."""
    letters = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
    shown = (
        f"{letters.get(name, name)} = {say_number(value)}"
        for name, value in (numbers or {}).items()
    )
    return ", ".join(shown) or "nothing that this ledger counts"


def say_who(member: Membership) -> str:
    """As what and under which name; the first admin is called so."""
    return member.role if member.role == member.name else f"{member.role} {member.name}"


def is_too_much(price: dict[str, float] | None, left: dict[str, float]) -> bool:
    """Whether somebody with so much left cannot pay."""
    return any(left.get(name, 0.0) < value for name, value in (price or {}).items())


def poor_ones(client: Client, state: PollState) -> list[str]:
    """Who has contributed to an open poll and has too little left."""
    left = {one.party: one.left for one in client.accounts()}
    names = [one.party for one in client.contributors(state.digest)]
    return [name for name in names if name in left and is_too_much(state.price, left[name])]


def fetch_at(site: Path | None, address: str, *, plain: bool = False) -> Poll:
    """The poll of this address, for whoever has joined its service in whatever role."""
    from ostraka.client.sending import fetch_poll

    member, where = at_poll(site, address, "admin", "party", "reader", plain=plain)
    with member.session() as (member, client):
        is_signed = client.poll(where.digest).state != "draft"
        return fetch_poll(member, client, where.digest, signed=is_signed)


def poll_address(client: Client, digest: str) -> str:
    """A poll's address, as people pass it on."""
    return f"{client.address}/polls/{digest}"
