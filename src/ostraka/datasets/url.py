"""Malicious URLs as Ma et al. collected them: UCI data set 187, "URL Reputation".

2,396,130 URLs of 121 days with 3,231,961 lexical and host features, most of them 0: rows stay
sparse from the file to the caller. Days 0-9 are learnt from, days 10-19 measured on. The rows'
sources are their days.

Read from `url_svmlight.tar.gz`, which is not unpacked to disk, or from a folder `url_svmlight` with
`Day0.svm` to `Day19.svm`. The small sample of it that some folders hold
(`url_svmlight_sample.svm.gz`) has neither enough rows nor all days: `load` refuses it.

Source: Ma, Saul, Savage, Voelker, "Identifying Suspicious URLs: An Application of Large-Scale
Online Learning", ICML 2009.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from ostraka.datasets.dataset import Dataset, Labelled
from ostraka.datasets.download import obtain
from ostraka.datasets.sources import URL_ARCHIVE, URL_SAMPLE
from ostraka.errors import DownloadError, FormatError, InputError
from ostraka.progress import watch

__all__ = ["N_COLUMNS", "load", "read_svm"]

N_COLUMNS = 3_231_961
CLASSES = ("benign", "malicious")
TRAIN_DAYS = range(10)
TEST_DAYS = range(10, 20)
FOLDER = "url_svmlight"
COMMENT = re.compile(rb"#[ \t]*([^\s#]+)")


def load(folder: Path, *, progress: bool = False) -> Dataset:
    """Read days 0 to 19 from the archive or the unpacked folder; download the archive if needed."""
    wanted = [f"Day{day}.svm" for day in (*TRAIN_DAYS, *TEST_DAYS)]
    days = {}
    for name, content in watch("reading days", progress)(
        _members(folder, wanted, progress), len(wanted)
    ):
        days[name] = _parse(content, name)
    missing = [name for name in wanted if name not in days]
    if missing:
        raise FormatError(
            "URL data set", f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not in it"
        )
    train, test = (
        _join([(f"Day{day}", days[f"Day{day}.svm"]) for day in part])
        for part in (TRAIN_DAYS, TEST_DAYS)
    )
    return Dataset(name="url", classes=CLASSES, train=train, test=test)


def read_svm(source: str | Path | IO[bytes]) -> Labelled:
    """Read rows in svmlight format, plain or (by the name's ending) gzipped.

    A label of -1 is benign, +1 malicious. If every line ends with a comment such as `# Day3`, the
    comments are the rows' sources.
    """
    if not isinstance(source, str | Path):
        return _parse(source.read(), str(getattr(source, "name", "the stream")))
    path = Path(source)
    try:
        content = (
            gzip.decompress(path.read_bytes())
            if path.suffix.lower() == ".gz"
            else path.read_bytes()
        )
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError("URL file", f"{path.name} cannot be unpacked ({error})") from None
    return _parse(content, path.name)


def _parse(content: bytes, name: str) -> Labelled:
    from scipy.sparse import csr_array
    from sklearn.datasets import load_svmlight_file

    try:
        # Columns are counted from 1 in these files. Stated here, because a guess would depend on
        # the rows.
        rows, signs = load_svmlight_file(
            io.BytesIO(content), n_features=N_COLUMNS, dtype=np.float32, zero_based=False
        )
    except ValueError as error:
        raise FormatError("URL file", f"{name} cannot be read ({error})") from None
    if not np.isin(signs, (-1.0, 1.0)).all():
        raise FormatError("URL file", f"{name} has labels other than -1 and +1")
    return Labelled(csr_array(rows), (signs > 0).astype(np.int64), _comments(content, len(signs)))


def _comments(content: bytes, n_rows: int) -> Any:
    found = COMMENT.findall(content) if b"#" in content else []
    return (
        np.array([comment.decode("utf-8", "replace") for comment in found])
        if len(found) == n_rows > 0
        else None
    )


def _join(days: list[tuple[str, Labelled]]) -> Labelled:
    from scipy.sparse import vstack

    return Labelled(
        vstack([part.samples for _, part in days], format="csr"),
        np.concatenate([part.labels for _, part in days]),
        np.repeat([day for day, _ in days], [len(part) for _, part in days]),
    )


def _members(folder: Path, wanted: list[str], progress: bool) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the days, one at a time."""
    unpacked = folder / FOLDER
    if unpacked.is_dir():
        yield from (
            (name, (unpacked / name).read_bytes()) for name in wanted if (unpacked / name).exists()
        )
        return
    yield from _read_archive(_obtain(folder, progress), set(wanted))


def _obtain(folder: Path, progress: bool) -> Path:
    try:
        return obtain(URL_ARCHIVE, folder, progress=progress)
    except DownloadError:
        if not (folder / URL_SAMPLE.name).exists():
            raise
    raise InputError(
        f"The folder {folder} has {URL_SAMPLE.name}, a small sample of the data set, "
        "but days 0 to 19 are needed and could not be downloaded.",
        f"Put {URL_ARCHIVE.name} there, from {URL_ARCHIVE.urls[0]}, "
        "or take the data set 'urls', which stands in for it.",
    )


def _read_archive(path: Path, wanted: set[str]) -> Iterator[tuple[str, bytes]]:
    """In the archive's order, and no further than needed: going back would unpack it again."""
    left = set(wanted)
    try:
        with tarfile.open(path, "r|gz") as archive:
            for member in archive:
                name = Path(member.name).name
                stream = archive.extractfile(member) if name in left and member.isfile() else None
                if stream is not None:
                    yield name, stream.read()
                    left.discard(name)
                if not left:
                    return
    except (tarfile.TarError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise FormatError("URL archive", f"{path.name} cannot be unpacked ({error})") from None
