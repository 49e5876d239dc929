"""A public table on the command line: read, and described as it says or as people say."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

__all__ = ["PublicTable", "check_dropped", "read_public"]


@final
@dataclass(frozen=True, slots=True)
class PublicTable:
    """Public samples; what their columns are, None without names; and all names in the file."""

    samples: Any
    columns: Any
    names: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    """What people should know of how the columns were read."""


def read_public(
    path: Path,
    description: str | None = None,
    drop: Iterable[str] = (),
    *,
    like: Any = None,
    n_columns: int | None = None,
) -> PublicTable:
    """Read a public table.

    Args:
        path: the file.
        description: what people say of some columns: a JSON or YAML file, or its text, {...}.
        drop: columns to leave out, where they are there.
        like: the `Columns` of an earlier round, which a second one shares.
        n_columns: how many columns a svmlight file has.

    """
    from ostraka.datasets import tables
    from ostraka.errors import InputError, InputWarning, ParameterError
    from ostraka.public.columns import is_table
    from ostraka.public.describe import LEAVE_OUT, describe_columns, read_description

    if path.is_dir():
        raise InputError(
            f"{path} is a folder, as parties' own tables are.",
            "The public table is one file, with rows that anybody may see.",
        )
    said = {} if description is None else dict(read_description(description))
    if like is not None:
        table = tables.read(path, columns=like, n_columns=n_columns)
        return PublicTable(table.samples, like, (*like.names, *table.unused))
    samples = tables.read(path, texts=_texts(said), n_columns=n_columns).samples
    if not is_table(samples):
        if said:
            allowed = "nothing: the columns of this file have no names"
            raise ParameterError("--columns", got=description, allowed=allowed)
        return PublicTable(samples, None)
    dropped = dict.fromkeys((name for name in drop if name in samples.columns), LEAVE_OUT)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", InputWarning)
        columns = describe_columns(samples, {**said, **dropped})
    told = tuple(str(each.message) for each in caught)
    return PublicTable(samples[list(columns.names)], columns, tuple(samples.columns), told)


def check_dropped(drop: Iterable[str], names: Iterable[str], what: str) -> None:
    """Refuse to drop what is not there: a name with a typo would stay in."""
    from ostraka.errors import MissingColumnsError

    wanted, given = list(drop), list(names)
    if not set(wanted) <= set(given):
        raise MissingColumnsError(f"--drop: {what}", wanted=wanted, given=given, named=True)


def _texts(said: dict[str, Any]) -> tuple[str, ...]:
    """Columns that people call categories or dates, whatever their entries look like."""
    kinds = {
        name: each.get("kind") if isinstance(each, dict) else each for name, each in said.items()
    }
    return tuple(
        name
        for name, kind in kinds.items()
        if kind in ("category", "date", "boolean") or isinstance(kind, list)
    )
