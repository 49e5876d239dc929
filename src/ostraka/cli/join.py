"""`ostraka join`: become a party, an admin or a reader of a service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.help import examples, option
from ostraka.cli.members import PLAIN, folder_of, say_who
from ostraka.cli.options import SITE
from ostraka.cli.screen import print_answers

if TYPE_CHECKING:
    from ostraka.exchange import JoinCode

EXAMPLES = examples(
    "ostraka join https://polls.example.org 4kq2mz-...",
    "ostraka join 'https://polls.example.org/join#4kq2mz-...'",
    "ostraka join https://polls.example.org --renew",
)


def join(
    address: Annotated[
        str, typer.Argument(help="The service's address, or the whole link of the invitation.")
    ],
    code: Annotated[
        str | None, typer.Argument(help="The code of the invitation, if it is not in the link.")
    ] = None,
    *,
    ca: Annotated[
        Path | None,
        option(None, "Whom to trust for the service's certificate, in PEM.", of="file"),
    ] = None,
    renew: Annotated[
        bool,
        option(None, "You have joined: make another key and another token.", "--renew"),
    ] = False,
    again: Annotated[
        bool,
        option(
            None,
            "You have joined from this folder before, and were invited again, or in another role.",
            "--again",
        ),
    ] = False,
    staff: Annotated[
        bool,
        option(
            None,
            "You have no code: your organisation vouches for you, by the token in OSTRAKA_TOKEN.",
            "--staff",
        ),
    ] = False,
    plain: Annotated[bool, PLAIN] = False,
    site: Annotated[Path | None, SITE] = None,
) -> None:
    """Join a service with the code that the coordinator gave you.

    A key is made here and stays here. The code also says which service it is from, so that nobody
    else can pass for it.
    """
    from ostraka.client import membership, read_address
    from ostraka.client.address import read_link
    from ostraka.errors import ParameterError

    if ca is not None and not ca.is_file():
        raise FileNotFoundError(2, "no such file", str(ca))
    if "/polls/" in address:
        allowed = "the service's own, without /polls/ and what follows"
        raise ParameterError("address", got=address, allowed=allowed)
    folder, trusted = folder_of(site), None if ca is None else str(ca)
    if (renew or staff) and (code is not None or "#" in address):
        which = "--renew" if renew else "--staff"
        raise ParameterError(which, got="with a code", allowed="without one")
    if renew:
        where = read_address(address, plain=plain)
        made = membership.renew(membership.find(folder, where, *membership.ROLES))
    elif staff:
        where = read_address(address, plain=plain)
        made = membership.join_as_staff(folder, where, ca=trusted)
    else:
        where, written = (
            read_link(address, plain=plain)
            if code is None
            else (read_address(address, plain=plain), code)
        )
        made = membership.join(folder, where, _read_code(written), ca=trusted, again=again)
    next_step = {
        "party": f"Look at what is asked of you: ostraka status {made.address}",
        "admin": f"Make a poll: ostraka poll create ... --server {made.address}. Invite parties: "
        "ostraka invite NAME ...",
        "reader": f"Look at what there is: ostraka status {made.address}",
    }[made.role]
    told = {
        "Joined": f"{made.address}, as {say_who(made)}.",
        "Its key": f"{made.service}{_say_why(renew=renew, staff=staff)}",
    }
    if not staff:
        told["Your key"] = str(made.key().public)
        told["Its secret part"] = (
            f"{made.key_path}, which only you can read. It never leaves this machine."
        )
    print_answers({**told, "What next?": next_step})


def _read_code(written: str) -> JoinCode:
    from ostraka.errors import FormatError
    from ostraka.exchange import JoinCode

    try:
        return JoinCode.parse(written)
    except FormatError as error:
        error.outcome = "Compare it with your invitation. Nothing was sent, and nobody has joined."
        raise


def _say_why(*, renew: bool, staff: bool) -> str:
    if staff:
        return "  (compare it with the one that the coordinator published)"
    return "  (as before)" if renew else "  (as the code said)"
