"""Data sets are checked when made and cannot be changed; loaders are imported when needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from ostraka import datasets
from ostraka.datasets.dataset import Dataset, Labelled
from ostraka.errors import InputError, LabelError, ParameterError, ShapeError

ROWS = np.arange(6.0).reshape(3, 2)
LABELS = np.array([0, 1, 1])


def a_dataset(**changes: Any) -> Dataset:
    part = Labelled(ROWS, LABELS)
    return Dataset(
        **{"name": "x", "classes": ("no", "yes"), "train": part, "test": part, **changes}
    )


class TestLabelled:
    def test_keeps_what_it_is_given(self) -> None:
        part = Labelled(ROWS, LABELS, np.array(["a", "b", "a"]), np.array([1, 5, 2]))
        assert (len(part), part.n_rows) == (3, 8)
        assert np.shares_memory(part.samples, ROWS)
        assert part.sources is not None
        assert list(part.sources) == ["a", "b", "a"]
        assert Labelled(ROWS, LABELS).n_rows == 3

    def test_cannot_be_changed_but_leaves_the_callers_arrays_alone(self) -> None:
        rows, labels = ROWS.copy(), LABELS.copy()
        part = Labelled(rows, labels, sources=labels, repeats=labels + 1)
        for array in (part.samples, part.labels, part.sources, part.repeats):
            assert array is not None
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 0
        rows[0], labels[0] = 7.0, 1

    @pytest.mark.parametrize(
        "rows",
        [ROWS, ROWS.astype(np.float32), sp.csr_array(ROWS), sp.csr_matrix(ROWS, dtype=np.float32)],
    )
    def test_forms_of_samples(self, rows: Any) -> None:
        assert type(Labelled(rows, LABELS).samples) is type(rows)

    @pytest.mark.parametrize(
        ("rows", "complaint"),
        [
            (ROWS.tolist(), "of type list"),
            (ROWS.astype(int), "of type int64"),
            (sp.csc_array(ROWS), "in csc format"),
            (ROWS.ravel(), r"shape is \(6,\)"),
            (np.empty((3, 0)), r"shape is \(3, 0\)"),
        ],
    )
    def test_refuses_other_samples(self, rows: Any, complaint: str) -> None:
        with pytest.raises(InputError, match=complaint):
            Labelled(rows, LABELS)

    @pytest.mark.parametrize("name", ["labels", "sources", "repeats"])
    def test_refuses_arrays_of_another_length(self, name: str) -> None:
        with pytest.raises(ShapeError, match=rf"{name}: the shape is \(2,\). Allowed: \(3,\)"):
            Labelled(ROWS, **{"labels": LABELS, name: np.array([1, 1])})

    @pytest.mark.parametrize(
        ("changes", "complaint"),
        [
            ({"labels": np.array([0, -1, 1])}, "labels go down to -1. The least allowed is 0"),
            ({"labels": np.array([0.0, 1.0, 1.0])}, "labels are of type float64"),
            ({"repeats": np.array([1, 0, 1])}, "repeats go down to 0. The least allowed is 1"),
            ({"repeats": np.array([1.0, 2.0, 1.0])}, "repeats are of type float64"),
        ],
    )
    def test_refuses_other_numbers(self, changes: dict[str, Any], complaint: str) -> None:
        with pytest.raises(LabelError, match=complaint):
            Labelled(ROWS, **{"labels": LABELS, **changes})


class TestDataset:
    def test_labels_beyond_the_classes(self) -> None:
        bad = Labelled(ROWS, LABELS + 1)
        for part, name in (("train", "training"), ("test", "test")):
            with pytest.raises(
                LabelError,
                match=f"The {name} labels of x go up to 2. With 2 classes, 1 is the last",
            ):
                a_dataset(**{part: bad})
        a_dataset(train=bad, classes=("a", "b", "c"))

    def test_other_columns(self) -> None:
        with pytest.raises(ShapeError, match=r"\(2, 3\) columns"):
            a_dataset(test=Labelled(np.zeros((3, 3)), LABELS))

    @pytest.mark.parametrize("classes", [(), ("a",), ("a", "a")])
    def test_classes(self, classes: tuple[str, ...]) -> None:
        with pytest.raises(InputError, match="at least two different classes"):
            a_dataset(classes=classes)


class TestLoad:
    @pytest.mark.parametrize("name", ["kdd", "", "tables", None])
    def test_names(self, name: Any) -> None:
        with pytest.raises(ParameterError, match="har, kdd99, url, urls, digits"):
            datasets.load(name)

    def test_every_name_has_a_loader(self) -> None:
        for name in datasets.NAMES:
            module = __import__(f"ostraka.datasets.{name}", fromlist=["load"])
            assert callable(module.load)

    def test_takes_a_text_or_a_path(self, tmp_path: Path) -> None:
        for folder in (tmp_path, str(tmp_path)):
            assert datasets.load("digits", folder).name == "digits"

    def test_importing_is_light(self) -> None:
        code = (
            "import sys, ostraka.datasets, ostraka.datasets.har, ostraka.datasets.kdd99, "
            "ostraka.datasets.urls, ostraka.datasets.url;"
            "assert not {'pandas', 'sklearn', 'scipy', 'joblib', 'rich'} & set(sys.modules), "
            "sys.modules.keys()"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
