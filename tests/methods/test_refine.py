"""`refine`: the worst second rounds we found nearly reach the certificate; its starts; mutants."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.errors import ParameterError
from ostraka.mechanism import Rehearsal
from ostraka.methods import refine
from ostraka.methods.after_noise.denoise import onto_simplex
from ostraka.methods.after_noise.kernel import learn_kernel
from ostraka.methods.after_noise.posterior import correct_softmax
from ostraka.methods.after_noise.student import softmax
from ostraka.methods.base import Work
from ostraka.methods.refine import SURE
from ostraka.party.products import own_products
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.columns import Columns
from ostraka.public.preprocessing import Preprocessing
from ostraka.public.task import Task
from ostraka.publishing import publish
from ostraka.release import Rehearsed, Release
from ostraka.release.model import LinearModel
from ostraka.release.outlook import Outlook
from ostraka.solve.losses import Array
from ostraka.tally import Tally
from tests.laws.cases import _start
from tests.mechanism.worlds import unit_rows
from tests.methods.planned import Planned, World, planned
from tests.methods.test_moments import auxiliary, extreme_parties, farthest


def planned_for(n_classes: int, **changes: object) -> Planned:
    public = auxiliary(n_classes)
    return planned("refine", public, 50, **{"samples_each": 5, "start": _start(public), **changes})


PLANS = {n_classes: planned_for(n_classes) for n_classes in (2, 3, 5)}


def unsure(public: AuxiliarySet) -> Release:
    """A start that knows how often it is right, and finds that classes overlap."""
    return replace(_start(public), outlook=Outlook(accuracy=0.6, off=0.05))


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("soft", [False, True])
def test_extreme_parties_stay_within_the_certificate_and_nearly_reach_it(
    n_classes: int, soft: bool
) -> None:
    start = (unsure if soft else _start)(auxiliary(n_classes))
    for epsilon, samples_each in itertools.product((0.01, 1.0, 100.0), (1, 5, 200)):
        made = planned_for(n_classes, epsilon=epsilon, samples_each=samples_each, start=start)
        assert made.method.soft is soft
        vectors = made.sent(list(extreme_parties(made, n_classes)))
        share = (
            farthest(vectors)
            * Fraction(made.mechanism.grid) ** 2
            / Fraction(made.mechanism.sensitivity) ** 2
        )
        assert share <= 1
        # With a single direction, and a start that is right along
        # it, parties can pull one way only.
        assert share >= Fraction(0.9) ** 2 or epsilon < 1.0


def test_a_radius_for_a_diameter_is_caught() -> None:
    """The mutant confuses what a party likely leaves unexplained with how far it can move."""
    made = PLANS[3]
    vectors = made.sent(list(extreme_parties(made, 3)))
    assert (
        farthest(vectors) * Fraction(made.mechanism.grid) ** 2
        > Fraction(made.mechanism.particular.radius) ** 2
    )


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


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("soft", [False, True])
def test_residuals_against_their_definition(n_classes: int, soft: bool) -> None:
    start = unsure if soft else _start
    recipe = planned_for(n_classes, start=start(auxiliary(n_classes))).method
    assert recipe.soft is soft
    rng = np.random.default_rng(3)
    rows, labels = unit_rows(rng, 20, 6), rng.integers(0, n_classes, 20)
    guesses = (softmax if soft else onto_simplex)(rows @ recipe.guess)
    expected = (np.eye(n_classes)[labels] - guesses) @ recipe.contrasts
    # The bound is rounding to 25 bits, times a sharpened start.
    assert np.abs(recipe.residuals(rows, labels) - expected).max() <= 1e-5


@pytest.mark.parametrize("soft", [False, True])
def test_residuals_of_a_row_do_not_depend_on_others(soft: bool) -> None:
    recipe = planned_for(5, start=unsure(auxiliary(5))).method if soft else PLANS[5].method
    rng = np.random.default_rng(4)
    rows, labels = unit_rows(rng, 300, 6), rng.integers(0, 5, 300)
    together = recipe.residuals(rows, labels)
    for i in range(0, 300, 7):
        assert (recipe.residuals(rows[i : i + 1], labels[i : i + 1]) == together[i]).all()


class Moody(np.ndarray):
    """A table whose products are added up in an order that depends on how many rows there are, as
    some libraries do.
    """

    def __rmatmul__(self, rows: Array) -> Array:
        table, total = np.asarray(self), np.zeros((len(rows), self.shape[1]))
        for column in np.random.default_rng(len(rows)).permutation(len(table)):
            total += rows[:, [column]] * table[column]
        return total


def test_one_matrix_product_for_all_would_be_caught() -> None:
    """The mutant multiplies everybody's rows at once.

    A row's last bits depend on how many others there are.
    """
    rng = np.random.default_rng(5)
    table = rng.standard_normal((200, 5)).view(Moody)
    rows = unit_rows(rng, 3000, 200)
    plain, safe = rows @ table, own_products(rows, table)
    for i, n in itertools.product((0, 1, 5), (1, 2, 3, 7)):
        assert ((rows[i : i + n] @ table)[0] != plain[i]).any()
        assert (own_products(rows[i : i + n], table)[0] == safe[i]).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_start_is_as_sure_as_wanted(n_classes: int) -> None:
    recipe = planned_for(n_classes).method
    assert abs(recipe.guesses(recipe.features).max(axis=1).mean() - SURE) <= 1e-3


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("value", [0.0, 1e-300, 1e300])
def test_starts_that_say_nothing_or_shout_have_a_plan(n_classes: int, value: float) -> None:
    public = auxiliary(n_classes)
    start = _start(public)
    model = LinearModel(
        task=start.model.task, weights=np.full(start.model.task.weight_shape, value)
    )
    made = planned_for(n_classes, start=Release(model=model, certificate=start.certificate))
    assert np.isfinite(made.weights([7] * made.mechanism.dimension)).all()
    assert made.sent([(public.features[:5], np.zeros(5, dtype=int))]).shape == (
        1,
        made.mechanism.dimension,
    )


def test_a_kernel_start_is_taken_by_its_linear_teacher_and_handed_on() -> None:
    public = auxiliary(3)
    plain = _start(public)
    curved = replace(plain, model=learn_kernel(public.features, plain.model.linear))
    one, other = planned_for(3, start=plain).method, planned_for(3, start=curved).method
    assert (one.guess == other.guess).all()
    assert (one.student, other.student) == ("auto", "kernel")
    assert other.start.digest == curved.digest != one.start.digest
    wishes = [{"shift": True}, {"student": "linear"}, {"shift": True, "student": "kernel"}]
    made = [planned_for(3, start=curved, **wish).method.student for wish in wishes]
    assert made == ["none", "linear", "kernel"]


def learnable(n_classes: int = 3) -> tuple[AuxiliarySet, World]:
    rng = np.random.default_rng(6)
    rows = [unit_rows(rng, 10, 6) * np.geomspace(1, 0.3, 6) for _ in range(400)]
    return AuxiliarySet(
        unit_rows(rng, 300, 6) * np.geomspace(1, 0.3, 6), tuple(range(n_classes))
    ), [(each, each[:, :n_classes].argmax(axis=1)) for each in rows]


def polled(
    method: str, public: AuxiliarySet, world: World, **options: object
) -> tuple[Poll, Tally]:
    poll = Poll.create(public, method=method, parties=len(world), **options)
    tally = Tally(poll)
    samples, labels = (np.concatenate(part) for part in zip(*world))
    names = np.repeat(np.arange(len(world)), [len(own) for _, own in world])
    for block in poll.blocks(poll.group(samples, labels, names), Work()):
        tally.add_block(*block)
    return poll, tally


def released(
    method: str, public: AuxiliarySet, world: World, seed: int | None, **options: object
) -> Release | Rehearsed:
    poll, tally = polled(method, public, world, **options)
    return publish(poll, tally, None if seed is None else Rehearsal(seed))


def test_a_second_round_betters_the_first() -> None:
    public, world = learnable()
    truth = public.features[:, :3].argmax(axis=1)
    found = []
    for seed in range(5):
        first = released("cells", public, world, seed, epsilon=0.5, samples_each=10)
        second = released("refine", public, world, seed, epsilon=20.0, samples_each=10, start=first)
        found.append((first.score(public.samples, truth), second.score(public.samples, truth)))
    first_mean, second_mean = np.mean(found, axis=0)
    assert second_mean > first_mean + 0.01


@pytest.mark.parametrize("sure", [(0.7, 0.1), None])
def test_a_second_round_says_how_good_it_is_if_its_start_did(
    sure: tuple[float, float] | None,
) -> None:
    public, world = learnable()
    start = released("cells", public, world, 0, epsilon=5.0, samples_each=10)
    stated = Outlook() if sure is None else Outlook(accuracy=sure[0], off=sure[1])
    end = released("refine", public, world, 1, epsilon=5.0, start=replace(start, outlook=stated))
    if sure is None:
        assert end.outlook.accuracy is None
    else:
        assert end.outlook.accuracy is not None
        assert end.outlook.off == sure[1]
        assert "is right for about" in end.outlook.describe((0, 1, 2))


@pytest.mark.parametrize(
    ("sure", "off"),
    [(np.nan, 0.1), (-1.0, 0.1), (2.0, 0.1), (0.5, np.inf), (0.5, -0.1), (0.5, None)],
)
def test_what_a_poll_says_of_a_start_is_checked_before_the_noise(
    sure: float, off: float | None
) -> None:
    with pytest.raises(ParameterError, match="outlook"):
        replace(PLANS[3].method, sure=sure, off=off)


def overlapping(n: int, seed: int) -> tuple[Array, Array]:
    """Rows whose labels are drawn from a softmax model."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([0.35 * rng.standard_normal((n, 5)), np.full(n, 0.4)])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    weights = 3.0 * np.random.default_rng(1).standard_normal((6, 3))
    return rows, (rows @ weights + rng.gumbel(size=(n, 3))).argmax(axis=1)


