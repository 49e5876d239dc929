"""Our methods, the paper's and their peers: accuracy against ε, with like next to like.

Left, methods with pure ε: ours and the paper's. Right, methods with a δ: ours and what people might
use instead. No panel has more than eight lines, unless all of them are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.figures.labels import End, draw_reference, label_ends
from ostraka.figures.reproduction import Measurement
from ostraka.figures.style import COLOURS, GUESSING, MARKERS, draw_epsilon_axis, new_figure, save

__all__ = ["MOST", "draw_comparison"]

MAIN = ("auto", "refine")
"""Drawn thick, with their spread."""
FIRST = {
    "pure": ("auto", "refine", "moments", "cells", "consensus", "consensus-paper", "soft", "avg"),
    "delta": (
        "auto",
        "refine",
        "dp-gd",
        "dp-fedavg",
        "dp-gd-public",
        "pate",
        "pate-confident",
        "local-dp",
        "moments",
        "consensus",
    ),
}
"""What is drawn first; anything after the eighth is left to the figure of all lines."""
TITLES = {"pure": "With pure ε", "delta": "With (ε, δ)"}
MOST = 8
OTHER = "#8a8a8a"


def draw_comparison(
    rows: Sequence[Measurement],
    title: str,
    paths: Sequence[Path],
    guessing: float | None = None,
    most: int | None = MOST,
) -> None:
    """A panel for pure ε and one for (ε, δ), on shared axes.

    Thin lines show guessing and no privacy. `most`: how many lines a panel has; None: all.
    """
    panels = {kind: _curves(rows, kind)[:most] for kind in FIRST}
    shown = {kind: curves for kind, curves in panels.items() if curves}
    # Enough room for the names of all lines, one above another.
    height = max([4.9, *(0.36 * (len(curves) + 3) for curves in shown.values())])
    figure, all_axes = new_figure(5.6 * max(len(shown), 1), height, columns=max(len(shown), 1))
    values = [row.mean for row in rows] + ([] if guessing is None else [guessing])
    low = max(0.0, float(np.floor(10 * (min(values) - 0.05))) / 10)
    high = min(1.0, float(np.ceil(20 * (max(values) + 0.02))) / 20)
    epsilons = [1.0 / row.inv_epsilon for row in rows if row.inv_epsilon > 0.0]
    for axes, (kind, curves) in zip(np.atleast_1d(all_axes).flat, shown.items()):
        draw_epsilon_axis(axes, epsilons)
        axes.set(ylim=(low, high))
        axes.set_title(TITLES[kind], loc="left", fontsize=10)
        axes.grid(axis="y", lw=0.4, alpha=0.4)
        references = [row for row in rows if row.calibration == "none"]
        ends = [_reference(axes, row) for row in references]
        if guessing is not None:
            ends.append(draw_reference(axes, guessing, GUESSING, ":"))
        ends += [_draw_line(axes, curve) for curve in curves]
        label_ends(axes, ends)
    np.atleast_1d(all_axes).flat[0].set_ylabel("Share of unseen samples classified right")
    figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    for path in paths:
        save(figure, path)


def _curves(rows: Sequence[Measurement], kind: str) -> list[list[Measurement]]:
    """The lines of one panel, by ε: the preferred ones first."""
    here = [row for row in rows if row.calibration == kind and row.inv_epsilon > 0.0]
    known = [name for name in FIRST[kind] if any(row.method == name for row in here)]
    others = [name for name in dict.fromkeys(row.method for row in here) if name not in known]
    return [
        sorted((row for row in here if row.method == name), key=lambda row: -row.inv_epsilon)
        for name in (*known, *others)
    ]


def _reference(axes: Any, row: Measurement) -> End:
    style = "-" if row.method == "batch" else "-."
    return draw_reference(axes, row.mean, f"{row.method} (no privacy)", style)


def _draw_line(axes: Any, curve: Sequence[Measurement]) -> End:
    method = curve[0].method
    colour, main = COLOURS.get(method, OTHER), method in MAIN
    x = [1.0 / row.inv_epsilon for row in curve]
    mean, sd = np.array([row.mean for row in curve]), np.array([row.sd for row in curve])
    axes.plot(
        x,
        mean,
        color=colour,
        lw=2.4 if main else 1.2,
        marker=MARKERS.get(method, "o"),
        ms=4 if main else 3.5,
        mfc="white" if method in MARKERS else colour,
        zorder=5 if main else 3,
    )
    if main:
        axes.fill_between(x, mean - sd, mean + sd, color=colour, alpha=0.10, lw=0, zorder=2)
    return End(x[-1], mean[-1], method, colour, bold=main)
