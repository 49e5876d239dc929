"""What every method that releases a statistic obeys: the same laws for all of them, pure and with a δ, with and without `shift`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from ostraka.auxiliary import AuxiliarySet
from ostraka.ballot import Ballot
from ostraka.certificate import ONE_PARTY, Certificate
from ostraka.contributions import ContributionSum
from ostraka.errors import ParameterError, TooFewPartiesError, WrongTypeError
from ostraka.local.parties import Parties
from ostraka.losses import Array
from ostraka.methods import auto, cells, consensus, moments, refine
from ostraka.methods.laws import l2_law, verify
from ostraka.methods.output_perturbation import Exact
from ostraka.methods.statistic import StatisticPlan, StatisticTerms
from ostraka.methods.terms import Terms
from ostraka.model import LinearModel, Task
from ostraka.noise import Entropy, Rehearsal
from ostraka.preprocessing import Preprocessing
from ostraka.release import Rehearsed, Release
from ostraka.tally import Tally
from tests.sensitivity.worlds import unit_rows

N, D, M = 60, 5, 8


class Second:
    """`refine` as the others are called: after a release whose model is about half right."""

    contributions = staticmethod(refine.contributions)

    @staticmethod
    def start(auxiliary: AuxiliarySet) -> Release:
        task = Task.of(auxiliary)
        guess = np.eye(task.n_features, len(task.classes)) + 0.5 * np.random.default_rng(5).standard_normal(
            (task.n_features, len(task.classes))
        )
        guess = np.zeros_like(guess) if task.n_features == 1 else guess
        return Release(
            model=LinearModel(task=task, weights=guess if guess.shape[1] > 2 else guess[:, 1] - guess[:, 0]),
            certificate=moments.plan(auxiliary, M, StatisticTerms(epsilon=1.0)).certificate,
        )

    @classmethod
    def plan(cls, auxiliary: AuxiliarySet, n_parties: int, terms: StatisticTerms) -> StatisticPlan:
        if not isinstance(auxiliary, AuxiliarySet) or not isinstance(terms, StatisticTerms) or auxiliary.private:
            return refine.plan(None, auxiliary, n_parties, terms)  # type: ignore[arg-type]
        if hasattr(auxiliary.features, "tocsr"):
            return refine.plan(None, auxiliary, n_parties, terms)  # type: ignore[arg-type]
        return refine.plan(cls.start(auxiliary), auxiliary, n_parties, terms)

    @classmethod
    def release(
        cls, parties: Parties, auxiliary: AuxiliarySet, terms: StatisticTerms, source: Entropy | Rehearsal | None = None
    ) -> Release | Rehearsed:
        return refine.release(cls.start(auxiliary), parties, auxiliary, terms, source)


METHODS: dict[str, Any] = {"consensus": consensus, "moments": moments, "cells": cells, "refine": Second}
World = list[tuple[Array, Array]]
"""Each party's features and class indices."""


@dataclass(frozen=True)
class Case:
    method: str
    n_classes: int
    delta: float
    shift: bool = False

    @property
    def module(self) -> Any:
        return METHODS[self.method]

    def terms(self, **changes: Any) -> StatisticTerms:
        return StatisticTerms(**{"epsilon": 1.0, "delta": self.delta, "samples_each": 4, "shift": self.shift, **changes})

    def auxiliary(self, seed: int = 0) -> AuxiliarySet:
        features = unit_rows(np.random.default_rng(seed), N, D) * [1, 0.8, 0.6, 0.4, 0.2]
        return AuxiliarySet(features, tuple(range(self.n_classes)))

    def world(self, seed: int = 1, sizes: tuple[int, ...] = (4, 1, 2, 0, 30, 4, 4, 7)) -> World:
        rng = np.random.default_rng(seed)
        return [(unit_rows(rng, n, D) if n else np.zeros((0, D)), rng.integers(0, self.n_classes, n)) for n in sizes]

    def plan(self, terms: StatisticTerms | None = None, n_parties: int = M, auxiliary: AuxiliarySet | None = None) -> StatisticPlan:
        return self.module.plan(self.auxiliary() if auxiliary is None else auxiliary, n_parties, terms or self.terms())

    def total(self, world: World, planned: StatisticPlan, auxiliary: AuxiliarySet | None = None) -> Exact:
        """The exact sum that gets the noise."""
        if self.method == "consensus":
            return consensus.statistic(voted(world, auxiliary or self.auxiliary()), planned)
        summed = ContributionSum(planned.ball)
        for block in self.module.contributions(grouped(world), planned):
            summed.add_many(block)
        return summed.total

    def release(self, world: World, terms: StatisticTerms, source: Entropy | Rehearsal | None = None) -> Release | Rehearsed:
        auxiliary = self.auxiliary()
        if self.method == "consensus":
            return consensus.release(voted(world, auxiliary), terms, source)
        return self.module.release(grouped(world), auxiliary, terms, source)


