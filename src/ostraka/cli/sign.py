"""`ostraka sign`: a signature beside a file."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.help import examples, option
from ostraka.cli.options import FORCE
from ostraka.cli.screen import print_answers

if TYPE_CHECKING:
    from ostraka.signing import SecretKey

EXAMPLES = examples("ostraka sign model.ostraka --key coordinator.key")


def sign(
    file: Annotated[Path, typer.Argument(help="What to sign: a release or a poll.")],
    key: Annotated[
        Path, option(None, "Your secret key, as written by `ostraka key create`.", of="file")
    ],
    *,
    force: Annotated[bool, FORCE] = False,
) -> None:
    """Sign a release or a poll: write a small file beside it, named like it and ending in .sig.

    What does not hold what it promises is not signed.
    """
    from ostraka.files import read_regular
    from ostraka.release import Release
    from ostraka.signing import SecretKey
    from ostraka.tensors import LARGEST_FILE
    from ostraka.verifying import check_release, read_signed

    secret = SecretKey.load(key)
    check_place(file, key, secret, force=force)
    content = read_regular(file, "file", LARGEST_FILE)
    read = read_signed(content)
    if isinstance(read, Release):
        check_release(read)
    write_signature(content, file, secret)


def check_place(
    file: Path, key: Path, secret: SecretKey, *, force: bool, others: tuple[Path | None, ...] = ()
) -> None:
    """Refuse to replace the key, or what may be the signature of somebody else."""
    from ostraka.errors import FormatError
    from ostraka.files import check_distinct, check_new, check_writable
    from ostraka.signing import Signature
    from ostraka.signing.signature import path_of

    place = path_of(file)
    kept = "the key, the poll, the ledger or what is signed"
    check_distinct(place, (key, file, *others), kept, "signature")
    check_writable(place)
    with contextlib.suppress(FormatError):  # nobody knows what it is
        force = force or (place.is_file() and Signature.load(place).key == secret.public)
    check_new(place, force, "it may be a signature of somebody else; --force replaces it")


def write_signature(content: bytes, file: Path, secret: SecretKey) -> None:
    """Sign this content of the file, and say how others check it."""
    from ostraka.signing import Signature
    from ostraka.signing.signature import path_of

    signature = Signature.of(content, secret)
    signature.save(path_of(file))
    print_answers(
        {
            "Signed": f"{path_of(file)}, by {signature.key}. Hand it on together with "
            f"{file.name}; others check it by ostraka verify {file.name} --signer {signature.key}"
        }
    )
