"""Large files under their digests, in a folder or wherever fsspec reaches."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path

import pytest

from ostraka.errors import FormatError, ServiceError
from ostraka.service.storage.blobs import Blobs


@pytest.fixture(params=["folder", "memory"])
def blobs(request: pytest.FixtureRequest, tmp_path: Path) -> Blobs:
    where = (
        str(tmp_path / "files") if request.param == "folder" else f"memory://{secrets.token_hex(4)}"
    )
    return Blobs(where)


def test_there_and_back(blobs: Blobs) -> None:
    for content in (b"", b"a poll", b"x" * 1_000_000):
        digest = blobs.put(content)
        assert digest == hashlib.sha256(content).hexdigest()
        assert blobs.put(content) == digest
        assert blobs.get(digest) == content


def test_one_that_is_missing_or_was_changed(blobs: Blobs) -> None:
    with pytest.raises(FormatError, match="is missing"):
        blobs.get("ab" * 32)
    digest = blobs.put(b"a poll")
    blobs._write(blobs._path(digest), b"another")
    with pytest.raises(FormatError, match="was changed"):
        blobs.get(digest)


def test_a_place_is_known_by_its_mark(blobs: Blobs, tmp_path: Path) -> None:
    mark = blobs.mark()
    assert blobs.mark() == Blobs(blobs.url).mark() == mark
    elsewhere = Blobs(str(tmp_path / "elsewhere"))
    assert elsewhere.read_mark() is None, "looking makes nothing"
    assert elsewhere.mark() != mark


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    blobs = Blobs(str(tmp_path / "file" / "files"))
    for use in (lambda: blobs.put(b"x"), blobs.mark, lambda: blobs.get("ab" * 32)):
        with pytest.raises(ServiceError, match="cannot use the place of its files"):
            use()


def test_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is interrupted leaves the whole file or none."""
    blobs = Blobs(str(tmp_path))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        with pytest.raises(ServiceError):
            blobs.put(b"a poll")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert blobs.get(blobs.put(b"a poll")) == b"a poll"


def test_a_place_elsewhere_that_fails_in_its_own_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries of buckets raise what they like."""

    class Away(Exception):
        pass

    def gone(*_: object) -> None:
        raise Away("secret-bucket.example.org does not resolve")

    blobs = Blobs("memory://away")
    for name in ("cat_file", "pipe_file", "exists"):
        monkeypatch.setattr(type(blobs._system), name, gone)
    for use in (lambda: blobs.put(b"x"), blobs.mark, lambda: blobs.get("ab" * 32)):
        with pytest.raises(ServiceError, match="cannot use the place of its files"):
            use()
