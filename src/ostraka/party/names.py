"""One party, one name: the canonical form in which parties are grouped, counted and charged.

A name reaches us as a cell of a table, a file's name, an option or a Python value. One party must
always get one name, or it could contribute twice to one release, or have two budgets:

    given                                            canonical
    3, 3.0, "3", "3.0", "003", "3e0", b"3"           3
    "Ward 3", " ward  3 ", "WARD 3"                  ward 3
    "é" as one character or as two                   é, as one

Names that differ only in these ways are one party. Text is folded by Unicode's compatibility form
and by case; white space is trimmed and joined. Text that a reader of tables would take for a whole
number is that number, because a column of a CSV file is text or numbers depending on its other
cells. Whatever could be read in two ways is refused: truth values, dates, numbers that are not
whole or so large that their type skips whole ones, and characters that do not show.

Not covered: letters of different alphabets that look alike. A roll, the public list of who is
asked, keeps strangers out.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from ostraka.errors import (
    FormatError,
    InputError,
    ParameterError,
    ShapeError,
    WrongTypeError,
    place_of,
    printable,
)

__all__ = ["canonical", "canonical_each", "canonical_list", "distinct", "read_canonical"]

LONGEST_NAME = 500
EXACT_WHOLE = 2**53
"""From here on doubles skip whole numbers: two parties could become one."""
ALLOWED = "texts or whole numbers"
_EXACT_WHOLE_OF = {"float16": 2**11, "halffloat": 2**11, "float32": 2**24, "float": 2**24}
"""Shorter floats skip them sooner; keyed by the names in numpy, pandas, polars and pyarrow."""
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?", re.ASCII)
_FOLDED = re.compile(r"0|[1-9][0-9]{0,17}|[a-z][a-z0-9]*(?:[-_./ ][a-z0-9]+)*", re.ASCII)
"""Names that are as they should be, which most are: a shortcut."""
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\ufe00-\ufe0f"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Python calls these printable, but they show nothing: joiners, fillers, selectors, blanks."""


def canonical(name: Any) -> str:
    """The one form of a party's name."""
    if isinstance(name, np.generic):
        _check_kind(name.dtype)
        _check_exact([float(name)] if isinstance(name, np.floating) else [], name.dtype)
        name = name.item()
    if isinstance(name, bytes):
        name = _decode(name)
    if isinstance(name, str):
        return _fold(name)
    if isinstance(name, bool) or not isinstance(name, int | float) or name != name:
        raise ParameterError("party", got=name, allowed=ALLOWED)
    if isinstance(name, float) and not (abs(name) < EXACT_WHOLE and name.is_integer()):
        raise ParameterError("party", got=name, allowed=ALLOWED)
    whole = int(name)
    if whole.bit_length() > 4 * LONGEST_NAME:  # Python refuses to write giants out
        got = f"a number of {whole.bit_length()} bits"
        raise ParameterError("party", got=got, allowed=f"up to {LONGEST_NAME} digits")
    return _fold(str(whole))


def read_canonical(written: bytes, what: str) -> str:
    """A name in a file that came from anyone, which must be in its one form."""
    try:
        name = written.decode("utf-8")
        if canonical(name) == name:
            return name
    except (UnicodeDecodeError, InputError):
        pass
    raise FormatError(what, "the name of its party is not in its canonical form")


def canonical_each(names: Any, n: int) -> list[str]:
    """The canonical form of each of n names: a column of a table, an array, a list."""
    values = _values(names)
    if len(values) != n:
        raise ShapeError("parties", got=(len(values),), allowed=f"({n},), one name for each sample")
    known: dict[tuple[type, Any], str] = {}
    found = []
    for row, value in enumerate(values):
        key = (type(value), value)  # True and 1 are equal for Python
        try:
            form = known.get(key)
        except TypeError:
            raise ParameterError("party", got=value, allowed=ALLOWED) from None
        if form is None:
            _check_there(value, row)
            form = known[key] = canonical(value)
        found.append(form)
    return found


