"""`moments`: the worst parties we found nearly reach the certificate; oracles; mutants."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ostraka.errors import InputError, ParameterError
from ostraka.mechanism.geometry import class_basis
from ostraka.methods import party_vectors
from ostraka.methods.moments import TOLD
from ostraka.methods.party_vectors import MOST_NUMBERS, lengthen
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.prepare import prepare
from ostraka.solve.losses import Array
from tests.mechanism.worlds import unit_rows
from tests.methods.planned import Planned, grouped, planned


def auxiliary(n_classes: int, n: int = 80, d: int = 6) -> AuxiliarySet:
    features = unit_rows(np.random.default_rng(0), n, d) * np.geomspace(1, 0.1, d)
    return AuxiliarySet(features, tuple(range(n_classes)))


def extreme_parties(made: Planned, n_classes: int) -> Iterator[tuple[Array, Array]]:
    """Rows along and against every whitened direction and the longest auxiliary row.

    With one class or two, and 1 to 40 rows.
    """
    recipe = made.method
    longest = recipe.features[np.linalg.norm(recipe.features @ recipe.whitening, axis=1).argmax()]
    directions = [
        *(recipe.whitening / np.linalg.norm(recipe.whitening, axis=0)).T,
        longest / np.linalg.norm(longest),
    ]
    for direction, sign, label, n in itertools.product(
        directions, (1, -1), range(n_classes), (1, 2, 40)
    ):
        yield np.repeat(sign * direction[np.newaxis], n, axis=0), np.full(n, label)
    for direction, n in itertools.product(directions, (1, 5)):
        yield (
            np.concatenate(
                [
                    np.repeat(direction[np.newaxis], n, axis=0),
                    -np.repeat(direction[np.newaxis], n, axis=0),
                ]
            ),
            np.repeat([0, 1], n),
        )


def farthest(vectors: Array) -> Fraction:
    """The largest squared distance of two of them: found in doubles, then exact."""
    wide = vectors.astype(np.float64)
    squares = np.sum(wide**2, axis=1)
    one, other = np.unravel_index(
        np.argmax(squares[:, np.newaxis] + squares - 2.0 * wide @ wide.T), (len(wide), len(wide))
    )
    return Fraction(
        sum((a - b) ** 2 for a, b in zip(vectors[one].tolist(), vectors[other].tolist()))
    )


def reached(made: Planned, sensitivity: float, n_classes: int) -> Fraction:
    """The share of a sensitivity that two parties' difference makes up, squared."""
    vectors = made.sent(list(extreme_parties(made, n_classes)))
    return farthest(vectors) * Fraction(made.mechanism.grid) ** 2 / Fraction(sensitivity) ** 2


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("samples_each", [1, 5, 200])
def test_extreme_parties_stay_within_the_certificate_and_nearly_reach_it(
    n_classes: int, samples_each: int
) -> None:
    for epsilon in (0.01, 1.0, 100.0):
        made = planned(
            "moments", auxiliary(n_classes), 50, epsilon=epsilon, samples_each=samples_each
        )
        share = reached(made, made.mechanism.sensitivity, n_classes)
        assert share <= 1
        assert share >= Fraction(0.9) ** 2


def test_a_radius_for_a_diameter_is_caught() -> None:
    """The mutant promises how long a contribution is, not how far apart two are."""
    made = PLANS[3]
    assert reached(made, made.mechanism.particular.radius, 3) > 1


def test_a_party_that_does_not_clip_is_refused() -> None:
    made = PLANS[2]
    unclipped = np.full((1, made.ball.dimension), made.ball.length)
    if made.ball.dimension == 1:
        unclipped += 1
    with pytest.raises(InputError, match="outside the l2 ball"):
        made.ball.new_sum().add_rows(unclipped, ["a"])


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([2, 3, 5]),
    st.sampled_from([1e-300, 1e-3, 1.0, 1e3, 1e300]),
)
def test_searched_parties_stay_within_the_certificate(
    seed: int, n_classes: int, size: float
) -> None:
    rng = np.random.default_rng(seed)
    made = PLANS[n_classes]
    with np.errstate(over="ignore", under="ignore"):
        rows = [size * rng.standard_cauchy((n, 6)) for n in rng.integers(0, 9, 12)]
    vectors = made.sent([(each, rng.integers(0, n_classes, len(each))) for each in rows])
    assert farthest(vectors) <= made.ball.diameter**2
    assert made.ball.diameter * Fraction(made.mechanism.grid) <= Fraction(
        made.mechanism.sensitivity
    )


