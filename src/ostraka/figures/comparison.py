"""Our methods, the paper's and their peers: accuracy against 1/ε."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.figures.reproduction import Measurement
from ostraka.figures.style import new_figure, save

__all__ = ["draw_comparison"]

OURS = {
    "auto": "#0b6e4f",
    "moments": "#2a9d8f",
    "cells": "#7fb800",
    "consensus": "#2a5caa",
    "consensus-paper": "#8fb3e8",
    "refine": "#06402b",
}
PAPERS = {"soft": "#b3541e", "avg": "#e09f3e"}
OTHERS = ("#7b2d8b", "#c2185b", "#6d4c41", "#546e7a", "#9e9d24", "#455a64")


def draw_comparison(rows: Sequence[Measurement], title: str, paths: Sequence[Path]) -> None:
    """Solid: pure ε. Dashed: (ε, δ). Thick: ours."""
    figure, axes = new_figure(8.6, 4.8)
    methods = list(dict.fromkeys(row.method for row in rows))
    others = iter(OTHERS * 4)
    colours = {method: OURS.get(method) or PAPERS.get(method) or next(others) for method in methods}
    for method in methods:
        for calibration in ("pure", "delta"):
            curve = sorted((row for row in rows if (row.method, row.calibration) == (method, calibration)), key=lambda row: row.inv_epsilon)
            curve = [row for row in curve if row.inv_epsilon > 0.0]
            if curve:
                _line(axes, curve, colours[method], method, calibration)
    for row in (row for row in rows if row.calibration == "none"):
        axes.axhline(
            row.mean, color="#333333", lw=1.1, ls="-" if row.method == "batch" else "-.", label=f"{row.method} (not private)", zorder=1
        )
    lowest = min(row.mean for row in rows) - 0.05
    axes.set(
        xscale="log",
        xlabel="1/ε for a whole party  (more private →)",
        ylabel="test accuracy",
        ylim=(max(0.0, np.floor(10 * lowest) / 10), 1.0),
    )
    axes.set_title(title, loc="left", fontsize=11)
    axes.grid(axis="y", lw=0.4, alpha=0.4)
    axes.legend(frameon=False, fontsize=8.5, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=2.8)
    for path in paths:
        save(figure, path)


def _line(axes: Any, curve: Sequence[Measurement], colour: str, method: str, calibration: str) -> None:
    x = [row.inv_epsilon for row in curve]
    mean, sd = np.array([row.mean for row in curve]), np.array([row.sd for row in curve])
    ours = method in OURS
    label = f"{method}, {'pure ε' if calibration == 'pure' else '(ε, δ)'}"
    style = "-" if calibration == "pure" else "--"
    axes.plot(
        x, mean, color=colour, ls=style, lw=2.1 if ours else 1.3, marker="o" if ours else "s", ms=3, label=label, zorder=4 if ours else 3
    )
    axes.fill_between(x, mean - sd, mean + sd, color=colour, alpha=0.08, lw=0, zorder=2)
