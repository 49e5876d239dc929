"""Accuracy against ε, with references that do not depend on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.figures.labels import End, draw_reference, label_ends
from ostraka.figures.style import COLOURS, GUESSING, draw_epsilon_axis, new_figure, save

__all__ = ["draw_accuracy"]

Curve = tuple[Sequence[float], Sequence[float]]
"""Means and standard deviations."""
WORDS = {"batch": "batch (no privacy)", "indiv": "indiv (a party alone)"}
STYLES = {"batch": "-", "indiv": "--", GUESSING: ":"}


def draw_accuracy(
    curves: Mapping[tuple[str, Any], Curve],
    references: Mapping[str, float],
    epsilons: Sequence[float],
    path: Path,
    title: str = "",
    *,
    label: str = "Share of unseen samples classified right",
) -> None:
    """A line with a band per (method, calibration): solid for tight, dotted for paper.

    Thin lines show what has no ε.
    """
    figure, axes = new_figure()
    draw_epsilon_axis(axes, epsilons)
    axes.set(ylim=(0, 1), ylabel=label)
    axes.set_title(title, loc="left", fontsize=11)
    ends = [
        draw_reference(axes, value, WORDS.get(name, name), STYLES.get(name, "-"))
        for name, value in references.items()
    ]
    for (method, calibration), curve in curves.items():
        ends.append(_draw_line(axes, epsilons, curve, method, calibration))
    label_ends(axes, ends)
    save(figure, path)


def _draw_line(
    axes: Any, epsilons: Sequence[float], curve: Curve, method: str, calibration: str
) -> End:
    order = np.argsort(epsilons)
    x, mean, sd = (np.asarray(values)[order] for values in (epsilons, *curve))
    ours, colour = method == "auto", COLOURS[method]
    axes.plot(
        x,
        mean,
        "-" if calibration == "tight" else ":",
        color=colour,
        lw=2.4 if ours else 1.5,
        marker="o",
        ms=4 if ours else 3,
        zorder=4 if ours else 3,
    )
    axes.fill_between(x, mean - sd, mean + sd, color=colour, alpha=0.10, lw=0)
    name = method if ours else f"{method}, {calibration}"
    return End(x[-1], mean[-1], name, colour, bold=ours)
