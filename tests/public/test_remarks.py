"""What a party is told about its own entries."""

from __future__ import annotations

import pandas as pd
import pytest

from ostraka.public.columns import Category, Columns, Number
from ostraka.public.remarks import remark_entries

COLUMNS = Columns((Category(name="job", values=("clerk", "nurse")), Number(name="age", fill=40.0)))


def told(job: list[object], age: list[object]) -> list[str]:
    return remark_entries(COLUMNS, pd.DataFrame({"job": job, "age": age}))


def test_texts_that_are_not_listed() -> None:
    (remark,) = told(["Clerk", "nurse", "Nurse"], [1, 2, 3])
    assert "67% of your entries of job are not on the public list, for example 'Clerk'" in remark
    assert "('clerk', 'nurse', ...)" in remark
    assert told(["clerk"] * 9 + ["miner"], [1] * 10) == [], "rare ones are what 'other' is for"
    assert told(["clerk", None], [1, 2]) == [], "gaps are gaps"


def test_numbers_that_cannot_be_read() -> None:
    (remark,) = told(["clerk", "clerk"], ["12,5", 3])
    assert "50% of your entries of age cannot be read as a number, for example '12,5'" in remark
    assert told(["clerk", "clerk"], [None, 3]) == []


@pytest.mark.parametrize(
    ("column", "remedy"),
    [
        (Number(name="x", fill=1.0), "nothing else, as in 1234.5."),
        (Number(name="x", fill=1.0, kind="boolean"), "Write yes or no, or 1 or 0."),
        (Number(name="x", fill=1.0, kind="date"), "Write dates year first, as in 2026-11-16."),
        (
            Number(name="x", fill=1.0, kind="date", form="%d.%m.%Y"),
            "in the form %d.%m.%Y, as in 16.11.2026.",
        ),
    ],
)
def test_it_is_said_how_to_write_them(column: Number, remedy: str) -> None:
    (remark,) = remark_entries(Columns((column,)), pd.DataFrame({"x": ["11/16/2026"]}))
    assert remark.endswith(remedy)


def test_no_rows_no_remarks() -> None:
    assert told([], []) == []
