"""Files of ours, changed by chance so that what is behind their own checks is reached.

kind        what is kept right while something else is changed
tensors     lengths and places of tensors; digests of releases that stand within others
headed      the length that the header promises
ledger      SQLite's own pages, and the schema that is looked at first
"""

from __future__ import annotations

import hashlib
import math
import sqlite3
import struct
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Self, final

from fuzz.judge import Mutator
from fuzz.mutate import LETTERS, change_bytes, often
from fuzz.trees import change_json, change_tree, dump, parse

__all__ = ["change_headed", "change_ledger", "change_tensors"]

WIDTHS: Final = {"F64": 8, "I64": 8, "U64": 8, "F32": 4, "I32": 4, "F16": 2, "U8": 1, "BOOL": 1}
WHOLE: Final = (0, 1, 2, 3, -1, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**62, 2**63 - 1, -(2**63))
REAL: Final = (
    0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 5e-324, 1e-300, 1e-9, 1e7, 1e154, 1e300, 1.7976931348623157e308,
    math.nan, math.inf, -math.inf,
)  # fmt: skip


# ---- tensors -------------------------------------------------------------------------------------


@dataclass
class Tensor:
    """One array of a file."""

    kind: str
    shape: list[int]
    content: bytes


@final
@dataclass
class File:
    """A file of tensors, taken apart."""

    tensors: dict[str, Tensor]
    metadata: dict[str, str]

    @classmethod
    def parse(cls, data: bytes) -> Self | None:
        """None of what is none."""
        length = int.from_bytes(data[:8], "little")
        body = data[8 + length :]
        try:
            header = parse(data[8 : 8 + length])
            metadata = header.pop("__metadata__")
            starts = {name: header[name]["data_offsets"] for name in header}
            tensors = {
                name: Tensor(
                    header[name]["dtype"], header[name]["shape"], body[slice(*starts[name])]
                )
                for name in sorted(header, key=lambda name: starts[name])
            }
            if not all(_is_plain(each) for each in tensors.values()):
                return None
            return cls(tensors, {name: str(text) for name, text in metadata.items()})
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    def header(self) -> dict[str, Any]:
        """With the places where the tensors are."""
        place, found = 0, dict[str, Any]()
        for name, each in self.tensors.items():
            until = place + len(each.content)
            found[name] = {"dtype": each.kind, "shape": each.shape, "data_offsets": [place, until]}
            place = until
        return {**found, "__metadata__": self.metadata}

    def to_bytes(self, header: str | None = None) -> bytes:
        """As ours are written; or with another header."""
        text = (dump(self.header()) if header is None else header).encode("utf-8", "replace")
        text += b" " * (-len(text) % 8)
        body = b"".join(each.content for each in self.tensors.values())
        return len(text).to_bytes(8, "little") + text + body


def _is_plain(tensor: Tensor) -> bool:
    """Whether it says itself what it is; what others say of theirs is changed as bytes."""
    lengths = tensor.shape if isinstance(tensor.shape, list) else [None]
    return isinstance(tensor.kind, str) and all(type(length) is int for length in lengths)


