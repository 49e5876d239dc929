"""What Flower's messages hold: one record, "ostraka", of plain values.

    from      key             value
    server    poll            the bytes of the poll's file
    node      contributions   a list of bytes, each a contribution's file; one party, one of them
    node      refused         why there is none: one word of `Refusal`, and never any other text

Guarantee: what a node says when it does not answer is one of three public words. What is wrong with
its rows, its rules or its machine stays in its own log. What is read here is only taken apart, and
whatever is not of this form is refused: bytes become a contribution in `counting` alone.

Why `query` and not `train`: a poll is one question with one answer, in no rounds.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Final, final

from flwr.app import ConfigRecord, Message, MessageType, RecordDict

from ostraka.errors import FormatError

__all__ = [
    "Refusal",
    "ask",
    "pack_contributions",
    "pack_poll",
    "pack_refusal",
    "read_answer",
    "read_poll",
]

RECORD: Final = "ostraka"
POLL: Final = "poll"
CONTRIBUTIONS: Final = "contributions"
REFUSED: Final = "refused"

# As flwr.common.constant.ErrorCode numbers them.
ERRORS: Final = {
    1: "its Flower app could not be loaded",
    2: "its Flower app failed",
    3: "the question or its answer was lost on the way",
    4: "it did not answer in time",
    5: "it went away before it had answered",
    7: "it does not trust this Flower app",
    8: "its Flower app crashed",
}


@final
class Refusal(StrEnum):
    """Why a node sends no contribution: all that it says of it."""

    POLL = "poll"
    RULES = "rules"
    ROWS = "rows"


WORDS: Final[dict[str, str]] = {
    Refusal.POLL: "it could not read the poll: does it have the same version of ostraka?",
    Refusal.RULES: "its own rules refuse this poll",
    Refusal.ROWS: "it could not make a contribution: why is in its own log",
}


def pack_poll(poll: bytes) -> RecordDict:
    """The poll, once for all nodes."""
    return RecordDict({RECORD: ConfigRecord({POLL: poll})})


def ask(content: RecordDict, node: int, seconds: float) -> Message:
    """The question for one node, which has so many seconds to answer."""
    return Message(content, dst_node_id=node, message_type=MessageType.QUERY, ttl=seconds)


def read_poll(message: Message) -> bytes:
    """The bytes of the poll's file, at a node."""
    poll = _record(message).get(POLL)
    if not isinstance(poll, bytes):
        raise FormatError("message", "it holds no poll")
    return poll


def pack_contributions(sent: list[bytes]) -> RecordDict:
    """What a node answers."""
    return RecordDict({RECORD: ConfigRecord({CONTRIBUTIONS: list(sent)})})


def pack_refusal(why: Refusal) -> RecordDict:
    """What a node says instead."""
    return RecordDict({RECORD: ConfigRecord({REFUSED: why.value})})


def read_answer(message: Message) -> list[bytes] | str:
    """What a node has sent, not yet looked at; or, in words of ours, why there is nothing."""
    if message.has_error():
        return ERRORS.get(message.error.code, f"Flower reports error {message.error.code}")
    record = _record(message)
    refused = record.get(REFUSED)
    if isinstance(refused, str) and refused in WORDS:
        return WORDS[refused]
    sent = record.get(CONTRIBUTIONS)
    if not isinstance(sent, list) or not sent or not all(isinstance(x, bytes) for x in sent):
        return "its answer holds no contribution"
    return sent


def _record(message: Message) -> Any:
    """The one record; an empty one if there is none, or another."""
    found = message.content.get(RECORD) if message.has_content() else None
    return found if isinstance(found, ConfigRecord) else {}
