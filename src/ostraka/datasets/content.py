"""What a file holds, uncompressed: whole, or an error if it was cut short."""

from __future__ import annotations

import gzip
from pathlib import Path

__all__ = ["COMPRESSIONS", "ERRORS_OF_THE_SYSTEM", "compress", "read_content"]

COMPRESSIONS = (".gz", ".zst")
ERRORS_OF_THE_SYSTEM = (FileNotFoundError, PermissionError, ImportError)
"""Errors that say enough themselves; any other means that the file is not what its name says."""


def compress(content: bytes, suffix: str) -> bytes:
    """The bytes of a file with this ending."""
    if suffix == ".gz":
        return gzip.compress(content)
    if suffix == ".zst":
        import zstandard

        return zstandard.ZstdCompressor().compress(content)
    return content


def read_content(path: Path) -> bytes:
    """What the file holds, uncompressed; an error if it was cut short."""
    content = path.read_bytes()
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.decompress(content)
    return _unzstd(content) if suffix == ".zst" else content


def _unzstd(content: bytes) -> bytes:
    import zstandard

    parts = []
    while content:
        frame = zstandard.ZstdDecompressor().decompressobj()
        parts.append(frame.decompress(content))
        if not frame.eof:  # the streaming readers of zstandard and pandas stop here without a word
            raise EOFError("the compressed file ends too early")
        content = frame.unused_data
    return b"".join(parts)