def canonical_list(names: Any) -> list[str]:
    """A list of parties, each once."""
    forms = [canonical(name) for name in _values(names)]
    if not forms:
        raise InputError("No party is named.", "Name every party whose data the release uses.")
    return distinct(forms)


def distinct(forms: list[str]) -> list[str]:
    """The names, if none occurs twice."""
    if len(set(forms)) < len(forms):
        twice = Counter(forms).most_common(1)[0][0]
        raise InputError(
            f"Party {twice} is named more than once.",
            "A party takes part once in a release: name it once. Case, spaces and 3 or 3.0 make no "
            "difference.",
        )
    return forms


def _fold(text: str) -> str:
    if len(text) <= LONGEST_NAME and _FOLDED.fullmatch(text):
        return text
    # Decomposed first, as folding could part marks from each other   [Unicode 3.13, D146]
    previous, name = None, unicodedata.normalize("NFD", text)
    while name != previous:  # folding may open another composition; a few rounds at most
        previous = name
        name = unicodedata.normalize("NFKC", " ".join(name.split()).casefold())
        name = "".join(map(_plain, name))
    if not name:
        allowed = "a name that is not empty"
        raise ParameterError("party", got=text, allowed=allowed)
    printable("party", name, LONGEST_NAME)
    if _UNSEEN.search(name):
        allowed = "a name without characters that do not show"
        raise ParameterError("party", got=ascii(text), allowed=allowed)
    return _as_number(name) or name


def _plain(letter: str) -> str:
    """Digits of every script become ours; a dotless i, some people's small I, becomes i."""
    digit = unicodedata.decimal(letter, None)
    return "i" if letter == "ı" else letter if digit is None else str(digit)


def _as_number(name: str) -> str | None:
    """The number that a reader of tables would see in the text, written in one way."""
    if not _DECIMAL.fullmatch(name) or abs(Decimal(name).adjusted()) > LONGEST_NAME:
        return None
    written = format(Decimal(name), "f").removeprefix("+")
    written = written.rstrip("0").rstrip(".") if "." in written else written
    return "0" if written in ("-0", "") else written


def _decode(name: bytes) -> str:
    try:
        return name.decode("utf-8")
    except UnicodeDecodeError:
        raise ParameterError("party", got=name, allowed="text in UTF-8") from None


def _values(names: Any) -> Sequence[Any]:
    """Python values, from whatever container holds them."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise WrongTypeError("The list of parties", names, "a list of names")
    shape = tuple(getattr(names, "shape", (0,)))
    if len(shape) != 1:
        raise ShapeError("parties", got=shape, allowed="(n,), one list of names")
    dtype = getattr(names, "dtype", getattr(names, "type", None))
    _check_kind(dtype)
    for turn in ("to_list", "to_pylist", "tolist"):  # pandas and polars; pyarrow; numpy
        if hasattr(names, turn):
            values = list(getattr(names, turn)())
            _check_exact(values, dtype)
            return values
    return list(names)


def _check_kind(dtype: object) -> None:
    """Refuse dates and raw bytes, which would come out as numbers and texts."""
    if isinstance(dtype, np.dtype) and dtype.kind in "mMbV":
        raise ParameterError("parties", got=f"values of type {dtype}", allowed=ALLOWED)


def _check_exact(values: Iterable[Any], dtype: object) -> None:
    limit = _EXACT_WHOLE_OF.get(str(dtype).lower().partition("[")[0])
    if limit is None:
        return
    for value in values:
        if isinstance(value, float) and abs(value) >= limit:
            allowed = f"below {limit}: from there on {dtype} skips whole numbers"
            raise ParameterError("party", got=value, allowed=allowed)


def _check_there(value: Any, row: int) -> None:
    try:
        missing = value is None or bool(value != value)
    except TypeError:  # pandas' NA is neither equal nor unequal
        missing = True
    if missing:
        raise InputError(
            f"There is no party in {place_of(row)}: its name is {value!r}.",
            "Name a party for every sample, or drop it.",
        )
