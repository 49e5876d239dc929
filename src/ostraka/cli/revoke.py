"""`ostraka revoke`: let somebody do nothing more at a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostraka.cli.choices import PARTY_ROLE, RoleName
from ostraka.cli.help import examples, option
from ostraka.cli.members import PLAIN, SERVER, YES, ask, member_of
from ostraka.cli.options import SITE

EXAMPLES = examples("ostraka revoke ward-3", "ostraka revoke ann --role admin")


def revoke(
    name: Annotated[str, typer.Argument(help="Whose key, tokens and codes shall end.")],
    *,
    role: Annotated[
        RoleName, option(None, "As what they have joined.", of="party|reader|admin")
    ] = PARTY_ROLE,
    yes: Annotated[bool, YES] = False,
    server: Annotated[str | None, SERVER] = None,
    plain: Annotated[bool, PLAIN] = False,
    site: Annotated[Path | None, SITE] = None,
) -> None:
    """End somebody's key, tokens and codes, because they were stolen or are not needed any more.

    What a party has sent to an open poll stays, unless you leave it out on closing. To let it in
    again, invite it again.
    """
    member = member_of(site, server, "admin", plain=plain)
    last = (role.value, name) == (member.role, member.name)
    yourself = " This is you: you could do nothing more yourself." if last else ""
    question = f"Let {role.value} {name} do nothing more at {member.address}?{yourself}"
    ask(question, yes, "Nobody was revoked.")
    with member.session() as (member, client):
        client.revoke(name, role.value)
    stays = (
        " What it has sent to open polls stays; ostraka close --leave-out takes it out."
        if role is PARTY_ROLE
        else ""
    )
    typer.echo(f"Done: {role.value} {name} can do nothing more at {member.address}.{stays}")
