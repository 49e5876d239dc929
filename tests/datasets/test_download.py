"""Downloads from a server of our own: whole or not at all, continued only where that is safe."""

from __future__ import annotations

import gzip
import hashlib
import json
import pickle
import socket
import threading
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ostraka.datasets import download
from ostraka.datasets.download import data_folder, obtain, verify
from ostraka.datasets.sources import DataFile
from ostraka.errors import DownloadError, FormatError

CONTENT = bytes(range(256)) * 4000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Site:
    """What the server does, and what it was asked."""

    content: bytes = CONTENT
    status: int = 200
    ranges: bool = True
    etag: str | None = '"v1"'
    cut_after: int | None = None
    n_cuts: int = 0
    location: str | None = None
    shift: int = 0
    asked: list[dict[str, str]] = field(default_factory=list)
    address: str = ""

    def url(self, path: str = "file.bin") -> str:
        return f"{self.address}/{path}"


def handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *words: Any) -> None:
            pass

        def do_GET(self) -> None:
            site.asked.append(
                {"path": self.path, **{name.lower(): value for name, value in self.headers.items()}}
            )
            if site.location is not None:
                self.send_response(302)
                self.send_header("Location", site.location)
                self.end_headers()
                return
            if site.status != 200:
                self.send_error(site.status)
                return
            self.answer(self.headers.get("Range"), self.headers.get("If-Range"))

        def answer(self, asked: str | None, version: str | None) -> None:
            start = 0
            if asked and site.ranges and (version is None or version == site.etag):
                start = int(asked.removeprefix("bytes=").rstrip("-"))
                if start >= len(site.content):
                    self.send_error(416)
                    return
            body = site.content[start:]
            self.send_response(206 if start else 200)
            if start:
                self.send_header(
                    "Content-Range",
                    f"bytes {start + site.shift}-{len(site.content) - 1}/{len(site.content)}",
                )
            if site.etag:
                self.send_header("ETag", site.etag)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if site.cut_after is not None and site.n_cuts > 0:
                site.n_cuts -= 1
                body = body[: site.cut_after]
                self.close_connection = True
            self.wfile.write(body)

    return Handler


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(download, "PAUSE_SECONDS", 0.0)
    site = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(site))
    site.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield site
    server.shutdown()
    server.server_close()
    thread.join()


def a_file(*urls: str, name: str = "file.bin", known: bool = True, **facts: Any) -> DataFile:
    checks = {"n_bytes": len(CONTENT), "sha256": DIGEST} if known else {}
    return DataFile(name=name, urls=urls, about="a test file", **{**checks, **facts})


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def leave_part(folder: Path, content: bytes, **origin: str) -> None:
    (folder / "file.bin.part").write_bytes(content)
    if origin:
        (folder / "file.bin.part.json").write_text(json.dumps(origin))


