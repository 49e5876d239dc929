"""Cards: who a server is, signed, in one form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ostraka.errors import FormatError, ParameterError, SignatureError
from ostraka.sealing import Card, Opener, Servers
from tests.sealing.made import COORDINATOR, SERVERS, TRUSTEE


def test_there_and_back(tmp_path: Path) -> None:
    card = Card.of("Universität Ψ", TRUSTEE)
    card.save(tmp_path / "x.card")
    assert Card.load(tmp_path / "x.card") == card
    assert str(card) == f"Universität Ψ ({TRUSTEE.public})"
    assert Servers.from_json(SERVERS.to_json()) == SERVERS


def test_nobody_puts_a_key_beside_somebody_elses() -> None:
    """A coordinator who seals to itself in the trustee's name would read everything."""
    trustee = SERVERS.trustee
    with pytest.raises(SignatureError):
        replace(trustee, sealing=Opener.of(COORDINATOR).public)
    with pytest.raises(SignatureError):
        replace(trustee, name="Another")


def test_one_server_is_not_two() -> None:
    with pytest.raises(ParameterError, match="another server than the coordinator"):
        Servers(coordinator=Card.of("a", TRUSTEE), trustee=Card.of("b", TRUSTEE))


@pytest.mark.parametrize(
    "name",
    ["", "a\nb", "x" * 101, "\x1b[31m", "University (ed25519:AAAA)", "Ed25519:AAAA", "St. Mary ("],
    ids=["empty", "lines", "long", "colours", "a key", "part of one", "brackets"],
)
def test_names_that_no_screen_shows_as_they_are(name: str) -> None:
    with pytest.raises(ParameterError):
        Card.of(name, TRUSTEE)


@pytest.mark.parametrize(
    "changed",
    [
        {"name": 3},
        {"key": "ed25519:x"},
        {"sealing": "zz"},
        {"sealing": "00"},
        {"more": "x"},
        {"signature": "00" * 64},
    ],
    ids=str,
)
def test_what_is_no_card(changed: dict[str, object]) -> None:
    with pytest.raises((FormatError, SignatureError)):
        Card.from_json(SERVERS.trustee.to_json() | changed)


def test_what_is_no_file_of_one() -> None:
    data = SERVERS.trustee.to_bytes()
    for changed in (data.replace(b"card 1", b"card 2"), b"", b"[]", data[:-20]):
        with pytest.raises(FormatError):
            Card.from_bytes(changed)
    with pytest.raises(FormatError):
        Servers.from_json({"coordinator": {}})


def test_a_card_has_one_form() -> None:
    data = SERVERS.trustee.to_bytes()
    for other in (data + b" ", data.replace(b",", b", ", 1)):
        with pytest.raises(FormatError, match="another form"):
            Card.from_bytes(other)


def test_nothing_is_sealed_to_a_key_that_no_program_makes() -> None:
    from ostraka.sealing import Sealed
    from tests.sealing.test_envelope import PURPOSE

    with pytest.raises(FormatError, match="nothing can be sealed"):
        Sealed.to(bytes(32), b"message", PURPOSE)