PLANS = {
    n_classes: planned("moments", auxiliary(n_classes), 50, samples_each=5)
    for n_classes in (2, 3, 5)
}


def test_without_clipping_a_party_sends_its_shares_and_its_covariance() -> None:
    made = PLANS[3]
    rng = np.random.default_rng(2)
    world = [
        (unit_rows(rng, 200, 6) * np.geomspace(1, 0.1, 6), rng.integers(0, 3, 200))
        for _ in range(10)
    ]
    mean = made.sent(world).mean(axis=0)[:-1] * made.mechanism.grid
    method, basis, expected = made.method, class_basis(3), []
    for rows, labels in world:
        white = rows @ method.whitening - method.centre
        shares = np.bincount(labels, minlength=3) / 200
        rest = np.eye(3)[labels] - method.within * (1.0 - 1.0 / 200) * shares
        expected.append(np.vstack([shares @ basis, white.T @ rest @ basis / 200]).ravel())
    assert np.abs(mean - np.mean(expected, axis=0)).max() <= 1e-5


def test_of_measured_numbers_half_of_what_lies_between_parties_is_taken() -> None:
    """Not of categories: there, parties are groups."""
    rng = np.random.default_rng(0)
    numbers = unit_rows(rng, 80, 4)
    kinds = np.eye(4)[rng.integers(0, 4, 80)]
    for rows, least, most in ((numbers, 0.5, 0.5), (kinds, 1.0, 1.0)):
        public = prepare(rows, (0, 1), "auto")
        assert least <= planned("moments", public, 50).method.within <= most
    mixed = prepare(np.column_stack([kinds, 0.5 * numbers[:, :1]]), (0, 1), "auto")
    assert 0.5 < planned("moments", mixed, 50).method.within < 1.0
    sparse = prepare(csr_matrix(numbers), (0, 1), "auto")
    assert planned("moments", sparse, 50).method.within == 0.5, "nobody knows its columns"
    three = prepare(kinds, (0, 1, 2), "auto")
    assert planned("moments", three, 50).method.within == 0.5, "one direction of two is left"


def test_of_three_classes_the_mean_feature_bends_one_direction_between_them() -> None:
    """What is taken too much, where parties and public rows differ, is their mean feature times the
    class shares: nothing that is at right angles to these.
    """
    rng = np.random.default_rng(4)
    rows, shares = 0.3 * unit_rows(rng, 20_000, 6), np.array([0.6, 0.25, 0.15])
    moved = 0.5 * rows + 0.4 * np.eye(6)[0]
    labels = rng.choice(3, len(rows), p=shares)  # nothing to learn
    world = [(moved[i : i + 50], labels[i : i + 50]) for i in range(0, len(rows), 50)]
    made = planned("moments", AuxiliarySet(rows[:500], (0, 1, 2)), 400, epsilon=1e3)
    method = made.method
    mean = made.sent(world).mean(axis=0)[:-1] * made.mechanism.grid
    found = mean.reshape(-1, 2)[1:] @ method.contrasts.T
    along = shares - 1.0 / 3.0
    along /= np.linalg.norm(along)
    across = np.cross(along, np.ones(3) / 3.0**0.5)
    assert np.linalg.norm(found @ along) > 0.1
    assert np.linalg.norm(found @ across) < 0.1 * np.linalg.norm(found @ along)


