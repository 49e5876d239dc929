"""Evaluating a release: what parties send, what comes out, and what nobody can make it do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ostraka import Contribution, Poll, PrivateClassifier, Release, Tally, publish
from ostraka.errors import (
    BudgetError,
    FormatError,
    ParameterError,
    RehearsalError,
    WrongTypeError,
)
from ostraka.ledger import Budget, Ledger
from ostraka.mechanism import Entropy, Rehearsal
from ostraka.methods.base import Work
from ostraka.methods.evaluation import UNITS, Judging
from ostraka.methods.shares import round_shares
from ostraka.party.rows import number_of
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.task import Task
from ostraka.publishing import _evaluate
from ostraka.release import Rehearsed
from ostraka.release.evaluation import MOST_EVALUATIONS
from ostraka.release.kernel_model import KernelModel
from ostraka.release.model import LinearModel
from ostraka.tally.domain import Ball
from ostraka.tensors import read_tensors, write_tensors
from tests.laws.cases import Case, D, M, distance, in_process, rehearsed, replacements, vector
from tests.mechanism.worlds import unit_rows

N_DRAWS = 400


def released(n_classes: int, keep_back: int | None = None) -> Release:
    """The release that `Case("evaluation", ...)` evaluates."""
    judged = Case("evaluation", n_classes, keep_back=keep_back).poll().judged
    assert isinstance(judged, Release)
    return judged


def evaluated(case: Case) -> Release:
    poll = case.poll()
    outcome = publish(poll, in_process(poll, case.world()))
    assert isinstance(outcome, Release)
    return outcome


# ---- what a party sends --------------------------------------------------------------------------


@pytest.mark.parametrize("keep_back", [None, 3])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_party_sends_shares_by_true_and_predicted_class(
    n_classes: int, keep_back: int | None
) -> None:
    case = Case("evaluation", n_classes, keep_back=keep_back)
    poll, K = case.poll(), n_classes
    assert poll.judged is not None
    for name, (samples, labels) in enumerate(case.world()):
        places = np.arange(len(labels)) + number_of(str(name))
        used = places % (keep_back or 1) == 0
        given = poll.judged.predict(samples[used]) if used.any() else labels[used]
        table = np.zeros((K, K))
        np.add.at(table, (labels[used], given), 1.0 / max(used.sum(), 1))
        found = poll.contribute(samples, labels, name).values / UNITS
        cells = found if K == 2 else 2.0 * found[2:]
        assert np.abs(cells.reshape(K, K) - table).max() < 4e-6
        if K > 2:
            right = np.trace(table)
            assert np.abs(2.0 * found[:2] - [right, table.sum() - right]).max() < 4e-6
        if not used.any():
            assert not found.any()


def test_choices_are_the_models_own() -> None:
    rng = np.random.default_rng(0)
    for K in (2, 3):
        release, samples = released(K), unit_rows(rng, 500, D)
        method = Case("evaluation", K).poll().method
        assert isinstance(method, Judging)
        features = release.model.task.features(samples)
        assert (method.choices(features) == release.model.choices(samples)).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_kernel_model_is_evaluated_by_its_own_choices(n_classes: int) -> None:
    """From each row alone, to the last bit; and in a file that holds both."""
    case = Case("cells", n_classes)
    first = case.poll(student="kernel", epsilon=50.0)
    release = publish(first, in_process(first, case.world()))
    assert isinstance(release, Release)
    assert isinstance(release.model, KernelModel)
    poll = Poll.evaluate(release, epsilon=5.0, parties=8)
    poll = Poll.from_bytes(poll.to_bytes())
    assert isinstance(poll.method, Judging)
    samples = unit_rows(np.random.default_rng(0), 700, D)
    features = release.model.task.features(samples)
    chosen = poll.method.choices(features)
    assert np.mean(chosen == release.model.choices(samples)) > 0.995
    assert poll.method.choices(features[:0]).shape == (0,)
    for start, stop in [(0, 1), (1, 3), (5, 12), (100, 164), (3, 700)]:
        assert (poll.method.choices(features[start:stop]) == chosen[start:stop]).all()
    found = publish(poll, in_process(poll, case.world()))
    assert found.digest == release.digest
    assert len(found.evaluations) == 1
    assert isinstance(found, Release)
    again = Release.from_bytes(found.to_bytes())
    assert isinstance(again.model, KernelModel)
    assert (again.predict(samples) == release.predict(samples)).all()


@pytest.mark.parametrize("n_classes", [2, 3, 8])
def test_no_rows_lead_out_of_the_ball_and_the_bound_is_reached(n_classes: int) -> None:
    """One-sided, with extreme rows: L1 norm at most L, and two parties 2L apart at most."""
    case = Case("evaluation", n_classes)
    poll, judged = case.poll(), released(n_classes)
    rng, sent = np.random.default_rng(3), []
    for samples, labels in replacements(case):
        sent.append(poll.contribute(samples, labels, "a").values)
    rows = unit_rows(rng, 64, D)
    right = judged.model.choices(rows)
    for labels in (right, (right + 1) % n_classes):
        for n in (1, 3, 7, 64):  # 1/3 and 1/7 have no end in units
            sent.append(poll.contribute(rows[:n], labels[:n], "a").values)
    for each in sent:
        assert each.min() >= 0
        assert int(each.sum()) <= UNITS
    one, other = sent[-8], sent[-4]  # one row: always right, always wrong
    assert int(np.abs(one - other).sum()) == 2 * UNITS == poll.domain.diameter  # type: ignore[union-attr]


def test_rounding_up_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant of the test above: shares of thirds, rounded up, leave the ball."""

    def round_up(places: Any, starts: Any, n_places: int, worth: int) -> Any:
        found = round_shares(places, starts, n_places, worth)
        return found + (found > 0)

    monkeypatch.setattr("ostraka.methods.evaluation.round_shares", round_up)
    case = Case("evaluation", 3)
    poll, (samples, labels) = case.poll(), case.world(sizes=(7,))[0]
    with pytest.raises(ValueError, match="outside the l1 ball"):
        Tally(poll).add(poll.contribute(samples, labels, "a"))


