"""`ostraka restore`: a service from its backup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostraka.cli.backup import say_rows
from ostraka.cli.help import examples, option
from ostraka.cli.screen import print_answers
from ostraka.cli.serve import DATA, DATABASE, DEFAULT_DATA, FILES, KEY

EXAMPLES = examples(
    "ostraka restore monday.backup --data restored",
    "ostraka restore monday.backup --data restored --nothing-closed-since",
)


def restore(
    file: Annotated[Path, typer.Argument(help="A backup, as written by ostraka backup.")],
    *,
    data: Annotated[Path, DATA] = DEFAULT_DATA,
    database: Annotated[str | None, DATABASE] = None,
    files: Annotated[str | None, FILES] = None,
    key: Annotated[Path | None, KEY] = None,
    nothing_closed_since: Annotated[
        bool,
        option(
            None,
            "You know that no poll was closed after the backup was made. Only then may the "
            "restored service open and close polls.",
            "--nothing-closed-since",
        ),
    ] = False,
) -> None:
    """Make the service of a backup, in an empty place; on SQLite or PostgreSQL, whatever it was on.

    Without --nothing-closed-since it becomes an archive. What was charged after the backup was made
    is not in its accounts, so it could charge parties beyond their budgets, or draw noise for a
    poll a second time. An archive shows everything, and opens and closes nothing.
    """
    from ostraka.cli.screen import console
    from ostraka.cli.serve import settings_of
    from ostraka.service import backup as backups
    from ostraka.service.starting import make_folder

    settings = settings_of(data, database, files, key)
    make_folder(settings.folder)
    with console().status("Restoring"):  # on terminals only
        rows = backups.restore(settings, file, nothing_closed_since=nothing_closed_since)
    what = (
        "the whole service" if nothing_closed_since else "an archive: it opens and closes nothing"
    )
    print_answers(
        {
            "Restored": f"{file}, as {what}.",
            "What is in it?": f"{say_rows(rows)}. Accounts and log add up.",
            "What next?": f"Start it with the same options: ostraka serve --data {data}. Who was "
            "revoked since the backup counts again: revoke them anew.",
        }
    )
