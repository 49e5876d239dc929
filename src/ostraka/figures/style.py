"""One look for all figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["COLOURS", "new_figure", "save"]

COLOURS = {
    "auto": "#6a1b9a",
    "soft": "#0b6e4f",
    "avg": "#2a5caa",
    "vote": "#b3541e",
    "batch": "#333333",
    "indiv": "#333333",
}


def new_figure(width: float = 7.4, height: float = 4.4) -> tuple[Any, Any]:
    """A figure with one pair of axes, without a window."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def save(figure: Any, path: Path) -> None:
    """Write the figure, whole or not at all."""
    import io

    from ostraka.files import write_atomically

    buffer = io.BytesIO()
    figure.savefig(buffer, format=path.suffix.removeprefix(".") or "png", dpi=160)
    write_atomically(path, buffer.getvalue())
