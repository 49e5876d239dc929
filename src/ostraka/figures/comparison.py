"""Our methods, the paper's and their peers: accuracy against 1/ε."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.figures.reproduction import Measurement
from ostraka.figures.style import new_figure, save

__all__ = ["draw_comparison"]

MAIN = ("auto", "refine")
"""Drawn thick, with their spread."""
COLOURS = {
    "auto": "#0b6e4f",
    "refine": "#6a1b9a",
    "moments": "#43aa8b",
    "cells": "#90be6d",
    "consensus": "#2a5caa",
    "consensus-paper": "#8fb3e8",
    "soft": "#b3541e",
    "avg": "#e09f3e",
}
OTHERS = (
    ("#c2185b", "^"),
    ("#e57399", "v"),
    ("#37474f", "s"),
    ("#78909c", "D"),
    ("#a1887f", "X"),
    ("#b0a030", "P"),
)


def draw_comparison(rows: Sequence[Measurement], title: str, paths: Sequence[Path]) -> None:
    """Solid: pure ε. Dashed: (ε, δ). Thick, with spread: what we recommend. Hollow markers: what people would take instead."""
    figure, axes = new_figure(9.6, 5.6)
    methods = list(dict.fromkeys(row.method for row in rows if row.calibration != "none"))
    others = iter(OTHERS * 4)
    looks = {
        method: (COLOURS[method], "o") if method in COLOURS else next(others) for method in methods
    }
    for method in methods:
        for calibration in ("pure", "delta"):
            curve = sorted(
                (row for row in rows if (row.method, row.calibration) == (method, calibration)),
                key=lambda row: row.inv_epsilon,
            )
            curve = [row for row in curve if row.inv_epsilon > 0.0]
            if curve:
                _line(axes, curve, *looks[method], method, calibration)
    for row in (row for row in rows if row.calibration == "none"):
        axes.axhline(
            row.mean,
            color="#333333",
            lw=1.1,
            ls="-" if row.method == "batch" else "-.",
            label=f"{row.method} (not private)",
            zorder=1,
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
    axes.legend(
        frameon=False, fontsize=8.5, loc="center left", bbox_to_anchor=(1.0, 0.5), handlelength=2.8
    )
    for path in paths:
        save(figure, path)


def _line(
    axes: Any, curve: Sequence[Measurement], colour: str, marker: str, method: str, calibration: str
) -> None:
    x = [row.inv_epsilon for row in curve]
    mean, sd = np.array([row.mean for row in curve]), np.array([row.sd for row in curve])
    main, ours = method in MAIN, method in COLOURS
    label = f"{method}, {'pure ε' if calibration == 'pure' else '(ε, δ)'}"
    axes.plot(
        x,
        mean,
        color=colour,
        ls="-" if calibration == "pure" else "--",
        lw=2.4 if main else 1.2,
        marker=marker,
        ms=4 if main else 3.5,
        mfc=colour if ours else "white",
        label=label,
        zorder=5 if main else 3,
    )
    if main and calibration == "pure":
        axes.fill_between(x, mean - sd, mean + sd, color=colour, alpha=0.10, lw=0, zorder=2)
