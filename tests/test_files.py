"""A file is the old one or the new one, whatever happens in between."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostraka.files import write_atomically, write_new, write_once


@pytest.fixture
def umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_content_is_there_and_nothing_else(tmp_path: Path) -> None:
    for content in (b"", b"hello", bytes(range(256)) * 10_000):
        write_atomically(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == content
    write_atomically(str(tmp_path / "file"), b"a text is a path too")
    assert names(tmp_path) == ["file"]


def test_what_is_there_stays_unless_told_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_new(path, b"old", overwrite=False)
    write_new(path, b"old", overwrite=False)  # nothing would be lost
    for content in (b"new", b"longer"):
        with pytest.raises(FileExistsError, match=r"overwrite=True replaces it. Nothing was w"):
            write_new(path, content, overwrite=False)
        assert path.read_bytes() == b"old"
    write_new(path, b"new", overwrite=True)
    assert path.read_bytes() == b"new"
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        write_new(tmp_path, b"new", overwrite=True)


def test_written_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    write_once(path, b"old")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        write_once(path, b"new")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        write_once(tmp_path / "link", b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file", "link"]


@pytest.mark.parametrize("step", ["fsync", "fdopen", "link"])
def test_an_interruption_leaves_no_empty_file(
    tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key of which only the name is there would stop whoever joins with it."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, step, interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_once(tmp_path / "file", b"new")
    assert names(tmp_path) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, SystemExit, MemoryError])
@pytest.mark.parametrize("step", ["fsync", "fdopen", "replace", "chmod"])
@pytest.mark.parametrize("old", [None, b"old"])
def test_an_interruption_leaves_the_old_file(
    tmp_path: Path,
    step: str,
    error: type[BaseException],
    old: bytes | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "file"
    if old is not None:
        path.write_bytes(old)

    def interrupted(handle: object, *_: object) -> None:
        if step == "fdopen":
            os.close(handle)  # type: ignore[arg-type]
        raise error

    monkeypatch.setattr(Path if step in ("replace", "chmod") else os, step, interrupted)
    with pytest.raises(error):
        write_atomically(path, b"new")
    assert names(tmp_path) == ([] if old is None else ["file"])
    assert old is None or path.read_bytes() == old


def test_a_killed_process_leaves_the_old_file(tmp_path: Path) -> None:
    """Then not even `except` runs: what is left behind is hidden, and the file itself is whole."""
    path = tmp_path / "file.csv"
    path.write_bytes(b"old")
    code = f"""
import os, signal
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
from ostraka.files import write_atomically
write_atomically({str(path)!r}, b"new" * 1000)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode != 0
    assert path.read_bytes() == b"old"
    assert all(name == "file.csv" or name.startswith(".") for name in names(tmp_path))


def test_a_reader_sees_one_or_the_other(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = (b"a" * 100_000, b"b" * 150_000)
    write_atomically(path, contents[0])
    done = threading.Event()
    seen: list[bytes] = []

    def reader() -> None:
        while not done.is_set():
            seen.append(path.read_bytes())

    thread = threading.Thread(target=reader)
    thread.start()
    for turn in range(60):
        write_atomically(path, contents[turn % 2])
    done.set()
    thread.join()
    assert set(seen) <= set(contents)


def test_writers_at_the_same_time_leave_one_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = [bytes([letter]) * 50_000 for letter in b"abcdef"]
    threads = [
        threading.Thread(target=write_atomically, args=(path, content)) for content in contents
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_bytes() in contents
    assert names(tmp_path) == ["file"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_are_those_of_any_new_file(tmp_path: Path, umask: None, mask: int) -> None:
    os.umask(mask)
    (tmp_path / "other").touch()
    write_atomically(tmp_path / "file", b"new")
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "other").stat().st_mode
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~mask
    assert os.umask(mask) == mask, "the mask of the process stays"


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_until_it_is_whole_only_its_owner_can_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []

    def look(_: int) -> None:
        modes.extend(stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir())

    monkeypatch.setattr(os, "fsync", look)
    write_atomically(tmp_path / "file", b"new")
    assert modes == [0o600]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no such folder") as caught:
        write_atomically(tmp_path / "no" / "file", b"new")
    assert caught.value.filename == str(tmp_path / "no")
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        write_atomically(tmp_path / "file" / "file", b"new")
    assert names(tmp_path) == ["file"]


def test_a_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        write_atomically(tmp_path / "folder", b"new")
    assert names(tmp_path) == ["folder"]


def test_a_name_without_a_folder_is_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_atomically("file", b"new")
    assert names(tmp_path) == ["file"]
