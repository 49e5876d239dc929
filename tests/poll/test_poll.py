"""The poll as a value: it prints as one line, is kept in files, and shows nothing private."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka import PrivateClassifier
from ostraka.errors import FormatError
from ostraka.mechanism import Rehearsal
from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet
from ostraka.public.preprocessing import Preprocessing
from ostraka.publishing import publish
from ostraka.tally import Tally
from tests.laws.cases import CASES

# A handful of parties is enough for a test, and said to be too few; that has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore::ostraka.errors.PrivacyWarning")


def test_files(tmp_path: Path) -> None:
    poll = CASES[0].poll(title="Stroke, 2026")
    poll.save(tmp_path / "a.poll")
    assert Poll.load(tmp_path / "a.poll").digest == poll.digest
    with pytest.raises(IsADirectoryError):
        Poll.load(tmp_path)
    with pytest.raises(FileNotFoundError):
        Poll.load(tmp_path / "b.poll")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FormatError, match="not a regular file"):
        Poll.load(tmp_path / "pipe")


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


def test_a_private_set_stays_with_the_coordinator() -> None:
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
