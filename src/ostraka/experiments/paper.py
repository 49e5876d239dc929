"""What the paper reports, next to what was measured.

Numbers and statements of Hamm, Cao, Belkin, ICML 2016, section 6, read from its text. A statement
about where a curve stays close to another is turned into a number: the 1/ε at which it stops
holding, on a straight line (over log 1/ε) between the two values measured there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from ostraka.experiments.results import Row, value_at
from ostraka.experiments.settings import HYPOTHESIS

__all__ = ["Comparison", "compare", "as_markdown"]

CLOSE = 0.01
"""Accuracies this close to each other count as equal."""


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """One thing that the paper says, and what we found."""

    what: str
    parties: int
    paper: float
    ours: float
    spread: float
    """Up to this difference the two agree."""
    remark: str
    """Why they do not agree, or what is known about it."""

    @property
    def agrees(self) -> bool:
        """Whether the difference is within the spread."""
        return abs(self.difference) <= self.spread

    @property
    def verdict(self) -> str:
        """In words."""
        return f"agrees within {self.spread:.2g}" if self.agrees else self.remark

    @property
    def difference(self) -> float:
        """Ours minus the paper's."""
        return self.ours - self.paper


@final
@dataclass(frozen=True, slots=True)
class _Reported:
    task: str
    parties: int
    what: str
    value: float
    measure: Callable[[Sequence[Row], int], float | None]
    spread: float
    """Up to this difference the two agree."""
    remark: str


def compare(rows: Sequence[Row]) -> list[Comparison]:
    """Everything that the paper reports about what was measured."""
    found = []
    for each in REPORTED:
        here = [row for row in rows if row.task == each.task]
        ours = each.measure(here, each.parties)
        if ours is not None:
            found.append(
                Comparison(each.what, each.parties, each.value, ours, each.spread, each.remark)
            )
    return found


def as_markdown(comparisons: Sequence[Comparison]) -> str:
    """A table."""
    lines = ["| | parties | paper | ours | difference | |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {c.what} | {c.parties} | {c.paper:.3g} | {c.ours:.3g} "
        f"| {c.difference:+.2g} | {c.verdict} |"
        for c in comparisons
    ]
    return "\n".join(lines) + "\n"


def _at_zero(method: str) -> Callable[[Sequence[Row], int], float | None]:
    """The accuracy without noise; the calibrations agree there."""

    def measure(rows: Sequence[Row], parties: int) -> float | None:
        found = [
            value_at(rows, method, calibration, parties, 0.0)
            for calibration in ("none", "paper", "tight")
        ]
        return next((row.mean for row in found if row is not None), None)

    return measure


def _until(
    method: str, other: str, slack: float, calibration: str = "paper"
) -> Callable[[Sequence[Row], int], float | None]:
    """The 1/ε up to which `method` is at least `other` − `slack`; the last one if never below."""

    def measure(rows: Sequence[Row], parties: int) -> float | None:
        reference = _at_zero(other)(rows, parties)
        curve = sorted(
            (row.inv_epsilon, row.mean)
            for row in rows
            if (row.method, row.calibration, row.parties) == (method, calibration, parties)
        )
        if reference is None or len(curve) < 2:
            return None
        limit = reference - slack
        for (before, above), (after, below) in pairwise(curve):
            if above < limit:
                return before
            if below < limit:
                return _crossing(before, after, (above - limit) / (above - below))
        return curve[-1][0]

    return measure


def _crossing(before: float, after: float, share: float) -> float:
    """That share of the way from one 1/ε to the next; linear from 0, which has no logarithm."""
    return float(before * (after / before) ** share) if before > 0.0 else after * share


def _at(method: str, inverse: float) -> Callable[[Sequence[Row], int], float | None]:
    def measure(rows: Sequence[Row], parties: int) -> float | None:
        row = value_at(rows, method, "paper", parties, inverse)
        return None if row is None else row.mean

    return measure


_POSITIONS = (
    "the positions on the axis of ε do not follow from the paper's own formulas, "
    "by which the noise there is longer than any minimiser; "
    "`--hypothesis exp-radius` shows, not privately, what noise without the factor D would give"
)
_GUESS = "what the paper may have done: a guess, which nothing in its text proves"
REPORTED = (
    _Reported(
        "har",
        1000,
        "batch",
        0.90,
        _at_zero("batch"),
        0.015,
        "another draw of the split, another copy of the data",
    ),
    _Reported(
        "har",
        1000,
        "indiv",
        0.47,
        _at_zero("indiv"),
        0.02,
        "local classifiers solved to the end are a little better",
    ),
    _Reported(
        "har",
        1000,
        "vote at 1/ε = 0",
        0.79,
        _at_zero("vote"),
        0.02,
        "another draw of the split, another copy of the data",
    ),
    _Reported(
        "har",
        1000,
        "soft at 1/ε = 0",
        0.76,
        _at_zero("soft"),
        0.02,
        "another draw of the split, another copy of the data",
    ),
    _Reported(
        "har",
        1000,
        "avg at 1/ε = 0",
        0.67,
        _at_zero("avg"),
        0.02,
        "depends on how features are centred: see the page on the reproduction",
    ),
    _Reported(
        "har",
        1000,
        "vote at 1/ε = 0.1 (chance)",
        1 / 6,
        _at("vote", 0.1),
        0.05,
        "not as lost as the paper says",
    ),
    _Reported(
        "har",
        1000,
        "soft above indiv until 1/ε =",
        1.0,
        _until("soft", "indiv", 0.0),
        0.5,
        _POSITIONS,
    ),
    _Reported(
        "har",
        1000,
        "avg above indiv until 1/ε =",
        1.0,
        _until("avg", "indiv", 0.0),
        0.5,
        _POSITIONS,
    ),
    _Reported(
        "har",
        1000,
        "the same for soft without the factor D (not private)",
        1.0,
        _until("soft", "indiv", 0.0, HYPOTHESIS),
        0.5,
        _GUESS,
    ),
    _Reported(
        "har",
        1000,
        "the same for avg without the factor D (not private)",
        1.0,
        _until("avg", "indiv", 0.0, HYPOTHESIS),
        0.5,
        _GUESS,
    ),
    _Reported(
        "kdd99",
        20000,
        "soft within 0.01 of batch until 1/ε =",
        10.0,
        _until("soft", "batch", CLOSE),
        5.0,
        _POSITIONS,
    ),
    _Reported(
        "kdd99",
        20000,
        "the same without the factor D (not private)",
        10.0,
        _until("soft", "batch", CLOSE, HYPOTHESIS),
        5.0,
        _GUESS,
    ),
)
