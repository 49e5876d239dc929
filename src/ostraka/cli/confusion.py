"""A small table of what is true and what was said, for `score` and `inspect`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["MOST_CLASSES", "print_confusion"]

MOST_CLASSES = 12
"""A larger table of classes would not fit on a screen."""


def print_confusion(classes: Sequence[Any], cells: Sequence[Sequence[str]], title: str) -> None:
    """A row for each true class, a column for each that was said; nothing if there are many."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from ostraka.cli.screen import console

    if len(classes) > MOST_CLASSES:
        return
    table = Table(box=SIMPLE_HEAD, title=title)
    table.add_column("true")
    for name in classes:
        table.add_column(Text(f"said {name}"), justify="right")
    for name, row in zip(classes, cells):
        table.add_row(Text(str(name)), *row)
    console().print(table)
