"""A service in one file, and back: on either database, nothing is lost, nothing is spent twice."""

from __future__ import annotations

import json
import stat
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from ostraka.errors import FormatError, InputError, StateError
from ostraka.exchange import Manifest
from ostraka.release import Release
from ostraka.service import audit, backup, closing, polls
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from ostraka.service.starting import open_service
from ostraka.service.storage import tables
from tests.databases import new_database
from tests.service.made import (
    ADMIN,
    READER,
    a_poll,
    add_poll,
    arrive,
    filled,
    joined,
    settings_in,
    upload,
    who_is,
)


def everything(service: Service) -> dict[str, list[tuple[Any, ...]]]:
    with service.database.read() as connection:
        return {
            table.name: [
                tuple(bytes(each) if isinstance(each, memoryview) else each for each in row)
                for row in connection.execute(select(table).order_by(*table.primary_key.columns))
            ]
            for table in tables.METADATA.sorted_tables
        }


def busy(service: Service) -> tuple[str, str]:
    """One poll released, one open with two contributions."""
    done, _ = filled(service, ["a", "b"])
    closing.freeze(service, ADMIN, done.digest)
    closing.finish(service, done.digest)
    going = add_poll(service, a_poll(title="going on"))
    members = joined(service, "c", "d")
    arrive(service, *((going, each, upload(going, each)) for each in members))
    return done.digest, going.digest


