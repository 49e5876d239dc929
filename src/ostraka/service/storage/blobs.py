"""Large files under their digests: polls and releases, in a folder or wherever fsspec reaches.

A file is named by the sha256 of its content, so it never changes, may be written twice, and is
checked whenever it is read. Which file belongs to what stands in the database, and is written there
only after the file is safe.
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, final

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from ostraka.errors import FormatError, OstrakaError, ServiceError
from ostraka.files import write_atomically

__all__ = ["Blobs"]

MARK: Final = "ostraka-files"
CANNOT: Final = "cannot use the place of its files"
REMEDY: Final = "Try again; if it goes on, look at the service's log."


@final
class Blobs:
    """A place for files, by path or URL."""

    def __init__(self, url: str) -> None:
        self.url = url
        system, root = url_to_fs(url)
        self._system: Any = system
        self._root: str = root.rstrip("/")

    @property
    def is_local(self) -> bool:
        """Whether the files are in a folder of this machine."""
        return isinstance(self._system, LocalFileSystem)

    def put(self, content: bytes) -> str:
        """Keep a file; its digest."""
        digest = hashlib.sha256(content).hexdigest()
        self._write(self._path(digest), content)
        return digest

    def get(self, digest: str) -> bytes:
        """The file of this digest."""
        with self._telling():
            try:
                content: bytes = self._system.cat_file(self._path(digest))
            except FileNotFoundError:
                raise FormatError("file of the service", f"{digest[:12]}... is missing") from None
        if hashlib.sha256(content).hexdigest() != digest:
            raise FormatError("file of the service", f"{digest[:12]}... was changed")
        return content

    def mark(self) -> str:
        """What tells this place from others; made when it is first asked for."""
        there = self.read_mark()
        if there is None:
            there = secrets.token_hex(16)
            self._write(f"{self._root}/{MARK}", there.encode("ascii"))
        return there

    def read_mark(self) -> str | None:
        """The same; None where it was never asked for."""
        path = f"{self._root}/{MARK}"
        with self._telling():
            if not self._system.exists(path):
                return None
            return str(self._system.cat_file(path).decode("ascii").strip())

    def _path(self, digest: str) -> str:
        return f"{self._root}/{digest[:2]}/{digest}"

    def _write(self, path: str, content: bytes) -> None:
        with self._telling():
            if self.is_local:  # whole and on the disk, or not there
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                write_atomically(path, content)
            else:
                self._system.pipe_file(path, content)

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        """Places elsewhere fail with errors of their own libraries: whatever it is, people hear
        what to do.
        """
        try:
            yield
        except OstrakaError:
            raise
        except Exception as error:
            raise ServiceError(self.url, CANNOT, REMEDY) from error
