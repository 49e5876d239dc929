"""Lists on the command line: words and numbers, separated by commas."""

from __future__ import annotations

from pathlib import Path

__all__ = ["names_in", "numbers", "words"]


def words(text: str) -> list[str]:
    """What stands between the commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def numbers(name: str, text: str) -> list[float]:
    """The same as numbers."""
    from ostraka.errors import ParameterError

    try:
        return [float(word) for word in words(text)]
    except ValueError:
        raise ParameterError(
            name, got=text, allowed="numbers with commas between, such as 0.1,1,10"
        ) from None


def names_in(path: Path) -> list[str]:
    """The names in a text file, one per line.

    Empty lines and lines that begin with # are left out.
    """
    from ostraka.errors import FormatError
    from ostraka.files import read_regular

    try:
        lines = read_regular(path, "list of names", 2**28).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise FormatError("list of names", f"{path.name} is not text in UTF-8") from None
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
