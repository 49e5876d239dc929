"""Federations without a network: nodes are functions, and answer as fast as a test wants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Context, Message, MessageType, RecordDict
from flwr.proto.node_pb2 import NodeInfo
from flwr.serverapp import Grid

from ostraka.poll import Poll
from ostraka.public.auxiliary import AuxiliarySet

Node = Callable[[Message], Message | None]
"""What a node does with a message; None: it never answers."""
CLASSES = ("ill", "well")


class FakeGrid(Grid):
    """Nodes by their number; each `looks` at the grid brings what nodes have answered by then."""

    def __init__(
        self,
        nodes: dict[int, Node],
        *,
        late: dict[int, int] | None = None,
        names: dict[int, str] | None = None,
    ) -> None:
        self.nodes, self.late, self.names = nodes, late or {}, names or {}
        self.asked: list[int] = []
        self.looks = 0
        self.replies: dict[str, list[Message]] = {}

    def set_run(self, run: Any) -> None: ...

    @property
    def run(self) -> Any:
        raise NotImplementedError

    def create_message(self, *_: Any, **__: Any) -> Message:
        raise NotImplementedError

    def send_and_receive(self, *_: Any, **__: Any) -> Iterable[Message]:
        raise NotImplementedError

    def get_node_ids(self) -> Iterable[int]:
        self.looks += 1
        return [node for node in self.nodes if self.late.get(node, 0) < self.looks]

    def get_nodes(self) -> Iterable[NodeInfo]:
        return [NodeInfo(node_id=n, name=self.names.get(n)) for n in self.get_node_ids()]

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        sent = []
        for message in messages:
            node, name = message.metadata.dst_node_id, f"message {len(self.asked)}"
            message.metadata.__dict__["_message_id"] = name
            self.asked.append(node)
            reply = self.nodes[node](message)
            self.replies[name] = [] if reply is None else [reply]
            sent.append(name)
        return sent

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return [reply for name in message_ids for reply in self.replies.pop(name, [])]


def a_context(node: int = 0, **config: Any) -> Context:
    """Where a node's function runs; `config` is its node config."""
    return Context(
        run_id=1,
        node_id=node,
        node_config={name.replace("_", "-"): value for name, value in config.items()},
        state=RecordDict(),
        run_config={},
    )


def a_question(poll: bytes, node: int = 1) -> Message:
    content = RecordDict({"ostraka": ConfigRecord({"poll": poll})})
    asked = Message(content, dst_node_id=node, message_type=MessageType.QUERY)
    asked.metadata.__dict__["_message_id"] = "message 0"
    return asked


def saying(**values: Any) -> Node:
    """A node that answers with one record, whatever it is asked."""

    def reply(message: Message) -> Message:
        return Message(RecordDict({"ostraka": ConfigRecord(values)}), reply_to=message)

    return reply


def sending(*contributions: bytes) -> Node:
    """A node that sends these bytes."""
    return saying(contributions=list(contributions))


def a_poll(**changes: Any) -> Poll:
    features = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 3))
    given = {"epsilon": 1.0, "method": "cells", "parties": 5, "samples_each": 4, **changes}
    return Poll.create(AuxiliarySet(features, CLASSES), **given)


def some_rows(seed: int, n: int = 4) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.uniform(-0.5, 0.5, (n, 3)), rng.choice(CLASSES, n)


def made_by(poll: Poll, party: str, seed: int = 1) -> bytes:
    """The bytes of a party's contribution."""
    return poll.contribute(*some_rows(seed), party).to_bytes()


def an_order(folder: Path, poll: Poll, **changes: Any) -> dict[str, Any]:
    """A run config, with its poll in a file."""
    file = folder / "asked.poll"
    if not file.exists():
        poll.save(file)
    given = {"poll": str(file), "out": str(folder / "made.ostraka"), "deadline": 20.0, **changes}
    return {name.replace("_", "-"): value for name, value in given.items()}
