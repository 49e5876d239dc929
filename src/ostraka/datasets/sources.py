"""The files of the public data sets: their names, what they must hold, and where they live.

A file is accepted if its sha256 is the one written here. Two are checked in another way:

- The same records of `corrected.gz` circulate packed in more than one way, so the content is
  hashed, not the package.
- For the two archives whose checksum we do not know, the first copy that is downloaded is trusted,
  over https only; its checksum is written beside it, and later loads must match it.

Files without addresses were put together from several sources and have no public home of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

__all__ = [
    "DataFile",
    "FILES",
    "HAR_NPZ",
    "HAR_ZIP",
    "KDD99_TRAIN",
    "KDD99_TEST",
    "URL_ARCHIVE",
    "URL_SAMPLE",
    "URLS",
]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """One file of a data set.

    Args:
        name: its name in the data folder.
        n_bytes: its size, where known.
        sha256: its checksum in hexadecimal, where known.
        unpacked_sha256: the checksum of what a gzip file holds, if the package itself may differ.
        urls: where it is, best first.
        about: what it is, as the end of a sentence that begins with "It is".

    """

    name: str
    n_bytes: int | None = None
    sha256: str | None = None
    unpacked_sha256: str | None = None
    urls: tuple[str, ...] = ()
    about: str

    @property
    def is_known(self) -> bool:
        """Whether a wrong copy would be noticed."""
        return self.sha256 is not None or self.unpacked_sha256 is not None


HAR_NPZ = DataFile(
    name="har.npz",
    n_bytes=19191295,
    sha256="28669b86e23216259d480a9d76bdb3af790782d293549761ac53b467847067da",
    about="the arrays of the UCI data set 240, 'Human Activity Recognition Using Smartphones'",
)

HAR_ZIP = DataFile(
    name="human+activity+recognition+using+smartphones.zip",
    urls=(
        "https://archive.ics.uci.edu/static/public/240/"
        "human+activity+recognition+using+smartphones.zip",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/00240/UCI%20HAR%20Dataset.zip",
    ),
    about="the UCI data set 240, 'Human Activity Recognition Using Smartphones' "
    "(https://archive.ics.uci.edu/dataset/240)",
)

KDD99_TRAIN = DataFile(
    name="kddcup.data_10_percent.gz",
    n_bytes=2144903,
    sha256="8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
    urls=(
        "https://ndownloader.figshare.com/files/5976042",
        "https://kdd.ics.uci.edu/databases/kddcup99/kddcup.data_10_percent.gz",
        "http://kdd.ics.uci.edu/databases/kddcup99/kddcup.data_10_percent.gz",
    ),
    about="the 10 % training file of the KDD Cup 1999 "
    "(https://kdd.ics.uci.edu/databases/kddcup99/kddcup99.html)",
)

KDD99_TEST = DataFile(
    name="corrected.gz",
    unpacked_sha256="547dfb9c0f0dc1d9944219ec79e851191faebaeb8acbfa1cd171c418397052a4",
    urls=(
        "https://kdd.ics.uci.edu/databases/kddcup99/corrected.gz",
        "http://kdd.ics.uci.edu/databases/kddcup99/corrected.gz",
        "https://web.archive.org/web/20110728094556id_/"
        "http://kdd.ics.uci.edu/databases/kddcup99/corrected.gz",
    ),
    about="the labelled test file of the KDD Cup 1999 "
    "(https://kdd.ics.uci.edu/databases/kddcup99/kddcup99.html)",
)

URL_ARCHIVE = DataFile(
    name="url_svmlight.tar.gz",
    urls=("https://archive.ics.uci.edu/ml/machine-learning-databases/url/url_svmlight.tar.gz",),
    about="the UCI data set 187, 'URL Reputation' (https://archive.ics.uci.edu/dataset/187), "
    "Day0.svm to Day120.svm, 2.2 GB unpacked",
)

URL_SAMPLE = DataFile(
    name="url_svmlight_sample.svm.gz",
    n_bytes=670091,
    sha256="77ee8e32224ee204b9b2a7b44945e430dee4444ee1f03a60d739933fd9bbea87",
    about="6,863 rows of the UCI data set 187, 'URL Reputation', to check formats with",
)

URLS = DataFile(
    name="malicious_urls.csv.gz",
    n_bytes=10176165,
    sha256="60d82fbfcf602a1cd41fbd0b66aa7704094099cf8dd4afcd33976254da0b8fd0",
    about="a gzipped CSV file with the columns url, label (0 benign, 1 malicious), type and "
    "source, 342,548 rows out of five collections: "
    "ISCX-URL-2016, Ebbu-2017, CSIRT Gadgets 2018, PhishDataset 2021, "
    "and the head of Kaggle's 'Malicious URLs dataset' of 2021",
)

FILES = (HAR_NPZ, HAR_ZIP, KDD99_TRAIN, KDD99_TEST, URL_ARCHIVE, URL_SAMPLE, URLS)
