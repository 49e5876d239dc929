"""Every method is described, and the best private number at each ε stands out."""

from __future__ import annotations

from typing import Any

import pytest

from ostraka.experiments.compare import OURS, PAPERS, CompareSettings
from ostraka.experiments.comparison_tables import as_markdown, describe_methods, tabulate
from ostraka.experiments.peers import PEERS
from ostraka.experiments.results import Row
from tests.experiments.small import small_task  # noqa: F401

pytestmark = pytest.mark.usefixtures("small_task")


def a_row(method: str, calibration: str, inverse: float, mean: float, **more: Any) -> Row:
    return Row("small", method, calibration, 40, inverse, mean, 0.01, 3, **more)


def test_everything_is_described() -> None:
    rows = describe_methods(CompareSettings(task="small"))
    assert [row.method for row in rows] == [*OURS, *PAPERS, *PEERS]
    assert all(row.guarantee and row.trust and row.tuning for row in rows)


def test_descriptions_are_a_table() -> None:
    head, rule, line = as_markdown(
        describe_methods(CompareSettings(task="small", methods=("cells",)))
    ).splitlines()
    assert head.count("|") == rule.count("|") == line.count("|") == 5
    assert line.startswith("| `cells` | ε, pure | coordinator, one upload |")


def test_the_best_number_at_each_epsilon_is_bold() -> None:
    """The largest accuracy, and the smallest error; what is not private stands below."""
    settings = CompareSettings(
        task="small", methods=("cells", "auto", "batch"), inverse_epsilons=(0.1, 1.0, 10.0)
    )
    told = tabulate(
        [
            a_row("batch", "none", 0.0, 0.95),
            a_row("cells", "pure", 1.0, 0.8, told_off=0.02),
            a_row("cells", "pure", 0.1, 0.9, told_off=0.03),
            a_row("auto", "delta", 0.1, 0.85, told_off=0.01),
            a_row("auto", "delta", 1.0, 0.81, told_off=0.04),
        ],
        settings,
    )
    assert told == (
        "| 1/ε | | 0.1 | 1 |\n"
        "|---|---|---|---|\n"
        "| `cells` | ε | **0.900** | 0.800 |\n"
        "| `auto` | (ε, δ) | 0.850 | **0.810** |\n\n"
        "How far a model's own estimate of its accuracy is from it, on average:\n\n"
        "| 1/ε | | 0.1 | 1 |\n"
        "|---|---|---|---|\n"
        "| `cells` | ε | 0.030 | **0.020** |\n"
        "| `auto` | (ε, δ) | **0.010** | 0.040 |\n\n"
        "Not private: `batch` 0.950.\n"
    )


def test_what_was_not_measured_leaves_a_gap() -> None:
    settings = CompareSettings(
        task="small", methods=("cells", "auto"), inverse_epsilons=(0.1, 1.0, 10.0)
    )
    rows = [a_row("cells", "pure", each, 0.8) for each in (0.1, 10.0)]
    rows += [a_row("auto", "pure", each, 0.7) for each in (0.1, 1.0, 10.0)]
    lines = tabulate(rows, settings).splitlines()
    assert lines[2] == "| `cells` | ε | **0.800** |  | **0.800** |"
    assert lines[3] == "| `auto` | ε | 0.700 | **0.700** | 0.700 |"
