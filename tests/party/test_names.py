"""One party, one name: what is the same, what is refused, and that files of any kind agree."""

from __future__ import annotations

import io
import re
import sys
import unicodedata
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ostraka.errors import InputError, ParameterError, ShapeError, WrongTypeError
from ostraka.party import names
from ostraka.party.names import LONGEST_NAME, canonical, canonical_each, canonical_list, distinct

SAME: dict[str, list[Any]] = {
    "3": [
        3,
        3.0,
        "3",
        "3.0",
        "3.",
        "003",
        "+3",
        " 3 ",
        "3e0",
        "0.3E1",
        "30e-1",
        b"3",
        b"003.0",
        "\uff13",
        "\uff10\uff13",
        np.int64(3),
        np.uint8(3),
        np.float64(3),
        np.float32(3),
        np.float16(3),
        np.str_("3"),
        np.bytes_(b"3"),
    ],
    "-3": [-3, -3.0, "-3", "-003.00"],
    "0": [0, 0.0, -0.0, "0", "-0", "000", "-0.0", ".0", "+.0"],
    "100000": [100000, 1e5, "1e5", "1E+5", "100e3", "100000.000"],
    "9007199254740993": [2**53 + 1, "9007199254740993", "9007199254740993.0"],
    "ward 3": [
        "ward 3",
        "Ward 3",
        "WARD 3",
        " ward  3 ",
        "ward\u00a03",
        "\u2003ward\t3\n",
        "\uff57\uff41\uff52\uff44 \uff13",
        b"Ward 3",
    ],
    "caf\u00e9": ["caf\u00e9", "cafe\u0301", "CAF\u00c9", "CAFE\u0301", "Cafe\u0301 ".encode()],
    "strasse": ["Stra\u00dfe", "STRASSE", "Stra\u1e9ee"],
    "\u03c3": ["\u03a3", "\u03c3", "\u03c2"],
    "\u00e5": ["\u212b", "\u00c5", "A\u030a"],
    "3.5": ["3.5"],
    "1e9999": ["1e9999", "1E9999"],
    "9007199254740992": ["9007199254740992e0", 2**53, "9007199254740992.0"],
    "10000000000000000": [10**16, "1e16", "1E+16", "1.0e16", "10000000000000000.00"],
    "1.5": ["1.5", "1.50", "01.5", "15e-1", "+1.5"],
    "-0.5": ["-0.5", "-.50"],
    "isparta": ["isparta", "ISPARTA", "ısparta"],
    "0x3": ["0x3", "0X3"],
    "3 0": ["3 0", "3  0"],
    "33": ["\u0663\u0663", "３３", "\u09693"],
}


@pytest.mark.parametrize(
    ("given", "form"), [(one, form) for form, all_ in SAME.items() for one in all_], ids=ascii
)
def test_what_is_one_party(given: Any, form: str) -> None:
    assert canonical(given) == form
    assert canonical(form) == form
    assert canonical_each([given], 1) == canonical_list([given]) == [form]


def test_the_table_has_as_many_parties_as_rows() -> None:
    assert len({canonical(one) for all_ in SAME.values() for one in all_}) == len(SAME)


REFUSED: list[Any] = [
    True,
    False,
    np.bool_(True),
    3.5,
    -0.1,
    float(2**53),
    -float(2**53),
    1e300,
    float("nan"),
    float("inf"),
    np.float64("nan"),
    np.float32(2**24),
    np.float16(2**11),
    np.longdouble(3),
    3 + 0j,
    np.complex128(3),
    None,
    pd.NA,
    pd.NaT,
    datetime(2026, 1, 1),
    date(2026, 1, 1),
    pd.Timestamp("2026-01-01"),
    np.datetime64("2026-01-01", "ns"),
    np.datetime64("2026-01-01"),
    np.timedelta64(3, "ns"),
    np.void(b"3"),
    (3,),
    ("a", "b"),
    frozenset(["a"]),
    Decimal(3),
    Fraction(3),
    object(),
    bytearray(b"3"),
    10**LONGEST_NAME,
    10**5000,
    -(10**5000),
]
REFUSED_TEXTS = [
    "",
    "  ",
    "\n",
    "\u00a0",
    b"",
    "a\x00b",
    "a\x1b[2J",
    "\x7f",
    "a\u0085\x9b",
    "ward\u200b3",
    "ward\u200d3",
    "\ufeffward",
    "ward\u00ad3",
    "\u202eward",
    "ward\u034f",
    "ward\ufe0f",
    "\u3164",
    "\u115f",
    "\u2800",
    "ward\U000e0101",
    "\ud800",
    "\ue000",
    b"\xff",
    b"caf\xe9",
    "a" * (LONGEST_NAME + 1),
    "\ufdfa" * 100,
    "9" * (LONGEST_NAME + 1),
]


