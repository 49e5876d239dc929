"""From a key that is known to the one that a service has now: each has signed the next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ostraka.errors import SignatureError
from ostraka.exchange import Succession, follow
from ostraka.signing import SecretKey

KEYS = [SecretKey.create() for _ in range(4)]
PUBLIC = [key.public for key in KEYS]
LINKS = [Succession.sign(old, new) for old, new in zip(KEYS, PUBLIC[1:], strict=False)]


def test_from_any_key_to_the_last() -> None:
    for start in range(4):
        assert follow(PUBLIC[start], PUBLIC[3], LINKS) == PUBLIC[start:]


def test_a_key_that_vouches_for_nobody() -> None:
    """Such as one that was stolen, or one of somebody else."""
    for links in ([], LINKS[:2], [LINKS[0], LINKS[2]]):
        with pytest.raises(SignatureError, match="the old one does not vouch"):
            follow(PUBLIC[0], PUBLIC[3], links)
    with pytest.raises(SignatureError, match="join again with a new code"):
        follow(SecretKey.create().public, PUBLIC[3], LINKS)


def test_a_word_that_nobody_has_given() -> None:
    forged = Succession(PUBLIC[0], PUBLIC[3], LINKS[0].signature)
    for links in ([forged], [replace(LINKS[0], new=PUBLIC[2]), LINKS[2]]):
        with pytest.raises(SignatureError, match="change of keys"):
            follow(PUBLIC[0], PUBLIC[3], links)


def test_round_in_circles() -> None:
    back = Succession.sign(KEYS[1], PUBLIC[0])
    with pytest.raises(SignatureError, match="does not vouch"):
        follow(PUBLIC[0], PUBLIC[3], [LINKS[0], back])
