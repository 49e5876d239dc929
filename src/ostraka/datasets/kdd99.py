"""Network connections, normal or part of an attack: the KDD Cup 1999 (UCI data set 130).

The 10 % training file has 494,021 connections; the labelled test file "corrected" has 311,029, with
attacks that do not occur in training. Both hold few distinct connections. Each distinct pair of row
and class of the test file is given once, with `repeats` saying how often it occurs. Training rows
are all kept.

    columns                      how
    protocol, service, flag      one column per category: 3 + 71 + 11
    the other 38                 log(1 + x), because counts run from 0 to 10⁹; rates in [0, 1]
                                 change little

That makes d = 123, the number of Hamm, Cao and Belkin (ICML 2016, section 6). The lists of
categories are fixed, public and those of the whole Cup: our two files have 67 of the 71 services.
Four (aol, harvest, http_2784, http_8001) occur only in the full training file, so their columns
are empty here, and the service `icmp` occurs only in the test file. Nothing is scaled: that is
fitted on auxiliary samples, elsewhere.

Source: Stolfo, Fan, Lee, Prodromidis, Chan, "Cost-based Modeling and Evaluation for Data Mining
With Application to Fraud and Intrusion Detection", 2000; traffic of the 1998 DARPA evaluation at
MIT Lincoln Labs.
"""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.datasets.dataset import Dataset, Labelled
from ostraka.datasets.download import obtain
from ostraka.datasets.sources import KDD99_TEST, KDD99_TRAIN
from ostraka.errors import FormatError

__all__ = ["CATEGORIES", "N_COLUMNS", "load", "read"]

PROTOCOLS = "icmp tcp udp"
SERVICES = (
    "IRC X11 Z39_50 aol auth bgp courier csnet_ns ctf daytime discard domain domain_u echo eco_i "
    "ecr_i efs exec finger ftp ftp_data gopher harvest hostnames http http_2784 http_443 http_8001 "
    "icmp imap4 iso_tsap klogin kshell ldap link login mtp name netbios_dgm netbios_ns netbios_ssn "
    "netstat nnsp nntp ntp_u other pm_dump pop_2 pop_3 printer private red_i remote_job rje shell "
    "smtp sql_net ssh sunrpc supdup systat telnet tftp_u tim_i time urh_i urp_i uucp uucp_path "
    "vmnet whois"
)
FLAGS = "OTH REJ RSTO RSTOS0 RSTR S0 S1 S2 S3 SF SH"
CATEGORIES = {1: tuple(PROTOCOLS.split()), 2: tuple(SERVICES.split()), 3: tuple(FLAGS.split())}
"""The columns of the file that hold words, and all words that they may hold, sorted."""
N_FIELDS = 42
LABEL = 41
NUMERIC = tuple(field for field in range(LABEL) if field not in CATEGORIES)
N_COLUMNS = len(NUMERIC) + sum(map(len, CATEGORIES.values()))
CLASSES = ("normal", "attack")

Rows = NDArray[np.float32]
Labels = NDArray[np.int64]


def load(folder: Path, *, progress: bool = False) -> Dataset:
    """Read both files; without pandas (`pip install pandas`) it raises ImportError."""
    train, test = (obtain(file, folder, progress=progress) for file in (KDD99_TRAIN, KDD99_TEST))
    rows, labels = read(train)
    return Dataset(
        name="kdd99",
        classes=CLASSES,
        train=Labelled(_encode(rows), labels),
        test=_distinct(*read(test)),
    )


def read(path: Path) -> tuple[Rows, Labels]:
    """The connections, 41 columns as in the file, and their classes.

    Numbers become log(1 + x), words become category numbers.
    """
    frame = _frame(path)
    rows = np.empty((len(frame), LABEL), dtype=np.float32)
    with np.errstate(invalid="ignore", divide="ignore"):  # what has no logarithm is refused below
        for field in range(LABEL):
            rows[:, field] = (
                _codes(frame[field], CATEGORIES[field], path)
                if field in CATEGORIES
                else np.log1p(frame[field].to_numpy())
            )
    if not np.isfinite(rows).all():
        raise FormatError(
            "KDD Cup file", f"{path.name} has numbers that are missing, infinite or below 0"
        )
    return rows, (frame[LABEL] != "normal.").to_numpy().astype(np.int64)


def _frame(path: Path) -> Any:
    import pandas as pd

    words = {*CATEGORIES, LABEL}
    kinds = {field: "category" if field in words else np.float32 for field in range(N_FIELDS)}
    try:
        frame = pd.read_csv(path, header=None, names=range(N_FIELDS), dtype=kinds, index_col=False)
    except (ValueError, EOFError, OSError, zlib.error) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise FormatError("KDD Cup file", f"{path.name} cannot be read ({error})") from None
    if frame[LABEL].isna().any() or len(frame) == 0:
        raise FormatError(
            "KDD Cup file", f"{path.name} has rows of fewer than {N_FIELDS} fields, or none at all"
        )
    return frame


def _codes(column: Any, allowed: tuple[str, ...], path: Path) -> Any:
    unknown = sorted(map(str, set(column.cat.categories) - set(allowed)))
    if unknown or column.isna().any():
        raise FormatError(
            "KDD Cup file",
            f"{path.name} has the unknown categories {', '.join(unknown) or '(missing)'}",
        )
    return column.cat.set_categories(allowed).cat.codes


def _encode(rows: Rows) -> Rows:
    """Numbers first, then a column per category."""
    samples = np.zeros((len(rows), N_COLUMNS), dtype=np.float32)
    samples[:, : len(NUMERIC)] = rows[:, NUMERIC]
    start = len(NUMERIC)
    for field, words in CATEGORIES.items():
        samples[np.arange(len(rows)), start + rows[:, field].astype(np.intp)] = 1.0
        start += len(words)
    return samples


def _distinct(rows: Rows, labels: Labels) -> Labelled:
    """Each pair of row and class once, where it first occurs, with how often it occurs."""
    pairs = np.column_stack([rows, labels.astype(np.float32)])
    as_bytes = pairs.view(np.dtype((np.void, pairs.shape[1] * pairs.itemsize))).ravel()
    _, first, counts = np.unique(as_bytes, return_index=True, return_counts=True)
    order = np.argsort(first)
    kept = first[order]
    return Labelled(_encode(rows[kept]), labels[kept], repeats=counts[order].astype(np.int64))
