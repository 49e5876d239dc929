"""A table of the user's own as an experiment."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ostraka.errors import InputError, ParameterError
from ostraka.experiments.compare import PAPERS, CompareSettings, compare_trial, draw_split
from ostraka.experiments.own import default_public_rows, keep_test_rows, typical_size

RNG = np.random.default_rng(4)
N = 1000
LABELS = RNG.choice(["well", "ill"], N)
SAMPLES = RNG.standard_normal((N, 3)) + 2.0 * (LABELS == "ill")[:, np.newaxis]
SOURCES = RNG.choice(["A", "b ", "c"], N, p=[0.7, 0.2, 0.1])
OWN = CompareSettings(
    task="mine", methods=("cells",), samples_each=5, n_auxiliary=100, trials=1, draws=2
)


def test_rows_to_measure_on_are_apart_and_the_same_every_time() -> None:
    one, other = (keep_test_rows("mine", SAMPLES, LABELS, SOURCES) for _ in range(2))
    assert (len(one.train), len(one.test)) == (800, 200)
    assert np.array_equal(one.test.samples, other.test.samples)
    together = np.concatenate([one.train.samples, one.test.samples])
    assert np.array_equal(np.sort(together, axis=0), np.sort(SAMPLES, axis=0))
    assert one.classes == ("ill", "well")
    assert set(one.train.sources.tolist()) == {"a", "b", "c"}  # type: ignore[union-attr]


def test_sizes_that_nobody_gave() -> None:
    data = keep_test_rows("mine", SAMPLES, LABELS, SOURCES)
    assert default_public_rows(data) == 80
    sizes = np.unique(data.train.sources, return_counts=True)[1]  # type: ignore[call-overload]
    assert typical_size(data, 400) == round(float(np.median(sizes)) / 2)
    with pytest.raises(ParameterError, match="public-rows = 800"):
        typical_size(data, 800)


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(InputError, match="mine has 99 rows"):
        keep_test_rows("mine", SAMPLES[:99], LABELS[:99], None)


@pytest.mark.parametrize("natural", [False, True])
def test_parties_are_dealt_or_natural(natural: bool) -> None:
    data = keep_test_rows("mine", SAMPLES, LABELS, SOURCES)
    settings = replace(OWN, natural=natural)
    drawn = draw_split(data, settings, 3 if natural else 40, 0)
    assert len(drawn.parties) == (3 if natural else 40)
    sizes = np.diff(drawn.parties.starts)
    assert sizes.sum() == (700 if natural else 200)
    assert drawn.auxiliary.n_samples == 100
    measured = list(compare_trial(data, settings, len(drawn.parties), 0))
    accurate = [each for each in measured if each.inverse_epsilon == 0.1]
    assert len(accurate) == 1
    assert len(accurate[0].accuracies) == 2
    if not natural:
        assert min(accurate[0].accuracies) > 0.8


def test_the_paper_has_no_features_for_it() -> None:
    known = CompareSettings(task="mine", samples_each=5, n_auxiliary=100).methods
    assert "auto" in known
    assert not {*PAPERS, "consensus-paper"} & set(known)
    with pytest.raises(ParameterError, match=r"methods = 'soft'.*need its own features"):
        replace(OWN, methods=("soft",))


@pytest.mark.parametrize("wrong", [{"samples_each": 0}, {"n_auxiliary": 1}])
def test_sizes_must_be_given(wrong: dict[str, int]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        replace(OWN, **wrong)


def test_earlier_runs_of_known_tasks_keep_their_name() -> None:
    """Trials that were finished before these settings existed are still found."""
    assert CompareSettings(task="digits").digest == CompareSettings(task="digits").digest
    other = CompareSettings(task="digits", natural=True)
    assert other.digest != CompareSettings(task="digits").digest
