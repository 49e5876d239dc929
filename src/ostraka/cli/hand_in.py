"""`ostraka hand-in`: contributions that came as files, to a service."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.help import examples, option
from ostraka.cli.members import AT, PLAIN, at_poll
from ostraka.cli.options import SITE

if TYPE_CHECKING:
    from ostraka.client import Client

EXAMPLES = examples(
    "ostraka hand-in https://polls.example.org/polls/3f2a... ward-3.contribution \\\n"
    "    --receipts receipts/"
)


def hand_in(
    address: Annotated[str, typer.Argument(help=AT)],
    files: Annotated[
        list[Path], typer.Argument(help="Contributions, as written by ostraka contribute.")
    ],
    *,
    receipts: Annotated[
        Path | None,
        option(None, "A folder for the receipts, one for each file, named like it.", of="folder"),
    ] = None,
    new_party: Annotated[
        bool,
        option(
            None,
            "Also of parties that the service does not know yet. Mind the spelling: under a second "
            "name a party would count twice.",
            "--new-party",
        ),
    ] = False,
    plain: Annotated[bool, PLAIN] = False,
    site: Annotated[Path | None, SITE] = None,
) -> None:
    """Hand in what parties without a network have given you as files.

    Your word stands for theirs, and the service's log says so. What a party has sent itself is not
    replaced.
    """
    from ostraka.files import write_atomically
    from ostraka.party.contribution import Contribution

    member, where = at_poll(site, address, "admin", plain=plain)
    given = [Contribution.load(path) for path in files]  # all of them, before one is sent
    if receipts is not None:
        _check_names(files)
        receipts.mkdir(exist_ok=True)
    with member.session() as (member, client):
        if not new_party:
            _check_known(client, where.digest, [one.party for one in given])
        for path, one in zip(files, given, strict=True):
            receipt = client.hand_in(where.digest, one.party, one.to_bytes())
            receipt.check(member.service)
            kept = ""
            if receipts is not None:
                place = receipts / f"{path.stem}.receipt"
                write_atomically(place, receipt.to_bytes(), private=True)
                kept = f"; its receipt is in {place}"
            typer.echo(f"{path.name}: the contribution of party {one.party} has arrived{kept}.")


def _check_known(client: Client, digest: str, names: list[str]) -> None:
    """Refuse names that nobody knows, which may be misspelt."""
    from ostraka.errors import InputError
    from ostraka.errors.words import suggest
    from ostraka.poll import Poll

    roll = Poll.from_bytes(client.poll_file(digest)).roll
    known = set(roll or ()) | {one.name for one in client.parties()}
    strange = [name for name in names if name not in known]
    if not strange:
        return
    invited = {one.name for one in client.invited()}
    if strange[0] in invited:
        raise InputError(
            f"Party {strange[0]} is invited, and has not joined. Nothing was handed in.",
            "Let it join and contribute by itself; or, if it has no network, say --new-party. It "
            "can join later all the same.",
        )
    raise InputError(
        f"The service knows no party {strange[0]}. Nothing was handed in.",
        f"{suggest(strange[0], sorted(known | invited))}If it is a new one, without network, say "
        "--new-party.",
    )


def _check_names(files: list[Path]) -> None:
    """Refuse files of which one's receipt would replace another's."""
    from ostraka.errors import InputError

    stems = [path.stem for path in files]
    twice = next((each for each in stems if stems.count(each) > 1), None)
    if twice is not None:
        raise InputError(
            f"Two files are called {twice}, and so would their receipts be. Nothing was sent.",
            "Give them other names, such as those of the parties.",
        )