def test_where_classes_overlap_a_second_round_mends_what_few_public_rows_bent() -> None:
    """Of 60 public rows `moments` learns how features vary, and no more; gradients of private
    rows do not need to know.
    """
    public = AuxiliarySet(overlapping(60, 2)[0], (0, 1, 2))
    rows, labels = overlapping(20_000, 3)
    world = [(rows[j::500], labels[j::500]) for j in range(500)]
    test, truth = overlapping(20_000, 4)
    found = []
    for seed in range(4):
        options = {"epsilon": 20.0, "samples_each": 40}
        start = released("moments", public, world, seed, **options)
        poll, tally = polled("refine", public, world, start=start, **options)
        assert poll.method.soft  # type: ignore[attr-defined]
        end = publish(poll, tally, Rehearsal(seed))
        scores = [
            -np.log(each.predict_proba(test)[np.arange(len(truth)), truth]).mean()
            for each in (start, end)
        ]
        found.append(scores)
    first, second = np.mean(found, axis=0)
    assert second < first - 0.005


def test_a_correction_is_the_slope_of_the_private_loss() -> None:
    """Whatever the auxiliary rows are: where nothing is left, nothing moves."""
    rng = np.random.default_rng(9)
    white, scores = rng.standard_normal((50, 4)), rng.standard_normal((50, 3))
    still = correct_softmax(white, scores, np.zeros((4, 3)), np.full(4, 0.1))
    assert np.abs(still).max() < 1e-12
    left = rng.standard_normal((4, 3)) * 1e-4
    left -= left.mean(axis=1, keepdims=True)
    moved = correct_softmax(white, scores, left, np.full(4, 0.1))
    assert float(np.sum(moved * left)) > 0.9 * np.linalg.norm(moved) * np.linalg.norm(left) * 0.9


