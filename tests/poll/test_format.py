"""The poll as a file: one form, nothing private, `FormatError` for anything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from ostraka.errors import FormatError, OstrakaError, ParameterError
from ostraka.ledger import Budget, Ledger
from ostraka.mechanism import Rehearsal
from ostraka.methods.base import Work
from ostraka.party.contribution import Contribution, Kind
from ostraka.party.sealed import open_share
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.publishing import publish
from ostraka.sealing import Opener
from ostraka.tally import Tally
from ostraka.tensors import canonical_json, read_tensors, write_tensors
from tests.laws.cases import CASES, Case, D, M
from tests.poll.made import private_poll, put, rewritten
from tests.sealing.made import COORDINATOR, SERVERS

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


@pytest.mark.parametrize(("name", "within"), [("moments", 1.0), ("moments-within", 0.5)])
def test_polls_of_moments_stay_readable(name: str, within: float) -> None:
    """The first was made before parties could keep some of what lies between them."""
    poll = Poll.load(FILES / f"{name}-1.poll")
    assert poll.method.within == within  # type: ignore[attr-defined]
    _, metadata = read_tensors((FILES / f"{name}-1.poll").read_bytes(), "poll")
    assert ("within" in json.loads(metadata["poll"])["method"]) is (within < 1.0)
    sent = Contribution.load(FILES / f"{name}-1.contribution")
    assert sent.poll == poll.digest
    Tally(poll).add(sent)


def test_format_5_stays_readable() -> None:
    """With a kernel student, and rows kept back."""
    poll = Poll.load(FILES / "cells-5.poll")
    assert poll.keep_back == 3
    assert poll.method.student == "kernel"  # type: ignore[attr-defined]
    sent = Contribution.load(FILES / "cells-5.contribution")
    Tally(poll).add(sent)
    samples, labels = Case("cells", 3).world()[0]
    assert poll.contribute(samples, labels, "ward 1") == sent


def test_format_6_stays_readable() -> None:
    """Sealed to two servers, with moments of votes."""
    poll = Poll.load(FILES / "consensus-6.poll")
    assert poll.promise.servers == SERVERS
    sent = Contribution.load(FILES / "consensus-6.contribution")
    Tally(poll).check(sent)
    opener = Opener.of(COORDINATOR)
    assert open_share(sent, opener, poll.domain.dimension).size == poll.domain.dimension


@pytest.mark.parametrize(
    "changed",
    [
        {"servers": None},
        {"servers": {}},
        {"servers": {"coordinator": {}, "trustee": {}}},
        {"servers": {"coordinator": SERVERS.to_json()["coordinator"]}},
        {"servers": dict.fromkeys(("coordinator", "trustee"), SERVERS.to_json()["trustee"])},
        {"servers": dict(zip(("trustee", "coordinator"), ("x", "y")))},
    ],
    ids=str,
)
def test_servers_that_are_none(changed: dict[str, Any]) -> None:
    """Nor is a poll read whose trustee has somebody else's sealing key."""
    data = Case("cells", 2).poll(servers=SERVERS).to_bytes()
    tensors, metadata = read_tensors(data, "poll")
    content = json.loads(metadata["poll"])
    content["promise"] |= changed
    with pytest.raises(OstrakaError):
        Poll.from_bytes(write_tensors(tensors, metadata | {"poll": canonical_json(content)}))
    held = SERVERS.to_json()
    held["trustee"]["sealing"] = held["coordinator"]["sealing"]
    content["promise"]["servers"] = held
    with pytest.raises(OstrakaError):
        Poll.from_bytes(write_tensors(tensors, metadata | {"poll": canonical_json(content)}))


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


def test_other_students_in_a_file_are_refused() -> None:
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


TOP = 2**63 - 1


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("indptr", [0, 1, 4, 2, 0]),  # scipy takes a matrix that ends without numbers unread
        ("indptr", [0, TOP, -TOP - 1, -5, 4]),  # and differences that wrap round
        ("indptr", [0, 1, 3, 2, 4]),
        ("indptr", [1, 1, 2, 3, 4]),
        ("indptr", [0, 1, 2, 3, 3]),
        ("indptr", [0, 1, 2, 3, 5]),
        ("indptr", []),
        ("indptr", [[0, 1, 2, 3, 4]]),
        ("indptr", [0.0, 1.0, 2.0, 3.0, 4.0]),
        ("indices", [0, 1, 2, 3]),
        ("indices", [0, 1, 2, -1]),
        ("indices", [0, 1, 2]),
        ("data", [0.5, 0.5, 0.5]),
        ("data", [1, 1, 1, 1]),
    ],
)
def test_sparse_rows_that_lead_outside_of_their_arrays_are_refused(part: str, values: Any) -> None:
    """Compiled code would follow them wherever they lead."""
    own = AuxiliarySet(csr_matrix(np.full((4, 3), 0.25)), ("no", "yes"))
    poll = Poll.create(own, method="soft", epsilon=1.0, parties=5)
    tensors, metadata = read_tensors(poll.to_bytes(), "poll")
    four = {
        "data": np.full(4, 0.5),
        "indices": np.array([0, 1, 2, 0]),
        "indptr": np.arange(5),
        part: np.array(values),
    }
    for name in ("features", "samples"):
        changed = {f"auxiliary.{name}.{each}": array for each, array in four.items()}
        with pytest.raises(FormatError, match="sparse rows are damaged"):
            Poll.from_bytes(write_tensors({**tensors, **changed}, metadata))


def test_what_is_not_needed_is_not_carried() -> None:
    """Raw samples are for classifiers that vote; a party that sends labels needs only geometry."""
    for name, poll in POLLS.items():
        tensors, _ = read_tensors(poll.to_bytes(), "poll")
        assert ("auxiliary.samples" in tensors) == poll.votes, name
        assert ("auxiliary.features" in tensors) == (
            poll.method.name not in ("avg", "evaluation")
        ), name


def test_nothing_of_a_private_set_is_in_the_poll() -> None:
    poll, own = private_poll()
    content = poll.to_bytes()
    for row in own.samples:
        assert row.tobytes() not in content
        assert row[0].tobytes() not in content
    assert own.digest not in content.decode("latin-1")


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
        put("method", "samples_each", value=10**400),
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
        Poll.from_bytes(rewritten(change, SMALL))


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
