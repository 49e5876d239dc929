"""The most probable line through cells, against its definition and on data that it describes."""

from __future__ import annotations

import numpy as np
import pytest

from ostraka.methods.after_noise.line import PRIOR, Line
from ostraka.methods.after_noise.posterior import spread
from ostraka.solve.losses import Array

SHARES = np.array([0.5, 0.3, 0.2])


def drawn(strength: float, noise: float, seed: int = 0) -> tuple[Line, Array]:
    """Cells whose label masses follow a line of this strength, with noise; and the line."""
    rng = np.random.default_rng(seed)
    n_cells, p = 60, 8
    sums = rng.standard_normal((n_cells, p)) / n_cells
    variance = strength * spread(SHARES) / 3
    weights = variance**0.5 * rng.standard_normal((p, 3))
    weights -= weights.mean(axis=1, keepdims=True)
    left = sums @ weights + noise * rng.standard_normal((n_cells, 3))
    variances = np.full(n_cells, noise**2)
    return Line(sums=sums, left=left, variances=variances, shares=SHARES, extent=1.0), weights


def test_it_is_the_ridge_fit_of_its_definition() -> None:
    line, _ = drawn(1.0, 0.01)
    prior = PRIOR * spread(SHARES) / 3
    weighted = line.sums / line.variances[:, np.newaxis]
    expected = np.linalg.solve(weighted.T @ line.sums + np.eye(8) / prior, weighted.T @ line.left)
    assert np.abs(line.fit() - expected).max() < 1e-9 * np.abs(expected).max()


def test_without_noise_it_finds_the_line_and_with_a_penalty_nothing() -> None:
    line, weights = drawn(1.0, 1e-5)
    assert np.abs(line.fit() - weights).max() < 0.01
    assert np.abs(line.fit(penalty=1e12)).max() < 0.01 * np.abs(weights).max()


@pytest.mark.parametrize("strength", [0.1, 1.0])
def test_its_strength_is_found(strength: float) -> None:
    found = [drawn(strength, 0.0005, seed)[0].strength for seed in range(20)]
    assert strength / 2.0 < np.median(found) < strength * 2.0


def test_noise_alone_has_no_strength() -> None:
    found = [drawn(0.0, 0.0005, seed)[0].strength for seed in range(20)]
    assert np.median(found) < 0.1
