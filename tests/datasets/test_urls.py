"""The five collections of URLs: hashed runs of characters, counted a second time by hand."""

from __future__ import annotations

import gzip
import math
import os
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.utils import murmurhash3_32

from ostraka.datasets import load, urls
from ostraka.errors import DownloadError, FormatError

DATA = Path(os.environ.get("OSTRAKA_DATA") or "data")
FILE = DATA / "malicious_urls.csv.gz"
SOURCES = {
    "iscx2016": 154_699,
    "ebbu2017": 50_216,
    "csirtg2018": 50_077,
    "phishdataset2021": 59_180,
    "kaggle2021head": 28_376,
}


def by_hand(url: str) -> dict[int, float]:
    """Counts of runs of 3 and 4 characters at their hashed columns, divided by their length."""
    text = re.sub(r"\s\s+", " ", url.lower())
    runs = [text[i : i + n] for n in (3, 4) for i in range(len(text) - n + 1)]
    counts = Counter(abs(murmurhash3_32(run, seed=0)) % 2**18 for run in runs)
    norm = math.sqrt(sum(n * n for n in counts.values()))
    return {column: n / norm for column, n in counts.items()}


def assert_is(row: object, url: str) -> None:
    stored = row.tocoo()  # type: ignore[attr-defined]
    found, wanted = dict(zip(stored.coords[1].tolist(), stored.data.tolist())), by_hand(url)
    assert found.keys() == wanted.keys()
    assert all(abs(found[column] - wanted[column]) < 1e-6 for column in wanted)


class TestVectors:
    TEXTS = ("example.com/a?b=1", "EXAMPLE.com/aaaa", "bücher.example/ü", "a b  c", "ab", "")

    def test_are_what_counting_by_hand_gives(self) -> None:
        rows = urls.vectorise(self.TEXTS)
        assert (rows.shape, rows.dtype, rows.format) == ((6, 2**18), np.float32, "csr")
        for i, text in enumerate(self.TEXTS):
            assert_is(rows[[i]], text)

    def test_do_not_depend_on_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = urls.vectorise(self.TEXTS)
        monkeypatch.setattr(urls, "BLOCK_ROWS", 2)
        assert abs(urls.vectorise(self.TEXTS) - whole).nnz == 0

    def test_no_urls_give_no_rows(self) -> None:
        assert urls.vectorise([]).shape == (0, 2**18)

    def test_a_bar_is_drawn_if_asked_for(self, capfd: pytest.CaptureFixture[str]) -> None:
        urls.vectorise(self.TEXTS, progress=True)
        assert "reading URLs" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("http://www.a.com/x", "a.com/x"),
        ("HTTPS://a.com", "a.com"),
        ("www.a.com", "a.com"),
        ("a.com/http://b", "a.com/http://b"),
        ("awww.a", "awww.a"),
    ],
)
def test_scheme_and_www_are_removed(url: str, kept: str) -> None:
    assert re.sub(urls.PREFIX, "", url) == kept


@pytest.mark.slow
def test_the_real_data(tmp_path: Path) -> None:
    if not FILE.exists():
        pytest.skip(f"{FILE.name} is not in {DATA}; set OSTRAKA_DATA to the folder that holds it")
    data = load("urls", DATA)
    assert data.classes == ("benign", "malicious")
    assert (data.train.samples.shape, data.test.samples.shape) == (
        (200_000, 2**18),
        (142_548, 2**18),
    )
    labels = np.concatenate([data.train.labels, data.test.labels])
    sources = np.concatenate(
        [part.sources for part in (data.train, data.test) if part.sources is not None]
    )
    assert labels.sum() == 167_737
    assert Counter(sources.tolist()) == SOURCES
    # The shuffle mixes: each part's share of each source is within 6 deviations of
    # the whole's (chance of a false alarm below 1e-7).
    for name, n in SOURCES.items():
        share = n / 342_548
        deviation = math.sqrt(share * (1 - share) / 200_000)
        assert abs(np.mean(sources[:200_000] == name) - share) < 6 * deviation
    frame = urls.read(FILE)
    order = np.random.default_rng(urls.SEED).permutation(len(frame))
    for i in (0, 1, 199_999, 200_000, 342_547):
        part, row = (data.train, i) if i < 200_000 else (data.test, i - 200_000)
        record = frame.iloc[order[i]]
        assert_is(part.samples[[row]], re.sub(urls.PREFIX, "", record.url))
        assert part.labels[row] == record.label
        assert part.sources is not None
        assert part.sources[row] == record.source


class TestOtherFiles:
    def test_a_missing_one_says_what_it_must_look_like(self, tmp_path: Path) -> None:
        with pytest.raises(
            DownloadError,
            match=r"no public address has it\. "
            r"It is a gzipped CSV file with the columns url, label .*ISCX",
        ):
            load("urls", tmp_path)

    def test_another_file_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "malicious_urls.csv.gz").write_bytes(gzip.compress(b"url,label,type,source\n"))
        with pytest.raises(FormatError, match="and not 10176165, so it was cut short"):
            load("urls", tmp_path)

    def test_words_that_pandas_takes_for_missing_are_urls(self, tmp_path: Path) -> None:
        (tmp_path / "a.csv").write_text("url,label,type,source\nnull,1,x,NA\nNA,0,x,b\n")
        assert urls.read(tmp_path / "a.csv").url.tolist() == ["null", "NA"]

    @pytest.mark.parametrize(
        ("content", "complaint"),
        [
            ("url,label\na,1\n", "cannot be read"),
            ("url,label,source\na,2,b\n", "labels other than 0 and 1"),
        ],
    )
    def test_what_is_refused(self, tmp_path: Path, content: str, complaint: str) -> None:
        (tmp_path / "a.csv").write_text(content)
        with pytest.raises(FormatError, match=complaint):
            urls.read(tmp_path / "a.csv")