def grouped(world: World) -> Parties:
    starts = np.concatenate([[0], np.cumsum([len(labels) for _, labels in world])]).astype(np.intp)
    features, labels = (np.concatenate(part) for part in zip(*world))
    return Parties(features, labels, starts, np.arange(len(world)))


def voted(world: World, auxiliary: AuxiliarySet) -> Tally:
    """Every party votes for the class whose samples lie most in a sample's direction: a function of its own rows."""
    tally = Tally(auxiliary)
    for features, labels in world:
        scores = np.stack([auxiliary.features @ features[labels == k].sum(axis=0) for k in range(auxiliary.n_classes)], axis=1)
        tally.add(Ballot(np.nan_to_num(scores).argmax(axis=1), auxiliary.n_classes, auxiliary.digest))
    return tally


def distance(one: Exact, other: Exact, certificate: Certificate) -> Fraction:
    """How far apart two sums are, in the certificate's norm (squared for L2) and what its numbers are worth: exact."""
    differences = [(a - b) * Fraction(certificate.grid) for a, b in zip(one, other, strict=True)]
    return sum(map(abs, differences)) if certificate.norm == "l1" else sum(each**2 for each in differences)


def allowed(certificate: Certificate, share: float = 1.0) -> Fraction:
    bound = Fraction(certificate.sensitivity) * Fraction(share)
    return bound if certificate.norm == "l1" else bound**2


CASES = [Case(*each) for each in itertools.product(METHODS, [2, 3], [0.0, 1e-6])]
CASES += [Case(method, n_classes, 0.0, shift=True) for method in ("moments", "cells", "refine") for n_classes in (2, 3)]
every_case = pytest.mark.parametrize("case", CASES, ids=str)
pure_cases = pytest.mark.parametrize("case", [case for case in CASES if case.delta == 0.0], ids=str)


def replacements(case: Case) -> Iterator[tuple[Array, Array]]:
    """What a party may have instead: nothing, one sample, many, all of one class, and numbers that no preprocessing would give."""
    rng = np.random.default_rng(7)
    for n in (0, 1, 2, 3, 7, 500):
        yield (unit_rows(rng, n, D) if n else np.zeros((0, D))), rng.integers(0, case.n_classes, n)
    for k in range(case.n_classes):
        yield unit_rows(rng, 6, D), np.full(6, k)
        yield np.repeat(unit_rows(rng, 1, D), 3, axis=0), np.full(3, k)
    for wild in (1e300, 1e-310, -1e300):
        yield wild * unit_rows(rng, 4, D), rng.integers(0, case.n_classes, 4)
    yield np.full((2, D), np.nan), np.zeros(2, dtype=int)


@pure_cases
def test_replacing_one_party_moves_the_sum_by_no_more_than_the_certificate_says(case: Case) -> None:
    """A replay of the whole way to the sum, in neighbouring worlds; exact arithmetic on the result."""
    planned = case.plan()
    world = case.world()
    here = case.total(world, planned)
    for party, replacement in itertools.product((0, 3, 4, M - 1), replacements(case)):
        if case.method == "consensus" and not np.isfinite(replacement[0]).all():
            continue
        neighbour = [*world[:party], replacement, *world[party + 1 :]]
        with np.errstate(over="ignore"):
            there = case.total(neighbour, planned)
        assert distance(here, there, planned.certificate) <= allowed(planned.certificate)


def sent(case: Case, world: World, planned: StatisticPlan) -> Array:
    return np.concatenate(list(case.module.contributions(grouped(world), planned)))


@pytest.mark.parametrize("case", [c for c in CASES if c.delta == 0.0 and c.method != "consensus"], ids=str)
def test_what_other_parties_send_does_not_change_by_one_bit(case: Case) -> None:
    """Nor does it depend on how the parties are cut into blocks, whatever one of them has."""
    planned = case.plan()
    world = case.world()
    here = sent(case, world, planned)
    for replacement in replacements(case):
        there = sent(case, [*world[:2], replacement, *world[3:]], planned)
        assert (np.delete(here, 2, axis=0) == np.delete(there, 2, axis=0)).all()
    alone = np.concatenate([sent(case, [party], planned) for party in world])
    assert (alone == here).all()


