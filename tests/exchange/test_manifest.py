"""The list of what is counted: signed, in order, without names."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ostraka.errors import FormatError, SignatureError
from ostraka.exchange import Manifest
from ostraka.signing import SecretKey

KEY = SecretKey.create()
DIGEST = "ab" * 32
THREE = [bytes([each]) * 32 for each in (7, 3, 5)]


def made(persons: int | None = None) -> Manifest:
    return Manifest.sign(KEY, poll=DIGEST, commitments=THREE, persons=persons)


def test_there_and_back() -> None:
    for each in (made(), made(12)):
        read = Manifest.from_bytes(each.to_bytes())
        assert read == each
        read.check(KEY.public)
        assert read.parties == 3
        assert read.counts(THREE[0])
        assert not read.counts(b"x" * 32)


def test_their_order_tells_nothing() -> None:
    """In whatever order they came, the list is the same."""
    assert made().commitments == tuple(sorted(THREE))
    assert made() == Manifest.sign(KEY, poll=DIGEST, commitments=THREE[::-1], persons=None)


@pytest.mark.parametrize(
    "change",
    [
        {"poll": "cd" * 32},
        {"persons": 1},
        {"commitments": tuple(sorted(THREE))[:2]},
        {"commitments": (*tuple(sorted(THREE))[:2], b"\xff" * 32)},
    ],
)
def test_what_was_changed_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SignatureError, match="list of what counts"):
        replace(made(), **change).check(KEY.public)


def test_no_persons_is_not_zero_persons() -> None:
    with pytest.raises(SignatureError):
        replace(made(), persons=0).check(KEY.public)


def rewritten(**changes: Any) -> bytes:
    held = {**json.loads(made().to_bytes()), **changes}
    return json.dumps({name: value for name, value in held.items() if value != ...}).encode()


LISTED = [each.hex() for each in sorted(THREE)]


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"7",
        b"{}",
        rewritten(ostraka="manifest 2"),
        rewritten(more=1),
        rewritten(persons=...),
        rewritten(persons=1.5),
        rewritten(persons=True),
        rewritten(poll=7),
        rewritten(commitments=None),
        rewritten(commitments=7),
        rewritten(commitments=["zz"]),
        rewritten(commitments=["ab"]),
        rewritten(commitments=LISTED[::-1]),
        rewritten(commitments=[LISTED[0], LISTED[0]]),
        rewritten(signature=7),
    ],
)
def test_what_is_no_list(raw: bytes) -> None:
    with pytest.raises(FormatError, match="list of what counts"):
        Manifest.from_bytes(raw)
