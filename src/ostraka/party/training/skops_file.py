"""Reading a skops file from an untrusted sender, within bounds on memory.

    step      what it costs, and what bounds it
    unpack    the sizes that the archive declares, added up; unpacking stops there
    JSON      up to 300 bytes for a value, 250 for an object; they are counted before it is parsed
    tree      skops makes a node of each object: 0.5 to 1.5 kB, and 3 kB where it copies a long list
              of trusted names into it; arrays are read again for each node that names them
    audit     every type must be harmless or trusted
    build     the classifier itself

Measured with skops 0.16: the worst files that pass take 160 MB besides Python and scikit-learn; a
gradient boosting of 600 trees (13 MB of JSON) takes 80 MB.

Guarantee: no code in a file is executed, and what parsing takes is bounded beforehand. Not covered:
what the classifier's own types do with forged arrays, and time.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Mapping
from typing import Any, Self, final

from ostraka.errors import FormatError
from ostraka.files import foreign_kind

__all__ = ["read_skops"]

ZIP_OPENING = b"PK\x03\x04"
ZIP_ENTRY = b"PK\x01\x02"
ZIP_ENTRIES_BOUND = 100_000
COPIED_BYTES = 2**16

SCHEMA = "schema.json"
SCHEMA_BYTES_BOUND = 2**24
SCHEMA_OBJECTS_BOUND = 2**16
"""Objects and lists; a gradient boosting of 600 trees has 47,000."""
SCHEMA_VALUES_BOUND = 2**18
"""Whatever stands between commas; such a boosting has 200,000."""
HEAVY_NODES_BOUND = 2**13
"""Nodes with long lists of their own; such a boosting has 1,200."""
LIGHT_KINDS = ("Json", "List", "Tuple", "Set", "Dict", "Type", "NdArray", "Cached")
LIGHT_NODES = frozenset(f"{kind}Node" for kind in LIGHT_KINDS)
BYTES_IN_A_LIST = 9
"""skops turns a bytearray into a list of numbers."""


def read_skops(file: str, content: bytes, trusted: frozenset[str], bytes_bound: int) -> Any:
    """The object in a skops file all of whose types are harmless or trusted."""
    skops_io = _skops_io()
    if not content.startswith(ZIP_OPENING):
        raise FormatError("skops file", f"{file} is {foreign_kind(content) or 'no zip archive'}")
    stored = _find_stored(file, content, bytes_bound)
    _check_schema(file, stored, bytes_bound)
    untrusted = frozenset(_parse(file, lambda: skops_io.get_untrusted_types(data=stored)))
    if not untrusted <= trusted:
        raise FormatError("skops file", _name_untrusted(file, sorted(untrusted - trusted)))
    return _parse(file, lambda: skops_io.loads(stored, trusted=sorted(untrusted)))


def _skops_io() -> Any:
    try:
        import skops.io
    except ImportError as error:
        needed = "Reading .skops files needs skops: pip install 'ostraka[models]'"
        raise ImportError(needed) from error
    return skops.io


def _parse(file: str, parse: Callable[[], Any]) -> Any:
    try:
        return parse()
    # A forged file may make the parser fail in any way.
    except Exception as error:
        reason = f"{type(error).__name__}: {_shorten(str(error))}"
        raise FormatError("skops file", f"{file} cannot be read ({reason})") from error


def _name_untrusted(file: str, types: list[str]) -> str:
    listed, quoted = _shorten(", ".join(types), 2000), _shorten(repr(types)[1:-1], 2000)
    return (
        f"{file} holds types that are not trusted: {listed}. If you know their code and the "
        f"sender, allow them by name: load_classifier(..., trusted=[{quoted}])"
    )


def _shorten(text: str, n_characters: int = 300) -> str:
    printable = "".join(c if c.isprintable() else " " for c in text[:n_characters])
    return printable + ("..." if len(text) > n_characters else "")


def _check_schema(file: str, stored: bytes, bytes_bound: int) -> None:
    """Refuse a schema that would take much more memory than its size, before skops parses it."""
    with zipfile.ZipFile(io.BytesIO(stored)) as archive:
        text = archive.read(SCHEMA)
        sizes = {entry.filename: entry.file_size for entry in archive.infolist()}
    n_objects, n_values = text.count(b"{") + text.count(b"["), text.count(b",")
    if n_objects > SCHEMA_OBJECTS_BOUND or n_values > SCHEMA_VALUES_BOUND:
        bounds = f"{SCHEMA_OBJECTS_BOUND} objects and {SCHEMA_VALUES_BOUND} values"
        raise FormatError("skops file", f"{file} has a {SCHEMA} of more than {bounds}")
    weight = _parse(file, lambda: _Weight.of(json.loads(text), sizes))
    if weight.n_heavy > HEAVY_NODES_BOUND:
        problem = f"{file} has {weight.n_heavy} objects of other types than containers and numbers"
        raise FormatError("skops file", f"{problem}; {HEAVY_NODES_BOUND} are allowed")
    if weight.n_bytes > bytes_bound:
        problem = f"{file} asks for {weight.n_bytes} bytes of its arrays"
        raise FormatError("skops file", f"{problem}; Limits(file_bytes=...) allows {bytes_bound}")


@final
class _Weight:
    """What skops will make of a schema."""

    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.n_heavy = self.n_bytes = 0
        self._sizes = sizes
        self._n_objects: dict[Any, int] = {}

    @classmethod
    def of(cls, schema: Any, sizes: Mapping[str, int]) -> Self:
        """The weight of this schema, in an archive with entries of these sizes."""
        weight = cls(sizes)
        weight._add(schema, in_loss=False)
        return weight

    def _add(self, value: Any, in_loss: bool) -> int:
        """Add an object and what is in it; returns how many objects that were."""
        if not isinstance(value, dict | list):
            return 0
        if isinstance(value, list):
            return sum([self._add(each, in_loss) for each in value])
        loader = value.get("__loader__")
        # Nested, they would copy ever longer lists; no classifier has them that way.
        if loader == "LossNode" and in_loss:
            raise ValueError("a loss function stands inside another")
        in_loss = in_loss or loader == "LossNode"
        self.n_heavy += loader is not None and loader not in LIGHT_NODES
        times = BYTES_IN_A_LIST if loader == "BytearrayNode" else 1
        self.n_bytes += times * self._sizes.get(str(value.get("file")), 0)
        n_objects = 1 + sum([self._add(each, in_loss) for each in value.values()])
        # Two objects of one name are one to skops, which visits it for both. If they were of
        # different sizes, a short file could make it visit billions.
        name = value.get("__id__")
        if name is not None and self._n_objects.setdefault(name, n_objects) != n_objects:
            raise ValueError("two different objects have the same __id__")
        return n_objects


def _find_stored(file: str, content: bytes, bytes_bound: int) -> bytes:
    """The same archive with every entry stored as it is.

    Whoever reads it afterwards unpacks nothing, so cannot unpack more than was counted here, even
    if the sizes in the archive lie.
    """
    try:
        return _Repacking(file, bytes_bound).archive(content, inner=False)
    except FormatError:
        raise
    # zipfile raises much more than BadZipFile.
    except Exception as error:
        reason = f"{type(error).__name__}: {_shorten(str(error))}"
        raise FormatError("skops file", f"{file} is a broken zip archive ({reason})") from error


@final
class _Repacking:
    """Unpacks an archive within a bound.

    Sparse matrices are archives inside the archive, and count with what they hold.
    """

    def __init__(self, file: str, bytes_bound: int) -> None:
        self._file, self._bytes_bound, self._bytes_left = file, bytes_bound, bytes_bound

    def archive(self, content: bytes, *, inner: bool) -> bytes:
        """Write the archive again, all entries stored."""
        # Counted in the bytes: zipfile makes an object for each entry before it gives their number.
        if content.count(ZIP_ENTRY) > ZIP_ENTRIES_BOUND:
            raise self._refuse(f"has more than {ZIP_ENTRIES_BOUND} entries")
        written = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(content)) as packed,
            zipfile.ZipFile(written, "w") as stored,
        ):
            self._check(packed.infolist(), inner=inner)
            for entry in packed.infolist():
                stored.writestr(entry.filename, self._unpack(packed, entry, inner=inner))
        return written.getvalue()

    def _check(self, entries: list[zipfile.ZipInfo], *, inner: bool) -> None:
        sizes = {entry.filename: entry.file_size for entry in entries}
        self._bytes_left -= sum(entry.file_size for entry in entries)
        if self._bytes_left < 0:
            bound = f"{self._bytes_bound} bytes that Limits(file_bytes=...) allows"
            raise self._refuse(f"would unpack to more than the {bound}")
        if len(sizes) < len(entries):
            raise self._refuse("has two entries of the same name")
        # Other methods unpack without a bound on what one step gives.
        allowed = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if any(entry.compress_type not in allowed for entry in entries):
            raise self._refuse("is compressed in another way than by deflate")
        if not inner and not 0 < sizes.get(SCHEMA, 0) <= SCHEMA_BYTES_BOUND:
            bounds = f"1 to {SCHEMA_BYTES_BOUND} bytes"
            raise self._refuse(f"is a zip archive without a {SCHEMA} of {bounds}")

    def _refuse(self, problem: str) -> FormatError:
        return FormatError("skops file", f"{self._file} {problem}")

    def _unpack(self, packed: zipfile.ZipFile, entry: zipfile.ZipInfo, *, inner: bool) -> bytes:
        unpacked = io.BytesIO()
        # In parts: only then does zipfile stop at the size that the entry declares, instead of
        # unpacking first and cutting afterwards.
        with packed.open(entry) as file:
            while part := file.read(COPIED_BYTES):
                unpacked.write(part)
        content = unpacked.getvalue()
        is_archive = content.startswith(ZIP_OPENING) and not inner
        return self.archive(content, inner=True) if is_archive else content