@pytest.fixture(params=["to sqlite", "to postgresql"])
def elsewhere(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    if request.param == "to sqlite":
        return settings_in(folder)
    made = settings_in(folder, new_database(request.getfixturevalue("postgresql")))
    made.folder.mkdir()
    return made


def save(service: Service, settings: Settings, path: Path) -> Path:
    backup.save(service, settings.key_path, path)
    return path


def restored(to: Settings, path: Path, *, nothing_closed_since: bool = True) -> Service:
    to.folder.mkdir(exist_ok=True)
    backup.restore(to, path, nothing_closed_since=nothing_closed_since)
    return open_service(to)


def test_there_and_back(
    service: Service, settings: Settings, elsewhere: Settings, tmp_path: Path
) -> None:
    done, going = busy(service)
    (member,) = joined(service, "e")
    path = save(service, settings, tmp_path / "x.backup")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = everything(service)
    other = restored(elsewhere, path)
    after = everything(other)
    assert {name: rows for name, rows in after.items() if name not in ("service", "audit")} == {
        name: rows for name, rows in before.items() if name not in ("service", "audit")
    }
    assert after["audit"][:-1] == before["audit"]
    assert after["audit"][-1][2:4] == ("this machine", "restored a backup")
    assert other.key.public == service.key.public
    assert closing.release(other, done, READER) == closing.release(service, done, READER)
    assert who_is(other, member).name == "e"
    poll = other.poll(going)
    (receipt,) = arrive(other, (poll, member, upload(poll, member)))
    closing.freeze(other, ADMIN, going)
    listed = Manifest.from_bytes(closing.manifest(other, going, READER))
    assert listed.counts(receipt.commitment)
    closing.finish(other, going)
    assert Release.from_bytes(closing.release(other, going, READER)[0]).certificate.parties == 3
    assert other.ledger().audit() == 2
    with other.database.read() as connection:
        audit.check(connection)
    other.database.close()


def test_an_archive_charges_nothing(
    service: Service, settings: Settings, elsewhere: Settings, tmp_path: Path
) -> None:
    """Of an old backup the service does not know what was charged since."""
    done, going = busy(service)
    drafted = add_poll(service, a_poll(title="another"), opened=False)
    path = save(service, settings, tmp_path / "x.backup")
    closing.freeze(service, ADMIN, going)
    closing.finish(service, going)
    other = restored(elsewhere, path, nothing_closed_since=False)
    assert closing.release(other, done, READER) == closing.release(service, done, READER)
    with pytest.raises(StateError, match="as an archive"):
        add_poll(other, a_poll(title="another"), opened=False)
    with pytest.raises(StateError, match="as an archive"):
        closing.freeze(other, ADMIN, going)
    with pytest.raises(StateError, match="as an archive"):
        polls.open_poll(other, ADMIN, drafted.digest)
    assert len(other.ledger().history()) == 1
    other.database.close()


def test_a_poll_that_was_closed_and_not_charged_ends(
    service: Service, settings: Settings, elsewhere: Settings, tmp_path: Path
) -> None:
    """Nothing was closed since; but it was charged since, and drawn."""
    poll, _ = filled(service, ["a", "b"])
    closing.freeze(service, ADMIN, poll.digest)
    path = save(service, settings, tmp_path / "x.backup")
    closing.finish(service, poll.digest)
    other = restored(elsewhere, path)
    with pytest.raises(StateError, match="abandoned"):
        closing.finish(other, poll.digest)
    assert draws(service, other) == 1
    with other.database.read() as connection:
        assert connection.execute(select(tables.contribution.c.content)).scalars().all() == [
            None,
            None,
        ]
    other.database.close()


def test_one_that_was_charged_is_finished_of_the_same_draw(
    service: Service,
    settings: Settings,
    elsewhere: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    poll, _ = filled(service, ["a", "b"])
    closing.freeze(service, ADMIN, poll.digest)
    with monkeypatch.context() as patched:
        patched.setattr(closing, "_publish", lambda *_: None)
        closing.finish(service, poll.digest)
    path = save(service, settings, tmp_path / "x.backup")
    closing.finish(service, poll.digest)
    other = restored(elsewhere, path)
    closing.finish(other, poll.digest)
    assert other.ledger().drawn(1) == service.ledger().drawn(1)
    here, there = (closing.release(each, poll.digest, READER)[0] for each in (service, other))
    assert here == there
    other.database.close()


def test_an_archive_takes_nothing_in(
    service: Service, settings: Settings, elsewhere: Settings, tmp_path: Path
) -> None:
    """Its receipts would be for what is never counted."""
    poll, _ = filled(service, ["a"])
    (member,) = joined(service, "e")
    path = save(service, settings, tmp_path / "x.backup")
    other = restored(elsewhere, path, nothing_closed_since=False)
    (answer,) = arrive(other, (other.poll(poll.digest), member, upload(poll, member)))
    assert isinstance(answer, StateError)
    assert "as an archive" in str(answer)
    other.database.close()


def test_what_lies_in_its_way_is_not_written_to(
    service: Service, settings: Settings, tmp_path: Path
) -> None:
    """Somebody who guesses a name waits there for the key in vain."""
    for name in (".x.backup.part", ".x.backup"):
        (tmp_path / name).write_bytes(b"mine")
        (tmp_path / name).chmod(0o666)
    path = save(service, settings, tmp_path / "x.backup")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (tmp_path / ".x.backup.part").read_bytes() == b"mine"


def draws(*services: Service) -> int:
    """How often noise was drawn for one poll, over all that has happened."""
    return sum(len(each.ledger().open_charges() + each.ledger().history()) for each in services)


def test_without_that_noise_would_be_drawn_twice(
    service: Service, settings: Settings, elsewhere: Settings, tmp_path: Path
) -> None:
    """Why an old backup is an archive: said to be in full, it draws a second time."""
    poll, _ = filled(service, ["a", "b"])
    path = save(service, settings, tmp_path / "x.backup")
    closing.freeze(service, ADMIN, poll.digest)
    closing.finish(service, poll.digest)
    other = restored(elsewhere, path, nothing_closed_since=True)
    closing.freeze(other, ADMIN, poll.digest)
    closing.finish(other, poll.digest)
    assert draws(service, other) == 2
    other.database.close()


def test_nothing_is_replaced(
    service: Service, settings: Settings, elsewhere: Settings, tmp_path: Path
) -> None:
    busy(service)
    path = save(service, settings, tmp_path / "x.backup")
    with pytest.raises(FileExistsError):
        save(service, settings, path)
    before = everything(service)
    for place in (
        replace(settings, key=str(tmp_path / "new.key")),
        settings,
    ):
        with pytest.raises(InputError, match="There is a service in"):
            backup.restore(place, path, nothing_closed_since=True)
    assert everything(service) == before
    elsewhere.folder.mkdir(exist_ok=True)
    (elsewhere.folder / "service.key").write_text("another key")
    with pytest.raises(InputError, match="Another key is in"):
        backup.restore(elsewhere, path, nothing_closed_since=True)


def test_a_restore_that_was_cut_off_goes_on(
    service: Service,
    settings: Settings,
    elsewhere: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    busy(service)
    path = save(service, settings, tmp_path / "x.backup")

    def crash(*_: Any) -> None:
        raise KeyboardInterrupt

    elsewhere.folder.mkdir(exist_ok=True)
    with monkeypatch.context() as patched:
        patched.setattr(audit, "check", crash)
        with pytest.raises(KeyboardInterrupt):
            backup.restore(elsewhere, path, nothing_closed_since=True)
    restored(elsewhere, path).database.close()


def rewrite(path: Path, change: Any) -> None:
    """The same backup with its parts changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    change(parts)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def other_contents(**changes: Any) -> Any:
    def change(parts: dict[str, bytes]) -> None:
        held = {**json.loads(parts["backup.json"]), **changes}
        parts["backup.json"] = json.dumps(held).encode()

    return change


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda parts: parts.update({"tables/party": b"[]\n"}), "tables/party was changed"),
        (lambda parts: parts.pop("tables/party"), "cut off"),
        (lambda parts: parts.pop("backup.json"), "cut off"),
        (lambda parts: parts.update({"../evil": b""}), "cut off"),
        (lambda parts: parts.update({"backup.json": b"7"}), "not a valid backup"),
        (other_contents(ostraka="backup 2"), "backup 1"),
        (other_contents(tables="0"), "restore it with the Ostraka that made it"),
        (other_contents(parts=None), "cut off"),
    ],
)
def test_what_is_no_backup(
    service: Service, settings: Settings, tmp_path: Path, change: Any, problem: str
) -> None:
    path = save(service, settings, tmp_path / "x.backup")
    rewrite(path, change)
    to = settings_in(tmp_path / "to")
    to.folder.mkdir(parents=True)
    with pytest.raises(FormatError, match=problem):
        backup.restore(to, path, nothing_closed_since=True)
    assert not to.key_path.exists()


def test_cut_off_or_absent(tmp_path: Path, service: Service, settings: Settings) -> None:
    path = save(service, settings, tmp_path / "x.backup")
    path.write_bytes(path.read_bytes()[:-30])
    to = settings_in(tmp_path / "to")
    to.folder.mkdir(parents=True)
    with pytest.raises(FormatError, match="cut off"):
        backup.restore(to, path, nothing_closed_since=True)
    with pytest.raises(FileNotFoundError):
        backup.restore(to, tmp_path / "none", nothing_closed_since=True)


def test_accounts_that_do_not_add_up(
    service: Service, settings: Settings, elsewhere: Settings, tmp_path: Path
) -> None:
    import hashlib

    busy(service)
    path = save(service, settings, tmp_path / "x.backup")

    def change(parts: dict[str, bytes]) -> None:
        name = "tables/ledger_party"
        assert b'"1/1' in parts[name]
        parts[name] = parts[name].replace(b'"1/1', b'"1/2')
        held = json.loads(parts["backup.json"])
        held["parts"][name] = hashlib.sha256(parts[name]).hexdigest()
        parts["backup.json"] = json.dumps(held).encode()

    rewrite(path, change)
    elsewhere.folder.mkdir(exist_ok=True)
    with pytest.raises(FormatError, match="not the sum of its charges"):
        backup.restore(elsewhere, path, nothing_closed_since=True)
    with pytest.raises(StateError, match="never started"):
        open_service(elsewhere)
