"""Text on a terminal: questions in bold, answers as they are, whatever characters stand in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["console", "print_answers", "print_mind"]


def console(**options: Any) -> Any:
    """A console that adds no colours of its own to names and numbers."""
    from rich.console import Console

    return Console(highlight=False, **options)


def print_answers(answers: Mapping[str, str]) -> None:
    """A table of questions and answers; markup in them is text."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, padding=(0, 2, 1, 0))
    table.add_column(style="bold", max_width=26)
    table.add_column(overflow="fold")
    for question, answer in answers.items():
        table.add_row(Text(question), Text(answer))
    console().print(table)


def print_mind(told: str) -> None:
    """Something that people should know before they go on."""
    from rich.text import Text

    console(soft_wrap=True).print(Text.assemble(("Mind: ", "yellow"), told))
