"""Files of the public data sets: found in the data folder, or fetched into it.

A file that is already there is checked before it is used: its size, its first bytes, its sha256 if
one is known. A missing file is streamed to `<name>.part`, checked, and only then moved into place,
so that an interruption never leaves a file that looks whole. The next attempt continues where the
last one ended, if the server still has the same file: `<name>.part.json` records the address and
the version that the part came from, because parts of two files make neither.

Trust: if no checksum is known, the first copy is trusted, because https authenticates the server
but nobody vouches for the file. Its sha256 is written to `<name>.sha256`, and later loads refuse
anything else. Addresses are followed over http and https only, and never from https down to http.

Only the standard library is used, with its own settings for proxies (http_proxy, https_proxy).
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import json
import os
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, final
from urllib.parse import urlsplit

from ostraka.datasets.sources import DataFile
from ostraka.errors import DownloadError, FormatError
from ostraka.files import write_atomically
from ostraka.progress import watch

__all__ = ["VARIABLE", "data_folder", "obtain", "verify"]

VARIABLE = "OSTRAKA_DATA"
TIMEOUT_SECONDS = 30.0
TRIES = 3
PAUSE_SECONDS = 0.5
"""Seconds before the second try; each further one waits twice as long."""
CHUNK_BYTES = 2**18
WORTH_RETRYING = {408, 425, 429, 500, 502, 503, 504}
OPENINGS = {".gz": b"\x1f\x8b", ".zip": b"PK", ".npz": b"PK"}
"""How files with these endings begin, so that an error page instead of a file is noticed."""


class _Failed(Exception):
    """An address did not give the file."""

    def __init__(self, reason: str, *, retry: bool) -> None:
        self.reason, self.retry = reason, retry
        super().__init__(reason)


def data_folder(given: str | os.PathLike[str] | None = None) -> Path:
    """The folder with the data: the given one, else OSTRAKA_DATA, else `data` where we are."""
    return Path(given if given is not None else os.environ.get(VARIABLE) or "data")


def obtain(file: DataFile, folder: Path, *, progress: bool = False) -> Path:
    """The path of a file that was checked, after downloading it if it is missing."""
    path = folder / file.name
    if path.exists():
        verify(path, file)
        return path
    if not file.urls:
        raise DownloadError(file.name, str(folder), (), about=file.about, variable=VARIABLE)
    folder.mkdir(parents=True, exist_ok=True)
    tried = []
    for url in file.urls:
        try:
            _fetch(url, path, file, progress)
            return path
        except _Failed as failed:
            tried.append((url, failed.reason))
    raise DownloadError(file.name, str(folder), tuple(tried), about=file.about, variable=VARIABLE)


def verify(path: Path, file: DataFile) -> None:
    """Refuse a file that is not the one it should be, with a `FormatError`."""
    problem = _problem(path, file)
    noted = path.with_name(path.name + ".sha256")
    if problem is None and not file.is_known and noted.exists():
        expected, digest = noted.read_text("utf-8").split()[:1], _sha256(path)
        if expected != [digest]:
            problem = (
                f"its sha256 is {digest}, but {noted.name}, written when it was first downloaded, "
                "says otherwise"
            )
    if problem is not None:
        remedy = (
            f"Remove {path} and load again to download a new copy"
            if file.urls
            else f"Put a whole copy in the place of {path}: it cannot be downloaded"
        )
        raise FormatError(f"copy of {file.name}", f"{problem}. It should be {file.about}. {remedy}")


def _problem(path: Path, file: DataFile) -> str | None:
    """What is wrong with a file; cheap checks first."""
    size = path.stat().st_size
    if file.n_bytes is not None and size != file.n_bytes:
        return f"it has {size} bytes and not {file.n_bytes}" + (
            ", so it was cut short" if size < file.n_bytes else ""
        )
    kind = Path(file.name).suffix
    opening = OPENINGS.get(kind, b"")
    with path.open("rb") as stream:
        if stream.read(len(opening)) != opening:
            return f"it does not begin like a {kind} file"
    if file.sha256 is not None and (digest := _sha256(path)) != file.sha256:
        return f"its sha256 is {digest} and not {file.sha256}"
    return None if file.unpacked_sha256 is None else _problem_inside(path, file.unpacked_sha256)


def _problem_inside(path: Path, expected: str) -> str | None:
    try:
        with gzip.open(path) as stream:
            digest = _digest(stream)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        return f"it cannot be unpacked ({error}), so it was cut short or damaged"
    return (
        None
        if digest == expected
        else f"the sha256 of what it holds is {digest} and not {expected}"
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return _digest(stream)


def _digest(stream: Any) -> str:
    digest = hashlib.sha256()
    while chunk := stream.read(2**20):
        digest.update(chunk)
    return digest.hexdigest()


def _fetch(url: str, path: Path, file: DataFile, progress: bool) -> None:
    """Download from one address, with a few tries; raise `_Failed` with the last reason."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise _Failed("not an http or https address", retry=False)
    part = _Part(path)
    for attempt in range(TRIES):
        try:
            # If the part is whole, only the check and the move are left.
            if not (file.n_bytes is not None and part.size == file.n_bytes):
                _stream(url, part, file, progress)
            _accept(part, file)
            return
        except _Failed as failed:
            if not failed.retry or attempt == TRIES - 1:
                raise
        time.sleep(PAUSE_SECONDS * 2**attempt)


