"""Receipts: the service's word, with or without the salt."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from ostraka.errors import FormatError, SignatureError
from ostraka.exchange import Receipt
from ostraka.signing import SecretKey

KEY = SecretKey.create()
DIGEST, COMMITMENT = "ab" * 32, bytes(range(32))


def made(**changes: Any) -> Receipt:
    given: dict[str, Any] = {
        "poll": DIGEST,
        "party": "ward 3",
        "revision": 2,
        "commitment": COMMITMENT,
    }
    return Receipt.sign(KEY, **{**given, **changes})


def test_there_and_back() -> None:
    for each in (made(), replace(made(party="Ünïté 7"), salt=b"s" * 32)):
        read = Receipt.from_bytes(each.to_bytes())
        assert read == each
        read.check(KEY.public)
        assert each.to_bytes() == read.to_bytes()


@pytest.mark.parametrize(
    "change",
    [{"poll": "cd" * 32}, {"party": "ward 4"}, {"revision": 3}, {"commitment": b"x" * 32}],
)
def test_what_was_changed_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(SignatureError, match="receipt"):
        replace(made(), **change).check(KEY.public)


def test_parts_do_not_run_into_each_other() -> None:
    """A name that ends as a number begins is another name."""
    one = made(poll="a", party="bc")
    with pytest.raises(SignatureError):
        replace(one, poll="ab", party="c").check(KEY.public)


def rewritten(**changes: Any) -> bytes:
    held = json.loads(replace(made(), salt=b"s" * 32).to_bytes())
    held.update(changes)
    return json.dumps({name: value for name, value in held.items() if value != ...}).encode()


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        rewritten(ostraka="receipt 2"),
        rewritten(party=...),
        rewritten(more=1),
        rewritten(revision="2"),
        rewritten(revision=True),
        rewritten(party=7),
        rewritten(commitment="zz"),
        rewritten(commitment="ab"),
        rewritten(signature="ab" * 63),
        rewritten(salt="ab"),
        rewritten(salt=None),
    ],
)
def test_what_is_no_receipt(raw: bytes) -> None:
    with pytest.raises(FormatError, match="receipt"):
        Receipt.from_bytes(raw)
