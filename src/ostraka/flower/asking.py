"""Send a poll to every node as it comes, and take their answers, until a deadline.

It ends as soon as every node that was asked has answered, as many were asked as are waited for, and
enough of them count; or everybody on the roll is in; or at the deadline, with what came. What comes
later is not looked at.

Nodes that fail are listed, and others go on. With too few nodes nothing is released.

Why answers are pulled one by one: Flower forgets an answer before it has read it. If one of many
that are pulled together cannot be read, all that were pulled with it are lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from logging import ERROR
from typing import Final, final

from flwr.app import Message
from flwr.common import log
from flwr.serverapp import Grid

from ostraka.errors import TooFewPartiesError
from ostraka.flower.counting import Counting, Sender
from ostraka.flower.settings import Order
from ostraka.flower.wire import ask, pack_poll, read_answer
from ostraka.poll import Poll

__all__ = ["Asking", "collect"]

PAUSE: Final = 0.5
"""Seconds between two looks for nodes and answers; more if a look takes longer."""


def collect(poll: Poll, grid: Grid, order: Order) -> Counting:
    """What nodes sent in time; nothing is drawn here, and nobody is charged."""
    asking = Asking(poll, grid, order)
    deadline = time.monotonic() + order.deadline
    while True:
        begun = time.monotonic()
        asking.invite(deadline - begun)
        asking.listen()
        now = time.monotonic()
        if asking.is_done or now >= deadline:
            break
        time.sleep(min(max(PAUSE, now - begun), deadline - now))
    asking.give_up()
    return asking.counting


def check_nodes(counting: Counting, order: Order) -> None:
    """Refuse a release for fewer nodes than the coordinator wants."""
    if counting.n_nodes < order.least_nodes:
        raise TooFewPartiesError(counting.n_nodes, order.least_nodes, "node")


@final
class Asking:
    """One poll, on its way to nodes and back."""

    def __init__(self, poll: Poll, grid: Grid, order: Order) -> None:
        self.counting = Counting(poll, order.parties_per_node)
        self._grid, self._order, self._content = grid, order, pack_poll(poll.to_bytes())
        self._asked: dict[str, Sender] = {}
        """Which node was asked by which message."""
        self._waiting: dict[str, None] = {}

    @property
    def is_done(self) -> bool:
        """Whether nothing that still counts can come from those who were asked."""
        tally = self.counting.tally
        if tally.poll.roll is not None and not tally.missing:
            return True
        all_came = not self._waiting and len(self._asked) >= self._order.wait_for_nodes
        return all_came and self.counting.n_nodes >= self._order.least_nodes

    def invite(self, seconds: float) -> None:
        """Send the poll to nodes that have not got it yet."""
        known = {sender.node for sender in self._asked.values()}
        there = (Sender(each.node_id, each.name) for each in self._grid.get_nodes())
        new = [sender for sender in there if sender.node not in known]
        if not new or not seconds > 0.0:
            return
        sent = self._grid.push_messages([ask(self._content, each.node, seconds) for each in new])
        for sender, message in zip(new, sent):
            if message:  # otherwise it could not be sent: the next look tries again
                self._asked[message] = sender
                self._waiting[message] = None

    def listen(self) -> None:
        """Count what has come. What cannot be pulled now is tried again at the next look."""
        for message in list(self._waiting):
            try:
                replies = list(self._grid.pull_messages([message]))
            except Exception as error:
                log(ERROR, "%s: its answer cannot be read.", self._asked[message], exc_info=error)
                continue
            self._take(replies)

    def give_up(self) -> None:
        """Note who has not answered."""
        for message in self._waiting:
            self.counting.refuse(self._asked[message], "it had not answered when the asking ended")

    def _take(self, replies: Iterable[Message]) -> None:
        for reply in replies:
            asked = reply.metadata.reply_to_message_id
            sender = self._asked.get(asked)
            if sender is None:
                continue  # nobody whom we have asked
            if asked not in self._waiting:
                self.counting.refuse(sender, "it answered a second time; its first answer counts")
                continue
            del self._waiting[asked]
            self.counting.take(sender, read_answer(reply))
