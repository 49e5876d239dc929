"""`ostraka backup`: a service in one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostraka.cli.help import examples
from ostraka.cli.screen import print_answers
from ostraka.cli.serve import DATA, DATABASE, DEFAULT_DATA, FILES, KEY

EXAMPLES = examples(
    "ostraka backup monday.backup",
    "ostraka backup monday.backup --database postgresql://ostraka@db/ostraka",
)


def backup(
    file: Annotated[Path, typer.Argument(help="Where to write it; nothing is replaced.")],
    *,
    data: Annotated[Path, DATA] = DEFAULT_DATA,
    database: Annotated[str | None, DATABASE] = None,
    files: Annotated[str | None, FILES] = None,
    key: Annotated[Path | None, KEY] = None,
) -> None:
    """Write a whole service into one file: database, large files and key, at one moment.

    The service may go on running. The file has the secret key and the contributions to open polls
    in it, so only you can read it: keep it as you keep the service.
    """
    from ostraka.cli.screen import console
    from ostraka.cli.serve import settings_of
    from ostraka.service import backup as backups
    from ostraka.service.starting import open_service

    settings = settings_of(data, database, files, key)
    service = open_service(settings)
    with console().status("Writing the backup"):  # on terminals only
        rows = backups.save(service, settings.key_path, file)
    service.database.close()
    print_answers(
        {
            "Wrote": f"{file}, which only you can read.",
            "What is in it?": f"{say_rows(rows)}; and the service's secret key.",
            "What next?": "Keep it elsewhere, as safely as the service. Put it back with ostraka "
            "restore.",
        }
    )


def say_rows(rows: dict[str, int]) -> str:
    """What is in a backup."""
    from ostraka.public.promise import plural

    kinds = {"poll": "poll", "party": "party", "contribution": "contribution"}
    some = ", ".join(plural(word, rows[table]) for table, word in kinds.items())
    return f"{some} and {plural('charge', rows['ledger_charge'])}"
