"""The activities, from our arrays and from the official archive: the same data set."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from ostraka.datasets import download, har, load
from ostraka.datasets.dataset import Dataset
from ostraka.errors import DownloadError, FormatError

DATA = Path(os.environ.get("OSTRAKA_DATA") or "data")
ACTIVITIES = ("WALKING", "WALKING_UPSTAIRS", "WALKING_DOWNSTAIRS", "SITTING", "STANDING", "LAYING")


@pytest.fixture(scope="module")
def real() -> Dataset:
    if not (DATA / "har.npz").exists():
        pytest.skip(f"har.npz is not in {DATA}; set OSTRAKA_DATA to the folder that holds it")
    return load("har", DATA)


class TestTheRealData:
    def test_counts_are_the_published_ones(self, real: Dataset) -> None:
        assert real.classes == ACTIVITIES
        assert np.bincount(real.train.labels).tolist() == [1226, 1073, 986, 1286, 1374, 1407]
        assert np.bincount(real.test.labels).tolist() == [496, 471, 420, 491, 532, 537]
        assert real.train.samples.shape == (7352, 561)
        assert real.train.samples.dtype == real.test.samples.dtype == np.float32

    def test_people_are_in_one_part_only(self, real: Dataset) -> None:
        assert real.test.sources is not None
        assert real.train.sources is not None
        assert sorted(set(real.test.sources.tolist())) == [2, 4, 9, 10, 12, 13, 18, 20, 24]
        assert len(set(real.train.sources.tolist())) == 21
        assert not set(real.train.sources.tolist()) & set(real.test.sources.tolist())

    def test_features_are_in_their_range(self, real: Dataset) -> None:
        for part in (real.train, real.test):
            assert np.abs(part.samples).max() <= 1.0
            assert part.samples.std() > 0.1


def some_parts() -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(1)
    return {
        split: (
            rng.uniform(-1, 1, (n, 561)).astype(np.float32),
            np.arange(n) % 6 + 1,
            rng.integers(1, 31, n),
        )
        for split, n in (("train", 13), ("test", 8))
    }


def text_of(array: np.ndarray) -> str:
    lines = [
        " ".join(f"{x:.9e}" if array.dtype.kind == "f" else str(x) for x in np.atleast_1d(row))
        for row in array
    ]
    return "\n".join("  " + line for line in lines) + "\n"


def official(path: Path, *, nested: bool = True, leave_out: str = "") -> Path:
    """An archive laid out like the official one."""
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "UCI HAR Dataset/activity_labels.txt",
            "".join(f"{i} {name}\n" for i, name in enumerate(ACTIVITIES, 1)),
        )
        archive.writestr("__MACOSX/UCI HAR Dataset/train/._X_train.txt", b"\x00\x05\x16\x07")
        archive.writestr("__MACOSX/UCI HAR Dataset/train/X_train.txt", b"\x00")
        for split, arrays in some_parts().items():
            for name, array in zip(("X", "y", "subject"), arrays):
                if f"{name}_{split}" != leave_out:
                    archive.writestr(f"UCI HAR Dataset/{split}/{name}_{split}.txt", text_of(array))
    if not nested:
        path.write_bytes(inner.getvalue())
        return path
    with zipfile.ZipFile(path, "w") as outer:
        outer.writestr("UCI HAR Dataset.names", "about")
        outer.writestr("UCI HAR Dataset.zip", inner.getvalue())
    return path


class TestTheOfficialArchive:
    @pytest.mark.parametrize("nested", [True, False])
    def test_gives_what_was_written(self, tmp_path: Path, nested: bool) -> None:
        official(tmp_path / har.HAR_ZIP.name, nested=nested)
        data = load("har", tmp_path)
        assert data.classes == ACTIVITIES
        for part, (samples, labels, subjects) in zip(
            (data.train, data.test), some_parts().values()
        ):
            np.testing.assert_array_equal(part.samples, samples)
            np.testing.assert_array_equal(part.labels, labels - 1)
            np.testing.assert_array_equal(part.sources, subjects)
            assert part.samples.dtype == np.float32
        assert [path.name for path in tmp_path.iterdir()] == [har.HAR_ZIP.name]

    def test_agrees_with_the_arrays(self, tmp_path: Path) -> None:
        arrays = {
            f"{n}_{split}": a
            for split, parts in some_parts().items()
            for n, a in zip(("X", "y", "subject"), parts)
        }
        np.savez(tmp_path / "x.npz", activity_names=np.array(ACTIVITIES), **arrays)
        one, two = har.read_npz(tmp_path / "x.npz"), har.read_zip(official(tmp_path / "x.zip"))
        assert one.classes == two.classes
        for a, b in ((one.train, two.train), (one.test, two.test)):
            for name in ("samples", "labels", "sources"):
                np.testing.assert_array_equal(getattr(a, name), getattr(b, name))

    def test_without_a_member(self, tmp_path: Path) -> None:
        with pytest.raises(FormatError, match=r"a\.zip cannot be read \('X_test\.txt'\)"):
            har.read_zip(official(tmp_path / "a.zip", leave_out="X_test"))

    @pytest.mark.parametrize("nested", [True, False])
    def test_cut_short(self, tmp_path: Path, nested: bool) -> None:
        path = official(tmp_path / "a.zip", nested=nested)
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
        with pytest.raises(FormatError, match=r"a\.zip cannot be read"):
            har.read_zip(path)

    def test_with_other_columns(self, tmp_path: Path) -> None:
        arrays = {
            f"{n}_{split}": a[..., :5]
            for split, parts in some_parts().items()
            for n, a in zip(("X", "y", "subject"), parts)
        }
        np.savez(tmp_path / "x.npz", activity_names=np.array(ACTIVITIES), **arrays)
        with pytest.raises(FormatError, match="not 561 columns"):
            har.read_npz(tmp_path / "x.npz")


def test_another_har_npz_is_refused(tmp_path: Path) -> None:
    (tmp_path / "har.npz").write_bytes(b"PK other")
    with pytest.raises(FormatError, match="8 bytes and not 19191295, so it was cut short"):
        load("har", tmp_path)


def test_a_missing_one_is_asked_for_at_its_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(url: str, *_: object) -> None:
        raise download._Failed("no network", retry=False)

    monkeypatch.setattr(download, "_fetch", refused)
    with pytest.raises(
        DownloadError, match=r"archive\.ics\.uci\.edu/static/public/240/.*\(no network\)"
    ):
        load("har", tmp_path)
