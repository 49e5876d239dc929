"""Entries of tables: what each becomes depends on it alone."""

from __future__ import annotations

import datetime as dt
import decimal
import math
import warnings
import zoneinfo
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.public.entries import UNLISTED, read_numbers, read_texts, text_of, values_of

BERLIN = dt.timezone(dt.timedelta(hours=1))


def objects(*entries: Any) -> np.ndarray:
    array = np.empty(len(entries), dtype=object)
    array[:] = entries
    return array


@pytest.mark.parametrize(
    ("entry", "number", "text"),
    [
        (3, 3.0, "3"),
        (3.0, 3.0, "3"),
        ("3", 3.0, "3"),
        (" 3.0 ", 3.0, "3"),
        ("-0.0", 0.0, "-0"),
        (-0.0, 0.0, "0"),
        ("007", 7.0, "007"),
        (b"1.5", 1.5, "1.5"),
        (np.float32(0.5), 0.5, "0.5"),
        (np.int8(-4), -4.0, "-4"),
        (decimal.Decimal("1.50"), 1.5, "1.5"),
        (True, 1.0, "true"),
        ("True", math.nan, "true"),
        ("FALSE", math.nan, "false"),
        (10**400, math.nan, str(10**400)),
        ("1_000", math.nan, "1_000"),
        ("1" * 500, math.nan, "1" * 500),
        ("1e400", math.nan, "1e400"),
        ("inf", math.nan, "inf"),
        (math.inf, math.nan, ""),
        (None, math.nan, ""),
        (math.nan, math.nan, ""),
        (pd.NA, math.nan, ""),
        (pd.NaT, math.nan, ""),
        ("", math.nan, ""),
        ("  ", math.nan, ""),
        ("N/A", math.nan, ""),
        ("?", math.nan, ""),
        ("None", math.nan, ""),
        ("blue collar ", math.nan, "blue collar"),
        ("Zu\u0308rich", math.nan, "Zürich"),
        ([1], math.nan, UNLISTED),
        ({}, math.nan, UNLISTED),
        (1 + 2j, math.nan, "(1+2j)"),
        (b"\xff", math.nan, "\ufffd"),
        (dt.date(2026, 11, 16), math.nan, "2026-11-16"),
        (dt.datetime(2026, 11, 16, 1, tzinfo=BERLIN), math.nan, "2026-11-16"),
        (dt.timedelta(1), math.nan, "1 day, 0:00:00"),
    ],
)
def test_one_entry(entry: Any, number: float, text: str) -> None:
    found = read_numbers(objects(entry), "number")[0]
    assert found == number or (math.isnan(found) and math.isnan(number))
    assert read_texts(objects(entry))[0] == text == text_of(entry)


@pytest.mark.parametrize(
    ("entry", "truth"),
    [
        *((word, 1.0) for word in (True, 1, 1.0, "true", "T", "Yes", "y", "1", "on")),
        *((word, 0.0) for word in (False, 0, 0.0, "false", "F", "No", "n", "0", "off")),
        *((word, math.nan) for word in (2, "maybe", None, "", 0.5, math.nan)),
    ],
)
def test_truth_values(entry: Any, truth: float) -> None:
    found = read_numbers(objects(entry), "boolean")[0]
    assert found == truth or (math.isnan(found) and math.isnan(truth))


def test_truth_values_in_typed_columns() -> None:
    assert read_numbers(np.array([True, False]), "boolean").tolist() == [1.0, 0.0]
    found = read_numbers(np.array([1.0, 2.0, np.nan]), "boolean")
    assert found[0] == 1.0
    assert np.isnan(found[1:]).all()


@pytest.mark.parametrize(
    ("entry", "form", "days"),
    [
        ("1970-01-02", None, 1.0),
        ("1970-01-02T12:00:00", None, 1.5),
        ("1970-01-02 12:00:00+00:00", None, 1.5),
        ("1970-01-02T01:00:00+01:00", None, 1.0),
        ("1970-01-02T00:00:00Z", None, 1.0),
        (dt.date(1970, 1, 2), None, 1.0),
        (dt.datetime(1970, 1, 2, 1, tzinfo=BERLIN), None, 1.0),
        (pd.Timestamp("1969-12-31"), None, -1.0),
        ("02.01.1970", "%d.%m.%Y", 1.0),
        ("1970-01-02", "%d.%m.%Y", math.nan),
        ("19700102", None, math.nan),
        ("1970-13-02", None, math.nan),
        ("soon", None, math.nan),
        ("", None, math.nan),
        (pd.NaT, None, math.nan),
        (3, None, math.nan),
        (None, None, math.nan),
    ],
)
def test_dates(entry: Any, form: str | None, days: float) -> None:
    found = read_numbers(objects(entry), "date", form)[0]
    assert found == days or (math.isnan(found) and math.isnan(days))


