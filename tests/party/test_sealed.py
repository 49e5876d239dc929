"""What a party seals: to be opened by the right server, for the right purpose, alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ostraka.errors import FormatError, SealError
from ostraka.party import sealed
from ostraka.party.contribution import Contribution, Kind
from ostraka.party.sealed import FOR_TRUSTEE, open_seed, open_share, seal, sealed_bytes, seed_of
from ostraka.sealing import Opener
from ostraka.sealing.shares import centre
from tests.sealing.made import COORDINATOR, SERVERS, TRUSTEE

DIGEST = "ab" * 32
FILES = Path(__file__).parent / "files"
OURS, THEIRS = Opener.of(COORDINATOR), Opener.of(TRUSTEE)


def plain(values: object = (5, -7, 2**31 - 1), persons: int | None = None) -> Contribution:
    kind = Kind.VECTOR if persons is None else Kind.VECTORS
    return Contribution(
        poll=DIGEST, party="ward 3", kind=kind, values=np.array(values), n_persons=persons
    )


def opened(given: Contribution, dimension: int = 3) -> list[int]:
    """By both servers together."""
    named = {"poll": given.poll, "party": given.party, "persons": given.n_persons}
    theirs = open_seed(seed_of(given), THEIRS, dimension, **named)
    return centre(open_share(given, OURS, dimension) + theirs)


@pytest.mark.parametrize("persons", [None, 0, 12])
def test_both_servers_together_have_it(persons: int | None) -> None:
    given = seal(plain(persons=persons), SERVERS)
    assert given.is_sealed
    assert given.of_persons is (persons is not None)
    assert given.n_persons == persons
    assert opened(Contribution.from_bytes(given.to_bytes())) == [5, -7, 2**31 - 1]
    assert given.values.size == sealed_bytes(3) == FOR_TRUSTEE + 48 + 24


def test_a_known_contribution_still_opens() -> None:
    """Of November 2026; its servers have the keys of these tests."""
    for name, expected in (("sealed", [5, -7, 2**31 - 1]), ("sealed_sum", [1, 2, 3])):
        assert opened(Contribution.load(FILES / f"{name}.contribution")) == expected


def test_no_server_opens_the_others_half() -> None:
    given = seal(plain(), SERVERS)
    with pytest.raises(SealError):
        open_share(given, THEIRS, 3)
    with pytest.raises(SealError):
        open_seed(seed_of(given), OURS, 3, poll=DIGEST, party="ward 3", persons=None)


@pytest.mark.parametrize(
    "changes",
    [{"poll": "ac" * 32}, {"party": "ward 4"}, {"kind": Kind.SEALED_SUM, "n_persons": 1}],
    ids=["poll", "party", "persons"],
)
def test_nobody_moves_it_elsewhere(changes: dict[str, object]) -> None:
    """To another poll, another party, or more persons: their header is in the clear."""
    moved = replace(seal(plain(), SERVERS), **changes)
    with pytest.raises(SealError, match="contribute to this poll again"):
        opened(moved)


def test_halves_cannot_change_places() -> None:
    one, other = seal(plain(), SERVERS), seal(plain((1, 2, 3)), SERVERS)
    mixed = np.concatenate([one.values[:FOR_TRUSTEE], other.values[FOR_TRUSTEE:]])
    assert opened(replace(one, values=mixed)) not in ([5, -7, 2**31 - 1], [1, 2, 3])


@pytest.mark.parametrize("n", [0, 2, 4])
def test_another_length_does_not_open(n: int) -> None:
    with pytest.raises(SealError):
        open_share(seal(plain(), SERVERS), OURS, n)


def test_a_seed_of_another_length_does_not_open() -> None:
    from ostraka.sealing import Sealed
    from ostraka.sealing.envelope import Purpose

    purpose = Purpose(role="trustee", poll=DIGEST, party="ward 3", persons=None)
    envelope = Sealed.to(THEIRS.public, b"short", purpose)
    with pytest.raises(SealError):
        open_seed(envelope, THEIRS, 3, poll=DIGEST, party="ward 3", persons=None)


@pytest.mark.parametrize("kind", [Kind.BALLOT, Kind.CLASSIFIER])
def test_only_vectors_are_sealed(kind: Kind) -> None:
    given = Contribution(
        poll=DIGEST,
        party="a",
        kind=kind,
        values=np.array([0, 1]),
        n_classes=2 if kind is Kind.BALLOT else 0,
    )
    with pytest.raises(FormatError, match="can be sealed"):
        seal(given, SERVERS)


def test_a_party_that_changes_its_mind_seals_anew() -> None:
    one, other = (seal(plain(), SERVERS) for _ in range(2))
    assert not np.array_equal(one.values, other.values)
    assert (open_share(one, OURS, 3) != open_share(other, OURS, 3)).all()


def test_a_seed_that_is_used_twice_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant's shares differ by what the party has changed."""
    real = sealed.split
    monkeypatch.setattr("ostraka.sealing.shares.secrets.token_bytes", lambda n: bytes(n))
    monkeypatch.setattr(sealed, "split", real)
    one, other = seal(plain(), SERVERS), seal(plain((6, -7, 3)), SERVERS)
    gap = open_share(other, OURS, 3) - open_share(one, OURS, 3)
    assert centre(gap) == [1, 0, 3 - (2**31 - 1)]
