"""`ostraka verify`: whether a release is what it says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostraka.cli.help import examples, option
from ostraka.cli.screen import print_answers
from ostraka.errors import say_number

if TYPE_CHECKING:
    from ostraka.poll import Poll
    from ostraka.release import Release
    from ostraka.signing import PublicKey

EXAMPLES = examples(
    "ostraka verify model.ostraka",
    "ostraka verify model.ostraka --signer coordinator.pub --poll stroke.poll",
    "ostraka verify ward-3.receipt --list stroke.list --signer service.pub",
)


def verify(
    file: Annotated[Path, typer.Argument(help="A release, or a poll that somebody sent you.")],
    *,
    signer: Annotated[
        list[str] | None,
        option(
            None,
            "Whose signature there must be: a public key, or a file that holds one. May be "
            "repeated, for a service that has changed its key.",
            of="key",
        ),
    ] = None,
    poll: Annotated[
        Path | None,
        option(None, "The poll: check that the release is what it asked for.", of="file"),
    ] = None,
    list_: Annotated[
        Path | None,
        option(
            None,
            "FILE is a receipt: look for it on this list of what was counted (ostraka fetch "
            "--list).",
            "--list",
            of="file",
        ),
    ] = None,
    contribution: Annotated[
        Path | None,
        option(None, "What the receipt should be for: your contribution's file.", of="file"),
    ] = None,
) -> None:
    """Check a release: who signed it, whether its noise gives what it promises, and whether it is
    what the poll asked for. Of a poll, check who signed it.

    Nobody is asked: everything is computed from these files. A signature is looked for beside the
    file, under its name with .sig at the end. What no file can show is that the noise was drawn as
    promised: that is the signer's word.

    Of a receipt for a contribution that a coordinator has handed in for you, check whether it was
    counted.
    """
    from ostraka.errors import ParameterError
    from ostraka.files import read_regular
    from ostraka.poll import Poll
    from ostraka.signing import Signature
    from ostraka.signing.signature import path_of
    from ostraka.tensors import LARGEST_FILE
    from ostraka.verifying import check_release, check_signature, read_signed

    keys = [_find_key(each) for each in signer or ()]
    if list_ is not None or contribution is not None:
        from ostraka.cli.verify_receipt import verify_receipt

        if list_ is None or poll is not None:
            raise ParameterError("--list", got=None, allowed="with a receipt, and without --poll")
        verify_receipt(file, list_, keys, contribution)
        return
    asked = None if poll is None else Poll.load(poll)
    content, beside = read_regular(file, "release", LARGEST_FILE), path_of(file)
    _refuse_receipt(content)
    signature = Signature.load(beside) if beside.exists() else None
    trusted = keys[0] if keys else None
    if signature is not None and signature.key in keys:
        trusted = signature.key
    by = check_signature(content, signature, trusted)
    told = {"Who signed it?": _say_signer(by, vouched=trusted is not None)}
    found = read_signed(content)
    if isinstance(found, Poll):
        if asked is not None:
            raise ParameterError("--poll", got=str(poll), allowed="none: this is a poll itself")
        told["What is it?"] = f"The poll {found.digest}. Read it: ostraka poll show {file}"
    else:
        check_release(found, asked)
        told |= _say_checked(found, asked)
    print_answers(told)


def _refuse_receipt(content: bytes) -> None:
    """A receipt, or a list, is checked against the other one."""
    from ostraka.errors import InputError

    kinds = {b'"ostraka":"receipt ': "a receipt", b'"ostraka":"manifest ': "a list of what counts"}
    found = next((kind for mark, kind in kinds.items() if mark in content[-200_000:]), None)
    if found is not None and content.startswith(b"{"):
        raise InputError(
            f"This is {found}. A receipt is checked against the list.",
            "Name both, and the service's key: ostraka verify NAME.receipt --list FILE "
            "--signer KEY.",
        )


def _find_key(given: str) -> PublicKey:
    from ostraka.signing import PublicKey

    # What reads as a key is one, whatever files there are: somebody might have named one so.
    is_file = not PublicKey.is_written(given) and Path(given).is_file()
    return PublicKey.load(given) if is_file else PublicKey.parse(given)


def _say_signer(by: PublicKey | None, *, vouched: bool) -> str:
    if by is None:
        return "Nobody: there is no file that ends in .sig beside it."
    if vouched:
        return f"{by}, whom you named. Not a byte was changed since."
    return (
        f"{by}. Whose key that is, this does not show: compare it with the one that the "
        "coordinator published, or name that one by --signer."
    )


def _say_checked(release: Release, asked: Poll | None) -> dict[str, str]:
    each = " and ".join(
        f"ε = {one.round_epsilon:g}"
        + (f", δ = {say_number(one.round_delta)}" if one.round_delta else "")
        + f" for one {one.protects}"
        for one in release.certificates
    )
    follows = (
        "Not checked, and so it is not whether the sensitivity is right: name the poll by --poll."
    )
    if asked is not None:
        follows = (
            f"Yes: its certificate, classes, columns and features follow from the poll "
            f"{asked.digest[:12]}... How many took part, and the model's weights, are the word of "
            "whoever signed."
        )
    return {
        "Does its noise give what it promises?": "Yes: computed anew from noise and sensitivity, "
        f"{each}.",
        "Is it what the poll asked for?": follows,
    }