def test_numbers_are_no_dates() -> None:
    assert np.isnan(read_numbers(np.array([20_000]), "date")).all()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_dates_are_the_same_in_every_container(unit: str, zone: str | None) -> None:
    texts = ["2020-02-29T23:59:59", "1901-12-13T20:45:51", None]
    column = pd.Series(
        pd.to_datetime(texts, utc=zone is not None).astype(
            f"datetime64[{unit}{', UTC' if zone else ''}]"
        )
    )
    column = column if zone is None else column.dt.tz_convert(zone)
    expected = read_numbers(objects(*texts), "date")
    forms = [column, column.astype(object), pl.Series(column), pa.array(column)]
    for form in forms:
        assert np.array_equal(read_numbers(values_of(form), "date"), expected, equal_nan=True)


NUMBERS = [0.5, -3.0, 7.0, 1e300]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(NUMBERS),
        pd.Series(NUMBERS, dtype=object),
        pd.Series(NUMBERS, dtype="Float64"),
        pd.Series([repr(number) for number in NUMBERS]),
        pd.Series([repr(number) for number in NUMBERS], dtype="category"),
        pl.Series(NUMBERS),
        pl.Series([repr(number) for number in NUMBERS]),
        pl.Series([repr(number) for number in NUMBERS]).cast(pl.Categorical),
        pa.array(NUMBERS),
        pa.chunked_array([NUMBERS[:1], NUMBERS[1:]]),
        pa.array([repr(number) for number in NUMBERS]),
        np.array([repr(number) for number in NUMBERS]),
    ],
    ids=lambda column: f"{type(column).__module__.split('.')[0]}-{getattr(column, 'dtype', '')}",
)
def test_numbers_are_the_same_in_every_container(column: Any) -> None:
    assert read_numbers(values_of(column), "number").tolist() == NUMBERS
    texts = read_texts(values_of(column)).tolist()
    assert [float(text) for text in texts] == NUMBERS


def test_gaps_are_the_same_in_every_container() -> None:
    for column in (
        pd.Series([1, None]),
        pd.Series([1, None], dtype="Int64"),
        pd.Series(["1", None]),
        pl.Series([1, None]),
        pl.Series(["1", None]),
        pa.array([1, None]),
        pa.array(["1", None]),
    ):
        assert np.array_equal(
            read_numbers(values_of(column), "number"), [1.0, np.nan], equal_nan=True
        )
        assert read_texts(values_of(column)).tolist() == ["1", ""]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([10000000000000001, None], dtype="Int64"),
        pl.Series([10000000000000001, None]),
        pa.array([10000000000000001, None]),
        pa.chunked_array([[10000000000000001], [None]]),
    ],
    ids=lambda column: type(column).__module__,
)
def test_large_whole_numbers_beside_gaps_keep_their_digits(column: Any) -> None:
    assert read_texts(values_of(column)).tolist() == ["10000000000000001", ""]
    assert read_numbers(values_of(column), "number")[0] == 1e16


def deep() -> list[Any]:
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]
    return nested


class Odd:
    """An object that wants to be noticed."""

    def __str__(self) -> str:
        raise RuntimeError("noticed")

    def __float__(self) -> float:
        raise RuntimeError("noticed")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("noticed")

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    "entry",
    [
        10**5000,
        decimal.Decimal("sNaN"),
        dt.datetime(1, 1, 1, tzinfo=BERLIN),
        dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(-dt.timedelta(hours=5))),
        deep(),
        Odd(),
        np.ma.masked,
        "e" + "\u0301" * 200_000,
        "9" * 1_000_000,
        b"\xff" * 5000,
    ],
    ids=lambda entry: type(entry).__name__,
)
def test_no_entry_is_an_error(entry: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as `Columns.encode` has it
        values = objects(entry, "1")
        for kind in ("number", "boolean", "date"):
            found = read_numbers(values, kind)
            assert math.isnan(found[0])
        assert read_texts(values)[0] not in ("1", "")


def test_equal_entries_that_are_not_the_same() -> None:
    """Found beside an equal entry of another meaning, each is read as it is alone."""
    zone = zoneinfo.ZoneInfo("Europe/Berlin")
    late = dt.datetime(2026, 10, 25, 2, 30, tzinfo=zone)
    for one, other in (
        (late, late.replace(fold=1)),
        ((1,), (True,)),
        (pd.Interval(0, 1), pd.Interval(0.0, 1.0)),
        (0.0, -0.0),
        (1, True),
        (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
    ):
        for pair in ((one, other), (other, one)):
            assert read_texts(objects(*pair)).tolist() == [text_of(entry) for entry in pair]
            for kind in ("number", "boolean", "date"):
                alone = [read_numbers(objects(entry), kind)[0] for entry in pair]
                found = read_numbers(objects(*pair), kind)
                assert np.array_equal(found, alone, equal_nan=True)
                assert (np.signbit(found) == np.signbit(alone)).all()


@pytest.mark.parametrize(
    ("typed", "entry"),
    [
        (np.array([1.0, 2j]), 1.0),
        (np.array([1, 2], dtype="timedelta64[ns]"), dt.timedelta(0)),
        (np.array(["2020-01-01T00:00:00.000000001"], dtype="datetime64[ns]"), pd.Timestamp("2020")),
        (np.array([-1], dtype="datetime64[ns]"), pd.Timestamp(-1)),
        (np.array([10000000000000001]), np.int64(10000000000000001)),
        (np.array(["20000-01-01"], dtype="datetime64[s]"), np.datetime64("20000-01-01")),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), np.datetime64("2020-01-01")),
    ],
    ids=str,
)
def test_a_typed_column_and_objects_are_read_alike(typed: np.ndarray, entry: Any) -> None:
    values = values_of(typed)
    assert read_texts(values)[0] == text_of(entry)
    for kind in ("number", "boolean", "date"):
        alone = read_numbers(objects(entry), kind)
        assert np.array_equal(read_numbers(values, kind)[:1], alone, equal_nan=True), kind


