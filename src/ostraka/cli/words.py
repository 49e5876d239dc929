"""Lists on the command line: words and numbers with commas between."""

from __future__ import annotations

__all__ = ["numbers", "words"]


def words(text: str) -> list[str]:
    """What stands between the commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def numbers(name: str, text: str) -> list[float]:
    """The same as numbers."""
    from ostraka.errors import ParameterError

    try:
        return [float(word) for word in words(text)]
    except ValueError:
        raise ParameterError(name, got=text, allowed="numbers with commas between, such as 0.1,1,10") from None
