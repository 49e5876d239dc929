"""What every method obeys on the way from poll to release, whatever carries it."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta

from ostraka import publishing
from ostraka.errors import (
    BudgetError,
    LedgerWarning,
    OtherPollError,
    ParameterError,
    RehearsalError,
    TooFewPartiesError,
    WrongTypeError,
)
from ostraka.ledger import Budget, Ledger, sqlite
from ostraka.mechanism import Entropy, Rehearsal
from ostraka.mechanism.laws import Exact, l2_law, verify
from ostraka.mechanism.mechanism import Mechanism
from ostraka.methods.base import Work
from ostraka.party.contribution import Contribution
from ostraka.poll import Poll, after_noise
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.catalogue import CATALOGUE
from ostraka.publishing import Stopped, publish, resume
from ostraka.release import Rehearsed, Release
from ostraka.release.certificate import Certificate
from ostraka.release.model import LinearModel
from ostraka.tally import Tally
from ostraka.tally.domain import Ball
from tests.laws.cases import (
    CASES,
    EXTENTS,
    OURS,
    PAPERS,
    PURE,
    Case,
    D,
    M,
    World,
    allowed,
    by_files,
    distance,
    in_process,
    rehearsed,
    replacements,
    stated,
    vector,
)
from tests.mechanism.worlds import unit_rows

every_case = pytest.mark.parametrize("case", CASES, ids=str)
pure_cases = pytest.mark.parametrize("case", PURE, ids=str)


def test_the_cases_are_all_methods_that_can_be_released() -> None:
    assert {case.method for case in CASES} == set(CATALOGUE) - {"auto"}


# ---- one path, several transports ----------------------------------------------------------------


@every_case
def test_whatever_carries_it_the_total_is_the_same_to_the_last_bit(case: Case) -> None:
    poll, world = case.poll(), case.world()
    here, there = in_process(poll, world), by_files(poll, world)
    assert (here.total == there.total).all()
    assert here.n_units == there.n_units == M
    assert vector(poll, here) == vector(there.poll, there)
    assert poll.certificate(M) == there.poll.certificate(M)


@every_case
def test_order_and_blocks_leave_no_trace(case: Case) -> None:
    poll, world = case.poll(), case.world()
    whole = in_process(poll, world).total
    contributions = [poll.contribute(*party, j) for j, party in enumerate(world)]
    backwards = Tally(poll)
    for each in reversed(contributions):
        backwards.add(each)
    assert (backwards.total == whole).all()
    halves = Tally(poll)
    for each in contributions[:3]:
        halves.add(each)
    samples, labels = (np.concatenate(part) for part in zip(*world[3:]))
    names = np.repeat(np.arange(3, M), [len(own) for _, own in world[3:]])
    for names_, block in poll.blocks(poll.group(samples, labels, names), Work()):
        halves.add_block(names_, block)
    halves.add(contributions[3])  # it has no rows
    assert (halves.total == whole).all()


@pytest.mark.parametrize(
    "case", [c for c in PURE if CATALOGUE[c.method].sends != "labels"], ids=str
)
def test_workers_do_not_matter(case: Case) -> None:
    sizes = tuple([2] * 300)
    poll = case.poll(parties=300)
    world = case.world(sizes=sizes)
    one, two = (in_process(poll, world, n_jobs=n).total for n in (1, 2))
    assert (one == two).all()


@pytest.mark.parametrize(
    "case",
    [c for c in PURE if c.n_classes == 3],
    ids=str,
)
def test_holders_who_add_up_their_persons_give_what_the_persons_would(case: Case) -> None:
    """The sum over holders is the sum over persons, and the mechanism is the same."""
    poll = case.poll(protects="person", parties=None, persons=M)
    world = case.world()
    of_parties = case.poll()
    whole = in_process(of_parties, world)
    tally = Tally(poll)
    for holder, people in (("north", range(3)), ("south", range(3, 4)), ("west", range(4, M))):
        own = [world[j] for j in people]
        samples, labels = (np.concatenate(part) for part in zip(*own))
        persons = np.repeat(list(people), [len(part) for _, part in own])
        sent = poll.contribute(samples, labels, holder, persons=persons)
        tally.add(Contribution.from_bytes(sent.to_bytes()))
    lacking = of_parties.contribute(*world[3], 3)  # the one without rows is no person of anybody
    zero = Tally(of_parties)
    zero.add(lacking)
    assert (tally.total + zero.total == whole.total).all()
    assert (tally.n_parties, tally.n_units) == (3, M - 1)
    promised = poll.certificate(3, M - 1)
    assert (promised.protects, promised.parties, promised.persons) == ("person", 3, M - 1)
    assert promised.sensitivity == of_parties.certificate(M - 1).sensitivity
    assert "one person's whole data" in str(promised)
    assert "trusted to have bounded" in str(promised)
    assert "two holders" in str(promised)


# ---- how far one party moves what gets the noise -------------------------------------------------


@pure_cases
def test_replacing_one_party_moves_the_vector_by_no_more_than_the_certificate_says(
    case: Case,
) -> None:
    """A replay of the whole way to the noise, in neighbouring worlds, with exact arithmetic."""
    poll, world = case.poll(), case.world()
    certificate = poll.certificate(M)
    here = vector(poll, in_process(poll, world))
    for party, replacement in itertools.product((0, 3, M - 1), replacements(case)):
        there = vector(poll, in_process(poll, [*world[:party], replacement, *world[party + 1 :]]))
        assert distance(here, there, certificate) <= allowed(certificate)


@pytest.mark.parametrize("case", [case for case in PURE if not case.ours], ids=str)
def test_a_party_against_all_comes_within_a_tenth_of_the_certificate(case: Case) -> None:
    """With samples all alike and λ large, the declared sensitivity is nearly reached.

    So half of it would be caught.
    """
    features = np.zeros((40, D))
    features[:, 0] = 1.0
    poll = case.poll(AuxiliarySet(features, tuple(range(case.n_classes))), lambda_=20.0, parties=7)
    certificate = poll.certificate(7)
    worst = Fraction(0)
    for party in range(7):
        totals = [_two_camps(case, poll, flipped) for flipped in (None, party)]
        vectors = [poll.method.statistic(total, poll.mechanism(7)) for total in totals]
        worst = max(worst, distance(*vectors, certificate))
    share = float(worst) ** 0.5 / certificate.sensitivity
    reached = {("soft", "paper", 2): 0.45, ("vote", "paper", 2): 0.45, ("avg", "paper", 3): 0.9}
    assert share <= 1.0
    assert share >= reached.get((case.method, str(case.calibration), case.n_classes), 0.9)


def _two_camps(case: Case, poll: Poll, flipped: int | None) -> Any:
    """Three parties say one thing, four the opposite; one of them may change its mind."""
    says = np.array([1, 1, 1, 0, 0, 0, 0])
    if flipped is not None:
        says[flipped] = 1 - says[flipped]
    if case.method != "avg":
        tally = Tally(poll)
        for party, said in enumerate(says):
            tally.add(poll.cast(lambda rows, said=said: np.full(len(rows), said), party))
        return tally.total
    weights = np.zeros((7, D) if case.n_classes == 2 else (7, D, case.n_classes))
    corner = 1e3 if case.n_classes == 2 else np.array([-1e3, 1e3, 0.0])
    for party, said in enumerate(says):
        weights[party, 0] = corner if said else -corner
    return poll.method.round_parameters(weights).sum(axis=0)


@pytest.mark.parametrize(
    "case", [c for c in PURE if CATALOGUE[c.method].sends == "labels"], ids=str
)
def test_what_other_parties_send_does_not_change_by_one_bit(case: Case) -> None:
    poll, world = case.poll(), case.world()
    alone = [poll.contribute(*party, j).values for j, party in enumerate(world)]
    for replacement in replacements(case):
        changed = [*world[:2], replacement, *world[3:]]
        samples, labels = (np.concatenate(part) for part in zip(*changed))
        names = np.repeat(np.arange(M), [len(own) for _, own in changed])
        for names_, block in poll.blocks(poll.group(samples, labels, names), Work()):
            for name, row in zip(names_, block):
                if name != "2":
                    assert (row == alone[int(name)]).all()


@pytest.mark.parametrize(
    "case", [c for c in PURE if CATALOGUE[c.method].sends == "labels"], ids=str
)
def test_a_sample_between_two_cells_stays_where_it_is_whoever_else_is_there(case: Case) -> None:
    """Ties are decided by last bits, which a matrix product in doubles would let others move."""
    rng = np.random.default_rng(8)
    half = unit_rows(rng, 30, D)
    auxiliary = AuxiliarySet(np.concatenate([half, -half]), tuple(range(case.n_classes)))
    poll = case.poll(auxiliary)
    middle = unit_rows(rng, 40, D) * 2.0**-40  # next to the origin, which lies between all cells
    labels = np.zeros(40, dtype=int)
    alone = [poll.contribute(middle[j : j + 1], labels[:1], j).values for j in range(40)]
    for n_others in (0, 1, 5, 200):
        samples = np.concatenate(
            [unit_rows(rng, n_others, D) if n_others else np.zeros((0, D)), middle]
        )
        names = [*["extra"] * n_others, *range(40)]
        grouped = poll.group(samples, np.zeros(n_others + 40, dtype=int), names)
        for names_, block in poll.blocks(grouped, Work()):
            for name, row in zip(names_, block):
                assert name == "extra" or (row == alone[int(name)]).all()


@every_case
def test_who_has_no_rows_counts(case: Case) -> None:
    poll = case.poll(parties=None, roll=["a", "b", "c"])
    world = case.world(sizes=(3, 4))
    samples, labels = (np.concatenate(part) for part in zip(*world))
    grouped = poll.group(samples, labels, ["A"] * 3 + ["c "] * 4)
    tally = Tally(poll)
    for block in poll.blocks(grouped, Work()):
        tally.add_block(*block)
    assert tally.n_units == 3
    assert tally.missing == []
    by_hand = Tally(poll)
    for name, party in zip("abc", (world[0], (np.zeros((0, D)), []), world[1])):
        by_hand.add(poll.contribute(*party, name))
    assert (by_hand.total == tally.total).all()
    if isinstance(poll.domain, Ball):
        assert not poll.contribute(np.zeros((0, D)), [], "b").values.any()


# ---- the promise ---------------------------------------------------------------------------------


@every_case
def test_the_certificate_is_known_before_the_data(case: Case) -> None:
    poll = case.poll()
    promised = poll.certificate(M)
    for seed in (1, 2):
        made = publish(poll, in_process(poll, case.world(seed)))
        assert stated(made, case).certificate == promised
    assert promised.protects == "party"
    assert promised.round_delta == (0.0 if case.method == "cells" else case.delta)
    assert promised.poll == poll.digest


@every_case
def test_the_noise_is_enough_for_the_promise(case: Case) -> None:
    for epsilon in (1e-3, 0.1, 1.0, 30.0):
        promised = case.poll(epsilon=epsilon).certificate(M)
        assert promised.round_epsilon <= epsilon
        assert verify(promised) <= case.delta


@every_case
def test_a_wrong_number_of_parties_changes_the_divisor_only(case: Case) -> None:
    """Fewer came than were expected: the noise hides one of those who came."""
    poll = case.poll(parties=50)
    world = case.world()
    tally = in_process(poll, world)
    promised = stated(publish(poll, tally), case).certificate
    assert promised.parties == M
    assert promised.sensitivity == poll.mechanism(M).sensitivity
    if isinstance(poll.domain, Ball):
        assert promised.sensitivity == poll.mechanism(50).sensitivity


@every_case
def test_less_privacy_means_less_noise_and_none_at_all_in_the_limit(case: Case) -> None:
    scales = [case.poll(epsilon=e).mechanism(M).noise_scale for e in (0.1, 1.0, 10.0)]
    assert scales[0] > scales[1] > scales[2]
    poll = case.poll(epsilon=1e15)
    mechanism, exact = poll.mechanism(M), vector(poll, in_process(poll, case.world()))
    noisy = mechanism.draw(exact, Entropy())
    assert (
        max(abs(a - b) for a, b in zip(noisy, exact)) * mechanism.grid
        <= 1e-6 * mechanism.sensitivity
    )


@pytest.mark.parametrize("case", [case for case in PAPERS if case.calibration == "tight"], ids=str)
def test_tight_is_never_noisier_than_paper(case: Case) -> None:
    for lambda_ in (1e-6, 1e-4, 1e-2, 1.0, 10.0):
        tight, paper = (
            case.poll(lambda_=lambda_, calibration=c).mechanism(M) for c in ("tight", "paper")
        )
        assert tight.sensitivity <= paper.sensitivity
        assert tight.dimension <= paper.dimension


@every_case
def test_models_learn_what_is_plain_to_see(case: Case) -> None:
    """No promise of accuracy: only that the pieces fit together.

    The class is the largest of the first features, with next to no noise.
    """
    rng = np.random.default_rng(9)
    auxiliary = case.auxiliary()
    features = (unit_rows(rng, 20, D) * EXTENTS for _ in range(150))
    world = [(own, own[:, : case.n_classes].argmax(axis=1)) for own in features]
    each = {"samples_each": 20} if "samples_each" in CATALOGUE[case.method].options else {}
    poll = case.poll(epsilon=1e6, parties=150, **each)
    truth = auxiliary.features[:, : case.n_classes].argmax(axis=1)
    assert (
        rehearsed(poll, in_process(poll, world)).score(auxiliary.samples, truth)
        > 1.5 / case.n_classes
    )


# ---- the one door --------------------------------------------------------------------------------


@every_case
def test_a_release_is_drawn_from_the_operating_system_and_a_rehearsal_from_its_seed(
    case: Case,
) -> None:
    poll = case.poll()
    tally = in_process(poll, case.world())
    assert isinstance(publish(poll, tally), Release)
    mechanism, exact = poll.mechanism(M), vector(poll, tally)
    # Each is at least 2^20 units: equal with a probability below 1e-5.
    assert mechanism.draw(exact, Entropy()) != mechanism.draw(exact, Entropy())
    first, second = (rehearsed(poll, tally, 3) for _ in range(2))
    assert (first.model.weights == second.model.weights).all()
    for one, other in zip(first.evaluations, second.evaluations, strict=True):
        assert (one.statistic == other.statistic).all()
    with pytest.raises(RehearsalError):
        first.save("nowhere")


class Watched:
    """Records what happens, and in which order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, law: type) -> None:
        self.happened: list[str] = []
        self._note(monkeypatch, law, "publish", "drawn")
        self._note(monkeypatch, sqlite._SqliteRows, "add_charge", "charged")
        self._note(monkeypatch, sqlite._SqliteRows, "add_draw", "kept")
        self._note(monkeypatch, sqlite, "_commit", "committed")
        self._note(monkeypatch, publishing, "_outcome", "made")

    def _note(self, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, what: str) -> None:
        real = getattr(place, name)

        def noting(*args: Any, **options: Any) -> Any:
            done = real(*args, **options)
            self.happened.append(what)
            return done

        monkeypatch.setattr(place, name, noting)

    @property
    def since_the_charge(self) -> list[str]:
        """What happened from the charge on, until the release is made."""
        if not {"charged", "drawn"} & set(self.happened):
            return []
        first = min(self.happened.index(what) for what in {"charged", "drawn"} & {*self.happened})
        return self.happened[first : self.happened.index("made", first) + 1]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "ledger.db", Budget(epsilon=1.5))


