"""Another key for a service: everything that it shows is signed anew, and the old key vouches."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select

from ostraka.errors import ServiceError, StateError
from ostraka.exchange import Manifest, follow
from ostraka.service import audit, closing, polls, rotation
from ostraka.service.service import Service
from ostraka.service.settings import Settings
from ostraka.service.starting import open_service
from ostraka.service.storage import tables
from ostraka.signing import Signature
from tests.service.made import ADMIN, READER, a_poll, add_poll, again, filled


def rotate(service: Service, settings: Settings, *, stolen: bool = False) -> Service:
    rotation.rotate(service, settings.key_path, stolen=stolen)
    return again(service, settings)


def links(service: Service) -> list[object]:
    with service.database.read() as connection:
        return list(rotation.earlier(connection))


def test_the_old_key_vouches(service: Service, settings: Settings) -> None:
    second = rotate(service, settings)
    third = rotate(second, settings)
    with third.database.read() as connection:
        known = rotation.earlier(connection)
        audit.check(connection)
        assert [line.what for line in audit.read(connection, 0, 99)][-2:] == ["changed the key"] * 2
    keys = [each.key.public for each in (service, second, third)]
    assert follow(keys[0], keys[2], known) == keys
    second.database.close()
    third.database.close()


def test_a_stolen_key_does_not(service: Service, settings: Settings) -> None:
    second = rotate(service, settings, stolen=True)
    assert links(second) == []
    with second.database.read() as connection:
        assert len(connection.execute(select(tables.succession)).all()) == 1
    second.database.close()


@pytest.mark.parametrize("stolen", [False, True])
def test_everything_is_signed_anew(service: Service, settings: Settings, stolen: bool) -> None:
    done, receipts = filled(service, ["a", "b"])
    closing.freeze(service, ADMIN, done.digest)
    closing.finish(service, done.digest)
    draft = add_poll(service, a_poll(title="draft"), opened=False)
    before = Manifest.from_bytes(closing.manifest(service, done.digest, READER))
    second = rotate(service, settings, stolen=stolen)
    with second.database.read() as connection:
        of_poll = Signature.from_bytes(polls.signed(connection, done.digest, READER))
        with pytest.raises(StateError, match="not signed yet"):
            polls.signed(connection, draft.digest, ADMIN)
    of_poll.check(done.to_bytes())
    content, raw = closing.release(second, done.digest, READER)
    of_release = Signature.from_bytes(raw)
    of_release.check(content)
    assert of_poll.key == of_release.key == second.key.public != service.key.public
    listed = Manifest.from_bytes(closing.manifest(second, done.digest, READER))
    listed.check(second.key.public)
    assert listed.commitments == before.commitments
    assert all(listed.counts(each.commitment) for each in receipts)
    second.database.close()


def test_not_while_a_release_is_being_made(service: Service, settings: Settings) -> None:
    poll, _ = filled(service, ["a", "b"])
    closing.freeze(service, ADMIN, poll.digest)
    with pytest.raises(StateError, match="its release is not made"):
        rotation.rotate(service, settings.key_path, stolen=False)
    assert again(service, settings).key.public == service.key.public
    closing.finish(service, poll.digest)


def test_two_at_once(service: Service, settings: Settings) -> None:
    """One of them gives the service another key, which is then the one that is there."""

    def one(_: int) -> str | None:
        try:
            return str(rotation.rotate(service, settings.key_path, stolen=False))
        except ServiceError:
            return None

    with ThreadPoolExecutor(2) as pool:
        made = [key for key in pool.map(one, range(2)) if key is not None]
    assert len(made) == 1
    second = open_service(settings)
    assert str(second.key.public) == made[0]
    assert not list(settings.folder.glob("*.new"))
    second.database.close()


def test_cut_off_before_the_commit(
    service: Service, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old key counts, and the next rotation works."""

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(rotation, "_sign_anew", crash)
        with pytest.raises(KeyboardInterrupt):
            rotation.rotate(service, settings.key_path, stolen=False)
    other = open_service(settings)
    assert other.key.public == service.key.public
    second = rotate(other, settings)
    assert second.key.public != service.key.public
    for each in (other, second):
        each.database.close()


def test_cut_off_after_the_commit(
    service: Service, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next start puts the new key in its place."""

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", crash)
        with pytest.raises(KeyboardInterrupt):
            rotation.rotate(service, settings.key_path, stolen=False)
    second = open_service(settings)
    assert second.key.public != service.key.public
    assert [path.name for path in settings.folder.iterdir() if "key" in path.name] == [
        "service.key"
    ]
    second.database.close()
