"""From a public table to the description of its columns, by public rules.

    a column is taken as   if all its entries except gaps
    boolean                are truth values, or the words true and false
    number                 are numbers, or texts that read as numbers
    date                   are dates, or texts that read as dates, year first
    category               are anything else; its list holds the commonest texts

If nearly all texts of a category read as numbers or dates, a warning gives the line to paste.

People may say otherwise, column by column, in a small file (`read_description`):

    sex: [female, male]                  # a category with its list
    age: {kind: number, unknown: [99]}   # 99 means that nobody knows
    ward: category                       # although it is written in digits
    seen: {kind: date, form: "%d.%m.%Y"}
    remarks: leave out

Never call it on private rows: medians, lists and gaps are published.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostraka.errors import (
    FormatError,
    InputError,
    InputWarning,
    MissingColumnsError,
    ParameterError,
    WrongTypeError,
    list_names,
    warn_caller,
)
from ostraka.files import read_regular
from ostraka.public.columns import (
    KINDS,
    Category,
    Column,
    Columns,
    Number,
    check_samples,
    is_table,
    names_of,
)
from ostraka.public.entries import GAP, Reading, read_numbers, read_texts, values_of

__all__ = ["LEAVE_OUT", "Description", "describe_columns", "read_description"]

Description: TypeAlias = Mapping[str, Any]
"""For the name of a column: its kind, a list of texts, or a mapping with `kind` and more."""

LEAVE_OUT: Final = "leave out"
MOST_VALUES: Final = 50
"""The most texts that a list holds; a public table rarely says much about rarer ones."""
RARE: Final = 1000
"""A text is listed if at least one public row in this many has it."""
LONG_TAIL: Final = 20.0
"""A tail is long if it reaches this many times as far as nine tenths of the rows do."""
LARGEST_FILE: Final = 2**24
FORMS: Final = ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d.%m.%y", "%d.%m.%Y %H:%M")
"""How people write dates, besides year first; which one it is must be said."""
READINGS: Final[tuple[tuple[Reading, str | None], ...]] = (
    ("number", None),
    ("date", None),
    *(("date", form) for form in FORMS),
)
NEARLY: Final = 0.9
"""If so many texts of a column read as numbers or dates, the others may be words for a gap."""
LOOKED_AT: Final = 10_000
"""So many texts show whether it is worth reading all of them in every form."""
_GROUPED: Final = re.compile(r"[+-]?\d{1,3}(?:[.,' ]?\d{3})*(?:[.,]\d+)?")
_SETTINGS: Final = {
    "number": {"kind", "fill", "unknown", "log"},
    "boolean": {"kind", "fill"},
    "date": {"kind", "fill", "form"},
    "category": {"kind", "values"},
}


def describe_columns(public: Any, said: Description | None = None) -> Columns:
    """Describe the columns of a PUBLIC table.

    Args:
        public: a pandas, polars or Arrow table; None: `said` says everything.
        said: what people say about some columns; the table says the rest.

    """
    check_samples(public, "The public table")
    if public is not None and not is_table(public):
        needed = "a pandas, polars or Arrow table, whose columns have names"
        raise WrongTypeError("The public table", public, needed)
    wishes = {name: _settings(name, each) for name, each in (said or {}).items()}
    names = list(wishes) if public is None else [str(name) for name in names_of(public) or ()]
    if not set(wishes) <= set(names):
        raise MissingColumnsError("The public table", wanted=wishes, given=names, named=True)
    made = []
    for name in names:
        wish = wishes.get(name, {})
        if wish.get("kind") != LEAVE_OUT:
            values = np.empty(0, dtype=object) if public is None else values_of(public[name])
            column = _describe(name, values, wish)
            made += [] if column is None else [column]
            if isinstance(column, Category) and not wish:
                _warn_of_kind(name, values)
    if not made:
        problem = f"The public table has no column to learn from, of {list_names(names)}."
        raise InputError(problem, "Keep at least one that holds something.")
    return Columns(tuple(made))


def read_description(given: str | os.PathLike[str]) -> Description:
    """A description that people wrote: a .json, .yaml or .yml file, or its text, {...}."""
    name, text, in_json = str(given), str(given), False
    if not name.lstrip().startswith("{"):
        path = Path(given)
        content = read_regular(path, "description of columns", LARGEST_FILE)
        name, text = path.name, content.decode("utf-8-sig", "replace")
        in_json = path.suffix.lower() == ".json"
    try:
        found = json.loads(text) if in_json else _from_yaml(text)
    except (ValueError, RecursionError) as error:
        problem = f"{name} cannot be read ({str(error).strip()})"
        raise FormatError("description of columns", problem) from None
    if not isinstance(found, dict) or not all(isinstance(each, str) for each in found):
        problem = f"{name} does not hold names of columns, each with what it is"
        raise FormatError("description of columns", problem)
    return found


def _from_yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise ImportError(
            "Reading YAML needs the package PyYAML: pip install 'ostraka[cli]'; or write JSON"
        ) from None
    try:
        # Every scalar as a text: a list of yes and no must not become one of truth values.
        return yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise ValueError(error) from None


def _settings(name: str, given: Any) -> dict[str, Any]:
    """What was said about one column, in a uniform shape."""
    said = given
    if isinstance(given, str):
        given = {"kind": given}
    elif isinstance(given, list | tuple):
        given = {"kind": "category", "values": given}
    kinds = (*KINDS, LEAVE_OUT)
    if not isinstance(given, Mapping) or given.get("kind", "number") not in kinds:
        allowed = f"{', '.join(KINDS)} or {LEAVE_OUT!r}, a list of texts, or kind: ... with more"
        raise ParameterError(f"column {name}", got=said, allowed=allowed)
    settings = {"kind": "number", **given}
    known = _SETTINGS.get(settings["kind"], {"kind"})
    if not set(settings) <= known:
        extra = sorted(set(map(str, settings)) - known)[0]
        allowed = f"{', '.join(sorted(known))} for the kind {settings['kind']}"
        raise ParameterError(f"column {name}", got=extra, allowed=allowed)
    return settings


def _describe(name: str, values: NDArray[Any], wish: Mapping[str, Any]) -> Column | None:
    """One column; None if there is nothing in it."""
    kind = wish.get("kind") or _guess_kind(values)
    if kind is None:
        return None
    if kind == "category":
        return _describe_category(name, values, wish.get("values"))
    return _describe_number(name, kind, values, wish)  # type: ignore[arg-type]


def _guess_kind(values: NDArray[Any]) -> str | None:
    if values.dtype.kind in "buifM":
        kinds = {"b": "boolean", "M": "date"}
        known = ~np.isnat(values) if values.dtype.kind == "M" else np.isfinite(values)
        return kinds.get(values.dtype.kind, "number") if known.any() else None
    texts = read_texts(values)
    held = values[texts != GAP]
    if not len(held):
        return None
    words = {text.casefold() for text in set(texts[texts != GAP])}
    if words <= {"true", "false"}:
        return "boolean"
    readings: tuple[Reading, ...] = ("number", "date")
    for kind in readings:
        if not np.isnan(read_numbers(held, kind)).any():
            return kind
    return "category"


def _describe_category(name: str, values: NDArray[Any], listing: Any) -> Category:
    if listing is not None:
        texts = read_texts(np.array([*listing, None], dtype=object))[:-1]
        return Category(name=name, values=tuple(texts.tolist()))
    counts = Counter(read_texts(values).tolist())
    least = math.ceil(sum(counts.values()) / RARE)
    common = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:MOST_VALUES]
    kept = [(text, count) for text, count in common if count >= least]
    covered = sum(count for _, count in kept) / max(1, sum(counts.values()))
    if len(counts) > MOST_VALUES and not covered >= 0.5:
        raise InputError(
            f"The public column {name!r} has {len(counts)} different texts, and the {MOST_VALUES} "
            f"commonest are in {covered:.0%} of its rows: names, case numbers or free text.",
            f"{_suggest_kind(name, values) or _suggest_digits(values)}Leave it out "
            f"(--drop), or say which texts count: {{{name}: [...]}} in --columns. In Python, "
            f"columns={{{name!r}: {LEAVE_OUT!r}}}, or {{{name!r}: [...]}}.",
        )
    return Category(name=name, values=tuple(sorted(text for text, _ in kept)))


def _warn_of_kind(name: str, values: NDArray[Any]) -> None:
    told = _suggest_kind(name, values)
    if told:
        warn_caller(f"{told}Until then each of its texts is a value of its own.", InputWarning)


def _suggest_kind(name: str, values: NDArray[Any]) -> str:
    """What to say of texts that nearly all read as numbers or as dates, with the line to paste."""
    texts = read_texts(values)
    held = values[texts != GAP]
    few = held[:: len(held) // LOOKED_AT + 1]
    likely = [reading for reading in READINGS if _read_share(few, *reading) >= NEARLY]
    shares = {reading: _read_share(held, *reading) for reading in likely}
    best = max(shares.values(), default=0.0)
    found = [reading for reading, share in shares.items() if share == best]
    if best < NEARLY:
        return ""
    kind, form = found[0]
    lines = " or ".join(f"{{{name}: {{{_write_reading(*reading)}}}}}" for reading in found)
    if best == 1.0:
        return f"If the entries of {name!r} are {kind}s, write in --columns (columns=): {lines}. "
    others = Counter(texts[texts != GAP][np.isnan(read_numbers(held, kind, form))].tolist())
    shown = list_names([text for text, _ in others.most_common()], most=3)
    return (
        f"{math.floor(100 * best)}% of {name!r} are {kind}s; {shown} "
        f"{'is' if len(others) == 1 else 'are'} not. If that means that nobody knows, write in "
        f"--columns (columns=): {lines}. "
    )


def _read_share(held: NDArray[Any], kind: Reading, form: str | None) -> float:
    read: NDArray[np.bool_] = ~np.isnan(read_numbers(held, kind, form))
    return float(read.mean()) if len(held) else 0.0


def _write_reading(kind: Reading, form: str | None) -> str:
    return f"kind: {kind}" + ("" if form is None else f', form: "{form}"')


def _suggest_digits(values: NDArray[Any]) -> str:
    texts = read_texts(values)
    if all(_GROUPED.fullmatch(text) for text in texts[texts != GAP]):
        return "If these are numbers, write them without points or commas between thousands. "
    return ""


def _describe_number(
    name: str, kind: Reading, values: NDArray[Any], wish: Mapping[str, Any]
) -> Number:
    form = wish.get("form")
    unknown = tuple(_float(name, "unknown", each) for each in _list(wish.get("unknown")))
    log = _log(name, wish.get("log"))
    found = read_numbers(values, kind, form)
    found = np.where(np.isin(found, unknown), np.nan, found)
    held = found[~np.isnan(found)]
    fill = wish.get("fill")
    if fill is None and not len(held):
        raise InputError(
            f"The public column {name!r} holds no {kind} that could be read.",
            "Say what it is in --columns (columns=), or leave it out (--drop, or 'leave out').",
        )
    middle = float(np.median(held)) if fill is None else _float(name, "fill", fill)
    folded = kind == "number" and log is not False
    unit = _tail_unit(held - middle, always=log is True) if folded else None
    gaps = len(held) < len(found)
    return Number(
        name=name, kind=kind, fill=middle, marks_gaps=gaps, unknown=unknown, unit=unit, form=form
    )


def _float(name: str, setting: str, given: Any) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        allowed = "a number"
        raise ParameterError(f"column {name}, {setting}", got=given, allowed=allowed) from None


def _log(name: str, given: Any) -> bool | None:
    """Whether a tail is to be folded; None: as the public rows say."""
    known = {None: None, True: True, False: False, "true": True, "false": False}
    if not isinstance(given, str | bool | None) or given not in known:
        raise ParameterError(f"column {name}, log", got=given, allowed="true or false")
    return known[given]


def _list(given: Any) -> Iterable[Any]:
    return () if given is None else given if isinstance(given, list | tuple) else (given,)


def _tail_unit(distances: NDArray[np.float64], *, always: bool) -> float | None:
    """How far most rows are from the middle, if some are very much further; None otherwise."""
    far = np.abs(distances)
    far = far[far > 0.0]
    if not len(far):
        return None
    most = float(np.quantile(np.abs(distances), 0.9, method="lower"))
    typical = most if most > 0.0 else float(np.median(far))
    # A few rows off the middle are not a tail: a rare yes, written as 1, stays what it is.
    long = float(far.max()) > LONG_TAIL * typical
    return typical if always or long else None
