"""The root of the tree, and what is not allowed in general."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from ostraka.errors.words import NOTHING_HAPPENED

__all__ = ["OstrakaError", "InputError", "nothing_spent"]


class OstrakaError(Exception):
    """The root of the tree that the module draws."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Errors cross from workers to the caller as they are.

        Text and facts, without building the text anew.
        """
        return _revive, (type(self), self.args, self.__dict__.copy())


def _revive(kind: type[OstrakaError], args: tuple[Any, ...], facts: dict[str, Any]) -> OstrakaError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(facts)
    return error


class InputError(OstrakaError, ValueError):
    """Something given is not allowed.

    `outcome` says what did not happen; whoever could have drawn, spent or written something sets
    it.
    """

    outcome: str = ""

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem = problem
        self.remedy = remedy
        super().__init__(f"{problem} {remedy}")

    def __str__(self) -> str:
        return f"{super().__str__()} {self.outcome}".rstrip()


@contextlib.contextmanager
def nothing_spent() -> Iterator[None]:
    """Let what is refused within say that nobody was charged: for those who would have charged."""
    try:
        yield
    except InputError as error:
        error.outcome = NOTHING_HAPPENED
        raise
