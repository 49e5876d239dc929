"""The digits of scikit-learn, shuffled the same way every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from ostraka.datasets import load


def test_every_image_is_in_one_part_with_its_digit(tmp_path: Path) -> None:
    data = load("digits", tmp_path / "nowhere")
    assert data.classes == ("0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
    assert (data.train.samples.shape, data.test.samples.shape) == ((1400, 64), (397, 64))
    assert data.train.samples.dtype == np.float32
    samples = np.vstack([data.train.samples, data.test.samples])
    labels = np.concatenate([data.train.labels, data.test.labels])
    expected, digits = load_digits(return_X_y=True)

    def rows(samples: np.ndarray, labels: np.ndarray) -> list[tuple[float, ...]]:
        return sorted(tuple(row) for row in np.column_stack([samples, labels]).tolist())

    assert rows(samples, labels) == rows(expected, digits)
    assert not np.array_equal(samples, expected)


def test_the_shuffle_is_fixed() -> None:
    once, again = load("digits"), load("digits")
    np.testing.assert_array_equal(once.train.samples, again.train.samples)
    assert min(np.bincount(once.test.labels, minlength=10)) > 20
