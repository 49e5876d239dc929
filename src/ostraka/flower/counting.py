"""Bytes that a node sent, counted as contributions or refused by name.

Guarantee: `count` is the one place where bytes become a counted contribution. They are measured
before they are read, read as any file is, and added by `Tally.add`, which checks poll, roll, ball
and that nobody is counted twice. What is refused changes nothing. The first valid contribution of a
party counts; later ones are listed.

Where a coordinator has registered a node's key under a name (`flwr supernode register --name`),
what it sends counts under that name alone. A node without one may use any name that is still free,
and so may those that stand for many parties.
"""

from __future__ import annotations

from typing import Final, NamedTuple, final

from ostraka.errors import FormatError, InputError
from ostraka.errors.words import one_line
from ostraka.expect.describe import most_bytes
from ostraka.flower.inbox import Inbox
from ostraka.party.contribution import Contribution
from ostraka.party.names import canonical
from ostraka.poll import Poll
from ostraka.tally import Tally

__all__ = ["Counting", "Refused", "Sender", "count"]

MANY: Final = 20
"""How many of each kind are named in a log."""


class Sender(NamedTuple):
    """A node, by Flower's number, and the name under which its key was registered, if any."""

    node: int
    name: str = ""

    def __str__(self) -> str:
        return f"node {self.node}" + (f" ({one_line(self.name)})" if self.name else "")


class Refused(NamedTuple):
    """Who was not counted, and why."""

    who: str
    why: str


def count(tally: Tally | Inbox, content: bytes, most: int, name: str = "") -> None:
    """Count what one party sent, which must be this one if it is named; or refuse it."""
    if len(content) > most:
        raise InputError(f"It has {len(content):,} bytes.", f"Allowed: up to {most:,}.")
    given = Contribution.from_bytes(content)
    if name and given.party != canonical(name):
        raise InputError(
            f"It is of party {given.party}, and its node is registered as {name}.",
            "A node contributes under the name of its key.",
        )
    tally.add(given)


@final
class Counting:
    """What came from nodes: a tally, and a list of who was refused."""

    def __init__(self, poll: Poll, parties_per_node: int) -> None:
        self.tally = Inbox(poll) if poll.is_sealed else Tally(poll)
        self.refused: list[Refused] = []
        self._most_bytes = most_bytes(poll)
        self._most_parties = parties_per_node
        self._senders: set[int] = set()

    @property
    def n_nodes(self) -> int:
        """How many nodes have sent something that counts."""
        return len(self._senders)

    def take(self, sender: Sender, answer: list[bytes] | str) -> None:
        """Count what a node has sent, each contribution on its own; whatever it is, nothing breaks.

        More than one node may send is refused as a whole: none of it can be told from the rest.
        """
        if isinstance(answer, str):
            self.refuse(sender, answer)
            return
        if len(answer) > self._most_parties:
            self.refuse(
                sender,
                f"it sent {len(answer):,} contributions, and parties-per-node allows "
                f"{self._most_parties:,}",
            )
            return
        name = sender.name if self._most_parties == 1 else ""
        for content in answer:
            try:
                count(self.tally, content, self._most_bytes, name)
                self._senders.add(sender.node)
            except (FormatError, InputError) as error:
                self.refuse(sender, error.problem)

    def refuse(self, sender: Sender, why: str) -> None:
        """Note who was not counted."""
        self.refused.append(Refused(str(sender), one_line(why)))

    def report(self) -> str:
        """Who is in, missing and refused, for the coordinator's log."""
        tally = self.tally
        lines = [f"In: {tally.n_parties:,}{_list(tally.names)}"]
        if tally.poll.roll is not None:
            lines.append(f"Missing: {len(tally.missing):,}{_list(tally.missing)}")
        lines.append(f"Refused: {len(self.refused):,}")
        for why in dict.fromkeys(each.why for each in self.refused):
            names = list(dict.fromkeys(each.who for each in self.refused if each.why == why))
            lines.append(f"  {_join(names)}: {why}")
        return "\n".join(lines)


def _list(names: list[str]) -> str:
    return f" ({_join(names)})" if names else ""


def _join(names: list[str]) -> str:
    more = len(names) - MANY
    return ", ".join(map(one_line, names[:MANY])) + (f" and {more:,} more" if more > 0 else "")