@pytest.mark.parametrize("case", [c for c in CASES if c.delta == 0.0 and c.method != "consensus"], ids=str)
def test_a_sample_between_two_cells_stays_where_it_is_whoever_else_is_there(case: Case) -> None:
    """Ties are decided by last bits, which a matrix product in doubles would let others move."""
    rng = np.random.default_rng(8)
    half = unit_rows(rng, 30, D)
    auxiliary = AuxiliarySet(np.concatenate([half, -half]), tuple(range(case.n_classes)))
    planned = case.plan(auxiliary=auxiliary)
    middle = unit_rows(rng, 40, D) * 2.0**-40  # next to the origin, which lies between all cells that are images of each other
    world = [(middle[j : j + 1], np.zeros(1, dtype=int)) for j in range(40)]
    alone = np.concatenate([sent(case, [party], planned) for party in world])
    for n_others in (0, 1, 5, 200):
        extra = (unit_rows(rng, n_others, D) if n_others else np.zeros((0, D)), np.zeros(n_others, dtype=int))
        assert (sent(case, [extra, *world], planned)[1:] == alone).all()


@every_case
def test_the_certificate_is_known_before_the_data(case: Case) -> None:
    planned = case.plan().certificate
    for seed in (1, 2):
        assert case.release(case.world(seed), case.terms()).certificate == planned
    assert planned.neighbours == ONE_PARTY
    assert planned.delta == (0.0 if case.method == "cells" else case.delta)


@every_case
def test_the_noise_is_enough_for_the_promise(case: Case) -> None:
    for epsilon in (1e-3, 0.1, 1.0, 30.0):
        promised = case.plan(case.terms(epsilon=epsilon)).certificate
        assert promised.epsilon <= epsilon
        assert verify(promised) <= case.delta


@every_case
def test_a_release_is_drawn_from_the_operating_system_and_a_rehearsal_from_its_seed(case: Case) -> None:
    release = case.release(case.world(), case.terms())
    assert isinstance(release, Release)
    planned = case.plan()
    total = case.total(case.world(), planned)
    # Of at least 2^20 units: equal with a probability below 1e-5.
    assert planned.law.publish(total, Entropy()) != planned.law.publish(total, Entropy())
    first, second = (case.release(case.world(), case.terms(), Rehearsal(3)) for _ in range(2))
    assert isinstance(first, Rehearsed)
    assert (first.model.weights == second.model.weights).all()
    with pytest.raises(ParameterError, match=r"source.*Nothing was drawn"):
        planned.publish_total(total, np.random.default_rng(0))  # type: ignore[arg-type]


@every_case
def test_less_privacy_means_less_noise_and_none_at_all_in_the_limit(case: Case) -> None:
    lengths = [float(case.plan(case.terms(epsilon=e)).certificate.noise_scale) for e in (0.1, 1.0, 10.0)]
    assert lengths[0] > lengths[1] > lengths[2]
    planned = case.plan(case.terms(epsilon=1e15))
    total = case.total(case.world(), planned)
    noisy = planned.law.publish(total, Entropy())
    assert max(abs(a - b) for a, b in zip(noisy, total)) * planned.certificate.grid <= 1e-9


@every_case
def test_the_order_of_the_parties_leaves_no_trace(case: Case) -> None:
    planned = case.plan()
    assert case.total(case.world(), planned) == case.total(case.world()[::-1], planned)


@every_case
def test_models_learn_what_is_plain_to_see(case: Case) -> None:
    """No promise of accuracy: only that the pieces fit together. The class is the largest of the first features, next to no noise."""
    rng = np.random.default_rng(9)
    auxiliary = case.auxiliary()
    features = (unit_rows(rng, 20, D) * [1, 0.8, 0.6, 0.4, 0.2] for _ in range(300))
    world = [(rows, rows[:, : case.n_classes].argmax(axis=1)) for rows in features]
    release = case.release(world, case.terms(epsilon=1e4, samples_each=20), Rehearsal(0))
    truth = auxiliary.features[:, : case.n_classes].argmax(axis=1)
    assert release.score(auxiliary.samples, truth) > 1.5 / case.n_classes


