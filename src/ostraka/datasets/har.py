"""Activities of 30 people, from a phone at their waist: UCI data set 240.

"Human Activity Recognition Using Smartphones".

10,299 windows of 2.56 s, 561 features in [-1, 1], 6 activities. The official split is by person:
21 to learn from, 9 others to measure on. Natural parties: the people.

Read from `har.npz` (arrays X_train, y_train with 1..6, subject_train, the same for test,
activity_names) if that is there, else from the official archive, which is a zip file inside a zip
file; neither is unpacked to disk.

Source: Anguita, Ghio, Oneto, Parra, Reyes-Ortiz, "A Public Domain Dataset for Human
Activity Recognition Using Smartphones", ESANN 2013.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.datasets.dataset import Dataset, Labelled
from ostraka.datasets.download import obtain, verify
from ostraka.datasets.sources import HAR_NPZ, HAR_ZIP
from ostraka.errors import FormatError

__all__ = ["load", "read_npz", "read_zip"]

N_FEATURES = 561


def load(folder: Path, *, progress: bool = False) -> Dataset:
    """Read `har.npz` if it is in the folder, else the official archive."""
    path = folder / HAR_NPZ.name
    if path.exists():
        verify(path, HAR_NPZ)
        return read_npz(path)
    return read_zip(obtain(HAR_ZIP, folder, progress=progress))


def read_npz(path: Path) -> Dataset:
    """Read the arrays."""
    try:
        with np.load(path, allow_pickle=False) as arrays:
            parts = [
                _part(*(arrays[f"{name}_{split}"] for name in ("X", "y", "subject")))
                for split in ("train", "test")
            ]
            return _dataset(tuple(str(name) for name in arrays["activity_names"]), *parts)
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise FormatError("HAR file", f"{path.name} cannot be read ({error})") from None


def read_zip(path: Path) -> Dataset:
    """Read the official archive, or the one inside it."""
    try:
        with zipfile.ZipFile(path) as outer:
            inner = next(
                (name for name in outer.namelist() if name.endswith("UCI HAR Dataset.zip")), None
            )
            if inner is None:
                return _read_members(outer)
            with zipfile.ZipFile(io.BytesIO(outer.read(inner))) as archive:
                return _read_members(archive)
    except (KeyError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise FormatError("HAR archive", f"{path.name} cannot be read ({error})") from None


def _read_members(archive: zipfile.ZipFile) -> Dataset:
    names = {
        Path(name).name: name for name in archive.namelist() if not name.startswith("__MACOSX/")
    }

    def numbers(name: str, dtype: type) -> Any:
        with archive.open(names[name]) as member:
            return np.loadtxt(member, dtype=dtype)

    lines = archive.read(names["activity_labels.txt"]).decode("ascii").split("\n")
    classes = tuple(line.split()[1] for line in lines if line.strip())
    parts = [
        _part(
            numbers(f"X_{split}.txt", np.float32),
            numbers(f"y_{split}.txt", np.int64),
            numbers(f"subject_{split}.txt", np.int64),
        )
        for split in ("train", "test")
    ]
    return _dataset(classes, *parts)


def _part(samples: Any, labels: Any, subjects: Any) -> Labelled:
    """The files count classes from 1."""
    if samples.ndim != 2 or samples.shape[1] != N_FEATURES:
        raise ValueError(
            f"the features have the shape {samples.shape} and not {N_FEATURES} columns"
        )
    return Labelled(
        samples.astype(np.float32, copy=False),
        labels.astype(np.int64) - 1,
        subjects.astype(np.int64),
    )


def _dataset(classes: tuple[str, ...], train: Labelled, test: Labelled) -> Dataset:
    return Dataset(name="har", classes=classes, train=train, test=test)
