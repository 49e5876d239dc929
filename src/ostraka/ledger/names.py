"""Names of parties and other texts that a ledger keeps."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable

from ostraka.errors import InputError, ParameterError, WrongTypeError

__all__ = ["names_of", "printable"]

_LONGEST_NAME = 500


def names_of(parties: Iterable[str]) -> list[str]:
    """The names, each once and in one way of writing."""
    if isinstance(parties, str | bytes) or not isinstance(parties, Iterable):
        raise WrongTypeError("The list of parties", parties, "a list of names")
    names = [_name(party) for party in parties]
    if not names:
        raise InputError("No party is named.", "Name every party whose data the release uses.")
    if len(set(names)) < len(names):
        twice = Counter(names).most_common(1)[0][0]
        raise InputError(f"Party {twice} is named more than once.", "A party takes part once in a release: name it once.")
    return names


def _name(party: object) -> str:
    if not isinstance(party, str):
        raise WrongTypeError("The name of a party", party, "a text, for example str(number)")
    name = str(unicodedata.normalize("NFC", printable("party", party, _LONGEST_NAME)))
    if not name or name != name.strip():
        raise ParameterError("party", got=party, allowed="a name that is not empty and has no spaces around it")
    return name


def printable(what: str, given: object, longest: int) -> str:
    """`given`, if it is text that a terminal shows as it is."""
    if not (isinstance(given, str) and len(given) <= longest and given.isprintable()):
        raise ParameterError(what, got=given, allowed=f"printable text of up to {longest} characters")
    return given
