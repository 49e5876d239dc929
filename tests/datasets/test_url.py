"""The malicious URLs of Ma et al.: read from real rows, never filled with zeros."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import tarfile
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.datasets import load, url
from ostraka.datasets.dataset import Labelled
from ostraka.errors import DownloadError, FormatError, InputError

DATA = Path(os.environ.get("OSTRAKA_DATA") or "data")
SAMPLE = DATA / "url_svmlight_sample.svm.gz"


@pytest.fixture(scope="module")
def lines() -> list[str]:
    if not SAMPLE.exists():
        pytest.skip(f"{SAMPLE.name} is not in {DATA}; set OSTRAKA_DATA to the folder that holds it")
    return gzip.decompress(SAMPLE.read_bytes()).decode().splitlines()


@pytest.fixture(scope="module")
def real(lines: list[str]) -> Labelled:
    return url.read_svm(SAMPLE)


class TestTheRealRows:
    def test_counts_are_the_described_ones(self, real: Labelled) -> None:
        assert real.samples.shape == (6863, 3_231_961)
        assert real.samples.format == "csr"
        assert real.samples.dtype == np.float32
        assert np.bincount(real.labels).tolist() == [4260, 2603]
        assert real.sources is not None
        assert Counter(real.sources.tolist()) == {
            **{"Day0": 194, "Day1": 198, "Day2": 194, "Day3": 194, "Day4": 195, "Day5": 188},
            **{"Day45": 129, "unknown": 5571},
        }

    def test_every_line_is_its_row(self, real: Labelled, lines: list[str]) -> None:
        for i in (0, 1, 200, 6862, *np.random.default_rng(0).choice(len(lines), 300)):
            sign, *pairs = lines[i].split("#")[0].split()
            row = real.samples[[i]].tocoo()
            stored = {int(column): value for column, value in zip(row.coords[1], row.data)}
            written = {
                int(pair.split(":")[0]) - 1: np.float32(pair.split(":")[1]) for pair in pairs
            }
            assert stored == written
            assert real.labels[i] == (float(sign) > 0)

    def test_a_stream_is_read_like_a_file(self, real: Labelled) -> None:
        with gzip.open(SAMPLE) as stream:
            again = url.read_svm(stream)
        assert abs(again.samples - real.samples).nnz == 0
        np.testing.assert_array_equal(again.sources, real.sources)

    def test_nothing_is_filled_with_zeros(self, lines: list[str]) -> None:
        tracemalloc.start()
        try:
            url.read_svm(io.BytesIO("\n".join(lines[:1500]).encode()))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak < 100 * 2**20  # filled, they would take 19 GB

    def test_the_sample_alone_is_refused(
        self, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def no_network(file: Any, folder: Path, *, progress: bool) -> Path:
            raise DownloadError(
                file.name,
                str(folder),
                (("https://nowhere", "no network"),),
                about=file.about,
                variable="OSTRAKA_DATA",
            )

        monkeypatch.setattr(url, "obtain", no_network)
        shutil.copyfile(SAMPLE, tmp_path / SAMPLE.name)
        with pytest.raises(
            InputError,
            match=r"a small sample .* days 0 to 19 are needed and could not be downloaded\. "
            r"Put url_svmlight\.tar\.gz .* 'urls', which stands",
        ):
            load("url", tmp_path)


def a_day(day: int) -> bytes:
    """Day n has n + 2 rows, of which the first is malicious."""
    rows = [
        f"{'+1' if row == 0 else '-1'} {day + 1}:0.5 {row + 100}:1 3231961:{day + 1}"
        for row in range(day + 2)
    ]
    return ("\n".join(rows) + "\n").encode()


def archive(path: Path, days: list[int]) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for name, content in [
            ("FeatureTypes", b"4\n"),
            *((f"Day{day}.svm", a_day(day)) for day in days),
        ]:
            member = tarfile.TarInfo(f"url_svmlight/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def folder(path: Path, days: list[int]) -> None:
    path.mkdir()
    for day in days:
        (path / f"Day{day}.svm").write_bytes(a_day(day))


class TestWholeSets:
    @pytest.mark.parametrize("form", ["archive", "folder"])
    def test_days_0_to_9_are_learnt_from_and_10_to_19_measured_on(
        self, tmp_path: Path, form: str
    ) -> None:
        days = [*range(20, 3, -1), 120, *range(4)]  # in an order of its own
        archive(tmp_path / "url_svmlight.tar.gz", days) if form == "archive" else folder(
            tmp_path / "url_svmlight", days
        )
        data = load("url", tmp_path)
        assert data.classes == ("benign", "malicious")
        for part, chosen in ((data.train, range(10)), (data.test, range(10, 20))):
            assert part.samples.shape == (sum(day + 2 for day in chosen), 3_231_961)
            assert part.sources is not None
            assert part.sources.tolist() == [f"Day{day}" for day in chosen for _ in range(day + 2)]
            assert part.labels.tolist() == [
                int(row == 0) for day in chosen for row in range(day + 2)
            ]
            np.testing.assert_array_equal(
                part.samples[:, [3_231_960]].toarray().ravel(),
                [day + 1 for day in chosen for _ in range(day + 2)],
            )

    def test_bars_are_drawn_if_asked_for(
        self, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        folder(tmp_path / "url_svmlight", list(range(20)))
        load("url", tmp_path, progress=True)
        assert "reading days" in capfd.readouterr().err

    @pytest.mark.parametrize("form", ["archive", "folder"])
    def test_a_day_that_is_missing_is_named(self, tmp_path: Path, form: str) -> None:
        days = [day for day in range(20) if day not in (7, 12)]
        archive(tmp_path / "url_svmlight.tar.gz", days) if form == "archive" else folder(
            tmp_path / "url_svmlight", days
        )
        with pytest.raises(FormatError, match=r"Day7\.svm, Day12\.svm are not in it"):
            load("url", tmp_path)

    def test_an_archive_that_was_cut_short(self, tmp_path: Path) -> None:
        path = archive(tmp_path / "url_svmlight.tar.gz", list(range(20)))
        path.write_bytes(path.read_bytes()[:-200])
        with pytest.raises(FormatError, match=r"url_svmlight\.tar\.gz cannot be unpacked"):
            load("url", tmp_path)

    def test_a_missing_one_is_asked_for_at_its_home(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from ostraka.datasets import download

        def refused(address: str, *_: object) -> None:
            raise download._Failed("no network", retry=False)

        monkeypatch.setattr(download, "_fetch", refused)
        with pytest.raises(DownloadError, match=r"url_svmlight\.tar\.gz could not be downloaded"):
            load("url", tmp_path)


class TestOtherRows:
    def test_rows_without_comments_have_no_sources(self) -> None:
        assert url.read_svm(io.BytesIO(b"+1 1:1\n-1 2:1 # Day0\n")).sources is None

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            (b"+1 3231962:1\n", "cannot be read"),
            (b"+1 0:1\n", "cannot be read"),
            (b"+2 1:1\n", "labels other than -1 and"),
            (b"nan 1:1\n", "labels other than -1 and"),
            (b"<html>\n", "cannot be read"),
        ],
    )
    def test_what_is_refused(self, content: bytes, complaint: str) -> None:
        with pytest.raises(FormatError, match=complaint):
            url.read_svm(io.BytesIO(content))

    def test_a_gzip_file_that_was_cut_short(self, tmp_path: Path) -> None:
        (tmp_path / "a.svm.gz").write_bytes(gzip.compress(a_day(3))[:-9])
        with pytest.raises(FormatError, match=r"a\.svm\.gz cannot be unpacked"):
            url.read_svm(tmp_path / "a.svm.gz")
