"""From data to files; and, on the real data, the paper's numbers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from ostraka.datasets import load
from ostraka.errors import InputError, ParameterError
from ostraka.experiments.reproduce import panels_of, reproduce
from ostraka.experiments.results import Row, value_at
from ostraka.experiments.settings import Settings
from ostraka.experiments.tasks import TASKS, split
from ostraka.party.training.parameters import train_linear
from tests.experiments.small import small_dataset, small_task  # noqa: F401

needs_data = pytest.mark.skipif(
    not (Path(os.environ.get("OSTRAKA_DATA") or "data") / "har.npz").exists(),
    reason="needs har.npz in the folder that OSTRAKA_DATA names",
)
QUICK = Settings(task="small", inverse_epsilons=(0.1, 1.0), trials=2, private_trials=4)


@pytest.mark.usefixtures("small_task")
def test_every_file_is_written(tmp_path: Path) -> None:
    found = reproduce(small_dataset(), QUICK, (20, 40), tmp_path, n_jobs=1)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        "results.json",
        "results.csv",
        "run.json",
        "figure.png",
        "figure.svg",
        "trials",
    }, "the paper has nothing to say of it"
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "figure.svg").read_bytes()[:1000]
    assert (
        len(json.loads((tmp_path / "results.json").read_text()))
        == len(found.rows)
        == 2 * (2 + 3 * 2 * 3)
    )


@pytest.mark.usefixtures("small_task")
def test_panels() -> None:
    data = small_dataset()
    assert panels_of(QUICK, data, None) == (20, 40)
    assert panels_of(QUICK, data, 30) == (30,)
    natural = Settings(task="small", natural_parties=True)
    assert panels_of(natural, data, None) == (3,)
    with pytest.raises(ParameterError, match="none with natural parties"):
        panels_of(natural, data, 30)
    with pytest.raises(ParameterError, match="2 to 90"):
        panels_of(QUICK, data, 91)
    with pytest.raises(InputError, match="do not say where"):
        panels_of(Settings(task="digits", natural_parties=True), load("digits"), None)


def mean(
    rows: list[Row], method: str, calibration: str, parties: int, inverse: float = 0.0
) -> float:
    found = value_at(rows, method, calibration, parties, inverse)
    assert found is not None
    return found.mean


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    settings = Settings(
        task="har",
        inverse_epsilons=(0.1, 1.0),
        calibrations=("paper",),
        hypothesis=True,
        private_trials=50,
    )
    return reproduce(load("har"), settings, (1000,), tmp_path_factory.mktemp("har")).rows


@needs_data
@pytest.mark.slow
class TestHar:
    """Ten trials without noise, as in the paper; the ranges are wider than ten standard errors."""

    def test_without_noise_the_papers_numbers_come_out(self, rows: list[Row]) -> None:
        assert 0.89 <= mean(rows, "batch", "none", 1000) <= 0.91
        assert 0.47 <= mean(rows, "indiv", "none", 1000) <= 0.51
        assert 0.78 <= mean(rows, "vote", "paper", 1000) <= 0.83
        assert 0.75 <= mean(rows, "soft", "paper", 1000) <= 0.79
        assert 0.64 <= mean(rows, "avg", "paper", 1000) <= 0.70

    def test_with_the_noise_that_the_formulas_ask_for_nothing_is_left(
        self, rows: list[Row]
    ) -> None:
        for method in ("soft", "avg", "vote"):
            assert mean(rows, method, "paper", 1000, 1.0) < 0.3

    def test_the_hypothesis_comes_near_to_what_the_paper_shows(self, rows: list[Row]) -> None:
        indiv = mean(rows, "indiv", "none", 1000)
        assert mean(rows, "soft", "exp-radius", 1000, 1.0) > indiv
        assert mean(rows, "vote", "exp-radius", 1000, 0.1) < indiv

    def test_centred_features_lift_avg(self, rows: list[Row], tmp_path: Path) -> None:
        settings = Settings(
            task="har",
            methods=("avg",),
            inverse_epsilons=(0.0,),
            calibrations=("paper",),
            centre=True,
        )
        centred = reproduce(load("har"), settings, (1000,), tmp_path).rows
        assert mean(centred, "avg", "paper", 1000) > mean(rows, "avg", "paper", 1000) + 0.05


@needs_data
@pytest.mark.slow
def test_the_mean_is_what_pulls_avg_down() -> None:
    """Without centring, the averaged weights are biased along the mean of the features.

    If the bias is removed afterwards, avg recovers.
    """
    settings, data = Settings(task="har"), load("har")
    before, after = [], []
    for trial in range(3):
        drawn = split(data, TASKS["har"], 1000, settings.stream(1000, trial, "split"))
        weights = np.concatenate(
            list(train_linear(drawn.parties, 6, 1e-4, "logistic", 1, None))
        ).mean(axis=0)
        scores = drawn.test.features @ weights
        before.append(np.mean(scores.argmax(axis=1) == drawn.test.labels))
        after.append(
            np.mean(
                (scores - drawn.auxiliary.features.mean(axis=0) @ weights).argmax(axis=1)
                == drawn.test.labels
            )
        )
    assert np.mean(after) > np.mean(before) + 0.08


@needs_data
@pytest.mark.slow
def test_kdd99_without_noise(tmp_path: Path) -> None:
    settings = Settings(
        task="kdd99",
        methods=("batch", "soft", "indiv"),
        calibrations=("tight",),
        inverse_epsilons=(0.0,),
        trials=2,
        private_trials=2,
    )
    rows = reproduce(load("kdd99"), settings, (5000,), tmp_path).rows
    assert 0.91 <= mean(rows, "batch", "none", 5000) <= 0.93
    assert 0.91 <= mean(rows, "soft", "tight", 5000) <= 0.93
    assert 0.89 <= mean(rows, "indiv", "none", 5000) <= 0.91


def test_a_small_run_of_digits(tmp_path: Path) -> None:
    settings = Settings(task="digits", inverse_epsilons=(0.01, 1.0), trials=2, private_trials=4)
    rows = reproduce(load("digits"), settings, (200,), tmp_path, n_jobs=1).rows
    assert mean(rows, "batch", "none", 200) > 0.85
    assert mean(rows, "avg", "tight", 200, 0.01) > mean(rows, "avg", "paper", 200, 0.01)
    assert all(np.isfinite(row.mean) for row in rows)
