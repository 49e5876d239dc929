"""Envelopes open for one server, one poll, one party and one purpose."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ostraka.errors import SealError
from ostraka.sealing import Opener, Sealed
from ostraka.sealing.envelope import OVERHEAD, Purpose
from ostraka.signing import SecretKey
from tests.sealing.made import COORDINATOR, TRUSTEE

PURPOSE = Purpose(role="trustee", poll="ab" * 32, party="ward 3", persons=None)
OTHERS = {
    "role": "coordinator",
    "poll": "ac" * 32,
    "party": "ward 4",
    "persons": 0,
}


def test_there_and_back() -> None:
    opener = Opener.of(TRUSTEE)
    envelope = Sealed.to(opener.public, b"message", PURPOSE)
    assert len(envelope) == OVERHEAD + len(b"message")
    assert opener.open(envelope, PURPOSE) == b"message"
    assert Sealed.to(opener.public, b"message", PURPOSE) != envelope


def test_a_known_envelope_still_opens() -> None:
    """Sealed by an earlier version, which must be read for ever."""
    assert Opener.of(TRUSTEE).open(bytes.fromhex(KNOWN), PURPOSE) == b"of November 2026"


KNOWN = (
    "082d02dafd88f88e6d0e808885c9de822f09146e4bbe3d70b21d65fbaab0082d"
    "1b1c7de46103ba1b1df09b615645a8873a35cd9d02433380a8d7a3018607cf8c"
)


def test_another_server_cannot_open_it() -> None:
    envelope = Sealed.to(Opener.of(TRUSTEE).public, b"message", PURPOSE)
    for secret in (COORDINATOR, SecretKey.create()):
        with pytest.raises(SealError, match="does not open"):
            Opener.of(secret).open(envelope, PURPOSE)


@pytest.mark.parametrize(("name", "value"), OTHERS.items())
def test_for_another_purpose_it_does_not_open(name: str, value: object) -> None:
    opener = Opener.of(TRUSTEE)
    envelope = Sealed.to(opener.public, b"message", PURPOSE)
    with pytest.raises(SealError):
        opener.open(envelope, replace(PURPOSE, **{name: value}))


@pytest.mark.parametrize(("name", "value"), OTHERS.items())
def test_a_purpose_that_is_not_bound_is_caught(
    name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant binds nothing: an envelope could be moved to another poll or party."""
    monkeypatch.setattr(Purpose, "to_bytes", lambda self: b"")
    opener = Opener.of(TRUSTEE)
    envelope = Sealed.to(opener.public, b"message", PURPOSE)
    assert opener.open(envelope, replace(PURPOSE, **{name: value})) == b"message"


@pytest.mark.parametrize("place", [0, 31, 32, 38, -1])
def test_a_changed_byte_is_seen(place: int) -> None:
    opener = Opener.of(TRUSTEE)
    envelope = bytearray(Sealed.to(opener.public, b"message", PURPOSE))
    envelope[place] ^= 1
    with pytest.raises(SealError):
        opener.open(bytes(envelope), PURPOSE)


@pytest.mark.parametrize("envelope", [b"", b"\0" * 31, b"\0" * 48, b"\xff" * 80])
def test_rubbish_does_not_open(envelope: bytes) -> None:
    with pytest.raises(SealError):
        Opener.of(TRUSTEE).open(envelope, PURPOSE)


def test_the_sealing_key_belongs_to_the_signing_key() -> None:
    assert Opener.of(TRUSTEE).public == Opener.of(SecretKey.from_seed(TRUSTEE.seed)).public
    assert Opener.of(TRUSTEE).public != Opener.of(COORDINATOR).public
    assert Opener.of(TRUSTEE).public != TRUSTEE.public.raw
