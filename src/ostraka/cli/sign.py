"""`ostraka sign`: a signature beside a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostraka.cli.help import examples, option
from ostraka.cli.screen import print_answers

EXAMPLES = examples("ostraka sign model.ostraka --key coordinator.key")


def sign(
    file: Annotated[Path, typer.Argument(help="What to sign: a release or a poll.")],
    key: Annotated[
        Path, option(None, "Your secret key, as written by `ostraka key create`.", of="file")
    ],
) -> None:
    """Sign a release or a poll: write a small file beside it, named like it and ending in .sig."""
    from ostraka.files import read_regular
    from ostraka.signing import SecretKey, Signature
    from ostraka.signing.signature import path_of
    from ostraka.tensors import LARGEST_FILE

    secret = SecretKey.load(key)
    signature = Signature.of(read_regular(file, "file", LARGEST_FILE), secret)
    signature.save(path_of(file))
    print_answers(
        {
            "Signed": f"{path_of(file)}, by {signature.key}. Hand it on together with "
            f"{file.name}; others check it by ostraka verify {file.name} --signer {signature.key}"
        }
    )
