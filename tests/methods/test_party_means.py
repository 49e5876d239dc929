"""One vector per party: against its definition, and blind to everybody else."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ostraka.methods import party_means as of_parties
from ostraka.methods.party_means import party_means
from ostraka.solve.losses import Array

SIZES = [3, 0, 1, 10, 0, 0, 2]
STARTS = np.concatenate([[0], np.cumsum(SIZES)])


def drawn(n_columns: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(1)
    return rng.standard_normal((sum(SIZES), 3)), rng.standard_normal((sum(SIZES), n_columns))


def test_means_against_their_definition() -> None:
    for n_columns in (1, 4):
        white, values = drawn(n_columns)
        found = party_means(white, values, STARTS)
        for party, (start, stop) in enumerate(itertools.pairwise(STARTS)):
            outer = [np.outer(white[i], values[i]).ravel() for i in range(start, stop)]
            expected = np.mean(outer, axis=0) if outer else np.zeros(3 * n_columns)
            assert np.abs(found[party] - expected).max() <= 1e-14


def test_a_party_alone_sends_the_same_to_the_last_bit() -> None:
    white, values = drawn(4)
    together = party_means(white, values, STARTS)
    for party, (start, stop) in enumerate(itertools.pairwise(STARTS)):
        alone = party_means(white[start:stop], values[start:stop], np.array([0, stop - start]))
        assert (alone[0] == together[party]).all()


@pytest.mark.parametrize("at_once", [1, 64, 1000, 2**17])
@pytest.mark.parametrize("k", [1, 3, 40])
def test_how_many_are_taken_at_once_leaves_no_trace(
    at_once: int, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which others lie in a party's block decides how wide it is: nobody may see that."""
    rng = np.random.default_rng(2)
    sizes = [1, 700, 3, 0, 129, 8, 9, 2000, 17]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    white, values = rng.standard_normal((sum(sizes), k)), rng.standard_normal((sum(sizes), 5))
    together = party_means(white, values, starts)
    monkeypatch.setattr(of_parties, "NUMBERS_AT_ONCE", at_once)
    assert (party_means(white, values, starts) == together).all()
    for party, (start, stop) in enumerate(itertools.pairwise(starts)):
        alone = party_means(white[start:stop], values[start:stop], np.array([0, stop - start]))
        assert (alone[0] == together[party]).all()


def test_no_parties_with_samples_send_zeros() -> None:
    assert not party_means(np.zeros((0, 3)), np.zeros((0, 2)), np.array([0, 0, 0])).any()
