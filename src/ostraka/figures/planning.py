"""Noise-to-signal against ε, for each method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.expect.planner import Setting
from ostraka.figures.labels import End, label_ends
from ostraka.figures.style import COLOURS, draw_epsilon_axis, new_figure, plain_number, save

__all__ = ["draw_noise_to_signal"]


def draw_noise_to_signal(settings: Sequence[Setting], path: Path) -> None:
    """One line per setting, over five powers of ten around its ε; bands say what to expect."""
    figure, axes = new_figure()
    first, centre = settings[0], settings[0].epsilon
    epsilons = np.geomspace(centre / 300.0, centre * 300.0, 41)
    ratios = {
        setting: [replace(setting, epsilon=float(e)).noise_to_signal() for e in epsilons]
        for setting in settings
    }
    bottom = min(1.0, *(min(each) for each in ratios.values())) / 3.0
    top = 3.0 * max(1.0, *(max(each) for each in ratios.values()))
    draw_epsilon_axis(axes, epsilons)
    axes.set(yscale="log", ylim=(bottom, top), ylabel="Noise-to-signal")
    axes.yaxis.set_major_formatter(lambda value, _: plain_number(value))
    _draw_bands(axes, bottom, top)
    axes.axvline(centre, color="0.6", lw=1, ls=":")
    ends = []
    for setting, values in ratios.items():
        colour = COLOURS[setting.method]
        axes.plot(epsilons, values, color=colour, lw=2)
        axes.plot([centre], [setting.noise_to_signal()], "o", color=colour)
        ends.append(End(epsilons[-1], values[-1], setting.method, colour, bold=True))
    label_ends(axes, ends)
    title = (
        f"{first.n_parties:,} parties, {first.n_features} features, "
        f"{first.n_classes} classes, λ = {first.lambda_:g}"
    )
    axes.set_title(title, loc="left", fontsize=11)
    save(figure, path)


def _draw_bands(axes: Any, bottom: float, top: float) -> None:
    """Where little is lost, and where little is left; the words go where no line passes."""
    for low, high, colour, x, side, words in (
        (bottom, 0.3, "#009e73", 0.015, "left", "little is lost"),
        (1.0, top, "#d55e00", 0.985, "right", "little is left"),
    ):
        axes.axhspan(low, high, color=colour, alpha=0.08, lw=0)
        axes.text(
            x,
            (low * high) ** 0.5,
            words,
            color=colour,
            fontsize=9,
            ha=side,
            va="center",
            transform=axes.get_yaxis_transform(),
        )