@pytest.mark.parametrize("given", REFUSED + REFUSED_TEXTS, ids=lambda one: ascii(str(type(one))))
def test_what_is_refused(given: Any) -> None:
    with pytest.raises(ParameterError, match=r"is not allowed|is missing"):
        canonical(given)
    with pytest.raises(InputError):
        canonical_each([given], 1)
    with pytest.raises(InputError):
        canonical_list([given])
    with pytest.raises(InputError):
        canonical_list(["other", given])


def test_the_longest_name() -> None:
    for longest in ("a" * LONGEST_NAME, "9" * LONGEST_NAME):
        assert canonical(longest) == longest
    assert canonical(10 ** (LONGEST_NAME - 1)) == "1" + "0" * (LONGEST_NAME - 1)
    assert canonical(" " * LONGEST_NAME + "a") == "a"


# ---- laws ----------------------------------------------------------------------------------------

ODD = st.text(
    st.sampled_from("aA\u00df\u0130\u0149\u1e9e\u03c2\u0345\u0301\u00a8\ufdfa\u00b2 .0e-+3\u00a0")
)


MARKS = st.sampled_from("\u03b1\u0391\u0345\u0300\u0301\u0323\u03b9\u1fbc\uac00\u1100\u1161")


def form_or_none(given: Any) -> str | None:
    try:
        return canonical(given)
    except InputError:
        return None


@given(st.one_of(st.text(), ODD, st.integers(), st.floats(), st.binary()))
@example("\u0149")
@example("3 .0")
@example("-0e0")
def test_a_form_is_its_own_form(given: Any) -> None:
    form = form_or_none(given)
    if form is not None:
        assert canonical(form) == form
        assert form == " ".join(form.split())
        assert form.isprintable()
        assert 0 < len(form) <= LONGEST_NAME


@given(st.one_of(st.text(), ODD, st.text(MARKS)))
@example("\u0345\u0300")
@example("\u1fb2")
def test_ways_of_writing_make_no_difference(text: str) -> None:
    form = form_or_none(text)
    for other in (
        f" {text}\t",
        unicodedata.normalize("NFD", text),
        unicodedata.normalize("NFC", text),
    ):
        assert form_or_none(other) == form
    if form is not None:
        assert canonical(text.encode()) == form


@pytest.mark.slow
def test_every_character_of_unicode() -> None:
    for code in range(sys.maxunicode + 1):
        for text in (chr(code), f"a{chr(code)}3"):
            form = form_or_none(text)
            assert form is None or canonical(form) == form, hex(code)


@given(st.integers(-(2**53) + 1, 2**53 - 1))
def test_whole_numbers_in_every_dress(n: int) -> None:
    dressed = [n, float(n), str(n), f"{n}.0", f" {n}", str(n).encode(), np.int64(n), np.float64(n)]
    dressed += [f"{n:.17e}", f"{n:+d}", f"{n:025d}", repr(float(n))]
    assert {canonical(one) for one in dressed} == {str(n)}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_text_of_a_double_is_never_another_party(value: float) -> None:
    """A reader of tables may give either; they agree, or the number is refused."""
    form = form_or_none(value)
    assert form is None or form == canonical(repr(value)) == canonical(f"{value:.20e}")


# ---- containers ----------------------------------------------------------------------------------

