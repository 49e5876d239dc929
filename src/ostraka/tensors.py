"""Arrays and a little text in one file: safetensors, with one form for one content.

Nothing in such a file can be executed. Sizes are bounded before anything is read.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from ostraka.errors import FormatError
from ostraka.files import foreign_kind

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LARGEST_FILE", "canonical_json", "parse_json", "read_tensors", "write_tensors"]

LARGEST_FILE = 2**31
"""Larger files are refused unread."""
LARGEST_HEADER = 100_000_000


def write_tensors(arrays: dict[str, NDArray[Any]], metadata: dict[str, str]) -> bytes:
    """The bytes of a file.

    Safetensors orders names at random, but one content must have one digest: the header is sorted.
    """
    from safetensors.numpy import save

    written: bytes = save(arrays, metadata=metadata)
    length = int.from_bytes(written[:8], "little")
    header = canonical_json(json.loads(written[8 : 8 + length])).encode("ascii")
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + written[8 + length :]


def read_tensors(data: bytes, what: str) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """The arrays and the metadata of a file that came from anyone."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        length = int.from_bytes(data[:8], "little")
        if not 2 <= length <= min(len(data) - 8, LARGEST_HEADER):
            raise ValueError
        arrays = load(data)
        metadata = json.loads(data[8 : 8 + length]).get("__metadata__", {})
    except (
        SafetensorError,
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        RecursionError,
    ):
        kind = None if data[8:9] == b"{" else foreign_kind(data[:16])
        problem = (
            f"it begins like {kind}" if kind else "it was cut short or damaged; ask for it again"
        )
        raise FormatError(what, problem) from None
    if not isinstance(metadata, dict) or not all(
        isinstance(text, str) for text in metadata.values()
    ):
        raise FormatError(what, "its metadata is damaged")
    return arrays, metadata


def canonical_json(content: Any) -> str:
    """Sorted names, no spaces, every number as its shortest exact decimal."""
    return json.dumps(
        content, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=True
    )


def parse_json(text: str, what: str) -> dict[str, Any]:
    """A JSON object; NaN, infinities, and a name that stands twice are refused."""

    def refuse(constant: str) -> Any:
        raise ValueError(constant)

    def finite(number: str) -> float:
        return found if math.isfinite(found := float(number)) else refuse(number)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        return held if len(held := dict(pairs)) == len(pairs) else refuse("a name twice")

    try:
        content = json.loads(
            text, parse_constant=refuse, parse_float=finite, object_pairs_hook=once
        )
    except (ValueError, RecursionError):
        raise FormatError(what, "it is not JSON") from None
    if not isinstance(content, dict):
        raise FormatError(what, "it is not a JSON object")
    return content
