"""One vector as two: exact in any order, and each half looks like chance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from ostraka.sealing import shares
from ostraka.sealing.shares import centre, expand, split, wrap

LEAST, MOST = -(2**63), 2**63 - 1
ALARM = 1e-6  # p-values below this fail
numbers = st.lists(st.integers(LEAST, MOST), min_size=1, max_size=6)


@given(numbers)
def test_there_and_back(vector: list[int]) -> None:
    assert centre(wrap(vector)) == vector
    assert (wrap(np.array(vector, dtype=np.int64)) == wrap(vector)).all()


@given(st.lists(st.integers(-(2**80), 2**80), min_size=1, max_size=6))
def test_residues(vector: list[int]) -> None:
    assert [(a - b) % 2**64 for a, b in zip(centre(wrap(vector)), vector)] == [0] * len(vector)


@settings(max_examples=30)
@given(st.lists(numbers.filter(lambda v: len(v) == 3), min_size=1, max_size=5))
def test_the_halves_add_up(vectors: list[list[int]]) -> None:
    """Whatever wraps around on the way."""
    halves = [split(np.array(vector, dtype=np.int64)) for vector in vectors]
    ours = sum((share for _, share in reversed(halves)), wrap([0] * 3))
    theirs = sum((expand(seed, 3) for seed, _ in halves), wrap([0] * 3))
    exact = [sum(column) for column in zip(*vectors)]
    assert (ours + theirs == wrap(exact)).all()


def test_a_seed_stands_for_one_share() -> None:
    """Known answers: parties and trustees of later versions must expand alike."""
    assert expand(bytes(32), 3).tolist() == KNOWN
    assert expand(bytes(32), 2).tolist() == KNOWN[:2]


KNOWN = [11278279787262510709, 3362118238033742058, 8799090525826403956]


def test_no_seed_comes_twice() -> None:
    assert len({split(np.zeros(1, dtype=np.int64))[0] for _ in range(1000)}) == 1000


def p_value(shares_: np.ndarray) -> float:
    """Chi-square of all bytes against equal counts."""
    counts = np.bincount(shares_.view(np.uint8).ravel(), minlength=256)
    return float(stats.chisquare(counts).pvalue)


@pytest.mark.parametrize("vector", [[0, 0], [2**24, -(2**24)], [MOST, LEAST]])
def test_each_half_looks_like_chance(vector: list[int]) -> None:
    """False alarm: 1e-6 each."""
    halves = [split(np.array(vector, dtype=np.int64)) for _ in range(4000)]
    assert p_value(np.array([share for _, share in halves])) > ALARM
    assert p_value(np.array([expand(seed, 2) for seed, _ in halves])) > ALARM


def test_a_share_that_is_too_short_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant hides a vector behind 32 bits. Missed with a probability far below 1e-6."""
    monkeypatch.setattr(shares, "expand", lambda seed, n: expand(seed, n) & np.uint64(2**32 - 1))
    halves = [split(np.array([5, 5], dtype=np.int64)) for _ in range(4000)]
    assert p_value(np.array([share for _, share in halves])) < ALARM
