"""The first start and every other: what is missing is made once; what does not fit is refused."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from ostraka.errors import FormatError, InputError, ParameterError, StateError
from ostraka.service import joining
from ostraka.service.settings import Settings
from ostraka.service.starting import first_code, migrate_database, open_service, prepare
from ostraka.signing import SecretKey
from tests.databases import new_database
from tests.service.made import settings_in, start


def test_the_first_start_makes_everything(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    started = prepare(settings)
    folder = settings.folder
    assert {path.name for path in folder.iterdir()} >= {"service.db", "service.key", "files"}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(settings.key_path.stat().st_mode) == 0o600
    assert str(started.budget) == "ε=10, δ=1e-5"
    assert started.code is not None
    with started.service.database.write() as connection:
        key = SecretKey.create()
        public = started.service.key.public
        told = joining.join(connection, started.code.request(key, public), public)
    assert (told.role, told.name) == ("admin", "admin")
    started.service.database.close()
    again = prepare(settings)
    assert again.code is None, "there is an admin now"
    assert again.service.key.public == started.service.key.public
    again.service.database.close()


def test_a_link_until_somebody_has_joined(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    codes = []
    for _ in range(2):
        started = prepare(settings)
        codes.append(started.code)
        started.service.database.close()
    assert None not in codes
    assert codes[0] != codes[1]


def test_another_admin_from_this_machine(settings: Settings) -> None:
    service = start(settings)
    code = first_code(service, "zoe")
    with service.database.write() as connection:
        key = SecretKey.create()
        public = service.key.public
        assert joining.join(connection, code.request(key, public), public).name == "zoe"
    service.database.close()


def test_a_database_without_tables_is_not_filled_by_itself(tmp_path: Path, postgresql: str) -> None:
    """Two workers would do it at once: it has a command of its own."""
    settings = settings_in(tmp_path, new_database(postgresql))
    with pytest.raises(StateError, match=r"has no tables yet.* after them: ostraka serve migrate"):
        prepare(settings)
    assert migrate_database(settings) == (None, "1")
    prepare(settings).service.database.close()


def test_hosts_that_start_at_the_same_time(settings: Settings) -> None:
    if settings.database is None:
        prepare(settings).service.database.close()
    with ThreadPoolExecutor(4) as pool:
        started = list(pool.map(prepare, [settings] * 4))
    assert len({each.service.key.public for each in started}) == 1
    for each in started:
        each.service.database.close()


def test_a_worker_makes_nothing(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    migrate_database(settings)
    with pytest.raises(StateError, match="never started"):
        open_service(settings)
    assert not settings.key_path.exists()


def test_another_key_or_other_files(settings: Settings, tmp_path: Path) -> None:
    start(settings).database.close()
    other = tmp_path / "other.key"
    SecretKey.create().save(other)
    with pytest.raises(InputError, match="is not that of this service's database"):
        open_service(replace(settings, key=str(other)))
    with pytest.raises(InputError, match="are not those of this service's database"):
        open_service(replace(settings, files=str(tmp_path / "elsewhere")))
    settings.key_path.unlink()
    with pytest.raises(InputError, match="The service's key is not in"):
        open_service(settings)


def test_a_key_that_others_may_read(settings: Settings) -> None:
    start(settings).database.close()
    settings.key_path.chmod(0o644)
    with pytest.raises(InputError, match="chmod 600"):
        open_service(settings)


def test_budgets_stand_once_given(settings: Settings) -> None:
    start(replace(settings, epsilon=3.0, protects="person")).database.close()
    for given, named in (
        ({"epsilon": 4.0}, "epsilon"),
        ({"epsilon": 3.0, "delta": 1e-6}, "epsilon"),
        ({"delta": 1e-6}, "delta"),
        ({"protects": "party"}, "protects"),
        ({"protects": "row"}, "protects"),
    ):
        with pytest.raises(ParameterError, match=named):
            prepare(replace(settings, **given))  # type: ignore[arg-type]
    for fitting in ({}, {"epsilon": 3.0}, {"protects": "person"}):
        started = prepare(replace(settings, **fitting))  # type: ignore[arg-type]
        assert str(started.budget) == "ε=3"
        started.service.database.close()


def test_a_damaged_database(tmp_path: Path) -> None:
    settings = settings_in(tmp_path)
    start(settings).database.close()
    settings.folder.joinpath("service.db").write_bytes(b"no database" * 1000)
    with pytest.raises(Exception, match=r"cannot use its database|damaged") as caught:
        open_service(settings)
    assert isinstance(caught.value, OSError | FormatError)


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("in the way")
    with pytest.raises(NotADirectoryError):
        prepare(settings_in(tmp_path))