HOLDERS: list[Any] = [
    [1, 2, 3],
    (1, 2, 3),
    ["1", b"2", 3.0],
    range(1, 4),
    np.array([1, 2, 3]),
    np.array([1, 2, 3], dtype=np.uint8),
    np.array([1.0, 2.0, 3.0]),
    np.array([1, 2, 3], dtype=np.float32),
    np.array(["1", "02", "3.0"]),
    np.array([b"1", b"2", b"3"]),
    np.array([1, "2", 3.0], dtype=object),
    np.array([np.int64(1), np.str_("2"), np.float64(3)], dtype=object),
    pd.Series([1, 2, 3]),
    pd.Series([1, 2, 3], index=[7, 7, 7]),
    pd.Series([1.0, 2.0, 3.0]),
    pd.Series(["1", "2", "3"]),
    pd.Series(["1", "2", "3"], dtype=object),
    pd.Series([1, 2, 3], dtype="Int64"),
    pd.Series([1, 2, 3], dtype="Float32"),
    pd.Series([1, 2, 3], dtype="category"),
    pd.Series(["1", "2", "3"], dtype="category"),
    pd.Series([1, 2, 3], dtype="int64[pyarrow]"),
    pd.Index(["1", "2", "3"]),
    pd.array([1, 2, 3], dtype="Int64"),
    pd.Categorical([1, 2, 3]),
    pl.Series([1, 2, 3]),
    pl.Series([1.0, 2.0, 3.0]),
    pl.Series(["1", "2", "3"]),
    pl.Series(["1", "2", "3"], dtype=pl.Categorical),
    pa.array([1, 2, 3]),
    pa.array(["1", "2", "3"]).dictionary_encode(),
    pa.chunked_array([[1, 2], [3]]),
]


@pytest.mark.parametrize("held", HOLDERS, ids=lambda held: type(held).__name__)
def test_whatever_holds_them(held: Any) -> None:
    assert canonical_each(held, 3) == canonical_list(held) == ["1", "2", "3"]
    with pytest.raises(ShapeError, match=r"parties: the shape is \(3,\).*one name for each sample"):
        canonical_each(held, 4)


@pytest.mark.parametrize(
    "held",
    [
        np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]"),
        np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[ns]"),
        np.array([1, 2], dtype="timedelta64[ns]"),
        np.array([np.datetime64("2026-01-01", "ns"), "a"], dtype=object),
        np.array([True, False]),
        np.array([(1, 2), (3, 4)], dtype=[("a", int), ("b", int)]),
        np.array([1.5, 2.0]),
        np.array([1.0, np.nan]),
        np.array([1, 2**24], dtype=np.float32),
        np.array([1, -(2**11)], dtype=np.float16),
        np.ma.masked_array([1, 2], mask=[False, True]),
        pd.Series(pd.to_datetime(["2026-01-01", "2026-01-02"])),
        pd.Series(pd.to_datetime(["2026-01-01", "2026-01-02"], utc=True)),
        pd.Series([True, False]),
        pd.Series([True, False], dtype="boolean"),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["a", None]),
        pd.Series(["a", None], dtype="category"),
        pd.Series([1, 2**24], dtype="Float32"),
        pd.Series([1, 2**24], dtype="float[pyarrow]"),
        pd.MultiIndex.from_tuples([("a", 1), ("b", 2)]),
        pl.Series([date(2026, 1, 1), date(2026, 1, 2)]),
        pl.Series([True, False]),
        pl.Series(["a", None]),
        pl.Series([1, 2**24], dtype=pl.Float32),
        pa.array(["a", None]),
        pa.array([1.0, 2.0**24], type=pa.float32()),
        [["a"], ["b"]],
        [{"a"}, {"b"}],
        [np.array(["a"]), "b"],
    ],
    ids=lambda held: type(held).__name__,
)
def test_what_no_holder_may_hold(held: Any) -> None:
    with pytest.raises(InputError):
        canonical_each(held, 2)
    with pytest.raises(InputError):
        canonical_list(held)


