"""Who somebody is at a service: options and steps that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ostraka.cli.help import option

if TYPE_CHECKING:
    from ostraka.client import Client, Membership, PollAddress

__all__ = [
    "AT",
    "PLAIN",
    "SERVER",
    "YES",
    "ask",
    "at_poll",
    "folder_of",
    "member_of",
    "poll_address",
    "say_amount",
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
    shown = (f"{letters.get(name, name)} = {value:g}" for name, value in (numbers or {}).items())
    return ", ".join(shown) or "nothing that this ledger counts"


def poll_address(client: Client, digest: str) -> str:
    """A poll's address, as people pass it on."""
    return f"{client.address}/polls/{digest}"