def test_both_blocks_at_full_weight_would_be_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ostraka.methods.evaluation.UNITS", 2 * UNITS)
    monkeypatch.setattr(Judging, "domain", Ball(norm="l1", length=UNITS, dimension=11))
    case = Case("evaluation", 3)
    poll, (samples, labels) = case.poll(), case.world(sizes=(7,))[0]
    with pytest.raises(ValueError, match="outside the l1 ball"):
        Tally(poll).add(poll.contribute(samples, labels, "a"))


def test_half_the_noise_would_be_caught() -> None:
    """The certificate states a sensitivity that is reached, and noise of that over ε."""
    poll, judged = Case("evaluation", 2).poll(), released(2)
    row = unit_rows(np.random.default_rng(0), 1, D)
    label = judged.model.choices(row)
    worlds = []
    for said in (label, 1 - label):
        tally = Tally(poll)
        tally.add(poll.contribute(row, said, "a"))
        tally.add(poll.contribute(np.zeros((0, D)), [], "b"))
        worlds.append(vector(poll, tally))
    certificate = poll.certificate(2)
    assert float(distance(*worlds, certificate)) == certificate.sensitivity == 2.0
    assert certificate.noise_scale * certificate.round_epsilon >= certificate.sensitivity


def test_shares_are_counted_in_each_partys_own_line() -> None:
    starts = np.array([0, 3, 3, 4])
    found = round_shares(np.array([1, 1, 0, 2]), starts, 3, 300)
    assert found.tolist() == [[100, 200, 0], [0, 0, 0], [0, 0, 300]]
    with pytest.raises(ValueError, match="invalid entry"):
        round_shares(np.array([3]), np.array([0, 1]), 3, 300)


