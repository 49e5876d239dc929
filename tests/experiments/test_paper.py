"""The comparison with the paper computes what it says."""

from __future__ import annotations

import pytest

from ostraka.experiments.paper import as_markdown, compare
from ostraka.experiments.results import Row


def row(task: str, method: str, calibration: str, parties: int, inverse: float, mean: float) -> Row:
    return Row(task, method, calibration, parties, inverse, mean, 0.0, 10)


HAR = [
    row("har", "batch", "none", 1000, 0.0, 0.905),
    row("har", "indiv", "none", 1000, 0.0, 0.5),
    *(
        row("har", "soft", "paper", 1000, inverse, mean)
        for inverse, mean in ((0.0, 0.77), (0.1, 0.6), (1.0, 0.3), (10.0, 0.9))
    ),
]


def by_name(rows: list[Row]) -> dict[str, float]:
    return {each.what: each.ours for each in compare(rows)}


def test_values_without_noise() -> None:
    found = by_name(HAR)
    assert found["batch"] == 0.905
    assert found["soft at 1/ε = 0"] == 0.77
    assert "avg at 1/ε = 0" not in found, "it was not measured"


def test_a_curve_holds_until_it_first_breaks() -> None:
    """On a line over log 1/ε from (0.1, 0.6) to (1, 0.3); nothing beyond a break counts."""
    assert by_name(HAR)["soft above indiv until 1/ε ="] == pytest.approx(0.1 * 10 ** (1 / 3))


def test_within_a_hundredth_of_batch() -> None:
    rows = [row("kdd99", "batch", "none", 20000, 0.0, 0.92)]
    rows += [
        row("kdd99", "soft", "paper", 20000, inverse, mean)
        for inverse, mean in ((0.0, 0.92), (1.0, 0.911), (3.0, 0.909))
    ]
    assert by_name(rows) == {"soft within 0.01 of batch until 1/ε =": pytest.approx(3**0.5)}


def test_a_remark_only_where_numbers_differ() -> None:
    found = {each.what: each for each in compare(HAR)}
    assert found["batch"].agrees
    assert not found["indiv"].agrees
    assert "not private" in found["soft above indiv until 1/ε ="].remark
    lines = as_markdown(compare(HAR)).splitlines()
    assert ["| agrees within" in line for line in lines[2:]] == [
        each.agrees for each in found.values()
    ]


def test_other_tasks_and_sizes_are_not_compared() -> None:
    assert (
        compare(
            [
                row("digits", "batch", "none", 200, 0.0, 0.9),
                row("har", "batch", "none", 500, 0.0, 0.9),
            ]
        )
        == []
    )


def test_the_table() -> None:
    text = as_markdown(compare(HAR))
    assert text.splitlines()[2].startswith(
        "| batch | 1000 | 0.9 | 0.905 | +0.005 | agrees within 0.015 |"
    )
    assert compare(HAR)[0].difference == pytest.approx(0.005)
