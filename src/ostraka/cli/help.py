"""How help looks: options in panels, whole words at 80 columns, an example that can be pasted."""

from __future__ import annotations

import re
from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

__all__ = ["DATA", "METHOD", "OUTPUT", "PROMISE", "Command", "Group", "examples", "option"]

DATA, PROMISE, METHOD, OUTPUT = "Data", "Promise", "Method", "Output"


def option(panel: str | None, words: str, *names: str, of: str | None = None, **more: Any) -> Any:
    """An option in its panel.

    `of` is the short word for its value, in place of a long list of choices.
    """
    metavar = None if of is None else f"<{of}>"
    return typer.Option(*names, help=words, metavar=metavar, rich_help_panel=panel, **more)


def examples(*commands: str) -> str:
    """The text below the options. A long command goes on several lines, with backslashes."""
    title = "Example:" if len(commands) == 1 else "Examples:"
    return "\n".join((title, *(f"[bold]{command}[/]" for command in commands)))


class _Tidy:
    """Flags without a type, and --help with the last options instead of in a panel of its own above
    them.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, in the order in which they are shown."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        options = [each for each in params if each.param_type_name == "option"]
        for each in options:
            if each.is_flag:
                each.metavar = ""
        if len(options) > 1:
            options[-1].rich_help_panel = options[-2].rich_help_panel
        return params


class Command(_Tidy, TyperCommand):
    """A command whose docstring flows: line breaks within a paragraph are spaces."""

    def __init__(self, *args: Any, help: str | None = None, **more: Any) -> None:
        flowing = re.sub(r"(?<!\n)\n(?!\n)", " ", cleandoc(help or ""))
        super().__init__(*args, help=flowing, **more)


class Group(_Tidy, TyperGroup):
    """A command with commands of its own."""