# ---- what comes out ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 8])
def test_a_thousand_parties_at_epsilon_1_are_told_to_two_percent(n_classes: int) -> None:
    """Within ±.02 of the truth 19 times out of 20, by operating-system noise.

    A draw misses with a probability of about 1e-3 (K = 8; 6 of 6000 were counted), so that more
    than 20 misses of 400 have a probability below 1e-15.
    """
    rng = np.random.default_rng(n_classes)
    weights = rng.normal(size=(D, n_classes))
    model = weights if n_classes > 2 else weights[:, 1] - weights[:, 0]
    auxiliary = AuxiliarySet(unit_rows(rng, 50, D), tuple(range(n_classes)))
    first = Poll.create(auxiliary, method="moments", epsilon=1.0, parties=1000)
    release = Release(
        model=LinearModel(task=Task.of(auxiliary), weights=model),
        certificate=first.certificate(1000),
        keep_back=5,
    )
    poll = Poll.evaluate(release, epsilon=1.0, parties=1000)
    samples = unit_rows(rng, 20_000, D)
    labels = (samples @ weights + 0.3 * rng.gumbel(size=(20_000, n_classes))).argmax(axis=1)
    names = rng.integers(0, 1000, 20_000)  # unequal parties
    grouped = poll.group(samples, labels, names)
    tally = Tally(poll)
    for block in poll.blocks(grouped, Work()):
        tally.add_block(*block)
    given, truths = release.model.choices(grouped.features), []
    for name, start, end in zip(grouped.names, grouped.starts, grouped.starts[1:]):
        used = (np.arange(end - start) + number_of(name)) % 5 == 0
        own = (given == grouped.labels)[start:end][used]
        truths += [own.mean()] if used.any() else []
    truth, near, held = float(np.mean(truths)), 0, 0
    mechanism, exact = poll.mechanism(tally.n_units), vector(poll, tally)
    certificate, errors = poll.certificate(tally.n_units), []
    for _ in range(N_DRAWS):
        mean = mechanism.mean(mechanism.draw(exact, Entropy()))
        found = _evaluate(release, certificate, mean).accuracy
        assert found is not None
        errors.append(found.value - truth)
        near += abs(found.value - truth) <= 0.02
        held += found.low <= truth <= found.high
    assert near >= 0.95 * N_DRAWS
    assert held >= 0.95 * N_DRAWS
    assert abs(np.mean(errors)) < 0.002, "no bias worth speaking of"


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_release_stays_what_it_was_and_statements_add_up(n_classes: int) -> None:
    first = released(n_classes, keep_back=3)
    case = Case("evaluation", n_classes, keep_back=3)
    once = evaluated(case)
    poll = Poll.evaluate(once, epsilon=0.5, parties=M, title="once more")
    twice = publish(Poll.from_bytes(poll.to_bytes()), in_process(poll, case.world()))
    for each in (once, twice):
        assert each.digest == first.digest
        assert each.certificate == first.certificate
        assert (each.model.weights == first.model.weights).all()
        assert {stated.release for stated in each.evaluations} == {first.digest}
    assert len(once.evaluations) == 1
    assert [each.certificate.round_epsilon for each in twice.evaluations] == [1.0, 0.5]
    assert twice.evaluations[0].digest == once.evaluations[0].digest
    assert isinstance(twice, Release)
    again = Release.from_bytes(twice.to_bytes())
    assert again.to_bytes() == twice.to_bytes()
    assert again.digest == first.digest


def test_an_old_release_keeps_its_digest_when_it_is_evaluated() -> None:
    path = Path(__file__).parent.parent / "release" / "files" / "cells-2.ostraka"
    release = Release.load(path)
    poll = Poll.evaluate(release, epsilon=1.0, parties=3)
    rng, tally = np.random.default_rng(0), Tally(poll)
    for party in range(3):
        samples, labels = rng.normal(size=(4, 3)), rng.choice(["ill", "well"], 4)
        tally.add(poll.contribute(samples, labels, party))
    found = publish(poll, tally)
    assert isinstance(found, Release)
    again = Release.from_bytes(found.to_bytes())
    assert again.digest == found.digest == release.digest


