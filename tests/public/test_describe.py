"""From a public table to its description, by public rules and by what people say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from ostraka.errors import (
    FormatError,
    InputError,
    InputWarning,
    MissingColumnsError,
    ParameterError,
    WrongTypeError,
)
from ostraka.public.columns import Category, Number
from ostraka.public.describe import MOST_VALUES, describe_columns, read_description


def one(values: Any, **said: Any) -> Any:
    columns = describe_columns(pd.DataFrame({"a": values}), said or None)
    (column,) = columns.columns
    return column


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "number"),
        ([1.5, None], "number"),
        (["1", "2.5"], "number"),
        (["1", "?"], "number"),
        ([True, False], "boolean"),
        ([True, None], "boolean"),
        (["True", "false"], "boolean"),
        (["yes", "no"], "category"),
        (["2020-01-01", None], "date"),
        (["2020-01-01", "soon"], "category"),
        (["16.11.2026", "soon"], "category"),
        (pd.to_datetime(["2020-01-01"]), "date"),
        (pd.array(["a", "b"], dtype="category"), "category"),
        ([1, "x"], "category"),
    ],
)
def test_kinds_are_found(values: Any, kind: str) -> None:
    assert one(values).kind == kind


def test_gaps_become_the_median_and_are_marked_where_there_are_some() -> None:
    assert one([1, 2, 10]) == Number(name="a", fill=2.0)
    assert one([1, 2, 10, None]) == Number(name="a", fill=2.0, marks_gaps=True)
    assert one(["b", "a", None]) == Category(name="a", values=("", "a", "b"))
    assert one(["b", "a"]) == Category(name="a", values=("a", "b"))


def test_numbers_that_mean_unknown() -> None:
    said = {"kind": "number", "unknown": [99, -1]}
    assert one([1, 2, 3, 99, -1], a=said) == Number(
        name="a", fill=2.0, marks_gaps=True, unknown=(99.0, -1.0)
    )
    assert one([1, 99], a={"unknown": 99}).unknown == (99.0,)


def test_long_tails_are_folded() -> None:
    rng = np.random.default_rng(0)
    assert one(rng.standard_normal(5000)).unit is None
    assert one(rng.exponential(size=5000)).unit is None
    assert one(rng.lognormal(0.0, 2.0, 5000)).unit is not None
    rare = np.where(rng.random(5000) < 0.05, 10.0 ** rng.uniform(0, 5, 5000), 0.0)
    found = one(rare)
    assert found.fill == 0.0
    assert 1.0 < found.unit < 1e5
    assert one((rng.random(5000) < 0.01).astype(float)).unit is None, "a rare yes is no tail"
    assert one(rare, a={"log": False}).unit is None
    assert one(rng.standard_normal(5000), a={"log": True}).unit is not None
    assert one(np.ones(5), a={"log": True}).unit is None, "there is nothing to fold"


def test_people_say_otherwise() -> None:
    assert one([1, 2, 2], a="category") == Category(name="a", values=("1", "2"))
    assert one(["x", "y"], a=["y", "z"]) == Category(name="a", values=("y", "z"))
    assert one(["x", None], a=["y", None]) == Category(name="a", values=("y", ""))
    assert one([0, 1], a="boolean").kind == "boolean"
    assert one(["16.11.2026"], a={"kind": "date", "form": "%d.%m.%Y"}).fill == 20773.0
    assert one([3, 4], a={"kind": "number", "fill": 7}).fill == 7.0
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    assert describe_columns(frame, {"a": "leave out"}).names == ("b",)


def test_without_a_table_people_say_everything() -> None:
    columns = describe_columns(None, {"age": {"fill": 40}, "sex": ["f", "m"]})
    assert columns.columns == (
        Number(name="age", fill=40.0),
        Category(name="sex", values=("f", "m")),
    )
    with pytest.raises(InputError, match="'age' holds no number"):
        describe_columns(None, {"age": "number"})


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ({"a": "colour"}, "number, boolean, date, category or 'leave out'"),
        ({"a": 3}, "a list of texts"),
        ({"a": None}, "a list of texts"),
        ({"a": {"kind": "category", "fill": 1}}, "kind, values for the kind category"),
        ({"a": {"kind": "number", "form": "%Y"}}, "for the kind number"),
        ({"a": []}, "at least one"),
        ({"a": ["x", "x"]}, "distinct"),
    ],
)
def test_what_people_say_is_checked(said: Any, part: str) -> None:
    with pytest.raises(ParameterError, match=part):
        describe_columns(pd.DataFrame({"a": [1]}), said)


def test_columns_that_are_not_there() -> None:
    with pytest.raises(MissingColumnsError, match="The public table: a column is missing, 'b'"):
        describe_columns(pd.DataFrame({"a": [1]}), {"b": "number"})
    with pytest.raises(WrongTypeError, match="a pandas, polars or Arrow table"):
        describe_columns(np.zeros((2, 2)))


def test_empty_columns_are_left_out() -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [None, None], "c": [np.nan, np.nan], "d": ["", "NA"]})
    assert describe_columns(frame).names == ("a",)
    with pytest.raises(InputError, match="no column to learn from, of 'b'"):
        describe_columns(frame[["b"]])


def test_lists_hold_what_is_common() -> None:
    texts = ["often"] * 3000 + ["seldom"] * 3 + ["once"] + ["twice"] * 2
    assert one(texts).values == ("often",)
    assert one(texts[2900:]).values == ("often", "once", "seldom", "twice")
    many = [f"v{k % 70}" for k in range(7000)]
    assert len(one(many).values) == MOST_VALUES


def test_names_and_free_text_are_refused() -> None:
    with pytest.raises(InputError) as caught:
        one([f"patient {k}" for k in range(1000)])
    for part in (
        "The public column 'a' has 1000 different texts",
        "5% of its rows",
        "(--drop)",
        "--columns",
    ):
        assert part in str(caught.value)


def test_polars_and_pandas_say_the_same() -> None:
    frame = pd.DataFrame({"a": [1.0, None, 3.0], "b": ["x", None, "y"], "c": [True, False, True]})
    assert describe_columns(pl.from_pandas(frame)) == describe_columns(frame)


def test_descriptions_are_read_from_files(tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text("a: {kind: number, unknown: [99]}\nb: [x, y]\nc: leave out\n")
    (tmp_path / "d.json").write_text(
        '{"a": {"kind": "number", "unknown": [99]}, "b": ["x", "y"], "c": "leave out"}'
    )
    yaml, json = (read_description(tmp_path / name) for name in ("d.yaml", "d.json"))
    assert json == {"a": {"kind": "number", "unknown": [99]}, "b": ["x", "y"], "c": "leave out"}
    frame = pd.DataFrame({"a": [1, 99], "b": ["x", "y"], "c": [1, 2]})
    assert describe_columns(frame, yaml) == describe_columns(frame, json)


@pytest.mark.parametrize("text", ["{a: {kind: number, unknown: [99]}}", ' {"a": "category"}'])
def test_a_description_may_be_given_as_text(tmp_path: Path, text: str) -> None:
    (tmp_path / "d.yaml").write_text(text)
    assert read_description(text) == read_description(tmp_path / "d.yaml")


def test_a_text_that_is_no_description_is_shown() -> None:
    with pytest.raises(FormatError, match=r"\{a: \[ cannot be read"):
        read_description("{a: [")


@pytest.mark.parametrize(
    "content", ["[1, 2]", "3", "", "a: [", "!!python/object/apply:os.system [ls]"]
)
def test_files_that_are_no_descriptions(tmp_path: Path, content: str) -> None:
    for name in ("d.yaml", "d.json"):
        (tmp_path / name).write_text(content)
        with pytest.raises(FormatError, match=name):
            read_description(tmp_path / name)


@pytest.mark.parametrize(
    ("values", "told", "line"),
    [
        (
            [*map(str, range(40)), "unbekannt"],
            "97% of 'a' are numbers; 'unbekannt' is not. If that means that nobody knows",
            "{a: {kind: number}}",
        ),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, "?", "x"], "91% of 'a' are numbers", "{a: {kind: num"),
        (
            ["2024-01-02"] * 30 + ["soon", "late"],
            "93% of 'a' are dates; 'soon', 'late' are",
            "te}}",
        ),
        (
            ["31.12.2024"] * 9,
            "If the entries of 'a' are dates",
            '{a: {kind: date, form: "%d.%m.%Y"}}',
        ),
    ],
)
def test_columns_that_are_nearly_numbers_or_dates_are_told_of(
    values: list[Any], told: str, line: str
) -> None:
    with pytest.warns(InputWarning) as caught:
        assert one(values).kind == "category"
    (text,) = [str(each.message) for each in caught]
    assert told in text
    assert line in text
    one(values, a="category")  # whoever says so means it
    assert one([*range(8), "x", "y"]).kind == "category"


def test_a_long_column_is_read_as_a_whole() -> None:
    values = ["1"] * 60_000
    values[7] = "none of these"
    with pytest.warns(InputWarning, match="99% of 'a' are numbers; 'none of these' is not"):
        one(values)


@pytest.mark.parametrize("form", ["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y %H:%M"])
def test_dates_in_other_forms_get_a_line_to_paste(form: str) -> None:
    days = pd.date_range("2024-01-01", periods=200).strftime(form)
    with pytest.raises(InputError, match="names, case numbers or free text") as caught:
        one(days)
    line = f'write in --columns (columns=): {{a: {{kind: date, form: "{form}"}}}}. '
    assert line in str(caught.value)
    assert one(days, a={"kind": "date", "form": form}).kind == "date"


def test_days_and_months_that_could_be_either_are_both_named() -> None:
    days = [f"{day:02}/03/{year}" for day in (1, 2) for year in range(1830, 1980)]
    with pytest.raises(InputError, match="free text") as caught:
        one(days)
    assert '"%d/%m/%Y"}} or {a: {kind: date, form: "%m/%d/%Y"}}' in str(caught.value)


def test_grouped_digits_are_told_of() -> None:
    with pytest.raises(InputError, match="without points or commas between thousands"):
        one([f"{thousands}.{rest:03},50" for thousands in range(1, 9) for rest in range(30)])
