"""`ostraka invite`: codes with which people can join a service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostraka.cli.choices import PARTY_ROLE, RoleName
from ostraka.cli.help import examples, option
from ostraka.cli.members import PLAIN, SERVER, member_of
from ostraka.cli.options import SITE

EXAMPLES = examples(
    "ostraka invite ward-3 ward-4",
    "ostraka invite --list wards.txt --out invitations.csv",
    "ostraka invite ann --role reader",
)


def invite(
    names: Annotated[
        list[str] | None, typer.Argument(help="Whom to invite, by the names on the roll.")
    ] = None,
    *,
    list_: Annotated[
        Path | None,
        option(None, "A text file with a name per line.", "--list", of="file"),
    ] = None,
    role: Annotated[
        RoleName,
        option(
            None,
            "What they may do: party (contribute), reader (look at polls and releases), or admin "
            "(everything).",
            of="party|reader|admin",
        ),
    ] = PARTY_ROLE,
    days: Annotated[int, option(None, "For how many days a code is good.", of="number")] = 30,
    again: Annotated[
        bool,
        option(
            None,
            "Also whoever has joined already, and has lost the key: it ends when they join anew.",
            "--again",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        option(None, "A CSV file for names and commands, for your eyes alone.", of="file"),
    ] = None,
    server: Annotated[str | None, SERVER] = None,
    plain: Annotated[bool, PLAIN] = False,
    site: Annotated[Path | None, SITE] = None,
) -> None:
    """Make a code for each name. Give it to that person alone, by a way that you trust.

    Whoever has a code can join once, under its name. A new code for the same name makes an unused
    one void.
    """
    import csv
    import io

    from ostraka.cli.words import names_in
    from ostraka.errors import ParameterError
    from ostraka.files import check_new, write_atomically
    from ostraka.public.promise import plural

    asked = [*(names or ()), *(names_in(list_) if list_ is not None else ())]
    if not asked:
        raise ParameterError("NAMES", got=None, allowed="at least one name, or --list")
    if out is not None:
        check_new(out, False, "it may hold codes that are not used yet")
    member = member_of(site, server, "admin", plain=plain)
    with member.session() as (member, client):
        made = client.invite(asked, role=role.value, days=days, again=again)
    commands = [(name, f"ostraka join {member.address} {code}") for name, code in made]
    if out is None:
        for name, command in commands:
            typer.echo(f"{name}: {command}")
    else:
        written = io.StringIO()
        table = csv.writer(written, lineterminator="\n")
        table.writerows([("name", "command"), *commands])
        write_atomically(out, written.getvalue().encode("utf-8"), private=True)
        typer.echo(f"Wrote {out}, with {plural('code', len(commands))}. Only you can read it.")
    typer.echo(
        "Send each command to its person alone. Whoever has it can join once, within "
        f"{days} days; it is not shown again. Codes that these names had before, and have not "
        "used, are void."
    )
