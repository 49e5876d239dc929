"""What people should know about a table before they go on.

What a party is told about its own entries does not leave its machine.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

import numpy as np

from ostraka.errors import list_names
from ostraka.public.columns import Category, Columns, Number, is_table
from ostraka.public.entries import GAP, read_numbers, read_texts, values_of

__all__ = ["remark_entries", "remark_label"]

MANY = 0.2
"""The share of entries from which a remark is due; gaps and rare values are fewer."""
SEVERAL = 2
"""One class may have its name from anywhere; two in one column are hardly a chance."""


def remark_entries(columns: Columns, table: Any) -> list[str]:
    """A sentence for every column in which many entries say nothing."""
    if not is_table(table) or not table.shape[0]:
        return []
    told = []
    for column in columns.columns:
        values = values_of(table[column.name])
        if isinstance(column, Category):
            told += _remark_unlisted(column, values)
        elif column.fill is not None:
            told += _remark_unread(column, values)
    return told


def remark_label(columns: Columns | None, classes: Iterable[object]) -> str | None:
    """What to say of public columns in which several classes stand: one may be the label."""
    names = {str(name).strip().casefold() for name in classes}
    found = [
        column.name
        for column in (() if columns is None else columns.columns)
        if isinstance(column, Category)
        and len(names & {value.casefold() for value in column.values}) >= SEVERAL
    ]
    if not found:
        return None
    return (
        f"The public table has the classes themselves in {list_names(found)}. Are its rows really "
        "for anybody to see, and not those of a party? If so, and if one of these columns is the "
        "label, nobody could predict without it: leave it out of the table, or with --drop "
        f"(in Python, columns={{{found[0]!r}: 'leave out'}})."
    )


def _remark_unlisted(column: Category, values: Any) -> list[str]:
    texts = read_texts(values)
    other = (column.places(values) < 0) & (texts != GAP)
    if not other.mean() > MANY:
        return []
    example = texts[np.flatnonzero(other)[0]]
    return [
        f"{other.mean():.0%} of your entries of {column.name} are not on the public list, for "
        f'example {example!r}. They count as "other". Are they written as the list has them '
        f"({', '.join(map(repr, column.values[:4]))}, ...)?"
    ]


def _remark_unread(column: Number, values: Any) -> list[str]:
    texts = read_texts(values)
    unread = np.isnan(read_numbers(values, column.kind, column.form)) & (texts != GAP)
    if not unread.mean() > MANY:
        return []
    example = texts[np.flatnonzero(unread)[0]]
    return [
        f"{unread.mean():.0%} of your entries of {column.name} cannot be read as a {column.kind}, "
        f"for example {example!r}. They count as gaps. {_say_form(column)}"
    ]


def _say_form(column: Number) -> str:
    """How entries are to be written."""
    if column.kind == "boolean":
        return "Write yes or no, or 1 or 0."
    if column.kind == "number":
        return "Write digits with a decimal point and nothing else, as in 1234.5."
    day = dt.date(2026, 11, 16)
    if column.form is None:
        return f"Write dates year first, as in {day}."
    return f"Write dates in the form {column.form}, as in {day.strftime(column.form)}."
