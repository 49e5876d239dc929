"""Bytes and texts, changed by chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Final, TypeAlias

__all__ = ["LETTERS", "LONG", "change_bytes", "change_text", "often"]

LONG: Final = 20_000
BYTES: Final = (0x00, 0x01, 0x20, 0x22, 0x7B, 0x7F, 0x80, 0xFE, 0xFF)
LETTERS: Final = (
    "", " ", "\t", "\n", "\x00", "\x1b[31m", "\x7f", "\u00a0", "\u200b", "\u202e", "\u2028",
    "\ufeff", "\udc80", "\ud800", "é", "e\u0301", "ß", "ſ", "ı", "K", "℀", "：", "／", "．",
    "٣", "²", "Ω", "😀", "0", "1", "-", "--", "_", "+", "=", ".", "..", ",", ":", "://", "/",
    "//", "?", "#", "@", "[", "]", "[::1]", "%", "%00", "&", "'", '"', "\\", "{", "}", "nan",
    "1e400", "-0", "00", "65536", "99999999999999999999", "A", "z", "ed25519:",
)  # fmt: skip
"""What people and programs stumble over."""

Change: TypeAlias = Callable[[bytearray, Random, Sequence[bytes]], bytearray]


def change_bytes(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """One to a few changes that know nothing of what the bytes mean."""
    changed = bytearray(data)
    for _ in range(often(rng)):
        changed = rng.choice(CHANGES)(changed, rng, others)
    return bytes(changed[: 2 * LONG])


def change_text(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """The same for texts in UTF-8: letters are taken out, doubled, put in, and folded."""
    text = list(data.decode("utf-8", "surrogateescape"))
    for _ in range(often(rng)):
        at = rng.randint(0, len(text))
        until = at + rng.choice((0, 0, 1, 1, 2, 8))
        piece = text[at:until]
        put = rng.choice(
            (
                [rng.choice(LETTERS)],
                [rng.choice(LETTERS), *piece],
                [],
                [*piece, *piece],
                list("".join(piece).swapcase()),
                list(rng.choice(others).decode("utf-8", "surrogateescape")) if others else [],
                piece * rng.choice((3, 1000)),
            )
        )
        text[at:until] = put
    written = "".join(text)[:LONG].encode("utf-8", "surrogatepass")
    return written if rng.random() < 0.9 else change_bytes(written, rng, others)


def often(rng: Random) -> int:
    """Once as a rule, now and then a few times."""
    return rng.choice((1, 1, 1, 2, 2, 3, 5))


def _place(data: bytearray, rng: Random) -> int:
    """Anywhere, and more often near the ends, where the marks and the sizes are."""
    size = len(data)
    near = rng.choice((size, size, 16, 64))
    place = rng.randrange(max(1, min(size, near)))
    return max(0, size - 1 - place) if rng.random() < 0.2 else place


def _flip(data: bytearray, rng: Random, _: Sequence[bytes]) -> bytearray:
    if data:
        data[_place(data, rng)] ^= 1 << rng.randrange(8)
    return data


def _put(data: bytearray, rng: Random, _: Sequence[bytes]) -> bytearray:
    if data:
        data[_place(data, rng)] = rng.choice((*BYTES, rng.randrange(256)))
    return data


def _number(data: bytearray, rng: Random, _: Sequence[bytes]) -> bytearray:
    """A number of 1 to 8 bytes where one may be."""
    width = rng.choice((1, 2, 4, 8))
    at = _place(data, rng)
    number = rng.choice((0, 1, 2, len(data), 2**31 - 1, 2**31, 2**63 - 1, 2**63, 2**64 - 1))
    data[at : at + width] = (number % 256**width).to_bytes(width, "little")
    return data


def _cut(data: bytearray, rng: Random, _: Sequence[bytes]) -> bytearray:
    return data[: _place(data, rng)]


def _take_out(data: bytearray, rng: Random, _: Sequence[bytes]) -> bytearray:
    at = _place(data, rng)
    del data[at : at + rng.choice((1, 2, 8, 100))]
    return data


def _extend(data: bytearray, rng: Random, _: Sequence[bytes]) -> bytearray:
    return data + rng.choice((b"\0", b" ", b"\n", rng.randbytes(rng.choice((1, 8, 1000)))))


def _double(data: bytearray, rng: Random, _: Sequence[bytes]) -> bytearray:
    at = _place(data, rng)
    piece = data[at : at + rng.choice((1, 8, 64))]
    return data[:at] + piece * rng.choice((1, 2, 500)) + data[at:]


def _splice(data: bytearray, rng: Random, others: Sequence[bytes]) -> bytearray:
    if not others:
        return data
    other = bytearray(rng.choice(others))
    return data[: _place(data, rng)] + other[_place(other, rng) :]


CHANGES: Final[tuple[Change, ...]] = (
    _flip, _flip, _put, _number, _cut, _take_out, _extend, _double, _splice,
)  # fmt: skip
