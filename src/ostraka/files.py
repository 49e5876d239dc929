"""Writing files so that an interruption leaves either the old file or the new one, never half of one."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path

__all__ = ["check_folder", "check_new", "check_writable", "write_atomically"]


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write beside the target, then move over it."""
    target = Path(path)
    check_folder(target)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o666 & ~_umask())  # as any new file, not only for its owner
        Path(temporary).replace(target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        raise


def check_new(path: Path, force: bool) -> None:
    """Refuse to write where something is already, unless told to; refuse folders and missing folders."""
    check_folder(path)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    if path.exists() and not force:
        raise FileExistsError(errno.EEXIST, "it is there already; --force replaces it", str(path))


def check_writable(path: Path) -> None:
    """Refuse a folder into which nothing can be written, before something is paid for that should end up in it."""
    check_folder(path)
    with tempfile.TemporaryFile(dir=path.parent):
        pass


def check_folder(path: Path) -> None:
    """Refuse a path whose folder is not there, before the work is done that should end up in it."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(path.parent))


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
