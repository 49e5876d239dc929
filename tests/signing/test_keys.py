"""Keys: what is written, what is refused, and that nobody else can read a secret."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey

from ostraka.errors import FormatError, InputError, SignatureError
from ostraka.signing import PublicKey, SecretKey
from ostraka.signing.keys import PRIME, SMALL_ORDER

KEY = SecretKey.create()


def test_the_vector_of_the_standard() -> None:
    """RFC 8032, section 7.1, test 2."""
    public = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
    signed = bytes.fromhex(
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
    )
    PublicKey(public).check(signed, b"\x72")
    with pytest.raises(SignatureError):
        PublicKey(public).check(signed, b"\x73")


def test_public_keys_are_one_line(tmp_path: Path) -> None:
    line = str(KEY.public)
    assert len(line) == 8 + 44
    assert PublicKey.parse(f" {line}\n") == KEY.public
    (tmp_path / "k.pub").write_text(line + "\n")
    assert PublicKey.load(tmp_path / "k.pub") == KEY.public


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ed25519:",
        "rsa:" + "A" * 44,
        "ed25519:AAAA",
        "ed25519:" + "é" * 44,
        "ed25519:" + "A" * 90,
    ],
)
def test_what_is_no_public_key(text: str) -> None:
    with pytest.raises(FormatError, match="public key"):
        PublicKey.parse(text)


def test_a_secret_is_for_its_owner_alone_and_never_replaced(tmp_path: Path) -> None:
    path = tmp_path / "k.key"
    before = os.umask(0)
    try:
        KEY.save(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert SecretKey.load(path).public == KEY.public
    with pytest.raises(FileExistsError, match="never replaced"):
        SecretKey.create().save(path)
    assert SecretKey.load(path).public == KEY.public
    path.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        SecretKey.load(path)


def test_no_secret_shows() -> None:
    held = KEY._key.private_bytes_raw()
    assert held.hex() not in repr(KEY)
    assert repr(held) not in repr(KEY)
    assert repr(KEY) == "SecretKey()"


def test_what_is_no_secret_key(tmp_path: Path) -> None:
    other = Ed448PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    locked = KEY._key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"x"),
    )
    for content in (b"", b"ssh-ed25519 AAAA", other, locked):
        (tmp_path / "k.key").write_bytes(content)
        (tmp_path / "k.key").chmod(0o600)
        with pytest.raises(FormatError, match="no Ed25519 key in PEM without a password"):
            SecretKey.load(tmp_path / "k.key")


def test_public_and_secret_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "k.pub").write_text(str(KEY.public))
    with pytest.raises(FormatError, match="the public part of one, which checks and cannot sign"):
        SecretKey.load(tmp_path / "k.pub")  # whoever may read it
    KEY.save(tmp_path / "k.key")
    with pytest.raises(FormatError, match="it is a SECRET key; its public part: ostraka key show"):
        PublicKey.load(tmp_path / "k.key")


@pytest.mark.parametrize("y", [*SMALL_ORDER, PRIME, PRIME + 1])
@pytest.mark.parametrize("sign", [0, 2**255])
def test_a_key_that_signatures_of_nobody_fit(y: int, sign: int) -> None:
    """Some of them cryptography takes: with R = A and S = 0 everything is signed."""
    with pytest.raises(FormatError, match="anybody could sign for it"):
        PublicKey((y + sign).to_bytes(32, "little"))


def test_such_keys_are_why() -> None:
    one = (1).to_bytes(32, "little")
    ed25519.Ed25519PublicKey.from_public_bytes(one).verify(one + bytes(32), b"anything")
