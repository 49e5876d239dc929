"""`refit`: another model of what was released, free of budget, by the poll that it came from."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.errors import ParameterError
from ostraka.ledger import Budget, Cost, Ledger
from ostraka.mechanism import Rehearsal
from ostraka.mechanism.mechanism import Mechanism
from ostraka.poll import Poll
from ostraka.publishing import publish
from ostraka.release import Rehearsed, Release
from ostraka.release.kernel_model import KernelModel
from ostraka.tally import Tally
from tests.laws.cases import Case, in_process, rehearsed

OURS = ("moments", "cells", "consensus", "refine")
every_method = pytest.mark.parametrize("method", OURS)
both = pytest.mark.parametrize("n_classes", [2, 3])


def released(method: str, n_classes: int = 3, **options: Any) -> tuple[Poll, Release]:
    case = Case(method, n_classes)
    poll = case.poll(**options)
    outcome = publish(poll, in_process(poll, case.world()))
    assert isinstance(outcome, Release)
    return poll, outcome


def loaded(release: Release) -> Release:
    return Release.from_bytes(release.to_bytes())


@both
@every_method
def test_without_a_wish_it_is_the_same_model(method: str, n_classes: int) -> None:
    _, release = released(method, n_classes)
    assert (release.refit().model.weights == release.model.weights).all()


@both
@every_method
def test_another_penalty_makes_another_model_of_the_same_release(
    method: str, n_classes: int
) -> None:
    _, release = released(method, n_classes)
    again = release.refit(penalty=3.0, student="linear")
    assert isinstance(again, Release)
    assert (again.model.weights != release.model.weights).any()
    assert again.certificate == release.certificate
    assert (again.statistic == release.statistic).all()
    assert again.model.task == release.model.task
    back = again.refit()
    assert (back.model.weights == release.model.weights).all()


@every_method
def test_the_student_can_be_left_out(method: str) -> None:
    _, release = released(method)
    with_one, without = (release.refit(student=student) for student in ("linear", "none"))
    assert (with_one.model.weights != without.model.weights).any()


@both
@every_method
def test_a_kernel_student_can_be_had_later_and_saved(method: str, n_classes: int) -> None:
    poll, release = released(method, n_classes)
    curved = loaded(release).refit(student="kernel", poll=poll)
    assert isinstance(curved.model, KernelModel)
    assert (curved.model.linear.weights == release.refit(student="auto").model.linear.weights).all()
    again = loaded(curved)
    assert again.to_bytes() == curved.to_bytes()
    features = poll.method.features  # type: ignore[attr-defined]
    assert (again.predict_proba(features) == curved.predict_proba(features)).all()
    assert again.certificate == release.certificate
    back = again.refit(student="none", poll=poll)
    assert back.to_bytes() == release.refit(student="none").to_bytes()


@every_method
def test_nothing_is_drawn_and_nothing_is_spent(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(method, 3)
    poll = case.poll()
    ledger = Ledger.create(tmp_path / "ledger.db", Budget(epsilon=1.0))
    if poll.method.start is not None:
        ledger.settle(ledger.charge(["somebody"], Cost.pure(0.5)), poll.method.start.digest)
    release = publish(poll, in_process(poll, case.world()), ledger=ledger)
    history, spent = ledger.history(), ledger.spent("0")
    monkeypatch.setattr(Mechanism, "draw", lambda *_: pytest.fail("noise was drawn"))
    for penalty in (0.1, 1.0, 10.0):
        release.refit(penalty=penalty)
    assert (ledger.history(), ledger.spent("0")) == (history, spent)


@every_method
def test_a_loaded_release_needs_its_poll(method: str, tmp_path: Path) -> None:
    poll, release = released(method)
    poll.save(tmp_path / "poll")
    found = loaded(release)
    with pytest.raises(ParameterError, match=r"poll is missing.*refit\(poll=Poll.load\(path\)\)"):
        found.refit(penalty=3.0)
    expected = release.refit(penalty=3.0).model.weights
    for each in (poll, Poll.load(tmp_path / "poll")):
        assert (found.refit(penalty=3.0, poll=each).model.weights == expected).all()


@every_method
def test_another_poll_is_refused(method: str) -> None:
    poll, release = released(method)
    for other in (Case(method, 3).poll(title="another"), Case(method, 3).poll(epsilon=2.0)):
        for each in (release, loaded(release)):
            with pytest.raises(
                ParameterError, match=f"the poll {poll.digest[:12]}... that it came from"
            ):
                each.refit(penalty=3.0, poll=other)


@pytest.mark.parametrize("method", ["soft", "vote", "avg"])
def test_what_was_released_as_a_model_stays_as_it_is(method: str) -> None:
    case = Case(method, 2, calibration="tight")
    poll = case.poll()
    release = publish(poll, in_process(poll, case.world()))
    assert release.statistic is None
    with pytest.raises(ParameterError, match=f"one by {method}.*a release of a statistic"):
        release.refit(penalty=3.0)
    with pytest.raises(ParameterError, match="a release of a statistic"):
        loaded(release).refit(poll=poll)  # type: ignore[arg-type]


@pytest.mark.parametrize("penalty", [0.0, -1.0, np.nan, np.inf, "1", 1e13])
def test_a_penalty_that_is_none_is_refused(penalty: Any) -> None:
    _, release = released("moments")
    with pytest.raises(ParameterError, match="penalty"):
        release.refit(penalty=penalty)


def test_it_can_be_saved_under_a_name_of_its_own(tmp_path: Path) -> None:
    poll, release = released("moments")
    for first in (release, loaded(release)):
        again = first.refit(penalty=3.0, poll=poll)
        again.save(tmp_path / "again")
        data = (tmp_path / "again").read_bytes()
        assert again.digest == hashlib.sha256(data).hexdigest() != first.digest
        back = Release.load(tmp_path / "again").refit(poll=poll)
        assert (back.model.weights == release.model.weights).all()


def test_a_rehearsal_stays_a_rehearsal() -> None:
    case = Case("cells", 3)
    poll = case.poll()
    outcome = rehearsed(poll, in_process(poll, case.world()))
    again = outcome.refit(student="linear")
    assert isinstance(again, Rehearsed)
    assert again.certificate.randomness == "seed"
    assert (again.model.weights != outcome.model.weights).any()


def test_persons_are_what_the_sum_is_divided_by() -> None:
    """The noise was for so many persons; the number of holders would make another model."""
    case = Case("moments", 3)
    poll = case.poll(protects="person", parties=None, persons=8)
    tally = Tally(poll)
    for holder, own in (("north", case.world()[:3]), ("south", case.world()[4:])):
        samples, labels = (np.concatenate(part) for part in zip(*own))
        names = np.repeat(np.arange(len(own)), [len(part) for _, part in own])
        tally.add(poll.contribute(samples, labels, holder, persons=names))
    assert (tally.n_parties, tally.n_units) == (2, 7)
    release = publish(poll, tally, Rehearsal(1))
    assert (release.refit().model.weights == release.model.weights).all()
    assert release.statistic is not None
    wrong = poll.model(release.statistic, poll.mechanism(2))
    assert (wrong.weights != release.model.weights).any()


def _rare(n: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Two overlapping classes, the second one rare."""
    labels = (rng.random(n) < 0.08).astype(int)
    return rng.normal(size=(n, 3)) + labels[:, np.newaxis] * np.array([1.5, 0.5, 0.0]), labels