def test_clusters_as_parties_show_what_lies_between_them() -> None:
    """Nothing varies within them: with w = 1 hardly anything is left beside the noise."""
    rng = np.random.default_rng(1)
    rows = 0.3 * unit_rows(rng, 6000, 6)
    labels = (rows[:, 0] > 0.0).astype(np.int64)
    world = [(rows[part], labels[part]) for part in np.array_split(np.argsort(labels), 300)]
    made = planned("moments", AuxiliarySet(rows[:500], (0, 1)), 300, epsilon=10.0)
    assert made.method.within == 0.5
    lengths = []
    for within in (0.5, 1.0):
        sent = replace(made, method=replace(made.method, within=within)).sent(world)
        lengths.append(np.linalg.norm(sent.mean(axis=0)[1:-1]))
    assert lengths[0] > 5.0 * lengths[1]


def test_a_party_with_one_row_sends_all_of_it() -> None:
    """Where every row is a party of its own, nothing may be subtracted: it would be everything."""
    made = planned("moments", auxiliary(3), 50, samples_each=1)
    method, row = made.method, unit_rows(np.random.default_rng(6), 1, 6) * 0.01
    (sent,) = made.sent([(row, np.array([1]))]) * made.mechanism.grid
    white = row[0] @ method.whitening - method.centre
    whole = np.vstack([class_basis(3)[1], np.outer(white, class_basis(3)[1])]).ravel()
    radius = made.mechanism.particular.radius / lengthen(TOLD)
    kept = min(1.0, radius / np.linalg.norm(whole))
    expected = np.append(whole * kept, TOLD * radius * (kept - 0.5))
    assert np.abs(sent - expected).max() <= 1e-5


def test_what_parties_were_shortened_by_is_made_up_for() -> None:
    """Parties that are shortened to a part of their length, as nobody had simulated."""
    made = PLANS[2]
    rng, method = np.random.default_rng(12), made.method
    found = 0.2 * rng.standard_normal((1, made.ball.dimension - 1))
    mean = np.asarray(found / np.linalg.norm(found) * method._radius)
    ample = method.shorten(4.0 * mean, np.array([True]))[0]
    whole = method._released(ample, replace(made.mechanism, divisor=10**9))
    assert np.abs(whole.ravel() - 4.0 * mean[0]).max() <= 1e-6


def test_a_ball_for_the_vectors_alone_is_caught() -> None:
    """The mutant forgets the number that tells what was kept: one party as long as the ball, and
    one that is shortened to next to nothing, the other way.
    """
    made = PLANS[3]
    one = np.ones((1, made.ball.dimension - 1)) / np.sqrt(made.ball.dimension - 1)
    ends = np.vstack([made.method._radius * one, -1e9 * one])
    sent = made.ball.round_entries(
        made.method.shorten(ends, np.array([True, True])) / made.mechanism.grid
    )
    assert farthest(sent) <= made.ball.diameter**2
    assert farthest(sent) > Fraction(2.0 * made.method._radius / made.mechanism.grid) ** 2


def test_parties_in_corners_do_not_bend_the_model() -> None:
    """Each party sees one class far more often than others do, and lives where nobody else does.

    Labels follow the second feature alone, within every party; between parties they follow the
    first one the other way around.
    """
    rng = np.random.default_rng(8)
    public = AuxiliarySet(unit_rows(rng, 400, 3) * 0.9, (0, 1))
    world = []
    for party in range(300):
        rows = unit_rows(rng, 20, 3) * 0.5
        corner = 1.0 if party % 2 else -1.0
        rows[:, 0] = corner * np.abs(rows[:, 0])
        chance = 1.0 / (1.0 + np.exp(-30.0 * rows[:, 1] + 3.0 * corner))
        world.append((rows, (rng.random(20) < chance).astype(np.int64)))
    made = planned("moments", public, 300, epsilon=50.0, samples_each=20)
    weights = made.weights(made.total(world))
    assert weights[1] > 5.0 * abs(weights[0])


