"""A public table on the command line: read, and described as it says or as people say."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["read_public"]


def read_public(
    path: Path,
    description: Path | None = None,
    drop: Iterable[str] = (),
    *,
    like: Any = None,
    n_columns: int | None = None,
) -> tuple[Any, Any]:
    """Public samples, and what their columns are; None for files whose columns have no names.

    Args:
        path: the file.
        description: what people say of some columns, a JSON or YAML file.
        drop: columns to leave out, where they are there.
        like: the `Columns` of an earlier round, which a second one shares.
        n_columns: how many columns a svmlight file has.

    """
    from ostraka.datasets import tables
    from ostraka.errors import ParameterError
    from ostraka.public.columns import is_table
    from ostraka.public.describe import LEAVE_OUT, describe_columns, read_description

    said = {} if description is None else dict(read_description(description))
    if like is not None:
        return tables.read(path, columns=like, n_columns=n_columns).samples, like
    samples = tables.read(path, texts=_texts(said), n_columns=n_columns).samples
    if not is_table(samples):
        if said:
            allowed = "nothing: the columns of this file have no names"
            raise ParameterError("--columns", got=str(description), allowed=allowed)
        return samples, None
    dropped = dict.fromkeys((name for name in drop if name in samples.columns), LEAVE_OUT)
    columns = describe_columns(samples, {**said, **dropped})
    return samples[list(columns.names)], columns


def _texts(said: dict[str, Any]) -> tuple[str, ...]:
    """Columns that people call categories or dates, whatever their entries look like."""
    kinds = {
        name: each.get("kind") if isinstance(each, dict) else each for name, each in said.items()
    }
    return tuple(
        name
        for name, kind in kinds.items()
        if kind in ("category", "date") or isinstance(kind, list)
    )