def test_another_model_has_no_evaluation() -> None:
    case = Case("cells", 2)
    poll = case.poll()
    release = publish(poll, in_process(poll, case.world()))
    asked = Poll.evaluate(release, epsilon=1.0, parties=M)
    found = publish(asked, in_process(asked, case.world()))
    assert len(found.evaluations) == 1
    assert found.refit(penalty=3.0, poll=poll).evaluations == ()


def test_more_statements_than_can_be_read_are_not_added() -> None:
    """The dry run of `publish` refuses it before anybody is charged."""
    case = Case("cells", 2)
    poll = case.poll()
    asked = Poll.evaluate(publish(poll, in_process(poll, case.world())), epsilon=1.0, parties=M)
    found = publish(asked, in_process(asked, case.world()))
    object.__setattr__(found, "evaluations", found.evaluations * MOST_EVALUATIONS)
    with pytest.raises(ParameterError, match="up to 1000 of one release"):
        found.add_evaluation(found.evaluations[0], Release)


def test_a_rehearsal_is_evaluated_in_rehearsals_only() -> None:
    case = Case("cells", 2)
    poll = case.poll()
    seeded = rehearsed(poll, in_process(poll, case.world()))
    asked = Poll.evaluate(seeded, epsilon=1.0, parties=M)
    asked = Poll.from_bytes(asked.to_bytes())
    tally = in_process(asked, case.world())
    with pytest.raises(RehearsalError):
        publish(asked, tally)
    found = publish(asked, tally, Rehearsal(0))
    assert isinstance(found, Rehearsed)
    assert "A REHEARSAL" in found.evaluations[0].describe((0, 1))


def test_a_rehearsed_evaluation_of_a_release_cannot_be_kept() -> None:
    case = Case("evaluation", 2)
    poll = case.poll()
    found = publish(poll, in_process(poll, case.world()), Rehearsal(0))
    assert isinstance(found, Rehearsed)
    with pytest.raises(RehearsalError):
        found.save("nowhere")
    with pytest.raises(FormatError, match="rehearsal"):
        Release.from_bytes(found._write())
    with pytest.raises(RehearsalError):
        released(2).add_evaluation(found.evaluations[0], Release)
    resting = Poll.evaluate(found, epsilon=1.0, parties=M)
    with pytest.raises(RehearsalError):
        publish(resting, in_process(resting, case.world()))


