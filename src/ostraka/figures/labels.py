"""Names at the right ends of lines, instead of a legend.

They are spread so that none covers another, with thin leaders to their lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

__all__ = ["End", "draw_reference", "label_ends", "spread"]

SIZE = 8.5
"""Size of the letters, in points."""
AWAY = 0.035
"""How far the names stand from the axes, as a share of their width."""


@final
@dataclass(frozen=True, slots=True)
class End:
    """Where a line ends, and what it is called."""

    x: float
    y: float
    name: str
    colour: str
    bold: bool = False


def draw_reference(
    axes: Any, y: float, name: str, style: str = "-", colour: str = "#555555"
) -> End:
    """A thin horizontal line for what does not depend on ε; returns its right end."""
    axes.axhline(y, color=colour, lw=0.8, ls=style, zorder=1)
    return End(axes.get_xlim()[1], y, name, colour)


def label_ends(axes: Any, ends: Sequence[End]) -> None:
    """Write the names; the limits of the axes must be set before."""
    if not ends:
        return
    within = axes.transScale + axes.transLimits  # from data to shares of the axes
    points = [within.transform((end.x, end.y)) for end in ends]
    rows = axes.get_subplotspec().get_gridspec().nrows
    height = 72.0 * 0.66 * axes.figure.get_figheight() / rows  # in points, titles taken off
    places = spread([y for _, y in points], gap=1.25 * SIZE / height)
    for end, (x, y), place in zip(ends, points, places):
        axes.plot(
            [x, 1.0 + 0.2 * AWAY, 1.0 + 0.8 * AWAY],
            [y, y, place],
            color=end.colour,
            lw=0.6,
            alpha=0.7,
            transform=axes.transAxes,
            clip_on=False,
            zorder=1,
        )
        axes.text(
            1.0 + AWAY,
            place,
            end.name,
            color=_darker(end.colour),
            fontsize=SIZE,
            fontweight="bold" if end.bold else "normal",
            va="center_baseline",
            transform=axes.transAxes,
        )


def _darker(colour: str) -> tuple[float, ...]:
    """For letters, which are thinner than lines."""
    from matplotlib.colors import to_rgb

    return tuple(0.75 * part for part in to_rgb(colour))


def spread(
    heights: Sequence[float], gap: float, low: float = 0.0, high: float = 1.0
) -> list[float]:
    """Heights at least `gap` apart, in order and as close to the given ones as possible.

    Close in the sense of least squares.
    """
    from sklearn.isotonic import isotonic_regression

    order = np.argsort(heights, kind="stable")
    steps = gap * np.arange(len(order))
    moved = isotonic_regression(np.asarray(heights, dtype=np.float64)[order] - steps)
    top = max(low, high - steps[-1])
    places = np.empty(len(order))
    places[order] = np.clip(moved, low, top) + steps
    return [float(place) for place in places]
