"""Long lists: some of many at a time, and those whose names have certain letters."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from sqlalchemy import Select

from ostraka.party.names import canonical

__all__ = ["After", "Limit", "Name", "by_name"]

After = Annotated[int, Query(ge=0, le=2**31 - 1)]
Limit = Annotated[int, Query(ge=1, le=1000)]
Name = Annotated[str, Query(max_length=500)]


def by_name(query: Select[Any], column: Any, *, after: str, search: str = "") -> Select[Any]:
    """Rows in the order of their names, from the next one on, and those with these letters alone.

    Names are kept in one form, so what is looked for is brought into it, too.
    """
    if after.strip():
        query = query.where(column > canonical(after))
    if search.strip():
        query = query.where(column.contains(canonical(search), autoescape=True))
    return query.order_by(column)