def paid_for(case: Case, ledger: Ledger) -> Poll:
    """A poll whose start, if it has one, the ledger knows."""
    poll = case.poll()
    if poll.method.start is not None:
        ledger.charge(["somebody"], _bare_cost())
        ledger.settle(1, poll.method.start.digest)
    return poll


def _bare_cost() -> Any:
    from ostraka.ledger import Cost

    return Cost.pure(0.5)


@pure_cases
def test_charging_comes_before_drawing_and_a_refused_charge_draws_nothing(
    case: Case, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll = paid_for(case, ledger)
    tally = in_process(poll, case.world())
    seen = Watched(monkeypatch, type(poll.mechanism(M).law))
    release = publish(poll, tally, ledger=ledger)
    # What was drawn is used when the charge is durable, and no earlier.
    assert seen.since_the_charge == ["charged", "drawn", "kept", "committed", "made"]
    assert ledger.history()[-1].digest == stated(release, case).digest
    assert ledger.history()[-1].certificate == stated(release, case).certificate.digest
    before, seen.happened = ledger.history(), []
    with pytest.raises(BudgetError, match="Nothing was drawn and nothing was spent"):
        publish(poll, tally, ledger=ledger)
    assert seen.since_the_charge == []
    assert ledger.history() == before
    publish(poll, tally, Rehearsal(0), ledger=ledger)
    assert seen.since_the_charge == ["drawn", "made"]
    assert ledger.history() == before


@pure_cases
def test_what_fails_fails_before_anybody_is_charged_and_before_noise_is_drawn(
    case: Case, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll = paid_for(case, ledger)
    tally = in_process(poll, case.world())
    law, before = type(poll.mechanism(M).law), ledger.history()
    seen = Watched(monkeypatch, law)
    for source in (object(), np.random.default_rng(0), 3, Entropy):
        with pytest.raises(
            ParameterError, match=r"source.*Nothing was drawn and nothing was spent"
        ):
            publish(poll, tally, source, ledger=ledger)  # type: ignore[arg-type]
    with pytest.raises(WrongTypeError, match="The tally"):
        publish(poll, [0], ledger=ledger)  # type: ignore[arg-type]
    with pytest.raises(WrongTypeError, match="The poll"):
        publish(None, tally, ledger=ledger)  # type: ignore[arg-type]
    with pytest.raises(TooFewPartiesError, match="Nothing was drawn"):
        publish(poll, in_process(poll, case.world()[:1]), ledger=ledger)
    other = case.poll(epsilon=0.5)
    with pytest.raises(ParameterError, match=r"tally.*Nothing was drawn"):
        publish(other, tally, ledger=ledger)
    for name in {"weights", "fit"} & set(dir(type(poll.method))):
        monkeypatch.setattr(type(poll.method), name, _out_of_memory)
    monkeypatch.setattr("ostraka.publishing._evaluate", _out_of_memory)
    with pytest.raises(MemoryError):
        publish(poll, tally, ledger=ledger)
    assert seen.since_the_charge == []
    assert ledger.history() == before


def _out_of_memory(*_: Any) -> Any:
    raise MemoryError


@pure_cases
def test_a_crash_in_the_draw_costs_nothing(
    case: Case, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    poll = paid_for(case, ledger)
    tally, before = in_process(poll, case.world()), ledger.history()
    law = type(poll.mechanism(M).law)
    draw = law.publish

    def crash(*given: Any) -> Any:
        draw(*given)  # drawn, and seen by nobody
        raise KeyboardInterrupt

    monkeypatch.setattr(law, "publish", crash)
    with pytest.raises(KeyboardInterrupt):
        publish(poll, tally, ledger=ledger)
    assert ledger.history() == before


@pure_cases
def test_a_crash_after_the_charge_is_resumed_with_what_was_drawn(
    case: Case, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Mutants that draw or charge again are caught: both would fail here."""
    poll = paid_for(case, ledger)
    tally = in_process(poll, case.world())
    with monkeypatch.context() as patched:
        outcome = publishing._outcome

        def crash(*given: Any, **options: Any) -> Any:
            if ledger.open_charges():
                raise SystemExit
            return outcome(*given, **options)

        patched.setattr(publishing, "_outcome", crash)
        with pytest.raises(SystemExit):
            publish(poll, tally, ledger=ledger)
    (charge,) = ledger.open_charges()
    assert float(ledger.spent("0").to_dict()["epsilon"]) == 1.0
    with monkeypatch.context() as patched:
        for place, name in ((type(poll.mechanism(M).law), "publish"), (Ledger, "charge")):
            patched.setattr(place, name, _out_of_memory)
        release = resume(poll, tally, ledger)
    assert release is not None
    mechanism, noisy = poll.mechanism(M), ledger.drawn(charge)
    assert noisy is not None
    if case.method == "evaluation":
        assert (release.evaluations[-1].statistic == mechanism.mean(noisy)).all()
    else:
        again, _ = poll.conclude(mechanism.mean(noisy), mechanism)
        assert (release.model.linear.weights == again.linear.weights).all()
    assert ledger.open_charges() == []
    assert ledger.history()[-1].digest == stated(release, case).digest
    assert stated(release, case).certificate == poll.certificate(M, M)
    assert resume(poll, tally, ledger) is None, "there is nothing left to resume"
    assert ledger.audit() == len(ledger.history())


def test_two_at_once_resume_to_one_release(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    case = Case("cells", 3)
    poll = case.poll()
    tally = in_process(poll, case.world())
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "_settle", lambda *_: None)
        first = publish(poll, tally, ledger=ledger)
    with monkeypatch.context() as patched:
        settle, releases = publishing._settle, []

        def late(*given: Any) -> None:
            if not releases:
                releases.append(None)
                releases[0] = resume(poll, tally, ledger)
            settle(*given)

        patched.setattr(publishing, "_settle", late)
        second = resume(poll, tally, ledger)
    assert isinstance(second, Release)
    assert isinstance(releases[0], Release)
    assert first.digest == second.digest == releases[0].digest
    assert len(recwarn) == 0
    assert len(ledger.history()) == 1


POINTS = [
    ("ostraka.ledger.sqlite._SqliteRows", "add_charge", 0),
    ("ostraka.ledger.sqlite._SqliteRows", "add_draw", 0),
    ("ostraka.ledger.sqlite._SqliteRows", "add_draw", 1),
    ("ostraka.ledger.book.Ledger", "charge", 1),
    ("ostraka.publishing", "_settle", 0),
    ("ostraka.publishing", "_settle", 1),
]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("place", "name", "after"), POINTS)
def test_a_process_that_dies_leaves_no_charge_or_one_release(
    place: str, name: str, after: int, ledger: Ledger
) -> None:
    """kill -9 before and after every step that writes."""
    case = Case("moments", 3)
    poll = case.poll()
    tally = in_process(poll, case.world())
    killed = multiprocessing.get_context("fork").Process(
        target=_publish_and_die, args=(poll, tally, str(ledger.path), place, name, after)
    )
    killed.start()
    killed.join()
    assert killed.exitcode == -signal.SIGKILL
    n_charged = len(ledger.history())
    assert n_charged == (0 if name.startswith("add_") else 1)
    release = resume(poll, tally, ledger)
    if n_charged and not (name == "_settle" and after):
        assert release is not None
        assert ledger.history()[0].digest == release.digest
    else:
        assert release is None
    assert len(ledger.history()) == n_charged
    assert ledger.audit() == n_charged


def _publish_and_die(
    poll: Poll, tally: Tally, path: str, place: str, name: str, after: int
) -> None:
    from pydoc import locate

    where: Any = locate(place)
    real = getattr(where, name)

    def die(*given: Any, **options: Any) -> Any:
        if after:
            real(*given, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(where, name, die)
    publish(poll, tally, ledger=path)


@pytest.mark.parametrize("method", ["moments", "cells", "refine"])
def test_too_little_memory_after_the_charge_leaves_what_was_released(
    method: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model is of zeros; with more memory another one is made of the same numbers."""
    case = Case(method, 3)
    poll = paid_for(case, ledger)
    tally, charged = in_process(poll, case.world()), len(ledger.history())
    with monkeypatch.context() as patched:
        fit = type(poll.method).fit  # type: ignore[attr-defined]

        def out_of_memory(*given: Any) -> Any:
            return _out_of_memory() if len(ledger.history()) > charged else fit(*given)

        patched.setattr(type(poll.method), "fit", out_of_memory)
        release = publish(poll, tally, ledger=ledger)
    assert isinstance(release, Release)
    assert not release.model.linear.weights.any()
    assert release.outlook.accuracy is None
    assert ledger.open_charges() == []
    assert release.refit(poll=poll).model.linear.weights.any()


@pytest.mark.parametrize("branch", ["overlapping", "apart"])
def test_both_ways_to_fit_are_tried_before_the_charge(
    branch: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mutant tries only zeros, of which classes always overlap."""
    case = Case("moments", 3)
    poll = case.poll()
    used = "add_bias" if branch == "overlapping" else "teach"
    monkeypatch.setattr(f"ostraka.methods.moments.{used}", _out_of_memory)
    with pytest.raises(MemoryError):
        publish(poll, in_process(poll, case.world()), ledger=ledger)
    assert ledger.history() == []


@pytest.mark.parametrize("error", [FileNotFoundError, IsADirectoryError, KeyboardInterrupt])
def test_a_ledger_that_disappears_meanwhile_does_not_take_the_release_along(
    error: type[BaseException], ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case("cells", 2)
    poll = case.poll()

    def gone(*_: Any) -> Any:
        raise error("ledger.db")

    monkeypatch.setattr(Ledger, "settle", gone)
    tally = in_process(poll, case.world())
    if error is KeyboardInterrupt:
        with pytest.raises(Stopped) as stopped:
            publish(poll, tally, ledger=ledger)
        assert isinstance(stopped.value.release, Release)
    else:
        with pytest.warns(LedgerWarning, match="was made and charged, but not recorded"):
            assert isinstance(publish(poll, tally, ledger=ledger), Release)
    assert len(ledger.open_charges()) == 1


@pytest.mark.parametrize("objective", ["accuracy", "balanced"])
@pytest.mark.parametrize("after", [False, True], ids=["in the dry run", "after the charge"])
def test_an_interrupted_student_costs_nobody_anything(
    after: bool, objective: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the charge nothing happens. After it the teacher is released, once, and whoever runs
    a loop is stopped.
    """
    case = Case("cells", 3)
    poll = case.poll(student="kernel", objective=objective)
    tally = in_process(poll, case.world())

    def interrupt(*_: Any) -> Any:
        if bool(ledger.history()) is after:
            raise KeyboardInterrupt

    monkeypatch.setattr(after_noise, "take_student", interrupt)
    with pytest.raises(KeyboardInterrupt) as stopped:
        publish(poll, tally, ledger=ledger)
    assert isinstance(stopped.value, Stopped) is after
    assert len(ledger.history()) == after
    if after:
        release = stopped.value.release
        assert isinstance(release.model, LinearModel)
        assert ledger.open_charges() == []
        assert [entry.digest for entry in ledger.history()] == [release.digest]


@pure_cases
def test_what_comes_out_can_be_kept_and_made_anew(case: Case, tmp_path: Path) -> None:
    poll = case.poll()
    release = publish(poll, in_process(poll, case.world()))
    assert isinstance(release, Release)
    release.save(tmp_path / "model.ostraka")
    loaded = Release.load(tmp_path / "model.ostraka")
    assert loaded.certificate == release.certificate
    assert Certificate.from_json(release.certificate.to_json()) == release.certificate
    samples = case.auxiliary().samples
    assert (loaded.predict(samples) == release.predict(samples)).all()
    assert loaded.to_bytes() == release.to_bytes()
    if not case.learns:
        assert stated(loaded, case).digest == stated(release, case).digest
        return
    if not case.ours:
        with pytest.raises(ParameterError, match="a release of a statistic"):
            loaded.refit(penalty=0.1, poll=poll)
        return
    assert (loaded.refit(poll=poll).model.weights == release.model.weights).all() or case.shift
    again = loaded.refit(penalty=3.0, student="linear", poll=poll)
    assert again.certificate == release.certificate
    assert (again.model.weights != release.model.weights).any()
    with pytest.raises(ParameterError, match=r"poll.*refit\(poll="):
        loaded.refit(penalty=3.0)
    with pytest.raises(ParameterError, match="that it came from"):
        loaded.refit(poll=case.poll(epsilon=3.0))


# ---- nothing fails once noise was drawn ----------------------------------------------------------

POLLS = {case: case.poll(epsilon=epsilon) for epsilon in (0.01, 1e6) for case in PURE}
huge = st.sampled_from(
    [0, 1, -1, 2**62, -(2**62), 2**200, -(2**200), 2**1100, -(2**1100)]
) | st.integers(-(2**80), 2**80)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(list(POLLS)), st.lists(huge, min_size=1, max_size=8))
def test_whatever_the_noise_does_there_is_a_model(case: Case, pattern: list[int]) -> None:
    poll = POLLS[case]
    mechanism = poll.mechanism(M)
    noisy = [pattern[i % len(pattern)] for i in range(mechanism.dimension)]
    with np.errstate(all="raise"):
        mean = mechanism.mean(noisy)
        model, shift = poll.model(mean, mechanism), poll.surprise(mean, mechanism)
    assert np.isfinite(model.weights).all()
    assert shift is None or np.isfinite(shift)


def test_an_overflowing_mean_is_caught() -> None:
    """Without the largest mean a double is too small for some sums."""
    with pytest.raises(OverflowError):
        float(Fraction(2**1100))


@pure_cases
def test_nobodys_floating_point_traps_show_the_data(case: Case) -> None:
    poll = case.poll()
    worlds: list[World] = [
        case.world(),
        *([each, *case.world()[1:]] for each in replacements(case)),
    ]
    with np.errstate(all="raise"):
        tallies = [in_process(poll, world) for world in worlds]
        for tally in tallies:
            vector(poll, tally)
        publish(poll, tallies[0])


# ---- refusals ------------------------------------------------------------------------------------


@every_case
def test_one_party_alone_is_refused(case: Case) -> None:
    with pytest.raises(
        TooFewPartiesError,
        match=r"A poll for 1 party has too few: at least 2 are needed",
    ):
        case.poll(parties=1)
    poll = case.poll(parties=60, least_parties=50)
    with pytest.raises(TooFewPartiesError, match="at least 50"):
        publish(poll, in_process(poll, case.world()))


@pure_cases
def test_who_is_not_asked_who_comes_twice_and_what_belongs_elsewhere_is_refused_by_name(
    case: Case,
) -> None:
    poll = case.poll(parties=None, roll=["ward-1", "ward-2", "ward-3"])
    world = case.world(sizes=(3, 3, 3))
    own = [poll.contribute(*party, f"Ward-{j + 1}") for j, party in enumerate(world)]
    tally = Tally(poll)
    tally.add(own[0])
    before = tally.total
    with pytest.raises(ValueError, match=r"Party ward-1 was counted already"):
        tally.add(own[0])
    with pytest.raises(ValueError, match=r"Party ward-9 is not on the roll"):
        tally.add(poll.contribute(*world[0], "ward-9"))
    with pytest.raises(OtherPollError, match=r"Party ward-2 contributed to the poll"):
        tally.add(case.poll(title="another").contribute(*world[1], "ward-2"))
    assert (tally.total == before).all()
    assert tally.missing == ["ward-2", "ward-3"]
    tally.add(own[1])
    assert tally.names == ["ward-1", "ward-2"]


@pytest.mark.parametrize("case", [case for case in OURS if case.delta == 0.0], ids=str)
def test_sets_without_a_public_geometry_are_refused(case: Case) -> None:
    from scipy.sparse import csr_matrix

    from ostraka.public.preprocessing import Preprocessing

    features = case.auxiliary().features
    private = AuxiliarySet(
        features, tuple(range(case.n_classes)), preprocessing=Preprocessing(), private=True
    )
    start = (
        {"start": case.options(case.auxiliary()).get("start")} if case.method == "refine" else {}
    )
    with pytest.raises(ParameterError, match=r"a private set.*a public one"):
        Poll.create(private, method=case.method, epsilon=1.0, parties=M, **start)
    sparse = AuxiliarySet(csr_matrix(features), tuple(range(case.n_classes)))
    with pytest.raises(ParameterError, match=r"sparse features.*half_whiten"):
        Poll.create(sparse, method=case.method, epsilon=1.0, parties=M, **start)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"epsilon": 0.0}, "epsilon = 0.0 is not allowed.*a number above 0; 0.1 to 2 is usual"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": float("nan")}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": 10**400}, "epsilon"),
        ({"delta": 1.0}, "delta = 1.0 is not allowed.*up to 0.1"),
        ({"delta": -1e-9}, "delta"),
        ({"delta": float("nan")}, "delta"),
        ({"samples_each": 0}, "samples_each"),
        ({"samples_each": 2.5}, "samples_each"),
        ({"samples_each": 10**400}, "samples_each"),
        ({"least_parties": 1}, "2 or more"),
        ({"noise": "cauchy"}, "auto, l2, gaussian"),
        ({"protects": "nobody"}, "party, person, row"),
        ({"parties": 2.5}, "whole number"),
        ({"parties": -3}, "parties"),
        ({"parties": None}, "how many parties are expected"),
        ({"parties": None, "persons": 5}, "this poll protects one party"),
        ({"protects": "person"}, "about how many persons there are"),
        ({"roll": ["a", "A "]}, "Party a is named more than once"),
        ({"roll": []}, "No party is named"),
        ({"title": "a\nb"}, "printable text"),
        ({"lambda_": 0.1}, "lambda.*not for method 'moments'.*soft"),
        ({"local": 3}, "local"),
        ({"penalty": 0.0}, "penalty"),
    ],
)
def test_bad_polls_are_refused(change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Case("moments", 2).poll(**change)


def test_gaussian_noise_needs_a_delta_and_cells_have_their_own() -> None:
    for method in ("moments", "consensus"):
        with pytest.raises(ParameterError, match=r"delta = 0.0.*above 0 for Gaussian noise"):
            Case(method, 2).poll(noise="gaussian")
    with pytest.raises(ParameterError, match=r"noise = 'gaussian'.*discrete Laplace"):
        Case("cells", 3, 1e-6).poll(noise="gaussian")
    for noise in ("gaussian", "l2"):
        poll = Poll.create(
            Case("moments", 3).auxiliary(),
            method="auto",
            epsilon=1.0,
            delta=1e-6,
            noise=noise,
            parties=M,
        )
        assert poll.certificate(M).noise == noise


# ---- by counting ---------------------------------------------------------------------------------

N_RELEASES = 1500
FAILURE = 1e-7
"""How likely each end of a comparison is to mislead.

A correct mechanism fails with a probability below 2e-7.
"""


def opposite_worlds(method: str) -> tuple[Poll, Exact, Exact]:
    """One sample, two parties; in the second world the first party says the opposite.

    D is 1, or 2 with class shares.
    """
    auxiliary = AuxiliarySet(np.array([[0.8]]), ("no", "yes"))
    case = Case(method, 2)
    options = {"start": case.options(auxiliary)["start"]} if method == "refine" else {}
    poll = Poll.create(auxiliary, method=method, epsilon=1.0, parties=2, **options)
    samples = np.repeat([[0.8]], 3, axis=0)
    vectors = []
    for says in ("yes", "no"):
        tally = Tally(poll)
        if method == "consensus":
            for party, said in enumerate((says, "no")):
                tally.add(poll.cast(lambda rows, said=said: np.full(len(rows), said), party))
        else:
            tally.add(poll.contribute(samples, [says] * 3, 0))
            tally.add(poll.contribute(np.zeros((0, 1)), [], 1))
        vectors.append(vector(poll, tally))
    return poll, vectors[0], vectors[1]


def loss_at_least(poll: Poll, mechanism: Mechanism, here: Exact, there: Exact) -> float:
    """A ratio of probabilities of one outcome, "yes" for the sample, that is surely exceeded.

    That is, except for the stated failure.
    """
    # The vectors lie on both sides of `centre`, which is taken
    # away so that they are told apart best.
    centre = [(a + b) // 2 for a, b in zip(here, there)]
    found = []
    for total in (here, there):
        shifted = [a - c for a, c in zip(total, centre)]
        means = (mechanism.mean(mechanism.draw(shifted, Entropy())) for _ in range(N_RELEASES))
        found.append(
            sum(poll.model(mean, mechanism).predict([[0.8]])[0] == "yes" for mean in means)
        )
    least = beta.ppf(FAILURE, found[0], N_RELEASES - found[0] + 1)
    most = beta.ppf(1.0 - FAILURE, found[1] + 1, N_RELEASES - found[1])
    return float(least / most)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["moments", "cells", "consensus", "refine"])
def test_releases_of_neighbouring_worlds_are_as_hard_to_tell_apart_as_promised(method: str) -> None:
    poll, here, there = opposite_worlds(method)
    certificate, mechanism = poll.certificate(2), poll.mechanism(2)
    assert mechanism.dimension == (3 if method == "moments" else 1)
    # In `moments` both parties are shortened by as much, so one of three numbers is the same.
    reached = 0.95 if method == "moments" else 0.99
    assert distance(here, there, certificate) >= allowed(certificate, reached)
    assert loss_at_least(poll, mechanism, here, there) <= np.exp(certificate.round_epsilon)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["moments", "cells", "consensus", "refine"])