# ---- nothing fails once noise was drawn -----------------------------------------------------------------------------------

PLANS = {case: case.plan(case.terms(epsilon=epsilon)) for epsilon in (0.01, 1e6) for case in CASES if case.delta == 0.0}
huge = st.sampled_from([0, 1, -1, 2**62, -(2**62), 2**200, -(2**200), 2**1100, -(2**1100)]) | st.integers(-(2**80), 2**80)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(list(PLANS)), st.lists(huge, min_size=1, max_size=8))
def test_whatever_the_noise_does_there_is_a_model(case: Case, pattern: list[int]) -> None:
    planned = PLANS[case]
    noisy = [pattern[i % len(pattern)] for i in range(planned.law.dimension)]
    with np.errstate(all="raise"):
        model, shift = planned.model(noisy), planned.shift(noisy)
    assert np.isfinite(model.weights).all()
    assert shift is None or np.isfinite(shift)
    assert np.isfinite(model.predict_proba(case.auxiliary().samples)).all()


def test_an_overflowing_mean_is_caught() -> None:
    """Without the largest mean a double is too small for some sums."""
    with pytest.raises(OverflowError):
        float(Fraction(2**1100))


class Unusable:
    """A recipe that fails: for want of memory, say."""

    def weights(self, mean: Array) -> Array:
        raise MemoryError


