"""The two sources: different types, one repeatable and one not."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.errors import ParameterError
from ostraka.mechanism import Entropy, Rehearsal


@pytest.mark.parametrize("n", [0, 1, 7, 64, 1000])
def test_entropy_gives_n_bits(n):
    assert all(0 <= Entropy().bits(n) < 2**n for _ in range(50))


def test_every_bit_of_entropy_is_fair():
    """64 bits. False alarm: below 6e-14 for each.

    A Binomial(4000, 1/2) is off by 250 with probability ≤ 2·exp(−2·250²/4000).
    """
    draws = [Entropy().bits(64) for _ in range(4000)]
    for position in range(64):
        ones = sum(draw >> position & 1 for draw in draws)
        assert abs(ones - 2000) < 250


def test_entropy_does_not_repeat_itself():
    """False alarm: two equal draws among 100 of 128 bits, probability < 2^-115."""
    assert len({Entropy().bits(128) for _ in range(100)}) == 100


def test_entropy_refuses_a_negative_number_of_bits():
    with pytest.raises(
        ParameterError, match=r"n = -1 is not allowed\. Allowed: a number of bits, 0 or more\."
    ):
        Entropy().bits(-1)


def test_a_rehearsal_repeats_itself():
    first, second, other = Rehearsal(5), Rehearsal(5), Rehearsal(6)
    numbers = first.generator.random(10)
    assert np.array_equal(numbers, second.generator.random(10))
    assert not np.array_equal(numbers, other.generator.random(10))


def test_a_rehearsal_moves_on():
    rehearsal = Rehearsal(5)
    assert not np.array_equal(rehearsal.generator.random(10), rehearsal.generator.random(10))


@pytest.mark.parametrize("seed", [None, -1, 1.5, "1"])
def test_a_rehearsal_needs_a_seed(seed):
    with pytest.raises(
        ParameterError,
        match=r"seed (= .* is not allowed|is missing)\. \w+: a whole number, 0 or more\.",
    ):
        Rehearsal(seed)


def test_the_sources_cannot_be_mistaken_for_each_other():
    assert not hasattr(Rehearsal(1), "bits")
    assert not hasattr(Entropy(), "generator")
    assert not isinstance(Rehearsal(1), Entropy)