@pytest.mark.parametrize(
    "held",
    [
        np.array([["a", "b"], ["c", "d"]]),
        np.array("a"),
        pd.DataFrame({"a": ["x", "y"], "b": ["z", "w"]}),
        pl.DataFrame({"a": ["x", "y"], "b": ["z", "w"]}),
    ],
    ids=lambda held: type(held).__name__,
)
def test_a_table_is_no_list(held: Any) -> None:
    """The names of its columns would be taken for parties."""
    with pytest.raises(ShapeError, match="one list of names"):
        canonical_each(held, 2)
    with pytest.raises(ShapeError, match="one list of names"):
        canonical_list(held)


@pytest.mark.parametrize(
    "held", ["abc", b"abc", 7, None, object()], ids=lambda held: type(held).__name__
)
def test_what_is_no_list(held: Any) -> None:
    with pytest.raises(WrongTypeError, match="a list of names"):
        canonical_each(held, 3)
    with pytest.raises(WrongTypeError, match="a list of names"):
        canonical_list(held)


@pytest.mark.parametrize(
    "missing", [None, float("nan"), np.nan, pd.NA, pd.NaT, np.datetime64("NaT")]
)
def test_a_missing_name_is_told_by_its_row(missing: Any) -> None:
    with pytest.raises(InputError, match=r"no party in row 2 \(counting from 0"):
        canonical_each(["a", "a", missing], 3)


def test_one_and_true_are_not_taken_for_each_other() -> None:
    for held in ([1, True], [1.0, True], [0, False]):
        with pytest.raises(ParameterError, match=r"party = (True|False)"):
            canonical_each(held, 2)


def test_a_column_names_a_party_as_often_as_it_likes_and_a_list_once() -> None:
    assert canonical_each(["a", "A", 3, "3.0"], 4) == ["a", "a", "3", "3"]
    for held in (["a", "b", " A"], [3, "3.0"], ["caf\u00e9", "cafe\u0301"]):
        with pytest.raises(InputError, match=r"is named more than once.*name it once"):
            canonical_list(held)
    with pytest.raises(InputError, match="No party is named"):
        canonical_list([])
    assert canonical_each([], 0) == []
    assert distinct(["b", "a"]) == ["b", "a"]
    assert canonical_list(one for one in ("b", "a")) == ["b", "a"]


# ---- files ---------------------------------------------------------------------------------------

COLUMNS: dict[str, Any] = {
    "whole numbers": pd.Series([1, 20, 300, 20]),
    "whole numbers and gaps elsewhere": pd.Series([1, 20, 300, 20], dtype="Int64"),
    "whole doubles": pd.Series([1.0, 20.0, 300.0, 1e15]),
    "texts": pd.Series(["Ward 1", "caf\u00e9", " ward  1", "cafe\u0301"]),
    "texts that look like numbers": pd.Series(["001", "2.0", "1e5", "7"]),
    "some of which do not": pd.Series(["001", "2.0", "1e5", "seven"]),
    "categories": pd.Series(["a", "B", "a", "3"], dtype="category"),
    "categories of numbers": pd.Series([3, 4, 3, 5], dtype="category"),
    "large numbers": pd.Series([2**53 + 1, 2**62, 1, 2]),
    "as other numbers": pd.Series(["007", "+8", "-0", ".0"]),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=list(COLUMNS))
def test_parquet_and_csv_name_the_same_parties(column: pd.Series, tmp_path: Path) -> None:
    frame = pd.DataFrame({"party": column, "x": np.arange(4.0)})
    frame.to_parquet(tmp_path / "t.parquet")
    csv = frame.to_csv(index=False)
    expected = canonical_each(column, 4)
    read = [
        pd.read_parquet(tmp_path / "t.parquet")["party"],
        pd.read_csv(io.StringIO(csv))["party"],
        pd.read_csv(io.StringIO(csv), dtype=str)["party"],
        pd.read_csv(io.StringIO(csv), engine="python")["party"],
        pl.read_parquet(tmp_path / "t.parquet")["party"],
        pl.read_csv(csv.encode())["party"],
        pl.read_csv(csv.encode(), infer_schema=False)["party"],
    ]
    for held in read:
        assert canonical_each(held, 4) == expected


@given(st.from_regex(names._FOLDED, fullmatch=True))
def test_the_shortcut_leaves_names_as_folding_would(name: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(names, "_FOLDED", re.compile("(?!)"))
        assert canonical(name) == name
