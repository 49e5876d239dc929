"""Noise-to-signal against ε, for each method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ostraka.expect.planner import Setting
from ostraka.figures.style import COLOURS, new_figure, save

__all__ = ["draw_noise_to_signal"]


def draw_noise_to_signal(settings: Sequence[Setting], path: Path) -> None:
    """One line per setting, over five powers of ten around its ε; bands say what to expect."""
    figure, axes = new_figure()
    centre = settings[0].epsilon
    epsilons = np.geomspace(centre / 300.0, centre * 300.0, 41)
    top = bottom = 1.0
    for setting in settings:
        ratios = [replace(setting, epsilon=float(e)).noise_to_signal() for e in epsilons]
        axes.plot(epsilons, ratios, color=COLOURS[setting.method], lw=2, label=setting.method)
        axes.plot([centre], [setting.noise_to_signal()], "o", color=COLOURS[setting.method])
        top, bottom = max(top, *ratios), min(bottom, *ratios)
    for low, high, colour, words in (
        (bottom / 3, 0.3, "#0b6e4f", "little\nis lost"),
        (1.0, top * 3, "#b3541e", "little\nis left"),
    ):
        axes.axhspan(low, high, color=colour, alpha=0.08, lw=0)
        middle = (low * high) ** 0.5
        axes.text(
            1.02,
            middle,
            words,
            color=colour,
            fontsize=9,
            va="center",
            transform=axes.get_yaxis_transform(),
        )
    axes.axvline(centre, color="0.6", lw=1, ls=":")
    first = settings[0]
    axes.set(
        xscale="log",
        yscale="log",
        ylim=(bottom / 3, top * 3),
        xlabel="ε, privacy loss for a whole party (more private to the left)",
        ylabel="noise-to-signal",
        title=f"{first.n_parties:,} parties, {first.n_features} features, {first.n_classes} classes, λ = {first.lambda_:g}",
    )
    axes.legend(frameon=False)
    save(figure, path)
