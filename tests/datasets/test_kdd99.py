"""The KDD Cup, against a second reading of the files with nothing but the standard library."""

from __future__ import annotations

import csv
import gzip
import math
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ostraka.datasets import kdd99, load
from ostraka.datasets.dataset import Dataset
from ostraka.errors import FormatError

DATA = Path(os.environ.get("OSTRAKA_DATA") or "data")
TRAIN, TEST = DATA / "kddcup.data_10_percent.gz", DATA / "corrected.gz"
MEMORY_MIB = 1.2 * 1024


@pytest.fixture(scope="module")
def real() -> Dataset:
    if not (TRAIN.exists() and TEST.exists()):
        pytest.skip(
            f"{TRAIN.name} and {TEST.name} are not both in {DATA}; "
            "set OSTRAKA_DATA to the folder that holds them"
        )
    return load("kdd99", DATA)


def fields(path: Path) -> list[list[str]]:
    with gzip.open(path, "rt") as lines:
        return list(csv.reader(lines))


def expected(record: list[str]) -> np.ndarray:
    """A row by the module's table: 38 logarithms, then one column per category."""
    numbers = [math.log1p(float(record[field])) for field in range(41) if field not in (1, 2, 3)]
    words = [
        float(record[field] == word) for field in (1, 2, 3) for word in kdd99.CATEGORIES[field]
    ]
    return np.array(numbers + words)


class TestTheRealData:
    def test_counts_are_the_published_ones(self, real: Dataset) -> None:
        assert real.classes == ("normal", "attack")
        assert real.train.samples.shape == (494_021, 123)
        assert np.bincount(real.train.labels).tolist() == [97_278, 494_021 - 97_278]
        assert real.test.repeats is not None
        assert real.test.n_rows == 311_029
        assert np.bincount(real.test.labels, weights=real.test.repeats).tolist() == [
            60_593,
            311_029 - 60_593,
        ]
        assert real.train.repeats is None
        assert real.train.samples.dtype == real.test.samples.dtype == np.float32

    def test_training_rows_are_those_of_the_file(self, real: Dataset) -> None:
        lines = gzip.decompress(TRAIN.read_bytes()).decode().splitlines()
        for i in (
            0,
            len(lines) - 1,
            *np.random.default_rng(0).choice(len(lines), 2000, replace=False),
        ):
            record = lines[i].split(",")
            np.testing.assert_allclose(
                real.train.samples[i], expected(record), rtol=3e-7, atol=1e-7
            )
            assert real.train.labels[i] == (record[41] != "normal.")

    def test_distinct_test_rows_are_those_of_the_file_as_often_as_they_stand_there(
        self, real: Dataset
    ) -> None:
        pairs = Counter((*record[:41], record[41] != "normal.") for record in fields(TEST))
        assert len(pairs) == len(real.test) == 77_286
        assert real.test.repeats is not None
        firsts = list(pairs)  # in the order in which they first stand there
        assert real.test.repeats.tolist() == [pairs[pair] for pair in firsts]
        for i in (
            0,
            1,
            len(firsts) - 1,
            *np.random.default_rng(0).choice(len(firsts), 1000, replace=False),
        ):
            np.testing.assert_allclose(
                real.test.samples[i], expected([*firsts[i][:41]]), rtol=3e-7, atol=1e-7
            )
            assert real.test.labels[i] == firsts[i][41]

    def test_every_row_has_one_category_of_each_kind(self, real: Dataset) -> None:
        for part in (real.train, real.test):
            start = 38
            for words in kdd99.CATEGORIES.values():
                block = part.samples[:, start : start + len(words)]
                assert set(np.unique(block)) == {0.0, 1.0}
                np.testing.assert_array_equal(block.sum(axis=1), 1.0)
                start += len(words)

    def test_the_services_that_only_other_files_have_are_empty_columns(self, real: Dataset) -> None:
        empty = [
            i
            for i in range(38 + 3, 38 + 3 + 71)
            if not (real.train.samples[:, i].any() or real.test.samples[:, i].any())
        ]
        assert [kdd99.CATEGORIES[2][i - 41] for i in empty] == [
            "aol",
            "harvest",
            "http_2784",
            "http_8001",
        ]

    @pytest.mark.slow
    def test_memory_stays_bounded(self, real: Dataset) -> None:
        if not Path("/proc/self/status").exists():
            pytest.skip("the peak of a process's memory is read from /proc")
        # VmHWM and not ru_maxrss, which a child inherits from whoever started it.
        code = (
            "import re, sys; from pathlib import Path; from ostraka.datasets import load; "
            "load('kdd99', sys.argv[1]);"
            "status = Path('/proc/self/status').read_text();"
            "print(int(re.search(r'VmHWM:\\s*(\\d+) kB', status)[1]) / 1024)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(DATA)], capture_output=True, text=True, check=True
        )
        assert float(done.stdout) > 100
        assert float(done.stdout) < MEMORY_MIB


ROW = (
    "0,tcp,http,SF,181,5450,0,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,8,8,0.00,0.00,0.00,0.00,1.00,0.00,0.00,"
    "9,9,1.00,0.00,0.11,0,0,0,0,0,normal."
)


def written(path: Path, *rows: str) -> Path:
    path.write_bytes(gzip.compress("".join(row + "\n" for row in rows).encode()))
    return path


class TestOtherFiles:
    def test_a_row_is_read(self, tmp_path: Path) -> None:
        rows, labels = kdd99.read(written(tmp_path / "a.gz", ROW, ROW.replace("normal.", "smurf.")))
        assert labels.tolist() == [0, 1]
        np.testing.assert_allclose(kdd99._encode(rows)[1], expected(ROW.split(",")), rtol=3e-7)

    @pytest.mark.parametrize(
        ("row", "complaint"),
        [
            (ROW.replace("http", "gopher2"), "unknown categories gopher2"),
            (ROW.replace(",tcp", ","), "unknown categories"),
            (ROW.replace("5450", "-2"), "missing, infinite or below 0"),
            (ROW.replace("5450", ""), "missing, infinite or below 0"),
            (ROW.replace("5450", "many"), "cannot be read"),
            (ROW.rsplit(",", 1)[0], "fewer than 42 fields"),
        ],
    )
    def test_what_is_no_connection(self, tmp_path: Path, row: str, complaint: str) -> None:
        with pytest.raises(FormatError, match=complaint):
            kdd99.read(written(tmp_path / "a.gz", ROW, row))

    def test_cut_short(self, tmp_path: Path) -> None:
        path = written(tmp_path / "a.gz", *[ROW] * 100)
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(FormatError, match=r"a\.gz cannot be read"):
            kdd99.read(path)

    def test_distinct_pairs_tell_classes_apart(self) -> None:
        rows = np.zeros((5, 41), dtype=np.float32)
        rows[[1, 3], 0] = 1.0
        part = kdd99._distinct(rows, np.array([0, 1, 1, 1, 0]))
        assert part.repeats is not None
        assert (part.labels.tolist(), part.repeats.tolist(), part.samples[:, 0].tolist()) == (
            [0, 1, 1],
            [2, 2, 1],
            [0.0, 1.0, 0.0],
        )