def test_with_a_shift_the_auxiliary_rows_do_not_have_the_last_word() -> None:
    """Public rows lack most of two classes, so a second round should not self-train on them."""
    rng = np.random.default_rng(7)
    centres = np.random.default_rng(0).standard_normal((4, 6))

    def rows(shares: list[float], n: int) -> tuple[Array, Array]:
        labels = rng.choice(4, n, p=np.array(shares) / sum(shares))
        features = centres[labels] + 0.8 * rng.standard_normal((n, 6))
        return 0.99 * features / np.linalg.norm(features, axis=1, keepdims=True), labels

    public = AuxiliarySet(rows([1.0, 0.03, 1.0, 0.03], 500)[0], (0, 1, 2, 3))
    features, labels = rows([1.0] * 4, 6000)
    world = [(features[i : i + 10], labels[i : i + 10]) for i in range(0, 6000, 10)]
    test, truth = rows([1.0] * 4, 4000)
    found = []
    for seed in range(6):
        start = released("cells", public, world, seed, epsilon=5.0, samples_each=10, shift=True)
        both = [
            released(
                "refine",
                public,
                world,
                seed,
                epsilon=20.0,
                samples_each=10,
                shift=shift,
                start=start,
            )
            for shift in (None, True)
        ]
        found.append([start.score(test, truth), *(each.score(test, truth) for each in both)])
    first, trusting, careful = np.mean(found, axis=0)
    assert careful > max(first, trusting) + 0.01


