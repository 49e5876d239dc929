"""What every private method obeys: the same laws for `soft`, `vote` and `avg`, both calibrations, two classes and more."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from ostraka.auxiliary import AuxiliarySet
from ostraka.certificate import ONE_PARTY, ONE_PARTY_AND_SAMPLE, Certificate
from ostraka.errors import ParameterError, TooFewPartiesError
from ostraka.local.ensemble import tally_linear
from ostraka.losses import Array
from ostraka.methods import avg, soft, vote
from ostraka.methods.output_perturbation import Exact, Plan
from ostraka.methods.terms import Terms
from ostraka.model import Task
from ostraka.noise import Entropy, Rehearsal
from ostraka.preprocessing import Preprocessing
from ostraka.release import Rehearsed, Release
from ostraka.tally import Tally
from tests.sensitivity.worlds import unit_rows

M, N, D = 7, 40, 5


@dataclass(frozen=True)
class Case:
    method: str
    calibration: str
    n_classes: int

    def terms(self, **changes: object) -> Terms:
        return Terms(**{"epsilon": 1.0, "lambda_": 0.01, "calibration": self.calibration, **changes})

    def auxiliary(self, seed: int = 0, private: bool = False) -> AuxiliarySet:
        features = unit_rows(np.random.default_rng(seed), N, D) * [1, 0.8, 0.6, 0.4, 0]
        return AuxiliarySet(features, tuple(range(self.n_classes)), preprocessing=Preprocessing(), private=private)

    def ensemble(self, seed: int = 1) -> Array:
        rng = np.random.default_rng(seed)
        return rng.standard_normal((M, D) if self.n_classes == 2 else (M, D, self.n_classes)) * 5

    def plan(self, auxiliary: AuxiliarySet, terms: Terms, n_parties: int = M) -> Plan:
        if self.method == "avg":
            return avg.plan(Task.of(auxiliary), n_parties, terms)
        return {"soft": soft, "vote": vote}[self.method].plan(auxiliary, n_parties, terms)

    def statistic(self, auxiliary: AuxiliarySet, ensemble: Array, terms: Terms) -> Exact:
        planned = self.plan(auxiliary, terms, len(ensemble))
        if self.method == "avg":
            return avg.statistic(ensemble, planned)
        return {"soft": soft, "vote": vote}[self.method].statistic(tally_linear(ensemble, auxiliary), planned)

    def release(self, ensemble: Array, terms: Terms, source: Entropy | Rehearsal | None = None) -> Release | Rehearsed:
        auxiliary = self.auxiliary()
        if self.method == "avg":
            return avg.release(ensemble, Task.of(auxiliary), len(ensemble), terms, source=source)
        return {"soft": soft, "vote": vote}[self.method].release(tally_linear(ensemble, auxiliary), terms, source)


CASES = [Case(*each) for each in itertools.product(["soft", "vote", "avg"], ["paper", "tight"], [2, 3])]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def moved(one: Exact, other: Exact, certificate: Certificate) -> Fraction:
    """The exact squared distance of two vectors on the grid."""
    return sum((Fraction(a - b) * Fraction(certificate.grid)) ** 2 for a, b in zip(one, other, strict=True))


@every_case
def test_replacing_one_party_moves_the_vector_by_no_more_than_the_certificate_says(case: Case) -> None:
    """A replay of the whole way to the grid, in neighbouring worlds; exact arithmetic on the result."""
    rng = np.random.default_rng(5)
    for lambda_ in (1e-4, 1e-2, 1.0, 10.0):
        terms = case.terms(lambda_=lambda_)
        auxiliary = case.auxiliary()
        certificate = case.plan(auxiliary, terms).certificate
        ensemble = case.ensemble()
        here = case.statistic(auxiliary, ensemble, terms)
        for scale in (1e-3, 1.0, 1e5, 1e200):
            neighbour = ensemble.copy()
            neighbour[rng.integers(M)] = scale * rng.standard_normal(ensemble.shape[1:])
            there = case.statistic(auxiliary, neighbour, terms)
            assert moved(here, there, certificate) <= Fraction(certificate.sensitivity) ** 2


@every_case
def test_a_party_against_all_comes_within_a_tenth_of_the_certificate(case: Case) -> None:
    """With samples all alike and λ large the declared sensitivity is nearly reached, so that half of it would be caught."""
    features = np.zeros((N, D))
    features[:, 0] = 1.0
    auxiliary = AuxiliarySet(features, tuple(range(case.n_classes)))
    terms = case.terms(lambda_=20.0)
    certificate = case.plan(auxiliary, terms).certificate
    ensemble = np.zeros(case.ensemble().shape)
    # Two opposite corners; of the parameters that `avg` averages only what sums to zero over the classes counts.
    ensemble[: M // 2, 0] = 1e3 if case.n_classes == 2 else [-1e3, 1e3, 0]
    ensemble[M // 2 :, 0] = -1e3 if case.n_classes == 2 else [1e3, -1e3, 0]
    worst = Fraction(0)
    for party in range(M):
        neighbour = ensemble.copy()
        neighbour[party] = -ensemble[party]
        worst = max(worst, moved(*(case.statistic(auxiliary, w, terms) for w in (ensemble, neighbour)), certificate))
    share = float(worst) ** 0.5 / certificate.sensitivity
    reached = {("soft", "paper", 2): 0.45, ("vote", "paper", 2): 0.45, ("avg", "paper", 3): 0.9}
    assert share <= 1.0
    assert share >= reached.get((case.method, case.calibration, case.n_classes), 0.9)


@every_case
def test_the_certificate_is_known_before_the_data(case: Case) -> None:
    terms = case.terms()
    planned = case.plan(case.auxiliary(), terms).certificate
    for seed in (1, 2, 3):
        assert case.release(case.ensemble(seed), terms).certificate == planned


@every_case
def test_a_release_is_drawn_from_the_operating_system_and_a_rehearsal_from_its_seed(case: Case) -> None:
    one, other = (case.release(case.ensemble(), case.terms()) for _ in range(2))
    assert isinstance(one, Release)
    assert (one.model.weights != other.model.weights).any()
    first, second = (case.release(case.ensemble(), case.terms(), Rehearsal(3)) for _ in range(2))
    assert isinstance(first, Rehearsed)
    assert (first.model.weights == second.model.weights).all()


@every_case
def test_less_privacy_means_less_noise_and_none_at_all_in_the_limit(case: Case) -> None:
    scales = [case.plan(case.auxiliary(), case.terms(epsilon=e)).certificate.noise_scale for e in (0.1, 1.0, 10.0)]
    assert scales[0] > scales[1] > scales[2]
    a, b = (case.release(case.ensemble(), case.terms(epsilon=1e15)).model.weights for _ in range(2))
    assert np.abs(a - b).max() <= 1e-4 * np.abs(a).max()


@every_case
def test_tight_is_never_noisier_than_paper(case: Case) -> None:
    if case.calibration == "paper":
        return
    for lambda_ in (1e-6, 1e-4, 1e-2, 1.0, 10.0):
        tight, paper = (case.plan(case.auxiliary(), case.terms(lambda_=lambda_, calibration=c)).certificate for c in ("tight", "paper"))
        assert tight.sensitivity <= paper.sensitivity
        assert tight.dimension <= paper.dimension


@every_case
def test_the_order_of_the_parties_leaves_no_trace(case: Case) -> None:
    ensemble = case.ensemble()
    terms = case.terms()
    assert case.statistic(case.auxiliary(), ensemble, terms) == case.statistic(case.auxiliary(), ensemble[::-1], terms)


@every_case
def test_one_party_alone_is_refused(case: Case) -> None:
    with pytest.raises(TooFewPartiesError, match=r"1 party has contributed, but at least 2 are needed.*Nothing was drawn"):
        case.release(case.ensemble()[:1], case.terms())
    with pytest.raises(TooFewPartiesError, match="at least 50"):
        case.release(case.ensemble(), case.terms(least_parties=50))


@pytest.mark.parametrize("case", [c for c in CASES if c.method != "avg"], ids=str)
def test_a_private_auxiliary_set_shows_in_nothing_but_its_size(case: Case) -> None:
    one, other = (case.plan(case.auxiliary(seed, private=True), case.terms()) for seed in (0, 9))
    assert one.certificate == other.certificate
    assert one.certificate.neighbours == ONE_PARTY_AND_SAMPLE
    assert one.certificate.auxiliary_digest is None
    assert one.coordinates.span is None
    assert case.plan(case.auxiliary(), case.terms()).certificate.neighbours == ONE_PARTY


@pytest.mark.parametrize("case", [c for c in CASES if c.method != "avg"], ids=str)
def test_replacing_a_private_auxiliary_sample_too_stays_within_the_certificate(case: Case) -> None:
    rng = np.random.default_rng(6)
    for lambda_ in (1e-3, 1.0, 20.0):
        terms = case.terms(lambda_=lambda_)
        auxiliary = case.auxiliary(private=True)
        certificate = case.plan(auxiliary, terms).certificate
        here = case.statistic(auxiliary, case.ensemble(), terms)
        for _ in range(10):
            features = auxiliary.features.copy()
            features[rng.integers(N)] = unit_rows(rng, 1, D)[0]
            neighbour = case.ensemble()
            neighbour[rng.integers(M)] = rng.standard_normal(neighbour.shape[1:])
            there = case.statistic(AuxiliarySet(features, auxiliary.classes, preprocessing=Preprocessing(), private=True), neighbour, terms)
            assert moved(here, there, certificate) <= Fraction(certificate.sensitivity) ** 2


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"epsilon": 0.0}, "epsilon = 0.0 is not allowed.*a number from 1e-12.*Nothing was drawn"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"lambda_": 0.0}, "lambda = 0.0 is not allowed"),
        ({"lambda_": float("nan")}, "lambda"),
        ({"calibration": "tighter"}, '"paper" or "tight"'),
        ({"loss": "hinge"}, '"logistic"'),
        ({"least_parties": 1}, "2 or more"),
    ],
)
def test_bad_terms_are_refused(change: dict[str, object], complaint: str) -> None:
    with pytest.raises(ParameterError, match=complaint):
        Terms(**{"epsilon": 1.0, **change})


@pytest.mark.parametrize("case", [c for c in CASES if c.method != "avg"], ids=str)
def test_a_plan_serves_only_the_tally_it_was_made_for(case: Case) -> None:
    """A plan for more parties, another method or another set promises less noise than this tally needs."""
    auxiliary, terms = case.auxiliary(), case.terms()
    tally = tally_linear(case.ensemble(), auxiliary)
    own, other = (soft, vote) if case.method == "soft" else (vote, soft)
    for plan, what in [
        (own.plan(auxiliary, 10**6, terms), "another number of parties"),
        (other.plan(auxiliary, M, terms), "another method"),
        (own.plan(case.auxiliary(seed=9), M, terms), "another auxiliary set"),
        (own.plan(case.auxiliary(private=True), M, terms), "another auxiliary set"),
    ]:
        with pytest.raises(ParameterError, match=what):
            own.statistic(tally, plan)


@every_case
def test_counts_of_any_integer_type_give_the_same_result(case: Case) -> None:
    """numpy integers would wrap around where Python's do not."""
    plans = [case.plan(case.auxiliary(), case.terms(), n) for n in (M, np.int64(M), np.uint8(M))]
    assert all(type(plan.certificate.parties) is int and plan.certificate == plans[0].certificate for plan in plans)
    with pytest.raises(ParameterError, match="whole number"):
        case.plan(case.auxiliary(), case.terms(), float(M))


@every_case
def test_nobodys_floating_point_traps_show_the_votes(case: Case) -> None:
    ensemble = case.ensemble() * 1e300
    with np.errstate(all="raise"):
        planned = case.plan(case.auxiliary(), case.terms(lambda_=1e-8))
        if case.method == "avg":
            avg.statistic(ensemble, planned)
        else:
            tally = Tally(case.auxiliary())
            tally.add_counts(np.eye(case.n_classes, dtype=int)[np.arange(N) % case.n_classes] * M, M)
            {"soft": soft, "vote": vote}[case.method].statistic(tally, planned)


def test_terms_are_doubles_whatever_is_given() -> None:
    terms = Terms(epsilon=np.float32(0.1), lambda_=np.float32(0.1))
    assert type(terms.epsilon) is float
    assert type(terms.lambda_) is float
    for given in ("1", None, [1.0], 10**400):
        with pytest.raises(ParameterError, match="epsilon"):
            Terms(epsilon=given)
