"""How far a poll has come at a service, and what that means for whoever wants to contribute."""

from __future__ import annotations

from typing import Final

from ostraka.errors import StateError

__all__ = ["STATES", "check_open", "check_takes_in"]

STATES: Final = ("draft", "open", "closed", "released", "abandoned")


def check_open(state: str) -> None:
    """Refuse to contribute to a poll that is not open."""
    if state == "draft":
        raise StateError("This poll is not open yet.", "Wait until the coordinator opens it.")
    if state == "abandoned":
        raise StateError(
            "This poll is abandoned: it has no release, and what was sent to it was erased.",
            "Ask the coordinator about the next poll.",
        )
    if state != "open":
        raise StateError(
            f"This poll is {state}: nothing can be sent to it or changed any more.",
            "What had arrived before counts, unless the coordinator left it out: ostraka status "
            "says so. Ask the coordinator about the next poll.",
        )


def check_takes_in(*, is_archive: bool) -> None:
    """Refuse to contribute to a service that was restored, and may have forgotten charges."""
    if is_archive:
        raise StateError(
            "This service was restored from a backup as an archive, which takes nothing in.",
            "Ask the coordinator where the polls go on.",
        )
