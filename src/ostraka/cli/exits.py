"""Exit codes: one per kind of error, so that scripts can tell them apart.

Documented in docs/how-to/command-line.md.
"""

from __future__ import annotations

from ostraka.errors.codes import CODES, codes_of

__all__ = ["EXIT_CODES", "INTERRUPTED", "code_of"]

INTERRUPTED = 130

EXIT_CODES: dict[type[Exception], int] = {kind: codes.exit for kind, codes in CODES.items()}


def code_of(error: BaseException) -> int | None:
    """The exit code of an error, or None for one that is a bug of ours."""
    found = codes_of(error)
    return None if found is None else found.exit
