"""Columns as plain values, in polls and releases, and back; whatever comes in is checked."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from ostraka.errors import FormatError, InputError
from ostraka.public.columns import Category, Column, Columns, Number

__all__ = ["columns_from_json", "columns_json"]

_NUMBER = {each.name for each in fields(Number)}


def columns_json(columns: Columns | None) -> dict[str, Any]:
    """Described columns under `columns`; of others only the names are stored."""
    if columns is not None and columns.are_known:
        return {"columns": [_column_json(column) for column in columns.columns]}
    return {"feature_names": None if columns is None else list(columns.names)}


def columns_from_json(content: dict[str, Any], what: str) -> Columns | None:
    """The columns of what `columns_json` gave."""
    try:
        if "columns" not in content:
            names = content["feature_names"]
            if names is not None and not _are_texts(names):
                raise TypeError
            return None if names is None else Columns.of_numbers(names)
        found = Columns(tuple(_column(each) for each in content["columns"]))
        if not found.are_known:
            raise ValueError  # one content, one form
        return found
    except InputError as error:
        raise FormatError(what, f"its columns are damaged: {error.problem}") from None
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError):
        raise FormatError(what, "its columns are damaged") from None


def _are_texts(names: Any) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def _column_json(column: Column) -> dict[str, Any]:
    if isinstance(column, Category):
        return {"name": column.name, "kind": column.kind, "values": list(column.values)}
    written = {name: getattr(column, name) for name in sorted(_NUMBER)}
    return {**written, "unknown": list(column.unknown)}


def _column(given: dict[str, Any]) -> Column:
    if given["kind"] == "category":
        if set(given) != {"name", "kind", "values"} or not _are_texts(given["values"]):
            raise ValueError
        return Category(name=given["name"], values=tuple(given["values"]))
    unknown = given["unknown"]
    numbers = [*unknown, *(each for each in (given["fill"], given["unit"]) if each is not None)]
    if set(given) != _NUMBER or not all(type(number) is float for number in numbers):
        raise ValueError
    if type(given["marks_gaps"]) is not bool or not isinstance(given["form"], str | None):
        raise ValueError
    return Number(**{**given, "unknown": tuple(unknown)})