class TestWhatArrives:
    def test_a_missing_file_is_fetched_into_a_new_folder(self, site: Site, tmp_path: Path) -> None:
        path = obtain(a_file(site.url()), tmp_path / "new" / "data")
        assert path.read_bytes() == CONTENT
        assert left_over(path.parent) == ["file.bin"]

    def test_a_file_that_is_there_is_not_asked_for(self, site: Site, tmp_path: Path) -> None:
        (tmp_path / "file.bin").write_bytes(CONTENT)
        obtain(a_file(site.url()), tmp_path)
        assert site.asked == []

    def test_the_next_address_is_tried(self, site: Site, tmp_path: Path) -> None:
        assert (
            obtain(a_file("http://127.0.0.1:9/file.bin", site.url()), tmp_path).read_bytes()
            == CONTENT
        )

    def test_a_bar_is_drawn_if_asked_for(
        self, site: Site, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        obtain(a_file(site.url()), tmp_path, progress=True)
        assert "downloading file.bin" in capfd.readouterr().err

    def test_redirections_are_followed(self, site: Site, tmp_path: Path) -> None:
        second = Site()
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler(second))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        site.location = f"http://127.0.0.1:{server.server_address[1]}/elsewhere"
        try:
            assert obtain(a_file(site.url()), tmp_path).read_bytes() == CONTENT
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class TestContinuing:
    def test_a_part_of_the_same_version_is_continued(self, site: Site, tmp_path: Path) -> None:
        leave_part(tmp_path, CONTENT[:1000], url=site.url(), version='"v1"')
        assert obtain(a_file(site.url(), known=False), tmp_path).read_bytes() == CONTENT
        (asked,) = site.asked
        assert (asked["range"], asked["if-range"]) == ("bytes=1000-", '"v1"')

    def test_another_version_is_fetched_from_the_start(self, site: Site, tmp_path: Path) -> None:
        leave_part(tmp_path, b"old" * 100, url=site.url(), version='"v0"')
        assert obtain(a_file(site.url(), known=False), tmp_path).read_bytes() == CONTENT

    def test_a_server_that_cannot_continue_sends_all(self, site: Site, tmp_path: Path) -> None:
        site.ranges = False
        leave_part(tmp_path, CONTENT[:1000], url=site.url(), version="")
        assert obtain(a_file(site.url()), tmp_path).read_bytes() == CONTENT
        assert "range" in site.asked[0]

    def test_a_part_from_elsewhere_is_not_continued(self, site: Site, tmp_path: Path) -> None:
        leave_part(tmp_path, b"x" * 1000, url="https://elsewhere.example/file.bin", version='"v1"')
        assert obtain(a_file(site.url()), tmp_path).read_bytes() == CONTENT
        assert "range" not in site.asked[0]

    @pytest.mark.parametrize("known", [True, False])
    def test_a_part_of_unknown_origin_is_continued_only_where_a_checksum_can_tell(
        self, site: Site, tmp_path: Path, known: bool
    ) -> None:
        leave_part(tmp_path, CONTENT[:1000])
        assert obtain(a_file(site.url(), known=known), tmp_path).read_bytes() == CONTENT
        assert ("range" in site.asked[0]) == known

    def test_a_complete_part_needs_no_request(self, site: Site, tmp_path: Path) -> None:
        leave_part(tmp_path, CONTENT)
        assert obtain(a_file(site.url()), tmp_path).read_bytes() == CONTENT
        assert site.asked == []

    @pytest.mark.parametrize("shift", [0, 5])
    def test_a_part_that_does_not_fit_is_dropped(
        self, site: Site, tmp_path: Path, shift: int
    ) -> None:
        site.shift = shift
        leave_part(
            tmp_path, CONTENT[:1000] if shift else CONTENT + b"more", url=site.url(), version=""
        )
        file = a_file(site.url(), n_bytes=None)
        assert obtain(file, tmp_path).read_bytes() == CONTENT
        assert len(site.asked) == 2

    def test_a_broken_connection_is_picked_up_where_it_broke(
        self, site: Site, tmp_path: Path
    ) -> None:
        site.cut_after, site.n_cuts = 300_000, 2
        assert obtain(a_file(site.url(), known=False), tmp_path).read_bytes() == CONTENT
        assert [asked.get("range") for asked in site.asked] == [
            None,
            "bytes=300000-",
            "bytes=600000-",
        ]

    def test_a_note_that_cannot_be_read_is_no_note(self, site: Site, tmp_path: Path) -> None:
        leave_part(tmp_path, b"x" * 1000)
        (tmp_path / "file.bin.part.json").write_bytes(b"\xff{")
        assert obtain(a_file(site.url(), known=False), tmp_path).read_bytes() == CONTENT


def failure(file: DataFile, folder: Path) -> DownloadError:
    with pytest.raises(DownloadError) as caught:
        obtain(file, folder)
    assert isinstance(caught.value, OSError)
    assert not (folder / file.name).exists()
    assert str(caught.value).endswith("Nothing was loaded.")
    return caught.value


