"""`ostraka key`: keys to sign with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostraka.cli.help import Command, Group, examples, option
from ostraka.cli.options import FORCE
from ostraka.cli.screen import print_answers

app = typer.Typer(
    name="key",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="rich",
    epilog=examples(
        "ostraka key create coordinator.key", "ostraka key show coordinator.key > coordinator.pub"
    ),
    help="Make a key to sign with, or show the public part of it.\n\n"
    "Who has the public part can check that a release comes from you: [bold]ostraka verify[/].",
)


@app.command(cls=Command, epilog=examples("ostraka key create coordinator.key"))
def create(
    file: Annotated[Path, typer.Argument(help="Where to write the secret key.")],
) -> None:
    """Make a secret key. Keep the file: only you can read it, and nobody can make it again."""
    from ostraka.signing import SecretKey

    made = SecretKey.create()
    made.save(file)
    print_answers(
        {
            "Wrote": f"{file}, which only you can read. Keep a copy in a safe place.",
            "Your public key": str(made.public),
            "What next?": "Publish the line above where people know that it is yours, such as "
            f"your web site: ostraka key show {file}. Sign what you release: ostraka release ... "
            f"--key {file}",
        }
    )


@app.command(cls=Command, epilog=examples("ostraka key show coordinator.key > coordinator.pub"))
def show(
    file: Annotated[Path, typer.Argument(help="A secret key, as written by `key create`.")],
) -> None:
    """Print the public part of a secret key: one line, for everybody."""
    from ostraka.signing import SecretKey

    typer.echo(str(SecretKey.load(file).public))


@app.command(
    cls=Command,
    epilog=examples('ostraka key card coordinator.key --name "St. Mary" --out coordinator.card'),
)
def card(
    file: Annotated[Path, typer.Argument(help="A secret key, as written by `key create`.")],
    *,
    name: Annotated[str, option(None, "How people call you.", of="name")],
    out: Annotated[Path, option(None, "Where to write the card.", of="file")],
    force: Annotated[bool, FORCE] = False,
) -> None:
    """Write a card: your name and keys, for polls in which parties seal one half of what they send
    to you, and the other half to a trustee. Anybody may see it.
    """
    from ostraka.files import check_distinct, check_new
    from ostraka.sealing import Card
    from ostraka.signing import SecretKey

    check_new(out, force)
    check_distinct(out, (file,), "the key")
    made = Card.of(name, SecretKey.load(file))
    made.save(out, overwrite=True)  # asked before
    print_answers(
        {
            "Wrote": f"{out}, the card of {made}.",
            "What next?": "Make a poll with it: ostraka poll create ... --coordinator "
            f"{out} --trustee CARD",
        }
    )
