"""Signatures beside files: a changed byte anywhere is noticed, and nothing else passes for one."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.errors import FormatError, SignatureError
from ostraka.signing import SecretKey, Signature
from ostraka.signing.signature import path_of

KEY = SecretKey.create()
CONTENT = b"what was released"


def test_there_and_back(tmp_path: Path) -> None:
    path = path_of(tmp_path / "model.ostraka")
    assert path.name == "model.ostraka.sig"
    Signature.of(CONTENT, KEY).save(path)
    read = Signature.load(path)
    read.check(CONTENT)
    assert read.key == KEY.public


@given(st.integers(0, len(CONTENT) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed(place: int, change: int) -> None:
    changed = bytearray(CONTENT)
    changed[place] ^= change
    with pytest.raises(SignatureError, match="one of them was changed"):
        Signature.of(CONTENT, KEY).check(bytes(changed))


@given(st.integers(0, 63), st.integers(1, 255))
def test_a_changed_signature_is_noticed(place: int, change: int) -> None:
    signed = bytearray(Signature.of(CONTENT, KEY).signed)
    signed[place] ^= change
    with pytest.raises(SignatureError):
        Signature(KEY.public, bytes(signed)).check(CONTENT)


def test_another_key_has_not_signed() -> None:
    signed = Signature.of(CONTENT, KEY).signed
    with pytest.raises(SignatureError):
        Signature(SecretKey.create().public, signed).check(CONTENT)


def test_what_the_key_signed_for_another_purpose_is_no_signature_of_a_file() -> None:
    """The mutants sign the content, or its digest, and nothing that says what it is."""
    digest = hashlib.sha256(CONTENT)
    for message in (CONTENT, digest.digest(), digest.hexdigest().encode()):
        with pytest.raises(SignatureError):
            Signature(KEY.public, KEY.sign(message)).check(CONTENT)


@given(st.binary(max_size=300))
def test_noise_is_no_signature(data: bytes) -> None:
    with pytest.raises(FormatError, match="signature"):
        Signature.from_bytes(data)


@pytest.mark.parametrize(
    "change",
    [
        {"ostraka": "signature 2"},
        {"more": "x"},
        {"key": 3},
        {"key": "ed25519:AAAA"},
        {"signature": "AAAA"},
        {"signature": "é"},
        {"signature": None},
        {"signature": ["A"]},
    ],
)
def test_what_is_almost_a_signature(change: dict[str, object]) -> None:
    content = json.loads(Signature.of(CONTENT, KEY).to_bytes())
    with pytest.raises(FormatError):
        Signature.from_bytes(json.dumps({**content, **change}).encode())
