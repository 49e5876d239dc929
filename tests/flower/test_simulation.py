"""A sharded simulation, by Flower's own processes: the sum is the one of one process."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.flower.measure import measure


@pytest.mark.slow
def test_two_thousand_parties_on_eight_nodes(tmp_path: Path) -> None:
    measured = measure(tmp_path, n_nodes=8, n_each=250)
    assert measured.same, "to the last bit"
    assert measured.n_parties == 2000
    assert "In: 2,000" in measured.said
    assert "Refused: 0" in measured.said
