"""Rows gather trials; files hold the same rows."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from ostraka.experiments.engine import Trial
from ostraka.experiments.results import read_rows, rows_of, value_at, write_rows, write_run
from ostraka.experiments.settings import Settings
from ostraka.experiments.trial import Measured


def measured(*accuracies: float, inverse: float = 1.0) -> tuple[Measured, ...]:
    return (
        Measured(
            method="soft", calibration="tight", inverse_epsilon=inverse, accuracies=accuracies
        ),
    )


TRIALS = [
    Trial(10, 0, measured(0.5, 0.7)),
    Trial(10, 1, measured(0.9)),
    Trial(20, 0, measured(0.2, inverse=0.0)),
]


def test_means_deviations_and_counts_are_over_all_draws() -> None:
    first, second = rows_of("har", TRIALS)
    assert (first.parties, first.trials, first.inv_epsilon) == (10, 3, 1.0)
    assert first.mean == pytest.approx(0.7)
    assert first.sd == pytest.approx(0.16329931618554522)
    assert (second.parties, second.trials, second.sd) == (20, 1, 0.0)


def test_what_else_was_measured_is_gathered_too() -> None:
    more = Measured(
        method="auto",
        calibration="pure",
        inverse_epsilon=1.0,
        accuracies=(0.8, 0.6),
        balanced=(0.7, 0.5),
        areas=(0.9,),
        told=(0.75, 0.9),
        doubtful=(0.1, 0.3),
    )
    (row,) = rows_of("har", [Trial(10, 0, (more,)), Trial(10, 1, (more,))])
    assert row.balanced == pytest.approx(0.6)
    assert row.area == pytest.approx(0.9)
    assert row.told_off == pytest.approx((0.05 + 0.3) / 2.0)
    assert row.doubtful == pytest.approx(0.2)
    (row,) = rows_of("har", [Trial(10, 0, (replace(more, told=(None, 0.9)),))])
    assert row.told_off == pytest.approx(0.3), "of the model that said something"
    (plain,) = rows_of("har", [Trial(10, 0, measured(0.5))])
    assert (plain.balanced, plain.area, plain.told_off) == (None, None, None)


def test_one_value_can_be_looked_up() -> None:
    rows = rows_of("har", TRIALS)
    found = value_at(rows, "soft", "tight", 20, 0.0)
    assert found is not None
    assert found.mean == 0.2
    assert value_at(rows, "vote", "tight", 20, 0.0) is None


def test_files_hold_the_rows(tmp_path: Path) -> None:
    rows = rows_of("har", TRIALS)
    write_rows(rows, tmp_path)
    assert json.loads((tmp_path / "results.json").read_text()) == [asdict(row) for row in rows]
    with (tmp_path / "results.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [
        {name: "" if value is None else str(value) for name, value in asdict(row).items()}
        for row in rows
    ] == read
    assert read_rows(tmp_path, "har") == rows
    assert list(read[0]) == [
        "task",
        "method",
        "calibration",
        "parties",
        "inv_epsilon",
        "mean",
        "sd",
        "trials",
        "balanced",
        "area",
        "told_off",
        "doubtful",
    ]


def test_a_run_is_described(tmp_path: Path) -> None:
    write_run(Settings(task="har", seed=7), (10, 20), tmp_path)
    content = json.loads((tmp_path / "run.json").read_text())
    assert content["seed"] == content["settings"]["seed"] == 7
    assert content["parties"] == [10, 20]
    assert {"python", "numpy", "ostraka"} <= set(content["versions"])