def test_blocks_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    made = PLANS[3]
    rng = np.random.default_rng(3)
    world = [
        (unit_rows(rng, n, 6) if n else np.zeros((0, 6)), rng.integers(0, 3, n))
        for n in (5, 0, 1, 0, 0, 40, 3, 2, 0)
    ]
    whole = made.sent(world)
    assert whole.shape == (9, made.ball.dimension)
    assert not whole[[1, 3, 4, 8]].any(), "a party without data sends zeros"
    for numbers in (1, 7, 100, 500):
        monkeypatch.setattr(party_vectors, "NUMBERS_AT_ONCE", numbers)
        assert (made.sent(world) == whole).all()


def test_sparse_private_features_are_taken_for_what_they_are() -> None:
    from scipy.sparse import csr_matrix

    made = PLANS[2]
    parties = grouped([(unit_rows(np.random.default_rng(4), 9, 6), np.arange(9) % 2)])
    sparse = replace(parties, features=csr_matrix(parties.features))
    assert (made.sent(sparse) == made.sent(parties)).all()


def test_very_many_classes_still_have_a_plan() -> None:
    features = unit_rows(np.random.default_rng(5), 300, 60)
    n_classes = MOST_NUMBERS // 55
    made = planned(
        "moments",
        AuxiliarySet(features, tuple(range(n_classes))),
        10**9,
        epsilon=1e6,
        samples_each=2,
    )
    assert made.ball.dimension > MOST_NUMBERS - n_classes, "as many directions as fit"
    assert made.ball.dimension <= MOST_NUMBERS


@pytest.mark.parametrize(
    "features",
    [np.zeros((5, 3)), np.full((5, 3), 0.3), np.array([[0.6, 0.0, 0.8]]), np.full((4, 3), 1e-160)],
)
@pytest.mark.parametrize("epsilon", [1e-12, 1.0, 1e18])
def test_sets_with_hardly_any_extent_have_a_plan(features: Array, epsilon: float) -> None:
    made = planned("moments", AuxiliarySet(features, ("a", "b")), 5, epsilon=epsilon)
    vectors = made.sent(
        [(np.array([[1.0, 0.0, 0.0]]), np.array([1])), (np.array([[0.0, 0.0, 1.0]]), np.array([0]))]
    )
    assert made.ball.outside(vectors).size == 0
    assert np.isfinite(made.weights([5] * made.mechanism.dimension)).all()


@pytest.mark.parametrize("grid", [0.3, 0.0, float("nan"), float("inf"), -0.5])
def test_a_grid_that_no_certificate_could_state_is_refused_at_once(grid: float) -> None:
    made = planned("moments", auxiliary(3), 50)
    with pytest.raises(ParameterError, match="grid"):
        replace(made.method, grid=grid)


def test_polls_on_one_set_share_what_nobody_can_change() -> None:
    first = planned("moments", auxiliary(3), 50).method
    for array in (first.centre, first.signal, first.contrasts):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0.7


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shift", [False, True])
@pytest.mark.parametrize("student", ["auto", "linear"])
def test_whatever_was_released_there_is_a_model(n_classes: int, shift: bool, student: str) -> None:
    """A failure after the draw would lose what was paid for."""
    made = planned("moments", auxiliary(n_classes), 50, samples_each=5, shift=shift)
    method, D = replace(made.method, student=student), made.mechanism.dimension
    rng = np.random.default_rng(9)
    for size in (0.0, 1e-300, 1.0, 1e8, 1e100, 1e150):
        for mean in (np.full(D, size), size * rng.standard_normal(D)):
            with np.errstate(all="ignore"):
                weights = method.weights(mean, made.mechanism)
            assert weights.shape[0] == 6


def test_a_few_rows_with_all_the_weight_are_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Evenly spaced rows would miss them, and the weights of the others sum to nothing."""
    from ostraka.methods.after_noise import posterior

    monkeypatch.setattr(posterior, "MOST_ROWS", 10)
    rng = np.random.default_rng(0)
    white, rows = rng.standard_normal((100, 2)), np.zeros(100)
    rows[[3, 5]] = 0.5
    shares = np.array([0.5, 0.5])
    slopes, bias = posterior.fit_softmax(white, np.zeros((2, 2)), shares, np.ones(2), rows)
    assert np.isfinite(slopes).all()
    assert np.isfinite(bias).all()