def test_half_the_noise_is_caught(method: str) -> None:
    """A sixth in three dimensions, where this one outcome tells less."""
    from dataclasses import replace

    poll, here, there = opposite_worlds(method)
    mechanism = poll.mechanism(2)
    dimension = mechanism.dimension
    law = type(mechanism.law)(scale=mechanism.law.scale / (2.0 * dimension), dimension=dimension)
    assert loss_at_least(poll, replace(mechanism, law=law), here, there) > np.exp(
        poll.promise.epsilon
    )


@pytest.mark.slow
def test_two_coordinates_hide_a_party_too_and_half_the_noise_does_not() -> None:
    """D = 2, the law alone, for one outcome; 2·6000 draws, failure as above.

    The outcome is "beyond the first world's sum, in the direction of the move".
    """

    def ratio(scale: float) -> float:
        law = l2_law(1.0, 0.0, scale * 2.0**10, 2)
        found = [
            sum(law.publish([start, 0], Entropy())[0] >= 0 for _ in range(6000))
            for start in (0, -(2**10))
        ]
        return float(
            beta.ppf(FAILURE, found[0], 6001 - found[0])
            / beta.ppf(1.0 - FAILURE, found[1] + 1, 6000 - found[1])
        )

    assert ratio(1.0) <= np.e
    assert ratio(0.5) > np.e