def test_a_ledger_charges_the_evaluation_alone(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l.db", Budget(epsilon=3.5))
    case = Case("cells", 2)
    poll = case.poll(epsilon=2.0)
    release = publish(poll, in_process(poll, case.world()), ledger=ledger)
    asked = Poll.evaluate(release, epsilon=1.0, parties=M, title="good?")
    found = publish(asked, in_process(asked, case.world()), ledger=ledger)
    assert str(ledger.spent("0")) == "ε=3"
    assert ledger.history()[-1].digest == found.evaluations[-1].digest
    assert ledger.history()[-1].note.startswith("evaluation: good? [poll ")
    with pytest.raises(BudgetError, match="Nothing was drawn and nothing was spent"):
        publish(asked, in_process(asked, case.world()), ledger=ledger)


# ---- refusals ------------------------------------------------------------------------------------


def test_it_is_no_method_to_learn_by() -> None:
    with pytest.raises(ParameterError, match=r"method = 'evaluation'.*'auto', 'moments'"):
        Poll.create(Case("cells", 2).auxiliary(), method="evaluation", epsilon=1.0, parties=M)
    with pytest.raises(WrongTypeError, match=r"Release\.load"):
        Poll.evaluate("model.ostraka", epsilon=1.0, parties=M)  # type: ignore[arg-type]
    with pytest.raises(WrongTypeError, match=r"Release\.load"):
        Judging.create(*(None,) * 3, Case("cells", 2).poll().method)  # type: ignore[arg-type]


def test_a_certificate_of_an_evaluation_makes_no_release() -> None:
    release = released(2)
    stated = Case("evaluation", 2).poll().certificate(M)
    with pytest.raises(ParameterError, match="a method that a model comes of"):
        Release(model=release.model, certificate=stated)


def test_a_statement_on_another_model_is_refused() -> None:
    one, other = evaluated(Case("evaluation", 2)), released(2, keep_back=3)
    with pytest.raises(ParameterError, match="one of the release"):
        other.add_evaluation(one.evaluations[0], Release)


def test_a_poll_that_was_tampered_with_is_refused() -> None:
    from dataclasses import replace

    poll = Case("evaluation", 2, keep_back=3).poll()
    for change in ({"keep_back": None}, {"keep_back": 4}):
        with pytest.raises(ParameterError, match="the release that it evaluates"):
            replace(poll, **change)
    person = replace(poll.promise, protects="person")
    with pytest.raises(ParameterError, match="the release that it evaluates"):
        replace(poll, promise=person)
    tensors, metadata = read_tensors(poll.to_bytes(), "poll")
    for change in (tensors["method.file"][:-1], np.zeros(9, np.uint8)):
        with pytest.raises(FormatError):
            Poll.from_bytes(write_tensors({**tensors, "method.file": change}, metadata))


@pytest.mark.parametrize(
    "change",
    [
        {"ostraka": "4"},
        {"more": "x"},
        {"evaluations": "{}"},
        {"evaluations": "["},
        {"evaluations": '{"stated":[]}'},
        {"evaluations": '{"stated":["{}"]}'},
        {"evaluations": '{"stated":[{}]}'},
        {"evaluations": '{"stated":["x","y"]}'},
    ],
)
def test_a_hostile_evaluated_release_is_refused(change: dict[str, str]) -> None:
    tensors, metadata = read_tensors(evaluated(Case("evaluation", 2)).to_bytes(), "release")
    with pytest.raises(FormatError):
        Release.from_bytes(write_tensors(tensors, {**metadata, **change}))


def test_hostile_numbers_of_an_evaluation_are_refused() -> None:
    found = evaluated(Case("evaluation", 2))
    tensors, metadata = read_tensors(found.to_bytes(), "release")
    wrong: list[dict[str, Any]] = [
        {"evaluation.0": np.full(4, np.nan)},
        {"evaluation.0": np.zeros(5)},
        {"evaluation.0": np.zeros((2, 2))},
        {"evaluation.0": np.zeros(4, np.float32)},
        {"evaluation.1": np.zeros(4)},
        {"release": np.frombuffer(found.to_bytes(), np.uint8)},
        {"release": np.frombuffer(released(2, keep_back=3).to_bytes(), np.uint8)},
        {"release": np.zeros(3)},
    ]
    for change in wrong:
        with pytest.raises(FormatError):
            Release.from_bytes(write_tensors({**tensors, **change}, metadata))
    with pytest.raises(FormatError):
        Release.from_bytes(write_tensors({"release": tensors["release"]}, metadata))


# ---- tables --------------------------------------------------------------------------------------


def test_parties_evaluate_from_raw_tables_by_files() -> None:
    """Texts and gaps as they come; each from its own machine."""
    rng = np.random.default_rng(0)

    def table(n: int) -> pd.DataFrame:
        job = rng.choice(["nurse", "miner", None], n)
        return pd.DataFrame({"age": rng.integers(18, 90, n), "job": job})

    public, private = table(200), table(1200)
    y = np.where(private["age"] > 50, "ill", "well")
    parties = np.arange(1200) // 12
    model = PrivateClassifier("cells", 5.0, keep_back=4, classes=["ill", "well"])
    model.fit(private, y, parties=parties, auxiliary=public)
    asked = Poll.evaluate(model.release_, epsilon=5.0, parties=100)
    sent, here, there = asked.to_bytes(), Tally(asked), Tally(asked)
    for party in range(100):
        own = parties == party
        made = Poll.from_bytes(sent).contribute(private[own], y[own], party)
        here.add(Contribution.from_bytes(made.to_bytes()))
    for block in asked.blocks(asked.parties(private, y, parties), Work()):
        there.add_block(*block)
    assert (here.total == there.total).all()


# ---- in one process ------------------------------------------------------------------------------

RNG = np.random.default_rng(5)
X, PUBLIC = RNG.normal(size=(3000, 3)), RNG.normal(size=(200, 3))
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=3000) > 0, "ill", "well")
PARTIES = np.arange(3000) // 10


