"""The paper's figure: accuracy against ε, with a line per method.

There is a row of panels per number of parties, and a panel per kind of noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ostraka.figures.labels import End, draw_reference, label_ends
from ostraka.figures.style import (
    COLOURS,
    GUESSING,
    draw_epsilon_axis,
    new_figure,
    plain_number,
    save,
)

__all__ = ["Measurement", "draw_reproduction"]

TITLES = {
    "tight": "Our tight noise",
    "paper": "Noise as in the paper",
    "exp-radius": "A hypothesis, NOT private",
}
REFERENCES = {"batch": ("batch (no privacy)", "-"), "indiv": ("indiv (a party alone)", "--")}
METHODS = ("soft", "avg", "vote")
NO_NOISE = 10.0
"""This many times the largest ε: where a line without any noise begins."""


class Measurement(Protocol):
    """A row of results."""

    @property
    def method(self) -> str: ...  # noqa: D102
    @property
    def calibration(self) -> str: ...  # noqa: D102
    @property
    def parties(self) -> int: ...  # noqa: D102
    @property
    def inv_epsilon(self) -> float: ...  # noqa: D102
    @property
    def mean(self) -> float: ...  # noqa: D102
    @property
    def sd(self) -> float: ...  # noqa: D102


def draw_reproduction(
    rows: Sequence[Measurement], title: str, paths: Sequence[Path], guessing: float | None = None
) -> None:
    """Panels on shared axes, written to every path.

    Thin lines show guessing, a party alone and no privacy.
    """
    kinds = [kind for kind in TITLES if any(row.calibration == kind for row in rows)] or ["tight"]
    sizes = sorted({row.parties for row in rows})
    width, height = 3.5 * len(kinds) + 1.6, 3.1 * len(sizes) + 1.0
    figure, all_axes = new_figure(width, height, len(sizes), len(kinds))
    grid = np.atleast_2d(all_axes)
    places = _place(row.inv_epsilon for row in rows)
    lowest = min([row.mean for row in rows] + ([] if guessing is None else [guessing])) - 0.05
    for at, axes in np.ndenumerate(grid):
        parties, kind = sizes[at[0]], kinds[at[1]]
        _draw_epsilons(axes, places)
        axes.set(ylim=(max(0.0, np.floor(10.0 * lowest) / 10.0), 1.0))
        here = [row for row in rows if row.parties == parties]
        references = _draw_references(axes, here, guessing)
        named = references if kind == kinds[-1] else []  # once a row is enough
        label_ends(axes, [*named, *_draw_lines(axes, here, kind, places)])
        axes.grid(axis="y", lw=0.4, alpha=0.4)
        axes.set_title(f"{TITLES[kind]}, {parties:,} parties", fontsize=9.5, loc="left")
        axes.label_outer()
    figure.supylabel("Share of unseen samples classified right", fontsize=10)
    figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    for path in paths:
        save(figure, path)


def _draw_references(axes: Any, rows: Sequence[Measurement], guessing: float | None) -> list[End]:
    ends = [
        draw_reference(axes, row.mean, *REFERENCES[row.method])
        for row in rows
        if row.method in REFERENCES
    ]
    return ends if guessing is None else [*ends, draw_reference(axes, guessing, GUESSING, ":")]


def _draw_lines(
    axes: Any, rows: Sequence[Measurement], kind: str, places: dict[float, float]
) -> list[End]:
    curves = (
        [row for row in rows if (row.method, row.calibration) == (method, kind)]
        for method in METHODS
    )
    return [
        _draw_line(axes, sorted(curve, key=lambda row: -row.inv_epsilon), places)
        for curve in curves
        if curve
    ]


def _draw_line(axes: Any, curve: Sequence[Measurement], places: dict[float, float]) -> End:
    x = [places[row.inv_epsilon] for row in curve]
    mean, sd = np.array([row.mean for row in curve]), np.array([row.sd for row in curve])
    colour = COLOURS[curve[0].method]
    axes.plot(x, mean, color=colour, lw=1.8, marker="o", ms=3, zorder=3)
    axes.fill_between(x, mean - sd, mean + sd, color=colour, alpha=0.08, lw=0, zorder=2)
    return End(x[-1], mean[-1], curve[0].method, colour, bold=True)


def _place(inverses: Any) -> dict[float, float]:
    """Where each 1/ε is on the axis of ε; 0, which is no noise, one step right of the largest ε."""
    known = sorted(set(inverses))
    finite = [1.0 / each for each in known if each > 0.0]
    beyond = NO_NOISE * max(finite, default=1.0)
    return {each: 1.0 / each if each > 0.0 else beyond for each in known}


def _draw_epsilons(axes: Any, places: dict[float, float]) -> None:
    from matplotlib.ticker import FixedLocator

    draw_epsilon_axis(axes, places.values(), "← more private      ε      less private →")
    if 0.0 not in places:
        return
    beyond = places[0.0]
    ticks = [each for each in axes.xaxis.get_major_locator()() if each < beyond]
    axes.xaxis.set_major_locator(FixedLocator([*ticks, beyond]))
    axes.xaxis.set_major_formatter(
        lambda value, _: "no\nnoise" if value == beyond else plain_number(value)
    )
