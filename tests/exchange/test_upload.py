"""Uploads: signed by a party, for one revision; their commitments bind and hide."""

from __future__ import annotations

import hashlib

import pytest

from ostraka.errors import FormatError, ParameterError, SignatureError
from ostraka.exchange import Upload, commit
from ostraka.exchange.upload import HEADER, MOST_REVISIONS
from ostraka.signing import SecretKey

KEY, OTHER = SecretKey.create(), SecretKey.create()
CONTENT = b"a contribution"


def test_there_and_back() -> None:
    made = Upload.create(CONTENT, 3, KEY)
    read = Upload.from_bytes(made.to_bytes())
    assert read == made
    read.check(KEY.public)
    read.check(KEY.public, read.commitment)
    assert read.commitment == commit(made.salt, CONTENT)
    assert len(made.to_bytes()) == HEADER.size + len(CONTENT)
    assert "contribution" not in repr(made).split("(", 1)[1]


def test_what_was_changed_is_refused() -> None:
    raw = Upload.create(CONTENT, 3, KEY).to_bytes()
    for at in (9, 13, 45, 60, len(raw) - 1):  # revision, salt, signature, contribution
        changed = raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :]
        with pytest.raises(SignatureError, match="upload"):
            Upload.from_bytes(changed).check(KEY.public)
    with pytest.raises(SignatureError):
        Upload.from_bytes(raw).check(OTHER.public)
    with pytest.raises(SignatureError):
        Upload.from_bytes(raw + b"x").check(KEY.public)


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (b"", "does not begin"),
        (b"OSTRASND", "cut off"),
        (b"X" * 200, "does not begin"),
        (HEADER.pack(b"OSTRASND", 2, 1, b"", b""), "version 2"),
        (HEADER.pack(b"OSTRASND", 1, 0, b"", b""), "revision is 0"),
        (HEADER.pack(b"OSTRASND", 1, MOST_REVISIONS + 1, b"", b""), "revision is"),
    ],
)
def test_what_is_no_upload(raw: bytes, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        Upload.from_bytes(raw)


@pytest.mark.parametrize("revision", [0, -1, MOST_REVISIONS + 1, 1.5])
def test_no_such_revision(revision: int) -> None:
    with pytest.raises(ParameterError, match="revision"):
        Upload.create(CONTENT, revision, KEY)


# ---- commitments ---------------------------------------------------------------------------------


def guess(commitment: bytes, candidates: list[bytes]) -> list[bytes]:
    """The contributions that somebody finds who sees a commitment, and knows what may be in it."""
    plain = [each for each in candidates if hashlib.sha256(each).digest() == commitment]
    zero = [each for each in candidates if commit(b"\0" * 32, each) == commitment]
    return plain + zero


def test_a_commitment_hides() -> None:
    """A party of one of two vectors cannot be told apart by its commitment."""
    candidates = [b"ill", b"well"]
    made = [Upload.create(b"ill", 1, KEY) for _ in range(50)]
    assert len({each.commitment for each in made}) == 50, "the same, sent twice, looks different"
    assert all(guess(each.commitment, candidates) == [] for each in made)


def test_without_a_salt_it_would_not_hide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant whose salt is fixed."""
    monkeypatch.setattr("secrets.token_bytes", lambda n: b"\0" * n)
    made = Upload.create(b"ill", 1, KEY)
    assert guess(made.commitment, [b"ill", b"well"]) == [b"ill"]


def test_a_commitment_binds() -> None:
    """Where the salt ends and the contribution begins is part of it."""
    assert commit(b"ab", b"c") != commit(b"a", b"bc")
    assert commit(b"a" * 32, b"") != commit(b"a" * 31, b"a")
