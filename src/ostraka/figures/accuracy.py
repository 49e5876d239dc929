"""Accuracy against 1/ε, with references that do not depend on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.figures.style import COLOURS, new_figure, save

__all__ = ["draw_accuracy"]

Curve = tuple[Sequence[float], Sequence[float]]
"""Means and standard deviations."""


def draw_accuracy(
    curves: Mapping[tuple[str, Any], Curve],
    references: Mapping[str, float],
    inverse_epsilons: Sequence[float],
    path: Path,
    title: str = "",
) -> None:
    """A line with a band per (method, calibration): solid for tight, dotted for paper; batch solid on top, indiv dashed below."""
    figure, axes = new_figure()
    for (method, calibration), (means, deviations) in curves.items():
        mean, sd = np.asarray(means), np.asarray(deviations)
        line, name = (
            "-" if calibration == "tight" else ":",
            method if method == "auto" else f"{method}, {calibration}",
        )
        axes.plot(
            inverse_epsilons,
            mean,
            line,
            color=COLOURS[method],
            lw=1.8,
            marker="o",
            ms=3,
            label=method if method == "auto" else f"{method}, {calibration}",
        )
        axes.fill_between(
            inverse_epsilons, mean - sd, mean + sd, color=COLOURS[method], alpha=0.12, lw=0
        )
    for name, value in references.items():
        axes.axhline(
            value,
            color=COLOURS[name],
            lw=1,
            ls="-" if name == "batch" else "--",
            label=f"{name} (not private)",
        )
    axes.set(
        xscale="log",
        xlabel="1/ε (more private →)",
        ylabel="test accuracy",
        ylim=(0, 1),
        title=title,
    )
    axes.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    save(figure, path)
