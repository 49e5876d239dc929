"""Malicious URLs as text, from five collections: a stand-in for `url`, not comparable to it.

342,548 distinct URLs, 167,737 of them malicious. Natural parties: the collections, each made by
different people at a different time.

    source             collection
    iscx2016           ISCX-URL-2016, Canadian Institute for Cybersecurity
    ebbu2017           Ebbu-2017, Sahingoz et al., Expert Systems with Applications 117, 2019
    csirtg2018         CSIRT Gadgets' blacklist and whitelist
    phishdataset2021   PhishDataset, Aung and Yamana, WI-IAT 2021
    kaggle2021head     the head of "Malicious URLs dataset", Kaggle 2021

Features are counts of hashed runs of 3 and 4 characters, scaled to length 1: hashing needs no
vocabulary, so nothing is learnt from the rows. The scheme and "www." are removed first, because
their presence reveals the collection. The rows are grouped by collection, so they are shuffled,
always in the same way, before 200,000 are taken to learn from. The URLs are text to classify: do
not open them.

Why not a cache of the features: it would be 30 times as large as the file, and a second truth. Why
not several processes: two take three quarters of the time of one if each has a core to itself, and
longer than one if not.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.datasets.dataset import Dataset, Labelled
from ostraka.datasets.download import obtain
from ostraka.datasets.sources import URLS
from ostraka.errors import FormatError
from ostraka.progress import watch

__all__ = ["N_COLUMNS", "load", "read", "vectorise"]

CLASSES = ("benign", "malicious")
COLUMNS = ("url", "label", "source")
PREFIX = r"^(?:[a-zA-Z]+://)?(?:www\.)?"
N_COLUMNS = 2**18
N_TRAIN = 200_000
SEED = 20160620
BLOCK_ROWS = 10_000


def load(folder: Path, *, progress: bool = False) -> Dataset:
    """Read the file, shuffle, split and vectorise; raises ImportError without pandas."""
    frame = read(obtain(URLS, folder))
    order = np.random.default_rng(SEED).permutation(len(frame))
    train, test = (
        _label(frame.iloc[part], progress) for part in (order[:N_TRAIN], order[N_TRAIN:])
    )
    return Dataset(name="urls", classes=CLASSES, train=train, test=test)


def read(path: Path) -> Any:
    """The file as a pandas DataFrame with the columns url, label and source."""
    import pandas as pd

    try:
        # Everything as it stands: a URL may be "null" or "NA", which pandas would take for missing.
        frame = pd.read_csv(
            path,
            usecols=list(COLUMNS),
            dtype={"url": str, "label": np.int64, "source": str},
            keep_default_na=False,
        )
    except (ValueError, EOFError, zlib.error) as error:
        raise FormatError("table of URLs", f"{path.name} cannot be read ({error})") from None
    if not frame["label"].isin((0, 1)).all():
        raise FormatError("table of URLs", f"{path.name} has labels other than 0 and 1")
    return frame


def vectorise(urls: Sequence[str], *, progress: bool = False) -> Any:
    """The features of URLs from which the prefix was removed, as a csr matrix of float32."""
    from scipy.sparse import csr_array, vstack
    from sklearn.feature_extraction.text import HashingVectorizer

    hashing = HashingVectorizer(
        analyzer="char",
        ngram_range=(3, 4),
        lowercase=True,
        n_features=N_COLUMNS,
        alternate_sign=False,
        norm="l2",
        dtype=np.float32,
    )
    starts = range(0, len(urls), BLOCK_ROWS)
    blocks = [
        hashing.transform(urls[start : start + BLOCK_ROWS])
        for start in watch("reading URLs", progress)(starts, len(starts))
    ]
    return (
        csr_array(vstack(blocks, format="csr"))
        if blocks
        else csr_array((0, N_COLUMNS), dtype=np.float32)
    )


def _label(frame: Any, progress: bool) -> Labelled:
    stripped = frame["url"].str.replace(PREFIX, "", regex=True).tolist()
    sources = frame["source"].to_numpy().astype(str)
    return Labelled(
        vectorise(stripped, progress=progress), frame["label"].to_numpy().astype(np.int64), sources
    )
