"""Many parties' rows in one file, or a file each: nobody's entry decides how another's is read."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from ostraka.datasets import tables
from ostraka.errors import InputError
from ostraka.public.columns import Category, Columns, Number
from ostraka.public.describe import describe_columns

COLUMNS = Columns(
    (
        Number(name="number", fill=-9.0, marks_gaps=True),
        Number(name="truth", kind="boolean", fill=-9.0),
        Number(name="day", kind="date", fill=0.0),
        Category(name="text", values=("", "007", "1", "true", "x")),
    )
)
ODD = [
    *("5", "5.5", "x", "", "NA", "?", "true", "TRUE", "0x10", "-0", "007", "01", "1e0", "1e400"),
    *("3.5", "1,5", "inf", "nan", "+5", " 5 ", "9" * 40, "3." + "0" * 600, "2020-01-01", "12:30"),
    *("1_000", "1e", "\u0663", "-", ".", "yes", "1.0", "9223372036854775808"),
]


def encoded(path: Path, entries: list[str], delimiter: str) -> np.ndarray:
    """One column after another holds the entries; the rest is the same everywhere."""
    rows = [delimiter.join([*COLUMNS.names, "label"])]
    quoted = ['"' + entry + '"' for entry in entries]
    rows += [delimiter.join([entry, entry, entry, entry, "a"]) for entry in quoted]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    table = tables.read(path, label_column="label", columns=COLUMNS)
    return COLUMNS.encode(table.samples)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_entry_of_a_pooled_file_moves_another(tmp_path: Path, delimiter: str) -> None:
    """For every pair: the first entry's numbers are what they are alone, to the last bit."""
    path = tmp_path / "t.csv"
    alone = {entry: encoded(path, [entry], delimiter)[0] for entry in ODD}
    for one, other in itertools.permutations(ODD, 2):
        found = encoded(path, [one, other], delimiter)
        assert np.array_equal(found[0], alone[one]), (one, other)
        assert np.array_equal(found[1], alone[other]), (one, other)
        assert (np.signbit(found[0]) == np.signbit(alone[one])).all()


