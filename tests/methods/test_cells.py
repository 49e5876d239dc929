"""`cells`: every pair of extreme histograms stays within the certificate, most reach it.

Rounding mutants are caught.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.errors import InputError
from ostraka.mechanism import Rehearsal
from ostraka.methods import cells
from ostraka.methods.cells import MOST_NUMBERS, nearest_centres
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.solve.losses import Array
from tests.mechanism.worlds import unit_rows
from tests.methods.planned import Planned, World, planned

CORNERS = np.array([[0.9, 0.0], [-0.9, 0.0], [0.0, 0.9], [0.0, -0.9]])


def plan_auxiliary(n_classes: int) -> AuxiliarySet:
    """Four clear cells."""
    features = np.repeat(CORNERS, 20, axis=0) + 0.01 * np.random.default_rng(0).standard_normal(
        (80, 2)
    )
    return AuxiliarySet(features, tuple(range(n_classes)))


def plan(n_classes: int, n_cells: int = 4) -> Planned:
    return planned(
        "cells", plan_auxiliary(n_classes), 50, samples_each=5, create={"n_cells": n_cells}
    )


def extreme_parties(n_classes: int, n: int) -> World:
    """All in one cell and class; spread over two; as evenly as possible; one against all others."""
    pairs = list(itertools.product(range(4), range(n_classes)))
    world = [(np.repeat(CORNERS[[cell]], n, axis=0), np.full(n, label)) for cell, label in pairs]
    for one, other in itertools.combinations(pairs, 2):
        split = (
            [(one if i % 2 else other) for i in range(n)] if n < 1000 else [one] * (n - 1) + [other]
        )
        world.append(
            (CORNERS[[cell for cell, _ in split]], np.array([label for _, label in split]))
        )
        if n >= 1000:
            break
    even = [pairs[i % len(pairs)] for i in range(n)]
    world.append((CORNERS[[cell for cell, _ in even]], np.array([label for _, label in even])))
    return world


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_every_pair_of_extreme_histograms_stays_within_the_certificate_and_some_reach_it(
    n_classes: int,
) -> None:
    made = plan(n_classes)
    assert made.mechanism.sensitivity == 2.0
    per_size = {n: made.sent(extreme_parties(n_classes, n)) for n in (1, 2, 3, 7)}
    per_size[10**6] = made.sent(extreme_parties(n_classes, 10**6)[-2:])
    vectors = np.concatenate(
        [np.zeros((1, made.ball.dimension), dtype=np.int64), *per_size.values()]
    )
    lengths = np.abs(vectors).sum(axis=1)
    assert lengths.max() <= cells.UNITS
    farthest = max(int(np.abs(vectors - vector).sum(axis=1).max()) for vector in vectors)
    assert farthest <= made.ball.diameter
    assert farthest * Fraction(made.mechanism.grid) <= Fraction(made.mechanism.sensitivity)
    assert farthest >= 0.99 * made.ball.diameter
    for n in (1, 2, 3, 7):
        distances = np.abs(per_size[n][:, np.newaxis] - per_size[n]).sum(axis=2)
        assert distances.max() >= 0.99 * made.ball.diameter


@settings(max_examples=80, deadline=None)
@given(
    st.sampled_from([2, 3]), st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=40)
)
def test_shares_are_rounded_towards_zero_exactly(
    n_classes: int, samples: list[tuple[int, int]]
) -> None:
    made = PLANS[n_classes]
    places, labels = (
        np.array(column, dtype=int) for column in (zip(*samples) if samples else ((), ()))
    )
    (vector,) = made.sent([(CORNERS[places].reshape(-1, 2), labels)]).tolist()
    order = nearest_centres(CORNERS, made.method.centres)
    expected = [Fraction(0)] * made.ball.dimension
    for cell, label in samples:
        place, step = (
            (order[cell], 2 * label - 1) if n_classes == 2 else (order[cell] * n_classes + label, 1)
        )
        expected[place] += Fraction(step * cells.UNITS, len(samples))
    assert vector == [int(share) for share in expected]  # int() rounds towards 0


PLANS = {n_classes: plan(n_classes) for n_classes in (2, 3)}


def test_rounding_to_the_nearest_is_caught() -> None:
    """7 samples in 7 places: a seventh of 2²⁰ is rounded up seven times."""
    made = PLANS[3]
    shares = np.zeros((1, made.ball.dimension))
    shares[0, :7] = cells.UNITS / 7
    summed = made.ball.new_sum()
    with pytest.raises(InputError, match="outside the l1 ball"):
        summed.add_rows(np.rint(shares).astype(np.int64), ["a"])
    summed.add_rows(np.floor(shares).astype(np.int64), ["a"])


def test_counts_instead_of_shares_are_caught() -> None:
    made = PLANS[2]
    with pytest.raises(InputError, match="outside the l1 ball"):
        made.ball.new_sum().add_rows(
            [[2 * cells.UNITS] + [0] * (made.ball.dimension - 1)], ["large"]
        )


def test_one_length_for_a_diameter_is_caught() -> None:
    vectors = PLANS[3].sent(extreme_parties(3, 1))
    assert max(int(np.abs(vectors - vector).sum(axis=1).max()) for vector in vectors) > cells.UNITS


def test_blocks_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    world = [
        (unit_rows(rng, n, 2) if n else np.zeros((0, 2)), rng.integers(0, 3, n))
        for n in (5, 0, 1, 0, 0, 40, 3, 2, 0)
    ]
    whole = PLANS[3].sent(world)
    assert not whole[[1, 3, 4, 8]].any(), "a party without data sends zeros"
    for rows in (8, 16, 80):
        monkeypatch.setattr(cells, "ROWS_AT_ONCE", rows)
        assert (PLANS[3].sent(world) == whole).all()


def test_a_sample_goes_to_the_nearest_centre() -> None:
    rng = np.random.default_rng(2)
    features = unit_rows(rng, 300, 6)
    made = planned("cells", AuxiliarySet(features, (0, 1)), 50, create={"n_cells": 12})
    rows = unit_rows(rng, 500, 6)
    distances = np.linalg.norm(rows[:, np.newaxis] - made.method.centres, axis=2)
    chosen = distances[np.arange(500), nearest_centres(rows, made.method.centres)]
    assert (chosen <= distances.min(axis=1) + 1e-5).all()


def test_a_tie_is_decided_by_the_sample_and_not_by_who_else_is_there() -> None:
    """Centres that are permutations of each other are equally close to samples on the diagonal.

    Last bits decide.
    """
    rng = np.random.default_rng(4)
    centre = rng.uniform(0.0, 0.1, 60)
    centres = np.stack([rng.permutation(centre) for _ in range(30)])
    rows = np.linspace(0.5, 1.0, 900)[:, np.newaxis] * np.full(60, 60**-0.5)
    together = nearest_centres(rows, centres)
    for start, stop in [(0, 1), (3, 5), (10, 17), (100, 164), (200, 899)]:
        assert (nearest_centres(rows[start:stop], centres) == together[start:stop]).all()


def test_a_delta_is_not_spent() -> None:
    auxiliary = AuxiliarySet(np.repeat(CORNERS, 5, axis=0), (0, 1))
    promised = planned("cells", auxiliary, 50, delta=1e-3).mechanism
    assert promised.delta == 0.0
    assert promised == planned("cells", auxiliary, 50).mechanism


def test_very_many_classes_still_have_a_plan() -> None:
    auxiliary = AuxiliarySet(
        unit_rows(np.random.default_rng(3), 200, 3), tuple(range(MOST_NUMBERS // 4))
    )
    assert planned("cells", auxiliary, 50, create={"n_cells": 100}).ball.dimension <= MOST_NUMBERS


@pytest.mark.parametrize(
    "features", [np.zeros((5, 3)), np.full((5, 3), 0.3), np.array([[0.6, 0.0, 0.8]]), np.eye(3)]
)
@pytest.mark.parametrize("epsilon", [1e-12, 1.0, 1e18])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sets_with_few_distinct_samples_have_a_plan(
    features: Array, epsilon: float, n_classes: int
) -> None:
    made = planned("cells", AuxiliarySet(features, tuple(range(n_classes))), 5, epsilon=epsilon)
    assert np.isfinite(made.weights([5] * made.mechanism.dimension)).all()


def test_cells_are_found_once_for_every_epsilon_and_cannot_be_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    auxiliary = AuxiliarySet(np.repeat(CORNERS, 20, axis=0), (0, 1))
    first = planned("cells", auxiliary, 50, samples_each=5, create={"n_cells": 4}).method
    monkeypatch.delattr(cells, "_centres")
    again = planned("cells", auxiliary, 60, samples_each=3, create={"n_cells": 4}).method
    assert again.centres is first.centres
    assert again.assigned is first.assigned
    for array in (first.centres, first.assigned):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


@pytest.mark.parametrize("label", [3, -13])
def test_a_label_that_there_is_not_never_reaches_another_party(label: int) -> None:
    """In the last cell it would be the next party's first number."""
    made = plan(3).method
    with pytest.raises(ValueError, match="invalid entry"):
        made.entries(np.array([3, 3]), np.array([label, 0]), np.array([0, 1, 2]))


