"""Files of other kinds that people send by mistake, or on purpose: told apart by their first bytes, never opened."""

from __future__ import annotations

__all__ = ["foreign_kind"]

_OPENINGS = {
    b"\x80": "a pickle, which could run code and is never opened",
    b"\x1f\x8b": "a gzip file",
    b"PK": "a zip file or a numpy archive",
    b"\x93NUMPY": "a numpy file",
}


def foreign_kind(opening: bytes) -> str | None:
    """What a file that begins like this probably is, if not one of ours."""
    return next((kind for start, kind in _OPENINGS.items() if opening.startswith(start)), None)
