"""Handwritten digits: 1,797 images of 8 x 8 pixels that come with scikit-learn.

Nothing is downloaded.

The test set of Alpaydin and Kaynak, "Optical Recognition of Handwritten Digits" (UCI data set 80,
CC BY 4.0), by 13 of its 43 writers. The rows are grouped by writer, without names, so they are
shuffled, always in the same way, before 1,400 are taken to learn from.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ostraka.datasets.dataset import Dataset, Labelled

__all__ = ["load"]

N_TRAIN = 1400
SEED = 20160620


def load(folder: Path, *, progress: bool = False) -> Dataset:  # noqa: ARG001
    """Take the digits out of scikit-learn; the folder is not looked at."""
    from sklearn.datasets import load_digits

    samples, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(SEED).permutation(len(labels))
    samples, labels = samples[order].astype(np.float32), labels[order].astype(np.int64)
    return Dataset(
        name="digits",
        classes=tuple("0123456789"),
        train=Labelled(samples[:N_TRAIN], labels[:N_TRAIN]),
        test=Labelled(samples[N_TRAIN:], labels[N_TRAIN:]),
    )