class TestRefusals:
    def test_a_wrong_checksum_leaves_nothing(self, site: Site, tmp_path: Path) -> None:
        site.content = CONTENT[:-1] + b"!"
        error = failure(a_file(site.url()), tmp_path)
        assert f"and not {DIGEST}; it was deleted" in str(error)
        assert left_over(tmp_path) == []
        assert len(site.asked) == 1

    @pytest.mark.parametrize(
        ("content", "reason"),
        [(b"!" + CONTENT, "sends more than the 1024000 bytes"), (CONTENT[:-1], "cut short")],
    )
    def test_a_wrong_size(self, site: Site, tmp_path: Path, content: bytes, reason: str) -> None:
        site.content = content
        assert reason in str(failure(a_file(site.url()), tmp_path))
        site.content = CONTENT
        # Nothing of the wrong file is left to continue from.
        assert obtain(a_file(site.url()), tmp_path).read_bytes() == CONTENT

    def test_a_page_in_place_of_a_file(self, site: Site, tmp_path: Path) -> None:
        site.content = b"<html>moved</html>"
        error = failure(a_file(site.url(), name="a.tar.gz", known=False), tmp_path)
        assert "does not begin like a .gz file" in str(error)
        assert left_over(tmp_path) == []

    def test_a_connection_that_always_breaks(self, site: Site, tmp_path: Path) -> None:
        site.cut_after, site.n_cuts, site.ranges = 1000, 99, False
        assert "the connection ended after 1000 of 1024000 bytes" in str(
            failure(a_file(site.url()), tmp_path)
        )
        assert len(site.asked) == download.TRIES

    @pytest.mark.parametrize(("status", "n_asked"), [(404, 1), (403, 1), (503, download.TRIES)])
    def test_answers_without_a_file(
        self, site: Site, tmp_path: Path, status: int, n_asked: int
    ) -> None:
        site.status = status
        assert f"the server answers {status}" in str(failure(a_file(site.url()), tmp_path))
        assert len(site.asked) == n_asked

    def test_no_network_says_all_there_is_to_do(self, site: Site, tmp_path: Path) -> None:
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            port = closed.getsockname()[1]
        urls = (f"http://127.0.0.1:{port}/a/file.bin", f"https://127.0.0.1:{port}/b/file.bin")
        error = failure(a_file(*urls), tmp_path)
        assert [address for address, _ in error.tried] == list(urls)
        for part in (
            "file.bin could not be downloaded",
            *urls,
            "no connection",
            str(tmp_path),
            "OSTRAKA_DATA",
            "It is a test file",
        ):
            assert part in str(error)
        twin = pickle.loads(pickle.dumps(error))
        assert (str(twin), twin.tried) == (str(error), error.tried)

    def test_a_silent_server_is_given_up(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("no_proxy", "*")
        monkeypatch.setattr(download, "PAUSE_SECONDS", 0.0)
        monkeypatch.setattr(download, "TIMEOUT_SECONDS", 0.05)
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            assert "timed out" in str(
                failure(a_file(f"http://127.0.0.1:{silent.getsockname()[1]}/f"), tmp_path)
            )

    @pytest.mark.parametrize(
        "url", ["file:///etc/hostname", "ftp://127.0.0.1/file.bin", "data:,x", "file.bin"]
    )
    def test_other_schemes(self, tmp_path: Path, url: str) -> None:
        assert "not an http or https address" in str(failure(a_file(url, known=False), tmp_path))

    def test_redirections_to_other_schemes(self, site: Site, tmp_path: Path) -> None:
        site.location = "file:///etc/hostname"
        failure(a_file(site.url(), known=False), tmp_path)
        assert left_over(tmp_path) == []

    def test_redirections_from_https_to_http(self) -> None:
        asked = urllib.request.Request("https://archive.example/file")
        with pytest.raises(
            download._Failed,
            match=r"leads to http://archive\.example/file, which is not followed from https",
        ):
            download._Redirects().redirect_request(
                asked, None, 302, "Found", {}, "http://archive.example/file"
            )
        assert (
            download._Redirects().redirect_request(
                asked, None, 302, "Found", {}, "https://other.example/file"
            )
            is not None
        )

    def test_a_full_disk_is_not_a_network_failure(
        self, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(fd: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(download.os, "fsync", full)
        with pytest.raises(OSError, match="No space left") as caught:
            obtain(a_file(site.url()), tmp_path)
        assert not isinstance(caught.value, DownloadError)

    def test_a_file_without_a_home(self, tmp_path: Path) -> None:
        error = failure(a_file(), tmp_path)
        assert "is not in the folder" in str(error)
        assert "no public address has it. It is a test file." in str(error)


class TestFilesInPlace:
    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            (CONTENT[:-7], "it has 1023993 bytes and not 1024000, so it was cut short"),
            (b"!" + CONTENT[1:], "its sha256 is"),
        ],
    )
    def test_a_wrong_one_is_refused(self, tmp_path: Path, content: bytes, problem: str) -> None:
        (tmp_path / "file.bin").write_bytes(content)
        with pytest.raises(
            FormatError,
            match=f"not a valid copy of file.bin: {problem}.*Remove .* Nothing was loaded",
        ):
            obtain(a_file("http://127.0.0.1:9/never-asked"), tmp_path)

    def test_what_a_gzip_file_holds_counts_and_not_how_it_was_packed(self, tmp_path: Path) -> None:
        file = DataFile(name="a.gz", unpacked_sha256=DIGEST, about="a test file")
        for level in (1, 9):
            (tmp_path / "a.gz").write_bytes(gzip.compress(CONTENT, level))
            verify(tmp_path / "a.gz", file)
        packed = gzip.compress(CONTENT)
        for wrong, problem in (
            (packed[:-20], "cut short or damaged"),
            (gzip.compress(b"other"), "what it holds"),
            (b"plain", "begin like"),
        ):
            (tmp_path / "a.gz").write_bytes(wrong)
            with pytest.raises(FormatError, match=problem):
                verify(tmp_path / "a.gz", file)

    def test_the_first_copy_of_an_unknown_file_is_trusted_and_later_ones_held_to_it(
        self, site: Site, tmp_path: Path
    ) -> None:
        file = a_file(site.url(), known=False)
        path = obtain(file, tmp_path)
        assert (tmp_path / "file.bin.sha256").read_text() == f"{DIGEST}  file.bin\n"
        assert obtain(file, tmp_path) == path
        path.write_bytes(CONTENT[:-1] + b"!")
        with pytest.raises(
            FormatError, match="written when it was first downloaded, says otherwise"
        ):
            obtain(file, tmp_path)

    def test_an_unknown_file_that_was_put_there_by_hand_is_taken(self, tmp_path: Path) -> None:
        (tmp_path / "file.bin").write_bytes(b"anything")
        obtain(a_file(known=False), tmp_path)
        assert left_over(tmp_path) == ["file.bin"]


class TestTheFolder:
    def test_given_then_variable_then_data(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OSTRAKA_DATA", "named")
        assert data_folder("given") == Path("given")
        assert data_folder() == Path("named")
        for unset in (
            lambda: monkeypatch.setenv("OSTRAKA_DATA", ""),
            lambda: monkeypatch.delenv("OSTRAKA_DATA"),
        ):
            unset()
            assert data_folder() == Path("data")
