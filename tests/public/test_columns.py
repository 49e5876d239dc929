"""The public description of a table: what rows become, each on its own."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.errors import EntryError, InputError, MissingColumnsError, ParameterError, ShapeError
from ostraka.public.columns import Category, Columns, Number, as_numbers, is_table
from ostraka.public.describe import describe_columns

AGE = Number(name="age", fill=40.0, marks_gaps=True, unknown=(99.0,))
SEX = Category(name="sex", values=("", "f", "m"))
SEEN = Number(name="seen", kind="date", fill=18262.0)
PAID = Number(name="paid", fill=0.0, unit=1.0)
SMOKES = Number(name="smokes", kind="boolean", fill=0.0)
COLUMNS = Columns((AGE, SEX, SEEN, PAID, SMOKES))
FRAME = pd.DataFrame(
    {
        "age": [30, 99, None],
        "sex": ["f", "x", None],
        "seen": ["2020-01-01", "2021-01-01", "never"],
        "paid": [0.0, 3.0, -7.0],
        "smokes": ["yes", "no", None],
    }
)
ENCODED = [
    # age, gap  "", f, m   seen               paid  smokes
    [30.0, 0.0, 0, 1, 0, 0.0, 0.0, 1.0],
    [40.0, 1.0, 0, 0, 0, 366.0 / 365.25, 2.0, 0.0],
    [40.0, 1.0, 1, 0, 0, 0.0, -3.0, 0.0],
]


def test_rows_become_numbers() -> None:
    assert COLUMNS.encode(FRAME).tolist() == ENCODED
    assert COLUMNS.width == 8 == len(COLUMNS.labels)
    assert COLUMNS.labels == (
        *("age", "age is missing", "sex is missing", "sex = f", "sex = m"),
        *("seen", "paid", "smokes"),
    )


@pytest.mark.parametrize(
    "form",
    [
        lambda frame: frame[frame.columns[::-1]],
        lambda frame: frame.assign(more=[[1], {}, None]),
        lambda frame: frame.astype(object),
        lambda frame: frame.astype({"sex": "category", "age": "Int64", "paid": np.float32}),
        lambda frame: frame.astype({"seen": "category", "paid": str}),
        lambda frame: frame.astype({"paid": np.int8}),
        pl.from_pandas,
        lambda frame: pl.from_pandas(frame).with_columns(pl.col("sex").cast(pl.Categorical)),
        pa.Table.from_pandas,
        lambda frame: frame.to_numpy(dtype=object),
        lambda frame: frame.to_numpy(dtype=object).tolist(),
    ],
)
def test_order_types_and_other_columns_do_not_matter(form: Any) -> None:
    assert COLUMNS.encode(form(FRAME)).tolist() == ENCODED


def test_columns_that_are_missing_are_named() -> None:
    with pytest.raises(MissingColumnsError) as caught:
        COLUMNS.encode(FRAME.rename(columns={"age": "Age ", "paid": "cost"}), "X")
    text = str(caught.value)
    assert caught.value.missing == ["age", "paid"]
    assert caught.value.superfluous == ["Age ", "cost"]
    for part in (
        "X: columns are missing, 'age', 'paid'.",
        "Others are there: 'Age ', 'cost'.",
        "Is 'Age ' the column 'age'?",
        "the order does not matter",
    ):
        assert part in text
    with pytest.raises(ShapeError, match=r"X: the shape is \(2, 3\).*the columns 'age', 'sex'"):
        COLUMNS.encode(np.zeros((2, 3)), "X")
    with pytest.raises(ShapeError):
        COLUMNS.encode([1.0], "X")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (pd.concat([FRAME, FRAME[["age"]]], axis=1), "more than one column is called 'age'"),
        (pa.table([[1], [2]], names=["age", "age"]), "more than one column is called 'age'"),
        (FRAME.rename(columns={"age": 0}), "names that are no texts, 0"),
        (FRAME.set_axis(range(5, 0, -1), axis=1), r"texts, 5, 4.*columns = df.columns.astype\(str"),
        (FRAME.set_axis(pd.MultiIndex.from_product([["a"], FRAME]), axis=1), "no texts"),
        (pl.from_pandas(FRAME).lazy(), r"of type LazyFrame. Give a table: collect\(\) it first"),
        ("a.csv", r"of type str. Give a table, for example pandas.read_csv\('a.csv'\)"),
    ],
)
def test_what_is_no_table_yet_is_refused(table: Any, words: str) -> None:
    for act in (lambda: COLUMNS.encode(table, "X"), lambda: describe_columns(table)):
        with pytest.raises(InputError, match=words):
            act()


def test_places_as_names_are_no_names() -> None:
    unnamed = FRAME.set_axis(range(5), axis=1)
    assert COLUMNS.encode(unnamed).tolist() == COLUMNS.encode(FRAME.to_numpy()).tolist() == ENCODED


def test_nothing_known_means_no_gaps() -> None:
    bare = Columns.of_numbers(["a", "b"])
    assert not bare.are_known
    assert bare.are_plain
    assert bare.encode(pd.DataFrame({"b": ["2"], "a": [1]})).tolist() == [[1.0, 2.0]]
    for entry, shown in ((None, "a gap (NaN, or nothing)"), ("low", "'low'"), (math.inf, "'inf'")):
        with pytest.raises(EntryError) as caught:
            bare.encode(pd.DataFrame({"a": [1, 2], "b": [3, entry]}, dtype=object), "X")
        text = str(caught.value)
        for part in (
            f"X: column 'b' holds {shown}",
            "row 1",
            "(auxiliary=, --auxiliary)",
            "--columns",
        ):
            assert part in text


@pytest.mark.parametrize(
    ("wrong", "part"),
    [
        ({"name": ""}, "the name of a column"),
        ({"name": "a\x1b[31m"}, "printable"),
        ({"name": 3}, "the name of a column"),
        ({"kind": "colour"}, "kind"),
        ({"fill": math.nan}, "finite"),
        ({"unknown": (math.inf,)}, "finite"),
        ({"unit": 0.0}, "above 0"),
        ({"unit": -1.0}, "above 0"),
        ({"unit": 1.0, "kind": "boolean"}, "for a number"),
        ({"fill": None, "marks_gaps": True}, "fill"),
        ({"fill": None, "unit": 1.0}, "fill"),
        ({"fill": None, "kind": "date"}, "fill"),
        ({"form": "%Y"}, "none, except for dates"),
    ],
)
def test_numbers_are_checked(wrong: dict[str, Any], part: str) -> None:
    with pytest.raises(ParameterError, match=part):
        Number(**{"name": "a", "fill": 0.0, **wrong})


@pytest.mark.parametrize("values", [(), ("a", "a"), ("a", "\x00"), (1,), ("\x1b[1m",)])
def test_lists_are_checked(values: Any) -> None:
    with pytest.raises(ParameterError, match="values of sex"):
        Category(name="sex", values=values)


def test_names_are_distinct() -> None:
    for columns in ((), (AGE, AGE)):
        with pytest.raises(ParameterError, match="a name of its own"):
            Columns(columns)


def test_names_in_brackets_are_only_names() -> None:
    named = Columns((Category(name="[bold]", values=("[red]x[/]",)),))
    assert named.labels == ("[bold] = [red]x[/]",)
    assert named.encode(pd.DataFrame({"[bold]": ["[red]x[/]"]})).tolist() == [[1.0]]


def test_long_tails_are_folded_like_a_logarithm() -> None:
    """The broken line meets log₂(1+t) at the powers of two, and is never more than .0861 below."""
    t = np.concatenate([2.0 ** np.arange(0, 60) - 1.0, np.geomspace(1e-6, 1e300, 2000)])
    found = Columns((PAID,)).encode(t[:, np.newaxis])[:, 0]
    exact = np.log2(1.0 + t)
    assert (found[:60] == np.arange(60)).all()
    assert (found <= exact + 1e-12 * exact).all()
    assert (exact - found).max() <= 0.08608
    assert (np.diff(found[np.argsort(t, kind="stable")]) >= 0).all()
    assert (Columns((PAID,)).encode(-t[:, np.newaxis])[:, 0] == -found).all()


def test_no_number_is_too_large() -> None:
    huge = np.array([[1.7e308], [-1.7e308], [5e-324], [np.nan], [np.inf]])
    for fill in (0.0, 1.7e308, -1.7e308):
        for unit in (1e-300, 1.0, 1e300):
            tight = Columns((Number(name="a", fill=fill, unit=unit),))
            found = tight.encode(huge)
            assert np.isfinite(found).all()
            assert (np.abs(found) <= 1001.0).all()


ENTRIES = st.one_of(
    st.none(),
    st.floats(),
    st.integers(),
    st.booleans(),
    st.datetimes(),
    st.sampled_from(["f", "m", "", "x", "99", 99, "2020-01-01", "yes", [1]]),
)
ROWS = st.lists(st.tuples(*[ENTRIES] * 5), min_size=1, max_size=4)


@settings(max_examples=200, deadline=None)
@given(ROWS, ROWS)
def test_no_row_moves_another(own: list[Any], others: list[Any]) -> None:
    """A row becomes the same finite numbers whatever other rows hold, and whatever its type."""

    def encoded(rows: list[Any]) -> np.ndarray:
        held = {
            name: pd.Series(list(values), dtype=object)
            for name, values in zip(COLUMNS.names, zip(*rows))
        }
        typed = pd.DataFrame({name: _typed(column) for name, column in held.items()})
        return COLUMNS.encode(typed)

    alone = np.concatenate([encoded([row]) for row in own])
    assert np.isfinite(alone).all()
    assert np.array_equal(encoded([*own, *others])[: len(own)], alone)
    assert np.array_equal(encoded([*others, *own])[len(others) :], alone)


def _typed(column: pd.Series) -> pd.Series:
    """The type that pandas would find, where that keeps the values."""
    kinds = {type(value) for value in column}
    return column.astype(float) if kinds == {float} else column


def test_samples_that_nothing_describes() -> None:
    assert as_numbers([[1, 2]], "X").tolist() == [[1, 2]]
    assert as_numbers(np.array([["1", "2.5"]]), "X").tolist() == [[1.0, 2.5]]
    assert as_numbers(np.full((2, 2), 1e308), "X").shape == (2, 2), "a sum that overflows is no gap"
    with pytest.raises(EntryError, match=r"X: column 1 holds 'low'.*row 0"):
        as_numbers([[1, "low"]], "X")
    with pytest.raises(EntryError, match="column 'b'"):
        as_numbers(pd.DataFrame({"a": [1.0], "b": [np.nan]}), "X")


def test_what_is_a_table() -> None:
    assert is_table(FRAME)
    assert is_table(pl.from_pandas(FRAME))
    assert is_table(pa.Table.from_pandas(FRAME))
    assert not is_table(FRAME.to_numpy())
    assert not is_table(pd.DataFrame(np.zeros((1, 2)))), "0 and 1 are places, not names"
    assert not is_table(None)


def test_rows_of_lists_are_kept_cell_by_cell() -> None:
    """numpy would give all of them one type: a text of one row would be felt in all others."""
    columns = Columns((Category(name="a", values=("a", "true")),))
    for rows in ([["a\0"], ["b"]], [["a\0"], [None]]):
        assert columns.encode(rows)[0].tolist() == [0.0, 0.0]
    for rows in ([[True], [False]], [[True], [2.5]]):
        assert columns.encode(rows)[0].tolist() == [0.0, 1.0]
    assert columns.encode([[b"\xff"], ["a"]])[1].tolist() == [1.0, 0.0]
    with pytest.raises(ShapeError, match="ragged"):
        columns.encode([["a"], ["a", "b"]])


def test_masked_entries_are_gaps() -> None:
    masked = np.ma.array([[30.0], [999.0]], mask=[[False], [True]])
    assert Columns((AGE,)).encode(masked).tolist() == [[30.0, 0.0], [40.0, 1.0]]
    with pytest.raises(EntryError, match="a gap"):
        as_numbers(masked, "X")


def test_nothing_is_said_while_a_table_is_encoded() -> None:
    odd = np.empty((3, 1), dtype=object)
    odd[:, 0] = [np.ma.masked, np.longdouble("1e4000"), np.array([3.0])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Columns((PAID,)).encode(odd).shape == (3, 1)


def test_listed_texts_are_as_entries_are_read() -> None:
    for value in ("NA", "True", "3.0", " x", "y" * 2000):
        with pytest.raises(ParameterError, match="as entries are read"):
            Category(name="a", values=(value,))


def test_forms_of_dates_are_tried() -> None:
    for form in ("%d%d", "%Q%", ""):
        with pytest.raises(ParameterError, match="form"):
            Number(name="a", kind="date", fill=0.0, form=form)


def test_an_entry_that_its_container_cannot_give_is_none_by_place_either() -> None:
    late = pd.array(pa.array([0, 2**30], pa.int32()).cast(pa.date32()), dtype="date32[pyarrow]")
    frame = pd.DataFrame({0: late, 1: ["f", "m"]})
    columns = Columns((SEEN, SEX))
    assert columns.encode(frame)[1].tolist() == [0.0, 0.0, 0.0, 1.0]
