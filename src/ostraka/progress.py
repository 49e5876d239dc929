"""Progress bars with the time left, on the terminal's error stream, for those who ask for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from typing import Any

from ostraka.errors import ParameterError

__all__ = ["watch"]


def watch(what: str, shown: bool) -> Callable[[Iterable[Any], int | None], Iterable[Any]]:
    """A function that passes items on and, if shown, draws a bar as they go by."""
    if not shown:
        return lambda items, total: items  # noqa: ARG005
    if find_spec("rich") is None:
        raise ParameterError(
            "progress",
            got=True,
            allowed="False without the package rich (pip install 'ostraka[cli]')",
        )
    return lambda items, total: _draw(what, items, total)


def _draw(what: str, items: Iterable[Any], total: int | None) -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield from bar.track(items, total=total, description=what)