def fitted(**changes: Any) -> PrivateClassifier:
    model = PrivateClassifier("cells", 3.0, **{"keep_back": 5, **changes})
    parties = None if changes.get("rows_are_parties") else PARTIES
    return model.fit(X, Y, parties=parties, auxiliary=PUBLIC)


def test_the_estimator_evaluates_over_the_same_path(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "l.db", Budget(epsilon=5.0))
    model = fitted(ledger=ledger)
    found = model.evaluate(X, Y, parties=PARTIES, epsilon=2.0)
    assert model.release_.evaluations == (found,)
    assert found.keep_back == 5
    assert str(ledger.spent("0")) == "ε=5"
    truth = model.release_.model.choices(X) == model.release_.model.task.indices(Y)
    assert found.accuracy is not None
    assert abs(found.accuracy.value - truth.mean()) < 0.1
    model.release_.save(tmp_path / "m.ostraka")  # type: ignore[union-attr]
    assert Release.load(tmp_path / "m.ostraka").evaluations[0].digest == found.digest
    with pytest.raises(BudgetError):
        model.evaluate(X, Y, parties=PARTIES)
    assert len(model.release_.evaluations) == 1


def test_the_estimator_rehearses_an_evaluation() -> None:
    model = fitted(random_state=0)
    found = model.evaluate(X, Y, parties=PARTIES)
    assert isinstance(model.release_, Rehearsed)
    assert "A REHEARSAL" in found.describe(model.classes_)


def test_single_rows_are_kept_back_and_evaluated() -> None:
    model = fitted(rows_are_parties=True)
    found = model.evaluate(X, Y)
    assert found.certificate.protects == "row"
    assert found.accuracy is not None
    assert abs(float(found._cells().sum()) - 0.2) < 0.05, "every fifth row, each a unit"
    assert "counts alike" not in found.describe(model.classes_)


def test_truth_values_and_a_roll_can_be_evaluated() -> None:
    model = PrivateClassifier("cells", 3.0, keep_back=2, roll=[*range(300), "nobody"])
    model.fit(X, Y == "ill", parties=PARTIES, auxiliary=PUBLIC)
    assert model.evaluate(X, Y == "ill", parties=PARTIES).certificate.parties == 301


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parties": None}, ("parties is missing", "who holds each row")),
        ({"epsilon": 0.0}, ("epsilon = 0.0", "above 0")),
        ({"y": Y[:9]}, ("(9,)", "one for each sample")),
        ({"y": np.full(3000, "dead")}, ("Class 'dead' is not among", "'ill', 'well'")),
        ({"X": X[:, :2]}, ("2 features",)),
        ({"parties": np.zeros(3000)}, ("1 party has contributed", "at least 2")),
    ],
)
def test_mistakes_spend_nothing(change: dict[str, Any], words: tuple[str, ...]) -> None:
    model = fitted()
    given = {"X": X, "y": Y, "parties": PARTIES, "epsilon": 1.0, **change}
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        model.evaluate(given["X"], given["y"], given["parties"], given["epsilon"])
    for each in words:
        assert each in str(caught.value)
    if "X" not in change:  # scikit-learn's own words
        assert str(caught.value).endswith("Nothing was drawn and nothing was spent.")
    assert model.release_.evaluations == ()
