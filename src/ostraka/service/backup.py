"""A service in one file: tables, large files and key, to be put elsewhere.

    part            what
    backup.json     of which form it is, and of which version the tables; sha256 of every other part
    service.key     the service's secret key
    tables/NAME     a table, one row a line: JSON, bytes in base64
    files/DIGEST    a poll or a release

It is taken at one moment, while the service runs, from SQLite or PostgreSQL, and restored to
either.

A restored service has forgotten what was charged after that moment, and the second noise for one
poll could be drawn that way. So it is an archive, which shows everything and opens, takes in and
closes nothing, unless whoever restores it knows that nothing was closed since. A poll that was
closed at that moment, and not charged yet, ends in either case. Who was revoked since counts again.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import os
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, LargeBinary, Table, func, insert, select, text, update

from ostraka.errors import FormatError, InputError, naming_file
from ostraka.files import check_new, read_regular, write_once
from ostraka.ledger.book import add_up
from ostraka.service import audit
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from ostraka.service.storage import contributions, tables
from ostraka.service.storage.blobs import Blobs
from ostraka.service.storage.database import Database
from ostraka.service.storage.ledger import rows_of
from ostraka.service.storage.migrations import is_empty, migrate, version
from ostraka.tensors import canonical_json, parse_json

__all__ = ["restore", "save"]

FORMAT: Final = "backup 1"
WHAT: Final = "backup"
CONTENTS: Final = "backup.json"
KEY: Final = "service.key"
TOGETHER: Final = 500
CHUNK: Final = 2**20
LARGEST_LINE: Final = 2**30
LARGEST_KEY: Final = 10_000


def save(service: Service, key: Path, path: Path) -> dict[str, int]:
    """Write a backup where nothing is yet; how many rows each table has."""
    check_new(path, False, "a backup is never replaced; choose another name")
    # A key is in it: a new file under a name that nobody knows before, for its owner alone.
    handle, part_name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    part = Path(part_name)
    try:
        with os.fdopen(handle, "w+b") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                rows = _write(service, key, archive)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return rows


def restore(settings: Settings, path: Path, *, nothing_closed_since: bool) -> dict[str, int]:
    """Make the service of a backup where none is yet; how many rows each table has."""
    with naming_file(path), _opened(path) as archive:
        held = _check_parts(archive)
        key = archive.read(KEY)
        _check_key_path(settings.key_path, key)
        database, blobs = Database.open(settings.database_url), Blobs(settings.files_url)
        try:
            _make_tables(database, str(held["tables"]))
            _put_files(archive, blobs)
            _keep_key(settings.key_path, key)
            with database.write() as connection:
                rows = _fill(connection, archive)
                state = {"files": blobs.mark(), "is_archive": not nothing_closed_since}
                connection.execute(update(tables.service).values(**state))
                _end_uncharged(connection)
                add_up(rows_of(connection))
                audit.check(connection)
                kind = "restored a backup" if nothing_closed_since else "restored an archive"
                audit.note(connection, "this machine", kind, str(held["at"]))
        finally:
            database.close()
    return rows


def _write(service: Service, key: Path, archive: zipfile.ZipFile) -> dict[str, int]:
    digests, rows = {}, {}
    with service.database.read() as connection:
        of_version, at = version(connection), audit.last(connection)
        for table in tables.METADATA.sorted_tables:
            name = f"tables/{table.name}"
            digests[name] = _put(archive, name, _lines(connection, table))
            rows[table.name] = _count(connection, table)
        files = _files(connection)
    for digest in files:  # these never change, and are never removed
        digests[f"files/{digest}"] = _put(archive, f"files/{digest}", [service.blobs.get(digest)])
    digests[KEY] = _put(archive, KEY, [read_regular(key, "secret key", LARGEST_KEY)])
    held = {"ostraka": FORMAT, "tables": of_version, "at": at, "parts": digests}
    archive.writestr(CONTENTS, canonical_json(held))
    return rows


def _end_uncharged(connection: Connection) -> None:
    """End polls that were closed and not charged yet.

    The service went on after the backup, and may have charged them, and drawn. Nobody may draw a
    second time.
    """
    poll = tables.poll
    query = select(poll.c.id, poll.c.digest).where(
        poll.c.state == "closed", poll.c.charge.is_(None)
    )
    for id_, digest in connection.execute(query).all():
        connection.execute(update(poll).where(poll.c.id == id_).values(state="abandoned"))
        contributions.erase(connection, id_)
        audit.note(connection, "this machine", "ended a poll that may have been charged", digest)


def _put(archive: zipfile.ZipFile, name: str, chunks: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    with archive.open(name, "w", force_zip64=True) as part:
        for chunk in chunks:
            digest.update(chunk)
            part.write(chunk)
    return digest.hexdigest()


def _lines(connection: Connection, table: Table) -> Iterator[bytes]:
    query = select(table).order_by(*table.primary_key.columns)
    for row in connection.execution_options(yield_per=200).execute(query):
        yield json.dumps([_plain(value) for value in row]).encode("ascii") + b"\n"


def _plain(value: Any) -> Any:
    is_bytes = isinstance(value, bytes | memoryview)
    return base64.b64encode(value).decode("ascii") if is_bytes else value


def _count(connection: Connection, table: Table) -> int:
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _files(connection: Connection) -> list[str]:
    columns = (tables.poll.c.digest, tables.poll.c.release, tables.outcome.c.file)
    found = {each for column in columns for each in connection.execute(select(column)).scalars()}
    return sorted(each for each in found if each is not None)


def _opened(path: Path) -> zipfile.ZipFile:
    if not path.is_file():
        raise FileNotFoundError(2, "no such file", str(path))
    try:
        return zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError):
        raise FormatError(WHAT, "it is no archive, or was cut off") from None


def _check_parts(archive: zipfile.ZipFile) -> dict[str, Any]:
    """What the archive says of itself, if every part is as it was written."""
    try:
        held = parse_json(archive.read(CONTENTS).decode("utf-8", "replace"), WHAT)
        digests = dict(held["parts"])
        if held.pop("ostraka", None) != FORMAT:
            raise KeyError
        there = set(archive.namelist()) - {CONTENTS}
        needed = {KEY, *(f"tables/{table.name}" for table in tables.METADATA.sorted_tables)}
        if there != set(digests) or not needed <= there:
            raise KeyError
        for name, digest in digests.items():
            if _digest(archive, name) != digest:
                raise FormatError(WHAT, f"its part {name} was changed")
    except (KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile, OSError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(WHAT, f"it is not of the form {FORMAT!r}, or was cut off") from None
    return held


def _digest(archive: zipfile.ZipFile, name: str) -> str:
    digest = hashlib.sha256()
    with archive.open(name) as part:
        while chunk := part.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _make_tables(database: Database, of_version: str) -> None:
    if is_empty(database):
        migrate(database)
    with database.read() as connection:
        if connection.execute(select(tables.service)).first() is not None:
            raise InputError(
                f"There is a service in {database.place} already.",
                "Restore into an empty database. Nothing was changed.",
            )
        here = version(connection)
    if of_version != here:
        raise FormatError(
            WHAT,
            f"its tables are of version {of_version}, and this Ostraka has {here}: restore it with "
            "the Ostraka that made it, then migrate",
        )


def _put_files(archive: zipfile.ZipFile, blobs: Blobs) -> None:
    for name in archive.namelist():
        if name.startswith("files/") and blobs.put(archive.read(name)) != name[len("files/") :]:
            raise FormatError(WHAT, f"{name} has another digest than its name")


def _check_key_path(path: Path, key: bytes) -> None:
    if path.exists() and read_regular(path, "secret key", LARGEST_KEY) != key:
        raise InputError(
            f"Another key is in {path} already.", "Restore into an empty folder. Nothing was made."
        )


def _keep_key(path: Path, key: bytes) -> None:
    if not path.exists():
        write_once(path, key)


def _fill(connection: Connection, archive: zipfile.ZipFile) -> dict[str, int]:
    rows = {}
    for table in tables.METADATA.sorted_tables:
        rows[table.name] = 0
        with archive.open(f"tables/{table.name}") as part:
            lines = iter(lambda part=part: part.readline(LARGEST_LINE), b"")  # type: ignore[misc]
            while some := [_row(table, line) for line in itertools.islice(lines, TOGETHER)]:
                connection.execute(insert(table), some)
                rows[table.name] += len(some)
        _go_on_counting(connection, table)
    return rows


def _row(table: Table, line: bytes) -> dict[str, Any]:
    values = json.loads(line)
    return {
        column.name: base64.b64decode(value)
        if isinstance(column.type, LargeBinary) and value is not None
        else value
        for column, value in zip(table.columns, values, strict=True)
    }


def _go_on_counting(connection: Connection, table: Table) -> None:
    """PostgreSQL counts rows apart from them: the next one must come after those restored."""
    if connection.dialect.name == "sqlite" or [*table.primary_key.columns.keys()] != ["id"]:
        return
    query = (
        f"SELECT setval(pg_get_serial_sequence('{table.name}', 'id'), max(id)) FROM {table.name}"
    )
    connection.execute(text(query))