def test_decimal_commas_are_read_entry_by_entry(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    found = encoded(path, ["1,5", "2.5", "unknown", "3"], ";")[:, 0]
    assert found.tolist() == [1.5, 2.5, -9.0, 3.0]
    assert encoded(path, ["1,5", "2.5"], ",")[:, 0].tolist() == [-9.0, 2.5]


def dated(values: list[Any], unit: str) -> pd.DataFrame:
    return pd.DataFrame({"day": np.array(values, dtype=f"datetime64[{unit}]"), "label": "a"})


def test_files_of_a_folder_may_have_other_types(tmp_path: Path) -> None:
    """A date that nanoseconds cannot hold, a column of gaps, texts beside numbers."""
    dated(["2021-01-01"], "ns").to_parquet(tmp_path / "a.parquet")
    day = Columns((Number(name="day", kind="date", fill=0.0),))
    alone = day.encode(tables.read(tmp_path, label_column="label", columns=day).samples)
    for name, part in {
        "b": dated(["9999-12-31"], "us"),
        "c": pd.DataFrame({"day": [None], "label": ["a"]}),
        "d": pd.DataFrame({"day": ["2021-01-01"], "label": ["a"]}),
        "e": pd.DataFrame({"day": [3.5], "label": ["a"]}),
    }.items():
        part.to_parquet(tmp_path / f"{name}.parquet")
        together = tables.read(tmp_path, label_column="label", columns=day)
        assert np.array_equal(day.encode(together.samples)[:1], alone)


def test_whole_numbers_beside_gaps_stay_whole(tmp_path: Path) -> None:
    listed = Columns((Category(name="id", values=("10000000000000001",)),))
    for others in ([], [None]):
        ids = pd.array([10000000000000001, *others], dtype="Int64")
        frame = pd.DataFrame({"id": ids, "label": "a"})
        frame.to_parquet(tmp_path / "t.parquet")
        table = tables.read(tmp_path / "t.parquet", label_column="label", columns=listed)
        assert listed.encode(table.samples)[0].tolist() == [1.0]


def test_whether_a_file_has_rows_shows_in_no_list_of_columns(tmp_path: Path) -> None:
    columns = describe_columns(pd.DataFrame({"a": [1.0, 2.0]}))
    seen = []
    for rows in ("1,x,u\n2,y,v\n", ""):
        folder = tmp_path / str(len(rows))
        folder.mkdir()
        (folder / "one.csv").write_text("a,y\n1,u\n2,v\n")
        (folder / "two.csv").write_text("a,more,y\n" + rows)
        seen.append(
            tables.read(folder, label_column="y", columns=columns, may_be_empty=True).unused
        )
    assert seen == [("more",), ("more",)]


KINDS_OF_ARRAYS: dict[str, np.ndarray] = {
    "truths": np.array([True, False, True, True]),
    "doubles": np.array([0.5, 1.0, 3.0, 0.0]),
    "singles": np.array([0.1, 1.0, 3.0, 0.0], dtype=np.float32),
    "small": np.array([0, 1, 3, -1], dtype=np.int8),
    "foreign": np.array([0.1, 1.0, 3.0, 0.0], dtype=">f8"),
    "large": np.array([2**53 + 1, 1, 2, 3]),
    "texts": np.array(["0.50", "true", "2021-01-01", "007"]),
    "bytes": np.array([b"0.50", b"true", b"2021-01-01", b"007"]),
    "days": np.array(["2021-01-01"] * 4, dtype="datetime64[D]"),
    "nanoseconds": np.array(["2021-01-01"] * 4, dtype="datetime64[ns]"),
    "centuries": np.array(["9999-12-31"] * 4, dtype="datetime64[us]"),
    "spans": np.array([3, 4, 5, 6], dtype="timedelta64[D]"),
    "complex": np.array([1 + 1j, 1, 2, 3]),
    "pairs": np.array([(1, 2.5)] * 4, dtype=[("a", "i4"), ("b", "f8")]),
}
LISTED = Columns(
    (*COLUMNS.columns[:3], Category(name="text", values=("", "1", "true", "2021-01-01", "3")))
)


def save_party(folder: Path, name: str, kind: str) -> None:
    entries = KINDS_OF_ARRAYS[kind]
    np.savez(folder / f"{name}.npz", X=entries[[[0, 1, 2, 3], [3, 2, 1, 0]]], y=entries[:2])


def read_parties(folder: Path) -> np.ndarray:
    return LISTED.encode(tables.read(folder, columns=LISTED).samples)


def test_arrays_of_a_folder_may_have_other_types(tmp_path: Path) -> None:
    """For every pair: one party's entries become what they are without the other, to the bit."""
    for one, other in itertools.permutations(KINDS_OF_ARRAYS, 2):
        folder = tmp_path / f"{one} {other}"
        folder.mkdir()
        save_party(folder, "a", one)
        alone = read_parties(folder)
        save_party(folder, "b", other)
        assert np.array_equal(read_parties(folder)[:2], alone), (one, other)


def test_arrays_of_one_type_are_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The mutant lets numpy find one type for everybody."""
    monkeypatch.setattr(tables, "_one_after_another", np.concatenate)
    save_party(tmp_path, "a", "truths")
    alone = read_parties(tmp_path)
    save_party(tmp_path, "b", "doubles")
    assert not np.array_equal(read_parties(tmp_path)[:2], alone)


def test_labels_of_a_folder_may_have_other_types(tmp_path: Path) -> None:
    save_party(tmp_path, "a", "small")
    for other in ("doubles", "large", "truths", "texts"):
        save_party(tmp_path, "b", other)
        read = tables.read(tmp_path, columns=LISTED, label_column="y", text_labels=True)
        assert read.labels is not None
        assert read.labels[:2].tolist() == ["0", "1"]


def test_columns_without_names_are_read_one_by_one() -> None:
    listed = Columns((*LISTED.columns[:1], Category(name="id", values=("10000000000000001",))))
    for other in (0.5, "x"):
        frame = pd.DataFrame({0: [1.0, other], 1: [10000000000000001, 2]})
        assert listed.encode(frame)[0].tolist() == [1.0, 0.0, 1.0]


def test_whether_a_file_has_rows_does_not_show_where_files_differ(tmp_path: Path) -> None:
    """Other columns are refused whether or not there is a row in them."""
    for place, other in enumerate((np.zeros((0, 4)), np.zeros((1, 4)))):
        folder = tmp_path / str(place)
        folder.mkdir()
        np.savez(folder / "a.npz", X=np.zeros((2, 3)))
        np.savez(folder / "b.npz", X=other)
        with pytest.raises(InputError, match=r"have \[3, 4\] columns"):
            tables.read(folder)