def change_tensors(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Another file of tensors."""
    file = File.parse(data)
    if file is None or rng.random() < 0.08:
        return change_bytes(data, rng, others)
    donor = (File.parse(rng.choice(others)) if others else None) or File({}, {})
    for _ in range(often(rng)):
        rng.choice(CHANGES)(file, rng, donor)
    if rng.random() < 0.08:
        return file.to_bytes(dump(change_tree(file.header(), rng)))
    return file.to_bytes()


def _change_text(file: File, rng: Random, donor: File) -> None:
    if file.metadata:
        name = max(rng.choices(list(file.metadata), k=2), key=lambda one: len(file.metadata[one]))
        texts = [donor.metadata[name].encode("utf-8", "replace")] if name in donor.metadata else []
        held = file.metadata[name].encode("utf-8", "surrogatepass")
        changed = change_json(held, rng, texts)
        file.metadata[name] = changed.decode("utf-8", "surrogateescape")


def _change_mark(file: File, rng: Random, donor: File) -> None:
    name = rng.choice((*file.metadata, "ostraka", "ostraka-poll", "keep_back", "outlook"))
    known = donor.metadata.get(name, "1")
    file.metadata[name] = rng.choice((known, known, *"123456", "5", rng.choice(LETTERS)))
    if rng.random() < 0.2:
        del file.metadata[name]


def _change_number(file: File, rng: Random, _: File) -> None:
    held = [each for each in file.tensors.values() if each.content]
    if not held:
        return
    tensor = rng.choice(held)
    width = WIDTHS.get(tensor.kind, 1)
    number = struct.pack("<d", rng.choice(REAL))
    if width < 8 or tensor.kind != "F64":
        number = (rng.choice(WHOLE) % 256**width).to_bytes(width, "little")
    at = rng.randrange(len(tensor.content) // width) * width if len(tensor.content) >= width else 0
    many = len(tensor.content) // width - at // width if rng.random() < 0.2 else 1
    tensor.content = tensor.content[:at] + number * many + tensor.content[at + width * many :]


def _change_shape(file: File, rng: Random, _: File) -> None:
    """Another shape, as a rule with as many numbers as it says."""
    if not file.tensors:
        return
    tensor = rng.choice(list(file.tensors.values()))
    size = math.prod(tensor.shape) if tensor.shape else 1
    shape = rng.choice(
        (
            tensor.shape[::-1], [size], [1, size], [size, 1], [], [0], [0, 2**40], [size, 1, 1],
            [each + 1 for each in tensor.shape], [max(0, each - 1) for each in tensor.shape],
            [*tensor.shape[:-1], 1], [1], [1, 1], [2**62], [2**32, 2**32], [5000], [300, 300],
        )
    )  # fmt: skip
    tensor.shape = list(shape)
    needed = math.prod(shape) * WIDTHS.get(tensor.kind, 1)
    if 0 <= needed <= 10**6 and rng.random() < 0.9:
        filling = tensor.content or b"\0"
        tensor.content = (filling * (needed // len(filling) + 1))[:needed]


def _change_kind(file: File, rng: Random, _: File) -> None:
    if file.tensors:
        rng.choice(list(file.tensors.values())).kind = rng.choice((*WIDTHS, "BF16", "F8_E4M3", ""))


def _change_names(file: File, rng: Random, donor: File) -> None:
    """Tensors are left out, called otherwise, or taken from another file."""
    name = rng.choice(list(file.tensors) or [""])
    do = rng.random()
    if do < 0.3:
        file.tensors.pop(name, None)
    elif do < 0.5 and name:
        file.tensors[rng.choice(("x", f"{name}.0", *file.tensors))] = file.tensors.pop(name)
    elif donor.tensors:
        taken, found = rng.choice(list(donor.tensors.items()))
        name = taken if do < 0.8 else name or taken
        file.tensors[name] = Tensor(found.kind, list(found.shape), found.content)


def _change_inner(file: File, rng: Random, donor: File) -> None:
    """A file within this one; what speaks of its digest speaks of the new one."""
    inner = [each for each in file.tensors.values() if File.parse(each.content) is not None]
    if not inner:
        return _change_text(file, rng, donor)
    tensor, held = inner[0], [each.content for each in donor.tensors.values()]
    changed = change_tensors(tensor.content, rng, [each for each in held if File.parse(each)])
    digests = [hashlib.sha256(each).hexdigest() for each in (tensor.content, changed)]
    tensor.content, tensor.shape = changed, [len(changed)]
    for name, text in file.metadata.items():
        file.metadata[name] = text.replace(*digests)
    return None


CHANGES: Final = (
    _change_text, _change_text, _change_text, _change_text, _change_mark, _change_number,
    _change_number, _change_shape, _change_kind, _change_names, _change_inner, _change_inner,
)  # fmt: skip


# ---- a header of fixed length, and the rest ------------------------------------------------------


def change_headed(
    header: struct.Struct, inner: Mutator, promised: Callable[[tuple[Any, ...]], int] | None = None
) -> Mutator:
    """For files that begin with a header, whose fields say how long the rest is."""

    def change(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
        if len(data) < header.size or rng.random() < 0.1:
            return change_bytes(data, rng, others)
        fields, rest = list(header.unpack_from(data)), data[header.size :]
        for _ in range(often(rng)):
            if rng.random() < 0.5:
                rests = [each[header.size :] for each in others if len(each) > header.size]
                rest = inner(rest, rng, rests)
            else:
                _change_field(fields, rng, len(rest), others, header)
        opening = _packed(header, fields)
        length = promised(tuple(header.unpack(opening))) if promised else len(rest)
        if rest and length <= 10**6 and rng.random() < 0.8:
            rest = (rest * (length // len(rest) + 1))[:length]
        return opening + rest

    return change


def _change_field(
    fields: list[Any], rng: Random, size: int, others: Sequence[bytes], header: struct.Struct
) -> None:
    at = rng.randrange(len(fields))
    donors = [each for each in others if len(each) >= header.size]
    if donors and rng.random() < 0.3:
        fields[at] = header.unpack_from(rng.choice(donors))[at]
    elif isinstance(fields[at], bytes):
        fields[at] = change_bytes(fields[at], rng, ())
    else:
        near = (fields[at] + 1, fields[at] - 1, 2 * fields[at], size, size // 4, size // 8)
        fields[at] = rng.choice((*WHOLE, *near))


def _packed(header: struct.Struct, fields: Sequence[Any]) -> bytes:
    """Whole numbers are brought into their range."""
    widths = {"B": 1, "H": 2, "I": 4, "Q": 8}
    kinds = [kind for kind in header.format.lstrip("<") if not kind.isdigit()]
    fitting = [
        field % 256 ** widths[kind] if kind in widths else field
        for kind, field in zip(kinds, fields, strict=True)
    ]
    return header.pack(*fitting)


# ---- ledgers -------------------------------------------------------------------------------------

TEXTS: Final = (
    None, "", "0/1", "1/1", "1/2", "-1/2", "1/0", "9" * 4000 + "/1", "1/" + "9" * 4000, "1/3", "x",
    "1/2 1/2", "0.5", b"\xff", b"1/2", 0, 1, -1, 2**63 - 1, 0.5, 1e308, "\x1b[31m", "é", "A", " a",
    "pure", "zcdp", "approximate", "party", "person", "[1,2]", "[" * 2000, "[1e400]", "ab" * 32,
    "x" * 5000, "3.0", "2026-01-01", "4951760157141521099596496896/1",
    "1/1267650600228229401496703205376",
)  # fmt: skip


def change_ledger(data: bytes, rng: Random, others: Sequence[bytes]) -> bytes:
    """Another cell, row or mark; as a rule the schema is as before."""
    if rng.random() < 0.3:
        return change_bytes(data, rng, others)
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        try:
            db.deserialize(data)
            _change_rows(db, rng)
            return db.serialize()
        except (sqlite3.Error, ValueError, OverflowError):  # what is no text, or a number
            return change_bytes(data, rng, others)


def _change_rows(db: sqlite3.Connection, rng: Random) -> None:
    """Ledgers are append-only by triggers: these are away for as long as it takes."""
    triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
    db.execute("PRAGMA ignore_check_constraints=1")
    for name, _ in triggers:
        db.execute(f"DROP TRIGGER {name}")
    for _ in range(often(rng)):
        table = rng.choice(tables)[0]
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})").fetchall()]
        place = f"(SELECT {columns[0]} FROM {table} LIMIT 1 OFFSET {rng.randrange(4)})"
        column, value = rng.choice(columns), rng.choice(TEXTS)
        if rng.random() < 0.8:
            db.execute(
                f"UPDATE OR IGNORE {table} SET {column} = ? WHERE {columns[0]} = {place}", (value,)
            )
        elif rng.random() < 0.5:
            db.execute(f"DELETE FROM {table} WHERE {columns[0]} = {place}")
        else:
            marks = ", ".join("?" * len(columns))
            row = [rng.choice(TEXTS) for _ in columns]
            db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", row)
    for _, sql in triggers:
        if rng.random() > 0.002:
            db.execute(sql)
    if rng.random() < 0.05:
        db.execute(f"PRAGMA user_version={rng.choice((0, 1, 2, 3, 4, -1))}")
