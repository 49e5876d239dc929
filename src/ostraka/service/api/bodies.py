"""The bytes of a request: not one more than it can need, and not for ever."""

from __future__ import annotations

import asyncio
from typing import Final

from fastapi import Request

from ostraka.errors import InputError, SizeError

__all__ = ["read_body", "told_length"]

SECONDS: Final = 30.0
SLOWEST: Final = 10_000.0
"""Bytes a second that a sender must reach after the first seconds."""


def told_length(request: Request) -> int | None:
    """How many bytes a request says that it has."""
    told = request.headers.get("content-length", "")
    return int(told) if told.isascii() and told.isdigit() and len(told) < 16 else None


async def read_body(request: Request, most: int, what: str) -> bytes:
    """The body, if it says how long it is, and is no longer; refused before it is read."""
    length = told_length(request)
    if length is None or length > most:
        raise SizeError(what, got=length, most=most)
    read, seconds = bytearray(), SECONDS + length / SLOWEST
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                read += chunk
                if len(read) > length:
                    break
    except TimeoutError:
        raise InputError(
            f"{what} came too slowly: {len(read):,} of {length:,} bytes in {seconds:.0f} seconds.",
            "Send it over a faster network, or give it to the coordinator as a file.",
        ) from None
    if len(read) != length:
        raise InputError(
            f"{what} has {len(read):,} bytes, and {length:,} were announced.", "Send it again."
        )
    return bytes(read)