@pure_cases
def test_what_fails_fails_before_anybody_is_charged_and_before_noise_is_drawn(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = case.plan()
    total = case.total(case.world(), planned)
    broken = StatisticPlan(certificate=planned.certificate, task=planned.task, ball=planned.ball, law=planned.law, recipe=Unusable())
    happened: list[str] = []
    monkeypatch.setattr(type(planned.law), "publish", lambda *_: happened.append("drawn"))
    with pytest.raises(MemoryError):
        broken.publish_total(total, Entropy(), lambda _: happened.append("charged"))
    with pytest.raises(ParameterError, match="source"):
        planned.publish_total(total, None, lambda _: happened.append("charged"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="as planned"):
        planned.publish_total([*total, 0], Entropy(), lambda _: happened.append("charged"))
    assert not happened


@pure_cases
def test_charging_comes_before_drawing_and_a_refused_charge_draws_nothing(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    planned = case.plan()
    total = case.total(case.world(), planned)
    happened: list[str] = []
    publish = type(planned.law).publish

    def noted(law: Any, values: Exact, source: Any) -> Exact:
        happened.append("drawn")
        return publish(law, values, source)

    def refuse(_: Certificate) -> None:
        raise RuntimeError("no budget")

    monkeypatch.setattr(type(planned.law), "publish", noted)
    with pytest.raises(RuntimeError, match="no budget"):
        planned.publish_total(total, Entropy(), refuse)
    assert not happened
    planned.publish_total(total, Entropy(), lambda certificate: happened.append(certificate.method))
    assert happened == [case.method, "drawn"]
    planned.publish_total(total, Rehearsal(0), refuse)


@pure_cases
def test_nobodys_floating_point_traps_show_the_data(case: Case) -> None:
    planned = case.plan()
    worlds = [case.world(), *([each, *case.world()[1:]] for each in replacements(case))]
    tallies = [case.world()] if case.method == "consensus" else worlds
    with np.errstate(all="raise"):
        totals = [case.total(world, planned) for world in tallies]
        planned.publish_total(totals[0], Entropy())


# ---- files ----------------------------------------------------------------------------------------------------------------


@every_case
def test_a_release_comes_back_from_its_file(case: Case, tmp_path: Path) -> None:
    release = case.release(case.world(), case.terms())
    release.save(tmp_path / "model.ostraka")
    loaded = Release.load(tmp_path / "model.ostraka")
    assert loaded.certificate == release.certificate
    assert Certificate.from_json(release.certificate.to_json()) == release.certificate
    samples = case.auxiliary().samples
    assert (loaded.predict(samples) == release.predict(samples)).all()
    assert "statistic" in str(loaded.certificate)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_there_may_be_more_cells_than_weights(n_classes: int, tmp_path: Path) -> None:
    """The statistic is longer than the model that is made of it: no reason to refuse the release."""
    rng = np.random.default_rng(0)
    auxiliary = AuxiliarySet(unit_rows(rng, 200, 2), tuple(range(n_classes)))
    parties = Parties.group(unit_rows(rng, 50, 2), rng.integers(0, n_classes, 50), None)
    planned = cells.plan(auxiliary, 50, StatisticTerms(epsilon=1.0), n_cells=10)
    summed = ContributionSum(planned.ball)
    for block in cells.contributions(parties, planned):
        summed.add_many(block)
    release = planned.publish(summed, Entropy())
    assert release.certificate.dimension > release.model.weights.size
    release.save(tmp_path / "model.ostraka")
    assert Release.load(tmp_path / "model.ostraka").certificate == release.certificate


# ---- refusals -------------------------------------------------------------------------------------------------------------


@every_case
def test_one_party_alone_is_refused(case: Case) -> None:
    with pytest.raises(TooFewPartiesError, match=r"1 party has contributed, but at least 2 are needed.*Nothing was drawn"):
        case.release(case.world()[:1], case.terms())
    with pytest.raises(TooFewPartiesError, match="at least 50"):
        case.release(case.world(), case.terms(least_parties=50))


@pure_cases
def test_sets_without_a_public_geometry_are_refused(case: Case) -> None:
    from scipy.sparse import csr_matrix

    private = AuxiliarySet(case.auxiliary().features, tuple(range(case.n_classes)), preprocessing=Preprocessing(), private=True)
    with pytest.raises(ParameterError, match=r"a private set.*a public one.*Nothing was drawn"):
        case.plan(auxiliary=private)
    sparse = AuxiliarySet(csr_matrix(case.auxiliary().features), tuple(range(case.n_classes)))
    with pytest.raises(ParameterError, match=r"sparse features.*half_whitened"):
        case.plan(auxiliary=sparse)
    with pytest.raises(WrongTypeError, match=r"auxiliary set is of type ndarray.*AuxiliarySet"):
        case.plan(auxiliary=case.auxiliary().features)  # type: ignore[arg-type]
    with pytest.raises(WrongTypeError, match=r"terms is of type Terms.*StatisticTerms"):
        case.plan(Terms(epsilon=1.0))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"epsilon": 0.0}, "epsilon = 0.0 is not allowed.*Nothing was drawn"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"delta": 1.0}, "delta = 1.0 is not allowed.*up to 0.1.*Nothing was drawn"),
        ({"delta": -1e-9}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"samples_each": 0}, "samples_each"),
        ({"samples_each": 2.5}, "samples_each"),
        ({"samples_each": 10**400}, "samples_each"),
        ({"least_parties": 1}, "2 or more"),
        ({"noise": "cauchy"}, "auto, l2, gaussian"),
    ],
)
def test_bad_terms_are_refused(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(ParameterError, match=complaint):
        StatisticTerms(**{"epsilon": 1.0, **change})


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_plan_of_another_method_or_another_poll_is_refused(n_classes: int) -> None:
    of = {name: Case(name, n_classes, 0.0) for name in METHODS}
    world = of["cells"].world()
    for name, other in itertools.permutations(METHODS, 2):
        with pytest.raises(WrongTypeError, match=f"(a plan of {name}|the Ball of a plan of moments or cells)"):
            of[name].total(world, of[other].plan())
        if name != "consensus":
            with pytest.raises(WrongTypeError, match=f"a plan of {name}"):
                next(of[name].module.contributions(grouped(world), of[other].plan()))
    for name in ("moments", "cells"):
        planned = of[name].plan()
        summed = ContributionSum(planned.ball)
        with pytest.raises(ParameterError, match=r"0 contributions.*8, as planned.*Nothing was drawn"):
            planned.publish(summed, Entropy())
        other = of["cells" if name == "moments" else "moments"].plan()
        with pytest.raises(ParameterError, match="contributions to this plan"):
            other.publish(summed, Entropy())
        with pytest.raises(WrongTypeError, match="ContributionSum"):
            planned.publish([0] * planned.law.dimension, Entropy())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="contributions to this plan: None"):
        of["consensus"].plan().publish(summed, Entropy())
    with pytest.raises(ParameterError, match="one for 8 parties"):
        of["consensus"].total(world, of["consensus"].plan(n_parties=9))
    with pytest.raises(ParameterError, match="plan"):
        of["consensus"].total(world, of["consensus"].plan(auxiliary=of["consensus"].auxiliary(5)))


