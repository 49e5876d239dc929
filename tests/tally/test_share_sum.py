"""Sums of shares: exact, complete once."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.errors import InputError, ShapeError
from ostraka.sealing.shares import wrap
from ostraka.tally.share_sum import ShareSum


def test_they_add_up_modulo_2_to_the_64() -> None:
    total = ShareSum(2)
    for share in ([2**63, 1], [2**63, 2], [5, 2**64 - 1]):
        total.add(wrap(share))
    assert total.total.tolist() == [5, 2]
    total.total[0] = 7
    assert total.total.tolist() == [5, 2], "a copy"


def test_an_answer_counts_once() -> None:
    total = ShareSum(1)
    assert not total.is_complete
    total.complete(wrap([3]))
    assert total.is_complete
    with pytest.raises(InputError, match="added already"):
        total.complete(wrap([3]))
    assert total.total.tolist() == [3]


@pytest.mark.parametrize(
    "share", [wrap([1, 2]), np.array([1]), np.array([[1]], dtype=np.uint64), np.array([1.0])]
)
def test_what_does_not_fit(share: np.ndarray) -> None:
    total = ShareSum(1)
    with pytest.raises(ShapeError):
        total.add(share)
    assert total.total.tolist() == [0]