SINGLE = {n_classes: plan(n_classes, n_cells=1) for n_classes in (2, 3, 5)}


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_squares_of_a_single_cell_stay_within_the_certificate_and_some_reach_it(
    n_classes: int,
) -> None:
    made = SINGLE[n_classes]
    assert made.method.squared
    sizes = {n: extreme_parties(n_classes, n) for n in (1, 2, 3, 7)} | {
        10**6: extreme_parties(n_classes, 10**6)[-2:]
    }
    vectors = np.concatenate([made.sent(world) for world in sizes.values()])
    assert np.abs(vectors).sum(axis=1).max() <= cells.UNITS
    distances = np.abs(vectors[:, np.newaxis] - vectors).sum(axis=2)
    assert distances.max() <= made.ball.diameter
    assert distances.max() == 2 * cells.UNITS, "one class against another"


@settings(max_examples=80, deadline=None)
@given(st.sampled_from([2, 3, 5]), st.lists(st.integers(0, 50), min_size=5, max_size=5))
def test_squares_are_those_of_a_partys_own_shares(n_classes: int, counts: list[int]) -> None:
    made, counts = SINGLE[n_classes], counts[:n_classes]
    labels = np.repeat(np.arange(n_classes), counts)
    (vector,) = made.sent([(np.zeros((len(labels), 2)), labels)]).tolist()
    total = max(1, sum(count**2 for count in counts))
    shares = [Fraction(count**2, total) for count in counts]
    expected = [shares[1] - shares[0]] if n_classes == 2 else shares
    # Shares are rounded before they are squared, too.
    off = 40 if n_classes > 2 else 4
    assert all(abs(a - e * cells.UNITS) <= off for a, e in zip(vector, expected))
    assert all(abs(a) <= abs(e) * cells.UNITS + off for a, e in zip(vector, expected))