@pytest.mark.parametrize("method", ["moments", "cells"])
def test_rare_classes_can_count_as_much_as_common_ones(method: str) -> None:
    """At no cost: from the same release, with the same certificate."""
    rng = np.random.default_rng(0)
    public, (test, truth) = _rare(500, rng)[0], _rare(4000, rng)
    poll = Poll.create(
        public, classes=[0, 1], method=method, epsilon=3.0, parties=400, samples_each=20
    )
    tally = Tally(poll)
    for party in range(400):
        tally.add(poll.contribute(*_rare(20, rng), party))
    plain = publish(poll, tally, Rehearsal(0))
    balanced = plain.refit(objective="balanced")
    found = {}
    for name, outcome in (("plain", plain), ("balanced", balanced)):
        chosen = outcome.predict(test)
        recalls = [float(np.mean(chosen[truth == k] == k)) for k in (0, 1)]
        found[name] = (float(np.mean(chosen == truth)), float(np.mean(recalls)))
    assert found["balanced"][1] > found["plain"][1] + 0.1, "more of the rare class are found"
    assert found["balanced"][0] < found["plain"][0]
    assert balanced.certificate == plain.certificate
    assert (balanced.refit(objective="accuracy").model.weights == plain.model.weights).all()
    asked = Poll.create(
        public,
        classes=[0, 1],
        method=method,
        epsilon=3.0,
        parties=400,
        samples_each=20,
        objective="balanced",
    )
    assert Poll.from_bytes(asked.to_bytes()).method.objective == "balanced"  # type: ignore[attr-defined]
    again = asked.model(plain.statistic, asked.mechanism(400))  # type: ignore[arg-type]
    assert (again.weights == balanced.model.weights).all()


def test_what_a_balanced_model_gets_right_is_told_by_fair_probabilities() -> None:
    rng = np.random.default_rng(1)
    poll = Poll.create(
        _rare(500, rng)[0],
        classes=[0, 1],
        method="moments",
        epsilon=10.0,
        parties=400,
        samples_each=20,
        objective="balanced",
    )
    tally = Tally(poll)
    for party in range(400):
        tally.add(poll.contribute(*_rare(20, rng), party))
    outcome = publish(poll, tally, Rehearsal(0))
    assert outcome.outlook.accuracy is not None
    assert outcome.outlook.accuracy == pytest.approx(outcome.score(*_rare(4000, rng)), abs=0.06)


@pytest.mark.parametrize("method", ["consensus", "refine"])
def test_methods_without_class_shares_cannot_weigh_classes(method: str) -> None:
    _, release = released(method)
    with pytest.raises(ParameterError, match=r"objective = 'balanced'.*class shares"):
        release.refit(objective="balanced")
    with pytest.raises(ParameterError, match=r"objective"):
        Case(method, 3).poll(objective="balanced")


def test_other_objectives_are_refused() -> None:
    _, release = released("cells")
    with pytest.raises(ParameterError, match=r"objective = 'auc'.*balanced"):
        release.refit(objective="auc")
    with pytest.raises(ParameterError, match="objective"):
        Case("moments", 2).poll(objective="best")
