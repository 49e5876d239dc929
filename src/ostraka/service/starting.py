"""The first start, and every other: data folder, database, key, accounts, and the admin's link.

    first start    in an empty folder: everything is made, and a link for the first admin is printed
    later          the database must be of this version, and the key and the files the same as ever

Worker processes only open what is there: nothing is made by two at once.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

from sqlalchemy import insert, select

from ostraka.errors import InputError, ParameterError, StateError
from ostraka.exchange import JoinCode
from ostraka.ledger import Budget
from ostraka.ledger.amounts import Amount
from ostraka.service import joining
from ostraka.service.rotation import finish_rotation
from ostraka.service.running import alone
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from ostraka.service.storage import tables
from ostraka.service.storage.blobs import Blobs
from ostraka.service.storage.database import Database, take_turns
from ostraka.service.storage.migrations import check_version, is_current, is_empty, migrate
from ostraka.signing import PublicKey, SecretKey

__all__ = [
    "Started",
    "first_code",
    "make_folder",
    "migrate_database",
    "open_service",
    "prepare",
]

BUDGET = Budget(epsilon=10.0, delta=1e-5)
"""What every party may lose in all, unless the first start says otherwise."""
UNITS = ("party", "person")
FIRST_ADMIN = "admin"


@final
@dataclass(frozen=True, slots=True)
class Started:
    """What a start has found or made."""

    service: Service
    budget: Amount
    code: JoinCode | None
    """For the first admin, until somebody has joined."""


def prepare(settings: Settings) -> Started:
    """Make what is missing; refuse what does not belong together."""
    make_folder(settings.folder)
    with _closed_on_error(Database.open(settings.database_url)) as database:
        database.check_reachable()
        if database.is_sqlite and is_empty(database):
            migrate(database)
        check_version(database)
        _make_service(settings, database)
        service = _open(settings, database)
        budget = _make_ledger(service, settings)
        with database.read() as connection:
            admins = connection.execute(
                select(tables.token.c.digest).where(tables.token.c.role == "admin").limit(1)
            ).all()
        code = None if admins or settings.admins else first_code(service)
    return Started(service, budget, code)


def open_service(settings: Settings) -> Service:
    """What an earlier start has made."""
    if settings.database is None and not (settings.folder / "service.db").is_file():
        raise InputError(
            f"There is no service in {settings.folder}.",
            "Name its folder by --data, or start one there: ostraka serve.",
        )
    with _closed_on_error(Database.open(settings.database_url)) as database:
        database.check_reachable()
        check_version(database)
        return _open(settings, database)


@contextlib.contextmanager
def _closed_on_error(database: Database) -> Iterator[Database]:
    try:
        yield database
    except BaseException:
        database.close()
        raise


def first_code(service: Service, name: str = FIRST_ADMIN) -> JoinCode:
    """A code for an admin, made by whoever has the machine."""
    with service.database.write() as connection:
        made = joining.invite(
            connection, "this machine", service.key.public, [name], role="admin", days=7
        )
    return made[0][1]


def migrate_database(settings: Settings) -> tuple[str | None, str]:
    """Bring the tables to this version, unless a process uses them; from which, and to which."""
    make_folder(settings.folder)
    database = Database.open(settings.database_url)
    try:
        database.check_reachable()
        changes = not is_empty(database) and not is_current(database)
        with alone(database) if changes else contextlib.nullcontext():
            return migrate(database)
    finally:
        database.close()


def _make_service(settings: Settings, database: Database) -> None:
    """The key, the mark of the files, and the row that says so: by one of those who come first."""
    with database.write() as connection:
        take_turns(connection)
        if connection.execute(select(tables.service.c.id)).first() is not None:
            return
        path = settings.key_path
        if not path.exists():
            SecretKey.create().save(path)
        key = SecretKey.load(path).public
        row = {"id": 1, "public_key": key.raw, "files": Blobs(settings.files_url).mark()}
        connection.execute(insert(tables.service).values(**row))


def _open(settings: Settings, database: Database) -> Service:
    blobs, path = Blobs(settings.files_url), settings.key_path
    with database.read() as connection:
        known = connection.execute(select(tables.service)).one_or_none()
    if known is None:
        raise StateError("This service was never started.", "Start it once: ostraka serve.")
    finish_rotation(path, PublicKey(bytes(known.public_key)))
    if not path.exists():
        raise InputError(
            f"The service's key is not in {path}.",
            "Put it there, from the host that has it or from a backup: parties know the service by "
            "it.",
        )
    service = Service(database, blobs, SecretKey.load(path))
    if bytes(known.public_key) != service.key.public.raw:
        raise InputError(
            f"The key in {path} is not that of this service's database.",
            "Every host of a service needs the same key: copy it from the first, or name it by "
            "--key.",
        )
    if known.files != blobs.read_mark():
        raise InputError(
            f"The files in {settings.files_url} are not those of this service's database.",
            "Every host of a service needs the same files: name the place by --files.",
        )
    return service


def _make_ledger(service: Service, settings: Settings) -> Amount:
    """The accounts, with the budget of the first start."""
    asked = None
    if settings.epsilon is not None:
        asked = Budget(epsilon=settings.epsilon, delta=settings.delta).amount
    elif settings.delta is not None:
        raise ParameterError("delta", got=settings.delta, allowed="together with --epsilon")
    unit = settings.protects or UNITS[0]
    if unit not in UNITS:
        raise ParameterError("protects", got=unit, allowed=" or ".join(UNITS))
    with service.database.write() as connection:
        take_turns(connection)
        there = connection.execute(select(tables.budget)).one_or_none()
        if there is None:
            made = asked or BUDGET.amount
            row = {"id": 1, "kind": made.kind.value, "amount": made.to_text(), "unit": unit}
            connection.execute(insert(tables.budget).values(**row))
            return made
    ledger = service.ledger()
    found = ledger.budget
    if settings.protects is not None and unit != ledger.protects:
        allowed = f"{ledger.protects}, as at the first start"
        raise ParameterError("protects", got=unit, allowed=allowed)
    if asked is not None and asked != found:
        raise ParameterError(
            "epsilon",
            got=str(asked),
            allowed=f"{found}, as at the first start; admins may give single parties another one",
        )
    return found


def make_folder(folder: Path) -> None:
    """For its owner alone: keys and contributions are in it."""
    if not folder.exists():
        folder.mkdir(parents=True, mode=0o700, exist_ok=True)
    if not folder.is_dir():
        raise NotADirectoryError(20, "it is not a folder", str(folder))
    if os.name == "posix" and folder.stat().st_mode & 0o077:
        with contextlib.suppress(PermissionError):
            folder.chmod(0o700)
