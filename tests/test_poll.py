"""The poll as a value and as a file: one form, nothing private, `FormatError` for anything else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.ensemble import RandomForestClassifier

from ostraka import poll as poll_module
from ostraka.errors import (
    FormatError,
    InputError,
    MissingColumnsError,
    ParameterError,
    UnknownClassError,
    UnusedOptionError,
)
from ostraka.mechanism import Rehearsal
from ostraka.methods.base import Work
from ostraka.party.contribution import Contribution, Kind
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.preprocessing import Preprocessing
from ostraka.publishing import publish
from ostraka.tally import Tally
from ostraka.tensors import canonical_json, read_tensors, write_tensors
from tests.laws.cases import CASES, Case, D, M

FILES = Path(__file__).parent / "files"
# A handful of parties is enough for a test, and said to be too few; that has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore::ostraka.errors.PrivacyWarning")

POLLS = {str(case): case.poll(title="Stroke, 2026") for case in CASES}


@pytest.mark.parametrize("name", POLLS)
def test_a_poll_comes_back_from_its_bytes_as_it_was(name: str) -> None:
    poll = POLLS[name]
    read = Poll.from_bytes(poll.to_bytes())
    assert read.to_bytes() == poll.to_bytes()
    assert read.digest == poll.digest
    assert read.mechanism(M) == poll.mechanism(M)
    assert read.certificate(M) == poll.certificate(M)
    assert (read.title, read.roll, read.expected_units) == (
        poll.title,
        poll.roll,
        poll.expected_units,
    )
    mean = np.linspace(-1.0, 1.0, poll.mechanism(M).dimension)
    assert (
        read.model(mean, read.mechanism(M)).weights == poll.model(mean, poll.mechanism(M)).weights
    ).all()


def test_files(tmp_path: Path) -> None:
    poll = next(iter(POLLS.values()))
    poll.save(tmp_path / "a.poll")
    assert Poll.load(tmp_path / "a.poll").digest == poll.digest
    with pytest.raises(IsADirectoryError):
        Poll.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        Poll.load(tmp_path / "b.poll")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="not a regular file"):
        Poll.load(tmp_path / "pipe")


@pytest.mark.parametrize("name", ["cells", "consensus", "avg", "soft-private"])
def test_format_1_stays_readable(name: str) -> None:
    """Files of this format, written once, with the contribution that a party computed then."""
    poll = Poll.load(FILES / f"{name}-1.poll")
    sent = Contribution.load(FILES / f"{name}-1.contribution")
    assert sent.poll == poll.digest
    if sent.kind is not Kind.CLASSIFIER:
        Tally(poll).add(sent)


@pytest.mark.parametrize("name", ["cells", "evaluation"])
def test_format_4_stays_readable(name: str) -> None:
    """Rows are kept back, in a poll to learn by and in one that evaluates what came of it."""
    poll = Poll.load(FILES / f"{name}-4.poll")
    assert poll.keep_back == 3
    assert (poll.judged is not None) is (name == "evaluation")
    sent = Contribution.load(FILES / f"{name}-4.contribution")
    Tally(poll).add(sent)
    samples, labels = Case("cells", 3).world()[0]
    assert poll.contribute(samples, labels, "ward 1") == sent


def test_format_5_stays_readable() -> None:
    """With a kernel student, and rows kept back."""
    poll = Poll.load(FILES / "cells-5.poll")
    assert poll.keep_back == 3
    assert poll.method.student == "kernel"  # type: ignore[attr-defined]
    sent = Contribution.load(FILES / "cells-5.contribution")
    Tally(poll).add(sent)
    samples, labels = Case("cells", 3).world()[0]
    assert poll.contribute(samples, labels, "ward 1") == sent


@pytest.mark.parametrize("method", ["moments", "cells", "consensus", "refine", "auto"])
def test_a_student_travels_in_the_poll(method: str) -> None:
    """Words that earlier polls knew are written as they wrote them."""
    case, numbers = Case(method, 3), {}
    for student, written in {
        "none": False,
        "linear": True,
        "auto": None,
        "kernel": "kernel",
    }.items():
        poll = case.poll(student=student)
        again = Poll.from_bytes(poll.to_bytes())
        assert again.method.student == student  # type: ignore[attr-defined]
        _, metadata = read_tensors(poll.to_bytes(), "poll")
        assert json.loads(metadata["poll"])["method"]["student"] == written
        numbers[student] = metadata["ostraka-poll"]
    assert numbers.pop("kernel") == "5"
    assert "5" not in numbers.values()


def test_other_students_are_refused() -> None:
    for student in ("forest", 1, RandomForestClassifier()):
        with pytest.raises(ParameterError, match=r'"kernel"; any classifier later: release.refit'):
            Case("cells", 3).poll(student=student)
    with pytest.raises(UnusedOptionError, match="student"):
        Case("avg", 3, calibration="tight").poll(student="kernel")
    poll = Case("cells", 3).poll(student="kernel")
    tensors, metadata = read_tensors(poll.to_bytes(), "poll")
    content = json.loads(metadata["poll"])
    for student in ("auto", "forest", 1, [], True, None):
        method = {**content["method"], "student": student}
        text = canonical_json({**content, "method": method})
        with pytest.raises(FormatError):
            Poll.from_bytes(write_tensors(tensors, {**metadata, "poll": text}))


def test_sparse_samples_and_tables_travel() -> None:
    rng = np.random.default_rng(0)
    sparse = csr_matrix(np.where(rng.random((30, 6)) < 0.3, rng.random((30, 6)), 0.0) / 3.0)
    poll = Poll.create(AuxiliarySet(sparse, ("no", "yes")), method="soft", epsilon=1.0, parties=5)
    read = Poll.from_bytes(poll.to_bytes())
    assert read.digest == poll.digest
    assert (read.auxiliary.features != poll.auxiliary.features).nnz == 0  # type: ignore[union-attr]
    assert (read.cast(lambda rows: np.full(rows.shape[0], "yes"), "a").values == 1).all()
    frame = pd.DataFrame(rng.random((30, 2)), columns=["age", "dose"])
    voted = Poll.create(frame, classes=["no", "yes"], method="consensus", epsilon=1.0, parties=5)
    again = Poll.from_bytes(voted.to_bytes())
    assert again.task.feature_names == ("age", "dose")
    assert again.auxiliary is not None
    assert np.array_equal(again.auxiliary.samples, frame.to_numpy())


def test_what_is_not_needed_is_not_carried() -> None:
    """Raw samples are for classifiers that vote; a party that sends labels needs only geometry."""
    for name, poll in POLLS.items():
        tensors, _ = read_tensors(poll.to_bytes(), "poll")
        assert ("auxiliary.samples" in tensors) == poll.votes, name
        assert ("auxiliary.features" in tensors) == (
            poll.method.name not in ("avg", "evaluation")
        ), name


def test_columns_go_by_name() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.random((40, 2)), columns=["age", "dose"])
    poll = Poll.create(frame, classes=["no", "yes"], epsilon=1.0, parties=5)
    labels = np.where(frame.age > 0.5, "yes", "no")
    here = poll.contribute(frame, labels, "a")
    assert (here.values == poll.contribute(frame.to_numpy(), labels, "a").values).all()
    swapped = frame[["dose", "age"]].assign(more="text")
    assert (here.values == poll.contribute(swapped, labels, "a").values).all()
    with pytest.raises(
        MissingColumnsError, match=r"a column is missing, 'dose'\. Others are there: 'x'"
    ):
        poll.contribute(frame.rename(columns={"dose": "x"}), labels, "a")
    with pytest.raises(InputError, match=r"\(rows, 2\), the columns 'age', 'dose'"):
        poll.contribute(frame.to_numpy()[:, :1], labels, "a")
    with pytest.raises(UnknownClassError, match="'perhaps'"):
        poll.contribute(frame, ["perhaps"] * 40, "a")
    with pytest.raises(InputError, match="40 samples and 3 labels"):
        poll.contribute(frame, labels[:3], "a")
    gaps = poll.contribute(np.full((2, 2), np.nan), ["no", "yes"], "a").values
    medians = np.tile(frame.median().to_numpy(), (2, 1))
    assert (gaps == poll.contribute(medians, ["no", "yes"], "a").values).all()


@pytest.mark.parametrize(
    ("method", "given", "complaint"),
    [
        ("moments", {"persons": ["p"] * 3}, "this poll protects one party"),
        ("moments", {"local": object()}, "for which no classifier votes"),
        ("moments", {"party": ""}, "party"),
        ("moments", {"party": True}, "party"),
    ],
)
def test_contributions_that_do_not_fit(method: str, given: dict[str, Any], complaint: str) -> None:
    poll = Case(method, 2).poll()
    with pytest.raises(InputError, match=complaint):
        poll.contribute(np.zeros((3, D)), [0, 1, 0], **{"party": "a", **given})


def test_persons_are_asked_for_where_they_are_protected() -> None:
    poll = Case("moments", 2).poll(protects="person", parties=None, persons=50)
    with pytest.raises(ParameterError, match="this poll protects one person"):
        poll.contribute(np.zeros((3, D)), [0, 1, 0], "a")
    nobody = poll.contribute(np.zeros((0, D)), [], "a", persons=[])
    assert (nobody.n_persons, nobody.values.any()) == (0, False)
    voting = Case("consensus", 2).poll(protects="person", parties=None, persons=50)
    with pytest.raises(ParameterError, match="a classifier for every person"):
        voting.cast(lambda rows: np.zeros(len(rows)), "a")


def test_votes_of_any_classifier() -> None:
    from sklearn.naive_bayes import GaussianNB

    poll = Case("consensus", 2).poll()
    rng = np.random.default_rng(0)
    rows = rng.random((40, D))
    fitted = GaussianNB().fit(rows, rows[:, 0] > 0.5)
    sent = poll.cast(fitted, "Ward 3")
    assert (sent.party, sent.kind) == ("ward 3", Kind.BALLOT)
    assert poll.auxiliary is not None
    assert (sent.values == fitted.predict(poll.auxiliary.samples)).all()
    with pytest.raises(ParameterError, match="rows and labels, for method 'moments'"):
        Case("moments", 2).poll().cast(fitted, "a")
    with pytest.raises(UnknownClassError):
        poll.cast(lambda samples: np.full(len(samples), 7), "a")


# ---- private auxiliary sets ----------------------------------------------------------------------


def private_poll() -> tuple[Poll, AuxiliarySet]:
    samples = np.random.default_rng(0).random((20, 3))
    own = AuxiliarySet(
        samples,
        ("ill", "well"),
        preprocessing=Preprocessing(radius=2.0, constant=0.5),
        private=True,
    )
    return Poll.create(own, method="soft", epsilon=1.0, parties=3), own


def test_nothing_of_a_private_set_is_in_the_poll() -> None:
    poll, own = private_poll()
    content = poll.to_bytes()
    for row in own.samples:
        assert row.tobytes() not in content
        assert row[0].tobytes() not in content
    assert own.digest not in content.decode("latin-1")


def test_parties_send_classifiers_and_one_sample_moves_its_own_votes(tmp_path: Path) -> None:
    import skops.io
    from sklearn.linear_model import LogisticRegression

    poll, own = private_poll()
    rng = np.random.default_rng(1)
    rows = rng.random((50, 3))
    fitted = LogisticRegression().fit(rows, np.where(rows[:, 0] > 0.5, "ill", "well"))
    skops.io.dump(fitted, tmp_path / "mine.skops")
    sent = Contribution.from_bytes(
        Poll.from_bytes(poll.to_bytes()).enclose(tmp_path / "mine.skops", "ward-3").to_bytes()
    )
    assert sent.kind is Kind.CLASSIFIER
    with pytest.raises(InputError, match="has not voted yet"):
        Tally(poll).add(sent)
    with pytest.raises(ParameterError, match="with_auxiliary"):
        Poll.from_bytes(poll.to_bytes()).open(sent)
    attached = Poll.from_bytes(poll.to_bytes()).with_auxiliary(own)
    voted = attached.open(sent)
    assert (np.array(poll.task.classes)[voted.values] == fitted.predict(own.samples)).all()
    changed = np.array(own.samples)
    changed[7] = 1e300  # whatever a private sample is: no error, and one vote
    other = AuxiliarySet(changed, own.classes, preprocessing=own.preprocessing, private=True)
    again = Poll.from_bytes(poll.to_bytes()).with_auxiliary(other).open(sent)
    assert set(np.flatnonzero(again.values != voted.values)) <= {7}
    Tally(attached).add(voted)
    (tmp_path / "bad.skops").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(FormatError):
        poll.enclose(tmp_path / "bad.skops", "ward-4")
    with pytest.raises(ParameterError, match=r"votes: Poll.cast"):
        Case("soft", 2, calibration="tight").poll().enclose(tmp_path / "mine.skops", "a")


# ---- hostile files -------------------------------------------------------------------------------

SMALL = Case("cells", 2).poll(parties=None, roll=["a", "b"])
CONTENT = SMALL.to_bytes()


@pytest.mark.parametrize("cut", [0, 1, 7, 8, 9, 100, len(CONTENT) // 2, len(CONTENT) - 1])
def test_truncated_polls_are_refused(cut: int) -> None:
    with pytest.raises(FormatError, match="Nothing was loaded"):
        Poll.from_bytes(CONTENT[:cut])


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.integers(0, len(CONTENT) - 1), st.integers(0, 255)), min_size=1, max_size=3
    )
)
def test_any_mutation_gives_a_poll_or_a_format_error(changes: list[tuple[int, int]]) -> None:
    damaged = bytearray(CONTENT)
    for place, value in changes:
        damaged[place] = value
    try:
        read = Poll.from_bytes(bytes(damaged))
    except FormatError:
        return
    assert read.to_bytes() == bytes(damaged)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_give_a_format_error(data: bytes) -> None:
    with pytest.raises(FormatError):
        Poll.from_bytes(data)


def rewritten(change: Any, poll: Poll = SMALL) -> bytes:
    tensors, metadata = read_tensors(poll.to_bytes(), "poll")
    content = json.loads(metadata["poll"])
    tensors = dict(tensors)
    change(content, tensors)
    return write_tensors(tensors, {**metadata, "poll": canonical_json(content)})


def put(*path: str, value: Any) -> Any:
    def change(content: dict[str, Any], _: Any) -> None:
        for name in path[:-1]:
            content = content[name]
        content[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        put("title", value="a\x1b[31m"),
        put("title", value=5),
        put("expected_units", value=-1),
        put("expected_units", value=2.5),
        put("expected_units", value=True),
        put("roll", value=["a", "A"]),
        put("roll", value=["B"]),
        put("roll", value="ab"),
        put("roll", value=[1]),
        put("promise", "epsilon", value=-1.0),
        put("promise", "epsilon", value="1"),
        put("promise", "protects", value="nobody"),
        put("promise", value={}),
        put("method", "name", value="auto"),
        put("method", "name", value="__import__"),
        put("method", "n_columns", value=5),
        put("method", "n_classes", value=7),
        put("method", "samples_each", value=0.5),
        put("method", "reweighted", value=1),
        put("method", "more", value=1),
        put("auxiliary", value=None),
        put("auxiliary", "samples", value=3),
        put("task", "classes", value=["a"]),
        put("task", "classes", value=[{}, {}]),
        put("n_features", value=2**40),
        put("n_features", value=0),
        put("forecast", value="good"),
        put("assumed_public", value=["\x1b"]),
        put("unknown", value=1),
        lambda content, tensors: tensors.pop("method.centres"),
        lambda content, tensors: tensors.update(
            {"method.centres": tensors["method.centres"] * np.nan}
        ),
        lambda content, tensors: tensors.update(
            {"method.centres": tensors["method.centres"].astype(np.float32)}
        ),
        lambda content, tensors: tensors.update(
            {"method.centres": tensors["method.centres"][:, :2].copy()}
        ),
        lambda content, tensors: tensors.update(
            {"method.assigned": tensors["method.assigned"] + 10**6}
        ),
        lambda content, tensors: tensors.update(
            {"method.assigned": tensors["method.assigned"][:5].copy()}
        ),
        lambda content, tensors: tensors.update(
            {"auxiliary.features": tensors["auxiliary.features"] * 3.0}
        ),
        lambda content, tensors: tensors.update(
            {"auxiliary.features": tensors["auxiliary.features"][:, :3].copy()}
        ),
        lambda content, tensors: tensors.update({"more": np.zeros(3)}),
        lambda content, tensors: tensors.pop("auxiliary.features"),
    ],
)
def test_polls_that_contradict_themselves_are_refused(change: Any) -> None:
    with pytest.raises(FormatError, match="not a valid poll"):
        Poll.from_bytes(rewritten(change))


@pytest.mark.parametrize("name", POLLS)
def test_what_loads_works(name: str) -> None:
    """Every array of every method, cut and stretched: a loaded poll must not fail later."""
    poll = POLLS[name]
    tensors, _ = read_tensors(poll.to_bytes(), "poll")
    for array in (each for each in tensors if each.startswith("method.")):
        whole = tensors[array]
        for other in (
            whole[:-1],
            whole[..., :-1],
            np.concatenate([whole, whole]),
            whole * 1e300,
            whole[None],
        ):
            changed = np.ascontiguousarray(other)
            if changed.size == 0:
                continue
            try:
                read = Poll.from_bytes(
                    rewritten(lambda _, held, a=array, c=changed: held.update({a: c}), poll)
                )
            except FormatError:
                continue
            tally = Tally(read)
            for party in "ab":
                tally.add(read.contribute(np.full((3, D), 0.1), [0, 1, 0], party))
            outcome = publish(read, tally, Rehearsal(0))
            assert np.isfinite(outcome.model.weights).all()


def test_other_files_are_named() -> None:
    with pytest.raises(FormatError, match="a pickle, which could run code"):
        Poll.from_bytes(b"\x80\x04\x95" + bytes(50))
    with pytest.raises(FormatError, match="it is a release"):
        Poll.from_bytes(write_tensors({"weights": np.zeros(3)}, {"ostraka": "2"}))
    with pytest.raises(FormatError, match="not that of an Ostraka poll"):
        Poll.from_bytes(write_tensors({"weights": np.zeros(3)}, {"other": "2"}))


# ---- what a file states is not believed where the noise rests on it ------------------------------


@pytest.mark.parametrize("method", ["soft", "vote"])
@pytest.mark.parametrize("factor", [0.0, 1e-6, 0.5])
def test_a_poll_cannot_state_a_smaller_gradient_factor(method: str, factor: float) -> None:
    """One edited number gave a "private" release whose noise was 12 000 times too small."""
    poll = Case(method, 2, calibration="tight").poll()
    true = poll.method.gradient_factor
    for stated in (factor * true, -1.0, 2.0):
        with pytest.raises(FormatError, match="gradient_factor"):
            Poll.from_bytes(rewritten(put("method", "gradient_factor", value=stated), poll))
    with pytest.raises(FormatError, match="row_terms"):
        Poll.from_bytes(rewritten(put("method", "row_terms", value=1), poll))
    private, _ = private_poll()
    with pytest.raises(FormatError, match="gradient_factor"):
        Poll.from_bytes(rewritten(put("method", "gradient_factor", value=0.5), private))


def test_tables_of_votes_are_whole_numbers() -> None:
    """Cut to whole numbers only when summed, they would move further than their own bound says."""
    poll = Case("consensus", 2).poll()
    for name in ("white", "contrasts"):

        def shift(_: Any, tensors: dict[str, Any], name: str = f"method.{name}") -> None:
            tensors[name] = tensors[name] - 1e-6

        with pytest.raises(FormatError, match="white, contrasts"):
            Poll.from_bytes(rewritten(shift, poll))


def test_a_second_round_carries_the_certificate_of_its_start(tmp_path: Path) -> None:
    from ostraka.ledger import Budget, Ledger
    from ostraka.methods.base import Work

    case = Case("refine", 3)
    poll = case.poll()
    assert poll.method.start is not None
    honest = poll.method.start.certificate
    assert poll.certificate(M).epsilon == 1.0 + honest.epsilon
    for forged in ("{}", honest.to_json().replace('"format":4', '"format":9')):
        with pytest.raises(FormatError):
            Poll.from_bytes(rewritten(put("method", "start_certificate", value=forged), poll))
    # A cheaper certificate, consistent in itself: a ledger knows the one under which the start
    # was charged.
    cheaper = Case("moments", 3).poll(epsilon=0.001).certificate(M).to_json()
    forged_poll = Poll.from_bytes(
        rewritten(put("method", "start_certificate", value=cheaper), poll)
    )
    ledger = Ledger.create(tmp_path / "ledger.db", Budget(epsilon=9.0))
    charge = ledger.charge(["0"], honest)

    class Published:
        digest, certificate = poll.method.start.digest, honest

    ledger.settle(charge, Published())
    world = case.world()
    samples, labels = (np.concatenate(part) for part in zip(*world))
    names = np.repeat(np.arange(M), [len(own) for _, own in world])
    for each, allowed in ((poll, True), (forged_poll, False)):
        tally = Tally(each)
        for block in each.blocks(each.group(samples, labels, names), Work()):
            tally.add_block(*block)
        if allowed:
            publish(each, tally, ledger=ledger)
        else:
            with pytest.raises(ParameterError, match=r"start.*Nothing was drawn"):
                publish(each, tally, ledger=ledger)


# ---- many parties' classifiers in one process ----------------------------------------------------


def test_one_partys_classifier_moves_no_other_ballot_and_shows_nothing(
    capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    import warnings

    from ostraka import PrivateClassifier

    rng = np.random.default_rng(0)
    public = rng.random((40, 3))

    def undecided(samples: np.ndarray) -> np.ndarray:
        return np.where(np.random.rand(len(samples)) < 0.5, "a", "b")  # noqa: NPY002

    def greedy(samples: np.ndarray) -> np.ndarray:
        np.random.rand(17)  # noqa: NPY002
        return np.full(len(samples), "a")

    def loud(samples: np.ndarray) -> np.ndarray:
        print("a row with glucose 7.1")
        warnings.warn("one class only", UserWarning, stacklevel=1)
        return np.full(len(samples), "a")

    def wrong(samples: np.ndarray) -> np.ndarray:
        return np.full(len(samples), "zebra")

    totals = []
    for first in (lambda samples: np.full(len(samples), "a"), greedy, loud, wrong):
        model = PrivateClassifier("soft", 1.0, classes=["a", "b"], lambda_=0.1, random_state=0)
        model.fit_classifiers([first, *[undecided] * 9], public)
        totals.append(model.release_.model.weights)
    assert all((weights == totals[0]).all() for weights in totals[1:]), (
        "one ballot, the same each time"
    )
    captured = capfd.readouterr()
    assert captured.out + captured.err == ""
    assert not [warning for warning in recwarn if "one class only" in str(warning.message)]


def test_a_private_set_stays_with_the_coordinator() -> None:
    import pickle

    from ostraka import PrivateClassifier

    samples = np.random.default_rng(0).random((20, 3))
    own = AuxiliarySet(samples, ("a", "b"), preprocessing=Preprocessing(radius=2.0), private=True)
    rows = np.random.default_rng(1).random((30, 3))
    model = PrivateClassifier("soft", 1.0, lambda_=0.1, n_jobs=1)
    model.fit(rows, np.where(rows[:, 0] > 0.5, "a", "b"), parties=np.arange(30) % 5, auxiliary=own)
    for kept in (model, model.release_, model.poll_):
        content = pickle.dumps(kept)
        assert samples.tobytes() not in content
        assert own.features.tobytes() not in content
    assert "array" not in repr(model.poll_)
    assert model.poll_.digest == model.certificate_.poll


def test_values_print_as_one_line() -> None:
    rows = np.random.default_rng(0).random((60, 3))
    labels = np.where(rows[:, 0] > 0.5, "a", "b")
    public = AuxiliarySet.scaled(rows[:20], ("a", "b"))
    asked: dict[str, Any] = {"method": "moments", "epsilon": 0.5, "parties": 30, "title": "Beds"}
    poll, close = Poll.create(public, **asked), Poll.create(public, **asked, delta=1e-6)
    tally, of_close = Tally(poll), Tally(close)
    for party in range(30):
        own = slice(2 * party, 2 * party + 2)
        tally.add(poll.contribute(rows[own], labels[own], party))
        of_close.add(close.contribute(rows[own], labels[own], party))
    release, rehearsed = publish(poll, tally), publish(close, of_close, Rehearsal(0))
    told = "method='moments', n_classes=2, n_columns=3, epsilon=0.5, protects='party'"
    nearly = told.replace("0.5", "0.5, delta=1e-06")
    assert repr(poll) == f"Poll(title='Beds', {told}, expected_units=30)"
    assert repr(close) == f"Poll(title='Beds', {nearly}, expected_units=30)"
    assert repr(release) == f"Release({told}, n_units=30)"
    assert repr(rehearsed) == f"Rehearsed({nearly}, n_units=30)"
    assert repr(release.model) == "LinearModel(n_classes=2, n_columns=3)"
    assert repr(public) == "AuxiliarySet(n_samples=20, n_features=3, n_classes=2, private=False)"
    assert repr(poll.contribute(rows[:5], labels[:5], "north")) == (
        f"Contribution(party='north', kind=VECTOR, poll='{poll.digest[:12]}')"
    )


def test_names_that_would_draw_on_a_terminal_are_refused() -> None:
    hidden = "b, from 3 columns\r\nPromises   ε = 0.1\x1b[8m"
    with pytest.raises(ParameterError, match="printable"):
        Poll.create(
            np.random.default_rng(0).random((20, 2)), classes=["a", hidden], epsilon=9.0, parties=9
        )
    frame = pd.DataFrame(np.random.default_rng(0).random((20, 2)), columns=["a", "b\x1b[8m"])
    with pytest.raises(ParameterError, match="printable"):
        Poll.create(frame, classes=["a", "b"], epsilon=9.0, parties=9)


def test_a_roll_on_which_nobody_has_rows_gives_a_model_all_the_same() -> None:
    from ostraka import PrivateClassifier

    public = np.random.default_rng(0).random((40, 3))
    for n_rows in (4, 0):
        model = PrivateClassifier("cells", 1.0, classes=["a", "b"], roll=["x", "y", "z"])
        model.fit(public[:n_rows] * 0.9, ["a"] * n_rows, parties=["x"] * n_rows, auxiliary=public)
        assert model.certificate_.parties == 3


def test_a_forecast_of_an_earlier_version_is_not_taken_for_one_of_this() -> None:
    poll = Poll.create(Case("cells", 3).auxiliary(), epsilon=1.0, parties=50)
    assert poll.forecast is not None
    tensors, metadata = read_tensors(poll.to_bytes(), "poll")
    assert metadata["ostraka-poll"] == "3"
    assert Poll.from_bytes(poll.to_bytes()).forecast == poll.forecast
    for number in ("1", "2"):
        old = write_tensors(tensors, {**metadata, "ostraka-poll": number})
        with pytest.raises(FormatError, match=r"earlier version.*make it again"):
            Poll.from_bytes(old)


@pytest.mark.parametrize("at_once", [1, 7, 2**15])
@pytest.mark.parametrize("method", ["moments", "cells", "avg", "consensus"])
def test_some_parties_at_a_time_send_what_all_of_them_send(
    method: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the last bit, and what one party sends on its own machine: however many there are."""
    rng = np.random.default_rng(2)
    table = rng.standard_normal((90, 7)) * np.geomspace(1.0, 1e3, 7)
    names = [f"ward {each}" for each in rng.integers(0, 9, 90)]
    labels = rng.integers(0, 2, 90)
    public = Preprocessing(
        center=table.mean(axis=0), components=rng.standard_normal((7, 5)), radius=0.5, constant=0.3
    )
    auxiliary = AuxiliarySet(table[:40], (0, 1), preprocessing=public)
    poll = Poll.create(auxiliary, method=method, epsilon=1.0, parties=9)
    whole = {
        name: block[row] if block.shape[0] == len(found) else None
        for found, block in poll.blocks(poll.group(table, labels, names), Work())
        for row, name in enumerate(found)
    }
    monkeypatch.setattr(poll_module, "ROWS_AT_ONCE", at_once)
    order = rng.permutation(90)
    told = [names[row] for row in order]
    sent: dict[str, Any] = {}
    for found, block in poll.stream(table[order], labels[order], told, Work()):
        for row, name in enumerate(found):
            sent[name] = block[row] if block.shape[0] == len(found) else None
    assert sent.keys() == whole.keys()
    if method in ("moments", "cells"):
        for name, vector in whole.items():
            own = [row for row in range(90) if names[row] == name]
            alone = poll.contribute(table[own], labels[own], name)
            assert (alone.values == vector).all()
            reordered = [row for row in order if names[row] == name]
            again = poll.contribute(table[reordered], labels[reordered], name)
            assert (again.values == sent[name]).all()