def test_cells_have_their_own_noise_and_auto_heeds_a_wish() -> None:
    case = Case("cells", 3, 1e-6)
    with pytest.raises(ParameterError, match=r"noise = 'gaussian'.*discrete Laplace.*Nothing was drawn"):
        case.plan(case.terms(noise="gaussian"))
    for noise, name in (("gaussian", "gaussian"), ("l2", "l2")):
        assert auto.plan(case.auxiliary(), M, case.terms(noise=noise)).certificate.noise == name


def test_gaussian_noise_needs_a_delta() -> None:
    for module in (moments, consensus):
        with pytest.raises(ParameterError, match=r"delta = 0.0.*above 0 for Gaussian noise"):
            module.plan(Case("moments", 2, 0.0).auxiliary(), M, StatisticTerms(epsilon=1.0, noise="gaussian"))


# ---- by counting -----------------------------------------------------------------------------------------------------------

N_RELEASES = 1500
FAILURE = 1e-7
"""How likely each of the two ends of a comparison is to mislead: a correct mechanism fails with less than 2e-7."""


def opposite_worlds(method: str) -> tuple[StatisticPlan, Exact, Exact]:
    """One sample, two parties; in the second world the first party says the opposite. D = 1."""
    auxiliary = AuxiliarySet(np.array([[0.8]]), ("no", "yes"))
    case = Case(method, 2, 0.0)
    planned = METHODS[method].plan(auxiliary, 2, StatisticTerms(epsilon=1.0))
    at = np.array([[0.8]]) if method != "consensus" else np.array([[1.0]])
    yes, no, nothing = (
        (np.repeat(at, 3, axis=0), np.ones(3, int)),
        (np.repeat(at, 3, axis=0), np.zeros(3, int)),
        (np.zeros((0, 1)), np.zeros(0, int)),
    )
    one, other = ([each, nothing] for each in (yes, no))
    if method == "consensus":
        one, other = ([each, no] for each in (yes, no))
    return planned, case.total(one, planned, auxiliary), case.total(other, planned, auxiliary)


def loss_at_least(planned: StatisticPlan, here: Exact, there: Exact) -> float:
    """A ratio of probabilities of one outcome, "yes" for the sample, that is exceeded for sure (but for the stated failure)."""
    # The sums lie on both sides of `centre`, which is taken away so that they are told apart best.
    centre = [(a + b) // 2 for a, b in zip(here, there)]
    found = []
    for total in (here, there):
        releases = (planned.publish_total([a - c for a, c in zip(total, centre)], Entropy()) for _ in range(N_RELEASES))
        found.append(sum(release.predict([[0.8]])[0] == "yes" for release in releases))
    least = beta.ppf(FAILURE, found[0], N_RELEASES - found[0] + 1)
    most = beta.ppf(1.0 - FAILURE, found[1] + 1, N_RELEASES - found[1])
    return float(least / most)


@pytest.mark.parametrize("method", METHODS)
def test_releases_of_neighbouring_worlds_are_as_hard_to_tell_apart_as_promised(method: str) -> None:
    planned, here, there = opposite_worlds(method)
    assert planned.law.dimension == 1
    assert distance(here, there, planned.certificate) >= allowed(planned.certificate, 0.99)
    assert loss_at_least(planned, here, there) <= np.exp(planned.certificate.epsilon)


@pytest.mark.parametrize("method", METHODS)
def test_half_the_noise_is_caught(method: str) -> None:
    planned, here, there = opposite_worlds(method)
    law = type(planned.law)(scale=planned.law.scale / 2.0, dimension=1)
    mutant = StatisticPlan(certificate=planned.certificate, task=planned.task, ball=planned.ball, law=law, recipe=planned.recipe)
    assert loss_at_least(mutant, here, there) > np.exp(planned.certificate.epsilon)


def test_two_coordinates_hide_a_party_too_and_half_the_noise_does_not() -> None:
    """D = 2, the law alone: the outcome "beyond the first world's sum, in the direction of the move"; 2·6000 draws, failure as above."""

    def ratio(scale: float) -> float:
        law = l2_law(1.0, 0.0, scale * 2.0**10, 2)
        found = [sum(law.publish([start, 0], Entropy())[0] >= 0 for _ in range(6000)) for start in (0, -(2**10))]
        return float(beta.ppf(FAILURE, found[0], 6001 - found[0]) / beta.ppf(1.0 - FAILURE, found[1] + 1, 6000 - found[1]))

    assert ratio(1.0) <= np.e
    assert ratio(0.5) > np.e
