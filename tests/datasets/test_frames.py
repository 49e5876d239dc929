"""CSV files as people write them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from ostraka.datasets.frames import read_cells, read_frame
from ostraka.errors import FormatError
from ostraka.public.entries import UNREADABLE


def read(path: Path, content: str | bytes, texts: tuple[str, ...] = ()) -> pd.DataFrame:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_frame(path, ".csv", texts)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1.5,x\n2,y\n",
        "a;b\n1.5;x\n2;y\n",
        "a;b\n1,5;x\n2;y\n",
        "a\tb\n1.5\tx\n2\ty\n",
        "\ufeffa,b\n1.5,x\n2,y\n",
        "a,b\r\n1.5,x\r\n2,y\r\n",
        '"a","b"\n"1.5","x"\n"2","y"\n',
        'a,b\n1.5,"x"\n2,y',
        "a,b\n1.5,x\n\n2,y\n",
    ],
)
def test_separators_and_decimal_commas(path: Path, content: str) -> None:
    frame = read(path, content)
    assert frame["a"].astype(float).tolist() == [1.5, 2.0]
    assert frame["b"].tolist() == ["x", "y"]


def test_a_comma_inside_quotes_separates_nothing(path: Path) -> None:
    frame = read(path, '"x;y;z",b\n1,"a\nb"\n')
    assert list(frame.columns) == ["x;y;z", "b"]
    assert frame["b"].tolist() == ["a\nb"]


def test_gaps_in_numbers_are_gaps_and_texts_stay(path: Path) -> None:
    frame = read(path, "a,b\n1,NA\n?,x\n,-\n")
    assert np.array_equal(frame["a"], [1.0, np.nan, np.nan], equal_nan=True)
    assert frame["b"].tolist() == ["NA", "x", "-"]


def test_dates_times_and_leading_zeros_stay_texts(path: Path) -> None:
    frame = read(path, "d,t,z\n2020-01-02,12:30,007\n2020-01-03,13:30,008\n", ("z",))
    assert frame["d"].tolist() == ["2020-01-02", "2020-01-03"]
    assert frame["t"].tolist() == ["12:30", "13:30"]
    assert frame["z"].tolist() == ["007", "008"]


def test_a_type_that_changes_far_down(path: Path) -> None:
    """Arrow takes the types of the first part; a text two megabytes later must not be an error."""
    content = "a\n" + "1\n" * 1_500_000 + "x\n"
    frame = read(path, content)
    assert len(frame) == 1_500_001
    assert frame["a"].iloc[-1] == "x"
    assert str(frame["a"].iloc[0]) == "1"


def test_numbers_are_read_exactly(path: Path) -> None:
    rng = np.random.default_rng(0)
    numbers = (rng.standard_normal(1000) * 10.0 ** rng.integers(-300, 300, 1000)).tolist()
    frame = read(path, "a\n" + "\n".join(map(repr, numbers)) + "\n")
    assert frame["a"].tolist() == numbers


def test_other_encodings_are_named(path: Path) -> None:
    with pytest.raises(FormatError, match=r"byte 8 is not UTF-8; save it as CSV UTF-8"):
        read(path, "name\nZoë\n".encode("latin-1").replace(b"Zo\xeb", b"Zoe\xeb"))


CELLS = [
    ["0012", "", "12345678901234567890"],
    ["1,50", 'say "no", twice', "NA"],
    [" 7", "1e5", "?"],
]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["", "trailing"])
def test_cells_stay_as_they_are_written(path: Path, delimiter: str, end: str) -> None:
    end = delimiter if end else ""  # as some programs end rows: then pandas reads them
    quoted = [[f'"{cell.replace(chr(34), chr(34) * 2)}"' for cell in row] for row in CELLS]
    lines = [delimiter.join("abc"), *(delimiter.join(row) + end for row in quoted)]
    path.write_text("\n".join(lines) + "\n")
    found, between = read_cells(path, ".csv")
    assert between == delimiter
    assert found.fillna("").to_numpy().tolist() == CELLS


def test_a_row_that_ends_oddly_moves_nobody_elses_entries(path: Path) -> None:
    """Pandas reads what Arrow refuses; either way a text on a list is a text."""
    rows = "party,kind,age,label\nA,#NA,1,yes{}\nB,#NA,2,no{}\n"
    for end in ("", ","):
        assert read(path, rows.format(end, end), ("kind",))["kind"].tolist() == ["#NA", "#NA"]
    for ends in ((",", ""), ("", ",")):
        with pytest.raises(FormatError, match="row 3 has another number of fields"):
            read(path, rows.format(*ends), ("kind",))


@pytest.mark.parametrize("row", ['A,"a,1,yes', 'A,"a"b,1,yes', 'A,a,1,"yes'])
def test_a_quote_that_does_not_end_its_field_is_refused(path: Path, row: str) -> None:
    """It would swallow rows up to the next quote, and nobody would notice."""
    rows = f'party,kind,age,label\nC,x,1,no\n{row}\nC,x,1,no\nB,5" pipe,3,yes\n'
    with pytest.raises(FormatError, match="has a quote that does not end its field"):
        read(path, rows)


def test_an_entry_that_pandas_cannot_hold_moves_no_other(tmp_path: Path) -> None:
    days = [dt.date(2020, 1, 1), dt.date(2021, 1, 1)]
    times = pa.array([5_000, 2_001], pa.time64("ns"))
    late = pa.array([0, 2**30], pa.int32()).cast(pa.date32())
    for name, odd in (("time", times), ("late", late)):
        table = pa.table({"day": pa.array(days), name: odd, "n": [1, None]})
        parquet.write_table(table, tmp_path / "t.parquet")
        found = read_frame(tmp_path / "t.parquet", ".parquet")
        assert found["day"].tolist() == days
        assert found["n"].tolist()[0] == 1
        first = dt.date(1970, 1, 1) if name == "late" else dt.time(0, 0, 0, 5)
        assert found[name].tolist()[0] == first
    assert found["late"].tolist()[1] is UNREADABLE


def test_files_that_are_odd_throughout_are_read(path: Path) -> None:
    assert read(path, "\n\na,b\n1,x\n2,y\n")["b"].tolist() == ["x", "y"]
    assert read(path, "a,b,\n1,x,,\n2,y,,\n")["b"].tolist() == ["x", "y"]
    long = "x" * 200_000
    assert read(path, f'a,b\n1,"{long}"\n2,y\n')["b"].tolist() == [long, "y"]
