"""CSV files as people write them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ostraka.datasets.frames import read_cells, read_frame
from ostraka.errors import FormatError


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
