"""Files: written so that an interruption leaves the old one or the new one, never half of one.

Read only if they are what they seem.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from ostraka.errors import FormatError, ParameterError

__all__ = [
    "check_distinct",
    "check_folder",
    "check_new",
    "check_writable",
    "foreign_kind",
    "read_regular",
    "write_atomically",
    "write_new",
    "write_once",
]


def write_atomically(
    path: str | os.PathLike[str], content: bytes, *, private: bool = False
) -> None:
    """Write beside the target, then move over it. `private`: for its owner's eyes alone."""
    with _written_beside(path, content) as temporary:
        if not private:
            temporary.chmod(0o666 & ~_umask())  # as any new file
        temporary.replace(path)


def write_once(path: str | os.PathLike[str], content: bytes) -> None:
    """Write where nothing is, for its owner's eyes alone; whatever comes meanwhile is not replaced.

    Other than `O_EXCL`, this leaves no empty file if the power fails in between.
    """
    with _written_beside(path, content) as temporary:
        os.link(temporary, path)


@contextlib.contextmanager
def _written_beside(path: str | os.PathLike[str], content: bytes) -> Iterator[Path]:
    """A file with this content beside the target, on the disk, for its owner alone; gone after."""
    target = Path(path)
    check_folder(target)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def write_new(path: str | os.PathLike[str], content: bytes, *, overwrite: bool) -> None:
    """Write where nothing is yet, unless told to; the very same bytes may be there already."""
    target = Path(path)
    if not overwrite and _holds(target, content):
        return
    check_new(target, overwrite, "overwrite=True replaces it. Nothing was written")
    write_atomically(target, content)


def read_regular(path: str | os.PathLike[str], what: str, most: int) -> bytes:
    """The bytes of a regular file of at most so many.

    A pipe, a folder or a giant is refused unread.
    """
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(target))
    # Asked before the file is opened: opening a pipe would wait for somebody to write.
    found = target.stat()
    if not stat.S_ISREG(found.st_mode):
        raise FormatError(what, f"{target.name} is not a regular file")
    if found.st_size > most:
        raise FormatError(what, f"{target.name} has {found.st_size} bytes, more than {most}")
    with target.open("rb") as file:
        return file.read(min(most, found.st_size + 1))


def check_new(path: Path, force: bool, remedy: str = "--force replaces it") -> None:
    """Refuse to write where something is already, unless told to.

    Refuse folders and missing folders.
    """
    check_folder(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if path.exists() and not force:
        raise FileExistsError(errno.EEXIST, f"it is there already; {remedy}", str(path))


def check_writable(path: Path) -> None:
    """Refuse a folder into which nothing can be written, before something is paid for that should
    end up in it.
    """
    check_folder(path)
    with tempfile.TemporaryFile(dir=path.parent):
        pass


def check_folder(path: Path) -> None:
    """Refuse a path whose folder is not there, before the work is done that should end up in it."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))


def _holds(path: Path, content: bytes) -> bool:
    same_size = path.is_file() and path.stat().st_size == len(content)
    return same_size and path.read_bytes() == content


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


_OPENINGS = {
    b"\x80": "a pickle, which could run code and is never opened",
    b"\x1f\x8b": "a gzip file",
    b"PK": "a zip file or a numpy archive",
    b"\x93NUMPY": "a numpy file",
    b"OSTRAKON": "a contribution to a poll",
}


def check_distinct(
    out: Path, others: Iterable[Path | None], names: str, what: str = "--out"
) -> None:
    """Refuse to replace what a file is made of, or the account of who has paid."""
    there = [other for other in others if other is not None and other.exists()]
    if out.exists() and any(out.samefile(other) for other in there):
        raise ParameterError(what, got=str(out), allowed=f"a file that is not {names}")


def foreign_kind(opening: bytes) -> str | None:
    """What a file that begins like this probably is, if not one of ours."""
    if opening[8:9] == b"{" and opening[4:8] == bytes(4):  # how safetensors begin
        return "a poll or a release"
    known = next((kind for start, kind in _OPENINGS.items() if opening.startswith(start)), None)
    if known is None and opening and all(32 <= byte < 127 or byte in b"\t\r\n" for byte in opening):
        return "a text, such as a table in a CSV file"
    return known
