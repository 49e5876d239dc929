from __future__ import annotations

import mpmath
import numpy as np
import pytest

from ostraka.mechanism.coordinates import Coordinates
from ostraka.mechanism.geometry import span_basis
from ostraka.solve.losses import Array
from tests.mechanism.worlds import unit_rows

RNG = np.random.default_rng(0)
SPAN = span_basis(unit_rows(RNG, 40, 3) @ np.linalg.qr(RNG.standard_normal((6, 6)))[0][:3])
CASES = {
    "all binary": Coordinates.all_weights(6, 1),
    "all softmax": Coordinates.all_weights(6, 4),
    "differences": Coordinates.reduce(6, 4),
    "span binary": Coordinates.reduce(6, 1, SPAN),
    "span softmax": Coordinates.reduce(6, 4, SPAN),
}
DIMENSIONS = {
    "all binary": 6,
    "all softmax": 24,
    "differences": 18,
    "span binary": 3,
    "span softmax": 9,
}


def random_weights(case: Coordinates) -> Array:
    return RNG.standard_normal((6,) if case.n_outputs == 1 else (6, case.n_outputs))


@pytest.mark.parametrize("name", CASES)
def test_dimension(name: str) -> None:
    case = CASES[name]
    assert case.dimension == DIMENSIONS[name]
    assert case.of(random_weights(case)).shape == (case.dimension,)


@pytest.mark.parametrize("name", CASES)
def test_coordinates_come_back(name: str) -> None:
    case = CASES[name]
    v = RNG.standard_normal(case.dimension)
    assert np.abs(case.of(case.weights(v)) - v).max() < 1e-12
    assert case.weights(v).shape == random_weights(case).shape


@pytest.mark.parametrize("name", CASES)
def test_two_vectors_are_not_moved_further_apart_than_promised(name: str) -> None:
    case = CASES[name]
    for _ in range(100):
        w, other = random_weights(case), random_weights(case)
        norm = max(float(np.linalg.norm(w)), float(np.linalg.norm(other)))
        promised = case.stretch * float(np.linalg.norm(w - other)) + 2 * case.rounding(norm)
        assert float(np.linalg.norm(case.of(w) - case.of(other))) <= promised * (1 + 1e-15)
    assert 1.0 <= case.stretch <= 1 + 1e-12


@pytest.mark.parametrize("name", ["differences", "span binary", "span softmax"])
def test_rounding_bounds_the_distance_to_the_exact_product(name: str) -> None:
    case = CASES[name]
    w = random_weights(case) * 1e3
    with mpmath.workdps(60):
        v = mpmath.matrix(w.reshape(6, -1).tolist())
        v = v if case.span is None else mpmath.matrix(case.span.tolist()).T * v
        v = v if case.classes is None else v * mpmath.matrix(case.classes.tolist())
        exact = [v[i, j] for i in range(v.rows) for j in range(v.cols)]
        off = mpmath.norm(
            mpmath.matrix([a - mpmath.mpf(float(b)) for a, b in zip(exact, case.of(w))])
        )
    bound = case.rounding(float(np.linalg.norm(w)))
    assert off <= bound
    assert off > bound / 1e5, "a bound a hundred thousand times smaller is caught"


def test_a_stretched_basis_is_noticed() -> None:
    assert Coordinates.reduce(6, 1, SPAN * 1.5).stretch >= 1.5