def test_squares_over_the_number_of_rows_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mutant that does not divide by the sum of the squares leaves the ball."""
    made = SINGLE[3]
    monkeypatch.setattr(cells.Cells, "_square", lambda self, units, owners, n: units**2)
    world: World = [(np.zeros((4, 2)), np.array([0, 0, 1, 2]))]
    with pytest.raises(InputError, match="outside the l1 ball"):
        made.ball.new_sum().add_rows(made.sent(world), ["a"])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_squares_of_parties_that_are_alike_tell_their_shares(n_classes: int) -> None:
    labels = np.array([0, 0, 0, 0, 0, 0, 1, 1, 2 % n_classes, 1])
    world: World = [(np.zeros((10, 2)), labels)] * 50
    made = planned(
        "cells", plan_auxiliary(n_classes), 50, epsilon=1e6, create={"n_cells": 1}, samples_each=10
    )
    mean = made.mechanism.mean(made.total(world))
    shares, deviation = made.method.class_shares(mean, made.mechanism)
    assert np.abs(shares - np.bincount(labels, minlength=n_classes) / 10).max() < 1e-3
    assert abs(deviation - cells.UNLIKE) < 1e-3, "nobody knows that they are alike"


def test_squares_keep_the_commonest_class_above_noise_where_shares_do_not() -> None:
    """Parties with 40, 30, 30 %: shares are 0.1 apart, squares 0.2."""
    world: World = [(np.zeros((10, 2)), np.repeat([0, 1, 2], [4, 3, 3]))] * 50
    total = np.array(SINGLE[3].total(world)) / (50 * cells.UNITS)
    assert total[0] - total[1] > 0.19


@pytest.mark.parametrize("unit", [0, 10**15, -(10**15)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_any_noise_on_squares_gives_a_model(unit: int, n_classes: int) -> None:
    made = SINGLE[n_classes]
    mean = made.mechanism.mean([unit] * made.mechanism.dimension)
    assert np.isfinite(made.method.weights(mean, made.mechanism)).all()
    shares, _ = made.method.class_shares(mean, made.mechanism)
    assert abs(shares.sum() - 1.0) < 1e-9
    assert (shares >= 0.0).all()


def test_squares_are_for_a_single_cell_alone() -> None:
    with pytest.raises(InputError, match="squared"):
        replace(plan(3).method, squared=True)


def overtold(monkeypatch: pytest.MonkeyPatch, moved: float, mistrust: float) -> float:
    """How much surer models are than they are right, on average over draws of noise, where labels
    of six equally common classes have nothing to do with the features.
    """
    monkeypatch.setattr(cells, "MOVED", moved)
    monkeypatch.setattr(cells, "MISTRUST", mistrust)
    features = unit_rows(np.random.default_rng(0), 300, 5)
    made = planned("cells", AuxiliarySet(features, tuple(range(6))), 200, epsilon=0.5)
    method, mechanism = made.method, made.mechanism
    flat = np.repeat(method._masses(np.full(300, 1 / 300)) / 6, 6)
    total = [int(each) for each in np.rint(flat * 200 * cells.UNITS)]
    told = []
    for seed in range(20):
        mean = mechanism.mean(mechanism.draw(total, Rehearsal(seed)))
        told.append(method.fit(mean, mechanism).expect("accuracy"))
    return float(np.mean(told)) - 1 / 6


def test_models_of_noise_do_not_flatter_themselves_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can tell noise from labels; but a model that believed it would say twice as much."""
    assert overtold(monkeypatch, cells.MOVED, cells.MISTRUST) < 0.15