ENTRIES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.binary(max_size=3),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.datetimes(),
    st.dates(),
    st.sampled_from(["1", "1.0", "true", "NA", 1, 1.0, True, 0, False, -0.0, 0.0, [1], {}]),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(ENTRIES, min_size=1, max_size=8), st.lists(ENTRIES, max_size=8))
def test_no_entry_moves_another(own: list[Any], others: list[Any]) -> None:
    """Read alone, and read beside others, before and after: the same, for every kind."""
    for kind in ("number", "boolean", "date"):
        alone = [read_numbers(objects(entry), kind)[0] for entry in own]
        first = read_numbers(objects(*own, *others), kind)[: len(own)]
        last = read_numbers(objects(*others, *own), kind)[len(others) :]
        assert np.array_equal(first, alone, equal_nan=True)
        assert np.array_equal(last, alone, equal_nan=True)
    alone_texts = [text_of(entry) for entry in own]
    assert read_texts(objects(*own, *others)).tolist()[: len(own)] == alone_texts
    assert read_texts(objects(*others, *own)).tolist()[len(others) :] == alone_texts


DURATIONS = [dt.timedelta(days=1), dt.timedelta(hours=-3, microseconds=1), dt.timedelta(0)]


@pytest.mark.parametrize("duration", DURATIONS)
@pytest.mark.parametrize("other", [dt.timedelta(days=2), None, "unknown", 3.5])
def test_a_neighbour_does_not_change_how_a_duration_is_read(duration: Any, other: Any) -> None:
    """A typed column and one of objects hold different kinds of durations."""
    alone = values_of(pd.Series([duration, duration]))
    beside = values_of(pd.Series([pd.Timedelta(duration), other], dtype=object))
    stored = values_of(pl.Series([duration, duration]))
    expected = str(duration)
    assert [read_texts(values)[0] for values in (alone, beside, stored)] == [expected] * 3


@pytest.mark.parametrize("nanoseconds", [1500, -1500, -1, 999])
def test_nanoseconds_are_rounded_down_in_every_form(nanoseconds: int) -> None:
    typed = np.array([nanoseconds], dtype="timedelta64[ns]")
    held = np.array([pd.Timedelta(nanoseconds, unit="ns"), "x"], dtype=object)
    assert read_texts(values_of(typed))[0] == read_texts(held)[0]


@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
@pytest.mark.parametrize("amount", [2**61, -(2**61), 2**50, 2**42])
def test_times_that_no_calendar_has_are_read_alike_in_every_form(kind: str, amount: int) -> None:
    typed = np.array([amount, 0], dtype=f"{kind}[s]")
    held = np.array([typed[0], "x"], dtype=object)
    for reading in ("number", "date"):
        read: Any = reading
        assert np.isnan(read_numbers(values_of(typed), read)[0])
        assert np.isnan(read_numbers(values_of(held), read)[0])
    assert read_texts(values_of(typed))[0] == read_texts(values_of(held))[0]


def test_a_late_moment_beside_another_zone_is_no_number() -> None:
    far = dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(dt.timedelta(hours=-5)))
    for beside in (far, "x"):
        assert np.isnan(read_numbers(values_of(pd.Series([far, beside])), "number")[0])


def test_an_entry_that_its_container_cannot_give_is_read_on_its_own() -> None:
    broken = pa.Array.from_buffers(
        pa.string(),
        2,
        [None, pa.py_buffer(np.array([0, 1, 2], np.int32)), pa.py_buffer(b"a\xff")],
    )
    texts = read_texts(values_of(broken))
    assert (texts[0], texts[1]) == ("a", UNLISTED)
    late = pa.array([1, 10**15], pa.int64()).cast(pa.time64("us"), safe=False)
    assert read_texts(values_of(late))[0] == "00:00:00.000001"
    assert np.isnan(read_numbers(values_of(late), "number")).all()


def test_what_a_container_cannot_give_moves_nobody_elses_entry() -> None:
    """By place, whatever pandas calls its rows."""

    class Odd(pd.Series):  # type: ignore[misc]
        def __array__(self, *_: Any, **__: Any) -> Any:
            raise OverflowError

    for index in ([2, 0, 1], [10, 11, 12], ["a", "b", "c"]):
        assert values_of(Odd(["x", "y", "z"], index=index)).tolist() == ["x", "y", "z"]


def test_containers_are_on_no_list() -> None:
    for entry in ([1, 2], (1,), {"a": 1}, np.array([1.0, 2.0])):
        assert text_of(entry) == UNLISTED
