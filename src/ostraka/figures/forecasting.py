"""What an auxiliary set promises: agreement against ε, and which directions can be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ostraka.expect.forecast import Forecast
from ostraka.figures.style import save

__all__ = ["draw_forecast"]

COLOURS = {"moments": "#2a9d8f", "cells": "#7fb800"}


def draw_forecast(
    forecasts: Sequence[Sequence[Forecast]], epsilon: float, path: Path, title: str
) -> None:
    """Left: agreement with made-up labels against ε. Right: noise-to-signal of every released direction or cell, at one ε."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for method, colour in COLOURS.items():
        points = sorted(
            (each.epsilon, each.agreement)
            for row in forecasts
            for each in row
            if each.method == method
        )
        left.plot(
            [x for x, _ in points],
            [y for _, y in points],
            color=colour,
            marker="o",
            ms=3.5,
            lw=1.8,
            label=method,
        )
    left.set(
        xscale="log",
        xlabel="ε for a whole party  (← more private)",
        ylabel="agreement with made-up labels",
        ylim=(0, 1),
    )
    middle = min(forecasts, key=lambda row: abs(row[0].epsilon / epsilon - 1.0))
    for each in middle:
        order = range(1, each.directions + 1)
        kind = "directions" if each.method == "moments" else "cells"
        right.plot(
            order,
            each.noise_to_signal,
            color=COLOURS[each.method],
            lw=1.8,
            label=f"{each.method}: {each.directions} {kind}",
        )
    right.axhline(1.0, color="0.5", lw=1, ls=":")
    right.text(
        0.99,
        1.0,
        "noise = signal ",
        fontsize=8,
        color="0.4",
        va="bottom",
        ha="right",
        transform=right.get_yaxis_transform(),
    )
    right.xaxis.get_major_locator().set_params(integer=True)
    right.set(
        yscale="log", xlabel="direction or cell, clearest first", ylabel="noise-to-signal", title=""
    )
    right.set_title(f"at ε = {middle[0].epsilon:g}", loc="left", fontsize=10)
    left.set_title(title, loc="left", fontsize=10)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8.5)
    save(figure, path)
