"""The paper's figure: accuracy against 1/ε, a panel per number of parties, a line with a band per method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ostraka.figures.style import COLOURS, save

__all__ = ["Measurement", "draw_reproduction"]

STYLES = {"tight": "-", "paper": ":", "exp-radius": (0, (6, 2, 1, 2))}
LABELS = {"tight": "tight", "paper": "as in the paper", "exp-radius": "hypothesis, not private"}
BANDS = {"tight": 0.11, "paper": 0.05}
"""How dense the bands of one standard deviation are; the hypothesis has none."""


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


def draw_reproduction(rows: Sequence[Measurement], title: str, paths: Sequence[Path]) -> None:
    """One panel per number of parties, on shared axes; written to every path."""
    from matplotlib.figure import Figure

    panels = sorted({row.parties for row in rows})
    figure = Figure(figsize=(3.7 * len(panels) + 2.9, 4.3), layout="constrained")
    all_axes = np.atleast_1d(figure.subplots(1, len(panels), sharey=True))
    for axes, parties in zip(all_axes, panels):
        _panel(axes, [row for row in rows if row.parties == parties])
        axes.set_title(
            f"{title}, {parties} parties" if len(panels) == 1 else f"{parties} parties",
            fontsize=10.5,
            loc="left",
        )
    lowest = min(row.mean for row in rows) - 0.05
    all_axes[0].set(ylabel="test accuracy", ylim=(max(0.0, np.floor(10.0 * lowest) / 10.0), 1.0))
    if len(panels) > 1:
        figure.suptitle(title, fontsize=12, x=0.01, ha="left")
    handles, labels = all_axes[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, frameon=False, fontsize=8.5, loc="outside right center", handlelength=2.6
    )
    for path in paths:
        save(figure, path)


def _panel(axes: Any, rows: Sequence[Measurement]) -> None:
    inverse = sorted({row.inv_epsilon for row in rows})
    place = _placed(inverse)
    for name in ("batch", "indiv"):
        for row in (row for row in rows if row.method == name):
            axes.axhline(
                row.mean,
                color=COLOURS[name],
                lw=1.6,
                ls="-" if name == "batch" else "--",
                label=f"{name} (not private)",
                zorder=1,
            )
    for method in ("soft", "avg", "vote"):
        for calibration, style in STYLES.items():
            curve = sorted(
                (row for row in rows if (row.method, row.calibration) == (method, calibration)),
                key=lambda row: row.inv_epsilon,
            )
            if curve:
                _line(
                    axes,
                    curve,
                    place,
                    COLOURS[method],
                    style,
                    f"{method}, {LABELS[calibration]}",
                    band=BANDS.get(calibration, 0.0),
                )
    axes.set(xlabel="1/ε  (more private →)")
    axes.set_xticks(
        [place(value) for value in inverse],
        [f"{value:g}" for value in inverse],
        fontsize=7.5,
        rotation=45,
    )
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", lw=0.4, alpha=0.4)


def _line(
    axes: Any,
    curve: Sequence[Measurement],
    place: Callable[[float], float],
    colour: str,
    style: Any,
    label: str,
    *,
    band: float,
) -> None:
    x = [place(row.inv_epsilon) for row in curve]
    mean, sd = np.array([row.mean for row in curve]), np.array([row.sd for row in curve])
    axes.plot(x, mean, color=colour, ls=style, lw=1.7, marker="o", ms=2.8, label=label, zorder=3)
    if band:
        axes.fill_between(x, mean - sd, mean + sd, color=colour, alpha=band, lw=0, zorder=2)


def _placed(values: Sequence[float]) -> Callable[[float], float]:
    """A logarithmic axis with a place for 0, one step left of the smallest positive value."""
    positive = [value for value in values if value > 0.0]
    least = np.log10(positive[0]) if positive else 0.0
    return lambda value: float(np.log10(value)) if value > 0.0 else float(least - 0.7)
