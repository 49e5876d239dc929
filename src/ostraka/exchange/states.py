"""How far a poll has come at a service, and what that means for whoever wants to contribute."""

from __future__ import annotations

from typing import Final

from ostraka.errors import StateError

__all__ = ["STATES", "check_open"]

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
            "What had arrived before counts. Ask the coordinator about the next poll.",
        )
