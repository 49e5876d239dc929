"""One look for all figures: a colour per method, an axis for ε, plain words, no window."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = [
    "COLOURS",
    "GUESSING",
    "MARKERS",
    "PRIVACY",
    "draw_epsilon_axis",
    "new_figure",
    "plain_number",
    "save",
]

COLOURS = {
    "auto": "#0072b2",
    "refine": "#d55e00",
    "moments": "#56b4e9",
    "cells": "#009e73",
    "consensus": "#cc79a7",
    "consensus-paper": "#b79ad0",
    "soft": "#e69f00",
    "avg": "#7a6a00",
    "vote": "#882255",
    "dp-gd": "#6b6b6b",
    "dp-fedavg": "#949494",
    "dp-gd-public": "#a08c7a",
    "pate": "#6f86a3",
    "pate-confident": "#a3b3c7",
    "local-dp": "#b0a670",
    "batch": "#333333",
    "pooled": "#333333",
    "indiv": "#333333",
}
"""The same method has the same colour in every figure.

Ours are strong (Okabe and Ito's, which the colour-blind can tell apart), peers are muted.
"""
MARKERS = {
    "dp-gd": "s",
    "dp-fedavg": "D",
    "dp-gd-public": "X",
    "pate": "^",
    "pate-confident": "v",
    "local-dp": "P",
}
"""Markers tell peers apart too; all others have dots."""
PRIVACY = "← more private     ε for a whole party     less private →"
GUESSING = "guessing"


def new_figure(
    width: float = 7.4, height: float = 4.6, rows: int = 1, columns: int = 1
) -> tuple[Any, Any]:
    """A figure with its axes (an array of them, if there are several), without a window."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    all_axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axes in all_axes.flat:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, all_axes[0, 0] if rows == columns == 1 else all_axes


def draw_epsilon_axis(axes: Any, epsilons: Iterable[float], label: str = PRIVACY) -> None:
    """A logarithmic axis on which ε grows to the right, with plain numbers at powers of ten."""
    from math import log10

    from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter

    known = sorted(epsilons)
    low, high = known[0], known[-1]
    margin = 10.0 ** (0.03 * max(log10(high / low), 1.0))
    axes.set(xscale="log", xlim=(low / margin, high * margin), xlabel=label)
    powers = [10.0**power for power in range(-12, 13)]
    shown = [each for each in powers if low / margin <= each <= high * margin]
    axes.xaxis.set_major_locator(FixedLocator(shown if len(shown) > 1 else known))
    axes.xaxis.set_major_formatter(lambda value, _: plain_number(value))
    axes.xaxis.set_minor_locator(LogLocator(subs=range(2, 10)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def plain_number(value: float) -> str:
    """0.001, 0.1, 1, 10, 1,000: never as a power."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.12f}".rstrip("0").rstrip(".")


def save(figure: Any, path: Path) -> None:
    """Write the figure, whole or not at all."""
    import io

    from ostraka.files import write_atomically

    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix.removeprefix(".") or "png", dpi=160)
    write_atomically(path, buffer.getvalue())
