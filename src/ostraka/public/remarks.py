"""What a party should know about its own entries before it contributes.

None of it leaves its machine.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostraka.public.columns import Category, Columns, Number, is_table
from ostraka.public.entries import GAP, read_numbers, read_texts, values_of

__all__ = ["remark_entries"]

MANY = 0.2
"""The share of entries from which a remark is due; gaps and rare values are fewer."""


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
        f"for example {example!r}. They count as gaps."
    ]
