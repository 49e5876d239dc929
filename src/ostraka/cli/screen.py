"""Text on a terminal: questions in bold, answers as they are, whatever characters stand in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

__all__ = ["console", "print_answers", "print_mind"]


QUESTION: Final = 26
GAP: Final = 2


def console(**options: Any) -> Any:
    """A console that adds no colours of its own to names and numbers."""
    from rich.console import Console

    return Console(highlight=False, **options)


def print_answers(answers: Mapping[str, str]) -> None:
    """A table of questions and answers; markup in them is text.

    An answer with a word that no line has room for, such as an address, stands below its question,
    and no line is broken in it: it can be copied.
    """
    from rich.text import Text

    screen, wide = console(), min(QUESTION, max(map(len, answers), default=0))
    for question, answer in answers.items():
        longest = max(map(len, answer.split()), default=0)
        if longest > screen.width - QUESTION - 2 * GAP:
            copied = Text.assemble((question, "bold"), "\n  ", answer, "\n")
            screen.print(copied, soft_wrap=True)
        else:
            _print_row(screen, question, answer, wide)


def _print_row(screen: Any, question: str, answer: str, wide: int) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None, padding=(0, GAP, 1, 0))
    table.add_column(style="bold", width=wide)
    table.add_column(overflow="fold")
    table.add_row(Text(question), Text(answer))
    screen.print(table)


def print_mind(told: str) -> None:
    """Something that people should know before they go on."""
    from rich.text import Text

    console(soft_wrap=True).print(Text.assemble(("Mind: ", "yellow"), told))
