"""What a classifier from a file may use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from ostraka.errors import count, number

__all__ = ["DEFAULT_LIMITS", "Limits"]

LEAST_MEMORY = 2**24


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a classifier from a file may use.

    Args:
        seconds: for loading, and for each request of at most 16 MiB of rows (ONNX).
        memory_bytes: on top of what onnxruntime itself takes (ONNX).
        file_bytes: the size of the file, also when unpacked.

    """

    seconds: float = 60.0
    memory_bytes: int = 2**31
    file_bytes: int = 2**28

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", number("seconds", self.seconds, 1e-3, 86400.0))
        object.__setattr__(
            self, "memory_bytes", count("memory_bytes", self.memory_bytes, LEAST_MEMORY, 2**48)
        )
        object.__setattr__(self, "file_bytes", count("file_bytes", self.file_bytes, 1, 2**40))


DEFAULT_LIMITS = Limits()