def test_the_certificate_names_the_start_and_what_all_rounds_cost() -> None:
    public, world = learnable()
    first = released("cells", public, world, None, epsilon=3.0, assumed_public=("classes",))
    second = released("refine", public, world, None, epsilon=0.5, delta=1e-6, start=first)
    third = released("refine", public, world, None, epsilon=1.0, start=second)
    assert (second.certificate.start, third.certificate.start) == (first.digest, second.digest)
    assert (second.certificate.round_epsilon, second.certificate.epsilon) == (0.5, 3.5)
    assert (third.certificate.epsilon, third.certificate.delta) == (4.5, 1e-6)
    assert third.certificate.assumed_public == ("classes",)


def test_starts_of_other_kinds_are_refused() -> None:
    public, start = auxiliary(3), _start(auxiliary(3))
    for other in (None, start.model, "model.ostraka"):
        with pytest.raises(ParameterError, match=r"start.*an earlier Release"):
            planned("refine", public, 50, start=other)
    scaled = AuxiliarySet(public.samples, public.classes, preprocessing=Preprocessing(radius=0.5))
    narrow = AuxiliarySet(public.samples[:, :4], public.classes)
    renamed = AuxiliarySet(public.samples, ("a", "b", "c"))
    for different in (auxiliary(2), scaled, narrow, renamed):
        with pytest.raises(ParameterError, match=r"start.*by the same preprocessing"):
            planned("refine", different, 50, start=start)
    assert Task.of(public) == start.model.task


def test_the_columns_of_a_start_must_be_the_same_in_the_same_order() -> None:
    """The start's model knows columns by their place: silently, accuracy fell to .33."""
    from dataclasses import replace

    names = tuple("abcdef")
    public = replace(auxiliary(3), columns=Columns.of_numbers(names))
    start = _start(public)
    swapped = replace(auxiliary(3), columns=Columns.of_numbers(names[::-1]))
    with pytest.raises(ParameterError, match=r"columns.*described in the same way"):
        planned("refine", swapped, 50, start=start)
    planned("refine", public, 50, start=start)


@pytest.mark.parametrize(
    ("outlook", "soft"),
    [
        (Outlook(), False),
        (Outlook(accuracy=0.6, off=0.1), True),
        (Outlook(shares=(0.5, 0.5), deviation=0.4), True),
    ],
    ids=["nothing known", "known", "too noisy to say"],
)
def test_probabilities_of_a_start_mean_something_also_where_noise_drowns_its_accuracy(
    outlook: Outlook, soft: bool
) -> None:
    start: Any = SimpleNamespace(outlook=outlook, model=None)
    features = np.random.default_rng(0).standard_normal((50, 3))
    assert refine._is_soft(start, features, np.zeros((3, 2))) is soft
