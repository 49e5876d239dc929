"""`ostraka verify` of a receipt: whether a contribution is on the signed list."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ostraka.cli.screen import print_answers

if TYPE_CHECKING:
    from ostraka.exchange import Manifest, Receipt
    from ostraka.signing import PublicKey

__all__ = ["verify_receipt"]

LARGEST_RECEIPT = 10_000


def verify_receipt(
    file: Path, listed: Path, signers: list[PublicKey], contribution: Path | None
) -> None:
    """Check a receipt against the list, and, if it is there, against the contribution's file."""
    from ostraka.errors import ParameterError, naming_file
    from ostraka.exchange import Manifest, Receipt
    from ostraka.files import read_regular
    from ostraka.tensors import LARGEST_FILE

    if not signers:
        raise ParameterError("--signer", got=None, allowed="the service's key, for a receipt")
    with naming_file(file):
        given = Receipt.from_bytes(read_regular(file, "receipt", LARGEST_RECEIPT))
    with naming_file(listed):
        held = Manifest.from_bytes(read_regular(listed, "list", LARGEST_FILE))
    by = [
        _check_by(each.check, signers, what)
        for each, what in ((given, "receipt"), (held, "list of what counts"))
    ]
    opens = None if contribution is None else _opens(given, contribution)
    _refuse_missing(given, held)
    print_answers(
        {
            "Whose receipt is it?": f"Of party {given.party}, for the poll {given.poll[:12]}...",
            "Who signed it?": f"{by[0]}, whom you named; receipt and list."
            if by[0] == by[1]
            else f"The receipt {by[0]}, the list {by[1]}; you named both.",
            "Is it for this contribution?": "Yes: not a byte of it was changed."
            if opens
            else "Not checked: name the contribution's file by --contribution.",
            "Was it counted?": f"Yes: it is one of {held.parties:,} on the list.",
        }
    )


def _check_by(check: Callable[[PublicKey], None], signers: list[PublicKey], what: str) -> PublicKey:
    """Which of these keys has signed; before a service changed its key, it was another."""
    from ostraka.errors import SignatureError

    for each in signers:
        with contextlib.suppress(SignatureError):
            check(each)
            return each
    known = ", ".join(map(str, signers))
    raise SignatureError(
        f"The {what} was not signed by the key that you named, {known}; or it was changed since."
        if len(signers) == 1
        else f"The {what} was signed by none of the keys that you named: {known}; or it was "
        "changed since.",
        "If the service has changed its key, name the earlier one and the present one: --signer "
        "OLD --signer NEW. If it has not, get the file anew from the coordinator.",
    )


def _opens(given: Receipt, contribution: Path) -> bool:
    from ostraka.errors import InputError, SignatureError
    from ostraka.exchange import commit
    from ostraka.files import read_regular
    from ostraka.party.contribution import LARGEST_FILE

    if given.salt is None:
        raise InputError(
            "This receipt has no salt, so it cannot be compared with a contribution.",
            "Ask the coordinator for the one that ostraka hand-in has written.",
        )
    content = read_regular(contribution, "contribution", LARGEST_FILE)
    if commit(given.salt, content) != given.commitment:
        raise SignatureError(
            f"The receipt is not for what is in {contribution}.",
            "Compare it with the file that you gave away. If they are the same, something else "
            "was handed in in your name: ask the coordinator.",
        )
    return True


def _refuse_missing(given: Receipt, held: Manifest) -> None:
    from ostraka.errors import SignatureError

    if held.poll != given.poll:
        raise SignatureError(
            "The list is of another poll than the receipt.", "Get the list of the same poll."
        )
    if not held.counts(given.commitment):
        raise SignatureError(
            "NOT COUNTED: what the receipt is for is not on the list.",
            "Ask the coordinator why; the receipt shows that it had arrived.",
        )
