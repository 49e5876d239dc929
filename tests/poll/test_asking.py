"""What parties send: each from its own rows, columns by name, votes of any classifier."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ostraka import PrivateClassifier
from ostraka.errors import (
    FormatError,
    InputError,
    MissingColumnsError,
    ParameterError,
    UnknownClassError,
)
from ostraka.methods.base import Work
from ostraka.party.contribution import Contribution, Kind
from ostraka.poll import Poll, asking
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.preprocessing import Preprocessing
from ostraka.tally import Tally
from tests.laws.cases import Case, D
from tests.poll.made import private_poll

# A handful of parties is enough for a test, and said to be too few; that has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore::ostraka.errors.PrivacyWarning")


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


# ---- many parties in one process -----------------------------------------------------------------


def test_one_partys_classifier_moves_no_other_ballot_and_shows_nothing(
    capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
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


def test_a_roll_on_which_nobody_has_rows_gives_a_model_all_the_same() -> None:
    public = np.random.default_rng(0).random((40, 3))
    for n_rows in (4, 0):
        model = PrivateClassifier("cells", 1.0, classes=["a", "b"], roll=["x", "y", "z"])
        model.fit(public[:n_rows] * 0.9, ["a"] * n_rows, parties=["x"] * n_rows, auxiliary=public)
        assert model.certificate_.parties == 3


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
    monkeypatch.setattr(asking, "ROWS_AT_ONCE", at_once)
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


@pytest.mark.parametrize("method", ["moments", "consensus"])
@pytest.mark.parametrize("protects", ["party", "person", "row"])
def test_rows_without_names_are_protected_one_by_one(method: str, protects: str) -> None:
    rng = np.random.default_rng(0)
    rows, labels = rng.standard_normal((12, 3)), rng.integers(0, 2, 12)
    auxiliary = AuxiliarySet.scaled(rng.standard_normal((30, 3)), (0, 1))
    counted = {"persons": 12} if protects == "person" else {"parties": 12}
    poll = Poll.create(auxiliary, method=method, epsilon=1.0, protects=protects, **counted)
    named, wrong = [str(row) for row in range(12)], f"because this poll protects .* ?{protects}"
    given, other = (None, named) if protects == "row" else (named, None)
    assert len(poll.group(rows, labels, given)) == 12
    assert len(poll.parties(rows, labels, given)) == 12
    for ask in (poll.group, poll.parties, lambda *asked: list(poll.stream(*asked, Work()))):
        with pytest.raises(ParameterError, match=wrong):
            ask(rows, labels, other)