def _accept(part: _Part, file: DataFile) -> None:
    """Check what was downloaded and move it into place; a wrong one is deleted."""
    problem = _problem(part.path, file)
    if problem is not None:
        part.drop()
        raise _Failed(f"the download is not the file: {problem}; it was deleted", retry=False)
    if not file.is_known:
        noted = f"{_sha256(part.path)}  {file.name}\n"
        write_atomically(part.target.with_name(file.name + ".sha256"), noted.encode())
    part.path.replace(part.target)
    part.note.unlink(missing_ok=True)


@final
@dataclass(frozen=True, slots=True)
class _Part:
    """The beginning of a file, and a note of where it came from."""

    target: Path

    @property
    def path(self) -> Path:
        return self.target.with_name(self.target.name + ".part")

    @property
    def note(self) -> Path:
        return self.target.with_name(self.target.name + ".part.json")

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def origin(self) -> dict[str, str]:
        with contextlib.suppress(OSError, ValueError):
            noted = json.loads(self.note.read_text("utf-8"))
            return noted if isinstance(noted, dict) else {}
        return {}

    def begin(self, url: str, headers: Any) -> None:
        """Remember whose part this is.

        With an exact name of the version, the server can refuse to continue another one.
        """
        tag = headers.get("ETag") or ""
        version = tag if tag and not tag.startswith("W/") else headers.get("Last-Modified") or ""
        write_atomically(self.note, json.dumps({"url": url, "version": version}).encode())

    def drop(self) -> None:
        self.path.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def _stream(url: str, part: _Part, file: DataFile, progress: bool) -> None:
    """One request; what arrives stays in the part even if the connection breaks."""
    with _open(url, part, file) as response:
        start = _start_of(response, part)
        expected = _find_length(response)
        if start == 0:
            part.begin(url, response.headers)
        left = None if expected is None else -(-expected // CHUNK_BYTES)
        with part.path.open("ab" if start else "wb") as out:
            got = _write(
                watch(f"downloading {file.name}", progress)(_chunks(response), left),
                out,
                file,
                start,
            )
    if expected is not None and got < expected:
        raise _Failed(
            f"the connection ended after {start + got} of {start + expected} bytes", retry=True
        )


def _open(url: str, part: _Part, file: DataFile) -> Any:
    """Ask for the rest if there is a beginning that this address can continue, else for all."""
    headers = {"User-Agent": "ostraka", "Accept-Encoding": "identity"}
    origin = part.origin()
    # Without a note only a checksum can tell a part of this file from a part of another.
    if part.size and (origin.get("url") == url or (not origin and file.is_known)):
        headers["Range"] = f"bytes={part.size}-"
        if origin.get("version"):
            headers["If-Range"] = origin["version"]
    try:
        return urllib.request.build_opener(_Redirects).open(
            urllib.request.Request(url, headers=headers), timeout=TIMEOUT_SECONDS
        )
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416:  # there is nothing after what we have, so we have something else
                part.drop()
                raise _Failed(
                    "the server cannot continue the part; it was deleted", retry=True
                ) from None
            raise _Failed(
                f"the server answers {error.code} {error.reason}",
                retry=error.code in WORTH_RETRYING,
            ) from None
    except urllib.error.URLError as error:
        raise _Failed(f"no connection: {error.reason}", retry=True) from None
    except (OSError, http.client.HTTPException) as error:
        raise _Failed(f"no connection: {error!r}", retry=True) from None


def _start_of(response: Any, part: _Part) -> int:
    """Where in the file this answer begins: 0 if the server sends all of it again."""
    if response.status != 206:
        return 0
    given = str(response.headers.get("Content-Range", ""))
    if not given.startswith(f"bytes {part.size}-"):
        part.drop()
        raise _Failed(
            f"the server continues elsewhere ({given or 'it does not say where'}); "
            "the part was deleted",
            retry=True,
        )
    return part.size


def _find_length(response: Any) -> int | None:
    length = response.headers.get("Content-Length")
    return int(length) if length is not None and str(length).isdecimal() else None


def _chunks(response: Any) -> Iterator[bytes]:
    while True:
        try:
            chunk = response.read(CHUNK_BYTES)
        # Only errors of the network: the caller must see those of the disk.
        except (OSError, http.client.HTTPException) as error:
            raise _Failed(f"the connection broke: {error!r}", retry=True) from None
        if not chunk:
            return
        yield chunk


def _write(chunks: Any, out: IO[bytes], file: DataFile, start: int) -> int:
    got = 0
    for chunk in chunks:
        got += len(chunk)
        if file.n_bytes is not None and start + got > file.n_bytes:
            out.truncate(0)  # whatever this is, a later attempt must not go on from it
            raise _Failed(
                f"the server sends more than the {file.n_bytes} bytes of the file", retry=False
            )
        out.write(chunk)
    out.flush()
    os.fsync(out.fileno())
    return got


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follow http and https addresses, but never from https down to http.

    Anybody could pose as a server that is not authenticated.
    """

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Refuse some redirections that urllib would follow."""
        old, new = urlsplit(req.full_url).scheme, urlsplit(newurl).scheme
        if new not in ("http", "https") or (old == "https" and new == "http"):
            raise _Failed(f"it leads to {newurl}, which is not followed from {old}", retry=False)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
