"""What is signed where no file is: short statements, each beginning with the line that says what
it is.

Parts have their lengths before them, so that two different statements never have the same bytes,
and a signature that was made for one kind can never pass for one of another.
"""

from __future__ import annotations

__all__ = ["statement"]


def statement(kind: str, *parts: bytes) -> bytes:
    """The bytes of a statement."""
    framed = (len(part).to_bytes(8, "little") + part for part in parts)
    return b"ostraka " + kind.encode("ascii") + b"\n" + b"".join(framed)
