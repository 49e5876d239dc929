"""The demonstration does what its text says.

Soft is above vote, tight above paper, private below pooled, and auto is useful at ε = 1.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from sklearn.datasets import load_digits

from ostraka.expect.planner import METHODS
from ostraka.experiments.demo import EPSILONS, N_PARTIES, Demonstration, digits
from ostraka.methods.base import Calibration
from ostraka.release import Release

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def watched() -> list[int]:
    return []


@pytest.fixture(scope="module")
def shown(watched: list[int]) -> Demonstration:
    def watch(batches: Any, total: int) -> Any:
        watched.append(total)
        return batches

    return digits(watch)


def test_every_curve_has_a_point_for_every_epsilon(
    shown: Demonstration, watched: list[int]
) -> None:
    assert set(shown.curves) == {
        (method, calibration) for method in METHODS for calibration in get_args(Calibration)
    } | {("auto", "tight")}
    for means, deviations in shown.curves.values():
        assert len(means) == len(deviations) == len(EPSILONS)
        assert all(
            0.0 <= mean <= 1.0 and 0.0 <= deviation <= 0.5
            for mean, deviation in zip(means, deviations)
        )
    assert len(watched) == 1
    assert watched[0] >= 1


def test_soft_reads_more_than_vote(shown: Demonstration) -> None:
    """One party moves a share of votes by one in 200, but may turn a majority."""
    assert shown.mean("soft", "tight", 300.0) >= shown.mean("vote", "tight", 300.0)


def test_tight_reads_more_than_paper(shown: Demonstration) -> None:
    """The same seeds, less noise.

    Where both are guesses, chance decides: they are compared only where one of them is clearly
    better than that.
    """
    for epsilon in EPSILONS:
        tight, paper = shown.mean("avg", "tight", epsilon), shown.mean("avg", "paper", epsilon)
        assert tight >= paper or max(tight, paper) < 0.2, epsilon
    assert shown.mean("avg", "tight", 300.0) >= shown.mean("avg", "paper", 300.0)


def test_the_references_are_where_they_belong(shown: Demonstration) -> None:
    assert set(shown.references) == {"batch", "indiv"}
    assert 0.85 <= shown.references["batch"] <= 0.99
    assert 0.2 <= shown.references["indiv"] <= 0.6, "five digits of ten kinds are few"
    best = max(max(means) for means, _ in shown.curves.values())
    assert shown.references["indiv"] < best <= shown.references["batch"] + 0.03


def test_less_privacy_reads_more(shown: Demonstration) -> None:
    for (method, _), (means, _) in shown.curves.items():
        assert means[0] >= means[-1] - 0.02, method
        assert method == "auto" or means[EPSILONS.index(1.0)] < 0.3, (
            "at ε = 1 two hundred parties are too few for the paper's methods"
        )
    assert shown.mean("auto", "tight", 1.0) > 0.75


def test_the_release_is_real_and_comes_back(shown: Demonstration, tmp_path: Path) -> None:
    shown.release.save(tmp_path / "digits.ostraka")
    loaded = Release.load(tmp_path / "digits.ostraka")
    samples, labels = load_digits(return_X_y=True)
    assert (loaded.predict(samples) == shown.release.predict(samples)).all()
    assert loaded.certificate == shown.release.certificate
    assert (loaded.certificate.method, loaded.certificate.epsilon, loaded.certificate.parties) == (
        "cells",
        1.0,
        N_PARTIES,
    )
    assert 0.0 <= loaded.score(samples, labels) <= 1.0
    assert np.isfinite(loaded.predict_proba(samples)).all()


def test_the_figures_are_those_of_any_other_run(shown: Demonstration) -> None:
    """Everything but the release is seeded."""
    again = digits()
    assert again.curves == shown.curves
    assert again.references == shown.references
    assert (again.release.model.weights != shown.release.model.weights).any(), (
        "and the release is not"
    )
