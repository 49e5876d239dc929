"""Columns in files: what is written is read, and what is damaged is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ostraka.errors import FormatError
from ostraka.public.columns import Category, Columns, Number
from ostraka.public.columns_format import columns_from_json, columns_json
from ostraka.tensors import canonical_json, parse_json

KNOWN = Columns(
    (
        Number(name="age", fill=0.1, marks_gaps=True, unknown=(99.0,), unit=2.0),
        Number(name="seen", kind="date", fill=18262.0, form="%d.%m.%Y"),
        Number(name="bare", fill=None),
        Category(name="sex", values=("", "f", "m")),
    )
)


@pytest.mark.parametrize("columns", [None, Columns.of_numbers(["a", "b"]), KNOWN])
def test_what_is_written_is_read(columns: Columns | None) -> None:
    written = canonical_json(columns_json(columns))
    assert columns_from_json(parse_json(written, "file"), "file") == columns


def changed(place: int, **changes: Any) -> dict[str, Any]:
    content = columns_json(KNOWN)
    content["columns"][place] |= changes
    return content


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"columns": None},
        {"columns": 3},
        {"columns": []},
        {"columns": [None]},
        {"columns": [{}]},
        {"feature_names": 3},
        {"feature_names": ["a", 3]},
        {"feature_names": ["a", "a"]},
        {"feature_names": ["\x1b[31m"]},
        {"columns": columns_json(KNOWN)["columns"][2:3]},  # not described: one content, one form
        changed(0, fill="1"),
        changed(0, fill=float("nan")),
        changed(0, fill=1),
        changed(0, marks_gaps=1),
        changed(0, unknown=["99"]),
        changed(0, unit=-1.0),
        changed(0, kind="colour"),
        changed(0, name="sex"),
        changed(0, more=1),
        changed(1, form=3),
        changed(3, values=[]),
        changed(3, values="fm"),
        changed(3, values=["f", "f"]),
        changed(3, more=1),
    ],
)
def test_what_is_damaged_is_refused(content: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match="its columns are damaged"):
        columns_from_json(content, "file")
