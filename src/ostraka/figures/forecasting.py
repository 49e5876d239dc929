"""What an auxiliary set promises: what is kept against ε, and which directions can be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ostraka.expect.forecast import Forecast
from ostraka.figures.labels import End, draw_reference, label_ends
from ostraka.figures.style import COLOURS, draw_epsilon_axis, plain_number, save

__all__ = ["draw_forecast"]

METHODS = ("moments", "cells")
"""A single cell learns nothing beyond the commonest class."""


def draw_forecast(
    forecasts: Sequence[Sequence[Forecast]], epsilon: float, path: Path, title: str
) -> None:
    """Left: what is kept of what can be learnt, against ε. Right: noise-to-signal at one ε.

    The right panel shows every released direction or cell.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    _draw_kept(left, forecasts)
    left.set_title(title, loc="left", fontsize=10)
    middle = min(forecasts, key=lambda row: abs(row[0].epsilon / epsilon - 1.0))
    _draw_ratios(right, middle)
    right.set_title(f"At ε = {middle[0].epsilon:g}", loc="left", fontsize=10)
    save(figure, path)


def _draw_kept(axes: Any, forecasts: Sequence[Sequence[Forecast]]) -> None:
    every = [each for row in forecasts for each in row]
    draw_epsilon_axis(axes, (each.epsilon for each in every))
    axes.set(ylabel="Kept of what can be learnt without privacy", ylim=(0, 1.02))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ends = []
    for method in METHODS:
        points = sorted((each.epsilon, each.kept) for each in every if each.method == method)
        if points:
            axes.plot(*zip(*points), color=COLOURS[method], marker="o", ms=3.5, lw=1.8)
            ends.append(End(*points[-1], method, COLOURS[method], bold=True))
    label_ends(axes, ends)


def _draw_ratios(axes: Any, forecasts: Sequence[Forecast]) -> None:
    from matplotlib.ticker import NullFormatter

    axes.set(
        yscale="log",
        xlabel="Direction or cell, clearest first",
        ylabel="Noise-to-signal",
    )
    axes.yaxis.set_major_formatter(lambda value, _: plain_number(value))
    axes.yaxis.set_minor_formatter(NullFormatter())
    ends = []
    for each in (each for each in forecasts if each.method in METHODS):
        kind = "direction" if each.method == "moments" else "cell"
        name = f"{each.method}: {each.directions} {kind}{'s' * (each.directions != 1)}"
        colour, order = COLOURS[each.method], range(1, each.directions + 1)
        axes.plot(order, each.noise_to_signal, color=colour, lw=1.8, marker="o", ms=3)
        ends.append(End(each.directions, each.noise_to_signal[-1], name, colour, bold=True))
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_xlim(axes.get_xlim())
    low, high = axes.get_ylim()
    axes.set_ylim(min(0.09, low), max(2.0, high))
    label_ends(axes, [*ends, draw_reference(axes, 1.0, "noise = signal", ":")])