def test_believing_masses_that_noise_has_moved_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    assert overtold(monkeypatch, 0.0, 1.0) > 0.15


def test_rows_that_are_told_apart_within_a_cell_count() -> None:
    """Three wide cells, and classes that overlap along a line: without noise the model is as often
    right as it says. The mutant, for which a cell's rows are all alike, says far less.
    """
    n = 3000
    features = np.column_stack([np.linspace(-0.9, 0.9, n), np.full(n, 0.3)])
    second = 1.0 / (1.0 + np.exp(-4.0 * features[:, 0]))
    made = planned("cells", AuxiliarySet(features, (0, 1)), 10**6, create={"n_cells": 3})
    method, cell = made.method, made.method.assigned
    mean = np.bincount(cell, weights=2.0 * second - 1.0) / n
    fitted = method.fit(mean, made.mechanism)
    answers = (features @ fitted.weights).argmax(axis=1)
    right = float(np.where(answers == 1, second, 1.0 - second).mean())
    assert abs(fitted.expect("accuracy") - right) < 0.02
    masses = np.bincount(cell) / n
    answered = np.bincount(cell, weights=answers) / n / masses
    held = (masses + mean) / 2.0
    alike = float(answered @ held + (1.0 - answered) @ (masses - held))
    assert alike < right - 0.04
