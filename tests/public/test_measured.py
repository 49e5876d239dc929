"""How much of a table is measured numbers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ostraka.public import measured
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.measured import encoded_rows, share_measured
from ostraka.public.prepare import prepare

RNG = np.random.default_rng(0)
KINDS = np.eye(3)[RNG.integers(0, 3, 300)]
NUMBERS = RNG.standard_normal((300, 2))


def test_categories_count_by_their_variance() -> None:
    assert share_measured(NUMBERS) == 1.0
    assert share_measured(KINDS) == 0.0
    both = share_measured(np.column_stack([NUMBERS, KINDS]))
    assert 0.1 < both < 0.5
    assert share_measured(np.column_stack([1e300 * NUMBERS, KINDS])) == pytest.approx(both)
    assert share_measured(None) == 1.0
    assert share_measured(np.ones((5, 2))) == 0.0


def test_rows_as_they_came_if_they_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "MOST_ROWS", 40)
    public = prepare(NUMBERS, (0, 1), "auto")
    rows, encoded = encoded_rows(public)
    assert len(rows) == 40
    assert (np.diff(rows) > 0).all()
    assert encoded is not None
    assert (encoded == NUMBERS[rows]).all()
    assert encoded_rows(prepare(csr_matrix(NUMBERS), (0, 1), "auto"))[1] is None
    few = AuxiliarySet(0.1 * np.tanh(NUMBERS[:10]), (0, 1))
    assert encoded_rows(few)[0].tolist() == list(range(10))
