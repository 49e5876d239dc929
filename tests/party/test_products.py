"""Products that depend on one row each: exact, whatever other rows there are."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ostraka.party.products import (
    FACTOR_BITS,
    own_nearness,
    own_products,
    own_softmax,
    row_products,
)
from ostraka.solve.losses import Array


def unit(rows: Array) -> Array:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def rows_interfere(product: Any) -> bool:
    """Whether a row's product changes with the rows around it."""
    rng = np.random.default_rng(3)
    for p, k, size in [(3, 2, 1.0), (50, 20, 1e-170), (50, 20, 1e-300), (201, 30, 1e300)]:
        rows, table = (
            unit(rng.standard_normal((700, p))),
            rng.standard_normal((p, k)) * np.geomspace(1e-3, 1e6, k) * size,
        )
        whole = product(rows, table)
        for start, stop in [(0, 1), (1, 3), (5, 12), (100, 164), (3, 700), (0, 699)]:
            if (product(rows[start:stop], table) != whole[start:stop]).any():
                return True
    return False


def test_a_rows_product_does_not_depend_on_other_rows() -> None:
    assert not rows_interfere(own_products)
    assert not rows_interfere(row_products)


def test_long_rows_are_not_shortened() -> None:
    rng = np.random.default_rng(1)
    rows, table = rng.standard_normal((50, 20)), rng.standard_normal((20, 7))
    sizes = np.geomspace(1e-200, 1e200, 50)[:, np.newaxis]
    got, wanted = row_products(rows * sizes, table), rows * sizes @ table
    lengths = np.linalg.norm(rows, axis=1, keepdims=True) * sizes * np.linalg.norm(table, axis=0)
    assert (np.abs(got - wanted) <= 2.0**-22 * lengths).all()
    assert not row_products(np.zeros((2, 20)), table).any()
    assert row_products(rows[:0], table).shape == (0, 7)


def test_a_rows_nearness_does_not_depend_on_other_rows_and_is_nearly_right() -> None:
    rng = np.random.default_rng(4)
    rows, landmarks = unit(rng.standard_normal((500, 20))), unit(rng.standard_normal((37, 20)))
    rows[0], rows[1], rows[2], rows[3] = landmarks[0], -landmarks[0], np.nan, 1e300
    with np.errstate(all="ignore"):
        whole = own_nearness(rows, landmarks)
        for start, stop in [(0, 1), (1, 3), (5, 12), (100, 164), (3, 500), (0, 499)]:
            for part in (rows[start:stop], np.asfortranarray(rows[start:stop]), rows[start:stop]):
                assert (own_nearness(part, landmarks) == whole[start:stop]).all()
    far = ((rows[4:, np.newaxis] - landmarks) ** 2).sum(axis=2)
    assert np.abs(whole[4:] - np.exp(-far)).max() < 1e-6
    assert abs(whole[0, 0] - 1.0) < 1e-6
    assert abs(whole[1, 0] - np.exp(-4.0)) < 1e-6
    assert np.isfinite(whole).all()
    assert (whole > 0.0).all()
    assert whole.max() <= 1.0


def test_an_order_of_adding_that_depends_on_the_number_of_rows_is_caught() -> None:
    assert rows_interfere(
        lambda rows, table: rows @ table if len(rows) % 2 else rows[:, ::-1] @ table[::-1]
    )


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_products_are_exact_for_the_rounded_factors(p: int, k: int, seed: int) -> None:
    """Against Python's integers, for the longest rows and columns; and near the real product."""
    rng = np.random.default_rng(seed)
    rows, table = (
        unit(rng.standard_normal((4, p))),
        rng.standard_normal((p, k)) * 2.0 ** rng.integers(-40, 40, k),
    )
    powers = [2.0 ** math.ceil(math.log2(np.linalg.norm(column))) for column in table.T]
    bits = FACTOR_BITS
    got = own_products(rows, table)
    for i, j in itertools.product(range(4), range(k)):
        pairs = zip(
            np.rint(rows[i] * 2.0**bits).tolist(),
            np.rint(table[:, j] / powers[j] * 2.0**bits).tolist(),
        )
        exact = sum(int(x) * int(w) for x, w in pairs) * Fraction(powers[j]) / 4**bits
        assert Fraction(float(got[i, j])) == exact
        assert (
            abs(float(got[i, j]) - float(rows[i] @ table[:, j])) <= 4.0 * p * 2.0**-bits * powers[j]
        )


def test_products_of_anything_are_finite_and_of_long_rows_shortened() -> None:
    table = np.array([[3.0], [-4.0]])
    rows = np.array(
        [[np.nan, 1.0], [np.inf, 0.0], [1e308, 1e308], [-1e308, 1e308], [5e-324, 0.0], [3.0, 0.0]]
    )
    with np.errstate(all="raise"):
        got = own_products(rows, table)
    assert np.isfinite(got).all()
    assert (np.abs(got) <= 5.0 * (1.0 + 1e-6)).all()
    assert not got[:2].any()
    assert np.isfinite(own_products(np.ones((1, 2)), np.zeros((2, 3)))).all()
    assert not own_products(np.ones((1, 2)), np.full((2, 3), np.nan)).any()


def test_a_power_by_the_squares_of_tiny_entries_is_caught() -> None:
    """The mutant takes a column for shorter than it is: its whole numbers are too large to add."""

    def mutant(rows: Array, table: Array) -> Array:
        lengths = np.maximum(np.linalg.norm(table, axis=0), np.finfo(np.float64).tiny)
        powers = np.exp2(np.ceil(np.log2(lengths)))
        whole = np.rint(table / powers * 2.0**FACTOR_BITS)
        rounded = np.rint(rows * 2.0**FACTOR_BITS)
        # As a library may add: in another order for another number of rows.
        order = slice(None, None, -1 if len(rows) % 2 else 1)
        return (rounded[:, order] @ whole[order]) * powers

    with np.errstate(all="ignore"):
        assert rows_interfere(mutant)


def test_a_rows_softmax_does_not_depend_on_other_rows_and_is_nearly_right() -> None:
    rng = np.random.default_rng(6)
    scores = rng.standard_normal((500, 7)) * np.geomspace(1e-3, 1e3, 500)[:, np.newaxis]
    whole = own_softmax(scores)
    for start, stop in [(0, 1), (1, 3), (5, 12), (100, 164), (3, 500), (0, 499)]:
        for part in (scores[start:stop], np.asfortranarray(scores[start:stop])):
            assert (own_softmax(part) == whole[start:stop]).all()
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    assert np.abs(whole - powers / powers.sum(axis=1, keepdims=True)).max() < 2.0**-21


def test_scores_beyond_all_doubles_have_a_softmax() -> None:
    scores = np.array([[np.nan, 1.0], [np.inf, 0.0], [-np.inf, np.inf], [1e308, -1e308]])
    found = own_softmax(scores)
    assert np.abs(found - [[0.26894, 0.73106], [1, 0], [0, 1], [1, 0]]).max() < 1e-4
    assert own_softmax(np.zeros((0, 3))).shape == (0, 3)