# ---- mutants: laws that cannot fail would be worth nothing ---------------------------------------


def test_a_domain_that_is_not_checked_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    poll = Case("moments", 2).poll()
    far = np.full((1, poll.domain.dimension), 2**30)
    with pytest.raises(ValueError, match="outside the l2 ball"):
        Tally(poll).add_block(["a"], far)
    monkeypatch.setattr(Ball, "outside", lambda *_: np.array([], dtype=int))
    tally = Tally(poll)
    tally.add_block(["a"], far)
    certificate = poll.certificate(M)
    moved = distance([int(unit) for unit in tally.total], [0] * poll.domain.dimension, certificate)
    assert moved > allowed(certificate)


def test_names_that_are_not_canonical_would_count_a_party_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    poll = Case("cells", 2).poll()
    party = Case("cells", 2).world(sizes=(3,))[0]
    tally = Tally(poll)
    tally.add_block(["3"], poll.contribute(*party, 3).values[None])
    with pytest.raises(ValueError, match="was counted already"):
        tally.add_block(["3.0"], poll.contribute(*party, 3).values[None])
    monkeypatch.setattr("ostraka.tally.tally.canonical", str)
    tally.add_block(["3.0"], poll.contribute(*party, 3).values[None])
    assert tally.n_units == 2


def test_a_second_round_from_a_rehearsal_stays_a_rehearsal() -> None:
    case = Case("refine", 3)
    first = Case("cells", 3).poll()
    start = publish(first, in_process(first, case.world()), Rehearsal(0))
    assert isinstance(start, Rehearsed)
    poll = Poll.create(case.auxiliary(), method="refine", epsilon=1.0, parties=M, start=start)
    tally = in_process(poll, case.world())
    with pytest.raises(RehearsalError):
        publish(poll, tally)
    assert isinstance(publish(poll, tally, Rehearsal(1)), Rehearsed)


def test_a_second_round_protects_whom_the_first_one_did() -> None:
    case = Case("refine", 3)
    first = Case("cells", 3).poll(protects="person", parties=None, persons=M)
    start = Release(model=rehearsed_model(first), certificate=first.certificate(2, M))
    with pytest.raises(
        ParameterError, match=r"a release that protects one person.*one that protects one party"
    ):
        Poll.create(case.auxiliary(), method="refine", epsilon=1.0, parties=M, start=start)


def rehearsed_model(poll: Poll) -> Any:
    mechanism = poll.mechanism(M)
    return poll.model(np.zeros(mechanism.dimension), mechanism)


Transport = Callable[[Poll, World], Tally]
