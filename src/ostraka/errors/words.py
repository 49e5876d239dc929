"""How errors speak: names in quotes, rows by their number, and what somebody may have meant."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = [
    "NOTHING_HAPPENED",
    "LONGEST",
    "list_names",
    "show",
    "one_line",
    "say_number",
    "suggest",
    "place_of",
]

NOTHING_HAPPENED = "Nothing was drawn and nothing was spent."
LONGEST = 60
"""What the inside of an object may take to show."""
LONGEST_GIVEN = 200
"""What anything may take that was given: a stranger's text may have millions of letters."""


def list_names(names: Iterable[object], most: int = 8) -> str:
    """Names in quotes, the first few of them."""
    shown = [one_line(repr(str(name))) for name in names]
    return ", ".join(shown[:most]) + (f", ... ({len(shown)} in all)" if len(shown) > most else "")


def show(given: object) -> str:
    """What was given, as a person would write it: names in quotes, and no inside of an object."""
    if isinstance(given, tuple | list) and all(isinstance(each, str) for each in given):
        return list_names(given) or "nothing"
    shown = repr(given)
    plain = isinstance(given, str | int | float | tuple | list)
    if plain or len(shown) <= LONGEST:
        return one_line(shown)
    return f"an object of type {type(given).__name__}"


def one_line(text: str, most: int = LONGEST_GIVEN) -> str:
    """A text from anywhere as a terminal can show it: its beginning, on one line, and nothing that
    moves the cursor.
    """
    shown = text if len(text) <= most else f"{text[:most]}..."
    return "".join(
        letter if letter.isprintable() else " " if letter.isspace() else repr(letter)[1:-1]
        for letter in shown
    )


def say_number(value: float) -> str:
    """Six digits of a number as people write it: 1e-5, and not 1e-05."""
    return re.sub(r"e\+?(-?)0*", r"e\1", f"{value:.6g}")


def suggest(name: object, names: Iterable[object]) -> str:
    """A question whether another name was meant, or nothing; to stand before a remedy."""
    found = _closest(name, names)
    return "" if found is None else f"Did you mean {found!r}? "


def _closest(name: object, names: Iterable[object]) -> str | None:
    """The name that differs in what people overlook, or else in a few letters."""
    import difflib

    shown = [str(each) for each in names]
    alike = [each for each in shown if _fold(each) == _fold(name)]
    found = alike or difflib.get_close_matches(str(name), shown, n=1, cutoff=0.7)
    return found[0] if found else None


def _fold(name: object) -> str:
    """Without what people overlook: case, spaces, dashes, a decimal point after a whole number."""
    text = str(name).strip().casefold().removesuffix(".0")
    return text.replace(" ", "_").replace("-", "_")


def place_of(row: int) -> str:
    """A row as Python counts, and as people see it in a file."""
    return f"row {row} (counting from 0; line {row + 2} of a CSV file)"
